"""Settings of a training run beside model and training: the sets."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from winokit.data.sets import Sets
from winokit.problem import Dataset
from winokit.settings import Help


@dataclass(frozen=True)
class TrainSets(Sets):
    """The sets of one training run."""

    dev: Annotated[str | Path | Dataset | None, Help("Choose the weights that do best on this.", "DATA")] = None
