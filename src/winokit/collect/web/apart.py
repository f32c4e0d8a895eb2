"""Slow work apart from the rest: who waits for a model, or for the hash of a password, keeps nobody from a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ParamSpec

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import Response

P = ParamSpec("P")
AT_ONCE = 4
"""Threads for slow work, beside those for pages. Whoever comes later waits without one."""
_slow: RunVar[CapacityLimiter] = RunVar("winokit_slow")


async def apart(work: Callable[P, Response], *args: P.args, **more: P.kwargs) -> Response:
    """Do something slow in a thread that no page needs."""
    try:
        limiter = _slow.get()
    except LookupError:
        limiter = CapacityLimiter(AT_ONCE)
        _slow.set(limiter)
    return await run_sync(partial(work, *args, **more), limiter=limiter)
