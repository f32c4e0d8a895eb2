"""What a transfer is worth: which arms are above guessing where, and whether gender statistics move the accuracy."""

from __future__ import annotations

from collections.abc import Iterator

from winokit.report.decision import BAD, GOOD, PLAIN, Case, DecisionTable, Point, Verdict
from winokit.report.standings import MIXED, SEVERAL, standing, together
from winokit.report.wording import join, percent, plural, points
from winokit.results import ABOVE, AT, BELOW, UNKNOWN, Metric, stands
from winokit.training.transfer import Transfer

CELLS, GAP = "cells", "gap"
CLEAR, UNCLEAR, UNMEASURED = "clear", "unclear", "unmeasured"

WORDS = {
    ABOVE: ("Every arm is above guessing on every test set", GOOD),
    MIXED: ("Some arms are above guessing on some test sets", PLAIN),
    AT: ("No arm is above guessing on any test set", BAD),
    BELOW: ("Every arm is below guessing on every test set", BAD),
    UNKNOWN: ("Nothing was scored", PLAIN),
}
TRANSFER = DecisionTable(
    {CELLS: SEVERAL, GAP: (CLEAR, UNCLEAR, UNMEASURED)},
    (
        *(
            Case(
                {CELLS: place, GAP: CLEAR},
                f"{word}; gender statistics move the accuracy",
                PLAIN if tone == GOOD else tone,
            )
            for place, (word, tone) in WORDS.items()
        ),
        *(Case({CELLS: place}, word, tone) for place, (word, tone) in WORDS.items()),
    ),
)


def _accuracies(found: Transfer, test: str | None = None) -> list[tuple[str, Metric]]:
    """Each arm with its accuracy, on one test set or on all."""
    rows = [(cell.arm, cell.row("accuracy")) for cell in found.cells if test in (None, cell.test)]
    return [(arm, row) for arm, row in rows if row is not None]


def _gaps(found: Transfer) -> list[tuple[str, str, Metric]]:
    """The gaps between gotchas and others, with where they were found and of which pronouns."""
    named = [
        (cell, gender, cell.row("delta", gender, "gender")) for cell in found.cells for gender in ("female", "male")
    ]
    return [(f"{cell.arm}, {cell.test}", gender, row) for cell, gender, row in named if row is not None]


def state_of(found: Transfer) -> dict[str, str]:
    """The facts of all cells together."""
    moved = {stands(row) in (ABOVE, BELOW) for _, _, row in _gaps(found)}
    return {
        CELLS: together(standing(row) for _, row in _accuracies(found)),
        GAP: UNMEASURED if not moved else CLEAR if True in moved else UNCLEAR,
    }


def verdict_of_transfer(found: Transfer) -> Verdict:
    """A word, a sentence and the findings behind them."""
    case = TRANSFER.decide(state_of(found))
    rows = [row for _, row in _accuracies(found)]
    above = sum(standing(row) == ABOVE for row in rows)
    are = "is" if above == 1 else "are"
    headline = f"Of {plural(len(rows), 'cell')}, an arm on a test set each, {above:,} {are} above guessing."
    once = " Each is one run; another seed may do otherwise." if rows else ""
    return Verdict(case.word, case.tone, headline + once, tuple(_points(found)))


def _points(found: Transfer) -> Iterator[Point]:
    """For each test set, which arms are above guessing; gaps between gotchas that are no accident."""
    for test in found.tests:
        rows = _accuracies(found, test.name)
        if not rows:
            continue
        place = together(standing(row) for _, row in rows)
        above = [f"{arm} ({percent(row.value)})" for arm, row in rows if standing(row) == ABOVE]
        text = (
            f"above guessing after training on {join(above)}" if above else WORDS[place][0].partition(" on ")[0].lower()
        )
        yield Point(f"{test.name}: {text}.", GOOD if above else BAD, {f"{test.name}/{CELLS}": place})
    for where, gender, row in _gaps(found):
        if stands(row) in (ABOVE, BELOW):
            moved = f"{points(-row.value)} points where statistics mislead"
            yield Point(f"{where}: accuracy on {gender} pronouns moves by {moved}.", BAD, {GAP: CLEAR})
