"""`winokit verify`: whether a release is unchanged, and has the properties of a sound release.

Files are compared with the manifest. Then, whatever the manifest states, the problems are checked: no problem or twin
is in two splits, every training size contains the smaller ones, no test answer is public, ids fit their texts.
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
"""Keys of a test problem that reveal no answer. A value under any other key may be one."""
EXAMPLES = 5
"""The most examples that a finding shows."""
Splits = dict[str, Dataset]
"""Problems by the name of their file (train_xs, …, dev, test), or by split (train, dev, test)."""


@dataclass(frozen=True)
class Verification:
    """The result of verifying a release."""

    folder: Path
    files: int
    """Number of files in the manifest."""
    findings: tuple[Finding, ...]
    """Faults (findings that warn), and a few facts."""


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
    listed_files = release_manifest["files"]
    problems_by_file, unreadable = _read_files(release)
    splits = _join_training(problems_by_file)
    test = problems_by_file.get(manifest.TEST, ())
    findings = (
        *_check_files(release, listed_files),
        *_check_content(release, release_manifest),
        *unreadable,
        *_check_crossings(splits),
        *_check_sizes(problems_by_file),
        *_check_ids(problems_by_file),
        *_check_answers(release, test),
        *_check_counts(release, problems_by_file, release_manifest.get("counts")),
        *_check_lineage(release / manifest.LINEAGE, splits),
        *_check_hidden(release, hidden),
    )
    return Verification(release, len(listed_files), findings)


def _join_training(problems_by_file: Splits) -> Splits:
    """Return the problems of train, dev and test, each training problem once.

    Dev and test are left out if they have no file.
    """
    training: dict[str, Problem] = {}
    for name, problems in problems_by_file.items():
        if name.startswith(manifest.TRAIN):
            training |= {_get_public_id(problem): problem for problem in problems}
    splits = {manifest.TRAIN: Dataset(training.values())}
    for name in (manifest.DEV, manifest.TEST):
        if name in problems_by_file:
            splits[name] = problems_by_file[name]
    return splits


def lines(result: Verification) -> Iterator[Any]:
    """Yield the lines to print: findings with examples, then the outcome."""
    for finding in result.findings:
        mark = ("!", "red") if finding.warns else ("·", "green")
        yield styled(mark, f" {finding.dataset}: {finding.message}")
        yield from (dim(f"    {example}") for example in finding.examples)
    faults = sum(finding.warns for finding in result.findings)
    files = plural(result.files, "file")
    outcome = f"{files}, {plural(faults, 'finding')}" if faults else f"{files} verified"
    yield f"{result.folder}: {outcome}"


def as_json(result: Verification) -> list[dict[str, Any]]:
    """Return the findings as JSON-ready values."""
    return [finding.to_json() for finding in result.findings]


def code(result: Verification) -> int:
    """Return the exit code: 1 if anything is wrong, else 0."""
    return int(any(finding.warns for finding in result.findings))


def _report_fault(where: str, check: str, message: str) -> Finding:
    """Return a finding on a single fault in a file or split."""
    return Finding(where, check, True, message, 1)


def _report_cases(where: str, check: str, what: str, cases: Sequence[str], warns: bool = True) -> Iterator[Finding]:
    """Yield a finding on a number of cases, with a few examples.

    Without cases there is none. `where` is the file or split, `what` follows the number of cases in the message.
    """
    if cases:
        message = f"{len(cases):,} {what}"
        yield Finding(where, check, warns, message, len(cases), tuple(cases[:EXAMPLES]))


def _check_files(folder: Path, listed: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield findings on files that are missing, changed, or not listed.

    `listed` has the sha256 and size of each file in the manifest.
    """
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
    """Return a message on how a file differs from the manifest.

    `actual` has its sha256 and size, `listed` those in the manifest.
    """
    if not isinstance(listed, dict) or not {"sha256", "bytes"} <= listed.keys():
        return "the manifest has no hash and size of it"
    if actual["bytes"] != listed["bytes"]:
        return f"changed: {actual['bytes']:,} bytes, the manifest has {listed['bytes']:,}"
    return "changed: the same size as in the manifest, but different content"


def _check_content(folder: Path, about: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield a finding if the content hash of the problems is wrong.

    By this hash, hidden labels identify their release. `about` is the manifest.
    """
    hashes = {}
    for name in manifest.FILES:
        path = folder / manifest.problems_path(name)
        if path.is_file():
            hashes[name] = manifest.described(path)["sha256"]
    actual_hash = manifest.content_hash(hashes)
    if about.get("content_hash", actual_hash) != actual_hash:
        yield _report_fault(manifest.MANIFEST, "files", "its content_hash is not that of the problems in the folder")


def _read_files(folder: Path) -> tuple[Splits, list[Finding]]:
    """Read the problems of each file under winogrande/.

    Returns them by the name of the file, and a finding for each file that cannot be read.
    """
    problems_by_file: Splits = {}
    findings = []
    for path in sorted(folder.glob(manifest.problems_path("*"))):
        try:
            source = Source(path)
            problems_by_file[path.stem] = Dataset(source.each(source.json_lines(), _parse_row))
        except BadInput as error:
            findings.append(_report_fault(manifest.problems_path(path.stem), "files", f"cannot be read: {error}"))
    counts = manifest.read_manifest(folder).get("counts")
    should_have_test = not isinstance(counts, dict) or manifest.TEST in counts
    if should_have_test and manifest.TEST not in problems_by_file:
        findings.append(Finding(manifest.problems_path(manifest.TEST), "files", True, "no test that can be read", 0))
    return problems_by_file, findings


def _parse_row(row: Mapping[str, Any]) -> Problem:
    """Return the problem of a row, with the qID as provenance."""
    return manifest.problem_of(row).replace(provenance={"qID": row.get("qID") or ""})


def _get_public_ids(problems: Iterable[Problem]) -> set[str]:
    """Return the public ids of problems (`_get_public_id`)."""
    return {_get_public_id(problem) for problem in problems}


def _get_public_id(problem: Problem) -> str:
    """Return the id at the end of a problem's qID."""
    return str(problem.provenance["qID"]).rpartition("-")[2]


def _check_crossings(splits: Splits) -> Iterator[Finding]:
    """Yield findings on problems and twins that are in two splits."""
    ids = {name: _get_public_ids(problems) for name, problems in splits.items()}
    for one, other in combinations(splits, 2):
        shared_ids = sorted(ids[one] & ids[other])
        yield from _report_cases(f"{one} and {other}", "splits", "problems are in both", shared_ids)
    yield from _check_crossing_twins(splits)


def _check_crossing_twins(splits: Splits) -> Iterator[Finding]:
    """Yield findings on twins in different splits.

    They are twins by the group in their rows, or else by their texts. Without a public answer, texts do not suffice to
    be sure.
    """
    problems: list[Problem] = []
    split_of_row: list[str] = []
    for name, members in splits.items():
        problems += members
        split_of_row += [name] * len(members)

    def crosses_splits(rows: Iterable[int]) -> bool:
        return len({split_of_row[row] for row in rows}) > 1

    def format_rows(rows: Iterable[int]) -> str:
        return " / ".join(f"{split_of_row[row]} {_get_public_id(problems[row])}" for row in rows)

    rows_by_group = grouped((problem.group, row) for row, problem in enumerate(problems) if problem.group is not None)
    named_twins = [tuple(rows) for rows in rows_by_group.values() if crosses_splits(rows)]
    sure_twins = []
    possible_twins = []
    for rows in map(tuple, find_groups(problems).groups):
        if rows in named_twins or not crosses_splits(rows):
            continue
        if all(problems[row].answer is not None for row in rows):
            sure_twins.append(rows)
        else:
            possible_twins.append(rows)
    yield from _report_cases("splits", "twins", "groups of twins cross splits", list(map(format_rows, named_twins)))
    what = "pairs of problems in different splits are twins, by their texts"
    yield from _report_cases("splits", "twins", what, list(map(format_rows, sure_twins)))
    what = "pairs of problems in different splits may be twins, by their texts; one has no public answer"
    yield from _report_cases("splits", "twins", what, list(map(format_rows, possible_twins)), warns=False)


def _check_sizes(problems_by_file: Splits) -> Iterator[Finding]:
    """Yield findings on training sizes that are missing or not nested.

    A size must contain the smaller ones, and must not split a group. Missing sizes are no fault: a small release has
    fewer.
    """
    sizes = [name for name in manifest.TRAINS if name in problems_by_file]
    missing_sizes = [name for name in manifest.TRAINS if name not in problems_by_file]
    if missing_sizes:
        yield Finding("winogrande", "sizes", False, f"no {', '.join(missing_sizes)}", len(missing_sizes))
    ids = {name: _get_public_ids(problems_by_file[name]) for name in sizes}
    for small, large in pairwise(sizes):
        outside_ids = sorted(ids[small] - ids[large])
        yield from _report_cases(small, "sizes", f"of its problems are not in {large}", outside_ids)
    if sizes:
        all_groups = problems_by_file[sizes[-1]].groups
        for name in sizes[:-1]:
            split_groups = _find_split_groups(problems_by_file[name], all_groups)
            yield from _report_cases(name, "sizes", "groups have only some of their members in it", split_groups)


def _find_split_groups(problems: Dataset, all_groups: Mapping[str, Sequence[Problem]]) -> list[str]:
    """Return the sorted names of groups that have not all members."""
    split_groups = []
    for group, members in problems.groups.items():
        if len(members) < len(all_groups.get(group, ())):
            split_groups.append(group)
    return sorted(split_groups)


def _check_ids(problems_by_file: Splits) -> Iterator[Finding]:
    """Yield findings on ids that do not fit their text, or repeat."""
    for name, problems in problems_by_file.items():
        wrong_ids = []
        for problem in problems:
            public_id = _get_public_id(problem)
            if public_id.partition(".")[0] != problem.id.partition(".")[0]:
                wrong_ids.append(public_id)
        yield from _report_cases(name, "ids", "ids are not those of their texts", wrong_ids)
        repeated_count = len(problems) - len(_get_public_ids(problems))
        if repeated_count:
            yield Finding(name, "ids", True, f"{repeated_count:,} ids occur more than once", repeated_count)


def _check_answers(folder: Path, test: Sequence[Problem]) -> Iterator[Finding]:
    """Yield findings on files that reveal answers of the test.

    Those are files of labels that no public file of problems has, and rows with an answer and the id of a test problem.
    """
    test_ids = _get_public_ids(test)
    public_labels = {f"winogrande/{name}-labels.lst" for name in manifest.FILES if name != manifest.TEST}
    for name in manifest.file_names(folder):
        if name.endswith(".lst") and name not in public_labels:
            yield Finding(name, "answers", True, "labels of no public problems: those of the test?", len(test_ids))
        try:
            answered_ids = [key for key in _find_answered_ids(folder / name) if key in test_ids]
        except BadInput as error:
            yield _report_fault(name, "files", f"cannot be read: {error}")
        except ImportError:
            yield Finding(name, "answers", False, "not checked: pip install 'winokit[release]'", 0)
        else:
            if answered_ids:
                message = f"the answers of {len(set(answered_ids)):,} test problems are public"
                examples = tuple(answered_ids[:EXAMPLES])
                yield Finding(name, "answers", True, message, len(answered_ids), examples)


def _find_answered_ids(path: Path) -> Iterator[str]:
    """Yield the ids of problems that a file may have answers for.

    It is a file of JSON or Parquet. Objects inside others count too. Other files have none.
    """
    values = _read_json_values(path)
    if path.suffix == ".parquet":
        values = _read_table_rows(path)
    while values:
        value = values.pop()
        if isinstance(value, dict):
            yield from _find_ids_in_object(value)
            values += value.values()
        elif isinstance(value, list):
            values += value


def _read_json_values(path: Path) -> list[Any]:
    """Read the values in a file of JSON or JSON lines.

    Empty for other files.
    """
    if path.suffix not in (".jsonl", ".json") or not path.is_file():
        return []
    text = path.read_text("utf-8", "replace")
    if path.suffix == ".json":
        text = text.replace("\n", " ")
    return json_lines(text)


def _find_ids_in_object(row: Mapping[str, Any]) -> Iterator[str]:
    """Yield the ids that a JSON object may have an answer for.

    Those are its own id, if a key that is not in `SILENT` has a value, and every key with text or a number as its
    value, as in a mapping of ids to answers.
    """
    if any(row[key] not in (None, "", -1) for key in row.keys() - SILENT):
        for key in ("id", "qID"):
            if row.get(key):
                yield str(row[key]).rpartition("-")[2]
    for key, value in row.items():
        if isinstance(value, int | str):
            yield key.rpartition("-")[2]


def _read_table_rows(path: Path) -> list[Any]:
    """Read ids and possible answers in the rows of a Parquet file.

    Raises BadInput if it is no table, and ImportError without pyarrow.
    """
    from pyarrow import ArrowException, parquet

    with refusing("not a table", ArrowException, OSError):
        names = [name for name in parquet.read_schema(path).names if name not in SILENT or name in ("id", "qID")]
        return parquet.read_table(path, columns=names).to_pylist()  # type: ignore[no-any-return]


def _check_counts(folder: Path, problems_by_file: Splits, counts: Any) -> Iterator[Finding]:
    """Yield findings on counts and labels that contradict the problems.

    `counts` has the number of problems in each file. Anything else than an object is ignored.
    """
    stated_counts = counts if isinstance(counts, dict) else {}
    for name, stated_count in stated_counts.items():
        if name not in problems_by_file or not isinstance(stated_count, int):
            continue
        count = len(problems_by_file[name])
        if stated_count != count:
            message = f"{count:,} problems, {manifest.MANIFEST} says {stated_count:,}"
            yield Finding(name, "counts", True, message, abs(stated_count - count))
    for name, problems in problems_by_file.items():
        labels = labels_path(folder / manifest.problems_path(name))
        if name != manifest.TEST and labels.is_file():
            yield from _check_labels(labels, name, problems)


def _check_labels(path: Path, name: str, problems: Dataset) -> Iterator[Finding]:
    """Yield a finding if labels differ from the answers of the problems.

    It is on their number, or on labels that are not the answers. The latter are compared only if all problems have
    answers. `name` is that of the file of problems.
    """
    labels = path.read_text("utf-8", "replace").split()
    answers = [str(problem.answer + 1) for problem in problems if problem.answer is not None]
    if len(labels) != len(problems):
        yield _report_fault(path.name, "counts", f"{len(labels):,} labels for {len(problems):,} problems")
    elif len(answers) == len(problems) and answers != labels:
        wrong_count = sum(answer != label for answer, label in zip(answers, labels, strict=True))
        message = f"{wrong_count:,} labels are not the answers of {name}.jsonl"
        yield Finding(path.name, "counts", True, message, wrong_count)


def _check_lineage(path: Path, splits: Splits) -> Iterator[Finding]:
    """Yield findings on problems that lineage.jsonl has elsewhere or nowhere.

    Without the file, there are none.
    """
    if not path.exists():
        return
    try:
        rows = {row["id"]: row for row in manifest.read_lineage(path)}
    except BadInput as error:
        yield _report_fault(path.name, "files", f"cannot be read: {error}")
        return
    for name in manifest.SPLITS:
        actual_ids = _get_public_ids(splits.get(name, ()))
        lineage_ids = {key for key, row in rows.items() if row["split"] == name and row["status"] != manifest.RETIRED}
        what = f"problems of {name} are not in it as such"
        yield from _report_cases(path.name, "counts", what, sorted(actual_ids - lineage_ids))
        what = f"problems it places in {name} are not there"
        yield from _report_cases(path.name, "counts", what, sorted(lineage_ids - actual_ids))


def _check_hidden(folder: Path, hidden: Path | None) -> Iterator[Finding]:
    """Yield findings on the hidden labels: their release, and their readers.

    `hidden` is the folder that the user named, which must exist. If it is None, DIR.hidden is checked if it is there.
    """
    labels_folder = hidden or hidden_folder(folder)
    if not labels_folder.exists():
        if hidden is not None:
            raise BadInput(f"{hidden}: no such folder")
        return
    try:
        labels = read_hidden(folder, labels_folder)
    except BadInput as error:
        yield _report_fault(labels_folder.name, "hidden", str(error))
        return
    open_files = []
    for path in sorted(labels_folder.rglob("*")):
        if path.is_file() and path.stat().st_mode & 0o077:
            open_files.append(path.name)
    what = f"files of hidden labels can be read by others: chmod {OWNER_ONLY:o}"
    yield from _report_cases(labels_folder.name, "hidden", what, open_files)
    message = f"the hidden labels of {len(labels):,} test problems match the release"
    yield Finding(labels_folder.name, "hidden", False, message, 0)
