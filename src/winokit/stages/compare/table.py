"""A comparison on the terminal and for scripts."""

from dataclasses import asdict
from typing import Any

from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import points, probability
from winokit.stages.compare.pairs import ScorerPair
from winokit.stages.compare.run import ComparedRuns
from winokit.stages.compare.verdict import comparison_sentences, comparison_words

MOST_WORDS = 10
"""Largest number of pairs of scorers that have a sentence each on the terminal. With more, it has the table alone."""
HEADS = ("first", "second", "measure", "points", "95 % interval", "p (Holm)", "shown", "n", "n needed")


def lines(result: ComparedRuns) -> Lines:
    """Yield the verdicts, a table of tests, and the page's path.

    Two scorers have a whole paragraph. Up to ten pairs of scorers have a sentence each, and more have the table alone.
    """
    words = comparison_words(result.pairs)
    if len(words) == 1:
        yield from comparison_sentences(result.pairs)
    elif len(words) <= MOST_WORDS:
        yield from words
    yield table(HEADS, [_make_row(pair) for pair in result.pairs], left=3, words=(6,))
    if result.page is not None:
        yield f"page: {result.page}"


def _make_row(pair: ScorerPair) -> tuple[str, ...]:
    """Cells of one test, with differences in points."""
    comparison = pair.found
    interval = f"{points(comparison.interval.low)} to {points(comparison.interval.high)}"
    needed = "–" if comparison.n_to_tell_apart is None else f"{comparison.n_to_tell_apart:,}"
    return (
        pair.first,
        pair.second,
        pair.measure_title,
        points(comparison.difference),
        interval,
        probability(pair.p_corrected),
        pair.word,
        f"{comparison.n:,}",
        needed,
    )


def as_json(result: ComparedRuns) -> list[dict[str, Any]]:
    """All tests as JSON-ready values, with numbers as shares."""
    return [_describe_test(pair) for pair in result.pairs]


def _describe_test(pair: ScorerPair) -> dict[str, Any]:
    """One test as JSON-ready values, with numbers as shares."""
    comparison = asdict(pair.found)
    del comparison["resolution"]
    return {
        "first": pair.first,
        "second": pair.second,
        "measure": pair.measure,
        "found": comparison,
        "p_corrected": pair.p_corrected,
        "margin": pair.verdict.margin,
        "word": pair.word,
        "ahead": pair.ahead,
        "gap_to_find": pair.verdict.gap_to_find,
        "can_show_equality": pair.verdict.can_show_equality,
    }
