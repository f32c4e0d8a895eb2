"""The pairs that scorers fail, with the words that tell their twins apart, for the page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from winokit.data.runs import Run
from winokit.drawing.plots import ShownScorer
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.substitute import substitute
from winokit.notebook import PIECE
from winokit.problem import ORIGINAL, Dataset, Problem, grouped
from winokit.stages.audit.problems import Key, predictions_by_variant

AnsweredUnit = Mapping[str, Sequence[Prediction]]
"""By the name of a scorer, its predictions of the problems of a pair, or of one problem."""


@dataclass(frozen=True, slots=True)
class FailedTwin:
    """A text in parts, and what fills its blank.

    A part is None for the blank. Each part says whether the other twin lacks it.
    """

    parts: tuple[tuple[str | None, bool], ...]
    right: str
    choices: tuple[tuple[str, str, bool], ...]
    """By scorer, the candidate it chose, and whether that is right."""
    language: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair, or a problem where there are no pairs, that some scorers fail."""

    texts: tuple[FailedTwin, ...]
    failing: int
    """How many scorers have one of its texts wrong."""

    @property
    def marks(self) -> list[tuple[str, list[tuple[str, bool]]]]:
        """For each scorer its choice in each text, and whether that is right."""
        choices = [(name, (choice, is_right)) for text in self.texts for name, choice, is_right in text.choices]
        return list(grouped(choices).items())


@dataclass(frozen=True, slots=True)
class FailedUnit:
    """A pair, or a problem alone, with the predictions of the scorers that answer all of it."""

    problems: Sequence[Problem]
    answers: AnsweredUnit

    @property
    def failing(self) -> int:
        """Number of scorers that have one of its problems wrong."""
        return sum(not all(row.is_right for row in rows) for rows in self.answers.values())

    def sureness(self, widest: Mapping[Key, float]) -> float:
        """The margins of its wrong answers, each as a share of the scorer's widest, in sum."""
        total = 0.0
        for rows in self.answers.values():
            total += sum(_scale_margin(row, widest) for row in rows if not row.is_right)
        return total


def find_failures(run: Run, known: Sequence[ShownScorer], most: int) -> list[Failure]:
    """Return the pairs that most scorers fail, the surest mistakes first.

    They are single problems if the dataset has no pairs.
    """
    by_scorer = predictions_by_variant(run)[ORIGINAL]
    pairs = _list_pairs(run.dataset)
    problems_alone = [[problem] for problem in run.dataset if _has_one_blank(problem)]
    units = [FailedUnit(problems, _collect_answers(problems, known, by_scorer)) for problems in pairs or problems_alone]
    widest = {key: _find_widest_margin(rows.values()) for key, rows in by_scorer.items()}
    failed_units = [unit for unit in units if unit.failing]
    failed_units.sort(key=lambda unit: (unit.failing, unit.sureness(widest)), reverse=True)
    return [Failure(_mark_twins(unit), unit.failing) for unit in failed_units[:most]]


def _list_pairs(dataset: Dataset) -> list[Sequence[Problem]]:
    return [
        twins for twins in dataset.groups.values() if len(twins) == 2 and all(_has_one_blank(each) for each in twins)
    ]


def _has_one_blank(problem: Problem) -> bool:
    """Whether its text can be shown with the right answer filled in."""
    return not problem.is_whole and problem.answer is not None and problem.query is None


def _collect_answers(
    problems: Sequence[Problem], known: Sequence[ShownScorer], by_scorer: Mapping[Key, Mapping[str, Prediction]]
) -> AnsweredUnit:
    """The predictions of the scorers that answer all these problems."""
    answers = {}
    for scorer in known:
        rows = by_scorer.get((scorer.model, scorer.scoring), {})
        predictions = [rows.get(problem.id) for problem in problems]
        choices = [row for row in predictions if row is not None and row.prediction is not None]
        if len(choices) == len(problems):
            answers[scorer.name] = choices
    return answers


def _find_widest_margin(rows: Iterable[Prediction]) -> float:
    """The widest margin of one scorer: scores of different scorers have different units."""
    return max((_get_finite_margin(row) for row in rows), default=0.0)


def _scale_margin(row: Prediction, widest: Mapping[Key, float]) -> float:
    """Margin as a share of the scorer's widest, or 0 without scores."""
    widest_margin = widest[row.model, row.scoring]
    return _get_finite_margin(row) / widest_margin if widest_margin else 0.0


def _get_finite_margin(row: Prediction) -> float:
    margin = row.margin
    return margin if margin is not None and isfinite(margin) else 0.0


def _mark_twins(unit: FailedUnit) -> tuple[FailedTwin, ...]:
    """Texts of a pair, with the words marked that the twin lacks.

    A problem alone has no marks.
    """
    filled = [substitute(problem, problem.right or "") for problem in unit.problems]
    texts = [[*PIECE.findall(text.before), None, *PIECE.findall(text.after)] for text in filled]
    twins = []
    for at, problem in enumerate(unit.problems):
        other = texts[len(texts) - 1 - at]
        parts = tuple(_mark_words(texts[at], other))
        twins.append(FailedTwin(parts, filled[at].candidate, _collect_choices(unit, at), problem.language))
    return tuple(twins)


def _collect_choices(unit: FailedUnit, at: int) -> tuple[tuple[str, str, bool], ...]:
    """By scorer, the candidate it chose in one of the texts, and whether that is right."""
    candidates = unit.problems[at].candidates
    return tuple((name, candidates[rows[at].prediction or 0], rows[at].is_right) for name, rows in unit.answers.items())


def _mark_words(words: list[str | None], other: list[str | None]) -> Iterator[tuple[str | None, bool]]:
    """The words in runs, each with whether it lies between what two texts have in common at their start and end."""
    start = next(
        (at for at, (a, b) in enumerate(zip(words, other, strict=False)) if a != b), min(map(len, (words, other)))
    )
    backwards = zip(reversed(words[start:]), reversed(other[start:]), strict=False)
    end = next((at for at, (a, b) in enumerate(backwards) if a != b), 0)
    runs = groupby(enumerate(words), lambda each: (each[1] is None, start <= each[0] < len(words) - end))
    return ((None if blank else "".join(word or "" for _, word in run), odd) for (blank, odd), run in runs)
