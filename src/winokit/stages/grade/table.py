"""A grading or a leaderboard on the terminal and for scripts, and the questions to somebody who sits there."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from winokit.drawing.wording import percent, plural
from winokit.stages.grade.record import Graded
from winokit.stages.grade.run import Grading
from winokit.stages.grade.submissions import ONE

if TYPE_CHECKING:
    from winokit.stages.grade.leaderboard import Leaderboard

QUESTIONS: dict[str, tuple[str, type]] = {
    "formalization": ("Formalization (how problems become inputs and decisions: mc-sent, partial scoring, …)", str),
    "training_data": ("Training data (what the model was trained on for this task; 'none' if nothing)", str),
    "trials": ("Number of trials (settings and seeds tried before this one)", int),
}


def questions(given: Mapping[str, Any]) -> dict[str, tuple[str, type]]:
    """Questions about an entry that are not answered yet."""
    asked = QUESTIONS.items() if given["board"] is None else ()
    return {name: question for name, question in asked if not given[name]}


def lines(result: "Grading | Leaderboard") -> Iterator[str]:
    """The scores as a table and what they are of, or where the board is."""
    if not isinstance(result, Grading):
        yield f"{plural(len(result.places), 'entry', 'entries')} written to {result.page}"
        return
    yield from _describe_scores(result.shown)
    if result.out is not None:
        yield f"entry: {result.out}"


def _describe_scores(graded: Graded) -> Iterator[str]:
    release = graded.release
    statement = graded.statement
    title = f"{release.get('name', 'release')} {release.get('version', '')}".strip()
    test = release["test"]
    units = f", {plural(test['units'], 'unit')}" if test.get("units") is not None else ""
    yield f"{title}: {test['problems']:,} test problems, {test['groups']:,} groups{units}"
    if graded.scores:
        corrected = "  luck-corrected" if statement is not None else ""
        yield f"{'size':6}  {'score':14}    value       95 % interval   chance{corrected}"
    for score in graded.scores:
        size = "–" if score.size == ONE else score.size
        metric = score.metric.replace("_", " ")
        interval = f"{percent(score.low)} to {percent(score.high)}"
        corrected = "" if score.luck_corrected is None else f"  {percent(score.luck_corrected):>14}"
        yield f"{size:6}  {metric:14}  {percent(score.value):>7}  {interval:>18}  {percent(score.chance):>7}{corrected}"
    if statement is not None:
        untrained = statement.training_data.casefold() == "none"
        trained = "not trained for the task" if untrained else f"trained on {statement.training_data}"
        yield f"{statement.name}: {statement.formalization}; {trained}; {plural(statement.trials, 'trial')}"


def as_json(result: "Grading | Leaderboard") -> dict[str, Any]:
    """The entry as it may be seen, or the board."""
    return result.shown.to_json() if isinstance(result, Grading) else result.to_json()
