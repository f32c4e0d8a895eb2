"""`winokit evolve`: the next version of a release, filtered against models.

What stays where it was, what retires and what is new is decided here; the files are those of any release, with
evolution.json and evolution.html beside them.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from winokit.errors import BadInput
from winokit.methods.scoring.cache import CacheFile, open_cache
from winokit.problem import Dataset
from winokit.progress import Progress, tell
from winokit.settings import Help, Stored, Without, verb
from winokit.stages.evolve.evolution import Evolution, make_evolution
from winokit.stages.evolve.page import write_evolution
from winokit.stages.evolve.pool import find_hidden_labels, pool_of
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
"""Settings of a release that its next version reads from the section `release` of winokit.toml too."""
NEXT = "next"
"""The default for `version`: the previous one with its first number raised, as 2.0 after 1.0 or 1.3."""


@dataclass(frozen=True, repr=False)
class EvolvedRelease(Release):
    """The next version of a release, and what changed."""

    evolution: Evolution = field(kw_only=True)
    """Everything, hidden answers included: for the owner, not to be published."""


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
    with open_cache(cache) as open_answers:
        evolution = ask_and_evolve(problems, evolving, removed=removed, cache=open_answers, progress=progress)
        tell(open_answers.ledger.replays.notes)
    succession = Succession(
        fixed=evolution.fixed,
        lineage=evolution.placed,
        units=evolution.units,
        returned=frozenset(evolution.returned),
        versions=_find_identities(release, evolving.previous_hidden),
    )
    released = write_release(
        evolution.kept,
        out,
        removed=evolution.removed if len(evolution.removed) else None,
        settings=settings,
        extras=replace(extras, secret=secret),
        succession=succession,
    )
    page = write_evolution(evolution, released.folder, released.hidden)
    budget_notes = _carry_gradings(release, evolving.previous_hidden, released)
    evolved = EvolvedRelease(
        folder=released.folder,
        hidden=released.hidden,
        contents=released.contents,
        facts=released.facts,
        notes=(*evolution.notes, *evolution.findings, *released.notes, *budget_notes),
        page=page,
        evolution=evolution,
    )
    tell((*evolved.notes, *warnings(evolved)))
    return evolved


def _inherit_settings(settings: ReleaseSettings, manifest: Mapping[str, Any]) -> ReleaseSettings:
    """Fill in name, licence and version from the previous release's manifest.

    Only settings that are not given are filled in.
    """
    name = settings.name or str(manifest.get("name"))
    licence = settings.licence
    if licence is None and manifest.get("licence") != NOT_STATED:
        licence = manifest.get("licence")
    version = settings.version
    if version == NEXT:
        version = next_version(str(manifest.get("version") or "1.0"))
    return replace(settings, name=name, licence=licence, version=version)


def next_version(version: str) -> str:
    """Return a version with its first number raised, the others 0.

    Raises BadInput if it has no number.

    >>> next_version("1.0"), next_version("1.3.2"), next_version("v9")
    ('2.0', '2.0.0', 'v10')
    """
    parts = re.fullmatch(r"(\D*)(\d+)((?:\.\d+)*)", version)
    if parts is None:
        raise BadInput(f"--version: name the new one; {version!r}, the previous one, has no number to raise")
    prefix, first, suffix = parts.groups()
    zeroed_suffix = re.sub("[0-9]+", "0", suffix)
    return f"{prefix}{int(first) + 1}{zeroed_suffix}"


def _choose_secret(
    release: Path, manifest: Mapping[str, Any], evolving: EvolveSettings, extras: ReleaseExtras
) -> Path | bytes | None:
    """Return the secret from which splits and orders are drawn.

    It is that of `extras`, or else that of the previous release. A secret of the previous release is returned as the
    path of its file. None if there is none: the previous release hides no test. With one secret, the problems that two
    versions share have the same order, so that comparing the versions tells nothing.
    """
    if isinstance(extras.secret, Path):
        return read_secret(extras.secret)
    has_previous_secret = COMMITMENT in manifest
    if extras.secret is None and has_previous_secret:
        labels_folder = evolving.previous_hidden or hidden_folder(release)
        return labels_folder / SECRET
    return extras.secret


def _find_identities(previous: Path, hidden: Path | None) -> frozenset[str]:
    """Return the identities of the tests of all earlier versions.

    The registry of hidden tests knows tests by these. `hidden` is the folder of the previous release's labels. Without
    labels, only the previous version counts.
    """
    labels = find_hidden_labels(previous, hidden)
    if labels is None:
        return frozenset({identity_of(read_manifest(previous))})
    previous_identity = identity_of(identifying_facts(previous, labels))
    earlier_identities = [carried.identity for carried in read_carried(labels.folder)]
    return frozenset({previous_identity, *earlier_identities})


def _carry_gradings(previous: Path, hidden: Path | None, released: Release) -> Iterator[str]:
    """Copy the gradings of earlier versions to the new release.

    Yields a note if they used up some of its budget. Nothing is copied before the notes are read. Nothing happens if
    the previous or the new release has no hidden labels.
    """
    previous_labels = find_hidden_labels(previous, hidden)
    if previous_labels is None or released.hidden is None:
        return
    labels = read_hidden(released.folder, released.hidden)
    with open_registry() as registry:
        carry_over(registry, previous, previous_labels, labels)
        test = known_test(registry, released.folder, labels)
        spent = spent_budget(registry, test, labels).gradings().different
    if spent:
        units = GradedUnits.of_labels(labels)
        budget = rules_of(units.counted_problems, units.of_problems.sizes).budget
        yield (
            f"gradings of earlier versions have spent {spent:,} of the {budget:,} that this test is for; new problems "
            "give it more room, winokit grade --budget N raises it"
        )


def ask_and_evolve(
    offered: Dataset, settings: EvolveSettings, *, removed: Dataset | None = None, **asking: Any
) -> Evolution:
    """Ask models, and make the next version of a release.

    The settings name the models and the release, `settings.previous`. Raises BadInput if there is nothing to filter, or
    if two models have one name.

    Parameters
    ----------
    offered, removed
        Problems that may enter any split, and those for training alone.
    asking
        `cache` and `progress`. With a cache nothing is asked of a model twice, so an interrupted run continues.
    """
    previous = settings.previous
    assert previous is not None
    pool = pool_of(previous, offered, removed, hidden=settings.previous_hidden, bring_back=settings.bring_back)
    if not len(pool.asked):
        raise BadInput(f"{previous}: neither dev nor test, and nothing new offered: there is nothing to filter")
    against = _ask_models(pool.asked, settings.solvers, **asking)
    watched = _ask_models(pool.asked, settings.watch, **asking)
    return make_evolution(pool, against, settings, watched=watched)


def _ask_models(problems: Dataset, specs: Sequence[str], **asking: Any) -> list[EvolveAnswers]:
    """Collect the answers of models, or of files of predictions.

    `specs` are SPECs of models and paths of files. Raises BadInput if two of them are one model.
    """
    answers: list[EvolveAnswers] = []
    for spec in specs:
        answers += answers_of(problems, spec, **asking)
    name_counts = Counter(model.model for model in answers)
    repeated_names = sorted(name for name, count in name_counts.items() if count > 1)
    if repeated_names:
        raise BadInput(f"{repeated_names[0]} is named twice; a model counts only once")
    return answers
