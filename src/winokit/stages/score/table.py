"""Predictions on the terminal and for scripts: how many were answered, and how many are right."""

from typing import Any

from winokit.drawing.tables import Lines, plan_lines
from winokit.methods.scoring.replay import replay_sentences
from winokit.methods.scoring.scorer import close_calls
from winokit.stages.score.run import Scored


def as_json(result: Scored) -> dict[str, Any]:
    """Return file, scorer, and numbers of answered and right problems.

    Of a dry run, the plan: requests that would be made, and what they would cost.
    """
    if result.plan is not None:
        return dict(result.plan)
    predictions = result.predictions
    first = predictions[0]
    problem_ids = {row.id for row in predictions}
    answered_count = sum(row.prediction is not None for row in predictions)
    labelled = [row for row in predictions if row.answer is not None]
    return {
        "out": result.out and str(result.out),
        "model": first.model,
        "scoring": first.scoring,
        "problems": len(problem_ids),
        "answered": answered_count,
        "right": sum(row.is_right for row in labelled),
        "labelled": len(labelled),
        "close_calls": close_calls(predictions),
        "replayed": dict(result.replayed),
    }


def lines(result: Scored) -> Lines:
    """Yield sentences on how many problems are answered and right.

    Of a dry run, the plan: requests that would be made, and what they would cost.
    """
    if result.plan is not None:
        yield from plan_lines(result.plan)
        return
    counts = as_json(result)
    scorer = f"{counts['model']} ({counts['scoring']})"
    yield f"{len(result.predictions):,} predictions by {scorer} written to {counts['out']}"
    if counts["labelled"]:
        share = 100 * counts["right"] / counts["labelled"]
        yield f"{counts['right']:,} of {counts['labelled']:,} right ({share:.1f} %)"
    silent = [row for row in result.predictions if row.prediction is None]
    if silent:
        yield f"{len(silent):,} not answered; the first: {silent[0].why}"
    if counts["close_calls"]:
        yield f"{counts['close_calls']:,} rest on a margin below 0.0001, which another batch size could turn"
    yield from replay_sentences(result.replayed)
