"""What every reader hands over: one row of somebody's predictions, in that file's own terms."""

from __future__ import annotations

from dataclasses import dataclass

ORIGINAL = "original"


@dataclass(frozen=True, slots=True)
class PredictionRow:
    """One prediction as its file states it. Indices and scores follow the row's own order of candidates."""

    place: str
    """Where it stands, for messages: "line 12", "sample 3"."""
    model: str
    scoring: str
    variant: str = ORIGINAL
    hits: tuple[int, ...] = ()
    """Places in the dataset of the problem it is about; several for exact repetitions, none where it matches none."""
    reason: str = ""
    """Why it matches none, or why nothing can be taken from it."""
    candidates: tuple[str, ...] | None = None
    """The candidates in the row's order; None where the file knows only the dataset's."""
    scores: tuple[float, ...] | None = None
    prediction: int | None = None
    why: str | None = None
    """Why it is an abstention."""
    gold: int | None = None
    """The right answer according to the file, to be compared with the dataset's."""
    verdict: bool | None = None
    """Whether the file itself says that the prediction is right."""
