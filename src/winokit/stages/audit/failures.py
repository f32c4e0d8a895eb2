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
    """A text in parts, None for its blank, each with whether the other twin lacks it; and what goes into the blank."""

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


def find_failures(run: Run, known: Sequence[ShownScorer], most: int) -> list[Failure]:
    """The pairs that most scorers fail, the surest mistakes first; problems where the dataset has no pairs."""
    by_scorer = predictions_by_variant(run)[ORIGINAL]
    known_rows = {(*key, name): row for key, rows in by_scorer.items() for name, row in rows.items()}
    units = _pairs_of(run.dataset) or [[problem] for problem in run.dataset if _has_one_blank(problem)]
    widest = _widest_margins(known_rows.values())
    ranked: list[tuple[int, float, Sequence[Problem], AnsweredUnit]] = []
    for problems in units:
        answered = _answers_of(problems, known, known_rows)
        wrong = [row for rows in answered.values() for row in rows if not row.is_right]
        failing = sum(not all(row.is_right for row in rows) for rows in answered.values())
        if failing:
            ranked.append((failing, sum(_sureness(row, widest) for row in wrong), problems, answered))
    ranked.sort(key=lambda each: (-each[0], -each[1]))
    return [Failure(_failed_twins(problems, answered), failing) for failing, _, problems, answered in ranked[:most]]


def _pairs_of(dataset: Dataset) -> list[Sequence[Problem]]:
    return [
        twins for twins in dataset.groups.values() if len(twins) == 2 and all(_has_one_blank(each) for each in twins)
    ]


def _has_one_blank(problem: Problem) -> bool:
    """Whether its text can be shown with the right answer filled in."""
    return not problem.is_whole and problem.answer is not None and problem.query is None


def _answers_of(
    problems: Sequence[Problem], known: Sequence[ShownScorer], rows: Mapping[tuple[str, str, str], Prediction]
) -> AnsweredUnit:
    """The predictions of the scorers that answer all these problems."""
    answered = {}
    for scorer in known:
        found = [rows.get((scorer.model, scorer.scoring, problem.id)) for problem in problems]
        chosen = [row for row in found if row is not None and row.prediction is not None]
        if len(chosen) == len(problems):
            answered[scorer.name] = chosen
    return answered


def _widest_margins(rows: Iterable[Prediction]) -> dict[Key, float]:
    """The widest margin of each scorer: scores of different scorers have different units."""
    widest: dict[Key, float] = {}
    for row in rows:
        key = row.model, row.scoring
        widest[key] = max(widest.get(key, 0.0), _finite_margin(row))
    return widest


def _sureness(row: Prediction, widest: Mapping[Key, float]) -> float:
    """A margin as a share of the scorer's widest; 0 without scores."""
    most = widest[row.model, row.scoring]
    return _finite_margin(row) / most if most else 0.0


def _finite_margin(row: Prediction) -> float:
    return row.margin if row.margin is not None and isfinite(row.margin) else 0.0


def _failed_twins(problems: Sequence[Problem], answered: AnsweredUnit) -> tuple[FailedTwin, ...]:
    """The texts of a pair with the words marked that its twin lacks; a problem alone has no marks."""
    filled = [substitute(problem, problem.right or "") for problem in problems]
    texts = [[*PIECE.findall(text.before), None, *PIECE.findall(text.after)] for text in filled]
    return tuple(
        FailedTwin(
            tuple(_marked(texts[at], texts[len(texts) - 1 - at])),
            filled[at].candidate,
            tuple(
                (name, problem.candidates[rows[at].prediction or 0], rows[at].is_right)
                for name, rows in answered.items()
            ),
            problem.language,
        )
        for at, problem in enumerate(problems)
    )


def _marked(words: list[str | None], other: list[str | None]) -> Iterator[tuple[str | None, bool]]:
    """The words in runs, each with whether it lies between what two texts have in common at their start and end."""
    start = next(
        (at for at, (a, b) in enumerate(zip(words, other, strict=False)) if a != b), min(map(len, (words, other)))
    )
    backwards = zip(reversed(words[start:]), reversed(other[start:]), strict=False)
    end = next((at for at, (a, b) in enumerate(backwards) if a != b), 0)
    runs = groupby(enumerate(words), lambda each: (each[1] is None, start <= each[0] < len(words) - end))
    return ((None if blank else "".join(word or "" for _, word in run), odd) for (blank, odd), run in runs)
