"""Runs that learned nothing, told apart from those that did.

Fine-tuning fails often and in silence: of the RoBERTa runs on WinoGrande that were published most stay at 51 to 53 per
cent at a rate at which others reach 80. The signs are a loss that never left what guessing gives, one answer for
everything, and an accuracy that a constant answer has too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from winokit.errors import WinokitError
from winokit.methods.formalizations.inputs import Encoded
from winokit.methods.formalizations.network import Network
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset
from winokit.results import ABOVE, FLOOR, Metric, stands

STUCK = 0.98
"""A loss above this share of what guessing gives has not moved."""
FEW = 10
"""Below so many problems a dev set has nothing to say."""


class Diverged(WinokitError):
    """The loss is no number any more, or what the model says of an option is none."""

    def __init__(self, what: str, rate: float | None = None) -> None:
        told = "" if rate is None else f" ({rate:g})"
        super().__init__(f"training diverged: {what}; lower the learning rate{told}")


def finite(numbers: Sequence[float]) -> Sequence[float]:
    """The numbers of a problem's options, all of them numbers indeed."""
    if not all(map(math.isfinite, numbers)):
        raise Diverged("the model has no number for an option any more")
    return numbers


def guessing_loss(network: Network, examples: Sequence[Encoded]) -> float | None:
    """The mean loss if every option got the same number; None for a loss that depends on which."""
    formalization = network.formalization
    if formalization.switches.get("loss") == "margin":
        return None
    batch = network.collated(examples[:1024])
    total, count = formalization.definition.loss(torch.zeros(len(batch.row)), batch, formalization.switches)
    return float(total) / count


def symptoms(
    losses: Sequence[float],
    guessing: float | None,
    dev: Dataset | None,
    predictions: Sequence[Prediction],
    rows: Sequence[Metric] = (),
) -> list[str]:
    """What is wrong with a run, one sentence each; nothing where nothing is. `rows` are those of the dev set."""
    on_dev = _on_dev(dev, predictions, rows) if dev is not None and len(dev) >= FEW else None
    last = losses[-max(1, len(losses) // 4) :]
    stuck = guessing is not None and bool(last) and sum(last) / len(last) > STUCK * guessing
    # A dev set that was answered better than guessing allows has the last word: a loss moves late, and little at first.
    if not stuck or on_dev == []:
        return on_dev or []
    told = (
        f"the training loss ended at {sum(last) / len(last):.3f}, where guessing has {guessing:.3f}: "
        "it did not fall below; try another learning rate, seed or more steps"
    )
    return [told, *(on_dev or [])]


def _on_dev(dev: Dataset, predictions: Sequence[Prediction], rows: Sequence[Metric]) -> list[str]:
    answers = [problem.answer or 0 for problem in dev]
    made = {prediction.prediction for prediction in predictions} - {None}
    if not made:
        return ["not one problem of the dev set was decided"]
    if len(made) == 1 and len(set(answers)) > 1:
        (only,) = made
        judgements = all(problem.query is not None for problem in dev)
        what = f"{dev[0].candidates[only or 0]!r}" if judgements else f"candidate {(only or 0) + 1}"
        return [f"every prediction on the dev set is {what}: a degenerate run"]
    for row in rows:
        # The same interval, twins drawn together, that the row shows: two tests would contradict each other one day.
        if row.metric == "accuracy" and stands(row) != ABOVE:
            called, base = "always giving the commonest answer" if FLOOR in row.details else "guessing", row.level
            share, least = f"{100 * row.value:.1f} %", f"{100 * (base or 0):.1f} %"
            return [f"{share} of {row.n:,} problems of the dev set are not more than {called} gives ({least}) for sure"]
    return []
