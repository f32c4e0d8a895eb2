"""Feedback on twins, arranged as the writing page shows it: by field, in words and with a sign."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winokit.collect.study import writing
from winokit.collect.study.refusals import Incomplete
from winokit.collect.study.study import Study
from winokit.collect.study.views import WriteTask
from winokit.collect.study.writing import WritingCheck, WritingFeedback

WHERE = {
    "anchor": "Anchor",
    "candidate_2": "The two",
    "first": "First sentence",
    "second": "Its twin",
    "answer_2": "Answers",
}
FIELDS = ("anchor", "candidate_1", "candidate_2", "first", "answer_1", "second", "answer_2")


@dataclass(frozen=True)
class ShownFeedback:
    """What the page shows beside the form."""

    feedback: WritingFeedback | None
    """None where a field is longer than anything could be; `notes` says which."""
    notes: dict[str, tuple[str, ...]]
    """What stands against each field now."""
    kept: int
    summary: str
    """The same in one line, for those who listen to the page."""

    @property
    def checks(self) -> tuple[WritingCheck, ...]:
        """Every rule."""
        return self.feedback.checks if self.feedback else ()

    @property
    def groups(self) -> list[tuple[str, tuple[WritingCheck, ...]]]:
        """The rules under the heading of what they are about."""
        return [(title, tuple(c for c in self.checks if c.field == field)) for field, title in WHERE.items()]


def shown(study: Study, task: WriteTask, fields: Mapping[str, Any]) -> ShownFeedback:
    """Feedback on the form as it stands."""
    try:
        told = writing.feedback(study, fields, task.domain)
    except Incomplete as error:
        long = {field: tuple(why for name, why in error.problems.items() if name == field) for field in FIELDS}
        return ShownFeedback(None, long, 0, "; ".join(f"{WHERE.get(f, f)}: {why}" for f, why in error.problems.items()))
    notes = {field: tuple(c.message for c in told.checks if c.field == field and c.ok is False) for field in FIELDS}
    kept = sum(check.ok is True for check in told.checks)
    return ShownFeedback(told, notes, kept, _summary(told, kept))


def _summary(told: WritingFeedback, kept: int) -> str:
    if told.ready:
        return "All rules are kept. Your twins can be handed in."
    broken = [f"{WHERE[check.field]}: {check.message}" for check in told.checks if check.ok is False]
    count = f"{kept} of {len(told.checks)} rules are kept."
    return f"{count} Not yet: {'; '.join(broken)}." if broken else count
