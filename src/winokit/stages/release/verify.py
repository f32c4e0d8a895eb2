"""`winokit verify`: whether a release is as it was made, and as any release should be.

Files are held to the manifest. Then, whatever the manifest says: splits apart, sizes nested, answers hidden, ids true.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    """Everything that is wrong with a release, and a little that is worth knowing."""

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
    about = manifest.read_manifest(release)
    splits, unread = _read_splits(release)
    trained = {_public_id(p): p for name, part in splits.items() if name.startswith(manifest.TRAIN) for p in part}
    sides = {manifest.TRAIN: Dataset(trained.values())} | {
        name: splits[name] for name in (manifest.DEV, manifest.TEST) if name in splits
    }
    findings = (
        *_changed_files(release, about["files"]),
        *_content(release, about),
        *unread,
        *_crossing(sides),
        *_nested(splits),
        *_ids(splits),
        *_answers(release, splits.get(manifest.TEST, ())),
        *_counts(release, splits, about.get("counts")),
        *_lineage(release / manifest.LINEAGE, sides),
        *_hidden(release, hidden),
    )
    return Verification(release, len(about["files"]), findings)


def lines(result: Verification) -> Iterator[Any]:
    """Each finding with its examples, and whether anything is wrong."""
    for finding in result.findings:
        yield styled(("!", "red") if finding.warns else ("·", "green"), f" {finding.dataset}: {finding.message}")
        yield from (dim(f"    {example}") for example in finding.examples)
    faults = sum(finding.warns for finding in result.findings)
    files = plural(result.files, "file")
    yield f"{result.folder}: {files}, {plural(faults, 'finding')}" if faults else f"{result.folder}: {files} verified"


def as_json(result: Verification) -> list[dict[str, Any]]:
    """The findings."""
    return [finding.to_json() for finding in result.findings]


def code(result: Verification) -> int:
    """1 where something is wrong."""
    return int(any(finding.warns for finding in result.findings))


def _finding(where: str, check: str, message: str) -> Finding:
    return Finding(where, check, True, message, 1)


def _some(where: str, check: str, what: str, cases: Sequence[str], warns: bool = True) -> Iterator[Finding]:
    """How many there are of what should not be, with the first few; nothing where there is none."""
    if cases:
        yield Finding(where, check, warns, f"{len(cases):,} {what}", len(cases), tuple(cases[:EXAMPLES]))


def _changed_files(folder: Path, listed: Mapping[str, Any]) -> Iterator[Finding]:
    """Files that are missing, changed or not the manifest's."""
    present = set(manifest.file_names(folder))
    for name in sorted(listed.keys() - present):
        yield _finding(name, "files", "missing: in the manifest, but not in the folder")
    for name in sorted(present - listed.keys()):
        yield _finding(name, "files", "extra: in the folder, but not in the manifest")
    for name in sorted(present & listed.keys()):
        if (folder / name).is_symlink():
            yield _finding(name, "files", "a link: a release must contain its files")
        elif (now := manifest.described(folder / name)) != (then := listed[name]):
            changed = "changed: the same size as in the manifest, but different content"
            if not isinstance(then, dict) or not {"sha256", "bytes"} <= then.keys():
                changed = "the manifest has no hash and size of it"
            elif now["bytes"] != then["bytes"]:
                changed = f"changed: {now['bytes']:,} bytes, the manifest has {then['bytes']:,}"
            yield _finding(name, "files", changed)


def _content(folder: Path, about: Mapping[str, Any]) -> Iterator[Finding]:
    """Problems that are not those of the manifest's content_hash, by which hidden labels know their release."""
    files = {name: folder / manifest.problems_path(name) for name in manifest.FILES}
    hashes = {name: manifest.described(path)["sha256"] for name, path in files.items() if path.is_file()}
    if about.get("content_hash", own := manifest.content_hash(hashes)) != own:
        yield _finding(manifest.MANIFEST, "files", "its content_hash is not that of the problems in the folder")


def _read_splits(folder: Path) -> tuple[Splits, list[Finding]]:
    """The problems of every file under winogrande/, by its name, and the files that cannot be read."""
    splits: Splits = {}
    unread = []
    for path in sorted(folder.glob(manifest.problems_path("*"))):
        try:
            source = Source(path)
            # The problem of a row, with the qID it stands under.
            problems = source.each(
                source.json_lines(),
                lambda row: manifest.problem_of(row).replace(provenance={"qID": row.get("qID") or ""}),
            )
            splits[path.stem] = Dataset(problems)
        except BadInput as error:
            unread.append(_finding(manifest.problems_path(path.stem), "files", f"cannot be read: {error}"))
    counts = manifest.read_manifest(folder).get("counts")
    if manifest.TEST not in splits and (not isinstance(counts, dict) or manifest.TEST in counts):
        unread.append(Finding(manifest.problems_path(manifest.TEST), "files", True, "no test that can be read", 0))
    return splits, unread


def _public_id(problem: Problem) -> str:
    """The id a problem is released under: the end of its qID."""
    return str(problem.provenance["qID"]).rpartition("-")[2]


def _crossing(sides: Splits) -> Iterator[Finding]:
    """Problems, and twins, that stand in two of train, dev and test."""
    ids = {name: {_public_id(p) for p in part} for name, part in sides.items()}
    for one, other in combinations(sides, 2):
        shared = sorted(ids[one] & ids[other])
        yield from _some(f"{one} and {other}", "splits", "problems are in both", shared)
    place = [name for name, part in sides.items() for _ in part]
    problems = [p for part in sides.values() for p in part]
    named = grouped((problem.group, row) for row, problem in enumerate(problems) if problem.group is not None)
    crossed = [rows for rows in named.values() if len({place[row] for row in rows}) > 1]
    alike = [rows for rows in find_groups(problems).groups if len({place[row] for row in rows}) > 1]
    named_too = {tuple(rows) for rows in crossed}
    sure = [rows for rows in alike if rows not in named_too and all(problems[row].answer is not None for row in rows)]
    unsure = [rows for rows in alike if rows not in named_too and rows not in sure]
    for rows_of, warns, what in (
        (crossed, True, "groups of twins cross splits"),
        (sure, True, "pairs of problems in different splits are twins, by their texts"),
        (unsure, False, "pairs of problems in different splits may be twins, by their texts; one has no public answer"),
    ):
        shown = [" / ".join(f"{place[row]} {_public_id(problems[row])}" for row in rows) for rows in rows_of]
        yield from _some("splits", "twins", what, shown, warns)


def _nested(splits: Splits) -> Iterator[Finding]:
    """Each size inside the next, and no group cut in two by a size."""
    sizes = [name for name in manifest.TRAINS if name in splits]
    missing = [name for name in manifest.TRAINS if name not in splits]
    if missing:
        yield Finding("winogrande", "sizes", False, f"no {', '.join(missing)}", len(missing))
    ids = {name: {_public_id(p) for p in splits[name]} for name in sizes}
    for small, large in pairwise(sizes):
        yield from _some(small, "sizes", f"of its problems are not in {large}", sorted(ids[small] - ids[large]))
    if not sizes:
        return
    whole = splits[sizes[-1]].groups
    for name in sizes[:-1]:
        inside = splits[name].groups
        cut = sorted(group for group, members in inside.items() if len(members) < len(whole.get(group, ())))
        yield from _some(name, "sizes", "groups have only some of their members in it", cut)


def _ids(splits: Splits) -> Iterator[Finding]:
    """The id at the end of a qID must be that of the text: it names the problem and tells nothing else."""
    for name, part in splits.items():
        wrong = [_public_id(p) for p in part if _public_id(p).partition(".")[0] != p.id.partition(".")[0]]
        yield from _some(name, "ids", "ids are not those of their texts", wrong)
        twice = len(part) - len({_public_id(p) for p in part})
        if twice:
            yield Finding(name, "ids", True, f"{twice:,} ids occur more than once", twice)


def _answers(folder: Path, test: Sequence[Problem]) -> Iterator[Finding]:
    """No file of the folder may give a test answer."""
    ids = {_public_id(p) for p in test}
    public = {f"winogrande/{name}-labels.lst" for name in manifest.FILES if name != manifest.TEST}
    for name in manifest.file_names(folder):
        if name.endswith(".lst") and name not in public:
            yield Finding(name, "answers", True, "labels of no public problems: those of the test?", len(ids))
        try:
            given = [key for key in _answered(folder / name) if key in ids]
        except BadInput as error:
            yield _finding(name, "files", f"cannot be read: {error}")
        except ImportError:
            yield Finding(name, "answers", False, "not checked: pip install 'winokit[release]'", 0)
        else:
            if given:
                message = f"the answers of {len(set(given)):,} test problems are public"
                yield Finding(name, "answers", True, message, len(given), tuple(given[:EXAMPLES]))


def _answered(path: Path) -> Iterator[str]:
    """The ids of the rows of a file, JSON or Parquet, that have an answer."""
    rows = _table_rows(path) if path.suffix == ".parquet" else []
    if path.suffix in (".jsonl", ".json") and path.is_file():
        text = path.read_text("utf-8", "replace")
        rows = json_lines(text if path.suffix == ".jsonl" else text.replace("\n", " "))
    while rows:
        row = rows.pop()
        if isinstance(row, dict):
            if any(row[key] not in (None, "", -1) for key in row.keys() - SILENT):
                yield from (str(row[key]).rpartition("-")[2] for key in ("id", "qID") if row.get(key))
            yield from (key.rpartition("-")[2] for key, value in row.items() if isinstance(value, int | str))
        if isinstance(row, list | dict):
            rows += row.values() if isinstance(row, dict) else row


def _table_rows(path: Path) -> list[Any]:
    from pyarrow import ArrowException, parquet

    with refusing("not a table", ArrowException, OSError):
        names = [name for name in parquet.read_schema(path).names if name not in SILENT or name in ("id", "qID")]
        return parquet.read_table(path, columns=names).to_pylist()  # type: ignore[no-any-return]


def _counts(folder: Path, splits: Splits, counts: Any) -> Iterator[Finding]:
    """The same number of problems, and the same answers, wherever they are said."""
    for name, count in (counts if isinstance(counts, dict) else {}).items():
        if name in splits and isinstance(count, int) and count != len(splits[name]):
            message = f"{len(splits[name]):,} problems, {manifest.MANIFEST} says {count:,}"
            yield Finding(name, "counts", True, message, abs(count - len(splits[name])))
    for name, part in splits.items():
        labels = labels_path(folder / manifest.problems_path(name))
        if name == manifest.TEST or not labels.is_file():
            continue
        listed = labels.read_text("utf-8", "replace").split()
        answers = [str(p.answer + 1) for p in part if p.answer is not None]
        if len(listed) != len(part):
            yield _finding(labels.name, "counts", f"{len(listed):,} labels for {len(part):,} problems")
        elif len(answers) == len(part) and answers != listed:
            differ = sum(a != b for a, b in zip(answers, listed, strict=True))
            yield Finding(labels.name, "counts", True, f"{differ:,} labels are not the answers of {name}.jsonl", differ)


def _lineage(path: Path, sides: Splits) -> Iterator[Finding]:
    """lineage.jsonl must place every problem in the split it stands in."""
    if not path.exists():
        return
    try:
        rows = {row["id"]: row for row in manifest.read_lineage(path)}
    except BadInput as error:
        yield _finding(path.name, "files", f"cannot be read: {error}")
        return
    for name in manifest.SPLITS:
        there = {_public_id(p) for p in sides.get(name, ())}
        placed = {key for key, row in rows.items() if row["split"] == name and row["status"] != manifest.RETIRED}
        yield from _some(path.name, "counts", f"problems of {name} are not in it as such", sorted(there - placed))
        yield from _some(path.name, "counts", f"problems it places in {name} are not there", sorted(placed - there))


def _hidden(folder: Path, hidden: Path | None) -> Iterator[Finding]:
    """The hidden labels, where they are at hand: of this release, and readable by their owner alone."""
    place = hidden or hidden_folder(folder)
    if not place.exists():
        if hidden is not None:
            raise BadInput(f"{hidden}: no such folder")
        return
    try:
        labels = read_hidden(folder, place)
    except BadInput as error:
        yield _finding(place.name, "hidden", str(error))
        return
    open_files = [path.name for path in sorted(place.rglob("*")) if path.is_file() and path.stat().st_mode & 0o077]
    message = f"files of hidden labels can be read by others: chmod {OWNER_ONLY:o}"
    yield from _some(place.name, "hidden", message, open_files)
    message = f"the hidden labels of {len(labels):,} test problems match the release"
    yield Finding(place.name, "hidden", False, message, 0)
