"""Limits on what one worker may ask for in a while, where asking costs the server much."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict, deque
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from winokit.collect.study.refusals import TooMany

if TYPE_CHECKING:
    from winokit.collect.study.study import Study

MOST_REMEMBERED = 10_000
MINUTE = timedelta(minutes=1)


class RateLimit:
    """So many of something in a minute for each worker; who asks for more is told how long to wait.

    Kept in memory: a server that is started anew begins to count anew, and several count by themselves.
    """

    def __init__(self, study: Study, most: int, what: str) -> None:
        self._study, self._most, self._what = study, most, what
        self._recent: OrderedDict[int, deque[datetime]] = OrderedDict()
        self._lock = threading.Lock()

    def count(self, worker_id: int) -> None:
        """Count one more, or refuse it."""
        now = self._study.now()
        with self._lock:
            recent = self._recent.setdefault(worker_id, deque())
            self._recent.move_to_end(worker_id)
            while len(self._recent) > MOST_REMEMBERED:
                self._recent.popitem(last=False)
            while recent and recent[0] <= now - MINUTE:
                recent.popleft()
            if len(recent) >= self._most:
                wait = max(1, math.ceil((recent[0] + MINUTE - now).total_seconds()))
                raise TooMany(f"{self._what}; please wait {wait} seconds", wait)
            recent.append(now)
