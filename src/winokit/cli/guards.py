"""What verbs refuse alike: options that would be passed over in silence, and files that would be lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from winokit.errors import BadInput


def refuse_unused(context: typer.Context, names: Iterable[str], why: str) -> None:
    """Refuse options, named as parameters, that were given and would change nothing."""
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise BadInput(f"--{name.replace('_', '-')}: {why}")


def refuse_overwriting(out: Path, sources: Iterable[Path]) -> None:
    """Refuse to write where something is read from."""
    if any(out.resolve() == source.resolve() for source in sources):
        raise BadInput(f"{out}: is read from, and would be lost; choose another --out")
