"""A model that twins should fool, shown them as they are written; after Dynabench (Kiela et al., 2021).

Whoever writes sees what the model chose and how sure it was, so many times for a task, and whether it solves both from
the clause of the blank alone, which is what word association means. What it said of the pair that was handed in is
stored with it. Fooling counts when people have found the pair valid: then it earns its writer a bonus.

A model may be slow, or gone: nobody waits for it longer than the study says, and a pair is taken without its answer.
"""

import logging
import math
import threading
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import select

from winokit import Dataset, Problem, load, load_model
from winokit.extend import Model, Prediction, ScoringPlan, group_accuracy, part_sent, score_variants, twin_rules
from winokit_collect.study.schema import Event, State
from winokit_collect.study.study import Study
from winokit_collect.study.tasks import leased_to
from winokit_collect.study.texts import say
from winokit_collect.study.writing import read_twins

LOG = logging.getLogger("winokit.collect")
REMEMBERED = 256
"""Pairs whose verdicts are kept: what a writer was shown is asked for again when it is handed in."""
ASKED = "asked"
EVALUATION = "adversary"
"""The event of a pair that the model was shown, and the state that keeps what the model knows."""
EVALUATION_DATA = "open"
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
    """It chose wrongly in one of them; no answer is no mistake."""
    clause_gives_away: bool
    """It solves both from the clause with the blank alone."""
    message: str
    sure: tuple[float | None, float | None] = (None, None)
    """The probability of what it chose, by problem, where its scores tell one."""
    chosen: tuple[str | None, str | None] = (None, None)

    def to_json(self) -> dict[str, Any]:
        """What is stored with the submission."""
        stored = {name: value for name, value in asdict(self).items() if name != "message"}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in stored.items()}


@dataclass(frozen=True)
class AdversaryEvaluation:
    """What the model knows: of how many bundled pairs it solves both, where a coin solves a quarter."""

    revision: str
    scoring: str
    pairs: int
    solved: int


class Adversary:
    """A model with a time limit. Those on this machine are asked one question at a time, servers several at once."""

    def __init__(self, spec: str, scoring: str = "", seconds: float = 20) -> None:
        self.spec = spec
        self.scoring = scoring
        self.seconds = seconds
        self.evaluation: AdversaryEvaluation | None = None
        self._model: Model | None = None
        self._lock = threading.Lock()
        # Threads may share it, and what raises is asked again.
        self._remembered = lru_cache(REMEMBERED)(self._judge)

    def prepare(self, study: Study) -> None:
        """Load the model and find out what it knows, before anybody waits for it; what is wrong with it is raised.

        It is evaluated once, and the result kept in the study's database.
        """
        if not self.spec:
            return
        with study.store.read() as session:
            kept = session.get(State, EVALUATION)
        evaluation = AdversaryEvaluation(**kept.value) if kept else None
        if evaluation is None or (evaluation.revision, evaluation.scoring) != (
            self._loaded().fingerprint,
            self.scoring,
        ):
            evaluation = self._evaluate()
            with study.store.write() as session:
                session.merge(State(key=EVALUATION, value=asdict(evaluation)))
        self.evaluation = evaluation

    def judge(self, pair: tuple[Problem, Problem]) -> AdversaryVerdict:
        """Solve the two problems, whole and from the clause alone; what was asked lately is not asked again."""
        answer: Future[AdversaryVerdict] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._remembered(pair))
            except Exception as error:
                answer.set_exception(error)

        try:  # in a thread that nobody waits for when the server stops: it may hang in a connection
            threading.Thread(target=ask, name="adversary", daemon=True).start()
            return answer.result(self.seconds)
        except Exception as error:  # whatever a model does, people can go on; what it says may name files of ours
            LOG.error("the model %s did not answer: %s", self.spec, error or f"nothing within {self.seconds:g} s")
            message = say("model.did_not_answer")
            return AdversaryVerdict(self.spec, "", self.scoring, (None, None), False, False, message)

    def _loaded(self) -> Model:
        with self._lock:
            self._model = self._model or load_model(self.spec)
        return self._model

    def _score(self, variants: Mapping[str, Dataset]) -> list[Prediction]:
        model = self._loaded()
        with nullcontext() if hasattr(model, "usage") else self._lock:  # what counts its usage is a server
            return score_variants(variants, model, ScoringPlan(self.scoring or None))

    def _evaluate(self) -> AdversaryEvaluation:
        problems = load(EVALUATION_DATA)
        right = [row.is_right for row in self._score({"original": problems})]
        pairs = len(problems.groups)
        solved = round(pairs * group_accuracy(right, [problem.group for problem in problems]))
        return AdversaryEvaluation(self._loaded().fingerprint, self.scoring, pairs, solved)

    def _judge(self, pair: tuple[Problem, Problem]) -> AdversaryVerdict:
        asked = {"original": Dataset([p.replace(group="twins") for p in pair])}
        clauses = [cut for cut in map(part_sent, pair) if not isinstance(cut, str)]
        if len(clauses) == len(pair):
            asked["part-sent"] = Dataset([p.replace(group="twins") for p in clauses])
        rows = self._score(asked)
        first, second = whole = [row for row in rows if row.variant == "original"]
        clause = [row.is_right for row in rows if row.variant == "part-sent"]
        right = [None if row.prediction is None else row.is_right for row in whole]
        names = [None if row.prediction is None else pair[0].candidates[row.prediction] for row in whole]
        fooled = False in right
        gives_away = len(clause) == 2 and all(clause)
        message = say("model.did_not_answer") if None in right and not fooled else MESSAGES[fooled, gives_away]
        known = (self.spec, self._loaded().fingerprint, first.scoring, (right[0], right[1]), fooled, gives_away)
        sure = (_sureness(first.scores), _sureness(second.scores))
        return AdversaryVerdict(*known, message, sure, (names[0], names[1]))


def _sureness(scores: Sequence[float] | None) -> float | None:
    """The probability of the best candidate: from log-probabilities, or from shares; None where scores are neither.

    >>> _sureness((-1.0, -1.0)), _sureness((0.25, 0.75)), _sureness((3.0, 1.0))
    (0.5, 0.75, None)
    """
    if not scores:
        return None
    if all(score <= 0 for score in scores):
        return 1 / sum(math.exp(score - max(scores)) for score in scores)
    return max(scores) if min(scores) >= 0 and math.isclose(sum(scores), 1) else None


def ask(study: Study, fields: Mapping[str, Any]) -> AdversaryVerdict | None:
    """What the study's model makes of a form; None without a model, or while the form is not whole."""
    twins = read_twins(fields)
    if not study.adversary.spec or twins.missing or any(twin_rules.one_blank(text) for text in twins.texts):
        return None
    return study.adversary.judge(twins.problems(study.config.language))


def tries_left(
    study: Study, worker_id: int, token: str, fields: Mapping[str, Any], *, take: bool = False
) -> int | None:
    """How many more versions of a pair a writer may show the model; None where that is not limited.

    `take` uses one up for this version, unless it is not whole or was shown before; -1 says that there was none left.
    """
    most = study.config.adversary.tries
    if not most:
        return None
    twins = read_twins(fields)
    # What the model is shown as a number that fits a column.
    version = zlib.crc32(repr((twins.texts, twins.candidates, twins.pronoun)).encode()) & 0x7FFFFFFF
    with study.store.write(quick=True) as session:
        leased = leased_to(session, worker_id, token, for_update=take)
        shown = select(Event.amount).where(Event.lease_id == leased.lease_id, Event.kind == ASKED)
        versions = set(session.scalars(shown))
        if take and not twins.missing and version not in versions:
            if len(versions) >= most:
                return -1
            versions.add(version)
            known = {"worker_id": worker_id, "lease_id": leased.lease_id, "at": study.now()}
            session.add(Event(kind=ASKED, amount=version, **known))
    return max(most - len(versions), 0)
