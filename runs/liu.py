"""Precise Task Formalization Matters (Liu et al., 2020): Figure 1's flat lines, and problems with a rival."""

from __future__ import annotations

from functools import partial

from runs.papers import AAAI_PEOPLE
from runs.store import Store
from runs.tables import Bench, Counted, Table, fingerprint, grid, number, percent, register, row
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.cases import cases
from winokit.methods.metrics.accuracy import majority_class
from winokit.problem import Dataset

FILES = {
    "SuperGLUE-WSC train": "superglue-wsc/train.jsonl",
    "SuperGLUE-WSC val": "superglue-wsc/val.jsonl",
    "WinoGrande-m": "winogrande/train_m.jsonl",
    "WinoGrande dev": "winogrande/dev.jsonl",
}
PEOPLE = {"SuperGLUE-WSC val": "not in the text", "WinoGrande-m": AAAI_PEOPLE, "WinoGrande dev": AAAI_PEOPLE}


def run_lines(bench: Bench) -> None:
    """Count the commonest answer, and the problems with something to compare. No model is asked."""
    for name, file in FILES.items():
        data = bench.load(file)
        settings = {"data": fingerprint(data), "rivals": "noun phrases"}
        bench.counted(name, settings, partial(count_lines, name, data))


def count_lines(name: str, data: Dataset) -> Counted:
    """Measure the accuracy of the commonest answer, and count the problems with a rival."""
    share = majority_class([problem.answer or 0 for problem in data])
    return Counted(
        [
            row(name, "accuracy", "all", "majority_class", share, len(data)),
            row(name, "rivals", "all", "with_a_rival", with_rivals(data), len(data)),
        ]
    )


def with_rivals(data: Dataset) -> int:
    """Number of problems with two candidates, or with another noun phrase to compare the span with."""
    return sum(len(case.options) > 1 for case in cases(data, Formalization.parse("mc-sent")))


def show_lines(store: Store) -> str:
    """Table of the flat lines, one line per dataset."""
    lines = []
    for name in FILES:
        majority, rivals = store[name].rows
        people = PEOPLE.get(name, "")
        lines.append((name, f"{majority.n:,}", percent(majority), people, number(rivals.value, 0)))
    return grid(["dataset", "problems", "commonest answer", "people", "with a rival to compare"], lines)


register(
    Table("liu", "lines", "Figure 1's flat lines", "superglue-wsc, winogrande; no model", {"": show_lines}, run_lines)
)
