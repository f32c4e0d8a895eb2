"""Kill a piece of work at any step: before a statement, around a commit, around a call of the platform."""

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
    """Raised where the process is to end."""


class StepKiller:
    """Counts statements, commits and calls of the platform, and raises Killed at the chosen one."""

    def __init__(self, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps_left = 0
        self.armed = False
        moments: list[tuple[Any, str]] = [(Session, "before_commit"), (Session, "after_commit")]
        if study.store.is_sqlite:  # where it takes no time
            moments.append((study.store.engine, "before_cursor_execute"))
        for target, moment in moments:
            event.listen(target, moment, self.count_step)
        self.moments = moments
        gc.freeze()  # for good: what is left is looked through after every kill
        call_api = Prolific._call_api

        def counted_call(platform: Prolific, *args: Any, **options: Any) -> Any:
            self.count_step()
            answer = call_api(platform, *args, **options)
            self.count_step()
            return answer

        monkeypatch.setattr(Prolific, "_call_api", counted_call)

    def stop(self) -> None:
        """Remove the listeners from the study's database."""
        for target, moment in self.moments:
            event.remove(target, moment, self.count_step)

    def count_step(self, *_: object) -> None:
        """Raise Killed if this is the chosen step."""
        self.steps_left -= 1
        if self.armed and self.steps_left < 0:
            self.armed = False
            raise Killed

    def kills(self, point: int, do: Callable[[], object]) -> bool:
        """Whether `do` is killed at step number `point`, counted from 0. False if it has fewer steps."""
        self.steps_left = point
        self.armed = True
        try:
            do()
        except Killed:
            return True
        finally:
            self.armed = False
            gc.collect()  # cursors that a dead process would not hold
        return False
