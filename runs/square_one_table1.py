"""Back to Square One (Elazar et al., 2021), Tables 1 and 6: twins as they are, without candidates, and in part.

The papers' models were trained on WinoGrande: give such a model as `hf:DIR` (train_* scripts make them). An untrained
one shows what of it comes without training; for a masked model that is Table 6's MC-MLM before its first step. With
`--predictions FILE` the first lines are of predictions for WinoGrande's dev set: a public RoBERTa's by default.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from common import Options, Outcome, judged, percent, rows_of, run, short, single_and_group, table
from papers import SQUARE_ONE_ROBERTA
from square_one import baselines, in_pairs

import winokit

PUBLIC = "predictions/roberta_winogrande_dev.csv"


def experiment(options: Options) -> Outcome:
    """Single and group scores of every model on every variant."""
    first, rows = alone_and_paired(options)
    lines = []
    for name, data in in_pairs(options).items():
        for variant, problems in baselines(data, options.more.style).items():
            cells: list[object] = [name, variant, len(problems)]
            for spec in options.models:
                found = judged(problems, spec, options)
                cells += single_and_group(found)
                rows += rows_of(found)
            lines.append(cells)
    header = [
        "dataset",
        "variant",
        "problems",
        *(f"{short(s)}: {m}" for s in options.models for m in ("single", "group")),
    ]
    return Outcome([first, table(header, lines)], rows, {"style": options.more.style})


def alone_and_paired(options: Options) -> tuple[str, list[dict[str, object]]]:
    """How predictions for dev do on all problems, on those with a twin and without, and on pairs."""
    dev = options.load("winogrande/dev.jsonl")
    path = options.more.predictions or options.file(PUBLIC)
    found = winokit.audit(dev, predictions=[path], protocol=("accuracy", "groups"))
    names = {
        "all": ("accuracy", "all", "accuracy"),
        "twins": ("groups", "grouped", "accuracy"),
        "no twin": ("groups", "single", "accuracy"),
        "groups": ("groups", "complete", "group_accuracy"),
    }
    cells = [percent(found.find(*name), interval=True) for name in names.values()]
    lines = [("RoBERTa-large, paper", *(SQUARE_ONE_ROBERTA.get(name) for name in names)), (path.stem, *cells)]
    return table(["WinoGrande dev, %", "all", "with a twin", "without", "pairs"], lines), rows_of(found)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Whose variants, whose predictions."""
    parser.add_argument("--style", default="code", help="of the variants: code, paper or default (default: code)")
    parser.add_argument("--predictions", type=Path, metavar="FILE", help="for WinoGrande's dev set")


if __name__ == "__main__":
    run(experiment, __doc__, arguments=arguments)
