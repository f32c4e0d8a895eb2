"""What the three verbs of `winokit debias` share: features, bars, the folder they write, and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from winokit.cli.common import console, print_json, tell
from winokit.cli.guards import refuse_unused
from winokit.cli.score import open_cache
from winokit.errors import BadInput

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from rich.table import Table

    from winokit.methods.aflite.aflite import Phase
    from winokit.problem import Dataset
    from winokit.stages.debias.arms import DebiasChoices, DebiasWatch
    from winokit.stages.debias.features import DebiasFeatures
    from winokit.stages.debias.run import Debiased

CHECKPOINT, CHECKPOINTS = "checkpoint.npz", "checkpoint*.npz"
"""Of the first seed, and of all."""
STAGES = {
    "aflite": "AFLite",
    "pmi": "PMI",
    "random": "random reduction",
    "seeds": "other seeds",
    "null": "relabelled runs",
    "probe": "linear probe",
    "removals": "random removals",
    "divergence": "divergence",
    "words": "words",
}


@dataclass(frozen=True)
class Common:
    """The options that every method has."""

    method: str
    data: str
    out: Path | None
    features: Path | None
    model: str | None
    kind: str
    pooling: str
    compare: list[str] | None
    assess: bool
    folds: int
    bins: int | None
    neighbours: int
    limit: int | None
    as_: str | None
    cache: str | None
    lenient: bool
    json: bool

    @classmethod
    def of(cls, method: str, given: Mapping[str, Any]) -> Common:
        """The common options among all that a command was given."""
        return cls(method, **{field.name: given[field.name] for field in fields(cls) if field.name != "method"})

    @property
    def compared(self) -> list[str]:
        """The methods to show beside."""
        return ["random", "pmi"] if self.compare is None else [name for name in self.compare if name != "none"]

    @property
    def needs_features(self) -> bool:
        """Whether anything looks at features."""
        return self.assess or "aflite" in (self.method, *self.compared)


def refuse_passed_over(context: typer.Context, common: Common) -> None:
    """Refuse options that would change nothing beside the others."""
    if not common.assess:
        refuse_unused(context, ["folds", "bins", "neighbours"], "an option of the assessment, and --no-assess has none")
    embedding = ["kind", "pooling", "cache"]
    if not common.needs_features:
        unused = ["features", "model", *embedding]
        refuse_unused(
            context,
            unused,
            f"{common.method} looks at features for the assessment only: leave out this, or --no-assess",
        )
    if common.features is not None:
        refuse_unused(context, embedding, "says how a model is to embed, and --features has been embedded already")


def run(common: Common, choices: DebiasChoices) -> None:
    """Filter, write the folder and the page, and say what came of it."""
    from winokit.data.loading import load
    from winokit.results import rows_to_json
    from winokit.stages.debias.assessment import Assessment
    from winokit.stages.debias.features import without_held_out
    from winokit.stages.debias.page import write_debias_page
    from winokit.stages.debias.run import check_problems, filter_problems
    from winokit.stages.debias.save import REPORT, check_folder, save

    if common.features is not None and common.model is not None:
        raise BadInput("features come from a file (--features) or from a model (--model), not from both")
    dataset = load(common.data, as_=common.as_, lenient=common.lenient)[: common.limit]
    tell(dataset.notes)
    if common.features is not None:
        seen = dataset
        dataset = without_held_out(common.features, dataset)
        tell(note for note in dataset.notes if note not in seen.notes)
    check_problems(dataset)  # what cannot be filtered is refused before a model spends minutes on it
    folder = common.out or Path("runs") / f"{dataset.card.file_name}-{common.method}"
    check_folder(folder)
    if choices.aflite is not None:
        choices.aflite.checkpoint = folder / CHECKPOINT
    how = Assessment(folds=common.folds, bins=common.bins, neighbours=common.neighbours, seed=choices.seed)
    with stages(choices) as bars:
        features = _features(dataset, common, bars) if common.needs_features else None
        found = filter_problems(
            dataset,
            common.method,
            features=features,
            choices=choices,
            assessment=how if common.assess else None,
            watch=bars.watch,
        )
    tell(note for note in found.notes if note not in dataset.notes)
    save(found, folder)
    page = write_debias_page(found, folder / REPORT)
    for checkpoint in folder.glob(CHECKPOINTS):
        checkpoint.unlink()
    if common.json:
        said = {"run": found.settings, "warnings": found.warnings, "metrics": rows_to_json(found.metrics)}
        print_json({**said, "out": str(folder), "report": str(page)})
        return
    _say(found, folder, page)


def _features(dataset: Dataset, common: Common, bars: Stages) -> DebiasFeatures:
    from winokit.stages.debias.features import embedded, read_features

    if common.features is not None:
        return read_features(common.features, dataset)
    bars.begin("embedding")
    spec = common.model or "builtin"
    with open_cache(common.cache) as kept:
        return embedded(dataset, spec, kind=common.kind, pooling=common.pooling, cache=kept, progress=bars.update)


class Stages:
    """One bar after the other, where a person looks; silent elsewhere."""

    def __init__(self, bar: Progress | None, choices: DebiasChoices) -> None:
        self._bar, self._choices = bar, choices
        self._task: TaskID | None = None
        self._rows = 0

    @property
    def watch(self) -> DebiasWatch:
        """What a filtering tells of itself."""
        from winokit.stages.debias.arms import DebiasWatch

        return DebiasWatch(
            step=lambda what: self.begin(STAGES.get(what, what)),
            phase=self._phase,
            null=lambda run: self.update(run, self._choices.null_runs),
        )

    def begin(self, what: str) -> None:
        """Start the next bar in place of the last."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(what, total=None)

    def update(self, done: float, total: float) -> None:
        """Move the bar."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=done, total=total)

    def _phase(self, phase: Phase) -> None:
        """A phase is done: the bar is full when no more rows are left than a classifier trains on."""
        if self._bar is None or self._task is None:
            return
        self._rows = max(self._rows, phase.rows)
        left = phase.rows - phase.removed
        said = f"AFLite, phase {phase.number}: {left:,} left, held-out accuracy {phase.accuracy:.1%}"
        train = self._choices.aflite.settings_["train_size"] if self._choices.aflite else 0
        self._bar.update(self._task, description=said, completed=self._rows - left, total=self._rows - train)


@contextmanager
def stages(choices: DebiasChoices) -> Iterator[Stages]:
    """The bars of a run, on standard error."""
    from rich.console import Console

    screen = Console(stderr=True)
    if not screen.is_terminal:
        yield Stages(None, choices)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, transient=True) as bar:
        yield Stages(bar, choices)


def _say(found: Debiased, folder: Path, page: Path) -> None:
    """The outcome for a person: sizes, what was scaled to the data, the table of arms, the verdict, where to look."""
    from winokit.stages.debias.verdict import verdict_of

    kept, n = int(found.chosen.keep.sum()), len(found.dataset)
    phases = len(found.chosen.history)
    in_phases = f" in {phases} {'phase' if phases == 1 else 'phases'}" if phases else ""
    typer.echo(f"{kept:,} of {n:,} problems kept, {n - kept:,} removed{in_phases}")
    if found.method == "aflite":
        chosen = found.chosen.settings
        typer.echo(
            f"train size {chosen['train_size']:,}, cutoff {chosen['cutoff']:,}, threshold {chosen['threshold']}, "
            f"ensemble {chosen['ensemble_size']}, twins {chosen['twins']}, {chosen['backend']}"
        )
    console().print(arms_table(found))
    typer.echo(verdict_of(found).word)
    tell(found.warnings)
    typer.echo(f"{folder / 'kept.jsonl'}, removed.jsonl, debias.json; page: {page}")


def arms_table(found: Debiased) -> Table:
    """Each method beside all problems: how many are kept, the probe, and the divergence with what chance gives."""
    from rich.table import Table

    from winokit.drawing.wording import say_interval

    assessed = found.find("all", "probe_accuracy") is not None
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("problems", no_wrap=True)
    for heading in (
        "kept",
        "groups split",
        *(("linear probe", "KL, first component", "by chance") if assessed else ()),
    ):
        table.add_column(heading, justify="right", no_wrap=True)
    for arm in found.arms:
        split, probe, kl = (found.find(arm.name, name) for name in ("n_groups_split", "probe_accuracy", "kl_histogram"))
        cells = [f"{int(arm.keep.sum()):,}", f"{split.value:,}" if split else ""]
        if probe and kl:
            cells.append(rf"{probe.value:.1%} \{say_interval(probe)}")
            cells += [f"{kl.value:.3f}", f"{kl.chance:.3f}"]
        table.add_row(arm.name, *cells)
    return table
