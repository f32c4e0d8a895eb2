"""A small release for tests, written file by file: forty pairs of twins, a third of them hidden in the test."""

import json
from itertools import chain
from pathlib import Path

from winokit.problem import Problem
from winokit.stages.release.hidden import COMMITMENT, Draws, label_lines, write_hidden
from winokit.stages.release.manifest import hidden_row_of, row_of, write_manifest

ABOUT = {"name": "small", "version": "1.0", "licence": "CC0-1.0"}
SECRET = bytes(range(32))
SIZES = {"xs": 1, "s": 2, "m": 4, "l": 8, "xl": 16}
"""Groups in each training size."""


def twins(number: int, copy: int = 0) -> list[Problem]:
    """Two problems about the same two people, the second candidate right first in every third pair.

    Copies are the same story in other words.
    """
    people = (f"Ann{number}", f"Bea{number}")
    start = f"Ann{number} lent Bea{number} {number} books because "
    group = f"g{number}"
    if copy:
        start = f"For reason {copy}: {start}"
        group = f"g{number}-{copy}"
    first_answer = 0 if number % 3 else 1
    return [
        Problem(start, " had read them all.", people, first_answer, "she", group=group),
        Problem(start, " wanted to read them.", people, 1 - first_answer, "she", group=group),
    ]


def write_lines(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def small_release(
    folder: Path, tests: int = 14, about: dict | None = None, *, copies: int = 1, units: bool = True
) -> Path:
    """Write the release and its hidden labels, and return its folder.

    `tests` is the number of pairs in the test. Each of them is written `copies` times, all copies one unit; without
    `units`, the labels have none.
    """
    about = ABOUT | (about or {})
    train = [twins(number) for number in range(16)]
    dev = [twins(number) for number in range(16, 26)]
    test = [twins_and_copies(number, copies) for number in range(26, 26 + tests)]
    groups_of_files = {f"train_{size}": train[:count] for size, count in SIZES.items()}
    groups_of_files |= {"train_debiased": train, "dev": dev}
    for name, groups in groups_of_files.items():
        problems = list(chain.from_iterable(groups))
        write_lines(folder / "winogrande" / f"{name}.jsonl", [row_of(problem) for problem in problems])
        labels = "".join(f"{problem.answer + 1}\n" for problem in problems)
        (folder / "winogrande" / f"{name}-labels.lst").write_text(labels)
    hidden_rows = [hidden_row_of(problem) for problem in chain.from_iterable(test)]
    write_lines(folder / "winogrande" / "test.jsonl", hidden_rows)
    lineage = []
    for split, groups in (("train", train), ("dev", dev), ("test", test)):
        origin = {"split": split, "status": "added", "why": "written", "since": about["version"]}
        lineage += [{"id": problem.id, **origin} for problem in chain.from_iterable(groups)]
    write_lines(folder / "lineage.jsonl", lineage)
    (folder / "README.md").write_text("# small\n")
    remake_manifest(folder, about)
    rows_of_labels = []
    for unit, group in enumerate(test):
        unit_column = {"unit": unit} if units else {}
        for problem in group:
            rows_of_labels.append({"id": problem.id, "answer": problem.answer, "group": problem.group, **unit_column})
    labels = label_lines(rows_of_labels)
    belongs = about | {COMMITMENT: Draws(SECRET).commitment(labels)}
    write_hidden(folder.with_name(folder.name + ".hidden"), belongs, labels, SECRET)
    return folder


def twins_and_copies(number: int, copies: int) -> list[Problem]:
    """Twins and their copies, `copies` pairs in all."""
    problems = []
    for copy in range(copies):
        problems += twins(number, copy)
    return problems


def remake_manifest(folder: Path, about: dict | None = None) -> None:
    """Write the manifest again, so that it agrees with the files."""
    counts = {path.stem: path.read_text().count("\n") for path in (folder / "winogrande").glob("*.jsonl")}
    write_manifest(folder, (about or ABOUT) | {"counts": dict(sorted(counts.items()))})


def answers(folder: Path) -> list[int]:
    """Hidden answers of a release's test, from 0, in order."""
    path = folder.with_name(folder.name + ".hidden") / "labels.jsonl"
    return [json.loads(line)["answer"] for line in path.read_text().splitlines()]


def labels_with(right: list[int], wrong: set[int]) -> list[str]:
    """Labels from 1, right except in the rows of `wrong`."""
    labels = []
    for row, answer in enumerate(right):
        choice = 1 - answer if row in wrong else answer
        labels.append(str(choice + 1))
    return labels


def five_columns(right: list[int], wrong: list[set[int]]) -> str:
    """Submission with a column per training size, each wrong on the rows of its set."""
    columns = [labels_with(right, rows) for rows in wrong]
    return "".join(",".join(row) + "\n" for row in zip(*columns, strict=True))
