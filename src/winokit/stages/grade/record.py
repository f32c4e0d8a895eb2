"""Records of gradings: entries for the leaderboard, the log, and every outcome.

GRADED.json holds what may be seen of an entry. The log is the owner's record, and what was shown of it; it leaves a
budget (`budget`). One grading is counted and logged at a time: of thirty that began together, each would find room for
one more.
"""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
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
    """Author and method of predictions: a score means little without them.

    See Liu et al., 2020.

    The same model gains or loses many points by the formalization alone, and the best of many trials is the luckiest.
    """

    name: str
    formalization: str
    """How problems became inputs and decisions: mc-sent, p-span, partial scoring …"""
    training_data: str
    trials: int
    """How many settings and seeds were tried before this one was sent in; 1 for a single run."""
    model: str | None = None

    def __post_init__(self) -> None:
        for what in ("name", "formalization", "training_data"):
            text = getattr(self, what)
            if not isinstance(text, str) or not text.strip():
                raise BadInput(f"an entry's {what.replace('_', ' ')} must not be empty")
        for text in (self.name, self.formalization, self.training_data, self.model or ""):
            if any("\ud800" <= character <= "\udfff" for character in text):
                raise BadInput(f"an entry's statements must be text, found {text[:40]!a}: is --name missing?")
            if len(text) > LONGEST or "\n" in text:
                raise BadInput(
                    f"an entry's statements are one line of up to {LONGEST} characters each, found {text[:40]!r}…"
                )
        if isinstance(self.trials, bool) or not isinstance(self.trials, int) or not 1 <= self.trials <= MOST_TRIALS:
            raise BadInput(f"the number of trials is a whole number from 1 to {MOST_TRIALS:,}, found {self.trials!r}")


@dataclass(frozen=True, slots=True)
class GradeScore:
    """One number of a submission, rounded."""

    size: str
    """The training size, `one` where none is said, `curve` for the area under the curve."""
    metric: str
    value: float
    low: float
    high: float
    n: int
    chance: float
    luck_corrected: float | None
    """None where the number of trials was not stated."""


@dataclass(frozen=True, slots=True)
class Gradings:
    """Number of gradings of this test: in all, and under this name."""

    different: int
    all: int
    """Those that were made here, repetitions included."""
    by_name: int
    carried: int = 0
    """How many of the different ones were made on other tests with problems of this one."""


@dataclass(frozen=True)
class Graded:
    """Scores and notes of a submission, in public or for the owner."""

    release: dict[str, Any]
    statement: Statement | None
    sizes: dict[str, int]
    """How many problems each training size has, where the submission says sizes."""
    scores: tuple[GradeScore, ...]
    """In public the main score, or nothing."""
    p_luck: float | None
    """Probability that the best of as many guessers as there were trials does as well; the owner's.

    A guesser tosses one coin for each unit, which leaves its answers or turns them round.
    """
    submission: str
    """Hash of what was predicted, for which sizes."""
    gradings: Gradings
    rules: LadderRules
    """What is shown on this test, and how often."""
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> GradeScore | None:
        """Score that ranks: the area under the curve, or the accuracy at the largest size.

        None if it is not shown.
        """
        ranking = [score for score in self.scores if score.metric in (ACCURACY, AUC)]
        return ranking[-1] if ranking else None

    def find(self, size: str, metric: str) -> GradeScore | None:
        """The score of that name."""
        return next((score for score in self.scores if (score.size, score.metric) == (size, metric)), None)

    def to_json(self) -> dict[str, Any]:
        """The content of GRADED.json."""
        return {"schema": SCHEMA, **asdict(self)}


def write_graded(graded: Graded, path: Path) -> None:
    """Write GRADED.json."""
    write_whole(path, json_bytes(graded.to_json(), allow_nan=False))


def read_graded(path: Path) -> Graded:
    """A GRADED.json, read back."""
    content = read_object(path)
    schema = content.pop("schema", None)
    with refusing(f"{path}: not what winokit grade writes", KeyError, TypeError, AttributeError):
        parts: dict[str, Any] = {
            "statement": Statement(**content["statement"]) if content["statement"] else None,
            "scores": tuple(GradeScore(**score) for score in content["scores"]),
            "gradings": Gradings(**content["gradings"]),
            "rules": LadderRules(**content["rules"]),
            "notes": tuple(content["notes"]),
        }
        graded = Graded(**{**content, **parts})
        scores = [(own.value, own.low, own.high, own.chance, own.luck_corrected or 0) for own in graded.scores]
        is_sound = all(0 <= share <= 1 for own in scores for share in own) and all(n > 0 for n in graded.sizes.values())
    if not is_sound or not isinstance(graded.release, dict):
        raise BadInput(f"{path}: not what winokit grade writes (a score or a size cannot be)")
    if schema != SCHEMA or (graded.scores and graded.main is None):
        raise BadInput(f"{path}: not what this winokit's grade writes (schema {schema!r})")
    return graded


def owner_record(entry: Graded, folder: Path) -> Graded:
    """An entry with all its scores, from the log beside the hidden labels."""
    rows = [row for row in log_rows(folder) if row.get("submission") == entry.submission and "scores" in row]
    if not rows:
        raise BadInput(f"{folder / LOG}: no record of submission {entry.submission[:12]}; grade it again")
    with refusing(f"{folder / LOG}: not what winokit grade logs", KeyError, TypeError):
        scores = tuple(GradeScore(**score) for score in rows[-1]["scores"])
        return replace(entry, scores=scores, p_luck=rows[-1]["p_luck"])


def entry_hash(entry: Graded) -> str:
    """A hash of all that an entry says of itself, but how often the test had been asked about by then."""
    entry_content = {**entry.to_json(), "gradings": None, "notes": None}
    return hashlib.sha256(json.dumps(entry_content, sort_keys=True).encode()).hexdigest()


def was_graded(entry: Graded, folder: Path) -> bool:
    """Whether a grading gave this very entry: it is a file that anybody can edit, trials and intervals included."""
    rows = _select_name(log_rows(folder), entry.statement.name if entry.statement else None)
    own_hash = entry_hash(entry)
    shown_scores = {score.metric: score.value for score in entry.scores} or None
    same = (row for row in rows if row["submission"] == entry.submission and row.get("shown") == shown_scores)
    return any(
        row.get(ENTRY, own_hash) == own_hash for row in same
    )  # of what was logged before, only the score is known


def keep_outcome(folder: Path, key: str, columns: Sequence[str], right: NDArray[np.bool_]) -> None:
    """Keep which problems are right beside the hidden labels, readable by their owner alone."""
    outcomes_folder = folder / OUTCOMES
    with refused(outcomes_folder):
        outcomes_folder.mkdir(mode=0o700, exist_ok=True)
    flags = ("".join("01"[flag] for flag in column.astype(int)) for column in right.T)
    write_private(outcomes_folder / f"{key}.json", result_bytes(dict(zip(columns, flags, strict=True))))


def kept_outcome(folder: Path, key: str) -> dict[str, NDArray[np.bool_]] | None:
    """Return which problems an entry got right, by training size.

    None if no outcome was kept.
    """
    path = folder / OUTCOMES / f"{key}.json"
    if not path.is_file():
        return None
    try:
        return {size: np.array(list(flags)) == "1" for size, flags in read_object(path).items() if size != "schema"}
    except (ValueError, TypeError) as error:
        raise BadInput(f"{path}: not what winokit grade keeps ({error}); grade that submission again") from None


def best_shown(folder: Path, name: str | None, metric: str, but: str) -> float:
    """Best score of a kind that was shown under a name for other submissions.

    It is 0 if there was none.
    """
    rows = [row for row in _select_name(log_rows(folder), name) if row.get("submission") != but]
    return max((float((row.get("shown") or {}).get(metric, 0.0)) for row in rows), default=0.0)


def log_rows(folder: Path) -> list[dict[str, Any]]:
    """Return the rows of the log. A truncated line counts as a grading."""
    path = folder / LOG
    with refused(path, "read"):
        rows = json_lines(path.read_text("utf-8", "replace")) if path.exists() else []
    rows_read = [{"submission": f"line {at}", **(row if isinstance(row, dict) else {})} for at, row in enumerate(rows)]
    for at, row in enumerate(rows_read, 1):
        shown_scores = row.get("shown") or {}
        numbers = shown_scores.values() if isinstance(shown_scores, dict) else [None]
        if not isinstance(row.get("name") or "", str) or not all(isinstance(number, int | float) for number in numbers):
            raise Malformed("not what winokit grade logs", file=str(path), line=at)
    return rows_read


def _select_name(rows: Iterable[dict[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """Select the rows of a name, normalised in spaces, case and encoding.

    Rows without a name belong together.
    """
    return [row for row in rows if plain_name(row.get("name")) == plain_name(name)]


def plain_name(name: str | None) -> str:
    """A name without what can be changed about it unseen: spaces, capitals, invisible marks, wide letters."""
    plain = _UNSEEN.sub("", unicodedata.normalize("NFKC", name or "").casefold())
    return "".join(letter for letter in plain if letter.isprintable() and not letter.isspace())
