"""The cells of a suite: who is asked about what, and what became of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winokit.data.runs import Run
from winokit.results import Brief
from winokit.stages.suite.settings import SuiteData, SuiteModel

WAITING, RUNNING, DONE, FAILED, EMPTY = "waiting", "running", "done", "failed", "empty"
"""What may be said of a cell; an empty one has nothing to run: no predictions are stored for it."""


@dataclass(frozen=True)
class Entrant:
    """A row of the matrix: a model, the way it is scored and the shots it is shown."""

    model: SuiteModel
    scoring: str | None
    shots: int
    name: str
    number: int
    """Its row, from 1."""


@dataclass
class SuiteCell:
    """One entrant on one dataset, and what became of it."""

    entrant: Entrant
    data: SuiteData
    predictions: Path | None = None
    folder: Path | None = None
    state: str = WAITING
    why: str | None = None
    share: float = 0.0
    """How much of it is done."""
    seconds: float = 0.0
    parameters: float | None = None
    """How many the model has, where it says."""
    run: Run | None = field(default=None, repr=False)
    """The audit: its rows, and its predictions for the problems as they are."""

    @property
    def dataset(self) -> str:
        """The name of its dataset, with how much of it is asked."""
        return self.data.asked.card.name

    @property
    def folder_link(self) -> str | None:
        """Its folder, seen from the suite's, where there is something in it."""
        return None if self.folder is None or self.state != DONE else "/".join(self.folder.parts[-3:])

    def to_json(self) -> dict[str, Any]:
        """What `suite.json` says of it."""
        names = {"entrant": self.entrant.name, "model": self.entrant.model.title, "dataset": self.dataset}
        asked = {"scoring": self.entrant.scoring, "shots": self.entrant.shots}
        about = {"state": self.state, "why": self.why, "seconds": round(self.seconds, 3), "folder": self.folder_link}
        return {**names, **asked, **about, "parameters": self.parameters, "family": self.entrant.model.family}


Watch = Callable[[Sequence[SuiteCell]], None]
"""Told of all cells whenever one of them has moved on."""


@dataclass(repr=False)
class SuiteRun(Brief):
    """Every cell, and where the page is."""

    settings: dict[str, Any]
    cells: list[SuiteCell]
    plan: dict[str, Any] | None = None
    """Of a dry run: what would be asked."""
    page: Path | None = None
