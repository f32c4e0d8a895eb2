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
    """List rows of accuracy or group accuracy, each with its arm.

    `fact` is CELLS for accuracy, GROUPS for group accuracy. The rows are those on the test set named `test`, or on all
    if that is None.
    """
    key = SINGLE if fact == CELLS else WHOLE
    rows = [(cell.arm, cell.row(*key)) for cell in transfer.cells if test in (None, cell.test)]
    return [(arm, row) for arm, row in rows if row is not None]


def _select_gap_rows(transfer: "Transfer") -> list[tuple[str, str, Metric]]:
    """List the rows of gaps between gotchas and others.

    Each is with the name of its cell and the gender of the pronouns.
    """
    rows = []
    for cell, gender in product(transfer.cells, ("female", "male")):
        row = cell.row("delta", gender, "gender")
        if row is not None:
            rows.append((f"{cell.arm}, {cell.test}", gender, row))
    return rows


def state_of(transfer: "Transfer") -> dict[str, str]:
    """State of each fact of the decision table, over all cells.

    The table has a verdict for each combination of states.
    """
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
    """State of the gaps: clear, unclear or unmeasured.

    They are clear if at least one differs from zero beyond chance, and unmeasured if there are none.
    """
    gaps = _select_gap_rows(transfer)
    if not gaps:
        return UNMEASURED
    standings = [decision.standing(row, len(gaps)) for _, _, row in gaps]
    return CLEAR if ABOVE in standings or BELOW in standings else UNCLEAR


def _count_rows(transfer: "Transfer") -> int:
    """Number of rows tested together, by which the level is divided."""
    return sum(len(_select_rows(transfer, fact)) for fact in (CELLS, GROUPS))


def verdict_of_transfer(transfer: "Transfer") -> Verdict:
    """The verdict on a transfer, with the findings behind it."""
    state = state_of(transfer)
    case = TRANSFER.decide(state)
    among = _count_rows(transfer)
    rows = [row for _, row in _select_rows(transfer, CELLS)]
    above_count = sum(decision.standing(row, among) == ABOVE for row in rows)
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
    """Yield findings on each test set: the arms above chance.

    Accuracy and group accuracy have a finding each.
    """
    among = _count_rows(transfer)
    for test, (fact, unit) in product(transfer.tests, ((CELLS, ""), (GROUPS, ", whole groups"))):
        rows = _select_rows(transfer, fact, test.name)
        standings = [decision.standing(row, among) for _, row in rows]
        fact_standing = decision.together(standings)
        above = []
        for (arm, row), row_standing in zip(rows, standings, strict=True):
            if row_standing == ABOVE:
                above.append(f"{arm} ({percent(row.value)})")
        if above:
            text = f"above chance after training on {join(above)}"
        else:
            text = TRANSFER.words["not_above"].get(fact_standing)
        if text is not None:
            tone = GOOD if above else BAD
            claims = {f"{test.name}/{fact}": fact_standing}
            yield VerdictPoint(f"{test.name}{unit}: {text}.", tone, claims)


def _describe_gaps(transfer: "Transfer") -> Iterator[VerdictPoint]:
    """Yield findings on gaps that differ from zero beyond chance.

    A gap is that between gotchas and others.
    """
    gaps = _select_gap_rows(transfer)
    for cell_name, gender, row in gaps:
        if decision.standing(row, len(gaps)) in (ABOVE, BELOW):
            change = f"{points(-row.value)} points where statistics mislead"
            yield VerdictPoint(f"{cell_name}: accuracy on {gender} pronouns moves by {change}.", BAD, {GAP: CLEAR})
