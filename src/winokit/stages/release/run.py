"""`winokit release`: from filtered twins to a folder that others can use. The manifest is written last.

At the end of the module is the summary for the terminal and for scripts: splits, problems left out, folders, warnings.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import winokit
from winokit.data.loading import AsWritten, DataLike, Loading
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
"""Keys of the manifest that hidden labels repeat, by which they know their release."""
STEPS = 4
"""Number of steps that progress is reported for: reading, splitting, checking, writing."""


@dataclass(frozen=True, repr=False)
class Release(Brief):
    """A release that was written."""

    folder: Path
    """The folder to publish."""
    hidden: Path | None
    """The folder of hidden labels. None if there is no hidden test."""
    contents: ReleaseContents
    """The problems of each file."""
    facts: CardFacts
    """The facts that its card states."""
    notes: tuple[str, ...]
    page: Path | None = None
    """The page on changes since the previous version. None for a first version."""

    @property
    def settings(self) -> ReleaseSettings:
        """Settings of the release, with its name."""
        return self.facts.settings


@verb
@moved_to("evolve", "previous", "against", "watch", "majority", "alpha", "bring_back", "previous_hidden", "cache")
def release(
    kept: Annotated[DataLike, Help("DATA, or a folder of winokit debias.", "KEPT")],
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
    kept: DataLike,
    out: str | Path,
    *,
    removed: DataLike | None = None,
    settings: ReleaseSettings | None = None,
    extras: ReleaseExtras | None = None,
    loading: Loading = Loading(),
    succession: Succession = FIRST,
    progress: Progress | None = None,
) -> Release:
    """Write a release: dev, a hidden test, training sizes, card, and tasks.

    Dev and test are drawn from the kept problems, the training sizes from kept and removed ones.

    Parameters
    ----------
    kept
        DATA, a dataset, or a folder of `winokit debias`, which has the removed problems too.
    out
        The folder to write. A folder with anything but an earlier release is refused.
    removed
        The problems that filtering removed: DATA or a dataset. Default: those in the folder, if `kept` is one.
    settings
        Name, licence, and sizes of splits.
    extras
        Further content for the card, the folder of hidden labels, and the secret.
    loading
        How to read DATA.
    succession
        Facts that it takes over from the previous version. Default: it is the first version.
    progress
        Called with the numbers of finished and of all steps.

    Raises
    ------
    BadInput
        Among others, if dev or training would publish problems that another release keeps hidden.
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
    has_hidden_test = bool(settings.test) or manifest.TEST in succession.fixed.values()
    secret = None
    if has_hidden_test:
        secret = Draws(hidden.release_secret(hidden_folder, extras.secret))
    step(1, STEPS)
    contents = fill(inputs, settings, succession.fixed, secret)
    problem_files = _make_problem_files(contents)
    hashes = {name: hashlib.sha256(data).hexdigest() for name, data in problem_files.items()}
    test = contents.files.get(manifest.TEST)
    labels = b""
    commitment = None
    if test is not None and secret is not None:
        units = hidden.units_by_id(inputs.problems, succession.units)
        labels = _make_labels(test, units)
        commitment = secret.commitment(labels)
    step(2, STEPS)
    with open_registry() as registry:  # locked until the release is written: no other can be made of the same data
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
            _check_replaceable_labels(hidden_folder, belongs, folder)
        for name, data in files.items():
            write_whole(folder / name, data)
        manifest.write_lineage(folder / manifest.LINEAGE, _make_lineage(contents, succession, settings.version))
        _remove_stale_files(folder, stale - {*files, manifest.LINEAGE})
        if test is not None and secret is not None:
            hidden.write_hidden(hidden_folder, belongs, labels, secret.key, _make_hidden_checks(facts, test))
        manifest.write_manifest(folder, manifest_content)
        guard.remember(contents, manifest_content, allowed)
    notes = (*inputs.problems.notes, *contents.notes, *allowed.notes)
    return Release(folder, hidden_folder if test is not None else None, contents, facts, notes)


def _remove_stale_files(folder: Path, names: set[str]) -> None:
    """Remove files of an earlier release from its folder.

    `names` are the files to remove, from the earlier manifest. Names that are no files in the folder are ignored: a
    manifest may come from anybody, and may name paths outside.
    """
    for name in names.intersection(manifest.file_names(folder)):
        (folder / name).unlink()


def _complete_settings(settings: ReleaseSettings, problems: Dataset) -> ReleaseSettings:
    """Return the settings with a name and a fitting formalization.

    If the problems are whole texts, a formalization that needs a blank is replaced, and a note says so. Raises BadInput
    if neither the settings nor the problems have a name that fits.
    """
    formalization = settings.formalization
    needs_blank = formalization.partition("?")[0] in MASKING
    if needs_blank and all_whole(problems):
        settings = replace(settings, formalization="mc-sent")
        tell([f"formalization mc-sent: {formalization} needs a blank, and the problems are whole texts"])
    card = problems.card
    if not settings.name and not NAME.fullmatch(card.file_name):
        raise BadInput(f"the problems are called {card.name!r}; give the release a --name")
    return replace(settings, name=settings.name or card.file_name)


def _make_lineage(contents: ReleaseContents, succession: Succession, version: str) -> list[manifest.Row]:
    """Return the rows of the lineage.

    In a first version, every problem is new.
    """
    split_of_id = contents.where
    if succession.lineage:
        return succession.lineage(split_of_id)
    rows = []
    for name, split in split_of_id.items():
        rows.append(manifest.lineage_row(name, split, manifest.ADDED, "in the first release", version))
    return rows


def _make_hidden_checks(facts: CardFacts, test: Dataset) -> dict[str, Any]:
    """Return checks of the hidden test that the card may not state."""
    return {
        "leaks": [asdict(leak) for leak in facts.test_leaks],
        "first_candidate_is_the_answer": first_answers(test),
        "audits": [asdict(audit) for audit in facts.audits if audit.shared.get(manifest.TEST)],
    }


def _make_labels(test: Dataset, unit_by_id: Mapping[str, int]) -> bytes:
    """Return the content of labels.jsonl for a test.

    `unit_by_id` has the number of each problem's unit. Units are numbered again from 0, in order of appearance.
    """
    units = dict.fromkeys(unit_by_id[problem.id] for problem in test)
    number_of_unit = {unit: number for number, unit in enumerate(units)}
    rows = []
    for problem in test:
        unit = number_of_unit[unit_by_id[problem.id]]
        rows.append({"id": problem.id, "answer": problem.answer, "group": problem.group, "unit": unit})
    return hidden.label_lines(rows)


def _choose_hidden_folder(folder: Path, hidden_folder: Path | None) -> Path:
    """Return the folder for hidden labels: as chosen, or DIR.hidden.

    Raises BadInput if it is a file, or in the folder of the release.
    """
    hidden_folder = hidden_folder or hidden.hidden_folder(folder)
    release_path = folder.resolve()
    hidden_path = hidden_folder.resolve()
    if hidden_path == release_path or release_path in hidden_path.parents:
        raise BadInput(f"{hidden_folder}: hidden answers inside the release would be published with it")
    if hidden_folder.exists() and not hidden_folder.is_dir():
        raise BadInput(f"{hidden_folder}: a file; hidden answers go into a folder: --hidden")
    return hidden_folder


def _check_replaceable_labels(hidden_folder: Path, belongs: Mapping[str, object], folder: Path) -> None:
    """Raise BadInput if hidden labels of another release would be lost.

    Labels of the release that is in `folder` now, and is replaced, may be overwritten, and so may labels of the same
    release. `belongs` has the values of the keys `BELONGS` for the new release.
    """
    if not hidden_folder.exists() or not any(hidden_folder.iterdir()):
        return
    stored = hidden.labels_of(hidden_folder)
    replaced: Mapping[str, object] = {}
    if (folder / manifest.MANIFEST).is_file():
        replaced = manifest.read_manifest(folder)
    is_ours = _has_same_identity(stored, belongs)
    is_replaced = _has_same_identity(stored, replaced)
    if not is_ours and not is_replaced:
        owner = f"{stored.get('name')} {stored.get('version')}"
        raise BadInput(
            f"{hidden_folder}: has the answers of another release ({owner}); remove it, or choose another --hidden"
        )


def _has_same_identity(first: Mapping[str, object], second: Mapping[str, object]) -> bool:
    """Whether two releases have the same name, version, content hash and commitment."""
    return all(first.get(key) == second.get(key) for key in BELONGS)


def _list_earlier_files(folder: Path) -> set[str]:
    """Return the files of an earlier release in the same folder.

    They are those in its manifest. Empty for a new folder. Raises BadInput if the folder has anything else.
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
    """Return the content of each file of problems, by its name.

    The content hash of a release is made from it.
    """
    return {name: json_rows(_make_rows(contents, name)).encode() for name in contents.files}


def _make_rows(contents: ReleaseContents, name: str) -> list[manifest.Row]:
    """Return the rows of a file of problems.

    Rows of the test have no answers. Only rows of training files state whether a problem was kept or removed.
    """
    problems = contents.files[name]
    if name == manifest.TEST:
        return list(map(manifest.hidden_row_of, problems))
    if name.startswith(manifest.TRAIN):
        return [manifest.row_of(problem, contents.status(problem)) for problem in problems]
    return [manifest.row_of(problem, None) for problem in problems]


def _make_files(contents: ReleaseContents, facts: CardFacts, problem_files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the content of a release's files, by path.

    Lineage and manifest are not among them. `problem_files` has the content of the files of problems
    (`_make_problem_files`).
    """
    files: dict[str, bytes] = {}
    tables: dict[str, bytes] = {}
    for name, data in contents.files.items():
        rows = _make_rows(contents, name)
        files[manifest.problems_path(name)] = problem_files[name]
        if name != manifest.TEST:
            labels = "".join(f"{row['answer']}\n" for row in rows)
            files[f"winogrande/{name}-labels.lst"] = labels.encode()
        table_rows = []
        for problem, row in zip(data, rows, strict=True):
            table_rows.append({"status": contents.status(problem), **row})
        tables[name] = parquet_bytes(table_rows)
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
    """Return the content of the manifest, without hashes of its files.

    `hashes` has the sha256 of each public file of problems. If they covered the test's answers, somebody could try
    all answers of a short test until the hash fits.
    """
    settings = facts.settings
    formalizations = {"fine_tuned": settings.formalization, "causal": scoring_of(contents.files[manifest.DEV])}
    problem_counts = {name: len(data) for name, data in contents.files.items()}
    group_counts = {name: len(data.groups) for name, data in contents.shown.items()}
    sizes = {name.removeprefix("train_"): len(data) for name, data in contents.sizes.items()}
    content: dict[str, Any] = {
        "name": settings.name,
        "version": settings.version,
        "licence": facts.licence,
        "language": languages_of(contents.training.languages),
        "date": settings.date,
        "winokit": winokit.__version__,
        "seed": settings.seed,
        "settings": settings.to_json(),
        "formalization": formalizations,
        "counts": problem_counts,
        "groups": group_counts,
        "sizes": sizes,
        "left_out": contents.left_out,
        "content_hashes": dict(hashes),
        "content_hash": manifest.content_hash(hashes),
    }
    if facts.revealed:
        content["revealed"] = _make_revealed_rows(facts)
    return content


def _make_revealed_rows(facts: CardFacts) -> list[dict[str, Any]]:
    """Return the number of revealed problems of each other release.

    Those are published on purpose.
    """
    return [{"release": disclosure.test.release, "problems": len(disclosure)} for disclosure in facts.revealed]


MASKING = ("mc-mlm", "p-span")
"""Formalizations that need a blank: one masks it, the other looks for the candidates around it."""
COUNTS = ("problems", "kept", "removed", "groups", "single")


def warnings(release: Release) -> Iterator[str]:
    """Yield warnings on licence, repetitions across splits, and predictable answers."""
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
    """Yield the lines to print: a table of the files, and the folders."""
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
    """Count problems and groups in each file, by the names in `COUNTS`."""
    splits = {}
    for name, data in release.contents.shown.items():
        kept_count = release.contents.count_kept(data)
        grouped_count = sum(map(len, data.groups.values()))
        splits[name] = {
            "problems": len(data),
            "kept": kept_count,
            "removed": len(data) - kept_count,
            "groups": len(data.groups),
            "single": len(data) - grouped_count,
        }
    return splits


def as_json(release: Release) -> dict[str, Any]:
    """Return the summary of a release as JSON-ready values."""
    contents = release.contents
    facts = release.facts
    settings = facts.settings
    crossings = [asdict(crossing) for crossing in facts.crossings]
    leaks_by_file = {name: list(map(asdict, leaks)) for name, leaks in facts.leaks.items()}
    return {
        "name": settings.name,
        "version": settings.version,
        "licence": facts.licence,
        "language": languages_of(contents.training.languages),
        "seed": settings.seed,
        "splits": _count_splits(release),
        "left_out": contents.left_out,
        "crossings": crossings,
        "leaks": leaks_by_file,
        "test_leaks": bool(facts.test_leaks),
        "revealed": _make_revealed_rows(facts),
        "notes": [*release.notes, *warnings(release)],
        "out": str(release.folder),
        "hidden": str(release.hidden) if release.hidden else None,
        "page": str(release.page) if release.page else None,
    }
