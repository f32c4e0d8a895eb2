"""`winokit datasets`: what is known, where to get it, its licence."""

from __future__ import annotations

from typing import Annotated

import typer

from winokit.cli.common import Json, console, print_json


def datasets(
    formats: Annotated[bool, typer.Option("--formats", help="List the file formats instead.")] = False,
    json: Json = False,
) -> None:
    """List known datasets, their licences and where to get them."""
    if formats:
        _formats(json)
        return
    from dataclasses import asdict

    from winokit.data.catalogue import CATALOGUE

    entries = list(CATALOGUE.values())
    if json:
        print_json(
            [
                asdict(entry.card) | {"problems": entry.problems, "formats": entry.formats, "bundled": entry.bundled}
                for entry in entries
            ]
        )
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in ("name", "problems", "people", "licence", "where", "reference"):
        table.add_column(name, overflow="fold", justify="right" if name == "people" else "left")
    for entry in entries:
        card = entry.card
        human = "" if card.human_accuracy is None else f"{card.human_accuracy:.1%}"
        table.add_row(card.name, entry.problems, human, card.licence, card.source, card.citation)
    console().print(table)


def _formats(json: bool) -> None:
    from winokit.data.formats import FORMATS

    rows = [
        {"format": found.name, "about": found.about, "writes": found.render is not None}
        for found in sorted(FORMATS.values(), key=lambda found: found.name)
    ]
    if json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(f"{row['format']:22}{row['about']}")
