"""Grading: a submission against the hidden labels of a release, with intervals, the leaderboard's area, and luck.

Accuracy and group score for each training size, the area under the learning curve as WinoGrande's leaderboard has it,
and beside each what is left once the luck of the stated number of trials is taken off: that is the owner's record,
which stays in the log beside the hidden labels. Intervals count units (`units`). Every grading is a question about
them, so what a submitter sees is the main score on the Ladder (`ladder`), and an interval that follows from it. The
group score and those of single training sizes are questions too, and are the owner's.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray

from winokit.data.predictions.in_memory import Predictions, are_files, file_paths
from winokit.drawing.wording import percent, plural
from winokit.errors import BadInput
from winokit.files import locked, refuse_overwriting, refused
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.groups import all_right, group_accuracy_chance
from winokit.methods.metrics.judge_graded import (
    curve_weights,
    interval_at,
    p_best_by_coins,
    score_interval,
    spread_at,
    spread_of,
)
from winokit.progress import tell
from winokit.results import Brief
from winokit.settings import Help, verb
from winokit.stages.grade import record
from winokit.stages.grade.budget import SpentBudget, known_test, spent_budget
from winokit.stages.grade.ladder import GUESSED, LadderRules, luck_corrected, rounded, rules_of, to_step
from winokit.stages.grade.record import ACCURACY, AUC, GROUP_ACCURACY, Graded, GradeScore, Gradings, Statement
from winokit.stages.grade.settings import GradeSettings
from winokit.stages.grade.submissions import ONE, SubmittedFile, read_submission
from winokit.stages.grade.units import GradedUnits, answers_of
from winokit.stages.release.hidden import MANIFEST_HASH, HiddenPart, append_private, read_hidden
from winokit.stages.release.hidden_registry import HiddenTest, open_registry
from winokit.stages.release.manifest import SIZES, manifest_hash, problems_path, read_manifest
from winokit.units import Units

if TYPE_CHECKING:
    from winokit.stages.grade.leaderboard import Leaderboard

COIN = 0.5
CURVE = "curve"


@dataclass(frozen=True, repr=False)
class Grading(Brief):
    """The result of grading, for the submitter and for the owner.

    The owner is whoever has the hidden labels.
    """

    public: Graded
    """The scores and notes that a submitter may see."""
    owner: Graded
    """All scores and notes, for the owner alone."""
    is_owners: bool = False
    """Whether `owner` is to be shown, not `public`."""
    out: Path | None = None
    """The file of the entry. None if no entry was written."""

    @property
    def shown(self) -> Graded:
        """The scores and notes to show: `owner` or `public`."""
        return self.owner if self.is_owners else self.public

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes to show with the scores, the last on the budget."""
        return (*self.shown.notes, self._describe_budget())

    def _describe_budget(self) -> str:
        """Describe how many submissions were graded, and how many may be."""
        gradings = self.shown.gradings
        rules = self.shown.rules
        submissions = "1 submission" if gradings.different == 1 else f"{gradings.different:,} different submissions"
        carried = ""
        if gradings.carried:
            carried = f" ({gradings.carried:,} of them for gradings on other releases with problems of this test)"
        under_name = ""
        if self.shown.statement is not None:
            under_name = f", {gradings.by_name:,} under this name"
        budget = f"the budget is {rules.budget:,}, {rules.per_name:,} per name"
        return f"{submissions} graded on this test so far{carried}{under_name}; {budget}"


@verb
def grade(
    release: Annotated[Path, Help("A folder of winokit release.", "DIR", shown=False)],
    files: Annotated[
        Predictions,
        Help(
            "predictions.lst (one label per line, or five: xs,s,m,l,xl), predictions.jsonl, or one file per size.",
            "FILE",
            typed=list[Path],
            shown=False,
        ),
    ] = (),
    *,
    settings: GradeSettings = GradeSettings(),
    out: Annotated[Path | None, Help("Where to write the entry (GRADED.json), or the page with --board.")] = None,
) -> "Grading | Leaderboard":
    """Grade predictions against the hidden test of a release, or make its leaderboard.

    Scores are rounded to a step, and shown only if they beat the best shown under their name; labels and outcomes of
    single problems never are. Every grading is logged in full beside the hidden labels. A leaderboard entry (--out)
    must state its formalization, training data and number of trials.

    Returns
    -------
    Grading or Leaderboard
        What may be shown of the scores; with `board`, the ranks.
    """
    release = Path(release)
    paths = [Path(path) for path in file_paths(files)]
    if settings.board is not None:
        if paths or not are_files(files):
            raise BadInput("--board takes a folder of graded entries, not predictions: leave these out")
        return make_board(release, settings.board, settings, out or Path("board.html"))
    if out is not None:
        check_entry(out, paths, settings)
    if settings.missing:
        tell([f"no entry, and no score corrected for luck, without {settings.missing}"])
    statement = settings.statement(paths)
    grading = grade_submission(release, files, statement, hidden=settings.hidden, budget=settings.budget)
    grading = replace(grading, is_owners=settings.owner, out=out)
    if out is not None:
        record.write_graded(grading.public, out)
    tell(grading.notes)
    return grading


def make_board(release: Path, entries: Path, settings: GradeSettings, page: Path) -> "Leaderboard":
    """Write the leaderboard page of a folder of entries, and print notes.

    Returns the board with the path of the page. Raises BadInput if the page would overwrite an entry.
    """
    from winokit.stages.grade.leaderboard import leaderboard, write_board

    refuse_overwriting(page, entries.glob("*.json"))
    board = replace(leaderboard(release, entries, hidden=settings.hidden, owner=settings.owner), page=page)
    write_board(board, page)
    tell(board.notes)
    return board


def check_entry(out: Path, paths: Sequence[Path], settings: GradeSettings) -> None:
    """Raise BadInput if an entry cannot be written to `out`.

    It is called before grading, since every grading is logged. The folder of `out` is made if it is missing.
    """
    refuse_overwriting(out, paths)
    if out.is_dir():
        raise BadInput(f"{out}: a folder; an entry is a file: --out {out / 'NAME.json'}")
    with refused(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    if settings.missing:
        raise BadInput(f"a leaderboard entry must say {settings.missing}")


def grade_submission(
    release: Path,
    predictions: Predictions,
    statement: Statement | None = None,
    *,
    hidden: Path | None = None,
    budget: int | None = None,
) -> Grading:
    """Grade a submission on the hidden test of a release, and log it.

    The log and the registry of hidden problems are updated. With a statement, the submission becomes a leaderboard
    entry, and its outcome on each problem is kept beside the hidden labels for paired tests between entries. Raises
    BadInput if the budget is spent.

    Parameters
    ----------
    release
        The folder of the release.
    predictions
        Files of predictions, or predictions in memory.
    statement
        The entry's statement on its predictions; None if it is to be no entry.
    hidden
        The folder of hidden labels. Default: the one beside the release.
    budget
        Number of different submissions for this test. Default: the number of its steps, and at least ten.
    """
    labels = read_hidden(release, hidden)
    sizes = release_sizes(release)
    units = GradedUnits.of_labels(labels)
    rules = rules_of(units.counted_problems, units.of_problems.sizes, budget)
    submission = read_submission(predictions, labels.ids, tuple(sizes))
    name = statement.name if statement else None
    columns = [answers_of(labels, choices).correct for choices in submission.predictions.T]
    right = np.column_stack(columns)
    why_no_curve = _explain_no_curve(submission.columns, sizes)
    notes = []
    weights = None
    if why_no_curve:
        notes.append(f"no area under the learning curve: {why_no_curve}")
    else:
        weights = curve_weights(list(sizes.values()))
    if units.note:
        notes.append(units.note)
    owner = Graded(
        release=_describe_release(release, labels, units),
        statement=statement,
        sizes={size: sizes[size] for size in submission.columns if size in sizes},
        scores=tuple(_compute_scores(right, labels.groups, units, submission.columns, weights, statement)),
        p_luck=_compute_p_luck(right[:, -1], units, statement),
        submission=submission.sha256,
        gradings=Gradings(0, 0, 0),
        rules=rules,
        notes=tuple(notes),
    )
    with locked(labels.folder / record.LOCK), open_registry() as registry:
        hidden_test = known_test(registry, release, labels)
        spent = spent_budget(registry, hidden_test, labels)
        spent.check(submission.sha256, name, rules)
        coarse = _coarsen_score(owner, labels, submission, units.effective)
        best = record.best_shown(labels.folder, name, coarse.metric, submission.sha256)
        why_hidden = _explain_hiding(coarse, rules, best)
        public_scores = () if why_hidden else (coarse,)
        public = replace(owner, scores=public_scores, p_luck=None)
        row = _make_log_row(owner, public, submission.columns, units.count)
        append_private(labels.folder / record.LOG, json.dumps(row))
        spent = spent.with_grading(submission.sha256, name)
        registry.save(hidden_test.with_gradings(spent.own))
        registry_notes = _describe_registry(hidden_test, spent)
        owner = replace(owner, gradings=spent.gradings(name), notes=(*owner.notes, *registry_notes))
        if statement is not None:
            record.keep_outcome(labels.folder, submission.sha256, submission.columns, right)
    public_notes = (*owner.notes, why_hidden) if why_hidden else owner.notes
    return Grading(replace(public, gradings=owner.gradings, notes=public_notes), owner)


def _describe_release(release: Path, labels: HiddenPart, units: GradedUnits) -> dict[str, Any]:
    """Return an entry's facts on its release.

    Those are name, version, manifest hash, and size of the test.
    """
    manifest = read_manifest(release)
    description: dict[str, Any] = {key: manifest[key] for key in ("name", "version") if key in manifest}
    description[MANIFEST_HASH] = manifest_hash(release)
    description["test"] = {"problems": len(labels), "groups": len(units.of_groups), "units": units.count}
    return description


def _make_log_row(owner: Graded, public: Graded, columns: Sequence[str], unit_count: int | None) -> dict[str, Any]:
    """Make a row of the log: all scores, and those shown."""
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "submission": owner.submission,
        "name": owner.statement.name if owner.statement else None,
        "columns": list(columns),
        "shown": {score.metric: score.value for score in public.scores} or None,
        record.ENTRY: record.entry_hash(public),
        "units": unit_count,
        "scores": [asdict(score) for score in owner.scores],
        "p_luck": owner.p_luck,
    }


def _describe_registry(test: HiddenTest, spent: SpentBudget) -> Iterator[str]:
    """Yield notes on uncounted gradings, and on published problems of the test."""
    if spent.uncounted:
        yield (
            f"{plural(spent.uncounted, 'more submission')} graded on this test elsewhere, or before its log was "
            "shortened: not counted in its budget"
        )
    for revealing in test.revealings:
        count = f"{len(revealing.rows):,} of the {len(test.secrets):,} hidden problems"
        yield f"{revealing.release} has published {count} of this test with their answers: they are no longer hidden"


def _coarsen_score(owner: Graded, labels: HiddenPart, submission: SubmittedFile, units: int) -> GradeScore:
    """Return the main score as a submitter may see it.

    It is rounded to a step, with an interval that follows from the step alone. Interval and luck correction are
    computed from the rounded score, so that they reveal no more than it does. The secret decides whether it is
    rounded up or down. `units` is the effective number of units.
    """
    score = owner.main
    steps = owner.rules.steps
    assert score is not None
    coin = labels.draws.share(f"rounding {score.metric}", submission.sha256)
    value = to_step(score.value, steps, coin)
    low = interval_at(max(0.0, value - 1 / steps), units)
    high = interval_at(min(1.0, value + 1 / steps), units)
    corrected = None
    if owner.statement is not None:
        spread = spread_at(value, units)
        corrected = rounded(luck_corrected(value, spread, owner.statement.trials, score.chance))
    return replace(score, value=value, low=rounded(low.low), high=rounded(high.high), luck_corrected=corrected)


def _compute_p_luck(right: NDArray[np.bool_], units: GradedUnits, statement: Statement | None) -> float | None:
    """Probability that the best of `trials` guessers does as well.

    `right` says of each problem whether it is right. None if the number of trials is not stated.
    """
    if statement is None:
        return None
    return rounded(p_best_by_coins(right, units.of_problems, statement.trials))


def _explain_hiding(score: GradeScore, rules: LadderRules, best: float) -> str | None:
    """Return why a rounded score is not shown, or None.

    `best` is the best score shown before under the same name, 0 if there is none.
    """
    if rules.lowest > 1:
        return "not shown: no score on a test of so few problems can be distinguished from guessing"
    if score.value < rules.lowest:
        return (
            f"not shown: the score is below {percent(rules.lowest)}, which the best of {rules.budget:,} random guesses "
            f"reaches with probability {GUESSED} at most"
        )
    if score.value <= best:
        step = percent(1 / rules.steps)
        return f"not shown: less than a step ({step}) above the best score shown for this name, {percent(best)}"
    return None


def release_sizes(release: Path) -> dict[str, int]:
    """Number of problems in each training size of a release, smallest first.

    The manifest's counts are used; if it has none, the lines of the files are counted.
    """
    counts = read_manifest(release).get("counts")
    if not isinstance(counts, dict):
        counts = {}
    sizes = {}
    for size in SIZES:
        count = counts.get(f"train_{size}")
        path = release / problems_path(f"train_{size}")
        if not isinstance(count, int):
            count = path.read_bytes().count(b"\n") if path.is_file() else 0
        if count:
            sizes[size] = count
    return sizes


def _explain_no_curve(columns: Sequence[str], sizes: dict[str, int]) -> str | None:
    """Return why there is no area under the learning curve, or None.

    `columns` are the training sizes of the submission, `sizes` the number of problems in each of the release.
    """
    if columns == (ONE,):
        return "one label per line"
    missing_sizes = [size for size in sizes if size not in columns]
    if missing_sizes:
        return f"no predictions for {', '.join(missing_sizes)}"
    counts = list(sizes.values())
    return None if sorted(set(counts)) == counts else "the release's training sizes do not grow"


def _compute_scores(
    right: NDArray[np.bool_],
    groups: Sequence[str | None],
    units: GradedUnits,
    columns: Sequence[str],
    weights: FloatArray | None,
    statement: Statement | None,
) -> Iterator[GradeScore]:
    """Yield the scores of each column, then the area under the curve.

    Those of a column are accuracy and group score. The curve is the learning curve.

    Parameters
    ----------
    right
        Whether each prediction is right: (problems, columns).
    groups
        The group of each problem, or None. Without complete groups there is no group score.
    units
        The units that intervals are computed over.
    columns
        The training size of each column.
    weights
        The weight of each column in the area; None if there is no area.
    statement
        The entry's statement, whose trials are corrected for; None for no correction.
    """
    trials = statement.trials if statement else None
    has_groups = len(units.of_groups) > 0
    chance = group_accuracy_chance([COIN] * len(right), groups) if has_groups else 0.0
    for size, column in zip(columns, right.T, strict=True):
        yield _compute_score(size, ACCURACY, column.astype(np.float64), units.of_problems, COIN, trials)
        if has_groups:
            whole_groups = all_right(column, groups).astype(np.float64)
            yield _compute_score(size, GROUP_ACCURACY, whole_groups, units.of_groups, chance, trials)
    if weights is not None:
        yield _compute_score(CURVE, AUC, right @ weights, units.of_problems, COIN, trials)


def _compute_score(
    size: str, metric: str, values: FloatArray, units: Units, chance: float, trials: int | None
) -> GradeScore:
    """Compute the mean of values as a score with its interval.

    Values are from 0 to 1, one for each problem or group, and the interval is over `units`. It is corrected for luck
    if the number of trials is not None.
    """
    values = np.clip(values, 0.0, 1.0)
    interval = score_interval(values, units)
    mean = float(values.mean())
    corrected = None
    if trials is not None:
        corrected = rounded(luck_corrected(mean, spread_of(interval), trials, chance))
    return GradeScore(
        size=size,
        metric=metric,
        value=rounded(mean),
        low=rounded(interval.low),
        high=rounded(interval.high),
        n=len(values),
        chance=round(chance, 6),
        luck_corrected=corrected,
    )
