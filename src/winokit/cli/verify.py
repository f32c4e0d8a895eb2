"""`winokit verify`: is a release as it was made, and as it should be?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from winokit.cli.common import Json, console, print_json


def verify(
    release: Annotated[Path, typer.Argument(help="A folder of winokit release.", metavar="DIR", show_default=False)],
    hidden: Annotated[
        Path | None,
        typer.Option("--hidden", help="The folder of hidden labels. Default: DIR.hidden, where there is one."),
    ] = None,
    json: Json = False,
) -> None:
    """Verify a release: its files by their hashes, and what must hold of any release.

    No twin crosses splits, sizes are nested, test answers are nowhere, ids are those of their texts, counts agree.
    Returns 1 if anything is wrong.
    """
    from winokit.stages.release.manifest import read_manifest
    from winokit.stages.release.manifest import verify as find

    findings = find(release, hidden)
    if json:
        print_json([finding.to_json() for finding in findings])
    else:
        from rich.markup import escape

        out = console()
        for finding in findings:
            mark = "[red]![/red]" if finding.warns else "[green]·[/green]"
            out.print(f"{mark} {escape(finding.dataset)}: {escape(finding.message)}", soft_wrap=True)
            for example in finding.examples:
                out.print(f"    [dim]{escape(example)}[/dim]", soft_wrap=True)
        wrong = sum(finding.warns for finding in findings)
        files = len(read_manifest(release)["files"])
        said = f"{wrong} {'finding' if wrong == 1 else 'findings'}" if wrong else "as it should be"
        out.print(f"{release}: {files:,} files, {said}", soft_wrap=True)
    if any(finding.warns for finding in findings):
        raise typer.Exit(1)
