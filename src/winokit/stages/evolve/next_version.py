"""The next version of a release: what stays where it was, what retires, what is new, and the files of all that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache
from winokit.problem import Card, Dataset
from winokit.stages.evolve.page import write_evolution
from winokit.stages.evolve.preparing import EvolveModels, evolved
from winokit.stages.evolve.run import Evolution, EvolveSettings
from winokit.stages.release.draws import SECRET, Draws, read_secret
from winokit.stages.release.hidden import COMMITMENT, TEST, hidden_folder
from winokit.stages.release.inputs import read_inputs
from winokit.stages.release.licences import NOT_STATED
from winokit.stages.release.manifest import read_manifest
from winokit.stages.release.run import Release, ReleaseExtras, Step, release, release_secret
from winokit.stages.release.settings import ReleaseSettings

Progress = Callable[[float, float], None]
BEFORE_SECRETS = (
    "Version {version} was drawn without a secret: the order of its test can check guesses of the answers. Here the "
    "order is drawn anew, from a new secret; what {version} told of the problems that both have stays told."
)
"""For the card of a release that follows one made before there were secrets."""


@dataclass(frozen=True)
class Predecessor:
    """The release before, and who its successor is filtered against."""

    folder: Path
    models: EvolveModels
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
    settings: ReleaseSettings | None = None,
    extras: ReleaseExtras | None = None,
    as_: str | None = None,
    lenient: bool = False,
    cache: Cache | None = None,
    progress: Progress | None = None,
    step: Step | None = None,
) -> Successor:
    """Release the next version of a release; `kept` and `removed` are what is new, if anything is."""
    if Path(out).resolve() == before.folder.resolve():
        raise BadInput(f"{out}: the previous release itself; a new version needs a folder of its own: --out")
    settings, manifest = settings or ReleaseSettings(), read_manifest(before.folder)
    licence = None if manifest.get("licence") == NOT_STATED else manifest.get("licence")
    settings = replace(settings, name=settings.name or str(manifest.get("name")), licence=settings.licence or licence)
    offered, gone = _offered(kept, removed, Card(str(settings.name)), as_, lenient)
    extras, secret = _with_secret(before, manifest, extras or ReleaseExtras(), Path(out))
    evolution = evolved(
        before.folder,
        offered,
        before.models,
        EvolveSettings(settings.version, before.majority, before.alpha, secret=Draws(secret)),
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
    page = write_evolution(evolution, made.folder, made.hidden)
    return Successor(replace(made, notes=(*evolution.notes, *evolution.findings, *made.notes)), evolution, page)


def _with_secret(
    before: Predecessor, manifest: Mapping[str, Any], extras: ReleaseExtras, out: Path
) -> tuple[ReleaseExtras, bytes]:
    """The extras with a secret, and it: the one given, the previous release's, or a new one where that has none.

    With the same secret what two versions share stands in the same order, so that their difference tells nothing.
    """
    given, notes = extras.secret, extras.notes
    if given is None and COMMITMENT in manifest:
        given = read_secret((before.hidden or hidden_folder(before.folder)) / SECRET)
    elif COMMITMENT not in manifest and (before.folder / TEST).is_file():
        notes = (*notes, BEFORE_SECRETS.format(version=manifest.get("version")))
    secret = release_secret(extras.hidden or hidden_folder(out), given)
    return replace(extras, secret=secret, notes=notes), secret


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
