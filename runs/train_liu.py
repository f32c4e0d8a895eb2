"""Liu et al. (2020), Figure 1 and Table 2: six formalizations, many trials each, and an arm with a fresh MLM head.

Two searches: WinoGrande-m, chosen on dev; SuperGLUE-WSC, chosen on its validation set. `--on dpr` is one more, for
models too small to learn from either: DPR's training set, chosen on a fifth of it that is held out, tested on its test
set. The paper's space and its 60 trials are the defaults. A model without a language-modelling head cannot be asked
for mc-mlm: leave it out with --formalization.
"""

from __future__ import annotations

import argparse

from runs.tables import grid as table
from runs.tables import percent, short
from runs.trained import Options, Outcome, run
from winokit.drawing.tables import progress_bar
from winokit.methods.formalizations.base import FORMALIZATIONS
from winokit.methods.training.data import TrainingData, hold_out
from winokit.methods.training.settings import TrainSettings
from winokit.results import rows_to_json
from winokit.stages.search.findings import SearchFindings
from winokit.stages.search.run import search
from winokit.stages.search.space import SearchSpace

SETS = ("winogrande-m", "superglue-wsc", "dpr")
FRESH = "mc-mlm?head=fresh"


def data_of(name: str, options: Options) -> TrainingData:
    """Training set, what is chosen on, and what is tested on."""
    if name == "winogrande-m":
        return TrainingData(options.load("winogrande/train_m.jsonl"), options.load("winogrande/dev.jsonl"))
    if name == "superglue-wsc":
        return TrainingData(options.load("superglue-wsc/train.jsonl"), options.load("superglue-wsc/val.jsonl"))
    train, dev = hold_out(options.load("dpr/train.c.txt"), options.more.holdout, 0)
    return TrainingData(train, dev, (options.load("dpr/test.c.txt"),))


def experiment(options: Options) -> Outcome:
    """A table a dataset and model; pages with the distributions in the output folder."""
    tables, rows = [], []
    given = options.more
    varied = {"learning_rate": given.learning_rate, "epochs": given.epochs, "batch_size": given.batch_size}
    space = SearchSpace(**{name: values for name, values in varied.items() if values is not None})
    for spec in options.specs:
        for name in given.on or SETS:
            out = options.out / short(spec).replace(":", "-") / name
            data = data_of(name, options)
            with progress_bar(f"{name}, {short(spec)}") as progress:
                found = search(
                    data.train,
                    dev=data.dev,
                    test=data.tests,
                    drop_overlap=True,
                    out=out,
                    model=spec,
                    space=space,
                    formalization=given.formalization or [*FORMALIZATIONS, FRESH],
                    trials=given.trials,
                    settings=TrainSettings(patience=20, checkpoint_every=0),
                    workers=given.workers,
                    progress=progress,
                )
            tables += [f"{name}, {short(spec)}, trials of each: {given.trials}", spread_table(found)]
            rows += [{**row, "search": name} for row in rows_to_json(found.metrics)]
    return Outcome(tables, rows, {"space": str(space), "trials": given.trials})


def spread_table(found: SearchFindings) -> str:
    """Median, quartiles, best, standard deviation, excess kurtosis, luck, and the top five together."""
    header = [
        "",
        "median",
        "quartiles",
        "best",
        "std",
        "excess kurtosis",
        "best, corrected for luck",
        "top five",
        "learned nothing",
    ]
    lines = []
    for one in found.found:
        spread, luck, five = one.spread, one.luck, one.score("ensemble", "dev")
        if spread is None:
            lines.append([one.formalization, *[""] * 7, f"{one.degenerate} of {len(one.trials)}"])
            continue
        quartiles = f"{percent(spread.lower_quartile)} – {percent(spread.upper_quartile)}"
        lines.append(
            [
                one.formalization,
                percent(spread.median),
                quartiles,
                percent(spread.best),
                "" if spread.std is None else percent(spread.std),
                "" if spread.excess_kurtosis is None else f"{spread.excess_kurtosis:.2f}",
                "" if luck is None else percent(luck.corrected),
                "" if five is None else percent(five.value),
                f"{one.degenerate} of {len(one.trials)}",
            ]
        )
    return table(header, lines) + f"\n\nChance {percent(found.chance)}, the commonest answer {percent(found.majority)}."


def arguments(parser: argparse.ArgumentParser) -> None:
    """Where, how often, and from what space."""
    parser.add_argument("--on", action="append", choices=SETS, help="repeatable; default: all three")
    parser.add_argument(
        "--formalization", action="append", metavar="NAME", help="repeatable; default: the six, and a fresh head"
    )
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--learning-rate", help="default: 1e-5,2e-5,3e-5")
    parser.add_argument("--epochs", help="default: 10,20,40")
    parser.add_argument("--batch-size", help="default: 8,16,32,64")
    parser.add_argument("--workers", type=int, default=1, help="trials at a time")
    parser.add_argument("--holdout", type=int, default=260, help="of DPR, to choose on")


if __name__ == "__main__":
    run(experiment, __doc__, arguments=arguments)
