"""How quiet the machine was while a benchmark ran: one line at its end, on stderr, so that tables stay tables.

    from quiet import watched

    with watched():
        main()

A time taken while the load is above the number of cores says little; a ratio of two times taken in turns says more, and
a ratio of CPU seconds most.
"""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def watched() -> Iterator[None]:
    """Print the load before and after, and the wall and CPU seconds of this process and its children."""
    before, start = os.getloadavg()[0], time.perf_counter()
    yield
    took, after = time.perf_counter() - start, os.getloadavg()[0]
    cores, cpu = len(os.sched_getaffinity(0)), sum(os.times()[:4])
    quiet = "quiet" if max(before, after) <= cores + 0.5 else "busy: trust ratios of CPU seconds alone"
    print(
        f"machine: {cores} cores, load {before:.1f} before and {after:.1f} after ({quiet}); "
        f"{took:.1f} s, {cpu:.1f} of CPU",
        file=sys.stderr,
    )
