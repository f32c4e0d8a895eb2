"""WinoGrande, AAAI version (Sakaguchi et al., 2020): what it says of sizes, twins and its learning curve, recounted."""

from __future__ import annotations

from runs.papers import AAAI_PEOPLE, AAAI_SIZE_FOR_PEOPLE, AAAI_TOTAL
from runs.store import Store
from runs.tables import Bench, Counted, Table, grid, number, register, row
from winokit.methods.metrics.curve import PUBLISHED, SIZES

PARTS = ("train_debiased", "dev", "test")


def run_claims(bench: Bench) -> None:
    """Count problems and lost twins, and read the printed line y = 4.8463 ln x + 26.215. No model is asked."""

    def count() -> Counted:
        data = {name: bench.load(f"winogrande/{name}.jsonl") for name in (*PARTS, "train_xl")}
        debiased = [problem for name in PARTS for problem in data[name]]
        alone = sum(problem.group is None for problem in debiased)
        total = sum(len(data[name]) for name in ("train_xl", "dev", "test"))
        line = {
            "at_all": PUBLISHED.at(SIZES[-1]),
            "size_for_people": PUBLISHED.reaches(AAAI_PEOPLE),
            "at_size_for_people": PUBLISHED.at(AAAI_SIZE_FOR_PEOPLE),
        }
        return Counted(
            [
                row("winogrande", "statistics", "all", "problems", total, total),
                row("winogrande", "statistics", "debiased", "without_twin", alone, len(debiased)),
                *(row("winogrande", "curve", "published fit", name, value, len(SIZES)) for name, value in line.items()),
            ]
        )

    bench.counted("claims", {}, count)


def show_claims(store: Store) -> str:
    """Each claim beside what the files and the line give."""
    record = store["claims"]
    alone = record.find("without_twin")
    assert alone is not None
    lines = [
        ("problems in all", number(AAAI_TOTAL, 0), number(record.value("problems"), 0)),
        (
            "debiased questions without their twin",
            "about 1/3",
            f"{number(alone.value, 0)} of {alone.n:,} ({100 * alone.value / alone.n:.0f} %)",
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
