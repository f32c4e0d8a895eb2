"""Kills a process at any step of what it does: before a statement, around a commit, around a call of the platform."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.orm import Session

from winokit_collect.platforms.prolific import Prolific
from winokit_collect.study.study import Study


class Killed(BaseException):
    """The process ends here."""


class Gallows:
    """Counts statements, commits and calls of the platform, and kills at one: before it, or after what counts."""

    def __init__(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        self.left = 0
        self.armed = False
        moments: list[tuple[Any, str]] = [(Session, "before_commit"), (Session, "after_commit")]
        if study.store.is_sqlite:  # where it takes no time
            moments.append((study.store.engine, "before_cursor_execute"))
        for where, moment in moments:
            event.listen(where, moment, self.fall)
        self.moments = moments
        gc.freeze()  # for good: what is left is looked through after every kill
        call = Prolific._call_api

        def watched(platform: Prolific, *args: Any, **options: Any) -> Any:
            self.fall()
            answer = call(platform, *args, **options)
            self.fall()
            return answer

        monkeypatch.setattr(Prolific, "_call_api", watched)

    def stop(self) -> None:
        for where, moment in self.moments:
            event.remove(where, moment, self.fall)

    def fall(self, *_: object) -> None:
        self.left -= 1
        if self.armed and self.left < 0:
            self.armed = False
            raise Killed

    def kills(self, point: int, do: Callable[[], object]) -> bool:
        """Whether there is such a point at all."""
        self.left = point
        self.armed = True
        try:
            do()
        except Killed:
            return True
        finally:
            self.armed = False
            gc.collect()  # cursors that a dead process would not hold
        return False
