"""`winokit evolve`: the next version of a release, from which what models solve beyond chance is retired.

What stays where it was, what retires and what is new is decided here; the files are those of any release, with
evolution.json and evolution.html beside them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from winokit.errors import BadInput
from winokit.methods.scoring.cache import CacheFile, open_cache
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.settings import Help, Stored, Without, verb
from winokit.stages.evolve.evolution import Evolution, make_evolution
from winokit.stages.evolve.page import write_evolution
from winokit.stages.evolve.pool import pool_of
from winokit.stages.evolve.settings import EvolveSettings, OfferedProblems
from winokit.stages.evolve.solved import EvolveAnswers, answers_of
from winokit.stages.grade.budget import carry_over, identifying_facts, known_test, read_carried, spent_budget
from winokit.stages.grade.ladder import rules_of
from winokit.stages.grade.units import GradedUnits
from winokit.stages.release.contents import Succession
from winokit.stages.release.hidden import (
    COMMITMENT,
    SECRET,
    Draws,
    HiddenPart,
    hidden_folder,
    read_hidden,
    read_secret,
    release_secret,
)
from winokit.stages.release.hidden_registry import identity_of, open_registry
from winokit.stages.release.manifest import read_manifest
from winokit.stages.release.run import Release, warnings, write_release
from winokit.stages.release.settings import NOT_STATED, ReleaseExtras, ReleaseSettings

INHERITED = (
    *("name", "licence", "date", "dev", "test", "sizes"),
    *("split", "complete", "singles", "formalization", "seed"),
)
"""Settings of a release that its next version has from winokit.toml, as the release had."""
NEXT = "next"
"""The version that raises the first number of the one before: 2.0 after 1.0 or 1.3."""


@dataclass(frozen=True, repr=False)
class EvolvedRelease(Release):
    """The next version of a release, and what changed."""

    evolution: Evolution = field(kw_only=True)
    """With everything that hidden answers tell: for the owner."""


@verb
def evolve(
    release: Annotated[Path, Help("The release to make the next version of.", "RELEASE")],
    *,
    evolving: Annotated[EvolveSettings, Without("version", "previous", "secret")] = EvolveSettings(),
    out: Annotated[Path, Help("The folder to write.", "DIR", shown=False)],
    offered: OfferedProblems = OfferedProblems(),
    settings: Annotated[ReleaseSettings, Stored("release", *INHERITED)] = ReleaseSettings(version=NEXT),
    extras: Annotated[ReleaseExtras, Stored("release")] = ReleaseExtras(),
    cache: CacheFile = None,
    progress: Progress | None = None,
) -> EvolvedRelease:
    """Make the next version of a release: groups that models solve beyond chance retire, new problems join.

    Everything else stays in its split, with problems and candidates in the same order. Name and licence are those of
    RELEASE, and the version is the next whole number, unless you say otherwise.
    """
    if not evolving.solvers:
        raise BadInput("filter against what? Name a model, or a file of its predictions: --model, --predictions")
    if out.resolve() == release.resolve():
        raise BadInput(f"{out}: the previous release itself; a new version needs another folder: --out")
    manifest = read_manifest(release)
    settings = _inherit_settings(settings, manifest)
    secret = release_secret(extras.hidden or hidden_folder(out), _choose_secret(release, manifest, evolving, extras))
    problems, removed = offered.loaded(str(settings.name))
    evolving = replace(evolving, version=settings.version, previous=release, secret=Draws(secret))
    with open_cache(cache) as known:
        evolution = ask_and_evolve(problems, evolving, removed=removed, cache=known, progress=progress)
        tell(known.ledger.replays.notes)
    released = write_release(
        evolution.kept,
        out,
        removed=evolution.removed if len(evolution.removed) else None,
        settings=settings,
        extras=replace(extras, secret=secret),
        succession=Succession(
            fixed=evolution.fixed,
            lineage=evolution.placed,
            units=evolution.units,
            returned=frozenset(evolution.returned),
            versions=_find_identities(release, evolving.previous_hidden),
        ),
    )
    page = write_evolution(evolution, released.folder, released.hidden)
    carried = _carry_gradings(release, evolving.previous_hidden, released)
    notes = (*evolution.notes, *evolution.findings, *released.notes, *carried)
    facts = {name: getattr(released, name) for name in ("folder", "hidden", "contents", "facts")}
    evolved = EvolvedRelease(**facts, notes=notes, page=page, evolution=evolution)
    tell((*evolved.notes, *warnings(evolved)))
    return evolved


def _inherit_settings(settings: ReleaseSettings, manifest: Mapping[str, Any]) -> ReleaseSettings:
    """The settings with name, licence and version of the previous release's manifest where none is given."""
    licence = settings.licence
    if licence is None and manifest.get("licence") != NOT_STATED:
        licence = manifest.get("licence")
    version = settings.version
    if version == NEXT:
        version = next_version(str(manifest.get("version") or "1.0"))
    return replace(settings, name=settings.name or str(manifest.get("name")), licence=licence, version=version)


def next_version(version: str) -> str:
    """The version with its first number raised and the others at 0. Raises BadInput if it has no number.

    >>> next_version("1.0"), next_version("1.3.2"), next_version("v9")
    ('2.0', '2.0.0', 'v10')
    """
    parts = re.fullmatch(r"(\D*)(\d+)((?:\.\d+)*)", version)
    if parts is None:
        raise BadInput(f"--version: name the new one; {version!r}, the previous one, has no number to raise")
    prefix, first, suffix = parts.groups()
    return f"{prefix}{int(first) + 1}{re.sub('[0-9]+', '0', suffix)}"


def _choose_secret(
    release: Path, manifest: Mapping[str, Any], evolving: EvolveSettings, extras: ReleaseExtras
) -> Path | bytes | None:
    """Return the secret to draw from: as given, or that of the previous release.

    None if it hides no test.

    With one secret, what two versions share stands in the same order, so that their difference tells nothing.
    """
    if isinstance(extras.secret, Path):
        return read_secret(extras.secret)
    if extras.secret is None and COMMITMENT in manifest:
        return (evolving.previous_hidden or hidden_folder(release)) / SECRET
    return extras.secret


def _find_labels(release: Path, hidden: Path | None) -> HiddenPart | None:
    """Return the hidden labels of a release, or None if they are not there."""
    if hidden is None and not hidden_folder(release).exists():
        return None
    return read_hidden(release, hidden)


def _find_identities(previous: Path, hidden: Path | None) -> frozenset[str]:
    """Return the identities of the hidden tests of all earlier versions."""
    labels = _find_labels(previous, hidden)
    if labels is None:
        return frozenset({identity_of(read_manifest(previous))})
    earlier = (carried.identity for carried in read_carried(labels.folder))
    return frozenset({identity_of(identifying_facts(previous, labels)), *earlier})


def _carry_gradings(previous: Path, hidden: Path | None, released: Release) -> Iterator[str]:
    """Carry what earlier versions were asked over to the next one, and note what it has spent of its budget."""
    before = _find_labels(previous, hidden)
    if before is None or released.hidden is None:
        return
    now = read_hidden(released.folder, released.hidden)
    with open_registry() as registry:
        carry_over(registry, previous, before, now)
        spent = spent_budget(registry, known_test(registry, released.folder, now), now).gradings().different
    if spent:
        units = GradedUnits.of_labels(now)
        budget = rules_of(units.counted_problems, units.of_problems.sizes).budget
        yield (
            f"gradings of earlier versions have spent {spent:,} of the {budget:,} that this test is for; new problems "
            "give it more room, winokit grade --budget N raises it"
        )


def ask_and_evolve(
    offered: Dataset, settings: EvolveSettings, *, removed: Dataset | None = None, **asking: Any
) -> Evolution:
    """Make the next version of a release: `offered` are the problems to enter it, `removed` those for training alone.

    Nothing is asked of a model twice where there is a cache, so that an interrupted run goes on. `asking` takes `cache`
    and `progress`.
    """
    previous = settings.previous
    assert previous is not None
    pool = pool_of(previous, offered, removed, hidden=settings.previous_hidden, bring_back=settings.bring_back)
    if not len(pool.asked):
        raise BadInput(f"{previous}: neither dev nor test, and nothing new offered: there is nothing to filter")

    def answers(names: Sequence[str]) -> list[EvolveAnswers]:
        each = (answers_of(pool.asked, name, **asking) for name in names)
        models = list(chain.from_iterable(each))
        name_counts = Counter(model.model for model in models)
        twice = sorted(name for name, count in name_counts.items() if count > 1)
        if twice:
            raise BadInput(f"{twice[0]} is named twice; a model counts only once")
        return models

    return make_evolution(pool, answers(settings.solvers), settings, watched=answers(settings.watch))
