"""Python's collector, off while hundreds of thousands of objects are made that all stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_off() -> Iterator[None]:
    """Switch the collector of cycles off for a while; what is not in a cycle is freed at once all the same.

    Its passes over everything that is alive took a quarter of the time of an audit of 40,000 problems.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
