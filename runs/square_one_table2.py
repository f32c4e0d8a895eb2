"""Back to Square One (Elazar et al., 2021), Table 2: four pairs of WSC, their labels, and what solves them.

A pair counts for a baseline if both its twins are right, as in the paper.
"""

from __future__ import annotations

import argparse

from common import Options, Outcome, predicted, row, run, short, table
from square_one import baselines

# row of WSC273: Trichelair et al.'s label, and whether no-cands and part-sent got the pair, as the paper prints them
PRINTED = {2: ("no", "yes", "yes"), 8: ("no", "no", "no"), 72: ("yes", "no", "no"), 185: ("yes", "yes", "yes")}


def experiment(options: Options) -> Outcome:
    """The labels and the pairs solved."""
    wsc = options.wsc273()
    chosen = {at: wsc.groups[str(wsc[at].group)] for at in PRINTED if at < len(wsc)}
    some = wsc.with_problems(problem for members in chosen.values() for problem in members)
    made = baselines(some, options.more.style)
    solved = {
        (spec, name): {one.id: one.prediction == one.answer for one in predicted(made[name], spec, options)}
        for spec in options.models
        for name in ("no-cands", "part-sent")
    }
    lines, rows = [], []
    for at, members in chosen.items():
        label = "yes" if wsc[at].labels["associative"] else "no"
        cells = [verdict([right.get(member.id) for member in members]) for right in solved.values()]
        lines.append((at, wsc[at].sentence, *PRINTED[at], label, *cells))
        for (spec, name), cell in zip(solved, cells, strict=True):
            rows.append(row(wsc.card.name, spec, "artifacts", f"{name}, row {at}", "pair_right", cell == "yes", 2))
    ours = [f"{short(spec)}: {name}" for spec, name in solved]
    header = ["row", "text", "paper: associative", "no-cands", "part-sent", "label in the file", *ours]
    return Outcome([table(header, lines)], rows)


def verdict(right: list[bool | None]) -> str:
    """Whether both twins are right; nothing where a variant could not be made."""
    return "" if None in right else "yes" if all(right) else "no"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Whose variants."""
    parser.add_argument("--style", default="code", help="of the variants: code, paper or default (default: code)")


if __name__ == "__main__":
    run(experiment, __doc__, arguments=arguments)
