"""Datasets from the Hugging Face hub, or a local folder in its layout: `hub:org/name[/config]`, `hub:./folder`.

`#split` picks a split; without it the only split, or validation, test or train, whichever is first there.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from winokit.data.formats.base import numbers_dropped
from winokit.data.formats.dialects import parse_row
from winokit.data.known import with_true_card
from winokit.errors import BadInput, Malformed, MissingExtra
from winokit.problem import Dataset, Problem

PREFERRED = ("validation", "test", "train")


def load_hub(name: str, *, lenient: bool = False) -> Dataset:
    """Read a dataset through the `datasets` library."""
    try:
        import datasets
    except ImportError:
        raise MissingExtra("reading from the hub", "hub") from None
    place, _, split = name.partition("#")
    arguments = _arguments(place)
    datasets.disable_progress_bars()
    try:
        splits = datasets.load_dataset(**arguments)
    except Exception as error:  # the library raises anything from ConnectionError to its own classes
        raise BadInput(f"hub:{place}: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from None
    split = split or next((known for known in PREFERRED if known in splits), next(iter(splits)))
    if split not in splits:
        raise BadInput(f"hub:{place}: no split {split!r}; it has {', '.join(splits)}")
    problems: list[Problem] = []
    notes = [f"hub:{place}: split {split!r} of {', '.join(splits)}"]
    for number, row in enumerate(splits[split]):
        try:
            problems.append(parse_row(_without_hidden(row)))
        except Malformed as error:
            if not lenient:
                raise error.at(f"hub:{place}#{split}", number) from None
            notes.append(f"skipped: {error.at(f'hub:{place}#{split}', number)}")
    if not problems:
        raise BadInput(f"hub:{place}#{split}: no problems in it; {notes[-1]}")
    problems, _ = numbers_dropped(problems)
    local = Path(place).exists()
    named = with_true_card(Dataset(problems, None, notes), Path(place).name if local else f"hub:{place}")
    if not local and not named.card.source:
        named.card = replace(named.card, title=place, source=f"https://huggingface.co/datasets/{place}")
    return named


def _arguments(place: str) -> dict[str, Any]:
    """What load_dataset wants: a folder as it is, org/name with a configuration after a second slash."""
    if place and Path(place).exists():
        return {"path": place}
    parts = place.split("/")
    if len(parts) > 3 or not all(parts):
        raise BadInput(f"hub:{place}: 'org/name', 'org/name/config' or a folder that exists expected")
    return {"path": "/".join(parts[:2]), "name": parts[2] if len(parts) == 3 else None}


def _without_hidden(row: dict[str, Any]) -> dict[str, Any]:
    """The row without empty cells: hub tables have a cell in every column."""
    return {key: value for key, value in row.items() if value is not None and value != ""}
