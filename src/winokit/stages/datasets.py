"""`winokit datasets`: known datasets with source and licence, or the file formats."""

from collections.abc import Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Annotated, Any

from winokit.data.formats import FORMATS, Format
from winokit.data.known import CATALOGUE, CatalogueEntry
from winokit.drawing.tables import Lines
from winokit.drawing.wording import percent
from winokit.settings import Help, verb

INDENT = 4 * " "


@verb
def datasets(
    *, formats: Annotated[bool, Help("List the file formats instead.")] = False
) -> Sequence[CatalogueEntry] | Sequence[Format]:
    """List known datasets, their licences and where to get them.

    Returns
    -------
    Sequence
        A `CatalogueEntry` per dataset, or a `Format` per format.
    """
    if formats:
        return sorted(FORMATS.values(), key=lambda format_: format_.name)
    return list(CATALOGUE.values())


def lines(entries: Sequence[CatalogueEntry] | Sequence[Format]) -> Lines:
    """Lines for the terminal: a few per dataset, or one per format."""
    for entry in entries:
        if isinstance(entry, Format):
            yield f"{entry.name:22}{entry.about}"
        else:
            yield from _dataset_lines(entry)


def _dataset_lines(entry: CatalogueEntry) -> Lines:
    """Lines on a dataset: size, accuracy of people, licence and source."""
    card = entry.card
    people = "" if card.human_accuracy is None else f"people {percent(card.human_accuracy)}; "
    citation = f"; {card.citation}" if card.citation else ""
    yield f"{card.name:16}{entry.problems}"
    facts = f"{people}licence {card.licence}{citation}"
    yield from wrap(facts, 80, initial_indent=INDENT, subsequent_indent=INDENT)
    yield f"{INDENT}{card.source}"


def as_json(entries: Sequence[CatalogueEntry] | Sequence[Format]) -> Any:
    """A list of JSON objects, one per dataset or format."""
    objects: list[dict[str, Any]] = []
    for entry in entries:
        if isinstance(entry, Format):
            objects.append({"format": entry.name, "about": entry.about, "writes": entry.render is not None})
        else:
            facts = {"problems": entry.problems, "formats": entry.formats, "bundled": entry.bundled}
            objects.append({**asdict(entry.card), **facts})
    return objects
