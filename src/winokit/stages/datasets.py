"""`winokit datasets`: what is known, where to get it, its licence; or the file formats."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from winokit.data.formats import FORMATS, Format
from winokit.data.known import CATALOGUE, CatalogueEntry
from winokit.drawing.tables import Lines, table
from winokit.settings import Help, verb


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
    return sorted(FORMATS.values(), key=lambda known: known.name) if formats else list(CATALOGUE.values())


def lines(known: Sequence[CatalogueEntry] | Sequence[Format]) -> Lines:
    """A table of datasets, or a line per format."""
    yield from (f"{each.name:22}{each.about}" for each in known if isinstance(each, Format))
    entries = [each for each in known if isinstance(each, CatalogueEntry)]
    if entries:
        heads = ("name", "problems", "people", "licence", "where", "reference")
        yield table(heads, [_cells(entry) for entry in entries], words=(1, 3, 4, 5))


def _cells(entry: CatalogueEntry) -> list[str]:
    card = entry.card
    human = "" if card.human_accuracy is None else f"{card.human_accuracy:.1%}"
    return [card.name, entry.problems, human, card.licence, card.source, card.citation]


def as_json(known: Sequence[CatalogueEntry] | Sequence[Format]) -> Any:
    """A list of objects, one per dataset or format."""
    return [
        {"format": each.name, "about": each.about, "writes": each.render is not None}
        if isinstance(each, Format)
        else asdict(each.card) | {"problems": each.problems, "formats": each.formats, "bundled": each.bundled}
        for each in known
    ]
