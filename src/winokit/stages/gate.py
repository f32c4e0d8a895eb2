"""`winokit gate`: has a new model lost more than is allowed? For continuous training, and for pull requests.

Each metric is a paired test over groups: the interval of old minus new, on the same problems. The gate fails where it
lies wholly above the drop that is allowed; a strict gate passes only where it lies wholly below. Several metrics share
the level (Bonferroni), so that the printed intervals hold together.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from winokit.data.loading import DATA_HELP, load_one
from winokit.data.predictions.read import read_predictions
from winokit.data.runs import Run
from winokit.drawing.page import rendered_plain
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import percent, plural, points
from winokit.errors import BadInput, UnknownName
from winokit.files import write_whole
from winokit.methods.arrays import IntArray, Values
from winokit.methods.metrics.accuracy import credit
from winokit.methods.metrics.compare import drop_to_find, paired_interval
from winokit.methods.metrics.consistency import role_kept
from winokit.methods.metrics.groups import all_right, complete_groups
from winokit.problem import Dataset, grouped
from winokit.progress import tell
from winokit.results import Brief
from winokit.settings import Help, verb
from winokit.stages.audit.sheet import AuditSheet

GateMetric = Literal["accuracy", "expected_accuracy", "group_accuracy", "consistency"]
POWER = 0.8
RUN_HELP = "A run's folder, or a file of predictions."
PASSED, FAILED, OPEN = "passed", "failed", "open"


@dataclass(frozen=True)
class DropTest:
    """One metric of two models on the same problems, as shares; the drop is old minus new, with its interval."""

    metric: str
    old: float
    new: float
    drop: float
    low: float
    high: float
    n: int
    """Problems, or groups where the metric counts those."""
    found: float | None
    """The smallest drop that would have failed the gate with 80 % power; None where none would have."""
    verdict: str
    """`failed`: dropped by more than is allowed; `passed`: by less; `open`: the interval holds both."""

    def sentence(self, max_drop: float) -> str:
        """What a person reads of it."""
        rose = self.drop < 0
        ends = (-self.high, -self.low) if rose else (self.low, self.high)
        moved = f"{'rose' if rose else 'fell'} by {100 * abs(self.drop):.1f}" if self.drop else "stayed the same"
        interval = ", ".join(points(end).removeprefix("+") for end in ends)
        said = f"{self.metric.replace('_', ' ')} {moved} [{interval}]"
        if self.verdict == FAILED:
            return f"{said}, more than the {max_drop:.1f} allowed"
        if self.verdict == OPEN:
            said += f", not shown to be more or less than the {max_drop:.1f} allowed"
        drop = "no drop" if self.found is None else f"a drop of {100 * self.found:.1f}"
        return f"{said}; {drop} would have been found with {100 * POWER:.0f} % power"


@dataclass(frozen=True, repr=False)
class GateOutcome(Brief):
    """Whether the new model may pass, and the tests that say so; `max_drop` is in points."""

    passed: bool
    tests: tuple[DropTest, ...]
    new: str
    old: str
    dataset: str
    scoring: str
    max_drop: float
    level: float
    strict: bool

    @property
    def sentences(self) -> list[str]:
        """One per metric."""
        return [test.sentence(self.max_drop) for test in self.tests]

    @property
    def verdict(self) -> str:
        """The whole in one line."""
        strictly = " (--strict)" if self.strict else ""
        word = "passed" if self.passed else "failed"
        return f"{word}{strictly}: {self.new} against {self.old} on {self.dataset}, scored by {self.scoring}"


@verb
def gate(
    new: Annotated[str | Path | Run, Help(RUN_HELP, metavar="NEW", typed=Path)],
    *,
    against: Annotated[str | Path | Run, Help(f"{RUN_HELP} The run to compare NEW with.", metavar="OLD", typed=Path)],
    metric: Annotated[
        Sequence[GateMetric] | None,
        Help(
            "The metric that must not drop; repeatable. Default: accuracy, and group_accuracy where there are groups."
        ),
    ] = None,
    max_drop: Annotated[float, Help("The allowed drop, in points.", least=0, most=100)] = 1.0,
    level: Annotated[float, Help("1 minus the joint confidence of all intervals.", above=0, below=1)] = 0.05,
    strict: Annotated[bool, Help("Pass only if the drop is shown to be smaller than allowed.")] = False,
    model: Annotated[str | None, Help("Which model, if a run has several.", metavar="NAME")] = None,
    scoring: Annotated[str | None, Help("Which scoring, if a model has several.", metavar="NAME")] = None,
    data: Annotated[
        str | Path | Dataset | None,
        Help(f"{DATA_HELP} The dataset of the prediction files. Default: that of the other run.", metavar="DATA"),
    ] = None,
    markdown: Annotated[Path | None, Help("Write a summary for a pull request to this file.", metavar="FILE")] = None,
) -> GateOutcome:
    """Fail if a new model has lost more than is allowed: one paired test over groups per metric.

    Exit code 1 if it fails. Runs that differ in problems, scoring or shots are refused.
    """
    runs = _loaded({"NEW": new, "--against": against}, data)
    ours, theirs = (_sheet(run, name, model, scoring) for name, run in runs.items())
    if model not in (None, ours.model, theirs.model):
        raise UnknownName("model in the runs", str(model), [ours.model, theirs.model])
    if scoring not in (None, ours.scoring, theirs.scoring):
        raise UnknownName("scoring in the runs", str(scoring), [ours.scoring, theirs.scoring])
    _check_alike(ours, theirs, *(run.settings for run in runs.values()))
    has_twins = any(size > 1 for size in ours.sizes.values())
    names = tuple(dict.fromkeys(metric or ("accuracy", "group_accuracy")[: 1 + has_twins]))
    tests = tuple(_tested(name, ours, theirs, max_drop / 100, 1 - level / len(names)) for name in names)
    verdicts = {test.verdict for test in tests}
    passed = verdicts == {PASSED} if strict else FAILED not in verdicts
    about = (ours.model, theirs.model, ours.dataset.card.name, ours.scoring)
    outcome = GateOutcome(passed, tests, *about, max_drop, level, strict)
    if markdown is not None:
        shown = rendered_plain("stages/gate.md.j2", outcome=outcome, rows=[*_rows(outcome)][1:])
        write_whole(markdown, shown)
    return outcome


def _loaded(given: Mapping[str, str | Path | Run], data: str | Path | Dataset | None) -> dict[str, Run]:
    """The runs; a file of predictions is read with the problems of `data`, or of the run beside it."""
    folders = {name: run for name, run in given.items() if isinstance(run, Run) or not Path(run).is_file()}
    runs = {name: run if isinstance(run, Run) else Run.load(Path(run)) for name, run in folders.items()}
    dataset = load_one(data) if data is not None else next((run.dataset for run in runs.values()), None)
    for name, file in given.items():
        if name not in runs:
            if dataset is None:
                raise BadInput(f"{file}: predictions without their problems; name those with --data DATA")
            reads = read_predictions(str(file), dataset)
            tell(note for read in reads for note in read.notes)
            runs[name] = Run({}, [], [row for read in reads for row in read.predictions], dataset)
    return {name: runs[name] for name in given}


def _sheet(run: Run, name: str, model: str | None, scoring: str | None) -> AuditSheet:
    """What one model predicted in a run: the model that is asked for, or the only one; likewise its scoring."""
    if not run.predictions:
        raise BadInput(f"{name} has no predictions")
    model = _only(f"{name} has several models", (row.model for row in run.predictions), model, "--model")
    own = [row for row in run.predictions if row.model == model]
    scoring = _only(f"{name} has several scorings", (row.scoring for row in own), scoring, "--scoring")
    variants = grouped((row.variant, row) for row in own if row.scoring == scoring)
    predictions = {variant: {row.id: row for row in rows} for variant, rows in variants.items()}
    return AuditSheet(run.dataset, predictions, {}, model, scoring)


def _only(several: str, names: Iterable[str], asked: str | None, option: str) -> str:
    """The name that is asked for where there are several, or the only one."""
    known = list(dict.fromkeys(names))
    if len(known) != 1 and asked not in known:
        raise BadInput(f"{several}: name one with {option} ({', '.join(known)})")
    return asked if asked in known else known[0]


def _check_alike(new: AuditSheet, old: AuditSheet, ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> None:
    """Refuse runs that differ in more than the model; a file of predictions says its scoring alone."""
    if new.dataset.content_hash != old.dataset.content_hash:
        about = [f"{side.dataset.card.name} ({plural(len(side.dataset), 'problem')})" for side in (new, old)]
        raise BadInput(f"NEW is over {about[0]}, --against over {about[1]}: a gate needs the same problems and answers")
    values: dict[str, tuple[Any, Any]] = {"scoring": (new.scoring, old.scoring)}
    if ours and theirs:
        names = ("shots", "substitution", "prompt", *(("shots_from", "seed") if ours.get("shots") else ()))
        values |= {name: (ours.get(name), theirs.get(name)) for name in names}
    for name, (own, other) in values.items():
        if own != other:
            raise BadInput(f"NEW has {name} {own}, --against {other}: a gate needs the same")


def _values(sheet: AuditSheet, metric: str) -> tuple[list[str], Values, IntArray]:
    """The ids of the problems, what the model has of each, or of each whole group, and their clusters."""
    switched = sheet.predictions.get("switched", {})
    graded = [case for case in sheet.graded() if metric != "consistency" or case.problem.id in switched]
    if not graded:
        raise BadInput(f"{metric}: {sheet.model} has no predictions to take it from")
    columns, ids = sheet.columns(graded), [case.problem.id for case in graded]
    if metric == "group_accuracy":
        firsts = [rows[0] for rows in complete_groups(columns.groups, sheet.sizes).values()]
        return ids, all_right(columns.correct, columns.groups, sheet.sizes), columns.clusters[firsts]
    values: Values = columns.correct
    if metric == "consistency":
        values = role_kept(columns.predictions, [switched[name].prediction for name in ids])
    elif metric == "expected_accuracy":
        values = credit(columns.predictions, columns.answers, columns.candidates)
    return ids, values, columns.clusters


def _tested(metric: str, new: AuditSheet, old: AuditSheet, allowed: float, level: float) -> DropTest:
    (ids, ours, clusters), (others, theirs, _) = _values(new, metric), _values(old, metric)
    if ids != others:
        counts = f"{len(ids):,} and {len(others):,}, {len({*ids} & {*others}):,} in common"
        raise BadInput(f"{metric}: NEW and --against answer different problems ({counts}): a gate needs the same")
    interval = paired_interval(theirs, ours, clusters, level)
    least_drop = drop_to_find(theirs, ours, clusters, allowed=allowed, level=level, power=POWER)
    verdict = FAILED if interval.low > allowed else PASSED if interval.high < allowed else OPEN
    means = float(np.mean(theirs)), float(np.mean(ours))
    return DropTest(metric, *means, means[0] - means[1], interval.low, interval.high, len(ours), least_drop, verdict)


def _rows(outcome: GateOutcome) -> Iterator[tuple[str, ...]]:
    yield "metric", "old", "new", "drop", "interval", "verdict"
    for test in outcome.tests:
        ends = f"{points(test.low)} to {points(test.high)}"
        yield test.metric, percent(test.old), percent(test.new), points(test.drop), ends, test.verdict


def lines(outcome: GateOutcome) -> Lines:
    """The verdict, a sentence per metric, and the numbers."""
    head, *rows = _rows(outcome)
    return [outcome.verdict, *outcome.sentences, table(head, rows, words=(-1,))]


def as_json(outcome: GateOutcome) -> dict[str, Any]:
    """The same for scripts."""
    return {**asdict(outcome), "sentences": outcome.sentences}


def code(outcome: GateOutcome) -> int:
    """1 where the gate is closed."""
    return 0 if outcome.passed else 1
