"""What the terminal shows of a grading or a leaderboard, and what a person is asked before one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from winokit.drawing.wording import plural
from winokit.stages.grade.record import Graded
from winokit.stages.grade.run import Grading
from winokit.stages.grade.submissions import ONE

if TYPE_CHECKING:
    from winokit.stages.grade.leaderboard import Leaderboard

QUESTIONS: dict[str, tuple[str, type]] = {
    "formalization": (
        "Formalization (how problems become inputs and decisions: mc-sent, partial scoring, …)",
        str,
    ),
    "training_data": ("Training data (what the model was trained on for this task; 'none' if nothing)", str),
    "trials": ("Number of trials (settings and seeds tried before this one)", int),
}


def questions(given: Mapping[str, Any]) -> dict[str, tuple[str, type]]:
    """What an entry does not say of itself yet."""
    asked = QUESTIONS.items() if given["board"] is None else ()
    return {name: question for name, question in asked if not given[name]}


def lines(result: Grading | Leaderboard) -> Iterator[str]:
    """The scores as a table and what they are of, or where the board is."""
    if not isinstance(result, Grading):
        yield f"{plural(len(result.places), 'entry', 'entries')} written to {result.page}"
        return
    yield from _graded(result.shown)
    if result.out is not None:
        yield f"entry: {result.out}"


def _graded(graded: Graded) -> Iterator[str]:
    release, statement = graded.release, graded.statement
    title = f"{release.get('name', 'release')} {release.get('version', '')}".strip()
    yield f"{title}: {release['test']['problems']:,} test problems, {release['test']['groups']:,} groups"
    if graded.scores:
        corrected = "  luck-corrected" if statement is not None else ""
        yield f"{'size':6}  {'score':14}  value   95 % interval   chance{corrected}"
    for score in graded.scores:
        size, metric = "–" if score.size == ONE else score.size, score.metric.replace("_", " ")
        interval = f"{score.low:.1%} to {score.high:.1%}"
        corrected = "" if score.luck_corrected is None else f"  {score.luck_corrected:>14.1%}"
        yield f"{size:6}  {metric:14}  {score.value:>5.1%}  {interval:>14}  {score.chance:>6.1%}{corrected}"
    if statement is not None:
        untrained = statement.training_data.casefold() == "none"
        trained = "not trained for the task" if untrained else f"trained on {statement.training_data}"
        yield f"{statement.name}: {statement.formalization}; {trained}; {plural(statement.trials, 'trial')}"


def as_json(result: Grading | Leaderboard) -> dict[str, Any]:
    """The entry as it may be seen, or the board."""
    return result.shown.to_json() if isinstance(result, Grading) else result.to_json()
