"""The board: every model ranked on the same items, families folded, on a page of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from winokit.drawing.board import COLUMNS, BoardRow, DrawnBoard, drawn_board, rank_words
from winokit.drawing.page import write_page
from winokit.drawing.wording import plural
from winokit.methods.metrics.judge_board import RankedScorer, rank_scorers
from winokit.methods.metrics.judge_items import opposite_pairs
from winokit.stages.items.run import BOARD_PAGE, PAGE, ItemsRun


def board_row(
    ranked: RankedScorer, name: str, family: str, switched: float | None = None, link: str | None = None
) -> BoardRow:
    """A judged scorer as a row of a board."""
    return BoardRow(
        name,
        family,
        ranked.rank,
        rank_words(ranked.best_rank, ranked.worst_rank),
        ranked.right.value,
        ranked.right.low,
        ranked.right.high,
        ranked.told_apart,
        ranked.right_way_round,
        switched,
        link=link,
    )


def board_of(run: ItemsRun) -> DrawnBoard:
    """The board of all models, families folded below their best member."""
    matrix = run.judged.matrix
    names = family_names(run)
    pairs = [(int(first), int(second)) for first, second in opposite_pairs(run.judged.asked)]
    rows = []
    for ranked in rank_scorers(matrix):
        family = int(run.judged.families[ranked.scorer])
        row = board_row(ranked, matrix.scorers[ranked.scorer].model, names[family])
        rows.append(replace(row, bounds=bounds_of(run, ranked, pairs)))
    return drawn_board(run.dataset.card.name, rows)


def bounds_of(run: ItemsRun, ranked: RankedScorer, pairs: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Bounds of the share of pairs right by the bank of items, or None without one."""
    if run.bank is None:
        return None
    asked_rows = np.intersect1d(np.flatnonzero(run.judged.matrix.is_asked[ranked.scorer]), run.bank.rows)
    if not len(asked_rows):
        return None
    right = float(run.judged.matrix.right[ranked.scorer, asked_rows].mean())
    return run.bank.pair_bounds(right, pairs, asked_rows.tolist())


def family_names(run: ItemsRun) -> Mapping[int, str]:
    """The name of each family by its number."""
    return {family.number: f"{family.name} {family.number}" for family in run.families}


def write_board(run: ItemsRun, folder: Path) -> Path:
    """Write the board beside the page of items."""
    pairs = plural(len(run.judged.pairs), "pair")
    titles = {**COLUMNS, "told_apart": f"Told apart ({pairs})"}
    return write_page(
        folder / BOARD_PAGE,
        "stages/items/board.html.j2",
        board=board_of(run),
        titles=titles,
        items=plural(len(run.judged.rows), "item"),
        index=PAGE,
    )
