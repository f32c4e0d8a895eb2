"""A model that twins should fool, after Dynabench (Kiela et al., 2021).

Writers see what the model chose and how sure it was, a limited number of times for each task. They also see whether
it solves both problems from the clause with the blank alone, since then word association is enough. Its answers
about the pair that was handed in are stored with the pair. A pair that fools the model earns its writer a bonus if
people find it valid.

A model may be slow or unreachable. Nobody waits for it longer than the study's limit, and then a pair is taken
without its answer.
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
"""Number of pairs whose verdicts are remembered: a pair is usually judged again when it is handed in."""
ASKED = "asked"
EVALUATION = "adversary"
"""Kind of the event for a pair that the model was shown, and key of the state that stores the evaluation."""
EVALUATION_DATA = "open"
MESSAGES = {
    (True, False): say("model.is_fooled"),
    (False, False): say("model.solves_both"),
    (False, True): say("model.solves_from_clause"),
    (True, True): say("model.fooled_but_clause"),
}
"""Message for a writer, by whether the model is fooled and whether the clause gives the answers away."""


@dataclass(frozen=True)
class AdversaryVerdict:
    """The model's answers to the two problems of a pair.

    `right` has one value for each problem, None if the model could not answer.
    """

    model: str
    revision: str
    scoring: str
    right: tuple[bool | None, bool | None]
    fooled: bool
    """Whether it chose wrongly in at least one problem. No answer is no mistake."""
    clause_gives_away: bool
    """Whether it solves both problems from the clause with the blank alone."""
    message: str
    sure: tuple[float | None, float | None] = (None, None)
    """Probability of the chosen candidate, by problem. None if the scores are no probabilities."""
    chosen: tuple[str | None, str | None] = (None, None)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are stored with the submission."""
        stored_fields = asdict(self)
        del stored_fields["message"]
        for name, value in stored_fields.items():
            if isinstance(value, tuple):
                stored_fields[name] = list(value)
        return stored_fields


@dataclass(frozen=True)
class AdversaryEvaluation:
    """Number of bundled pairs that the model solves completely.

    Guessing solves a quarter of them.
    """

    revision: str
    scoring: str
    pairs: int
    solved: int


class Adversary:
    """The model that writers try to fool, with a time limit.

    A model on this machine answers one question at a time, a server several at once. The model is loaded when it is
    first needed.
    """

    def __init__(self, spec: str, scoring: str = "", seconds: float = 20) -> None:
        self.spec = spec
        self.scoring = scoring
        self.seconds = seconds
        self.evaluation: AdversaryEvaluation | None = None
        self._model: Model | None = None
        self._lock = threading.Lock()
        # Threads may share it, and what raises is asked again.
        self._remembered = lru_cache(REMEMBERED)(self._solve_pair)

    def prepare(self, study: Study) -> None:
        """Load the model and evaluate it on the bundled pairs.

        Called when the server starts, so that no writer waits for it. The result is stored in the study's database and
        used until the model or the scoring changes. Errors of the model are raised. Does nothing if the study has no
        model.
        """
        if not self.spec:
            return
        with study.store.read() as session:
            stored_state = session.get(State, EVALUATION)
        evaluation = AdversaryEvaluation(**stored_state.value) if stored_state else None
        if evaluation is None or not self._is_current(evaluation):
            evaluation = self._evaluate_model()
            with study.store.write() as session:
                session.merge(State(key=EVALUATION, value=asdict(evaluation)))
        self.evaluation = evaluation

    def judge(self, pair: tuple[Problem, Problem]) -> AdversaryVerdict:
        """Ask the model about both problems, whole and as clauses alone.

        If it fails or takes longer than `seconds`, the verdict says that it did not answer. The verdicts on the last
        pairs are remembered.
        """
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

    def _is_current(self, evaluation: AdversaryEvaluation) -> bool:
        """Whether a stored evaluation is of the present model and scoring."""
        revision = self._load_model().fingerprint
        return evaluation.revision == revision and evaluation.scoring == self.scoring

    def _load_model(self) -> Model:
        """Load the model, once."""
        with self._lock:
            self._model = self._model or load_model(self.spec)
        return self._model

    def _score_variants(self, variants: Mapping[str, Dataset]) -> list[Prediction]:
        """Score the problems of each variant with the model.

        Raises ValueError if it samples several answers.
        """
        model = self._load_model()
        is_server = hasattr(model, "usage")  # only servers count their usage
        plan = ScoringPlan(self.scoring or None)
        with nullcontext() if is_server else self._lock:
            rows = score_variants(variants, model, plan)
        if any(row.sample is not None for row in rows):
            raise ValueError("an adversary gives one answer to each problem: leave out ?n=")
        return rows

    def _evaluate_model(self) -> AdversaryEvaluation:
        """Evaluate the model on the bundled pairs."""
        problems = load(EVALUATION_DATA)
        predictions = self._score_variants({"original": problems})
        right = [row.is_right for row in predictions]
        groups = [problem.group for problem in problems]
        pairs = len(problems.groups)
        solved = round(pairs * group_accuracy(right, groups))
        revision = self._load_model().fingerprint
        return AdversaryEvaluation(revision, self.scoring, pairs, solved)

    def _solve_pair(self, pair: tuple[Problem, Problem]) -> AdversaryVerdict:
        """Ask the model about a pair and describe its answers.

        Raises the model's errors.
        """
        variants = {"original": _make_twins(pair)}
        cuts = [part_sent(problem) for problem in pair]
        clauses = [cut for cut in cuts if not isinstance(cut, str)]
        if len(clauses) == len(pair):
            variants["part-sent"] = _make_twins(clauses)
        rows = self._score_variants(variants)
        first, second = [row for row in rows if row.variant == "original"]
        clause_right = [row.is_right for row in rows if row.variant == "part-sent"]
        right = (_is_answered_right(first), _is_answered_right(second))
        chosen = (_choose_candidate(first, pair[0]), _choose_candidate(second, pair[0]))
        fooled = False in right
        gives_away = len(clause_right) == 2 and all(clause_right)
        if None in right and not fooled:
            message = say("model.did_not_answer")
        else:
            message = MESSAGES[fooled, gives_away]
        revision = self._load_model().fingerprint
        sure = (_find_best_probability(first.scores), _find_best_probability(second.scores))
        return AdversaryVerdict(self.spec, revision, first.scoring, right, fooled, gives_away, message, sure, chosen)


def _make_twins(problems: Sequence[Problem]) -> Dataset:
    """Return a dataset of the problems, all in one group."""
    return Dataset([problem.replace(group="twins") for problem in problems])


def _is_answered_right(row: Prediction) -> bool | None:
    """Whether the model's prediction is right.

    None if it could not answer.
    """
    return None if row.prediction is None else row.is_right


def _choose_candidate(row: Prediction, problem: Problem) -> str | None:
    """Return the candidate that the model chose.

    None if it could not answer.
    """
    return None if row.prediction is None else problem.candidates[row.prediction]


def _find_best_probability(scores: Sequence[float] | None) -> float | None:
    """Probability of the candidate with the highest score.

    The scores are log-probabilities (all 0 or below) or shares (they sum to 1). None for other scores, or without
    scores.

    >>> _find_best_probability((-1.0, -1.0)), _find_best_probability((0.25, 0.75)), _find_best_probability((3.0, 1.0))
    (0.5, 0.75, None)
    """
    if not scores:
        return None
    best = max(scores)
    if all(score <= 0 for score in scores):
        return 1 / sum(math.exp(score - best) for score in scores)
    are_shares = min(scores) >= 0 and math.isclose(sum(scores), 1)
    return best if are_shares else None


def ask(study: Study, fields: Mapping[str, Any]) -> AdversaryVerdict | None:
    """Ask the study's model about the pair in a writing form.

    None if the study has no model, or if the form is incomplete.
    """
    twins = read_twins(fields)
    if not study.adversary.spec or twins.missing:
        return None
    if any(twin_rules.one_blank(text) for text in twins.texts):
        return None
    pair = twins.problems(study.config.language)
    return study.adversary.judge(pair)


def tries_left(
    study: Study, worker_id: int, token: str, fields: Mapping[str, Any], *, take: bool = False
) -> int | None:
    """Number of versions that a writer may still show the model.

    None if the study sets no limit. With `take`, a complete version that was not shown before uses one up: -1 means
    that none was left for it. A version is the texts, candidates and pronoun.
    """
    most = study.config.adversary.tries
    if not most:
        return None
    twins = read_twins(fields)
    # What the model is shown as a number that fits a column.
    shown_to_model = (twins.texts, twins.candidates, twins.pronoun)
    version = zlib.crc32(repr(shown_to_model).encode()) & 0x7FFFFFFF
    with study.store.write(quick=True) as session:
        leased = leased_to(session, worker_id, token, for_update=take)
        shown_versions = select(Event.amount).where(Event.lease_id == leased.lease_id, Event.kind == ASKED)
        versions = set(session.scalars(shown_versions))
        if take and not twins.missing and version not in versions:
            if len(versions) >= most:
                return -1
            versions.add(version)
            event_fields = {"worker_id": worker_id, "lease_id": leased.lease_id, "at": study.now()}
            session.add(Event(kind=ASKED, amount=version, **event_fields))
    return max(most - len(versions), 0)
