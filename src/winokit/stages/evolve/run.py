"""`winokit release`: the first version of a release, or the next one.

A version that follows another stands on everything that makes a first one, so that the verb for both is here: what
stays where it was, what retires, what is new, and the files of all that: record and chart of an evolution are
evolution.json and evolution.html in the folder of the new release.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

from winokit.data.loading import Loading, Plain
from winokit.drawing.page import write_page
from winokit.drawing.plots import Forest, ForestBlock, ForestLine, ForestMark
from winokit.errors import BadInput
from winokit.files import private, result_bytes, write_whole
from winokit.methods.scoring.cache import CacheFile, open_cache
from winokit.problem import Card, Dataset
from winokit.progress import Progress, tell
from winokit.results import stands
from winokit.settings import Help, Without, parameters_of, refuse_unused, verb
from winokit.stages.evolve.evolution import RECORD, Evolution, EvolveSettings, Fare, coarse_fare, evolve
from winokit.stages.evolve.pool import pool_of
from winokit.stages.evolve.solved import EvolveAnswers, answers_of
from winokit.stages.grade.budget import carry_over, identifying_facts, known_test, read_carried, spent_budget
from winokit.stages.grade.ladder import rules_of
from winokit.stages.grade.units import GradedUnits
from winokit.stages.release.contents import Succession, read_inputs
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
from winokit.stages.release.manifest import STATUSES, read_manifest, write_manifest
from winokit.stages.release.run import Release, warnings, write_release
from winokit.stages.release.settings import NOT_STATED, ReleaseExtras, ReleaseSettings

Given = str | Path | Dataset | None


@verb
def release(
    kept: Annotated[
        Given, Help("DATA, or a folder of winokit debias. With --previous: new problems, if any.", "KEPT", shown=False)
    ] = None,
    *,
    out: Annotated[Path, Help("The folder to write.", "DIR", shown=False)],
    removed: Annotated[
        Given, Help("The problems that filtering removed, for training. Default: those in the folder.", "DATA")
    ] = None,
    settings: ReleaseSettings = ReleaseSettings(),
    extras: ReleaseExtras = ReleaseExtras(),
    evolving: Annotated[EvolveSettings, Without("version", "secret")] = EvolveSettings(),
    cache: CacheFile = None,
    loading: Plain = Loading(),
    progress: Progress | None = None,
) -> Release:
    """Make a benchmark of filtered twins that others can use.

    Dev and a hidden test come from the kept problems, training sizes from all; twins never cross splits.
    The same input, seed and secret give the same files to the byte. With --previous, the next version of a release.
    """
    if isinstance(extras.secret, Path):  # read before all else, also where no test is hidden
        extras = replace(extras, secret=read_secret(extras.secret))
    if evolving.previous is not None:
        with open_cache(cache) as known:
            asking: dict[str, Any] = {"cache": known, "progress": progress}
            released = _release_next(kept, removed, Path(out), settings, extras, evolving, loading, asking)
            tell(known.ledger.replays.notes)
    else:
        if kept is None:
            raise BadInput("name the problems to release, or the release to follow: --previous DIR")
        own = {each.name: getattr(evolving, each.name) for each in parameters_of(EvolveSettings)}
        refuse_unused(release, "an option of the next version of a release: --previous DIR", **own, cache=cache)
        about: dict[str, Any] = {"removed": removed, "settings": settings, "extras": extras}
        released = write_release(kept, out, **about, loading=loading, progress=progress)
    tell((*released.notes, *warnings(released)))
    return released


def _release_next(
    kept: Given,
    removed: Given,
    out: Path,
    settings: ReleaseSettings,
    extras: ReleaseExtras,
    evolving: EvolveSettings,
    loading: Loading,
    asking: Mapping[str, Any],
) -> Release:
    """Release the next version of a release; `kept` and `removed` are what is new, if anything is.

    With the secret of the previous release what two versions share stands in the same order, so that their difference
    tells nothing.
    """
    previous, given = evolving.previous, extras.secret
    assert previous is not None
    if out.resolve() == previous.resolve():
        raise BadInput(f"{out}: the previous release itself; a new version needs another folder: --out")
    manifest = read_manifest(previous)
    licence = None if manifest.get("licence") == NOT_STATED else manifest.get("licence")
    settings = replace(settings, name=settings.name or str(manifest.get("name")), licence=settings.licence or licence)
    if kept is None and removed is not None:
        raise BadInput("--removed: what filtering took out of new problems; name those too: KEPT")
    offered, gone = Dataset([], Card(str(settings.name))), Dataset([])
    if kept is not None:
        inputs = read_inputs(kept, removed, loading)
        offered = inputs.problems.filter(lambda problem: problem.id in inputs.kept)
        gone = inputs.problems.filter(lambda problem: problem.id not in inputs.kept)
    if given is None and COMMITMENT in manifest:
        given = (evolving.previous_hidden or hidden_folder(previous)) / SECRET
    secret = release_secret(extras.hidden or hidden_folder(out), given)
    evolving = replace(evolving, version=settings.version, secret=Draws(secret))
    evolution = evolved(offered, evolving, removed=gone, **asking)
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
            versions=_identities(previous, evolving.previous_hidden),
        ),
    )
    page = write_evolution(evolution, released.folder, released.hidden)
    carried = _carry_gradings(previous, evolving.previous_hidden, released)
    return replace(released, page=page, notes=(*evolution.notes, *evolution.findings, *released.notes, *carried))


def _labels_at_hand(release: Path, hidden: Path | None) -> HiddenPart | None:
    """The hidden labels of a release; None if they are not there."""
    if hidden is None and not hidden_folder(release).exists():
        return None
    return read_hidden(release, hidden)


def _identities(previous: Path, hidden: Path | None) -> frozenset[str]:
    """What identifies the hidden tests of the previous version and of those before it."""
    labels = _labels_at_hand(previous, hidden)
    if labels is None:
        return frozenset({identity_of(read_manifest(previous))})
    earlier = (carried.identity for carried in read_carried(labels.folder))
    return frozenset({identity_of(identifying_facts(previous, labels)), *earlier})


def _carry_gradings(previous: Path, hidden: Path | None, released: Release) -> Iterator[str]:
    """Carry what earlier versions were asked over to the next one, and note what it has spent of its budget."""
    before = _labels_at_hand(previous, hidden)
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


def evolved(offered: Dataset, settings: EvolveSettings, *, removed: Dataset | None = None, **asking: Any) -> Evolution:
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
        models = [model for several in each for model in several]
        twice = sorted(name for name, count in Counter(model.model for model in models).items() if count > 1)
        if twice:
            raise BadInput(f"{twice[0]} is named twice; a model counts only once")
        return models

    return evolve(pool, answers(settings.against), settings, watched=answers(settings.watch))


PAGE = "evolution.html"
TITLES = {"accuracy": "Accuracy", "group_accuracy": "Whole groups right"}
COARSE = (
    "these scores depend on hidden answers, so they are rounded as on a leaderboard; how many groups were solved "
    "is with the answers"
)


def write_evolution(evolution: Evolution, folder: Path, hidden: Path | None = None) -> Path:
    """Write record and page into a release, take them into its manifest, and return the page.

    Where there is a hidden test (at `hidden`, or beside the folder) the public ones say no more of its answers than a
    leaderboard may: scores at a step, and what was retired. The full ones go beside the hidden labels.
    """
    place, public = hidden or hidden_folder(folder), evolution
    if place.is_dir():
        with private():
            _write(evolution, place)
        public = replace(
            evolution,
            solved=replace(evolution.solved, strata=()),
            fares=tuple(map(coarse_fare, evolution.fares)),
            notes=(*evolution.notes, COARSE),
            findings=(),
        )
    _write(public, folder)
    about = {key: value for key, value in read_manifest(folder).items() if key not in ("schema", "files")}
    write_manifest(folder, about)
    return folder / PAGE


def _write(evolution: Evolution, folder: Path) -> None:
    """Write evolution.json: what was filtered, how much of that is chance, and how models fare; and its page."""
    # What became of problems in this version; those that went before are not counted.
    now = [row for row in evolution.lineage if row.get("until") in (None, evolution.version)]
    counts = {status: sum(row["status"] == status for row in now) for status in STATUSES}
    record = {
        "version": evolution.version,
        "previous": evolution.previous,
        "problems": counts,
        "needed": evolution.solved.needed,
        "solved": [asdict(stratum) for stratum in evolution.solved.strata],
        "fares": [asdict(fare) for fare in evolution.fares],
        "notes": [*evolution.notes, *evolution.findings],
    }
    write_whole(folder / RECORD, result_bytes(record, allow_nan=False))
    models = list(dict.fromkeys(fare.model for fare in evolution.fares if fare.against))
    write_page(
        folder / PAGE,
        "stages/evolve/page.html.j2",
        evolution=evolution,
        charts=list(_charts(evolution.fares)),
        models=models,
        watched=any(fare.model not in models for fare in evolution.fares),
        counts=counts,
    )


def _charts(fares: Sequence[Fare]) -> Iterator[tuple[str, Forest]]:
    """A chart for each metric: each model a block, each version a line, in the order they were made."""
    filtered = {fare.model for fare in fares if fare.against}
    for metric, title in TITLES.items():
        blocks: dict[str, list[ForestLine]] = {}
        for fare in fares:
            if fare.metric == metric:
                note = "filtered against it: a fall is by construction" if fare.against else None
                line = ForestLine(f"version {fare.version}", (ForestMark(0, fare.row, stands(fare.row)),), note)
                blocks.setdefault(fare.model, []).append(line)
        notes = {model: "" if model in filtered else "never filtered against" for model in blocks}
        yield title, Forest(tuple(ForestBlock(model, notes[model], tuple(lines)) for model, lines in blocks.items()))
