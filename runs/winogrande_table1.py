"""WinoGrande (Sakaguchi et al., 2019), Table 1: four twins, two of which a language model should find easy.

The paper marks (3) and (4) as solvable by word association. If they are, the clause with the blank is enough: each twin
is scored whole, and as its local context alone (two words before the blank, and what follows). The public files of DPR
do not have the lions, so that (4) is written out here.
"""

from __future__ import annotations

from common import Options, Outcome, named, predicted, row, run, short, table

from winokit.methods.transforms.local_context import local_context
from winokit.problem import Card, Dataset, Problem

# What the paper says of twins of WSC273, by words they have
TWINS = {"trophy doesn't fit": "fair", "what time the library closes": "fair", "roof of my house": "biased"}
LIONS = Problem(
    "The lions ate the zebras because ", " are predators.", ("the lions", "the zebras"), 0, "they", group="4"
)


def experiment(options: Options) -> Outcome:
    """Predictions for the eight problems, whole and cut."""
    found = [(said, problem) for words, said in TWINS.items() for problem in find(options, words)]
    found += [("biased", LIONS), ("biased", LIONS.replace(after=" are meaty.", answer=1))]
    whole = Dataset((problem for _, problem in found), Card("Table 1"))
    cut = named(whole, "local context", map(local_context, whole))
    lines, rows = [], []
    for spec in options.models:
        right = {name: solved(problems, spec, options) for name, problems in (("whole", whole), ("clause", cut))}
        for said, problem in found:
            cells = [mark(right[name].get(problem.id)) for name in ("whole", "clause")]
            lines.append((short(spec), said, problem.sentence, problem.right, *cells))
        for said in ("fair", "biased"):
            for name, marks in right.items():
                known = [marks[problem.id] for kind, problem in found if kind == said and problem.id in marks]
                rows.append(row("Table 1", spec, "accuracy", f"{said}, {name}", "right", sum(known), len(known)))
    header = ["model", "the paper says", "text", "answer", "whole text", "clause alone"]
    return Outcome([table(header, lines)], rows)


def find(options: Options, words: str) -> list[Problem]:
    """The problems of WSC273 with those words."""
    return [problem for problem in options.wsc273() if words in problem.text]


def solved(problems: Dataset, spec: str, options: Options) -> dict[str, bool]:
    """Whether each problem, by the id of its original, is answered rightly."""
    return {one.id: one.prediction == one.answer for one in predicted(problems, spec, options)}


def mark(right: bool | None) -> str:
    """A prediction in one word."""
    return "" if right is None else "right" if right else "wrong"


if __name__ == "__main__":
    run(experiment, __doc__)
