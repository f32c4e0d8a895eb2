"""Predict the answer of each problem with a model and a scoring."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
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
    """One row of predictions.jsonl: a scorer's choice for a problem.

    `id` is that of the original problem, also if a variant of it was asked. `prediction` is a candidate's index, or
    None for an abstention, and then `why` has the reason.
    """

    id: str
    variant: str
    model: str
    scoring: str
    scores: tuple[float, ...] | None
    prediction: int | None
    answer: int | None
    why: str | None = None
    sample: int | None = None
    """Number of the sample, from 0; None if there is only one answer."""

    @property
    def is_right(self) -> bool:
        """Whether the prediction is right.

        An abstention is not, nor is a choice if the answer is not known.
        """
        return self.prediction is not None and self.prediction == self.answer

    @property
    def margin(self) -> float | None:
        """Best score minus the second best, or None without scores."""
        if self.scores is None:
            return None
        best, second = sorted(self.scores, reverse=True)[:2]
        return best - second

    def to_json(self) -> dict[str, Any]:
        """Row of the file, without `why` and `sample` if they are None."""
        row = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in row.items() if value is not None or name not in LEFT_OUT}

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> "Prediction":
        """Make a prediction from a row of the file."""
        scores = row["scores"]
        other_fields = {name: row.get(name) for name in cls.__slots__ if name != "scores"}
        return cls(scores=None if scores is None else tuple(scores), **other_fields)  # type: ignore[arg-type]


@dataclass(frozen=True)
class ScoringPlan(Settings):
    """Settings for scoring, except data and model."""

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
    """Score the problems of several variants with a model.

    `variants` has the problems by the variant's name. The model is asked once for all of them. A variant's problem has
    its original's id in `provenance["of"]`, and its prediction has that id. `transcripts`, if given, is extended by
    the questions and replies. Members of an ensemble that votes are scored one by one.
    """
    plan = plan or ScoringPlan()
    cache = cache or Cache()
    if isinstance(model, ModelOfModels) and model.combine == "vote":
        ballots: list[list[Prediction]] = []
        for member in model.members:
            ballot = score_variants(variants, member, plan, cache=cache, progress=progress, transcripts=transcripts)
            ballots.append(ballot)
        return _count_ballots(model, ballots)
    problems = variants.get(ORIGINAL, Dataset([]))
    scoring, options = choose_scoring(plan.scoring, model, problems)
    _check_plan(plan, scoring, problems)
    plan = replace(plan, prompt=read_prompt(plan.prompt))
    # One sample after the other: what is asked first by itself, in small parts, is of one sample.
    questions: list[_Question] = []
    for sample in _sample_numbers(model):
        for variant, dataset in variants.items():
            for problem, setting in _build_settings(dataset, model.kind, plan, options):
                question = _Question(scoring, problem, setting, (variant, model.spec), sample)
                questions.append(question)
    requests = list(chain.from_iterable(question.requests for question in questions))
    constraint = _decide_constraint(model, requests, cache)
    name = scoring_name(scoring, plan, options, constraint)
    answers = answer_all(model, requests, cache, progress)
    if transcripts is not None and Ask in scoring.needs:
        from winokit.methods.scoring.transcripts import transcripts_of

        for each in questions:
            transcripts += transcripts_of((*each.named, name), each.requests, answers, each.sample)
    return [question.predicted(answers, name) for question in questions]


def _check_plan(plan: ScoringPlan, scoring: Scoring, problems: Dataset) -> None:
    """Raise BadInput for settings that do not fit the scoring or problems."""
    name = f"scoring {scoring.name!r}"
    are_whole = all_whole(problems)
    if scoring.needs_blank and are_whole:
        raise BadInput(
            f"{name} needs a blank, and these problems are whole texts: try full, pseudo-likelihood "
            "or ask, as the model can"
        )
    if plan.shots and not scoring.takes_shots:
        raise BadInput(f"{name} has no place for solved examples: leave out --shots")
    if plan.substitution != "auto" and not scoring.substitutes:
        raise UnusedSetting("substitution", f"{name} puts no candidate into the blank")
    if plan.substitution != "auto" and are_whole:
        raise UnusedSetting("substitution", f"{NO_BLANK}, have nothing to be put into")
    if plan.prompt is not None and not scoring.takes_prompt:
        raise BadInput(f"{name} asks no questions: leave out --prompt")


def _decide_constraint(model: Model, requests: Sequence[Request], cache: Cache) -> str | None:
    """Way in which a model's replies are constrained, or None.

    It is decided now if it is open.
    """
    if getattr(model, "wish", None) != "auto":
        return getattr(model, "constraint", None)
    from winokit.methods.scoring.constraining import settle_constraint

    return settle_constraint(model, requests, cache)


def _sample_numbers(model: Model) -> Sequence[int | None]:
    """Numbers of the samples to ask a model for.

    A single None if it is asked once.
    """
    count = samples_of(model)
    return [None] if count == 1 else range(count)


def notes_on_replies(transcripts: "Sequence[Transcript]") -> list[str]:
    """Notes for the user on how each scorer's replies were read.

    Empty if no model was asked in words.
    """
    if not transcripts:
        return []
    from winokit.methods.scoring.transcripts import reply_notes

    return reply_notes(transcripts)


def _build_settings(
    dataset: Dataset, kind: str, plan: ScoringPlan, options: Mapping[str, str]
) -> Iterable[tuple[Problem, Setting]]:
    """Each problem with its setting, which has its twins and shots.

    `kind` is that of the model.
    """
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
    """Choose `k` solved problems of a pool for each problem.

    A shot has an answer and is no yes/no question. It is neither the problem nor in its group. All problems take the
    first that fit from one shuffled order, so that most share their shots, and a causal model reads them once. Raises
    BadInput if the pool is too small.
    """
    if not k:
        return [()] * len(problems)
    solved = [problem for problem in pool if problem.answer is not None and problem.query is None]
    order = np.random.default_rng(seed).permutation(len(solved))
    shuffled = [solved[index] for index in order]
    chosen = []
    for problem in problems:
        own_group = problem.group
        others = (
            shot for shot in shuffled if shot.text != problem.text and (own_group is None or shot.group != own_group)
        )
        shots = tuple(islice(others, k))
        if len(shots) < k:
            raise BadInput(f"{k} shots requested, but only {len(shots)} solved problems are not twins of {problem.id}")
        chosen.append(shots)
    return chosen


def _count_ballots(ensemble: ModelOfModels, ballots: Sequence[Sequence[Prediction]]) -> list[Prediction]:
    """Combine predictions of an ensemble's members by votes.

    `ballots` has the predictions of each member. The scores are the shares of votes.
    """
    predictions = []
    if len(set(map(len, ballots))) > 1:
        raise BadInput(f"{ensemble.spec}: members cast votes sample by sample: give each the same ?n=")
    for votes in zip(*ballots, strict=True):
        first = votes[0]
        cast = [vote.prediction for vote in votes if vote.prediction is not None]
        named = (first.id, first.variant, ensemble.spec, first.scoring)
        sizes = [len(vote.scores) for vote in votes if vote.scores is not None]
        if not cast or not sizes:
            predictions.append(Prediction(*named, None, None, first.answer, "no model answered", first.sample))
            continue
        shares = tuple(cast.count(index) / len(cast) for index in range(sizes[0]))
        predictions.append(replace(_decide_prediction(named, shares, first.answer), sample=first.sample))
    return predictions


def _decide_prediction(named: tuple[str, str, str, str], scores: tuple[float, ...], answer: int | None) -> Prediction:
    """Predict the candidate with the highest score.

    `named` are id, variant, model and scoring. A tie is an abstention, and so is a score that is not a number.
    """
    prediction, reason = decide(scores)
    return Prediction(*named, None if reason == NOT_A_NUMBER else scores, prediction, answer, reason)


def scoring_name(scoring: Scoring, plan: ScoringPlan, options: Mapping[str, str], constraint: str | None = None) -> str:
    """Name of a scoring in results, with the options that change scores.

    `constraint` is how the server holds replies to the options, or None.
    """
    name_options = dict(options)
    if plan.shots:
        name_options["shots"] = str(plan.shots)
    if isinstance(plan.shots_from, Dataset):
        name_options["shots_from"] = plan.shots_from.card.name
    if isinstance(plan.prompt, PromptTemplate):
        name_options["prompt"] = plan.prompt.name
    if plan.substitution != "auto":
        name_options["substitution"] = plan.substitution
    if constraint:
        name_options["constrained"] = constraint
    if not name_options:
        return scoring.name
    query = "&".join(f"{key}={value}" for key, value in name_options.items())
    return f"{scoring.name}?{query}"


class _Question:
    """A problem with its requests, until its answers are known.

    `named` are variant and model. `why` is the reason if nothing can be asked.
    """

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
        """Make the prediction from the answers.

        `scoring` is the scoring's name in results.
        """
        names = (*self.named, scoring)
        own_answers = [answers[request] for request in self.requests]
        refusals = [answer.why for answer in own_answers if isinstance(answer, Refusal)]
        reason = self.why or next(iter(refusals), None)
        if reason is None:
            try:
                scores = self.scoring.judge(self.problem, self.setting, own_answers)
                prediction = _decide_prediction(names, scores, self.problem.answer)
                return replace(prediction, sample=self.sample)
            except Abstain as refusal:
                reason = str(refusal)
        return Prediction(*names, None, None, self.problem.answer, reason, self.sample)


def _number_request(request: Request, sample: int | None) -> Request:
    """Return a question with the number of its sample.

    Other requests, and the first sample, stay as they are.
    """
    return replace(request, sample=sample) if sample and isinstance(request, Ask) else request


def sample_column(predictions: Sequence[Prediction]) -> NDArray[np.int64] | None:
    """Sample numbers of predictions, or None if there are no samples."""
    numbers = [prediction.sample for prediction in predictions]
    if all(number is None for number in numbers):
        return None
    return np.array([number or 0 for number in numbers], np.int64)


def close_calls(predictions: Iterable[Prediction]) -> int:
    """Number of predictions that another batch size could change.

    Their best two scores differ by less than 0.0001.
    """
    margins = [row.margin for row in predictions if row.prediction is not None]
    return sum(margin is not None and margin < CLOSE for margin in margins)


def check_replaceable(path: Path) -> None:
    """Raise BadInput if a path holds anything but predictions."""
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it with --out")
    if path.is_file() and path.stat().st_size and not _has_predictions(path):
        raise BadInput(f"{path}: holds no predictions, and would be overwritten; choose another --out")


def _has_predictions(path: Path) -> bool:
    """Whether the first line of a file is a prediction."""
    try:
        with path.open(encoding="utf-8") as file:
            row = json.loads(file.readline())
    except (OSError, ValueError):
        return False
    return isinstance(row, dict) and row.keys() >= {"id", "variant", "prediction"}


def write_predictions(predictions: Iterable[Prediction], path: Path) -> None:
    """Write a file of predictions, completely or not at all."""
    write_whole(path, json_rows(prediction.to_json() for prediction in predictions).encode())
