"""From filtered twins to a folder that others can use, every file written whole, the manifest last.

At the end what the terminal shows of a release: its splits, what stayed out, where everything is, what to beware of.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import winokit
from winokit.data.loading import AsWritten, Loading
from winokit.data.predictions.documents import scoring_of
from winokit.drawing.tables import table
from winokit.errors import BadInput
from winokit.files import from_here, json_rows, write_whole
from winokit.methods.scoring.base import all_whole
from winokit.problem import Dataset, collector_off
from winokit.progress import Progress, tell
from winokit.results import Brief
from winokit.settings import Help, moved_to, verb
from winokit.stages.release import hidden, manifest
from winokit.stages.release.card import CardFacts, card_bytes, card_facts, first_answers
from winokit.stages.release.contents import FIRST, ReleaseContents, Succession, fill, read_inputs
from winokit.stages.release.disclosure import DisclosureGuard, DisclosureRules
from winokit.stages.release.formats import croissant_bytes, parquet_bytes, parquet_path, registration_bytes, task_files
from winokit.stages.release.hidden import COMMITMENT, Draws
from winokit.stages.release.hidden_registry import open_registry
from winokit.stages.release.settings import NAME, NOT_STATED, Given, ReleaseExtras, ReleaseSettings
from winokit.text.language import languages_of

BELONGS = ("name", "version", "content_hash", COMMITMENT)
"""What hidden answers say about the release they belong to."""
STEPS = 4
"""Reading, splitting, checking, writing."""


@dataclass(frozen=True, repr=False)
class Release(Brief):
    """A release that was made."""

    folder: Path
    hidden: Path | None
    contents: ReleaseContents
    facts: CardFacts
    """What its card says."""
    notes: tuple[str, ...]
    page: Path | None = None
    """What changed since the version before, where there is one."""

    @property
    def settings(self) -> ReleaseSettings:
        """Settings of the release, with its name."""
        return self.facts.settings


@verb
@moved_to("evolve", "previous", "against", "watch", "majority", "alpha", "bring_back", "previous_hidden", "cache")
def release(
    kept: Annotated[str | Path | Dataset, Help("DATA, or a folder of winokit debias.", "KEPT")],
    *,
    out: Annotated[Path, Help("The folder to write.", "DIR", shown=False)],
    removed: Annotated[
        Given, Help("The problems that filtering removed, for training. Default: those in the folder.", "DATA")
    ] = None,
    settings: ReleaseSettings = ReleaseSettings(),
    extras: ReleaseExtras = ReleaseExtras(),
    loading: AsWritten = Loading(),
    progress: Progress | None = None,
) -> Release:
    """Make a benchmark of filtered twins that others can use.

    Dev and a hidden test come from the kept problems, training sizes from all; twins never cross splits.
    The same input, seed and secret give the same files to the byte.
    """
    if isinstance(extras.secret, Path):  # read before all else, also where no test is hidden
        extras = replace(extras, secret=hidden.read_secret(extras.secret))
    released = write_release(
        kept, out, removed=removed, settings=settings, extras=extras, loading=loading, progress=progress
    )
    tell((*released.notes, *warnings(released)))
    return released


@collector_off()
def write_release(
    kept: str | Path | Dataset,
    out: str | Path,
    *,
    removed: str | Path | Dataset | None = None,
    settings: ReleaseSettings | None = None,
    extras: ReleaseExtras | None = None,
    loading: Loading = Loading(),
    succession: Succession = FIRST,
    progress: Progress | None = None,
) -> Release:
    """Release kept problems: dev and a hidden test of them, training sizes of kept and removed ones, card and tasks.

    Parameters
    ----------
    kept
        DATA, a dataset, or a folder of `winokit debias`, which has the removed problems too.
    out
        The folder to write. One that holds anything but an earlier release is refused.
    succession
        What it takes over from the version before it. Default: it is the first.

    Raises
    ------
    BadInput
        Among others, where dev or training would publish what another release keeps hidden.
    """
    folder = Path(out)
    settings = settings or ReleaseSettings()
    extras = extras or ReleaseExtras()
    step = progress or (lambda done, total: None)
    hidden_folder = _choose_hidden_folder(folder, extras.hidden)
    stale = _list_earlier_files(folder)
    step(0, STEPS)
    inputs = read_inputs(kept, removed, loading)
    title = settings.name or inputs.problems.card.title
    settings = _complete_settings(settings, inputs.problems)
    hides = bool(settings.test) or manifest.TEST in succession.fixed.values()
    secret = Draws(hidden.release_secret(hidden_folder, extras.secret)) if hides else None
    step(1, STEPS)
    contents = fill(inputs, settings, succession.fixed, secret)
    problem_files = _make_problem_files(contents)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in problem_files.items()}
    test = contents.files.get(manifest.TEST)
    labels = b""
    commitment = None
    if test is not None and secret is not None:
        labels = _make_labels(test, hidden.units_by_id(inputs.problems, succession.units))
        commitment = secret.commitment(labels)
    step(2, STEPS)
    with open_registry() as registry:  # until the release is written, so that no other can be made of the same data
        guard = DisclosureGuard.before_writing(registry, folder, hidden_folder, commitment)
        rules = DisclosureRules(
            manifest.content_hash(hashes),
            reveal=extras.reveal,
            versions=succession.versions,
            returned=succession.returned,
        )
        allowed = guard.allowed(contents, inputs.problems.problems, rules, secret.key if secret else None)
        facts = card_facts(kept, inputs, contents, settings, extras, title, allowed.revealed)
        step(3, STEPS)
        files = _make_files(contents, facts, problem_files)
        manifest_content = _make_manifest(contents, facts, hashes)
        if commitment is not None:
            manifest_content[COMMITMENT] = commitment
            belongs = {key: manifest_content[key] for key in BELONGS}
            _check_hidden(hidden_folder, belongs, folder)
        for name, data in files.items():
            write_whole(folder / name, data)
        manifest.write_lineage(folder / manifest.LINEAGE, _make_lineage(contents, succession, settings.version))
        # A manifest may come from anybody: what it lists outside the folder is not ours to remove.
        for name in stale.intersection(manifest.file_names(folder)) - {*files, manifest.LINEAGE}:
            (folder / name).unlink()
        if test is not None and secret is not None:
            hidden.write_hidden(hidden_folder, belongs, labels, secret.key, _make_hidden_checks(facts, test))
        manifest.write_manifest(folder, manifest_content)
        guard.remember(contents, manifest_content, allowed)
    notes = (*inputs.problems.notes, *contents.notes, *allowed.notes)
    return Release(folder, hidden_folder if test is not None else None, contents, facts, notes)


def _complete_settings(settings: ReleaseSettings, problems: Dataset) -> ReleaseSettings:
    """The settings with a name, and a formalization that can read the problems."""
    given = settings.formalization
    if all_whole(problems) and given.partition("?")[0] in MASKING:
        settings = replace(settings, formalization="mc-sent")
        tell([f"formalization mc-sent: {given} needs a blank, and the problems are whole texts"])
    card = problems.card
    if not settings.name and not NAME.fullmatch(card.file_name):
        raise BadInput(f"the problems are called {card.name!r}; give the release a --name")
    return replace(settings, name=settings.name or card.file_name)


def _make_lineage(contents: ReleaseContents, succession: Succession, version: str) -> list[manifest.Row]:
    """The rows of the lineage: those of the succession, or that every problem is new."""
    where = contents.where
    if succession.lineage:
        return succession.lineage(where)
    rows = []
    for name, split in where.items():
        rows.append(manifest.lineage_row(name, split, manifest.ADDED, "in the first release", version))
    return rows


def _make_hidden_checks(facts: CardFacts, test: Dataset) -> dict[str, Any]:
    """Checks of the test with its answers, which the card may not show."""
    return {
        "leaks": [asdict(leak) for leak in facts.test_leaks],
        "first_candidate_is_the_answer": first_answers(test),
        "audits": [asdict(audit) for audit in facts.audits if audit.shared.get(manifest.TEST)],
    }


def _make_labels(test: Dataset, unit_by_id: Mapping[str, int]) -> bytes:
    """Return the hidden labels of a test, as a file's content.

    Units are numbered from 0, in order of appearance.
    """
    units = dict.fromkeys(unit_by_id[problem.id] for problem in test)
    numbers = {unit: number for number, unit in enumerate(units)}
    rows = []
    for problem in test:
        unit_number = numbers[unit_by_id[problem.id]]
        rows.append({"id": problem.id, "answer": problem.answer, "group": problem.group, "unit": unit_number})
    return hidden.label_lines(rows)


def _choose_hidden_folder(folder: Path, asked: Path | None) -> Path:
    """Return the folder for hidden answers, which is never the release's own."""
    hidden_place = asked or hidden.hidden_folder(folder)
    if hidden_place.resolve() == folder.resolve() or folder.resolve() in hidden_place.resolve().parents:
        raise BadInput(f"{hidden_place}: hidden answers inside the release would be published with it")
    if hidden_place.exists() and not hidden_place.is_dir():
        raise BadInput(f"{hidden_place}: a file; hidden answers go into a folder: --hidden")
    return hidden_place


def _check_hidden(place: Path, belongs: Mapping[str, object], folder: Path) -> None:
    """Refuse to write hidden answers over those of another release, which nobody could grade any more.

    Those of the release that is replaced go with it, and those of the very same one are rewritten.
    """
    if not place.exists() or not any(place.iterdir()):
        return
    theirs = hidden.labels_of(place)
    replaced: Mapping[str, object] = {}
    if (folder / manifest.MANIFEST).is_file():
        replaced = manifest.read_manifest(folder)
    owner = [theirs.get(key) for key in BELONGS]
    is_ours = owner == [belongs.get(key) for key in BELONGS]
    is_replaced = owner == [replaced.get(key) for key in BELONGS]
    if not is_ours and not is_replaced:
        whose = f"{theirs.get('name')} {theirs.get('version')}"
        raise BadInput(f"{place}: has the answers of another release ({whose}); remove it, or choose another --hidden")


def _list_earlier_files(folder: Path) -> set[str]:
    """Return the files of an earlier release in the same folder.

    Refuses a folder of anything else.
    """
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder}: a file; winokit needs a folder there")
    if not folder.exists() or not any(folder.iterdir()):
        return set()
    try:
        return set(manifest.read_manifest(folder)["files"])
    except BadInput:
        raise BadInput(f"{folder}: not empty, and no release of winokit; choose another --out") from None


def _make_problem_files(contents: ReleaseContents) -> dict[str, bytes]:
    """The JSON lines of each file of problems, by its name: what a release's content hash is of."""
    return {name: json_rows(_make_rows(contents, name)).encode() for name in contents.files}


def _make_rows(contents: ReleaseContents, name: str) -> list[manifest.Row]:
    """Return the rows of a file of problems, without answers for the test."""
    problems = contents.files[name]
    if name == manifest.TEST:
        return list(map(manifest.hidden_row_of, problems))
    if name.startswith(manifest.TRAIN):
        return [manifest.row_of(problem, contents.status(problem)) for problem in problems]
    return [manifest.row_of(problem, None) for problem in problems]


def _make_files(contents: ReleaseContents, facts: CardFacts, problem_files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Every file of a release but lineage and manifest, by its path."""
    files: dict[str, bytes] = {}
    tables: dict[str, bytes] = {}
    for name, data in contents.files.items():
        rows = _make_rows(contents, name)
        files[manifest.problems_path(name)] = problem_files[name]
        if name != manifest.TEST:
            labels = "".join(f"{row['answer']}\n" for row in rows)
            files[f"winogrande/{name}-labels.lst"] = labels.encode()
        statuses = map(contents.status, data)
        tables[name] = parquet_bytes({"status": status, **row} for status, row in zip(statuses, rows, strict=True))
        files[str(parquet_path(name))] = tables[name]
    description = f"{facts.title}: texts with one blank and two candidates, in twins that differ in a word or two."
    files["croissant.json"] = croissant_bytes(
        tables, facts.settings, facts.licence, description, contents.training.languages
    )
    files |= task_files(contents, facts.settings)
    files["eval.yaml"] = registration_bytes(contents, facts.settings, facts.title, description)
    files["README.md"] = card_bytes(contents, facts)
    return files


def _make_manifest(contents: ReleaseContents, facts: CardFacts, hashes: Mapping[str, str]) -> dict[str, Any]:
    """Return the content of the manifest.

    Hashes are of what is public: were the test's answers in them, those of a short test could be guessed until they
    fit.
    """
    settings = facts.settings
    scoring = scoring_of(contents.files[manifest.DEV])
    content: dict[str, Any] = {
        "name": settings.name,
        "version": settings.version,
        "licence": facts.licence,
        "language": languages_of(contents.training.languages),
        "date": settings.date,
        "winokit": winokit.__version__,
        "seed": settings.seed,
        "settings": settings.to_json(),
        "formalization": {"fine_tuned": settings.formalization, "causal": scoring},
        "counts": {name: len(data) for name, data in contents.files.items()},
        "groups": {name: len(data.groups) for name, data in contents.shown.items()},
        "sizes": {name.removeprefix("train_"): len(data) for name, data in contents.sizes.items()},
        "left_out": contents.left_out,
        "content_hashes": dict(hashes),
        "content_hash": manifest.content_hash(hashes),
    }
    if facts.revealed:
        content["revealed"] = _make_revealed_rows(facts)
    return content


def _make_revealed_rows(facts: CardFacts) -> list[dict[str, Any]]:
    """Of each release whose hidden problems are published on purpose, its name and how many there are."""
    return [{"release": each.test.release, "problems": len(each)} for each in facts.revealed]


MASKING = ("mc-mlm", "p-span")
"""Formalizations that whole texts cannot have: one masks the blank, the other looks for the candidates around it."""
COUNTS = ("problems", "kept", "removed", "groups", "single")


def warnings(release: Release) -> Iterator[str]:
    """Yield warnings that a maker of benchmarks must not overlook."""
    facts = release.facts
    if facts.licence == NOT_STATED:
        yield "THE LICENCE IS NOT STATED, and the card says so: nobody may use the release. State one with --licence"
    for crossing in facts.crossings:
        if crossing.repeated or crossing.groups:
            repeated = f"{sum(crossing.repeated.values()):,} repeated texts"
            yield f"{crossing.one} and {crossing.other}: {repeated}, {crossing.groups:,} groups in both"
    for name, leaks in facts.leaks.items():
        for leak in leaks:
            yield f"{name}: {leak.says} in {leak.right:,} of {leak.n:,}"
    if facts.test_leaks and release.hidden is not None:
        yield f"test: something predicts its answers without reading: {from_here(release.hidden / 'checks.json')}"


def lines(release: Release) -> Iterator[Any]:
    """The splits as a table, what stayed out, and where everything is."""
    rows = []
    for name, counts in _count_splits(release).items():
        cells = [f"{counts[key]:,}" for key in COUNTS]
        rows.append((name, *cells))
    yield table(("file", *COUNTS), rows)
    for reason, count in release.contents.left_out.items():
        yield f"left out: {count:,} ({reason})"
    settings = release.settings
    yield f"{release.folder}: {settings.name} {settings.version}; card: {release.folder / 'README.md'}"
    if release.hidden is not None:
        yield f"answers and secret of the test: {from_here(release.hidden)} (keep it to yourself)"
    if release.page is not None:
        yield f"what changed, and how models score: {release.page}"


def _count_splits(release: Release) -> dict[str, dict[str, int]]:
    """The counts of each file."""
    splits = {}
    for name, data in release.contents.shown.items():
        kept_count = release.contents.count_kept(data)
        grouped_count = sum(map(len, data.groups.values()))
        counts = (len(data), kept_count, len(data) - kept_count, len(data.groups), len(data) - grouped_count)
        splits[name] = dict(zip(COUNTS, counts, strict=True))
    return splits


def as_json(release: Release) -> dict[str, Any]:
    """The same for scripts."""
    facts = release.facts
    return {
        "name": facts.settings.name,
        "version": facts.settings.version,
        "licence": facts.licence,
        "language": languages_of(release.contents.training.languages),
        "seed": facts.settings.seed,
        "splits": _count_splits(release),
        "left_out": release.contents.left_out,
        "crossings": [asdict(crossing) for crossing in facts.crossings],
        "leaks": {name: list(map(asdict, leaks)) for name, leaks in facts.leaks.items()},
        "test_leaks": bool(facts.test_leaks),
        "revealed": _make_revealed_rows(facts),
        "notes": [*release.notes, *warnings(release)],
        "out": str(release.folder),
        "hidden": str(release.hidden) if release.hidden else None,
        "page": str(release.page) if release.page else None,
    }
