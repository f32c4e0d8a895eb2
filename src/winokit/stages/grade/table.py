"""A grading or a leaderboard on the terminal and for scripts, and the questions to somebody who sits there."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from winokit.drawing.wording import percent, plural
from winokit.stages.grade.record import Graded, GradeScore
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
    """Return the questions to ask about an entry, by option.

    Each is a text and the type of its answer. `given` has the values of all options. Options with a value are not
    asked for, and nothing is asked for a board.
    """
    if given["board"] is not None:
        return {}
    return {name: question for name, question in QUESTIONS.items() if not given[name]}


def lines(result: "Grading | Leaderboard") -> Iterator[str]:
    """Yield the lines to print on a grading or a board."""
    if not isinstance(result, Grading):
        yield f"{plural(len(result.places), 'entry', 'entries')} written to {result.page}"
        return
    yield from _describe_scores(result.shown)
    if result.out is not None:
        yield f"entry: {result.out}"


def _describe_scores(graded: Graded) -> Iterator[str]:
    """Yield lines on the test, each score, and the entry's statement."""
    release = graded.release
    statement = graded.statement
    title = f"{release.get('name', 'release')} {release.get('version', '')}".strip()
    test = release["test"]
    units = ""
    if test.get("units") is not None:
        units = f", {plural(test['units'], 'unit')}"
    yield f"{title}: {test['problems']:,} test problems, {test['groups']:,} groups{units}"
    if graded.scores:
        corrected = "  luck-corrected" if statement is not None else ""
        yield f"{'size':6}  {'score':14}    value       95 % interval   chance{corrected}"
    for score in graded.scores:
        yield _format_score(score)
    if statement is not None:
        is_untrained = statement.training_data.casefold() == "none"
        training = "not trained for the task" if is_untrained else f"trained on {statement.training_data}"
        yield f"{statement.name}: {statement.formalization}; {training}; {plural(statement.trials, 'trial')}"


def _format_score(score: GradeScore) -> str:
    """Return a score as a line of the table."""
    size = "–" if score.size == ONE else score.size
    metric = score.metric.replace("_", " ")
    value = percent(score.value)
    interval = f"{percent(score.low)} to {percent(score.high)}"
    chance = percent(score.chance)
    corrected = ""
    if score.luck_corrected is not None:
        corrected = f"  {percent(score.luck_corrected):>14}"
    return f"{size:6}  {metric:14}  {value:>7}  {interval:>18}  {chance:>7}{corrected}"


def as_json(result: "Grading | Leaderboard") -> dict[str, Any]:
    """Return the shown grading, or the board, as JSON-ready values."""
    return result.shown.to_json() if isinstance(result, Grading) else result.to_json()
