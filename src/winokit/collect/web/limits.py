"""Limits on what costs the server much: how often somebody may ask for it, and how much of it goes on at once."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVarTuple

from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from anyio.to_thread import run_sync
from fastapi import Response

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

A = TypeVarTuple("A")
MOST_REMEMBERED = 10_000
MINUTE = timedelta(minutes=1)
AT_ONCE = 4
"""Threads for slow work, beside those for pages. Whoever comes later waits without one."""
_slow: RunVar[CapacityLimiter] = RunVar("winokit_slow")


class RateLimit:
    """So many of something in a minute, for each who asks.

    Kept in memory: a server that is started anew begins to count anew, and several count by themselves.
    """

    def __init__(self, study: Study, most: int) -> None:
        self._study, self._most = study, most
        self._recent: OrderedDict[Hashable, deque[datetime]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, who: Hashable = None) -> int:
        """Count one more; 0, or the seconds to wait where it is one too many."""
        now = self._study.now()
        with self._lock:
            recent = self._recent.setdefault(who, deque())
            self._recent.move_to_end(who)
            while len(self._recent) > MOST_REMEMBERED:
                self._recent.popitem(last=False)
            while recent and recent[0] <= now - MINUTE:
                recent.popleft()
            if len(recent) >= self._most:
                return max(1, math.ceil((recent[0] + MINUTE - now).total_seconds()))
            recent.append(now)
            return 0


async def run_slow(work: Callable[[*A], Response], *args: *A) -> Response:
    """Do something slow in a thread that no page needs: who waits for a model, or a hash, keeps nobody from a page."""
    try:
        limiter = _slow.get()
    except LookupError:
        limiter = CapacityLimiter(AT_ONCE)
        _slow.set(limiter)
    return await run_sync(work, *args, limiter=limiter)
