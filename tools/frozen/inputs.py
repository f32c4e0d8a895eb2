"""What commands read: files written by hand, parts of the bundled twins, predictions, and models made to be small.

They are made anew for each side by the same code, and not with the code of either side, so that they are the same.
"""

from __future__ import annotations

import csv
import json
import random
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .commands import Command
from .servers import TESTS

ROOT = Path(__file__).parents[2]
FILES = Path(__file__).parent / "files"
TWINS = ("8408b3d9", "src/winokit/assets/open.jsonl")
"""The commit and path of the twins from which parts are taken: they stay the same when the bundled ones change."""
PARTS = {"train": (0, 40), "dev": (40, 60), "test": (60, 100), "pool": (0, 200)}
"""The first and last problem of each part of the twins, counted from 0; the last is not in it."""
WSC_COUNT = 285
MODELS = {
    "tiny-bert": "tiny.tiny('bert', {folder!r}, initializer_range=0.1, max_position_embeddings=512)",
    "tiny-llama": "tiny_causal.tiny_llama({folder!r})",
}
"""Models by name, and the call that makes each, in the tests' support folder."""

Row = dict[str, Any]


def make_inputs(folder: Path, commands: Sequence[Command]) -> None:
    """Write all inputs into a new folder; models only if a command uses them, as they take seconds."""
    shutil.copytree(FILES, folder)
    twins = _bundled_twins()
    for name, (start, end) in PARTS.items():
        write_rows(folder / f"{name}.jsonl", twins[start:end])
    _write_predictions(folder, twins)
    _write_uneven(folder)
    for name, call in MODELS.items():
        if any(f"../inputs/{name}" in command.run for command in commands):
            _make_model(folder / name, call)


def write_rows(path: Path, rows: Iterable[Row]) -> None:
    """Write JSON lines."""
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def _bundled_twins() -> list[Row]:
    shown = subprocess.run(["git", "show", ":".join(TWINS)], cwd=ROOT, capture_output=True, check=True)
    rows = [json.loads(line) for line in shown.stdout.decode("utf-8").splitlines()]
    return [row for row in rows if "text" in row]


def _write_predictions(folder: Path, twins: Sequence[Row]) -> None:
    """Predictions for the bundled twins: seven and six in ten right, in several forms, sound and unsound."""
    good_choices = _choices([row["answer"] for row in twins], 0.7, seed=1)
    fair_choices = _choices([row["answer"] for row in twins], 0.6, seed=2)
    _write_labels(folder / "open-good.lst", good_choices)
    _write_labels(folder / "open-fair.lst", fair_choices)
    _write_labels(folder / "open-short.lst", good_choices[:-3])
    _write_labels(folder / "wsc.lst", _choices([0] * WSC_COUNT, 0.5, seed=3))
    rows = [
        {
            "id": row["id"],
            "variant": "original",
            "model": "good",
            "scoring": "own",
            "scores": None,
            "prediction": choice,
        }
        for row, choice in zip(twins, good_choices, strict=True)
    ]
    write_rows(folder / "open-good.jsonl", rows)
    contradiction = {**rows[0], "prediction": 1 - rows[0]["prediction"]}
    write_rows(folder / "open-contradicting.jsonl", [*rows, contradiction])
    _write_table(
        folder / "open-losses.csv",
        ("id", "loss"),
        [(row["id"], number) for row, number in zip(twins, _losses(twins), strict=True)],
    )
    with_predictions = [
        (row["text"], *row["candidates"], row["answer"] + 1, choice + 1)
        for row, choice in zip(twins[:120], fair_choices[:120], strict=True)
    ]
    _write_table(folder / "answered.csv", ("sentence", "option1", "option2", "answer", "prediction"), with_predictions)


def _losses(twins: Sequence[Row]) -> list[float]:
    generator = random.Random(4)
    return [round(generator.uniform(0.1, 3.0), 4) for _ in twins]


def _write_uneven(folder: Path) -> None:
    """A hundred problems alone, 65 of them with the first candidate right; always "first", but once."""
    answers = [0] * 65 + [1] * 35
    random.Random(5).shuffle(answers)
    rows = []
    for number, answer in enumerate(answers):
        verb = "had" if answer == 0 else "wanted"
        lender, borrower = f"Ann{number}", f"Bea{number}"
        text = f"{lender} lent {borrower} {number + 2} books because _ {verb} them."
        rows.append({"text": text, "candidates": [lender, borrower], "answer": answer, "pronoun": "she"})
    write_rows(folder / "uneven.jsonl", rows)
    _write_labels(folder / "uneven-first.lst", [0] * 100)
    _write_labels(folder / "uneven-nearly-first.lst", [0] * 50 + [1] + [0] * 49)


def _choices(answers: Sequence[int], share: float, seed: int) -> list[int]:
    """Choices between two candidates of which this share is right, about."""
    generator = random.Random(seed)
    return [answer if generator.random() < share else 1 - answer for answer in answers]


def _write_labels(path: Path, choices: Sequence[int]) -> None:
    path.write_text("".join(f"{choice + 1}\n" for choice in choices), "utf-8")


def _write_table(path: Path, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


def _make_model(folder: Path, call: str) -> None:
    """Make a model in a process of its own, so that this one never loads torch."""
    program = f"from pathlib import Path\nfrom support import tiny, tiny_causal\n{call.format(folder=str(folder))}"
    program = program.replace(repr(str(folder)), f"Path({str(folder)!r})")
    subprocess.run([sys.executable, "-c", program], cwd=TESTS, check=True, capture_output=True)
