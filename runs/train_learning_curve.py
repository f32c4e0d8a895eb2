"""WinoGrande (Sakaguchi et al., 2020), learning curve over train_xs to train_xl, with the line through it.

Scored on the public dev set with the last weights of each run; single problems and pairs, the fit a ln x + b, where it
would meet people's 94 %, and the leaderboard's area. Restarts differ in head, dropout and order of batches.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from runs.trained import Options, Outcome, curve_outcome, run, settings_arguments, settings_of
from winokit.drawing.tables import progress_bar
from winokit.methods.training.data import TrainingData
from winokit.methods.training.settings import TrainSettings
from winokit.stages.curve.nested import NestedGrowth
from winokit.stages.curve.run import CurveDesign, LearningCurve, learning_curve

PAPER = TrainSettings("mc-sent?style=winogrande", learning_rate=1e-5, epochs=8, batch_size=16)
SIZES = ("xs", "s", "m", "l", "xl")


def experiment(options: Options) -> Outcome:
    """A table a model, and the page with its picture in the output folder."""
    return curve_outcome(options, lambda spec, out: curve(options, spec, out))


def curve(options: Options, spec: str, out: Path) -> LearningCurve:
    """The curve of a model."""
    settings = settings_of(options, PAPER)
    files = [options.load(f"winogrande/train_{size}.jsonl") for size in SIZES]
    growing = [files[0], *(large for small, large in pairwise(files) if len(large) > len(small))]
    dev = options.load("winogrande/dev.jsonl")
    apart = [TrainingData(file, dev).checked(drop_overlap=True) for file in growing]
    design = CurveDesign((settings.formalization,), restarts=options.more.seeds)
    with progress_bar("learning curve") as told:
        return learning_curve(
            NestedGrowth.of_files([data.train for data in apart]), apart[-1], out, spec, settings, design, progress=told
        )


if __name__ == "__main__":
    run(experiment, __doc__, arguments=settings_arguments(PAPER))
