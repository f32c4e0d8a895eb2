"""Model + dataset + scoring -> a prediction for each problem."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput, UnusedSetting
from winokit.files import json_rows, write_whole
from winokit.methods.scoring.base import Abstain, Scoring, Setting, all_whole, choose_scoring
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.methods.scoring.prompts import PromptTemplate, read_prompt
from winokit.methods.transforms.substitute import Style
from winokit.models.base import Answer, Ask, Model, ModelOfModels, Refusal, Request, samples_of
from winokit.problem import NO_BLANK, ORIGINAL, Dataset, Problem, original_id
from winokit.progress import Progress
from winokit.results import NOT_A_NUMBER, decide
from winokit.settings import Help, Settings

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript

LEFT_OUT = ("why", "sample")
"""Columns of a prediction that a row has only where they say something."""
CLOSE = 1e-4
"""A margin below which another batch size could turn a prediction."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """One row of predictions.jsonl. `prediction` is a candidate's index, None for an abstention; `why` says why."""

    id: str
    variant: str
    model: str
    scoring: str
    scores: tuple[float, ...] | None
    prediction: int | None
    answer: int | None
    why: str | None = None
    sample: int | None = None
    """Which of several answers of one scorer to this problem, from 0; None where there is only one."""

    @property
    def is_right(self) -> bool:
        """Whether it is right; an abstention is not, and neither is a choice of which the right one is not known."""
        return self.prediction is not None and self.prediction == self.answer

    @property
    def margin(self) -> float | None:
        """How far the best score is ahead of the next."""
        if self.scores is None:
            return None
        best, second = sorted(self.scores, reverse=True)[:2]
        return best - second

    def to_json(self) -> dict[str, Any]:
        """The row, without `why` and `sample` where they say nothing."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in row.items() if value is not None or name not in LEFT_OUT}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Prediction":
        """The prediction of such a row."""
        scores = row["scores"]
        known = {name: row.get(name) for name in cls.__slots__ if name != "scores"}
        return cls(scores=None if scores is None else tuple(scores), **known)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ScoringPlan(Settings):
    """How to score: everything but the data and the model."""

    scoring: Annotated[str | None, Help("How to score; default: depends on the kind of model.", metavar="NAME")] = None
    """A scoring's name with its options, or None for the default of the model's kind."""
    substitution: Annotated[
        Style,
        Help(
            "How candidates are put into the blank: auto, literal or natural.",
            metavar="STYLE",
            noun="style of substitution",
            section="asking",
        ),
    ] = "auto"
    shots: Annotated[int, Help("Solved problems to put before each problem, never its twin.", least=0)] = 0
    shots_from: Annotated[
        str | Path | Dataset | None,
        Help(
            "Where to take shots from, never a problem of DATA or its twin; default: DATA itself.",
            metavar="DATA",
            section="asking",
        ),
    ] = None
    seed: Annotated[int, Help("Seed for drawing shots.", least=0, section="asking")] = 0
    prompt: Annotated[
        str | Path | PromptTemplate | None,
        Help(
            "A file with the wording of questions, using {sentence}, {question}, {options} and {letters}.",
            metavar="FILE",
        ),
    ] = None


def score_variants(
    variants: Mapping[str, Dataset],
    model: Model,
    plan: ScoringPlan | None = None,
    *,
    cache: Cache | None = None,
    progress: Progress | None = None,
    transcripts: "list[Transcript] | None" = None,
) -> list[Prediction]:
    """Score several variants of a dataset in one pass: the model is asked once for all of them.

    A variant's problem has its original's id in `provenance["of"]`, and its row carries that. What was said in
    questions and replies is added to `transcripts`.
    """
    plan = plan or ScoringPlan()
    cache = cache or Cache()
    if isinstance(model, ModelOfModels) and model.combine == "vote":
        ballots = [
            score_variants(variants, member, plan, cache=cache, progress=progress, transcripts=transcripts)
            for member in model.members
        ]
        return _voted(model, ballots)
    problems = variants.get(ORIGINAL, Dataset([]))
    scoring, options = choose_scoring(plan.scoring, model, problems)
    if scoring.needs_blank and all_whole(problems):
        raise BadInput(
            f"scoring {scoring.name!r} needs a blank, and these problems are whole texts: try full, pseudo-likelihood "
            "or ask, as the model can"
        )
    if plan.shots and not scoring.takes_shots:
        raise BadInput(f"scoring {scoring.name!r} has no place for solved examples: leave out --shots")
    if plan.substitution != "auto" and not scoring.substitutes:
        raise UnusedSetting("substitution", f"scoring {scoring.name!r} puts no candidate into the blank")
    if plan.substitution != "auto" and all_whole(problems):
        raise UnusedSetting("substitution", f"{NO_BLANK}, have nothing to be put into")
    if plan.prompt is not None and not scoring.takes_prompt:
        raise BadInput(f"scoring {scoring.name!r} asks no questions: leave out --prompt")
    plan = replace(plan, prompt=read_prompt(plan.prompt))
    # One sample after the other: what is asked first by itself, in small parts, is of one sample.
    questions = [
        _Question(scoring, problem, setting, (variant, model.spec), sample)
        for sample in _sample_numbers(model)
        for variant, dataset in variants.items()
        for problem, setting in _settings(dataset, model.kind, plan, options)
    ]
    requests = [request for question in questions for request in question.requests]
    constraint = _decide_constraint(model, requests, cache)
    name = scoring_name(scoring, plan, options, constraint)
    answers = answer_all(model, requests, cache, progress)
    if transcripts is not None and Ask in scoring.needs:
        from winokit.methods.scoring.transcripts import transcripts_of

        for each in questions:
            transcripts += transcripts_of((*each.named, name), each.requests, answers, each.sample)
    return [question.predicted(answers, name) for question in questions]


def _decide_constraint(model: Model, requests: Sequence[Request], cache: Cache) -> str | None:
    """The constraint of a model's replies, decided now if it is open."""
    if getattr(model, "wish", None) != "auto":
        return getattr(model, "constraint", None)
    from winokit.methods.scoring.constraining import settle_constraint

    return settle_constraint(model, requests, cache)


def _sample_numbers(model: Model) -> Sequence[int | None]:
    """The numbers of the samples to ask for, or a single None."""
    count = samples_of(model)
    return [None] if count == 1 else range(count)


def notes_on_replies(transcripts: "Sequence[Transcript]") -> list[str]:
    """How the replies of each scorer were read; nothing if no model was asked in words."""
    if not transcripts:
        return []
    from winokit.methods.scoring.transcripts import reply_notes

    return reply_notes(transcripts)


def _settings(
    dataset: Dataset, kind: str, plan: ScoringPlan, options: Mapping[str, str]
) -> Iterable[tuple[Problem, Setting]]:
    """Each problem with its twins and its shots."""
    prompt = read_prompt(plan.prompt)
    pool = dataset if plan.shots_from is None else plan.shots_from
    if not isinstance(pool, Dataset):
        raise TypeError(f"shots_from: expected problems, found {pool!r}; `data.loading.load_shots` loads them")
    shots = choose_shots(pool, dataset, plan.shots, plan.seed)
    for problem, own_shots in zip(dataset, shots, strict=True):
        twins: Sequence[Problem] = () if problem.group is None else dataset.groups[problem.group]
        others = [other for other in twins if other is not problem]
        yield problem, Setting(kind, plan.substitution, others, own_shots, options, prompt)


def choose_shots(pool: Sequence[Problem], problems: Sequence[Problem], k: int, seed: int) -> list[tuple[Problem, ...]]:
    """For each problem the first `k` of one shuffled pool that are neither it nor in its group.

    One shuffle for all: most problems then share their shots, and a causal model reads them once.
    """
    if not k:
        return [()] * len(problems)
    solved = [problem for problem in pool if problem.answer is not None and problem.query is None]
    shuffled = [solved[i] for i in np.random.default_rng(seed).permutation(len(solved))]
    chosen = []
    for problem in problems:
        own = problem.group
        others = (s for s in shuffled if s.text != problem.text and (own is None or s.group != own))
        shots = tuple(islice(others, k))
        if len(shots) < k:
            raise BadInput(f"{k} shots requested, but only {len(shots)} solved problems are not twins of {problem.id}")
        chosen.append(shots)
    return chosen


def _voted(ensemble: ModelOfModels, ballots: Sequence[Sequence[Prediction]]) -> list[Prediction]:
    """One prediction per problem from those of several models: shares of the votes cast as scores."""
    made = []
    if len(set(map(len, ballots))) > 1:
        raise BadInput(f"{ensemble.spec}: members cast votes sample by sample: give each the same ?n=")
    for votes in zip(*ballots, strict=True):
        first = votes[0]
        cast = [vote.prediction for vote in votes if vote.prediction is not None]
        named = (first.id, first.variant, ensemble.spec, first.scoring)
        sizes = [len(vote.scores) for vote in votes if vote.scores is not None]
        if not cast or not sizes:
            made.append(Prediction(*named, None, None, first.answer, "no model answered", first.sample))
            continue
        shares = tuple(cast.count(index) / len(cast) for index in range(sizes[0]))
        made.append(replace(_decided(named, shares, first.answer), sample=first.sample))
    return made


def _decided(named: tuple[str, str, str, str], scores: tuple[float, ...], answer: int | None) -> Prediction:
    """The candidate with the highest score; a tie, or a score that is no number, is an abstention that says so."""
    prediction, why = decide(scores)
    return Prediction(*named, None if why == NOT_A_NUMBER else scores, prediction, answer, why)


def scoring_name(scoring: Scoring, plan: ScoringPlan, options: Mapping[str, str], constraint: str | None = None) -> str:
    """The scoring as a row names it: with whatever of its options and of the plan changes the scores.

    `constraint` is what the server holds replies to the options by.
    """
    more = dict(options) | ({"shots": str(plan.shots)} if plan.shots else {})
    more |= {"shots_from": plan.shots_from.card.name} if isinstance(plan.shots_from, Dataset) else {}
    more |= {"prompt": plan.prompt.name} if isinstance(plan.prompt, PromptTemplate) else {}
    more |= {"substitution": plan.substitution} if plan.substitution != "auto" else {}
    more |= {"constrained": constraint} if constraint else {}
    return scoring.name + ("?" + "&".join(f"{key}={value}" for key, value in more.items()) if more else "")


class _Question:
    """A problem on its way from requests to prediction."""

    def __init__(
        self,
        scoring: Scoring,
        problem: Problem,
        setting: Setting,
        named: tuple[str, str],
        sample: int | None = None,
    ) -> None:
        self.scoring = scoring
        self.problem = problem
        self.setting = setting
        self.sample = sample
        self.named = (original_id(problem), *named)
        self.requests: tuple[Request, ...] = ()
        self.why: str | None = None
        if scoring.needs_blank and problem.is_whole:
            self.why = NO_BLANK
            return
        try:
            self.requests = tuple(_number_request(request, sample) for request in scoring.ask(problem, setting))
        except Abstain as refusal:
            self.why = str(refusal)

    def predicted(self, answers: Mapping[Request, Answer], scoring: str) -> Prediction:
        """The prediction under the name of a scoring, once everything is answered."""
        names = (*self.named, scoring)
        given = [answers[request] for request in self.requests]
        why = self.why or next((answer.why for answer in given if isinstance(answer, Refusal)), None)
        if why is None:
            try:
                scores = self.scoring.judge(self.problem, self.setting, given)
                return replace(_decided(names, scores, self.problem.answer), sample=self.sample)
            except Abstain as refusal:
                why = str(refusal)
        return Prediction(*names, None, None, self.problem.answer, why, self.sample)


def _number_request(request: Request, sample: int | None) -> Request:
    """A request for one of several answers to it."""
    return replace(request, sample=sample) if sample and isinstance(request, Ask) else request


def sample_column(predictions: Sequence[Prediction]) -> NDArray[np.int64] | None:
    """The samples of predictions, from 0, or None if none has several."""
    numbers = [prediction.sample for prediction in predictions]
    if all(number is None for number in numbers):
        return None
    return np.array([number or 0 for number in numbers], np.int64)


def close_calls(predictions: Iterable[Prediction]) -> int:
    """How many predictions rest on a margin that another batch size could turn."""
    return sum(p.prediction is not None and p.margin is not None and p.margin < CLOSE for p in predictions)


def check_replaceable(path: Path) -> None:
    """Refuse to write predictions over a file that holds anything else, before any work is done."""
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it with --out")
    if path.is_file() and path.stat().st_size and not _holds_predictions(path):
        raise BadInput(f"{path}: holds no predictions, and would be overwritten; choose another --out")


def _holds_predictions(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(row, dict) and row.keys() >= {"id", "variant", "prediction"}


def write_predictions(predictions: Iterable[Prediction], path: Path) -> None:
    """Write predictions.jsonl, whole or not at all."""
    write_whole(path, json_rows(prediction.to_json() for prediction in predictions).encode())
