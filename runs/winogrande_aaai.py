"""WinoGrande, AAAI version (Sakaguchi et al., 2020): its sizes, twins and learning curve, recounted."""

from __future__ import annotations

from runs.papers import AAAI_PEOPLE, AAAI_SIZE_FOR_PEOPLE, AAAI_TOTAL
from runs.store import Store
from runs.tables import Bench, Counted, Table, grid, number, register, row
from winokit.methods.metrics.curve import PUBLISHED, SIZES

PARTS = ("train_debiased", "dev", "test")


def run_claims(bench: Bench) -> None:
    """Count problems and lost twins, and read the printed line y = 4.8463 ln x + 26.215. No model is asked."""
    bench.counted("claims", {}, lambda: count_claims(bench))


def count_claims(bench: Bench) -> Counted:
    """Count the problems, those without a twin, and three points on the printed line."""
    data = {name: bench.load(f"winogrande/{name}.jsonl") for name in (*PARTS, "train_xl")}
    debiased = [*data["train_debiased"], *data["dev"], *data["test"]]
    without_twin = sum(problem.group is None for problem in debiased)
    total = len(data["train_xl"]) + len(data["dev"]) + len(data["test"])
    rows = [
        row("winogrande", "statistics", "all", "problems", total, total),
        row("winogrande", "statistics", "debiased", "without_twin", without_twin, len(debiased)),
    ]
    points = {
        "at_all": PUBLISHED.at(SIZES[-1]),
        "size_for_people": PUBLISHED.reaches(AAAI_PEOPLE),
        "at_size_for_people": PUBLISHED.at(AAAI_SIZE_FOR_PEOPLE),
    }
    for name, value in points.items():
        rows.append(row("winogrande", "curve", "published fit", name, value, len(SIZES)))
    return Counted(rows)


def show_claims(store: Store) -> str:
    """Table of each claim beside what the files and the line give."""
    record = store["claims"]
    without_twin = record.row("without_twin")
    share = f"{100 * without_twin.value / without_twin.n:.0f} %"
    lines = [
        ("problems in all", number(AAAI_TOTAL, 0), number(record.value("problems"), 0)),
        (
            "debiased questions without their twin",
            "about 1/3",
            f"{number(without_twin.value, 0)} of {without_twin.n:,} ({share})",
        ),
        (f"accuracy at {SIZES[-1]:,}, by the line", "79.1 (measured)", number(record.value("at_all"))),
        (
            f"size at which the line has {AAAI_PEOPLE:.0f} %",
            f"over {AAAI_SIZE_FOR_PEOPLE:,}",
            number(record.value("size_for_people"), 0),
        ),
        (
            f"accuracy at {AAAI_SIZE_FOR_PEOPLE:,}, by the line",
            number(AAAI_PEOPLE),
            number(record.value("at_size_for_people")),
        ),
    ]
    return grid(["claim", "paper", "here"], lines)


register(
    Table(
        "winogrande-aaai", "claims", "sizes, twins and the fit", "winogrande, no model", {"": show_claims}, run_claims
    ),
)
