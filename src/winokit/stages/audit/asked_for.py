"""The rows of protocols that were asked for by name, and that no other first number shows."""

from collections.abc import Collection, Sequence

from winokit.data.runs import Run
from winokit.drawing.plots import SECONDARY, ForestBlock, ShownScorer, every_row
from winokit.results import READINGS, Metric

PROTOCOLS_NAMED = "protocols_named"
"""The setting that says that the protocols of a run were named, and are not the usual ones."""


def rows_asked_for(run: Run, known: Sequence[ShownScorer], tiles: Collection[Metric]) -> tuple[ForestBlock, ...]:
    """The rows that somebody asked for by name, without those that `tiles` show; every row if there are no tiles."""
    if tiles and not run.settings.get(PROTOCOLS_NAMED):
        return ()
    shown = {id(row) for row in tiles}
    rows = [row for row in run.metrics if row.protocol != READINGS and id(row) not in shown]
    main_rows = [row for row in rows if row.metric not in SECONDARY and "." not in row.subset]
    return every_row(main_rows or rows, known)
