"""Errata: labels that people found wrong, in a file beside the dataset.

Labels are marked, never mended.

    [[erratum]]
    id = "3b5d…"                # of the problem, or of its source (qID)
    verdict = "wrong label"     # or "ambiguous", "broken text"
    people = 3                  # how many looked
    agreed = 3                  # how many say so
    who = "three readers, paid"
    note = "the healthy diet keeps weight off"

`load("winogrande", errata="errata.toml")` gives each of these problems the label `erratum`; a row of an audit is then
about the problems without them.
"""

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from winokit.errors import BadInput, check_known
from winokit.files import read_text, write_whole
from winokit.problem import ERRATUM, Dataset, Problem

WRONG_LABEL = "wrong label"
AMBIGUOUS = "ambiguous"
BROKEN = "broken text"
VERDICTS = (WRONG_LABEL, AMBIGUOUS, BROKEN)
FIELDS = ("id", "verdict", "people", "agreed", "who", "note")
ON_ANSWERS = ("evaluate", "validate")
"""Kinds of votes that choose a candidate; others are about the text, yes or no."""
IDS = ("qID", "idx", "id", "index", "UID")


@dataclass(frozen=True)
class Erratum:
    """The verdict of people on the label of one problem.

    `agreed` of `people` people gave this verdict.
    """

    id: str
    verdict: str
    people: int
    agreed: int
    who: str = ""
    note: str = ""

    @property
    def words(self) -> str:
        """The verdict with its numbers: "wrong label (3 of 3 people)"."""
        people = f"{self.agreed:,} of {self.people:,} people"
        return f"{self.verdict} ({people})"


def read_errata(path: str | Path) -> list[Erratum]:
    """Read the errata in a TOML file.

    Raises BadInput if an entry is not complete.
    """
    toml_path = Path(path)
    try:
        table = tomllib.loads(read_text(toml_path).removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{toml_path}: not TOML: {error}") from None
    for key in table:
        check_known(f"key of {toml_path.name}", key, ("erratum",))
    rows = table.get("erratum", [])
    if not isinstance(rows, list):
        raise BadInput(f"{toml_path}: expected tables [[erratum]]")
    errata = []
    for number, row in enumerate(rows, 1):
        errata.append(_check_erratum(row, f"{toml_path}, erratum {number}"))
    return errata


def _check_erratum(row: object, place: str) -> Erratum:
    """The erratum in one entry of the file.

    Raises BadInput if a field is missing or wrong. `place` names the entry in the message.
    """
    if not isinstance(row, Mapping):
        raise BadInput(f"{place}: expected a table [[erratum]]")
    for key in row:
        check_known("key of [[erratum]]", key, FIELDS)
    for key in ("id", "verdict"):
        if not isinstance(row.get(key), str):
            raise BadInput(f"{place}: expected a text as {key}, found {row.get(key)!r}")
    check_known("verdict", row["verdict"], VERDICTS)
    for key in ("people", "agreed"):
        value = row.get(key)
        is_count = isinstance(value, int) and not isinstance(value, bool)
        if not is_count:
            raise BadInput(f"{place}: expected a number as {key}, found {value!r}: how many people looked")
    if not 1 <= row["agreed"] <= row["people"]:
        raise BadInput(
            f"{place}: {row['agreed']} of {row['people']} people: expected at least 1, and no more than looked"
        )
    who = str(row.get("who", ""))
    note = str(row.get("note", ""))
    return Erratum(row["id"], row["verdict"], row["people"], row["agreed"], who, note)


def mark_errata(dataset: Dataset, path: str | Path) -> Dataset:
    """Label each problem that has an erratum in a file.

    A note says how many errata fit no problem, or several, and were not used. Raises BadInput if none fits.
    """
    errata = read_errata(path)
    rows_by_name: dict[str, list[int]] = {}
    for row, problem in enumerate(dataset):
        for name in _collect_names(problem):
            rows_by_name.setdefault(name, []).append(row)
    problems = list(dataset)
    unused = []
    for erratum in errata:
        fitting_rows = rows_by_name.get(erratum.id, [])
        if len(fitting_rows) != 1:
            unused.append(f"{erratum.id} (fits {len(fitting_rows)} problems)")
            continue
        row = fitting_rows[0]
        problems[row] = problems[row].with_labels(**{ERRATUM: erratum.words})
    if errata and len(unused) == len(errata):
        raise BadInput(f"{path}: no erratum fits a problem of {dataset.card.name}; the first: {unused[0]}")
    notes = []
    if unused:
        counts = f"{len(unused):,} of {len(errata):,}"
        notes.append(f"{path}: {counts} errata not used; the first: {unused[0]}")
    return dataset.with_problems(problems, notes)


def _collect_names(problem: Problem) -> set[str]:
    """The public id of a problem, and the ids of its source."""
    source_ids = {str(problem.provenance[key]) for key in IDS if key in problem.provenance}
    return {problem.id} | source_ids


def has_wrong_label(problem: Problem) -> bool:
    """Whether people found that a problem's label is wrong, by its erratum."""
    return str(problem.labels.get(ERRATUM, "")).startswith(WRONG_LABEL)


def write_errata(errata: Iterable[Erratum], path: str | Path) -> Path:
    """Write errata as TOML, and return the path."""
    lines: list[str] = []
    for erratum in errata:
        lines.append("[[erratum]]")
        for key, value in asdict(erratum).items():
            if value != "":
                lines.append(f"{key} = {_write_value(value)}")
        lines.append("")
    write_whole(Path(path), "\n".join(lines).encode())
    return Path(path)


def _write_value(value: str | int) -> str:
    """A text or a number as TOML."""
    if isinstance(value, int):
        return str(value)
    return json.dumps(value, ensure_ascii=False)  # A text in TOML escapes as one in JSON does.


def errata_of_votes(problems: Sequence[Problem], who: str) -> tuple[list[Erratum], int]:
    """Errata from people's votes on problems.

    Returns them, and the number of problems that have an answer and votes. A label is wrong if more than half chose
    one other candidate, and ambiguous if more than half cannot tell, or find both candidates equally plausible.

    Parameters
    ----------
    problems
        Problems of `evaluated.jsonl` or `labels.jsonl` of `winokit collect export`, with their votes in the
        provenance.
    who
        Who voted, as the errata state it.
    """
    errata = []
    judged = 0
    for problem in problems:
        votes = [vote for vote in problem.provenance.get("votes", ()) if is_counted(vote)]
        if not votes or problem.answer is None:
            continue
        judged += 1
        choices = [choice_of_vote(vote) for vote in votes]
        silent = choices.count(None)
        most = _count_other_choice(choices, problem.answer)
        if 2 * most > len(votes):
            errata.append(Erratum(problem.id, WRONG_LABEL, len(votes), most, who))
        elif 2 * silent > len(votes):
            errata.append(Erratum(problem.id, AMBIGUOUS, len(votes), silent, who))
    return errata, judged


def _count_other_choice(choices: Sequence[Any], answer: int) -> int:
    """Number of votes for the most frequent candidate besides the answer."""
    others = [choice for choice in choices if choice is not None and choice != answer]
    return max((others.count(choice) for choice in set(others)), default=0)


def is_counted(vote: Mapping[str, Any]) -> bool:
    """Whether a vote counts as evidence about a problem's answer.

    Votes on variants, on other questions, or for testing workers do not.
    """
    on_answer = vote.get("variant", "original") == "original" and vote.get("kind", "evaluate") in ON_ANSWERS
    return on_answer and bool(vote.get("counted", True)) and not vote.get("gold")


def choice_of_vote(vote: Mapping[str, Any]) -> Any:
    """Index of the candidate for which a vote is, or None."""
    return None if vote.get("equally_plausible") else vote.get("choice")
