"""Waiting for what happens in another thread or process: for as long as it takes, and not for ever."""

import time
from collections.abc import Callable

HANGS = 120
"""Seconds after which a test is given up that would wait for ever. No test that passes waits so long."""


def until(holds: Callable[[], object]) -> None:
    """Wait until something holds, looking again and again."""
    late = time.monotonic() + HANGS
    while not holds():
        assert time.monotonic() < late, "it never happens"
        time.sleep(0.01)
