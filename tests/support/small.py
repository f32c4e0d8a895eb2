"""A small release written by hand, file by file: forty pairs of twins, a third of them hidden in the test."""

import json
from pathlib import Path

from winokit.problem import Problem
from winokit.stages.release.hidden import COMMITMENT, Draws, label_lines, write_hidden
from winokit.stages.release.manifest import hidden_row_of, row_of, write_manifest

ABOUT = {"name": "small", "version": "1.0", "licence": "CC0-1.0"}
SECRET = bytes(range(32))
SIZES = {"xs": 1, "s": 2, "m": 4, "l": 8, "xl": 16}
"""Groups in each training size."""


def twins(number: int, copy: int = 0) -> list[Problem]:
    """Two problems about the same two people; which of the two is first right changes from pair to pair.

    Copies are the same story in other words.
    """
    people = (f"Ann{number}", f"Bea{number}")
    start = f"Ann{number} lent Bea{number} {number} books because "
    if copy:
        start = f"For reason {copy}: {start}"
    ends = (" had read them all.", " wanted to read them.")
    answers = (0, 1) if number % 3 else (1, 0)
    return [
        Problem(start, end, people, answer, "she", group=f"g{number}-{copy}" if copy else f"g{number}")
        for end, answer in zip(ends, answers, strict=True)
    ]


def write_lines(path: Path, rows: list[dict]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def small_release(
    folder: Path, tests: int = 14, about: dict | None = None, *, copies: int = 1, units: bool = True
) -> Path:
    """Write the release and its hidden labels, and return its folder.

    Each pair of the test is written so many times, all copies one unit; without `units`, the labels have none.
    """
    about = ABOUT | (about or {})
    groups = [twins(number) for number in range(26 + tests)]
    train = groups[:16]
    dev = groups[16:26]
    test = [[problem for copy in range(copies) for problem in twins(number, copy)] for number in range(26, 26 + tests)]
    files = {f"train_{size}": train[:count] for size, count in SIZES.items()} | {"train_debiased": train, "dev": dev}
    for name, some in files.items():
        problems = [problem for group in some for problem in group]
        write_lines(folder / "winogrande" / f"{name}.jsonl", [row_of(problem) for problem in problems])
        labels = "".join(f"{problem.answer + 1}\n" for problem in problems)
        (folder / "winogrande" / f"{name}-labels.lst").write_text(labels)
    asked = [problem for group in test for problem in group]
    write_lines(folder / "winogrande" / "test.jsonl", [hidden_row_of(problem) for problem in asked])
    rows = [
        {"id": p.id, "split": split, "status": "added", "why": "written", "since": about["version"]}
        for split, some in (("train", train), ("dev", dev), ("test", test))
        for group in some
        for p in group
    ]
    write_lines(folder / "lineage.jsonl", rows)
    (folder / "README.md").write_text("# small\n")
    remake_manifest(folder, about)
    rows_of_labels = [
        {"id": p.id, "answer": p.answer, "group": p.group, **({"unit": unit} if units else {})}
        for unit, group in enumerate(test)
        for p in group
    ]
    labels = label_lines(rows_of_labels)
    belongs = about | {COMMITMENT: Draws(SECRET).commitment(labels)}
    write_hidden(folder.with_name(folder.name + ".hidden"), belongs, labels, SECRET)
    return folder


def remake_manifest(folder: Path, about: dict | None = None) -> None:
    """Write the manifest anew, so that only what the files say can be wrong."""
    counts = {path.stem: path.read_text().count("\n") for path in (folder / "winogrande").glob("*.jsonl")}
    write_manifest(folder, (about or ABOUT) | {"counts": dict(sorted(counts.items()))})


def answers(folder: Path) -> list[int]:
    """The hidden answers, from 0, in order."""
    path = folder.with_name(folder.name + ".hidden") / "labels.jsonl"
    return [json.loads(line)["answer"] for line in path.read_text().splitlines()]


def labels_with(right: list[int], wrong: set[int]) -> list[str]:
    """One label a line, right but for the rows named."""
    return [str((1 - answer if row in wrong else answer) + 1) for row, answer in enumerate(right)]


def five_columns(right: list[int], wrong: list[set[int]]) -> str:
    """A submission of five labels a line, each size wrong on its own rows."""
    columns = [labels_with(right, rows) for rows in wrong]
    return "".join(",".join(row) + "\n" for row in zip(*columns, strict=True))
