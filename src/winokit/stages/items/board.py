"""The board: every model ranked on the same items, by family."""

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
    """Make the row of a board for a ranked scorer.

    `switched` is its share right with the candidates switched, None if that is unknown. `link` leads to its audit.
    """
    return BoardRow(
        name=name,
        family=family,
        rank=ranked.rank,
        ranks=rank_words(ranked.best_rank, ranked.worst_rank),
        single=ranked.right.value,
        low=ranked.right.low,
        high=ranked.right.high,
        told_apart=ranked.told_apart,
        right_way_round=ranked.right_way_round,
        switched=switched,
        link=link,
    )


def board_of(run: ItemsRun) -> DrawnBoard:
    """Make the board of all models, families folded below their best member.

    Folded members are shown only when somebody opens the family.
    """
    matrix = run.judged.matrix
    names = family_names(run)
    pairs = [(int(first), int(second)) for first, second in opposite_pairs(run.judged.asked)]
    rows = []
    for ranked in rank_scorers(matrix):
        model = matrix.scorers[ranked.scorer].model
        family_number = int(run.judged.families[ranked.scorer])
        row = board_row(ranked, model, names[family_number])
        rows.append(replace(row, bounds=bounds_of(run, ranked, pairs)))
    return drawn_board(run.dataset.card.name, rows)


def bounds_of(run: ItemsRun, ranked: RankedScorer, pairs: Sequence[tuple[int, int]]) -> tuple[float, float] | None:
    """Bounds of a scorer's share of pairs right.

    They are the lower and the upper one, from 0 to 1, and follow from the item parameters of the bank. `pairs` are the
    rows of twins with opposite answers. None without a bank, or if the scorer answers no item of it.
    """
    if run.bank is None:
        return None
    matrix = run.judged.matrix
    answered_rows = np.flatnonzero(matrix.is_asked[ranked.scorer])
    bank_rows = np.intersect1d(answered_rows, run.bank.rows)
    if not len(bank_rows):
        return None
    share_right = float(matrix.right[ranked.scorer, bank_rows].mean())
    return run.bank.pair_bounds(share_right, pairs, bank_rows.tolist())


def family_names(run: ItemsRun) -> Mapping[int, str]:
    """Names of the families by number: the strongest member with the number."""
    return {family.number: f"{family.name} {family.number}" for family in run.families}


def write_board(run: ItemsRun, folder: Path) -> Path:
    """Write the page of the board into a folder.

    Returns the path of the page.
    """
    pair_count = plural(len(run.judged.pairs), "pair")
    titles = {**COLUMNS, "told_apart": f"Told apart ({pair_count})"}
    return write_page(
        folder / BOARD_PAGE,
        "stages/items/board.html.j2",
        board=board_of(run),
        titles=titles,
        items=plural(len(run.judged.rows), "item"),
        index=PAGE,
    )
