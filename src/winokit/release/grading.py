"""Grading: a submission against the hidden labels of a release, with intervals, the leaderboard's area, and luck.

Accuracy and group score for each training size, the area under the learning curve as WinoGrande's leaderboard has it,
and beside each what is left once the luck of the stated number of trials is taken off. Numbers leave here rounded,
labels and the outcome of single problems never do. Every grading is a question about the hidden labels: it is logged
beside them, and the count is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.metrics import (
    Draws,
    all_right,
    clusters,
    complete_groups,
    group_accuracy_chance,
    leaderboard_auc,
    mean_interval,
    share_interval,
)
from winokit.metrics.arrays import FloatArray, IntArray
from winokit.release.grading_log import Gradings, log_grading
from winokit.release.grading_luck import luck_corrected, p_best_guess
from winokit.release.grading_statement import Statement
from winokit.release.hidden import MANIFEST_HASH, Hidden, read_hidden, write_private
from winokit.release.manifest import manifest_hash, read_manifest
from winokit.release.submissions import ONE, SIZES, Submission, read_submission

SCHEMA = 1
STEP = 0.001
"""Scores are rounded to a tenth of a percentage point: of WinoGrande's 1,767 test problems, two make one step."""
COIN = 0.5
NORMAL = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
GRADED = "graded"
CURVE = "curve"
AUC, ACCURACY, GROUP_ACCURACY = "auc", "accuracy", "group_accuracy"


@dataclass(frozen=True, slots=True)
class Score:
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


@dataclass(frozen=True)
class Graded:
    """What may be said in public about a submission."""

    release: dict[str, Any]
    statement: Statement | None
    sizes: dict[str, int]
    """How many problems each training size has, where the submission says sizes."""
    scores: tuple[Score, ...]
    p_luck: float | None
    """Probability that the best of as many coins as there were trials does as well."""
    submission: str
    """Hash of the submitted files."""
    gradings: Gradings
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> Score:
        """The score that ranks: the area under the curve, else the accuracy at the largest size."""
        area = [score for score in self.scores if score.metric == AUC]
        return area[0] if area else [score for score in self.scores if score.metric == ACCURACY][-1]

    def find(self, size: str, metric: str) -> Score | None:
        """The score of that name."""
        return next((score for score in self.scores if (score.size, score.metric) == (size, metric)), None)

    def to_json(self) -> dict[str, Any]:
        """The content of GRADED.json."""
        return {"schema": SCHEMA, **asdict(self)}


def grade(
    release: Path, paths: Sequence[Path], statement: Statement | None = None, *, hidden: Path | None = None
) -> Graded:
    """Grade a submission to a release; with a statement it becomes a leaderboard entry.

    An entry's outcome problem by problem is kept beside the hidden labels, for paired tests between entries.
    """
    labels = read_hidden(release, hidden)
    sizes = release_sizes(release)
    submission = read_submission(paths, labels.ids, tuple(sizes))
    right = submission.predictions == np.array(labels.answers)[:, None]
    why_not = _no_curve(submission.columns, sizes)
    weights = None if why_not else curve_weights(list(sizes.values()))
    scores = tuple(_scores(right, labels, submission.columns, weights, statement))
    last = right[:, -1]
    graded = Graded(
        release=release_facts(release, labels),
        statement=statement,
        sizes={size: sizes[size] for size in submission.columns if size in sizes},
        scores=scores,
        p_luck=rounded(p_best_guess(int(last.sum()), len(last), statement.trials)) if statement else None,
        submission=submission.sha256,
        gradings=log_grading(labels.folder, _logged(submission, statement)),
        notes=(f"no area under the learning curve: {why_not}",) if why_not else (),
    )
    if statement is not None:
        keep_outcome(labels.folder, submission.sha256, submission.columns, right)
    return graded


def release_facts(release: Path, labels: Hidden) -> dict[str, Any]:
    """Which release was graded, and how large its test is."""
    manifest = read_manifest(release)
    known: dict[str, Any] = {key: manifest[key] for key in ("name", "version") if key in manifest}
    test = {"problems": len(labels), "groups": len(complete_groups(labels.groups))}
    return {**known, MANIFEST_HASH: manifest_hash(release), "test": test}


def write_graded(graded: Graded, path: Path) -> None:
    """Write GRADED.json."""
    text = json.dumps(graded.to_json(), indent=1, ensure_ascii=False, allow_nan=False)
    write_whole(path, (text + "\n").encode())


def keep_outcome(folder: Path, key: str, columns: Sequence[str], right: NDArray[np.bool_]) -> None:
    """Keep which problems are right beside the hidden labels, readable by their owner alone."""
    kept = folder / GRADED
    kept.mkdir(mode=0o700, exist_ok=True)
    outcome = {
        size: "".join("1" if one else "0" for one in column) for size, column in zip(columns, right.T, strict=True)
    }
    write_private(kept / f"{key}.json", json.dumps(outcome).encode())


def kept_outcome(folder: Path, key: str) -> dict[str, NDArray[np.bool_]] | None:
    """Which problems an entry got right, by training size; None where nothing was kept."""
    path = folder / GRADED / f"{key}.json"
    if not path.is_file():
        return None
    try:
        return {size: np.array(list(flags)) == "1" for size, flags in json.loads(path.read_text("ascii")).items()}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: not what winokit grade keeps ({error}); grade that submission again") from None


def curve_weights(sizes: Sequence[int]) -> FloatArray:
    """What each size's accuracy counts in the area under the curve: the area is a weighted mean of accuracies."""
    units = np.eye(len(sizes))
    return np.array([leaderboard_auc(list(unit), sizes) for unit in units])


def release_sizes(release: Path) -> dict[str, int]:
    """How many training problems a release has of each size, from small to large."""
    said = read_manifest(release).get("counts")
    known = said if isinstance(said, dict) else {}
    counts = {size: _count(release, f"train_{size}", known) for size in SIZES}
    return {size: count for size, count in counts.items() if count}


def _count(release: Path, name: str, known: dict[str, Any]) -> int:
    if isinstance(known.get(name), int):
        return int(known[name])
    path = release / "winogrande" / f"{name}.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def _no_curve(columns: Sequence[str], sizes: dict[str, int]) -> str | None:
    """Why there is no area under the learning curve; None where there is one."""
    if columns == (ONE,):
        return "one label a line"
    missing = [size for size in sizes if size not in columns]
    if missing:
        return f"no predictions for {', '.join(missing)}"
    counts = list(sizes.values())
    return None if sorted(set(counts)) == counts else "the release's training sizes do not grow"


def _scores(
    right: NDArray[np.bool_],
    labels: Hidden,
    columns: Sequence[str],
    weights: FloatArray | None,
    statement: Statement | None,
) -> Iterator[Score]:
    trials = statement.trials if statement else None
    units = clusters(labels.groups)
    pairs = complete_groups(labels.groups)
    chance = group_accuracy_chance([2] * len(right), labels.groups) if pairs else 0.0
    for size, column in zip(columns, right.T, strict=True):
        yield _score(size, ACCURACY, column.astype(np.float64), units, COIN, trials)
        if pairs:
            whole = all_right(column, labels.groups).astype(np.float64)
            yield _score(size, GROUP_ACCURACY, whole, np.arange(len(whole)), chance, trials)
    if weights is not None:
        yield _score(CURVE, AUC, right @ weights, units, COIN, trials)


def _score(size: str, metric: str, values: FloatArray, groups: IntArray, chance: float, trials: int | None) -> Score:
    """One score with its interval; groups are drawn whole."""
    values = np.clip(values, 0.0, 1.0)
    find = share_interval if len(np.unique(values)) < 3 else mean_interval
    found, value = find(values, groups, Draws()), float(values.mean())
    spread = (found.high - found.low) / (2 * NORMAL)
    corrected = None if trials is None else rounded(luck_corrected(value, spread, trials, chance))
    ends = rounded(found.low), rounded(found.high)
    return Score(size, metric, rounded(value), *ends, len(values), round(chance, 6), corrected)


def rounded(value: float) -> float:
    """A number as it may leave: to the step, without the tail of a float."""
    return round(round(value / STEP) * STEP, 6)


def _logged(submission: Submission, statement: Statement | None) -> dict[str, Any]:
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "submission": submission.sha256,
        "name": statement.name if statement else None,
        "columns": list(submission.columns),
    }


def read_graded(path: Path) -> Graded:
    """A GRADED.json, read back."""
    try:
        content = json.loads(path.read_text("utf-8"))
        scores = tuple(Score(**score) for score in content["scores"])
        said = content["statement"]
        made = Graded(
            release=dict(content["release"]),
            statement=Statement(**said) if said else None,
            sizes=dict(content["sizes"]),
            scores=scores,
            p_luck=content["p_luck"],
            submission=str(content["submission"]),
            gradings=Gradings(**content["gradings"]),
            notes=tuple(content["notes"]),
        )
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: not what winokit grade writes ({error})") from None
    numbers = [number for one in scores for number in (one.value, one.low, one.high, one.chance)]
    if not all(isinstance(number, int | float) for number in (*numbers, *made.sizes.values())):
        raise BadInput(f"{path}: not what winokit grade writes (a score or a size is no number)")
    if content.get("schema") != SCHEMA or not any(one.metric == ACCURACY for one in scores):
        raise BadInput(f"{path}: not what this winokit's grade writes (schema {content.get('schema')!r})")
    return made
