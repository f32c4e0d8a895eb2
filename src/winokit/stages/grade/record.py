"""Records of gradings: entries for the leaderboard, the log, and every outcome.

GRADED.json holds what may be seen of an entry. The log is the owner's record, and what was shown of it; it leaves a
budget (`budget`). One grading is counted and logged at a time: of thirty that began together, each would find room for
one more.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput, Malformed, refusing
from winokit.files import json_bytes, read_object, refused, result_bytes, write_whole
from winokit.stages.grade.ladder import LadderRules
from winokit.stages.release.hidden import json_lines, write_private

SCHEMA = 2
AUC = "auc"
ACCURACY = "accuracy"
GROUP_ACCURACY = "group_accuracy"
LOG = "log.jsonl"
LOCK = "lock"
OUTCOMES = "graded"
ENTRY = "entry"
"""A key of the log's rows: the hash of what a submitter got."""
LONGEST = 300
MOST_TRIALS = 1_000_000
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")
"""Fillers and selectors, which Python takes for letters and marks that can be seen."""


@dataclass(frozen=True, slots=True)
class Statement:
    """Statement of an entry on its predictions: name, formalization, training data, trials.

    A score means little without them. The same model gains or loses many points by the formalization alone (Liu et
    al., 2020), and the best of many trials is the luckiest. Raises BadInput if a text is empty, too long or has more
    than one line, or if trials are not a whole number from 1 on.
    """

    name: str
    """The entry's name on the leaderboard."""
    formalization: str
    """How problems became inputs and decisions: mc-sent, p-span, partial scoring …"""
    training_data: str
    trials: int
    """Number of settings and seeds that were tried before this one was submitted, from 1 on."""
    model: str | None = None
    """The model or system; None if it is not stated."""

    def __post_init__(self) -> None:
        for field in ("name", "formalization", "training_data"):
            text = getattr(self, field)
            if not isinstance(text, str) or not text.strip():
                raise BadInput(f"an entry's {field.replace('_', ' ')} must not be empty")
        for text in (self.name, self.formalization, self.training_data, self.model or ""):
            _check_statement_text(text)
        is_whole = isinstance(self.trials, int) and not isinstance(self.trials, bool)
        if not is_whole or not 1 <= self.trials <= MOST_TRIALS:
            raise BadInput(f"the number of trials is a whole number from 1 to {MOST_TRIALS:,}, found {self.trials!r}")


def _check_statement_text(text: str) -> None:
    """Raise BadInput unless a text is one short line of valid Unicode.

    It may have 300 characters, or be empty.
    """
    has_surrogates = any("\ud800" <= character <= "\udfff" for character in text)
    if has_surrogates:
        raise BadInput(f"an entry's statements must be text, found {text[:40]!a}: is --name missing?")
    if len(text) > LONGEST or "\n" in text:
        raise BadInput(f"an entry's statements are one line of up to {LONGEST} characters each, found {text[:40]!r}…")


@dataclass(frozen=True, slots=True)
class GradeScore:
    """One score of a submission, with its 95 % interval, rounded."""

    size: str
    """The training size, `one` if the submission names none, `curve` for the area under the learning curve."""
    metric: str
    """accuracy, group_accuracy or auc."""
    value: float
    low: float
    high: float
    n: int
    """Number of problems, or of complete groups."""
    chance: float
    """The score that guessing gets."""
    luck_corrected: float | None
    """The score minus the lead of the luckiest of the stated trials. None if trials were not stated."""


@dataclass(frozen=True, slots=True)
class Gradings:
    """Number of gradings of a hidden test, in all and by name."""

    different: int
    """Number of different submissions, those of other tests weighted by shared problems."""
    all: int
    """Number of gradings of this test, repetitions included."""
    by_name: int
    """Number of different submissions under the entry's name; 0 without a name."""
    carried: int = 0
    """How many of `different` count for gradings of other tests with problems of this one."""


@dataclass(frozen=True)
class Graded:
    """Scores and notes of a submission, in public or for the owner."""

    release: dict[str, Any]
    """Name, version and manifest hash of the release, and the size of its test."""
    statement: Statement | None
    """What the entry states about its predictions. None if it is no entry."""
    sizes: dict[str, int]
    """Number of problems in each training size of the submission. Empty if it names no sizes."""
    scores: tuple[GradeScore, ...]
    """In public the main score, or nothing."""
    p_luck: float | None
    """Probability that the best of as many guessers as there were trials does as well. For the owner only.

    A guesser tosses one coin for each unit, which leaves its answers as they are or exchanges them all.
    """
    submission: str
    """Hash of the predictions and their training sizes."""
    gradings: Gradings
    rules: LadderRules
    """Rules on which scores are shown, and how often."""
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> GradeScore | None:
        """The score that ranks an entry: area under the curve, or accuracy.

        Accuracy is that at the largest training size. None if no such score is shown.
        """
        ranking = [score for score in self.scores if score.metric in (ACCURACY, AUC)]
        return ranking[-1] if ranking else None

    def find(self, size: str, metric: str) -> GradeScore | None:
        """Return the score with this training size and metric, or None."""
        for score in self.scores:
            if score.size == size and score.metric == metric:
                return score
        return None

    def to_json(self) -> dict[str, Any]:
        """Return the content of the entry's file, with its schema."""
        return {"schema": SCHEMA, **asdict(self)}


def write_graded(graded: Graded, path: Path) -> None:
    """Write a graded submission as a leaderboard entry (GRADED.json)."""
    write_whole(path, json_bytes(graded.to_json(), allow_nan=False))


def read_graded(path: Path) -> Graded:
    """Read a leaderboard entry (GRADED.json).

    Raises BadInput if the file has another schema, or values that no grading gives.
    """
    content = read_object(path)
    schema = content.pop("schema", None)
    with refusing(f"{path}: not what winokit grade writes", KeyError, TypeError, AttributeError):
        graded = _parse_graded(content)
        is_possible = _has_possible_values(graded)
    if not is_possible or not isinstance(graded.release, dict):
        raise BadInput(f"{path}: not what winokit grade writes (a score or a size cannot be)")
    if schema != SCHEMA or (graded.scores and graded.main is None):
        raise BadInput(f"{path}: not what this winokit's grade writes (schema {schema!r})")
    return graded


def _parse_graded(content: Mapping[str, Any]) -> Graded:
    """Return the graded submission of a file's content, without its schema.

    Raises KeyError or TypeError if parts are missing or not of their type.
    """
    statement = None
    if content["statement"]:
        statement = Statement(**content["statement"])
    parts: dict[str, Any] = {
        "statement": statement,
        "scores": tuple(GradeScore(**score) for score in content["scores"]),
        "gradings": Gradings(**content["gradings"]),
        "rules": LadderRules(**content["rules"]),
        "notes": tuple(content["notes"]),
    }
    return Graded(**{**content, **parts})


def _has_possible_values(graded: Graded) -> bool:
    """Whether scores are shares from 0 to 1, and training sizes positive."""
    shares: list[float] = []
    for score in graded.scores:
        shares += [score.value, score.low, score.high, score.chance, score.luck_corrected or 0]
    are_shares = all(0 <= share <= 1 for share in shares)
    return are_shares and all(count > 0 for count in graded.sizes.values())


def owner_record(entry: Graded, folder: Path) -> Graded:
    """Return an entry with all its scores, from the owner's log.

    The log is in the folder of hidden labels. The last grading of the submission counts. Raises BadInput if the log
    has none.
    """
    rows = [row for row in log_rows(folder) if row.get("submission") == entry.submission and "scores" in row]
    if not rows:
        raise BadInput(f"{folder / LOG}: no record of submission {entry.submission[:12]}; grade it again")
    last_row = rows[-1]
    with refusing(f"{folder / LOG}: not what winokit grade logs", KeyError, TypeError):
        scores = tuple(GradeScore(**score) for score in last_row["scores"])
        return replace(entry, scores=scores, p_luck=last_row["p_luck"])


def entry_hash(entry: Graded) -> str:
    """Hash of an entry's content, without notes and numbers of gradings.

    Those change with every further grading of the test.
    """
    entry_content = {**entry.to_json(), "gradings": None, "notes": None}
    return hashlib.sha256(json.dumps(entry_content, sort_keys=True).encode()).hexdigest()


def was_graded(entry: Graded, folder: Path) -> bool:
    """Whether the log in a folder of hidden labels confirms an entry.

    An entry is a file that anybody can edit, trials and intervals included. So some row under its name must have the
    same submission, the same shown scores and the same content (`entry_hash`).
    """
    name = entry.statement.name if entry.statement else None
    own_hash = entry_hash(entry)
    shown_scores = {score.metric: score.value for score in entry.scores} or None
    for row in _select_name(log_rows(folder), name):
        is_same_score = row["submission"] == entry.submission and row.get("shown") == shown_scores
        # Rows of earlier versions have no hash: of their entries, only the score is certain.
        if is_same_score and row.get(ENTRY, own_hash) == own_hash:
            return True
    return False


def keep_outcome(folder: Path, key: str, columns: Sequence[str], right: NDArray[np.bool_]) -> None:
    """Write which problems a submission has right, for the owner alone.

    Parameters
    ----------
    folder
        The folder of hidden labels; the file is written into `graded/`.
    key
        The hash of the submission, which names the file.
    columns
        The training size of each column.
    right
        Whether each prediction is right: (problems, columns).
    """
    outcomes_folder = folder / OUTCOMES
    with refused(outcomes_folder):
        outcomes_folder.mkdir(mode=0o700, exist_ok=True)
    flags = map(_format_flags, right.T)
    outcome = dict(zip(columns, flags, strict=True))
    write_private(outcomes_folder / f"{key}.json", result_bytes(outcome))


def _format_flags(right: NDArray[np.bool_]) -> str:
    """Return a digit for each problem, 1 if it is right."""
    return "".join("01"[flag] for flag in right.astype(int))


def kept_outcome(folder: Path, key: str) -> dict[str, NDArray[np.bool_]] | None:
    """Read which problems a submission has right, by training size.

    `folder` is that of the hidden labels, `key` the hash of the submission. None if no outcome was kept. Raises
    BadInput if the file is none that a grading writes.
    """
    path = folder / OUTCOMES / f"{key}.json"
    if not path.is_file():
        return None
    try:
        return {size: np.array(list(flags)) == "1" for size, flags in read_object(path).items() if size != "schema"}
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path}: not what winokit grade keeps ({error}); grade that submission again") from None


def best_shown(folder: Path, name: str | None, metric: str, but: str) -> float:
    """Return the best score shown for other submissions under a name.

    It is 0 if there was none.

    Parameters
    ----------
    folder
        The folder of hidden labels, with the log.
    name
        The entry's name; None for submissions without one.
    metric
        The kind of score.
    but
        The hash of a submission whose scores do not count.
    """
    best = 0.0
    for row in _select_name(log_rows(folder), name):
        if row.get("submission") != but:
            shown_scores = row.get("shown") or {}
            best = max(best, float(shown_scores.get(metric, 0.0)))
    return best


def log_rows(folder: Path) -> list[dict[str, Any]]:
    """Read the gradings in the log of a folder of hidden labels.

    Empty if there is no log. A line that was cut short counts as a grading of a submission of its own. Raises
    Malformed if a row's name or shown scores are not what a grading writes.
    """
    path = folder / LOG
    values: list[Any] = []
    with refused(path, "read"):
        if path.exists():
            values = json_lines(path.read_text("utf-8", "replace"))
    rows = []
    for index, value in enumerate(values):
        row: dict[str, Any] = {"submission": f"line {index}"}
        if isinstance(value, dict):
            row |= value
        _check_log_row(row, str(path), index + 1)
        rows.append(row)
    return rows


def _check_log_row(row: Mapping[str, Any], file: str, line: int) -> None:
    """Raise Malformed unless a row's name and shown scores are sound.

    A name is text, and scores are numbers.
    """
    shown_scores = row.get("shown") or {}
    scores = shown_scores.values() if isinstance(shown_scores, dict) else [None]
    are_numbers = all(isinstance(score, int | float) for score in scores)
    if not are_numbers or not isinstance(row.get("name") or "", str):
        raise Malformed("not what winokit grade logs", file=file, line=line)


def _select_name(rows: Iterable[dict[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """Select the rows of the log with a name, compared by `plain_name`.

    None selects the rows without a name.
    """
    return [row for row in rows if plain_name(row.get("name")) == plain_name(name)]


def plain_name(name: str | None) -> str:
    """Remove differences between names that a reader may not see.

    Those are spaces, capitals, invisible marks and wide letters. None gives the empty text.
    """
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", name or "").casefold())
    return "".join(letter for letter in plain if letter.isprintable() and not letter.isspace())
