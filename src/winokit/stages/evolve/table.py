"""Terminal output of a next version: problems, scores and the release."""

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
"""The words for each status of a problem, after a count."""


def lines(evolved: EvolvedRelease) -> Iterator[Any]:
    """Yield terminal lines on problems, scores and the release.

    Scores are those that the release's page may show: rounded where there is a hidden test.
    """
    evolution = _select_shown_evolution(evolved)
    counts = [f"{count:,} {WORDS[status]}" for status, count in status_counts(evolution).items()]
    yield f"from {evolution.previous} to {evolution.version}: {', '.join(counts)}"
    score_heads = [title.casefold() for title in TITLES.values()]
    yield table(("model", "version", *score_heads, ""), _make_score_rows(evolution), left=2)
    yield from release_run.lines(evolved)


def as_json(evolved: EvolvedRelease) -> dict[str, Any]:
    """JSON output of the command: the release's, with problems and scores.

    It names the previous version and counts problems by status. Scores are rounded where there is a hidden test.
    """
    evolution = _select_shown_evolution(evolved)
    return {
        **release_run.as_json(evolved),
        "previous": evolution.previous,
        "problems": status_counts(evolution),
        "fares": [asdict(fare) for fare in evolution.fares],
    }


def _select_shown_evolution(evolved: EvolvedRelease) -> Evolution:
    """The part of the evolution that may be shown.

    With a hidden test that is only the public part.
    """
    return evolved.evolution if evolved.hidden is None else public_part(evolved.evolution)


def _make_score_rows(evolution: Evolution) -> Iterator[tuple[str, ...]]:
    """Yield a table row for each model and version, sorted by model.

    It has the model, the version, the scores with intervals, and whether the version was filtered against the model.
    """
    fares_by_key: dict[tuple[str, str], dict[str, Fare]] = {}
    for fare in evolution.fares:
        fares_by_key.setdefault((fare.model, fare.version), {})[fare.metric] = fare
    keys = sorted(fares_by_key, key=lambda key: key[0])
    for key in keys:
        fares = fares_by_key[key]
        scores = [_format_score(fares.get(metric)) for metric in TITLES]
        is_filtered = any(fare.against for fare in fares.values())
        remark = "filtered against it" if is_filtered else ""
        yield (*key, *scores, remark)


def _format_score(fare: Fare | None) -> str:
    """A score with its interval, in per cent. Empty for None."""
    if fare is None:
        return ""
    return f"{percent(fare.value)} [{percent(fare.low)}, {percent(fare.high)}]"
