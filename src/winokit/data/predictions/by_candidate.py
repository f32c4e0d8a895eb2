"""Tables with a row per candidate: WNLI, entailment and text classification ask of each filled text whether it holds.

The rows of a problem together choose: the highest score, or the one candidate of which the model says yes. A row names
its candidate by name, number or letter, or by a text in which it fills the blank.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from winokit.data.formats.source import name_place
from winokit.data.formats.tables import Table, cell_text
from winokit.data.predictions.answers import SILENT, choose, named_in
from winokit.data.predictions.columns import PredictionColumns, verdict_of
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched, shown
from winokit.errors import Malformed
from winokit.methods.transforms.substitute import substitute
from winokit.models.replies import FilledText, letters_of
from winokit.problem import Problem
from winokit.results import decide

YES = frozenset("entailment entails entailed label_1 plausible positive".split())
NO = frozenset("not_entailment no_entailment contradiction neutral label_0 implausible negative".split())
"""What classifiers call a text that holds, and one that does not, beside yes and no."""


@dataclass
class CandidateRows:
    """What the rows about the candidates of one problem say."""

    place: str
    """Where the first of them stands."""
    hits: tuple[int, ...]
    model: str
    verdicts: dict[int, bool] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)


class CandidateReading:
    """A table with a row per candidate, being read.

    Parameters
    ----------
    find_problem
        Finds the problem of a row's cells, or raises Unmatched.
    """

    def __init__(
        self,
        table: Table,
        columns: PredictionColumns,
        matcher: Matcher,
        find_problem: Callable[[Mapping[str, Any], int], tuple[int, ...]],
    ) -> None:
        self.table, self.columns, self.matcher, self.find_problem = table, columns, matcher, find_problem

    def rows(self, stem: str, scoring: str) -> Iterator[PredictionRow]:
        """A row for each problem, after those that name no candidate of one."""
        found: dict[tuple[str, int], CandidateRows] = {}
        for number, (line, cells) in enumerate(self.table.rows):
            place = name_place(line)
            model = self._said(cells, self.columns.model) or stem
            try:
                hits, index = self._named_candidate(cells, number)
                about = found.setdefault((model, hits[0]), CandidateRows(place, hits, model))
                self._take_row(about, cells, index, place)
            except Unmatched as reason:
                yield PredictionRow(place, model, scoring, reason=str(reason))
        for about in found.values():
            yield self._chosen(about, scoring)

    def _said(self, cells: Mapping[str, Any], column: str | None) -> str:
        return cell_text(cells.get(column)).strip() if column else ""

    def _named_candidate(self, cells: Mapping[str, Any], number: int) -> tuple[tuple[int, ...], int]:
        """The problem and the candidate of a row."""
        named = self._said(cells, self.columns.candidate)
        if letters_of(named) in self._filled_texts:
            places = self._filled_texts[letters_of(named)]
            if len(places) == 1:
                return (places[0][0],), places[0][1]
        hits = self.find_problem(cells, number)
        problem = self.matcher.dataset[hits[0]]
        filled = FilledText.of(problem.before, problem.after)
        try:
            index, _ = choose(named, "candidate", problem.candidates, self._base, problem.language)
        except Malformed:
            index = named_in(named, problem.candidates, problem.language, filled)
        if index is None:
            raise Unmatched(f"it names no candidate of its problem: {shown(named)}")
        return hits, index

    @cached_property
    def _filled_texts(self) -> dict[str, list[tuple[int, int]]]:
        """Places of problems and candidates by the letters of the filled text."""
        places: dict[str, list[tuple[int, int]]] = {}
        for place, problem in enumerate(self.matcher.dataset):
            for index, candidate in enumerate(problem.candidates):
                places.setdefault(letters_of(_filled(problem, candidate)), []).append((place, index))
        return places

    @cached_property
    def _base(self) -> int:
        """What numbers of candidates count from."""
        return 0 if "0" in {self._said(cells, self.columns.candidate) for _, cells in self.table.rows} else 1

    def _take_row(self, about: CandidateRows, cells: Mapping[str, Any], index: int, place: str) -> None:
        """Take the score and the verdict of a row."""
        score = self._score(cells)
        verdict = _verdict(self._said(cells, self.columns.prediction))
        known = about.scores.get(index, score), about.verdicts.get(index, verdict)
        if known != (score, verdict):
            raise Unmatched(f"{about.place} and it say different things of one candidate")
        if score is not None:
            about.scores[index] = score
        if verdict is not None:
            about.verdicts[index] = verdict

    def _score(self, cells: Mapping[str, Any]) -> float | None:
        """The row's score of its candidate, turned round if it is of another label."""
        if not self.columns.scores:
            return None
        text = self._said(cells, self.columns.scores[0]).replace(",", ".")
        try:
            score = float(text)
        except ValueError:
            if text.casefold() in SILENT:
                return None
            raise Unmatched(f"expected a number, found {shown(text)}") from None
        if self._are_of_label and _verdict(self._said(cells, self.columns.prediction)) is False:
            return 1 - score
        return -score if self.columns.are_losses else score

    @cached_property
    def _are_of_label(self) -> bool:
        """Whether each score is the probability of the label in its row, as pipelines of classifiers write it."""
        if self.columns.prediction is None or self.columns.are_losses:
            return False
        denied = []
        for _, cells in self.table.rows:
            if _verdict(self._said(cells, self.columns.prediction)) is False:
                denied.append(self._said(cells, self.columns.scores[0]).replace(",", "."))
        numbers = [float(text) for text in denied if text.replace(".", "", 1).isdecimal()]
        return bool(numbers) and len(numbers) == len(denied) and all(0.5 <= number <= 1 for number in numbers)

    def _chosen(self, about: CandidateRows, scoring: str) -> PredictionRow:
        """What the rows about a problem choose."""
        problem = self.matcher.dataset[about.hits[0]]
        count = len(problem.candidates)
        missing = count - max(len(about.scores), len(about.verdicts))
        draft = PredictionRow(about.place, about.model, scoring, hits=about.hits, language=problem.language)
        if missing:
            draft.why = f"{missing} of its {count} candidates have no row"
        elif len(about.scores) == count:
            draft.scores = tuple(about.scores[index] for index in range(count))
            draft.prediction, draft.why = decide(draft.scores)
        else:
            chosen = [index for index, verdict in sorted(about.verdicts.items()) if verdict]
            draft.prediction = chosen[0] if len(chosen) == 1 else None
            draft.why = None if len(chosen) == 1 else f"yes is said of {len(chosen)} candidates"
        return draft


def _filled(problem: Problem, candidate: str) -> str:
    """The text with a candidate in its blank."""
    return substitute(problem, candidate).text


def _verdict(cell: str) -> bool | None:
    """Whether a cell says that a text holds; None if it says neither."""
    word = cell.casefold().replace("-", "_").replace(" ", "_")
    if word in YES | NO:
        return word in YES
    return verdict_of(cell)
