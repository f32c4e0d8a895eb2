"""The settings of a paired test, shared by `compare` and `gate`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from winokit.data.loading import DATA_HELP, DataLike
from winokit.methods.metrics.pair_measures import PairMeasure
from winokit.settings import Help, Settings


@dataclass(frozen=True)
class PairSettings(Settings):
    """Settings of a paired test: its measures, its data and its margin."""

    metric: Annotated[
        Sequence[PairMeasure] | None,
        Help("What to compare by; repeatable. Default: accuracy, and group_accuracy where there are groups."),
    ] = None
    data: Annotated[
        DataLike | None, Help(f"{DATA_HELP} The problems of files of predictions.", metavar="DATA", shown=False)
    ] = None
    margin: Annotated[float, Help("The difference that matters, in points.", least=0, most=100)] = 5.0
    """The default is 5, since smaller differences cannot be shown on the usual test sets."""

    @property
    def measures(self) -> tuple[PairMeasure, ...] | None:
        """The measures, each once, or None for the default measures."""
        return None if self.metric is None else tuple(dict.fromkeys(self.metric))

    @property
    def margin_share(self) -> float:
        """The margin as a share."""
        return self.margin / 100
