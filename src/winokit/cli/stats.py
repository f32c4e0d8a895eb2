"""`winokit stats`: the papers' Table 2 for any list of datasets."""

from __future__ import annotations

from typing import Annotated

import typer

from winokit.cli.common import As, Data, Json, Labels, Lenient, console, load_all, print_json


def stats(
    data: Data,
    tokens: Annotated[str, typer.Option(help="How to count words: ptb or whitespace.")] = "ptb",
    as_: As = None,
    labels: Labels = None,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Count problems, groups, words and vocabulary."""
    from dataclasses import asdict

    from winokit.data.checks import statistics

    rows = [statistics(dataset, tokens) for dataset in load_all(data, as_, labels, lenient)]
    if json:
        print_json([asdict(row) for row in rows])
        return
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("dataset", overflow="fold")
    for name in ("problems", "groups", "single", "mean words", "vocabulary", "candidates", "answered"):
        table.add_column(name, justify="right")
    table.add_column("domains, labels", overflow="fold")
    for row in rows:
        extra = ", ".join(f"{name} {count:,}" for name, count in [*row.domains.items(), *row.labels.items()])
        numbers = (row.problems, row.groups, row.single, row.mean_words, row.vocabulary, row.candidates, row.answered)
        counts = (f"{n:,.1f}" if isinstance(n, float) else f"{n:,}" for n in numbers)
        table.add_row(escape(row.dataset), *counts, escape(extra))
    console().print(table)
