"""What the terminal shows: plain tables, and a bar while something takes its time. Rich is used here alone."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from winokit.progress import BEGINS, Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
else:  # loaded when something is drawn
    Console = Table = Text = object

Lines = Iterable[str | Text | Table]
"""What a verb shows a person: sentences, lines with a style, tables."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    left: int = 1,
    words: Sequence[int] = (),
    title: str | None = None,
) -> Table:
    """A table without lines: the first `left` columns, and those at `words`, are words; the others stand to the right.

    Cells are taken as they are: brackets are no markup. `dim` marks one that chance would explain.
    """
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    worded = {*range(left), *(place % len(heads) for place in words)}
    for place, head in enumerate(heads):
        drawn.add_column(Text(head), justify="left" if place in worded else "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return drawn


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str | Table]:
    """What a dry run found (`Ledger.planned`): requests, tokens and cost by variant and protocol, and in all."""
    counts = ["requests", "cached", "new", "tokens_in", "tokens_out_at_most"]
    heads = ["requests", "cached", "new", "tokens read", "written at most"]
    if "cost_at_most" in plan:
        counts = [*counts, "cost_at_most"]
        heads = [*heads, "cost at most"]

    def cells(row: Mapping[str, Any]) -> list[str]:
        return [f"{row[name]:,.4f}" if name == "cost_at_most" else f"{row[name]:,}" for name in counts]

    # Of a suite a row is a dataset.
    named = [name for name in ("model", "scoring", "dataset", "variant") if name in next(iter(plan["by_variant"]), ())]
    listed = ([*(row[name] for name in named), *cells(row)] for row in plan["by_variant"])
    yield table([*named, *heads], listed, left=len(named))
    if plan["by_protocol"]:
        yield ""
        yield table(["protocol", *heads], ([row["protocol"], *cells(row)] for row in plan["by_protocol"]))
        yield ""
    yield "in all: {new:,} new requests of {requests:,}, {cached:,} cached".format(**plan)
    if plan.get("asked_again"):
        yield f"{plan['asked_again']:,} cached answers are asked for again, to see whether the server still gives them"
    yield "{about}{tokens_in:,} tokens read, {tokens_out_at_most:,} written at most".format(
        about="about " if plan["estimated"] else "", **plan
    ) + (f"; cost at most {plan['cost_at_most']:,.4f}" if "cost_at_most" in plan else "")
    if plan["estimated"]:
        yield "tokens are estimates, four bytes each; ?tokenizer=NAME_OR_DIR of a served model counts them"
    yield "a dry run: nothing was sent"


def dim(text: str, when: bool = True) -> Text:
    """A cell in grey, where `when` says so."""
    return styled((text, "dim" if when else ""))


def styled(*parts: str | tuple[str, str]) -> Text:
    """A line of several parts, some with a style: `styled("all ", ("well", "green"))`."""
    from rich.text import Text

    return Text.assemble(*parts)


def console() -> Console:
    """A console with colours only where a person looks, and wide enough for whole rows where none does."""
    from rich.console import Console

    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=200)


@contextmanager
def progress_bar(doing: str) -> Iterator[Progress | None]:
    """A bar with the time left, on standard error, where a person looks; None elsewhere."""
    from rich.console import Console

    if not Console(stderr=True).is_terminal:
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bars(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task(doing)
        token = BEGINS.set(lambda part: bars.reset(task, description=part))
        yield lambda done, total: bars.update(task, completed=done, total=total)
        BEGINS.reset(token)
