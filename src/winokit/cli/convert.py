"""`winokit convert`: any format to any other that can express it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winokit.cli.common import As, Json, Labels, Lenient, print_json, tell

DEFAULT = "jsonl"


def convert(
    data: Annotated[
        str,
        typer.Argument(
            help="A bundled name (open), a file, FORMAT:file or hub:org/name.", metavar="DATA", show_default=False
        ),
    ],
    out: Annotated[Path, typer.Argument(help="The file to write; .gz and .xz are compressed.", show_default=False)],
    to: Annotated[
        str | None, typer.Option("--to", help="The format to write; jsonl if none is named.", metavar="FORMAT")
    ] = None,
    as_: As = None,
    labels: Labels = None,
    source_ids: Annotated[
        bool, typer.Option("--source-ids", help="Write the ids of the source, which may leak the answer.")
    ] = False,
    labels_apart: Annotated[
        bool, typer.Option("--labels-apart", help="WinoGrande: answers in a label list beside the file.")
    ] = False,
    lenient: Lenient = False,
    json: Json = False,
) -> None:
    """Write a dataset in another format.

    What the format cannot express is an error, or left out and counted with --lenient.
    """
    from winokit.data.formats import FORMATS, WriteOptions, write
    from winokit.data.loading import load

    dataset = load(data, as_=as_, labels=labels or (), lenient=lenient)
    tell(dataset.notes)
    written = write(dataset, out, to or DEFAULT, WriteOptions(source_ids, labels_apart), lenient=lenient)
    if to is None and out.suffix in {known.suffix for known in FORMATS.values()} - {FORMATS[DEFAULT].suffix}:
        tell([f"{out} holds {DEFAULT}, whatever its name says; --to names another format"])
    if json:
        print_json(
            {"files": [str(file) for file in written.files], "problems": written.problems, "skipped": written.skipped}
        )
        return
    if written.skipped:
        tell([f"{len(written.skipped)} problems left out; the first: {written.skipped[0]}"])
    typer.echo(f"{written.problems:,} problems written to {', '.join(str(file) for file in written.files)}")
