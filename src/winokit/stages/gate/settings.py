"""The settings of a gate."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from winokit.data.loading import DATA_HELP, DataLike
from winokit.methods.metrics.pair_measures import PairMeasure
from winokit.settings import Help
from winokit.stages.compare.settings import PairSettings


@dataclass(frozen=True)
class GateSettings(PairSettings):
    """Settings of a gate: a paired test with an allowed drop.

    The margin is the drop.
    """

    metric: Annotated[
        Sequence[PairMeasure] | None,
        Help(
            "The metric that must not drop; repeatable. Default: accuracy, and group_accuracy where there are groups."
        ),
    ] = None
    margin: Annotated[float, Help("The allowed drop, in points.", least=0, most=100, was="max_drop")] = 1.0
    level: Annotated[float, Help("1 minus the joint confidence of all intervals.", above=0, below=1)] = 0.05
    strict: Annotated[bool, Help("Pass only if the drop is shown to be smaller than allowed.")] = False
    of: Annotated[str | None, Help("Which model, if a run has several.", metavar="NAME", was="model")] = None
    scoring: Annotated[str | None, Help("Which scoring, if a model has several.", metavar="NAME")] = None
    data: Annotated[
        DataLike | None,
        Help(f"{DATA_HELP} The dataset of the prediction files. Default: that of the other run.", metavar="DATA"),
    ] = None
