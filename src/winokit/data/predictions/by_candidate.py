"""Tables with a row per candidate, as WNLI and entailment have them.

They ask of each filled text whether it holds, as text classification does.

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
"""The words of classifiers for a text that holds, and for one that does not, beside yes and no."""


@dataclass
class CandidateRows:
    """All rows of one model about the candidates of one problem.

    `hits` has the indices of the problem in the dataset. `verdicts` and `scores` are by the index of the candidate.
    """

    place: str
    """The location of the first of them, for messages."""
    hits: tuple[int, ...]
    model: str
    verdicts: dict[int, bool] = field(default_factory=dict)
    scores: dict[int, float] = field(default_factory=dict)


class CandidateReading:
    """Reads a table with a row for each candidate of a problem.

    Parameters
    ----------
    find_problem
        Returns the indices of the problem that a row is about, from the row's cells and index. Raises Unmatched
        if there is none.
    """

    def __init__(
        self,
        table: Table,
        columns: PredictionColumns,
        matcher: Matcher,
        find_problem: Callable[[Mapping[str, Any], int], tuple[int, ...]],
    ) -> None:
        self.table = table
        self.columns = columns
        self.matcher = matcher
        self.find_problem = find_problem

    def rows(self, stem: str, scoring: str) -> Iterator[PredictionRow]:
        """Yield one prediction for each problem and model.

        Rows that belong to no problem or no candidate are yielded first, with the reason.

        Parameters
        ----------
        stem
            The model of rows that name none: the file's name without its ending.
        scoring
            The name of the scoring that each prediction gets.
        """
        rows_by_problem: dict[tuple[str, int], CandidateRows] = {}
        for number, (line, cells) in enumerate(self.table.rows):
            location = name_place(line)
            model = self._read_text(cells, self.columns.model) or stem
            try:
                hits, index = self._find_candidate(cells, number)
                new_rows = CandidateRows(location, hits, model)
                candidate_rows = rows_by_problem.setdefault((model, hits[0]), new_rows)
                self._take_row(candidate_rows, cells, index)
            except Unmatched as reason:
                yield PredictionRow(location, model, scoring, reason=str(reason))
        for candidate_rows in rows_by_problem.values():
            yield self._choose_candidate(candidate_rows, scoring)

    def _read_text(self, cells: Mapping[str, Any], column: str | None) -> str:
        """The stripped text of a row's cell, empty without a column."""
        return cell_text(cells.get(column)).strip() if column else ""

    def _find_candidate(self, cells: Mapping[str, Any], number: int) -> tuple[tuple[int, ...], int]:
        """Find the problem and the candidate of a row.

        Returns indices of the problem in the dataset, and the index of the candidate. There are several indices if
        the problem is repeated. Raises Unmatched if the row names no candidate. `number` is the index of the row.
        """
        text = self._read_text(cells, self.columns.candidate)
        fitting = self._filled_texts.get(letters_of(text), [])
        if len(fitting) == 1:
            position, index = fitting[0]
            return (position,), index
        hits = self.find_problem(cells, number)
        problem = self.matcher.dataset[hits[0]]
        choice: int | None
        try:
            choice, _ = choose(text, "candidate", problem.candidates, self._first_number, problem.language)
        except Malformed:
            filled = FilledText.of(problem.before, problem.after)
            choice = named_in(text, problem.candidates, problem.language, filled)
        if choice is None:
            raise Unmatched(f"it names no candidate of its problem: {shown(text)}")
        return hits, choice

    @cached_property
    def _filled_texts(self) -> dict[str, list[tuple[int, int]]]:
        """Index of problem and index of candidate, by the filled text.

        The key has only the letters of the text with the candidate in its blank.
        """
        places: dict[str, list[tuple[int, int]]] = {}
        for position, problem in enumerate(self.matcher.dataset):
            for index, candidate in enumerate(problem.candidates):
                letters = letters_of(_fill_blank(problem, candidate))
                places.setdefault(letters, []).append((position, index))
        return places

    @cached_property
    def _first_number(self) -> int:
        """The number of the first candidate in this table, 0 or 1.

        It is 0 if some cell of the table is 0.
        """
        texts = {self._read_text(cells, self.columns.candidate) for _, cells in self.table.rows}
        return 0 if "0" in texts else 1

    def _take_row(self, candidate_rows: CandidateRows, cells: Mapping[str, Any], index: int) -> None:
        """Store a row's score and verdict for its candidate.

        Raises Unmatched if an earlier row about the same candidate differs. `index` is the candidate's.
        """
        score = self._read_score(cells)
        verdict = _read_verdict(self._read_text(cells, self.columns.prediction))
        scores = candidate_rows.scores
        verdicts = candidate_rows.verdicts
        has_other_score = index in scores and scores[index] != score
        has_other_verdict = index in verdicts and verdicts[index] != verdict
        if has_other_score or has_other_verdict:
            raise Unmatched(f"{candidate_rows.place} and it say different things of one candidate")
        if score is not None:
            scores[index] = score
        if verdict is not None:
            verdicts[index] = verdict

    def _read_score(self, cells: Mapping[str, Any]) -> float | None:
        """The score of a row's candidate, higher for better, or None.

        It is None if the cell is empty. If the score is the probability of the label "no", it is subtracted from 1. A
        loss is negated. Raises Unmatched if the cell has a text that is no number.
        """
        if not self.columns.scores:
            return None
        text = self._read_text(cells, self.columns.scores[0]).replace(",", ".")
        try:
            score = float(text)
        except ValueError:
            if text.casefold() in SILENT:
                return None
            raise Unmatched(f"expected a number, found {shown(text)}") from None
        if self._are_of_label and self._is_denied(cells):
            return 1 - score
        return -score if self.columns.are_losses else score

    def _is_denied(self, cells: Mapping[str, Any]) -> bool:
        """Whether the model's label in a row is "no".

        That means that the text with the candidate does not hold.
        """
        text = self._read_text(cells, self.columns.prediction)
        return _read_verdict(text) is False

    @cached_property
    def _are_of_label(self) -> bool:
        """Whether each score is the probability of its row's own label.

        Classification pipelines write it so. It is recognised if some rows have the label "no", and all their scores
        are from 0.5 to 1.
        """
        if self.columns.prediction is None or self.columns.are_losses:
            return False
        denied = []
        for _, cells in self.table.rows:
            if self._is_denied(cells):
                text = self._read_text(cells, self.columns.scores[0])
                denied.append(text.replace(",", "."))
        numbers = [float(text) for text in denied if text.replace(".", "", 1).isdecimal()]
        if not numbers or len(numbers) != len(denied):
            return False
        return all(0.5 <= number <= 1 for number in numbers)

    def _choose_candidate(self, candidate_rows: CandidateRows, scoring: str) -> PredictionRow:
        """The prediction for a problem, from all rows about its candidates.

        The best score decides if all candidates have one, or else the only candidate with the label "yes". It
        abstains if a candidate has no row, if the best scores are equal, or if none or several have a "yes".
        """
        problem = self.matcher.dataset[candidate_rows.hits[0]]
        scores = candidate_rows.scores
        verdicts = candidate_rows.verdicts
        draft = PredictionRow(
            candidate_rows.place, candidate_rows.model, scoring, hits=candidate_rows.hits, language=problem.language
        )
        count = len(problem.candidates)
        missing = count - max(len(scores), len(verdicts))
        if missing:
            draft.why = f"{missing} of its {count} candidates have no row"
        elif len(scores) == count:
            draft.scores = tuple(scores[index] for index in range(count))
            draft.prediction, draft.why = decide(draft.scores)
        else:
            confirmed = [index for index, verdict in verdicts.items() if verdict]
            if len(confirmed) == 1:
                draft.prediction = confirmed[0]
            else:
                draft.why = f"yes is said of {len(confirmed)} candidates"
        return draft


def _fill_blank(problem: Problem, candidate: str) -> str:
    """The text of a problem with a candidate in its blank."""
    return substitute(problem, candidate).text


def _read_verdict(cell: str) -> bool | None:
    """Whether a classifier's label says that a text holds.

    None if it says neither.
    """
    word = cell.casefold().replace("-", "_").replace(" ", "_")
    if word in YES | NO:
        return word in YES
    return verdict_of(cell)
