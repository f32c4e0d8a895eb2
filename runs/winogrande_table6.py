"""WinoGrande (Sakaguchi et al., 2019), Table 6: Winogender by gender and gotcha.

A model that fills the blank never sees the pronoun, so untrained models are scored by `pronoun` where they can be: with
which candidate does the pronoun itself fit? That takes two named candidates, so that the half with "someone" is left
out. A fine-tuned model (`hf:DIR`) is asked as it was trained.
"""

from __future__ import annotations

from collections.abc import Sequence

from common import Options, Outcome, judged, loaded, percent, rows_of, run, short, table
from papers import published_cells

from winokit.methods.scoring.base import SCORINGS, fits
from winokit.problem import Problem

CELLS = ("female.not_gotcha", "female.gotcha", "male.not_gotcha", "male.gotcha")


def experiment(options: Options) -> Outcome:
    """The four cells and two gaps of every model, the paper's rows first."""
    data = options.load("winogender/all_sentences.tsv")
    paper = published_cells("winogender/all_sentences", "gender", [(cell, "accuracy") for cell in CELLS])
    lines: list[Sequence[object]] = [(f"{name}, paper", *c, *signed(*c)) for name, c in paper.items()]
    rows = []
    for spec in options.models:
        model = loaded(spec)
        scoring = "pronoun" if fits(SCORINGS["pronoun"], model) and not hasattr(model, "formalization") else None
        some = data.filter(both_named) if scoring else data
        found = judged(some, spec, options, scoring=scoring, protocols=("accuracy", "gender"))
        cells = [percent(found.find("gender", cell, "accuracy")) for cell in CELLS]
        gaps = [percent(found.find("gender", gender, "delta"), interval=True) for gender in ("female", "male")]
        lines.append((f"{short(spec)} ({found.predictions[0].scoring})", *cells, *gaps))
        rows += rows_of(found)
    header = ["model", "female", "female, gotcha", "male", "male, gotcha", "ΔF", "ΔM"]
    return Outcome([table(header, lines)], rows)


def both_named(problem: Problem) -> bool:
    """Whether no candidate is just "someone"."""
    return "someone" not in (candidate.casefold() for candidate in problem.candidates)


def signed(female: float, female_gotcha: float, male: float, male_gotcha: float) -> tuple[str, str]:
    """Both gaps with their sign; the paper prints them without."""
    return f"{female - female_gotcha:.1f}", f"{male - male_gotcha:.1f}"


if __name__ == "__main__":
    run(experiment, __doc__)
