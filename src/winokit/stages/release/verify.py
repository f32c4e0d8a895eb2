"""`winokit verify`: whether a release is unchanged, and sound as any release should be.

Files are held to the manifest. Then, whatever the manifest says: splits apart, sizes nested, answers hidden, ids true.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import Annotated, Any

from winokit.data.checks.checkup import Finding
from winokit.data.checks.groups import find_groups
from winokit.data.formats.source import Source
from winokit.data.formats.winogrande import labels_path
from winokit.drawing.tables import dim, styled
from winokit.drawing.wording import plural
from winokit.errors import BadInput, refusing
from winokit.files import OWNER_ONLY
from winokit.problem import Dataset, Problem, grouped
from winokit.settings import Help, verb
from winokit.stages.release import manifest
from winokit.stages.release.hidden import hidden_folder, json_lines, read_hidden

SILENT = frozenset("id qID sentence option1 option2 pronoun language split status why since until".split())
"""What may be said of a test problem; an answer may be given away under any other name."""
EXAMPLES = 5
Splits = dict[str, Dataset]


@dataclass(frozen=True)
class Verification:
    """Faults of a release, and a few facts about it."""

    folder: Path
    files: int
    """Files in the manifest."""
    findings: tuple[Finding, ...]
    """Those that warn are faults."""


@verb
def verify(
    release: Annotated[Path, Help("A folder of winokit release.", "DIR", shown=False)],
    *,
    hidden: Annotated[
        Path | None, Help("The folder of hidden labels. Default: DIR.hidden, where there is one.")
    ] = None,
) -> Verification:
    """Verify a release: its files by their hashes, and what must hold of any release.

    No twin crosses splits, sizes are nested, test answers are nowhere, ids are those of their texts, counts agree.
    The command's exit code is 1 if anything is wrong.
    """
    release_manifest = manifest.read_manifest(release)
    splits, unread = _read_splits(release)
    trained: dict[str, Problem] = {}
    for name, part in splits.items():
        if name.startswith(manifest.TRAIN):
            trained |= {_get_public_id(problem): problem for problem in part}
    sides = {manifest.TRAIN: Dataset(trained.values())}
    for name in (manifest.DEV, manifest.TEST):
        if name in splits:
            sides[name] = splits[name]
    findings = (
        *_check_files(release, release_manifest["files"]),
        *_check_content(release, release_manifest),
        *unread,
        *_check_crossings(sides),
        *_check_sizes(splits),
        *_check_ids(splits),
        *_check_answers(release, splits.get(manifest.TEST, ())),
        *_check_counts(release, splits, release_manifest.get("counts")),
        *_check_lineage(release / manifest.LINEAGE, sides),
        *_check_hidden(release, hidden),
    )
    return Verification(release, len(release_manifest["files"]), findings)


def lines(result: Verification) -> Iterator[Any]:
    """Each finding with its examples, and whether anything is wrong."""
    for finding in result.findings:
        mark = ("!", "red") if finding.warns else ("·", "green")
        yield styled(mark, f" {finding.dataset}: {finding.message}")
        yield from (dim(f"    {example}") for example in finding.examples)
    faults = sum(finding.warns for finding in result.findings)
    files = plural(result.files, "file")
    outcome = f"{files}, {plural(faults, 'finding')}" if faults else f"{files} verified"
    yield f"{result.folder}: {outcome}"


def as_json(result: Verification) -> list[dict[str, Any]]:
    """The findings."""
    return [finding.to_json() for finding in result.findings]


def code(result: Verification) -> int:
    """Return 1 if anything is wrong, else 0."""
    return int(any(finding.warns for finding in result.findings))


def _report_fault(where: str, check: str, message: str) -> Finding:
    return Finding(where, check, True, message, 1)


def _report_cases(where: str, check: str, what: str, cases: Sequence[str], warns: bool = True) -> Iterator[Finding]:
    """Yield a finding with the number of cases and the first few, if there are any."""
    if cases:
        yield Finding(where, check, warns, f"{len(cases):,} {what}", len(cases), tuple(cases[:EXAMPLES]))


def _check_files(folder: Path, listed: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield files that are missing, changed, or not in the manifest."""
    present = set(manifest.file_names(folder))
    for name in sorted(listed.keys() - present):
        yield _report_fault(name, "files", "missing: in the manifest, but not in the folder")
    for name in sorted(present - listed.keys()):
        yield _report_fault(name, "files", "extra: in the folder, but not in the manifest")
    for name in sorted(present & listed.keys()):
        if (folder / name).is_symlink():
            yield _report_fault(name, "files", "a link: a release must contain its files")
            continue
        actual = manifest.described(folder / name)
        if actual != listed[name]:
            yield _report_fault(name, "files", _explain_change(actual, listed[name]))


def _explain_change(actual: Mapping[str, Any], listed: Any) -> str:
    """How a file differs from its entry in the manifest."""
    if not isinstance(listed, dict) or not {"sha256", "bytes"} <= listed.keys():
        return "the manifest has no hash and size of it"
    if actual["bytes"] != listed["bytes"]:
        return f"changed: {actual['bytes']:,} bytes, the manifest has {listed['bytes']:,}"
    return "changed: the same size as in the manifest, but different content"


def _check_content(folder: Path, about: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding if the problems do not have the manifest's content_hash.

    Hidden labels know their release by this hash.
    """
    hashes = {}
    for name in manifest.FILES:
        path = folder / manifest.problems_path(name)
        if path.is_file():
            hashes[name] = manifest.described(path)["sha256"]
    actual_hash = manifest.content_hash(hashes)
    if about.get("content_hash", actual_hash) != actual_hash:
        yield _report_fault(manifest.MANIFEST, "files", "its content_hash is not that of the problems in the folder")


def _read_splits(folder: Path) -> tuple[Splits, list[Finding]]:
    """The problems of every file under winogrande/, by its name, and the files that cannot be read."""
    splits: Splits = {}
    unread = []
    for path in sorted(folder.glob(manifest.problems_path("*"))):
        try:
            source = Source(path)
            splits[path.stem] = Dataset(source.each(source.json_lines(), _parse_row))
        except BadInput as error:
            unread.append(_report_fault(manifest.problems_path(path.stem), "files", f"cannot be read: {error}"))
    counts = manifest.read_manifest(folder).get("counts")
    if manifest.TEST not in splits and (not isinstance(counts, dict) or manifest.TEST in counts):
        unread.append(Finding(manifest.problems_path(manifest.TEST), "files", True, "no test that can be read", 0))
    return splits, unread


def _parse_row(row: Mapping[str, Any]) -> Problem:
    """The problem of a row, with the row's qID as its provenance."""
    return manifest.problem_of(row).replace(provenance={"qID": row.get("qID") or ""})


def _get_public_ids(problems: Iterable[Problem]) -> set[str]:
    """The ids that problems are released under."""
    return {_get_public_id(problem) for problem in problems}


def _get_public_id(problem: Problem) -> str:
    """The id a problem is released under: the end of its qID."""
    return str(problem.provenance["qID"]).rpartition("-")[2]


def _check_crossings(sides: Splits) -> Iterator[Finding]:
    """Yield problems and twins that are in two of train, dev and test."""
    ids = {name: _get_public_ids(part) for name, part in sides.items()}
    for one, other in combinations(sides, 2):
        shared = sorted(ids[one] & ids[other])
        yield from _report_cases(f"{one} and {other}", "splits", "problems are in both", shared)
    problems: list[Problem] = []
    split_of_row: list[str] = []
    for name, part in sides.items():
        problems += part
        split_of_row += [name] * len(part)

    def crosses(rows: Iterable[int]) -> bool:
        return len({split_of_row[row] for row in rows}) > 1

    def show_rows(rows: Iterable[int]) -> str:
        return " / ".join(f"{split_of_row[row]} {_get_public_id(problems[row])}" for row in rows)

    rows_by_group = grouped((problem.group, row) for row, problem in enumerate(problems) if problem.group is not None)
    named_twins = [tuple(rows) for rows in rows_by_group.values() if crosses(rows)]
    sure_twins: list[tuple[int, ...]] = []
    possible_twins: list[tuple[int, ...]] = []
    for rows in map(tuple, find_groups(problems).groups):
        if crosses(rows) and rows not in named_twins:
            are_answered = all(problems[row].answer is not None for row in rows)
            (sure_twins if are_answered else possible_twins).append(rows)
    yield from _report_cases("splits", "twins", "groups of twins cross splits", [*map(show_rows, named_twins)])
    what = "pairs of problems in different splits are twins, by their texts"
    yield from _report_cases("splits", "twins", what, [*map(show_rows, sure_twins)])
    what = "pairs of problems in different splits may be twins, by their texts; one has no public answer"
    yield from _report_cases("splits", "twins", what, [*map(show_rows, possible_twins)], warns=False)


def _check_sizes(splits: Splits) -> Iterator[Finding]:
    """Yield sizes that are not inside the next size, and groups that a size splits."""
    sizes = [name for name in manifest.TRAINS if name in splits]
    missing = [name for name in manifest.TRAINS if name not in splits]
    if missing:
        yield Finding("winogrande", "sizes", False, f"no {', '.join(missing)}", len(missing))
    ids = {name: _get_public_ids(splits[name]) for name in sizes}
    for small, large in pairwise(sizes):
        yield from _report_cases(small, "sizes", f"of its problems are not in {large}", sorted(ids[small] - ids[large]))
    if not sizes:
        return
    whole = splits[sizes[-1]].groups
    for name in sizes[:-1]:
        inside = splits[name].groups
        cut = sorted(group for group, members in inside.items() if len(members) < len(whole.get(group, ())))
        yield from _report_cases(name, "sizes", "groups have only some of their members in it", cut)


def _check_ids(splits: Splits) -> Iterator[Finding]:
    """Yield ids at the end of a qID that are not those of their text."""
    for name, part in splits.items():
        wrong_ids = []
        for problem in part:
            public_id = _get_public_id(problem)
            if public_id.partition(".")[0] != problem.id.partition(".")[0]:
                wrong_ids.append(public_id)
        yield from _report_cases(name, "ids", "ids are not those of their texts", wrong_ids)
        repeated_count = len(part) - len(_get_public_ids(part))
        if repeated_count:
            yield Finding(name, "ids", True, f"{repeated_count:,} ids occur more than once", repeated_count)


def _check_answers(folder: Path, test: Sequence[Problem]) -> Iterator[Finding]:
    """Yield files that give test answers away."""
    ids = _get_public_ids(test)
    public = {f"winogrande/{name}-labels.lst" for name in manifest.FILES if name != manifest.TEST}
    for name in manifest.file_names(folder):
        if name.endswith(".lst") and name not in public:
            yield Finding(name, "answers", True, "labels of no public problems: those of the test?", len(ids))
        try:
            given = [key for key in _find_answered_ids(folder / name) if key in ids]
        except BadInput as error:
            yield _report_fault(name, "files", f"cannot be read: {error}")
        except ImportError:
            yield Finding(name, "answers", False, "not checked: pip install 'winokit[release]'", 0)
        else:
            if given:
                message = f"the answers of {len(set(given)):,} test problems are public"
                yield Finding(name, "answers", True, message, len(given), tuple(given[:EXAMPLES]))


def _find_answered_ids(path: Path) -> Iterator[str]:
    """Yield the ids of rows with an answer in a file of JSON or Parquet."""
    rows = _read_table_rows(path) if path.suffix == ".parquet" else []
    if path.suffix in (".jsonl", ".json") and path.is_file():
        text = path.read_text("utf-8", "replace")
        rows = json_lines(text if path.suffix == ".jsonl" else text.replace("\n", " "))
    while rows:
        row = rows.pop()
        if isinstance(row, dict):
            yield from _find_ids_in_object(row)
            rows += row.values()
        elif isinstance(row, list):
            rows += row


def _find_ids_in_object(row: Mapping[str, Any]) -> Iterator[str]:
    """The ids that a JSON object may give an answer for: its own if it has an answer, and its keys."""
    if any(row[key] not in (None, "", -1) for key in row.keys() - SILENT):
        for key in ("id", "qID"):
            if row.get(key):
                yield str(row[key]).rpartition("-")[2]
    for key, value in row.items():
        if isinstance(value, int | str):
            yield key.rpartition("-")[2]


def _read_table_rows(path: Path) -> list[Any]:
    from pyarrow import ArrowException, parquet

    with refusing("not a table", ArrowException, OSError):
        names = [name for name in parquet.read_schema(path).names if name not in SILENT or name in ("id", "qID")]
        return parquet.read_table(path, columns=names).to_pylist()  # type: ignore[no-any-return]


def _check_counts(folder: Path, splits: Splits, counts: Any) -> Iterator[Finding]:
    """Yield counts and label files that contradict the problems."""
    stated_counts = counts if isinstance(counts, dict) else {}
    for name, count in stated_counts.items():
        if name in splits and isinstance(count, int) and count != len(splits[name]):
            message = f"{len(splits[name]):,} problems, {manifest.MANIFEST} says {count:,}"
            yield Finding(name, "counts", True, message, abs(count - len(splits[name])))
    for name, part in splits.items():
        labels = labels_path(folder / manifest.problems_path(name))
        if name != manifest.TEST and labels.is_file():
            yield from _check_labels(labels, name, part)


def _check_labels(path: Path, name: str, part: Dataset) -> Iterator[Finding]:
    """Yield differences between a file of labels and the answers of its problems."""
    labels = path.read_text("utf-8", "replace").split()
    answers = [str(problem.answer + 1) for problem in part if problem.answer is not None]
    if len(labels) != len(part):
        yield _report_fault(path.name, "counts", f"{len(labels):,} labels for {len(part):,} problems")
    elif len(answers) == len(part) and answers != labels:
        differing = sum(answer != label for answer, label in zip(answers, labels, strict=True))
        message = f"{differing:,} labels are not the answers of {name}.jsonl"
        yield Finding(path.name, "counts", True, message, differing)


def _check_lineage(path: Path, sides: Splits) -> Iterator[Finding]:
    """Yield problems that lineage.jsonl places in another split."""
    if not path.exists():
        return
    try:
        rows = {row["id"]: row for row in manifest.read_lineage(path)}
    except BadInput as error:
        yield _report_fault(path.name, "files", f"cannot be read: {error}")
        return
    for name in manifest.SPLITS:
        there = _get_public_ids(sides.get(name, ()))
        placed = {key for key, row in rows.items() if row["split"] == name and row["status"] != manifest.RETIRED}
        yield from _report_cases(
            path.name, "counts", f"problems of {name} are not in it as such", sorted(there - placed)
        )
        yield from _report_cases(
            path.name, "counts", f"problems it places in {name} are not there", sorted(placed - there)
        )


def _check_hidden(folder: Path, hidden: Path | None) -> Iterator[Finding]:
    """Yield findings on the hidden labels, if they are there.

    They must belong to this release, and be readable by their owner alone.
    """
    place = hidden or hidden_folder(folder)
    if not place.exists():
        if hidden is not None:
            raise BadInput(f"{hidden}: no such folder")
        return
    try:
        labels = read_hidden(folder, place)
    except BadInput as error:
        yield _report_fault(place.name, "hidden", str(error))
        return
    open_files = []
    for path in sorted(place.rglob("*")):
        if path.is_file() and path.stat().st_mode & 0o077:
            open_files.append(path.name)
    message = f"files of hidden labels can be read by others: chmod {OWNER_ONLY:o}"
    yield from _report_cases(place.name, "hidden", message, open_files)
    message = f"the hidden labels of {len(labels):,} test problems match the release"
    yield Finding(place.name, "hidden", False, message, 0)
