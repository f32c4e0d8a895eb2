"""Grading: a submission against the hidden labels of a release, with intervals, the leaderboard's area, and luck.

Accuracy and group score for each training size, the area under the learning curve as WinoGrande's leaderboard has it,
and beside each what is left once the luck of the stated number of trials is taken off: that is the owner's record,
which stays in the log beside the hidden labels. Every grading is a question about them, so what a submitter sees is the
main score on the Ladder (`grading_ladder`), and an interval that follows from it. The group score and those of single
training sizes are questions too, and are the owner's.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.files import write_whole
from winokit.methods.metrics.arrays import FloatArray, IntArray, clusters
from winokit.methods.metrics.curve import leaderboard_auc
from winokit.methods.metrics.groups import all_right, complete_groups, group_accuracy_chance
from winokit.methods.metrics.intervals import Interval, share_interval
from winokit.methods.metrics.luck import p_best_of, p_chance
from winokit.stages.grade.ladder import GUESSED, LadderRules, rules_of, to_step
from winokit.stages.grade.log import LOG, Gradings, best_shown, check_budget, locked, log_grading, log_rows
from winokit.stages.grade.luck import luck_corrected
from winokit.stages.grade.statement import Statement
from winokit.stages.grade.submissions import ONE, SIZES, SubmittedFile, read_submission
from winokit.stages.release.hidden import MANIFEST_HASH, HiddenPart, read_hidden, write_private
from winokit.stages.release.manifest import manifest_hash, read_manifest

SCHEMA = 2
STEP = 0.001
"""The owner's scores are rounded to a tenth of a percentage point."""
COIN = 0.5
NORMAL = 1.959964
"""Half the width of a 95 % interval, in standard errors."""
GRADED = "graded"
CURVE = "curve"
AUC, ACCURACY, GROUP_ACCURACY = "auc", "accuracy", "group_accuracy"


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


@dataclass(frozen=True)
class Graded:
    """What is said about a submission: in public, or to the owner of the labels."""

    release: dict[str, Any]
    statement: Statement | None
    sizes: dict[str, int]
    """How many problems each training size has, where the submission says sizes."""
    scores: tuple[GradeScore, ...]
    """In public the main score, or nothing."""
    p_luck: float | None
    """Probability that the best of as many coins as there were trials does as well; the owner's."""
    submission: str
    """Hash of what was predicted, for which sizes."""
    gradings: Gradings
    rules: LadderRules
    """What is shown on this test, and how often."""
    notes: tuple[str, ...] = ()

    @property
    def main(self) -> GradeScore | None:
        """The score that ranks: the area under the curve, else the accuracy at the largest size; None if not shown."""
        ranking = [score for score in self.scores if score.metric in (ACCURACY, AUC)]
        return ranking[-1] if ranking else None

    def find(self, size: str, metric: str) -> GradeScore | None:
        """The score of that name."""
        return next((score for score in self.scores if (score.size, score.metric) == (size, metric)), None)

    def to_json(self) -> dict[str, Any]:
        """The content of GRADED.json."""
        return {"schema": SCHEMA, **asdict(self)}


@dataclass(frozen=True)
class Grading:
    """One grading, as a submitter may see it and as the owner of the labels does."""

    public: Graded
    owner: Graded


def grade(
    release: Path,
    paths: Sequence[Path],
    statement: Statement | None = None,
    *,
    hidden: Path | None = None,
    budget: int | None = None,
) -> Grading:
    """Grade a submission to a release; with a statement it becomes a leaderboard entry.

    An entry's outcome problem by problem is kept beside the hidden labels, for paired tests between entries.

    Parameters
    ----------
    budget
        Different submissions that this test is for. Default: as many as it has steps, and no fewer than ten.
    """
    labels = read_hidden(release, hidden)
    sizes = release_sizes(release)
    units = len(set(clusters(labels.groups)))
    rules = rules_of(len(labels), units, budget)
    submission = read_submission(paths, labels.ids, tuple(sizes))
    name = statement.name if statement else None
    right = submission.predictions == np.array(labels.answers)[:, None]
    why_not = _no_curve(submission.columns, sizes)
    weights = None if why_not else curve_weights(list(sizes.values()))
    scores = tuple(_scores(right, labels, submission.columns, weights, statement))
    last = right[:, -1]
    owner = Graded(
        release=release_facts(release, labels),
        statement=statement,
        sizes={size: sizes[size] for size in submission.columns if size in sizes},
        scores=scores,
        p_luck=rounded(p_best_of(statement.trials, p_chance(int(last.sum()), len(last)))) if statement else None,
        submission=submission.sha256,
        gradings=Gradings(0, 0, 0),
        rules=rules,
        notes=(f"no area under the learning curve: {why_not}",) if why_not else (),
    )
    with locked(labels.folder) as notes:
        check_budget(labels.folder, submission.sha256, name, rules)
        coarse = _coarse(owner, labels, submission, units)
        why_hidden = _why_hidden(coarse, rules, best_shown(labels.folder, name, coarse.metric, submission.sha256))
        row = _logged(owner, submission, None if why_hidden else coarse)
        owner = replace(owner, gradings=log_grading(labels.folder, row), notes=(*owner.notes, *notes))
        if statement is not None:
            keep_outcome(labels.folder, submission.sha256, submission.columns, right)
    if why_hidden:
        return Grading(replace(owner, scores=(), p_luck=None, notes=(*owner.notes, why_hidden)), owner)
    return Grading(replace(owner, scores=(coarse,), p_luck=None), owner)


def _coarse(owner: Graded, labels: HiddenPart, submission: SubmittedFile, units: int) -> GradeScore:
    """The main score at a step, with what follows from the step alone: nothing else of the submission is looked at."""
    score, steps = owner.main, owner.rules.steps
    assert score is not None
    value = to_step(score.value, steps, labels.draws.share(f"rounding {score.metric}", submission.sha256))
    low, high = (
        _share_of_units(max(0.0, value - 1 / steps), units),
        _share_of_units(min(1.0, value + 1 / steps), units),
    )
    corrected = None
    if owner.statement is not None:
        spread = math.sqrt(value * (1 - value) / units)
        corrected = rounded(luck_corrected(value, spread, owner.statement.trials, score.chance))
    return replace(score, value=value, low=rounded(low.low), high=rounded(high.high), luck_corrected=corrected)


def _share_of_units(share: float, units: int) -> Interval:
    """The interval of so many right of so many units."""
    return share_interval(np.arange(units) < round(share * units), np.arange(units))


def _why_hidden(score: GradeScore, rules: LadderRules, best: float) -> str | None:
    """Why a score is not shown; None where it is."""
    if rules.lowest > 1:
        return "not shown: no score on a test of so few problems can be told from guessing"
    if score.value < rules.lowest:
        return (
            f"not shown: below {rules.lowest:.1%}, up to which scores may be guessed: the best of {rules.budget:,} "
            f"guesses gets there in {GUESSED:.0%} of all cases at most"
        )
    if score.value <= best:
        return f"not shown: not a step ({1 / rules.steps:.1%}) above the best shown under this name, {best:.1%}"
    return None


def release_facts(release: Path, labels: HiddenPart) -> dict[str, Any]:
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
    labels: HiddenPart,
    columns: Sequence[str],
    weights: FloatArray | None,
    statement: Statement | None,
) -> Iterator[GradeScore]:
    trials = statement.trials if statement else None
    units = clusters(labels.groups)
    pairs = complete_groups(labels.groups)
    chance = group_accuracy_chance([COIN] * len(right), labels.groups) if pairs else 0.0
    for size, column in zip(columns, right.T, strict=True):
        yield _score(size, ACCURACY, column.astype(np.float64), units, COIN, trials)
        if pairs:
            whole = all_right(column, labels.groups).astype(np.float64)
            yield _score(size, GROUP_ACCURACY, whole, np.arange(len(whole)), chance, trials)
    if weights is not None:
        yield _score(CURVE, AUC, right @ weights, units, COIN, trials)


def _score(
    size: str, metric: str, values: FloatArray, groups: IntArray, chance: float, trials: int | None
) -> GradeScore:
    """One score with its interval over groups."""
    values = np.clip(values, 0.0, 1.0)
    found, value = share_interval(values, groups), float(values.mean())
    spread = (found.high - found.low) / (2 * NORMAL)
    corrected = None if trials is None else rounded(luck_corrected(value, spread, trials, chance))
    ends = rounded(found.low), rounded(found.high)
    return GradeScore(size, metric, rounded(value), *ends, len(values), round(chance, 6), corrected)


def rounded(value: float) -> float:
    """A number as it may leave: to the step, without the tail of a float."""
    return round(round(value / STEP) * STEP, 6)


def _logged(owner: Graded, submission: SubmittedFile, shown: GradeScore | None) -> dict[str, Any]:
    """A row of the log: the owner's record, and what was shown of it."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "submission": submission.sha256,
        "name": owner.statement.name if owner.statement else None,
        "columns": list(submission.columns),
        "shown": None if shown is None else {shown.metric: shown.value},
        "scores": [asdict(score) for score in owner.scores],
        "p_luck": owner.p_luck,
    }


def owner_record(entry: Graded, folder: Path) -> Graded:
    """An entry with all its scores, from the log beside the hidden labels."""
    rows = [row for row in log_rows(folder) if row.get("submission") == entry.submission and "scores" in row]
    if not rows:
        raise BadInput(f"{folder / LOG}: no record of submission {entry.submission[:12]}; grade it again")
    return replace(entry, scores=tuple(GradeScore(**score) for score in rows[-1]["scores"]), p_luck=rows[-1]["p_luck"])


def read_graded(path: Path) -> Graded:
    """A GRADED.json, read back."""
    try:
        content = json.loads(path.read_text("utf-8"))
        scores = tuple(GradeScore(**score) for score in content["scores"])
        said = content["statement"]
        made = Graded(
            release=dict(content["release"]),
            statement=Statement(**said) if said else None,
            sizes=dict(content["sizes"]),
            scores=scores,
            p_luck=content["p_luck"],
            submission=str(content["submission"]),
            gradings=Gradings(**content["gradings"]),
            rules=LadderRules(**content["rules"]),
            notes=tuple(content["notes"]),
        )
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    except (KeyError, TypeError, AttributeError) as error:
        raise BadInput(f"{path}: not what winokit grade writes ({error})") from None
    numbers = [number for one in scores for number in (one.value, one.low, one.high, one.chance)]
    if not all(isinstance(number, int | float) for number in (*numbers, *made.sizes.values())):
        raise BadInput(f"{path}: not what winokit grade writes (a score or a size is no number)")
    if content.get("schema") != SCHEMA or (scores and made.main is None):
        raise BadInput(f"{path}: not what this winokit's grade writes (schema {content.get('schema')!r})")
    return made
