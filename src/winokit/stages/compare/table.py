"""What the command line shows of a comparison: a line per paired test."""

from dataclasses import asdict
from typing import Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import probability
from winokit.stages.compare.page import ScorerPair
from winokit.stages.compare.run import ComparedRuns


def lines(result: ComparedRuns) -> Lines:
    """Every test, and where the page lies."""
    heads = ("first", "second", "measure", "difference", "95 % interval", "p (Holm)", "n", "n needed")
    yield table(heads, [_row(pair) for pair in result.pairs], left=3)
    if result.page is not None:
        yield f"page: {result.page}"


def _row(pair: ScorerPair) -> tuple[str, ...]:
    test = pair.found
    return (
        pair.first,
        pair.second,
        pair.measure_title,
        f"{test.difference:+.3f}",
        f"{test.interval.low:+.3f} to {test.interval.high:+.3f}",
        probability(pair.p_corrected),
        f"{test.n:,}",
        "–" if test.n_to_tell_apart is None else f"{test.n_to_tell_apart:,}",
    )


def as_json(result: ComparedRuns) -> list[dict[str, Any]]:
    """Every test with its numbers."""
    return [asdict(pair) for pair in result.pairs]
