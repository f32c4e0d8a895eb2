"""The verdict on a transfer.

Single problems give the word. Groups, gaps and signs of trouble qualify it.
"""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING

from winokit.drawing import decision
from winokit.drawing.decision import BAD, GOOD, MIXED, SEVERAL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.wording import join, percent, plural, points
from winokit.results import ABOVE, BELOW, Metric
from winokit.stages.transfer.table import SINGLE, WHOLE

if TYPE_CHECKING:
    from winokit.stages.transfer.run import Transfer

CELLS = "cells"
GROUPS = "groups"
GAP = "gap"
SIGNS = "signs"
CLEAR = "clear"
UNCLEAR = "unclear"
UNMEASURED = "unmeasured"
YES = "yes"
NO = "no"

TRANSFER = DecisionTable.of_stage(
    "transfer", {CELLS: SEVERAL, GROUPS: SEVERAL, GAP: (CLEAR, UNCLEAR, UNMEASURED), SIGNS: (YES, NO)}
)


def _select_rows(transfer: "Transfer", fact: str, test: str | None = None) -> list[tuple[str, Metric]]:
    """Rows of accuracy or group accuracy with their arms.

    They are those of one test set, or of all if there is no `test`.
    """
    key = SINGLE if fact == CELLS else WHOLE
    rows = [(cell.arm, cell.row(*key)) for cell in transfer.cells if test in (None, cell.test)]
    return [(arm, row) for arm, row in rows if row is not None]


def _select_gap_rows(transfer: "Transfer") -> list[tuple[str, str, Metric]]:
    """Rows of the gaps, with their cell and their pronouns."""
    cells_by_gender = product(transfer.cells, ("female", "male"))
    rows = [
        (f"{cell.arm}, {cell.test}", gender, cell.row("delta", gender, "gender")) for cell, gender in cells_by_gender
    ]
    return [(where, gender, row) for where, gender, row in rows if row is not None]


def state_of(transfer: "Transfer") -> dict[str, str]:
    """The facts of all cells together."""
    among = _count_rows(transfer)
    cells = [decision.standing(row, among) for _, row in _select_rows(transfer, CELLS)]
    groups = [decision.standing(row, among) for _, row in _select_rows(transfer, GROUPS)]
    return {
        CELLS: decision.together(cells),
        GROUPS: decision.together(groups),
        GAP: _find_gap_state(transfer),
        SIGNS: YES if transfer.warnings else NO,
    }


def _find_gap_state(transfer: "Transfer") -> str:
    """Whether some gap is no accident, none is, or there are none."""
    gaps = _select_gap_rows(transfer)
    if not gaps:
        return UNMEASURED
    is_clear = any(decision.standing(row, len(gaps)) in (ABOVE, BELOW) for _, _, row in gaps)
    return CLEAR if is_clear else UNCLEAR


def _count_rows(transfer: "Transfer") -> int:
    """Number of rows that share the level of the tests."""
    return sum(len(_select_rows(transfer, fact)) for fact in (CELLS, GROUPS))


def verdict_of_transfer(transfer: "Transfer") -> Verdict:
    """A word, a sentence and the findings behind them."""
    state = state_of(transfer)
    case = TRANSFER.decide(state)
    rows = [row for _, row in _select_rows(transfer, CELLS)]
    above_count = sum(decision.standing(row, _count_rows(transfer)) == ABOVE for row in rows)
    are = "is" if above_count == 1 else "are"
    cells = plural(len(rows), "cell")
    headline = f"Of {cells}, one per arm and test set, {above_count:,} {are} above chance. "
    is_doubtful = state[SIGNS] == YES and state[CELLS] in (ABOVE, MIXED)
    if is_doubtful:
        headline += TRANSFER.words["tried"]
    if rows:
        headline += "Each is one run; another seed may give another result."
    points = (*_describe_tests(transfer), *_describe_gaps(transfer))
    return Verdict(case.word, case.tone, headline.strip(), points)


def _describe_tests(transfer: "Transfer") -> Iterator[VerdictPoint]:
    """Findings on each test set: the arms above chance."""
    among = _count_rows(transfer)
    for test, (fact, unit) in product(transfer.tests, ((CELLS, ""), (GROUPS, ", whole groups"))):
        rows = _select_rows(transfer, fact, test.name)
        fact_standing = decision.together(decision.standing(row, among) for _, row in rows)
        above = [f"{arm} ({percent(row.value)})" for arm, row in rows if decision.standing(row, among) == ABOVE]
        text = (
            f"above chance after training on {join(above)}" if above else TRANSFER.words["not_above"].get(fact_standing)
        )
        if text is not None:
            yield VerdictPoint(
                f"{test.name}{unit}: {text}.", GOOD if above else BAD, {f"{test.name}/{fact}": fact_standing}
            )


def _describe_gaps(transfer: "Transfer") -> Iterator[VerdictPoint]:
    """The gaps between gotchas and others that are no accident."""
    gaps = _select_gap_rows(transfer)
    for where, gender, row in gaps:
        if decision.standing(row, len(gaps)) in (ABOVE, BELOW):
            moved = f"{points(-row.value)} points where statistics mislead"
            yield VerdictPoint(f"{where}: accuracy on {gender} pronouns moves by {moved}.", BAD, {GAP: CLEAR})
