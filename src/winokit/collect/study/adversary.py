"""A model that twins should fool, asked while they are written.

Whoever writes sees whether the model solves both problems, and whether it does so from the clause of the blank alone,
which is what word association means. What it said is stored with the submission, with its revision.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from winokit.collect.study.study import Study
from winokit.collect.study.texts import say
from winokit.collect.study.writing import read_twins
from winokit.data.checks.rules import one_blank
from winokit.errors import WinokitError
from winokit.methods.scoring.scorer import ScoringPlan, score_variants
from winokit.methods.transforms.part_sent import part_sent
from winokit.models.base import Model
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem

LOG = logging.getLogger("winokit.collect")
REMEMBERED = 256
"""Pairs whose verdicts are kept: what a writer was shown is asked for again when it is handed in."""
MESSAGES = {
    (True, False): say("model.is_fooled"),
    (False, False): say("model.solves_both"),
    (False, True): say("model.solves_from_clause"),
    (True, True): say("model.fooled_but_clause"),
}
"""What a writer is told, by whether the model is fooled and whether the clause gives the answers away."""


@dataclass(frozen=True)
class AdversaryVerdict:
    """What the model made of a pair. `right` is by problem; None where it could not answer."""

    model: str
    revision: str
    scoring: str
    right: tuple[bool | None, bool | None]
    fooled: bool
    """It does not solve both."""
    clause_gives_away: bool
    """It solves both from the clause with the blank alone."""
    message: str

    def to_json(self) -> dict[str, Any]:
        """What is stored with the submission."""
        return {name: value for name, value in asdict(self).items() if name != "message"} | {"right": list(self.right)}


class Adversary:
    """A model, loaded when it is first asked, one question at a time."""

    def __init__(self, spec: str, scoring: str = "") -> None:
        self.spec, self.scoring = spec, scoring
        self._model: Model | None = None
        self._lock = threading.Lock()
        # Threads may share it, and what raises is asked again.
        self._remembered = lru_cache(REMEMBERED)(self._judge)

    def judge(self, pair: tuple[Problem, Problem]) -> AdversaryVerdict:
        """Solve the two problems, whole and from the clause alone; what was asked lately is not asked again."""
        try:
            return self._remembered(pair)
        except WinokitError as error:
            LOG.error("the model %s did not answer: %s", self.spec, error)  # what it says may name files of ours
            message = say("model.did_not_answer")
            return AdversaryVerdict(self.spec, "", self.scoring, (None, None), False, False, message)

    def _judge(self, pair: tuple[Problem, Problem]) -> AdversaryVerdict:
        asked = {"original": Dataset([p.replace(group="twins") for p in pair])}
        clauses = [cut for cut in map(part_sent, pair) if not isinstance(cut, str)]
        if len(clauses) == len(pair):
            asked["part-sent"] = Dataset([p.replace(group="twins") for p in clauses])
        with self._lock:
            self._model = self._model or load_model(self.spec)
            predictions = score_variants(asked, self._model, ScoringPlan(self.scoring or None))
        right: dict[str, list[bool | None]] = {"original": [], "part-sent": []}
        for row in predictions:
            right[row.variant].append(None if row.prediction is None else row.prediction == row.answer)
        whole, clause = right["original"], right["part-sent"]
        fooled, gives_away = not all(whole), len(clause) == 2 and all(clause)
        known = (self.spec, self._model.fingerprint, predictions[0].scoring)
        return AdversaryVerdict(*known, (whole[0], whole[1]), fooled, gives_away, MESSAGES[fooled, gives_away])


def ask(study: Study, fields: Mapping[str, Any]) -> AdversaryVerdict | None:
    """What the study's model makes of a form; None without a model, or while the form is not whole."""
    twins = read_twins(fields)
    if not study.adversary.spec or twins.missing or any(one_blank(text) for text in twins.texts):
        return None
    return study.adversary.judge(twins.problems(study.config.language))
