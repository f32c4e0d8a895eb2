"""Terminal output of a next version: problems, scores of models, and the release."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from winokit.drawing.tables import table
from winokit.drawing.wording import percent
from winokit.stages.evolve.evolution import Evolution, Fare
from winokit.stages.evolve.page import TITLES, public_part, status_counts
from winokit.stages.evolve.run import EvolvedRelease
from winokit.stages.release import run as release_run

WORDS = {"kept": "stay", "added": "are new", "removed": "are for training alone", "retired": "are retired"}
"""What became of problems, by their status."""


def lines(evolved: EvolvedRelease) -> Iterator[Any]:
    """Lines on what became of problems, how models score, and the release.

    Scores are those that the release's page may show: rounded where there is a hidden test.
    """
    evolution = _public_evolution(evolved)
    counts = ", ".join(f"{count:,} {WORDS[status]}" for status, count in status_counts(evolution).items())
    yield f"from {evolution.previous} to {evolution.version}: {counts}"
    yield table(
        ("model", "version", *(title.casefold() for title in TITLES.values()), ""), _status_rows(evolution), left=2
    )
    yield from release_run.lines(evolved)


def as_json(evolved: EvolvedRelease) -> dict[str, Any]:
    """The same for scripts: what a release has, with the version before, counts of problems, and scores."""
    evolution = _public_evolution(evolved)
    return {
        **release_run.as_json(evolved),
        "previous": evolution.previous,
        "problems": status_counts(evolution),
        "fares": [asdict(fare) for fare in evolution.fares],
    }


def _public_evolution(evolved: EvolvedRelease) -> Evolution:
    return evolved.evolution if evolved.hidden is None else public_part(evolved.evolution)


def _status_rows(evolution: Evolution) -> Iterator[tuple[str, ...]]:
    """A row for each model and version: its scores with intervals, and whether a fall is by construction."""
    by_place: dict[tuple[str, str], dict[str, Fare]] = {}
    for fare in evolution.fares:
        by_place.setdefault((fare.model, fare.version), {})[fare.metric] = fare
    for (model, version), fares in sorted(by_place.items(), key=lambda item: item[0][0]):
        scores = [_score_cell(fares[metric]) if metric in fares else "" for metric in TITLES]
        is_filtered = any(fare.against for fare in fares.values())
        yield (model, version, *scores, "filtered against it" if is_filtered else "")


def _score_cell(fare: Fare) -> str:
    return f"{percent(fare.value)} [{percent(fare.low)}, {percent(fare.high)}]"
