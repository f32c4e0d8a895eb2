"""A report of the machine's load while a benchmark ran: one line at its end, on stderr, beside the tables.

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
    load_before = os.getloadavg()[0]
    start = time.perf_counter()
    yield
    wall_seconds = time.perf_counter() - start
    load_after = os.getloadavg()[0]
    cores = len(os.sched_getaffinity(0))
    cpu_seconds = sum(os.times()[:4])
    is_quiet = max(load_before, load_after) <= cores + 0.5
    state = "quiet" if is_quiet else "busy: trust ratios of CPU seconds alone"
    print(
        f"machine: {cores} cores, load {load_before:.1f} before and {load_after:.1f} after ({state}); "
        f"{wall_seconds:.1f} s, {cpu_seconds:.1f} of CPU",
        file=sys.stderr,
    )
