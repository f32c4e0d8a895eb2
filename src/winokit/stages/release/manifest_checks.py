"""What must hold of a release whatever its manifest says: splits apart, sizes nested, answers hidden, ids true."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

from winokit.data.checks.checkup import Finding
from winokit.data.checks.groups import find_groups
from winokit.data.formats.source import Source
from winokit.data.formats.winogrande import labels_path
from winokit.errors import BadInput
from winokit.problem import Dataset, Problem
from winokit.stages.release.hidden import OWNER_ONLY, hidden_folder, read_hidden
from winokit.stages.release.manifest import MANIFEST, file_names
from winokit.stages.release.rows import problem_of

FOLDER = "winogrande"
SIZES = ("train_xs", "train_s", "train_m", "train_l", "train_xl")
ANSWERS = frozenset({"answer", "answers", "label", "labels", "target", "gold", "right"})
"""Names under which a file may give an answer away."""
EXAMPLES = 5
Splits = dict[str, Dataset]


def content_findings(folder: Path, manifest: Mapping[str, Any], hidden: Path | None) -> list[Finding]:
    """Every check of what the files of a release say."""
    splits, found = read_splits(folder)
    if "test" not in splits and _has_test(manifest):
        found.append(Finding(f"{FOLDER}/test.jsonl", "files", True, "no test that can be read", 0))
    sides = {"train": train_of(splits)} | {name: splits[name] for name in ("dev", "test") if name in splits}
    found += _crossing(sides)
    found += _nested(splits)
    found += _ids(splits)
    found += _answers(folder, splits)
    found += _counts(folder, splits, manifest)
    found += _hidden(folder, hidden)
    return found


def _has_test(manifest: Mapping[str, Any]) -> bool:
    """Whether a release is said to have a test; one that does not count its problems should."""
    counts = manifest.get("counts")
    return not isinstance(counts, dict) or "test" in counts


def read_splits(folder: Path) -> tuple[Splits, list[Finding]]:
    """The problems of every file under winogrande/, by its name, and the files that cannot be read."""
    splits: Splits = {}
    found = []
    for path in sorted((folder / FOLDER).glob("*.jsonl")):
        try:
            source = Source(path)
            splits[path.stem] = Dataset(source.each(source.json_lines(), _problem))
        except BadInput as error:
            found.append(Finding(f"{FOLDER}/{path.name}", "files", True, f"cannot be read: {error}", 1))
    return splits, found


def _problem(row: Mapping[str, Any]) -> Problem:
    """The problem of a row, with the qID it stands under."""
    return problem_of(row).replace(provenance={"qID": row.get("qID") or ""})


def train_of(splits: Splits) -> Dataset:
    """All training problems, of whatever size, once each."""
    once = {public_id(p): p for name, part in splits.items() if name.startswith("train") for p in part}
    return Dataset(once.values())


def public_id(problem: Problem) -> str:
    """The id a problem is released under: the end of its qID."""
    return str(problem.provenance["qID"]).rpartition("-")[2]


def _finding(where: str, check: str, message: str, examples: list[str], warns: bool = True) -> Finding:
    return Finding(where, check, warns, message, len(examples), tuple(examples[:EXAMPLES]))


def _crossing(sides: Splits) -> Iterator[Finding]:
    """Problems, and twins, that stand in two of train, dev and test."""
    ids = {name: {public_id(p) for p in part} for name, part in sides.items()}
    for one, other in combinations(sides, 2):
        shared = sorted(ids[one] & ids[other])
        if shared:
            yield _finding(f"{one} and {other}", "splits", f"{len(shared):,} problems stand in both", shared)
    place = [name for name, part in sides.items() for _ in part]
    problems = [p for part in sides.values() for p in part]
    named: dict[str, list[int]] = defaultdict(list)
    for row, problem in enumerate(problems):
        if problem.group is not None:
            named[problem.group].append(row)
    crossed = [rows for rows in named.values() if len({place[row] for row in rows}) > 1]
    alike = [rows for rows in find_groups(problems).groups if len({place[row] for row in rows}) > 1]
    told = {tuple(rows) for rows in crossed}
    sure = [rows for rows in alike if rows not in told and all(problems[row].answer is not None for row in rows)]
    unsure = [rows for rows in alike if rows not in told and rows not in sure]
    for rows_of, warns, what in (
        (crossed, True, "groups of twins cross splits"),
        (sure, True, "pairs of problems in different splits are twins, by their texts"),
        (unsure, False, "pairs of problems in different splits may be twins, by their texts; one has no public answer"),
    ):
        if rows_of:
            shown = [" / ".join(f"{place[row]} {public_id(problems[row])}" for row in rows) for rows in rows_of]
            yield _finding("splits", "twins", f"{len(rows_of):,} {what}", shown, warns)


def _nested(splits: Splits) -> Iterator[Finding]:
    """Each size inside the next, and no group cut in two by a size."""
    sizes = [name for name in SIZES if name in splits]
    if len(sizes) < len(SIZES):
        missing = [name for name in SIZES if name not in splits]
        yield Finding(FOLDER, "sizes", False, f"no {', '.join(missing)}", len(missing))
    ids = {name: {public_id(p) for p in splits[name]} for name in sizes}
    for small, large in pairwise(sizes):
        outside = sorted(ids[small] - ids[large])
        if outside:
            yield _finding(small, "sizes", f"{len(outside):,} of its problems are not in {large}", outside)
    if not sizes:
        return
    whole = splits[sizes[-1]].groups
    for name in sizes[:-1]:
        inside = splits[name].groups
        cut = sorted(group for group, members in inside.items() if len(members) < len(whole.get(group, ())))
        if cut:
            yield _finding(name, "sizes", f"{len(cut):,} groups have only some of their members in it", cut)


def _ids(splits: Splits) -> Iterator[Finding]:
    """The id at the end of a qID must be that of the text: it names the problem and tells nothing else."""
    for name, part in splits.items():
        wrong = [public_id(p) for p in part if public_id(p).partition(".")[0] != p.id.partition(".")[0]]
        if wrong:
            yield _finding(name, "ids", f"{len(wrong):,} ids are not those of their texts", wrong)
        twice = len(part) - len({public_id(p) for p in part})
        if twice:
            yield Finding(name, "ids", True, f"{twice:,} ids stand there more than once", twice)


def _answers(folder: Path, splits: Splits) -> Iterator[Finding]:
    """No file of the folder may give a test answer."""
    ids = {public_id(p) for p in splits.get("test", ())}
    if (folder / FOLDER / "test-labels.lst").exists():
        yield Finding(f"{FOLDER}/test-labels.lst", "answers", True, "the labels of the test are public", len(ids))
    for name in file_names(folder):
        path = folder / name
        if path.suffix in (".jsonl", ".json"):
            given = [key for key in _told(path) if key in ids]
        elif path.suffix == ".parquet":
            try:
                told = _told_by_parquet(path)
            except BadInput as error:
                yield Finding(name, "files", True, f"cannot be read: {error}", 1)
                continue
            if told is None:
                yield Finding(name, "answers", False, "not looked into: pip install 'winokit[release]'", 0)
            given = [key for key in told or () if key in ids]
        else:
            continue
        if given:
            yield _finding(name, "answers", f"the answers of {len(set(given)):,} test problems are public", given)


def _told(path: Path) -> Iterator[str]:
    """The ids of the rows of a JSON file that have an answer."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return
    for line in text.split("\n") if path.suffix == ".jsonl" else (text,):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for row in value if isinstance(value, list) else (value,):
            if isinstance(row, dict):
                yield from _told_by_row(row)


def _told_by_row(row: Mapping[str, Any]) -> Iterator[str]:
    if any(row.get(key) not in (None, "", -1) for key in ANSWERS):
        yield from (str(row[key]).rpartition("-")[2] for key in ("id", "qID") if row.get(key))


def _told_by_parquet(path: Path) -> list[str] | None:
    """The same for a table; None where nothing is installed to read it."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        return None
    try:
        names = [name for name in parquet.read_schema(path).names if name in ANSWERS or name in ("id", "qID")]
        return [key for row in parquet.read_table(path, columns=names).to_pylist() for key in _told_by_row(row)]
    except (ArrowException, OSError) as error:
        raise BadInput(f"not a table ({error})") from None


def _counts(folder: Path, splits: Splits, manifest: Mapping[str, Any]) -> Iterator[Finding]:
    """The same number of problems, and the same answers, wherever they are said."""
    said = manifest.get("counts")
    for name, count in (said if isinstance(said, dict) else {}).items():
        if name in splits and isinstance(count, int) and count != len(splits[name]):
            message = f"{len(splits[name]):,} problems, {MANIFEST} says {count:,}"
            yield Finding(name, "counts", True, message, abs(count - len(splits[name])))
    for name, part in splits.items():
        labels = labels_path(folder / FOLDER / f"{name}.jsonl")
        if name == "test" or not labels.exists():
            continue
        listed = labels.read_text("utf-8", "replace").split()
        answers = [str(p.answer + 1) for p in part if p.answer is not None]
        if len(listed) != len(part):
            yield Finding(labels.name, "counts", True, f"{len(listed):,} labels for {len(part):,} problems", 1)
        elif len(answers) == len(part) and answers != listed:
            differ = sum(a != b for a, b in zip(answers, listed, strict=True))
            yield Finding(labels.name, "counts", True, f"{differ:,} labels are not the answers of {name}.jsonl", differ)
    yield from _lineage(folder, splits)


def _lineage(folder: Path, splits: Splits) -> Iterator[Finding]:
    """lineage.jsonl must place every problem in the split it stands in."""
    path = folder / "lineage.jsonl"
    if not path.exists():
        return
    from winokit.stages.release.lineage import GONE, read_lineage

    try:
        said = {row["id"]: row for row in read_lineage(path)}
    except BadInput as error:
        yield Finding(path.name, "files", True, f"cannot be read: {error}", 1)
        return
    for name in ("train", "dev", "test"):
        part = train_of(splits) if name == "train" else splits.get(name, ())
        there = {public_id(p) for p in part}
        placed = {key for key, row in said.items() if row["split"] == name and row["status"] not in GONE}
        if there - placed:
            message = f"{len(there - placed):,} problems of {name} are not in it as such"
            yield _finding(path.name, "counts", message, sorted(there - placed))
        if placed - there:
            message = f"{len(placed - there):,} problems it places in {name} are not there"
            yield _finding(path.name, "counts", message, sorted(placed - there))


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
        yield Finding(place.name, "hidden", True, str(error), 1)
        return
    open_files = [path.name for path in sorted(place.rglob("*")) if path.is_file() and path.stat().st_mode & 0o077]
    if open_files:
        message = f"{len(open_files):,} files of hidden labels can be read by others: chmod {OWNER_ONLY:o}"
        yield _finding(place.name, "hidden", message, open_files)
    yield Finding(place.name, "hidden", False, f"the hidden labels of {len(labels):,} test problems fit the release", 0)
