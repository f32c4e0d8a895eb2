"""Back to Square One (Elazar et al., 2021), Figure 2, Tables 4 and 5: learning curves on special words, re-split.

WinoGrande's training set in its special-word form: which of two words makes the sentence true? Tested on the pairs of
which AFLite kept both twins (2,000 problems at most), trained on others: 12 sizes from none to 16,000, whole pairs,
three restarts that share nothing. Table 4 is `mc-sent`, Table 5 `mc-mlm`. The paper's three runs a point go on with
one and the same model, and its smaller sets tear pairs apart; its dev set is not used here, since nothing is chosen.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from runs.square_one import special_words, unfolded
from runs.trained import Options, Outcome, curve_outcome, run, settings_arguments, settings_of
from winokit.drawing.tables import progress_bar
from winokit.methods.training.data import TrainingData
from winokit.methods.training.settings import TrainSettings
from winokit.stages.curve.nested import NestedGrowth
from winokit.stages.curve.run import CurveDesign, LearningCurve, learning_curve

PAPER = TrainSettings("mc-sent", learning_rate=1e-5, epochs=8, batch_size=8)
SIZES = (0, 100, 500, 1000, 2000, 4000, 6000, 8000, 10_000, 12_000, 14_000, 16_000)
TESTED = 1000
"""Pairs to test on, at most."""


def experiment(options: Options) -> Outcome:
    """A table a model and formalization."""
    return curve_outcome(options, lambda spec, out: curve(options, spec, out))


def curve(options: Options, spec: str, out: Path) -> LearningCurve:
    """The curve of a model under each formalization."""
    settings = settings_of(options, PAPER)
    pairs = special_words(options.load("winogrande/train_xl.jsonl"))
    kept = {problem.id for problem in options.load("winogrande/train_debiased.jsonl")}
    whole = [pair for pair in pairs if all(str(problem.provenance["of"]) in kept for problem in pair)][:TESTED]
    tested = {id(pair) for pair in whole}
    train = unfolded("special words, train", (pair for pair in pairs if id(pair) not in tested))
    test = unfolded("special words, test", whole)
    sizes = [size for size in SIZES if size <= len(train)][:: options.more.every]
    data = TrainingData(train, None, (test,)).checked(drop_overlap=True)
    design = CurveDesign(tuple(options.more.formalization.split(",")), restarts=options.more.seeds)
    with progress_bar("learning curve") as told:
        return learning_curve(NestedGrowth(tuple(sizes), data.train), data, out, spec, settings, design, progress=told)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Those of a run, and how many of the sizes."""
    settings_arguments(PAPER)(parser)
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth of the sizes")


if __name__ == "__main__":
    run(experiment, __doc__, arguments=arguments)
