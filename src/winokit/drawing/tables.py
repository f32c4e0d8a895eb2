"""Plain tables and progress bars for the terminal.

Rich is used here alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from winokit.progress import BEGINS, WATCHES, Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
else:  # loaded when something is drawn
    Console = Table = Text = object

Lines = Iterable[str | Text | Table]
"""Lines that a verb shows: sentences, lines with a style, tables."""


def table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str | Text]],
    *,
    left: int = 1,
    words: Sequence[int] = (),
    title: str | None = None,
) -> Table:
    """Build a table of Rich without lines.

    The first `left` columns and those whose index is in `words` are aligned to the left, the others to the right.
    Cells are not parsed as markup.
    """
    from rich.table import Table
    from rich.text import Text

    def as_text(cell: str | Text) -> Text:
        return cell if isinstance(cell, Text) else Text(cell)

    rich_table = Table(box=None, pad_edge=False, header_style="bold", title=title, title_justify="left")
    word_columns = {*range(left), *(column % len(heads) for column in words)}
    for column, head in enumerate(heads):
        is_words = column in word_columns
        rich_table.add_column(Text(head), justify="left" if is_words else "right", overflow="fold")
    for row in rows:
        rich_table.add_row(*map(as_text, row))
    return rich_table


def plan_lines(plan: Mapping[str, Any]) -> Iterator[str | Table]:
    """Lines of a dry run's plan: requests, tokens and cost.

    `plan` is what `Ledger.planned` returns.
    """
    yield from _plan_tables(plan)
    yield "in all: {new:,} new requests of {requests:,}, {cached:,} cached".format(**plan)
    if plan.get("asked_again"):
        yield f"{plan['asked_again']:,} cached answers are asked for again, to see whether the server still gives them"
    estimate_word = "about " if plan["estimated"] else ""
    tokens = "{tokens_in:,} tokens read, {tokens_out_at_most:,} written at most".format(**plan)
    cost = f"; cost at most {plan['cost_at_most']:,.4f}" if "cost_at_most" in plan else ""
    yield f"{estimate_word}{tokens}{cost}"
    if plan["estimated"]:
        yield "tokens are estimates, four bytes each; ?tokenizer=NAME_OR_DIR of a served model counts them"
    yield "a dry run: nothing was sent"


def _plan_tables(plan: Mapping[str, Any]) -> Iterator[str | Table]:
    """Tables of a plan by variant and by protocol."""
    heads = {
        "requests": "requests",
        "cached": "cached",
        "new": "new",
        "tokens_in": "tokens read",
        "tokens_out_at_most": "written at most",
    }
    if "cost_at_most" in plan:
        heads["cost_at_most"] = "cost at most"

    def format_cells(row: Mapping[str, Any]) -> list[str]:
        cells = []
        for name in heads:
            places = ",.4f" if name == "cost_at_most" else ","
            cells.append(format(row[name], places))
        return cells

    first_row = next(iter(plan["by_variant"]), ())
    # In a suite's plan a row is a dataset.
    names = [name for name in ("model", "scoring", "dataset", "variant") if name in first_row]
    variant_rows = []
    for row in plan["by_variant"]:
        name_cells = [row[name] for name in names]
        variant_rows.append(name_cells + format_cells(row))
    yield table([*names, *heads.values()], variant_rows, left=len(names))
    if plan["by_protocol"]:
        protocol_rows = [[row["protocol"], *format_cells(row)] for row in plan["by_protocol"]]
        yield ""
        yield table(["protocol", *heads.values()], protocol_rows)
        yield ""


def dim(text: str, when: bool = True) -> Text:
    """Text in grey, or as it is if `when` is false."""
    return styled((text, "dim" if when else ""))


def styled(*parts: str | tuple[str, str]) -> Text:
    """Text of Rich made of parts, each with or without a style.

    An example is `styled("all ", ("well", "green"))`.
    """
    from rich.text import Text

    return Text.assemble(*parts)


def console() -> Console:
    """Console of Rich: with colours in a terminal, else 200 characters wide."""
    from rich.console import Console

    plain = Console(highlight=False)
    if plain.is_terminal:
        return plain
    return Console(highlight=False, width=200)


@contextmanager
def progress_bar(doing: str) -> Iterator[Progress | None]:
    """Show a progress bar on standard error, inside the context.

    Yields the callback that moves it, or None if standard error is no terminal.
    """
    from rich.console import Console

    error_console = Console(stderr=True)
    if not error_console.is_terminal:
        yield None
        return
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bars(*columns, console=error_console, transient=True) as bars:
        task = bars.add_task(doing)
        watch = WATCHES.get()

        def watch_without_bar(lines: Iterable[str], question: str) -> bool:
            bars.stop()
            is_wanted = watch is None or watch(lines, question)
            bars.start()
            return is_wanted

        watch_token = WATCHES.set(watch and watch_without_bar)
        token = BEGINS.set(lambda part: bars.reset(task, description=part))
        yield lambda done, total: bars.update(task, completed=done, total=total)
        BEGINS.reset(token)
        WATCHES.reset(watch_token)
