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
from winokit.formalizations import Encoded, Network
from winokit.metrics import chance, majority_class, p_chance
from winokit.problem import Dataset
from winokit.scoring import Prediction

STUCK = 0.98
"""A loss above this share of what guessing gives has not moved."""
FEW, LEVEL = 10, 0.05


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
    losses: Sequence[float], guessing: float | None, dev: Dataset | None, predictions: Sequence[Prediction]
) -> list[str]:
    """What is wrong with a run, one sentence each; nothing where nothing is."""
    on_dev = _on_dev(dev, predictions) if dev is not None and len(dev) >= FEW else None
    last = losses[-max(1, len(losses) // 4) :]
    stuck = guessing is not None and bool(last) and sum(last) / len(last) > STUCK * guessing
    # A dev set that was answered better than guessing allows has the last word: a loss moves late, and little at first.
    if not stuck or on_dev == []:
        return on_dev or []
    told = (
        f"the training loss ended at {sum(last) / len(last):.3f}, where guessing has {guessing:.3f}: "
        "nothing was learned; try another learning rate, seed or more steps"
    )
    return [told, *(on_dev or [])]


def _on_dev(dev: Dataset, predictions: Sequence[Prediction]) -> list[str]:
    answers = [problem.answer or 0 for problem in dev]
    made = {prediction.prediction for prediction in predictions} - {None}
    if not made:
        return ["not one problem of the dev set was decided"]
    if len(made) == 1 and len(set(answers)) > 1:
        (only,) = made
        judgements = all(problem.query is not None for problem in dev)
        what = f"{dev[0].candidates[only or 0]!r}" if judgements else f"candidate {(only or 0) + 1}"
        return [f"every prediction on the dev set is {what}: a degenerate run"]
    right = sum(p.prediction == answer for p, answer in zip(predictions, answers, strict=True))
    decided = sum(p.prediction is not None for p in predictions)
    if all(problem.query is not None for problem in dev):
        base, called = majority_class(answers), "always giving the commonest answer"
    else:
        base, called = chance([len(problem.candidates) for problem in dev]), "guessing"
    if p_chance(right, decided, base) > LEVEL:
        share, least = f"{100 * right / decided:.1f} %", f"{100 * base:.1f} %"
        return [f"{right:,} right of {decided:,} decided on the dev set ({share}) are not told from {called} ({least})"]
    return []
