"""The next version of a release: what stays where it was, what retires, what is new, and the files of all that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from winokit.errors import BadInput
from winokit.problem import Card, Dataset
from winokit.release.build import Extras, Release, Step, release
from winokit.release.evolve import Evolution, EvolveSettings
from winokit.release.evolve_page import write_evolution
from winokit.release.evolve_run import Models, evolved
from winokit.release.inputs import read_inputs
from winokit.release.licences import NOT_STATED
from winokit.release.manifest import read_manifest
from winokit.release.settings import Settings
from winokit.scoring import Cache

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Predecessor:
    """The release before, and who its successor is filtered against."""

    folder: Path
    models: Models
    majority: float = 1.0
    """Share of the models that must solve a group for it to retire."""
    alpha: float = 0.05
    hidden: Path | None = None
    """Where its hidden answers are. Default: beside it."""
    bring_back: bool = False
    """Whether what was retired before, and is offered again, may be trained on."""


@dataclass(frozen=True)
class Successor:
    """The new release, how it differs from the last, and the page that shows it."""

    release: Release
    evolution: Evolution
    page: Path


def release_next(
    before: Predecessor,
    out: str | Path,
    *,
    kept: str | Path | Dataset | None = None,
    removed: str | Path | Dataset | None = None,
    settings: Settings | None = None,
    extras: Extras | None = None,
    as_: str | None = None,
    lenient: bool = False,
    cache: Cache | None = None,
    progress: Progress | None = None,
    step: Step | None = None,
) -> Successor:
    """Release the next version of a release; `kept` and `removed` are what is new, if anything is."""
    if Path(out).resolve() == before.folder.resolve():
        raise BadInput(f"{out}: the previous release itself; a new version needs a folder of its own: --out")
    settings, manifest = settings or Settings(), read_manifest(before.folder)
    licence = None if manifest.get("licence") == NOT_STATED else manifest.get("licence")
    settings = replace(settings, name=settings.name or str(manifest.get("name")), licence=settings.licence or licence)
    offered, gone = _offered(kept, removed, Card(str(settings.name)), as_, lenient)
    evolution = evolved(
        before.folder,
        offered,
        before.models,
        EvolveSettings(settings.version, before.majority, before.alpha, settings.seed),
        removed=gone,
        hidden=before.hidden,
        bring_back=before.bring_back,
        cache=cache,
        progress=progress,
    )
    made = release(
        evolution.kept,
        out,
        removed=evolution.removed if len(evolution.removed) else None,
        settings=settings,
        extras=extras,
        fixed=evolution.fixed,
        lineage=evolution.placed,
        step=step,
    )
    page = write_evolution(evolution, made.folder)
    return Successor(replace(made, notes=(*evolution.notes, *made.notes)), evolution, page)


def _offered(
    kept: str | Path | Dataset | None, removed: str | Path | Dataset | None, card: Card, as_: str | None, lenient: bool
) -> tuple[Dataset, Dataset | None]:
    """What is new: the kept problems, and the removed ones."""
    if kept is None and removed is not None:
        raise BadInput("--removed: what filtering took out of new problems; name those too: KEPT")
    if kept is None:
        return Dataset([], card), None
    inputs = read_inputs(kept, removed, as_=as_, lenient=lenient)
    gone = inputs.problems.filter(lambda problem: problem.id not in inputs.kept)
    return inputs.problems.filter(lambda problem: problem.id in inputs.kept), gone if len(gone) else None
