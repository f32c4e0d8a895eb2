"""Pairs that scorers fail, with the words marked in which the twins differ, for the page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import isfinite

from winokit.data.runs import Run
from winokit.drawing.plots import ShownScorer
from winokit.methods.scoring.scorer import Prediction
from winokit.methods.transforms.substitute import substitute
from winokit.notebook import PIECE
from winokit.problem import ORIGINAL, Dataset, Problem
from winokit.stages.audit.problems import Key, predictions_by_variant

AnsweredUnit = Mapping[str, Sequence[Prediction]]
"""By the name of a scorer, its predictions of the problems of a pair, or of one problem."""
MarkedPart = tuple[str | None, bool]
"""A part of a text, or None for the blank, and whether the other twin lacks it."""


@dataclass(frozen=True, slots=True)
class FailedTwin:
    """One text of a failure, with the right and the chosen candidates."""

    parts: tuple[MarkedPart, ...]
    right: str
    """The right candidate as it is written in the blank."""
    choices: tuple[tuple[str, str, bool], ...]
    """For each scorer its name, the candidate it chose, and whether that is right."""
    language: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A pair that some scorers fail, or a single problem.

    Single problems are used if the dataset has no pairs.
    """

    texts: tuple[FailedTwin, ...]
    failing: int
    """Number of scorers that have at least one of its texts wrong."""

    @property
    def marks(self) -> list[tuple[str, list[tuple[str, bool]]]]:
        """Choices of each scorer in every text, by the scorer's name.

        Each choice has whether it is right.
        """
        choices_by_scorer: dict[str, list[tuple[str, bool]]] = {}
        for text in self.texts:
            for name, choice, is_right in text.choices:
                choices_by_scorer.setdefault(name, []).append((choice, is_right))
        return list(choices_by_scorer.items())


@dataclass(frozen=True, slots=True)
class FailedUnit:
    """A pair or a single problem, with the predictions of it.

    Only scorers that answer all of it have predictions here.
    """

    problems: Sequence[Problem]
    answers: AnsweredUnit

    @property
    def failing(self) -> int:
        """Number of scorers that have at least one of its problems wrong."""
        return sum(_has_mistake(rows) for rows in self.answers.values())

    def sureness(self, widest: Mapping[Key, float]) -> float:
        """Sum of the margins of its wrong answers.

        Each is a share of the scorer's widest margin. `widest` has the widest margin by model and scoring.
        """
        total = 0.0
        for rows in self.answers.values():
            total += sum(_scale_margin(row, widest) for row in rows if not row.is_right)
        return total


def find_failures(run: Run, shown_scorers: Sequence[ShownScorer], most: int) -> list[Failure]:
    """Find the pairs that most scorers fail, at most `most` of them.

    If several pairs are failed by as many scorers, those with the widest margins come first. Single problems are
    returned if the dataset has no pairs. Pairs are groups of exactly two problems with one blank and a known answer
    each. Predictions are of the original texts. What no scorer has wrong is left out.
    """
    by_scorer = predictions_by_variant(run)[ORIGINAL]
    pairs = _list_pairs(run.dataset)
    single_problems = [[problem] for problem in run.dataset if _has_one_blank(problem)]
    units = []
    for problems in pairs or single_problems:
        answers = _collect_unit_answers(problems, shown_scorers, by_scorer)
        units.append(FailedUnit(problems, answers))
    widest = {key: _find_widest_margin(rows.values()) for key, rows in by_scorer.items()}
    failed_units = [unit for unit in units if unit.failing]
    failed_units.sort(key=lambda unit: (unit.failing, unit.sureness(widest)), reverse=True)
    return [Failure(_mark_twins(unit), unit.failing) for unit in failed_units[:most]]


def _list_pairs(dataset: Dataset) -> list[Sequence[Problem]]:
    """List groups of two problems whose texts can both be shown."""
    pairs = [group for group in dataset.groups.values() if len(group) == 2]
    return [pair for pair in pairs if _has_one_blank(pair[0]) and _has_one_blank(pair[1])]


def _has_one_blank(problem: Problem) -> bool:
    """Whether its text can be shown with the right answer filled in."""
    return not problem.is_whole and problem.answer is not None and problem.query is None


def _has_mistake(rows: Sequence[Prediction]) -> bool:
    """Whether any of these predictions is wrong."""
    return any(not row.is_right for row in rows)


def _collect_unit_answers(
    problems: Sequence[Problem],
    shown_scorers: Sequence[ShownScorer],
    by_scorer: Mapping[Key, Mapping[str, Prediction]],
) -> AnsweredUnit:
    """Collect the predictions of those scorers that answer all these problems.

    They are by the scorer's name, in the order of the problems. An abstention is no answer.
    """
    answers = {}
    for scorer in shown_scorers:
        rows = by_scorer.get((scorer.model, scorer.scoring), {})
        predictions = [rows.get(problem.id) for problem in problems]
        choices = [row for row in predictions if row is not None and row.prediction is not None]
        if len(choices) == len(problems):
            answers[scorer.name] = choices
    return answers


def _find_widest_margin(rows: Iterable[Prediction]) -> float:
    """Widest margin of one scorer, or 0 without margins."""
    return max((_get_finite_margin(row) for row in rows), default=0.0)


def _scale_margin(row: Prediction, widest: Mapping[Key, float]) -> float:
    """Margin as a share of the scorer's widest, or 0 without scores."""
    widest_margin = widest[row.model, row.scoring]
    return _get_finite_margin(row) / widest_margin if widest_margin else 0.0


def _get_finite_margin(row: Prediction) -> float:
    """Margin of a prediction, or 0 if it is missing or infinite."""
    margin = row.margin
    return margin if margin is not None and isfinite(margin) else 0.0


def _mark_twins(unit: FailedUnit) -> tuple[FailedTwin, ...]:
    """Texts of a pair, with the words that differ marked.

    A single problem has no marks.
    """
    texts = [substitute(problem, problem.right or "") for problem in unit.problems]
    words = [[*PIECE.findall(text.before), None, *PIECE.findall(text.after)] for text in texts]
    twins = []
    for index, problem in enumerate(unit.problems):
        other_words = words[len(words) - 1 - index]
        parts = tuple(_mark_words(words[index], other_words))
        choices = _collect_choices(unit, index)
        twins.append(FailedTwin(parts, texts[index].candidate, choices, problem.language))
    return tuple(twins)


def _collect_choices(unit: FailedUnit, index: int) -> tuple[tuple[str, str, bool], ...]:
    """Choices of all scorers in one text, with their names.

    Each is the scorer's name, the chosen candidate, and whether that is right. The text is that of the index.
    """
    candidates = unit.problems[index].candidates
    choices = []
    for name, rows in unit.answers.items():
        row = rows[index]
        choices.append((name, candidates[row.prediction or 0], row.is_right))
    return tuple(choices)


def _mark_words(words: list[str | None], other_words: list[str | None]) -> Iterator[MarkedPart]:
    """Join words into parts that the other text has or lacks.

    Both texts have the words that they share at their start and at their end. All words between these are marked, even
    if the other text has them too. Each part is its text and whether it is marked. None is the blank, a part of its
    own.
    """
    start = _count_shared_words(words, other_words)
    shared_at_end = _count_shared_words(words[start:][::-1], other_words[start:][::-1])
    end = len(words) - shared_at_end
    runs = groupby(enumerate(words), lambda item: (item[1] is None, start <= item[0] < end))
    for (is_blank, is_marked), run in runs:
        text = "".join(word or "" for _, word in run)
        yield None if is_blank else text, is_marked


def _count_shared_words(words: list[str | None], other_words: list[str | None]) -> int:
    """Count the words at the start that both lists share."""
    count = 0
    for word, other_word in zip(words, other_words, strict=False):
        if word != other_word:
            break
        count += 1
    return count
