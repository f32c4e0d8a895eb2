"""WinoGrande (Sakaguchi et al., 2020): what the AAAI version says of sizes, twins and its learning curve, recounted.

No model is asked: the line it fits, y = 4.8463 ln x + 26.215, is taken as printed.
"""

from __future__ import annotations

from common import Options, Outcome, row, run, table
from papers import AAAI_NOT_TWINS, AAAI_PEOPLE, AAAI_SIZE_FOR_PEOPLE, AAAI_TOTAL

from winokit.methods.metrics.curve import PUBLISHED, SIZES

PARTS = ("train_debiased", "dev", "test")


def experiment(options: Options) -> Outcome:
    """Each claim beside what the files and the line give."""
    parts = {name: options.load(f"winogrande/{name}.jsonl") for name in (*PARTS, "train_xl")}
    debiased = sum(len(parts[name]) for name in PARTS)
    lone = {name: sum(problem.group is None for problem in parts[name]) for name in PARTS}
    without = sum(lone.values()) / debiased
    total = sum(len(parts[name]) for name in ("train_xl", "dev", "test"))
    arrives = PUBLISHED.reaches(AAAI_PEOPLE)
    lines = [
        ("problems in all", f"{AAAI_TOTAL:,}", f"{total:,}"),
        (
            "debiased questions without their twin",
            "about 1/3",
            f"{sum(lone.values()):,} of {debiased:,} ({without:.0%})",
        ),
        ("accuracy at 40,398, by the line", "79.1 (measured)", f"{PUBLISHED.at(SIZES[-1]):.1f}"),
        ("size at which the line has 94 %", f"over {AAAI_SIZE_FOR_PEOPLE:,}", f"{arrives:,.0f}"),
        ("accuracy at 118,000, by the line", "94.0", f"{PUBLISHED.at(AAAI_SIZE_FOR_PEOPLE):.1f}"),
    ]
    rows = [
        row("winogrande", "none", "statistics", "all", "problems", total, total),
        row("winogrande", "none", "statistics", "debiased", "without_twin", without, debiased),
        row("winogrande", "published fit", "curve", "all", "size_at_94", arrives, len(SIZES)),
    ]
    settings = {"paper": {"problems": AAAI_TOTAL, "without_twin": AAAI_NOT_TWINS, "size_at_94": AAAI_SIZE_FOR_PEOPLE}}
    return Outcome([table(["claim", "paper", "here"], lines)], rows, settings)


if __name__ == "__main__":
    run(experiment, __doc__, models=())
