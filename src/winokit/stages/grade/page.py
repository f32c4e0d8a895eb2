"""The page of a leaderboard: one file that opens from disk, sorts by any column and asks nothing of the network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from winokit.drawing.page import write_page
from winokit.drawing.wording import join, plural
from winokit.files import refuse_overwriting
from winokit.progress import tell
from winokit.stages.grade.leaderboard import SMALL, BoardPlace, Leaderboard, leaderboard
from winokit.stages.grade.record import AUC

WIDTH, HEIGHT, EDGE = 108, 34, 4
LOWEST = 0.4
"""Where the axis of the small curves begins: chance is well inside, and no curve worth drawing is below."""


def make_board(
    release: Path, folder: Path, out: Path | None, *, hidden: Path | None = None, owner: bool = False
) -> Leaderboard:
    """The board of the graded entries in a folder, and its page."""
    out = out or Path("board.html")
    refuse_overwriting(out, folder.glob("*.json"))
    board = replace(leaderboard(release, folder, hidden=hidden, owner=owner), page=out)
    write_board(board, out)
    tell(board.notes)
    return board


def write_board(board: Leaderboard, path: Path) -> None:
    """Write the page."""
    write_page(
        path,
        "stages/grade/page.html.j2",
        board=board,
        rows=[(place, curve_of(place)) for place in board.places],
        sentences=list(_sentences(board)),
        ranks_by="AUC" if board.metric == AUC else "Accuracy",
        formalizations=sorted({place.entry.statement.formalization for place in board.places if place.entry.statement}),
        size=(WIDTH, HEIGHT),
        small=SMALL,
        has_curves=any(place.curve for place in board.places),
    )


def curve_of(place: BoardPlace) -> dict[str, Any] | None:
    """The curve of an entry over the logarithm of its training sizes, small, by its template's names; None without one.

    Its dots, the height of chance, and the curve in words.
    """
    scores, sizes = place.curve, place.entry.sizes
    if len(scores) < 2:
        return None
    logs = [math.log2(sizes[score.size]) for score in scores]
    across = (WIDTH - 2 * EDGE) / ((logs[-1] - logs[0]) or 1)
    across_all = [round(EDGE + (log - logs[0]) * across, 1) for log in logs]
    dots = list(zip(across_all, (_height(score.value) for score in scores), strict=True))
    said = join([f"{score.value:.1%} with {sizes[score.size]:,} training problems" for score in scores])
    return {"dots": dots, "chance": _height(scores[0].chance), "said": said}


def _height(value: float) -> float:
    share = (min(max(value, LOWEST), 1.0) - LOWEST) / (1 - LOWEST)
    return round(HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE), 1)


def _sentences(board: Leaderboard) -> Iterator[str]:
    """What may be said of the order, and what not."""
    hidden = sum(place.main is None for place in board.places)
    if hidden:
        yield f"For {hidden} of them no score is shown: see below."
    tested = [place for place in board.places if place.ahead is not None]
    if not tested:
        return
    apart = sum(place.ahead is not None and place.ahead.told_apart for place in tested)
    yield (
        f"Of {plural(len(tested), 'pair')} of neighbours, {apart} can be told apart in the main score (p below {SMALL} "
        f"after Holm's correction for {plural(board.tests, 'paired test')}); the order of the others may be chance."
    )
    if board.places[0].ahead is None or not board.places[0].ahead.told_apart:
        yield "That the first is better than the second is not shown."
