"""The datasets of a training run, as settings."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from winokit.data.sets import Sets
from winokit.problem import Dataset
from winokit.settings import Help


@dataclass(frozen=True)
class TrainSets(Sets):
    """The sets of one training run, with one dev set."""

    dev: Annotated[str | Path | Dataset | None, Help("Choose the weights that do best on this.", "DATA")] = None
