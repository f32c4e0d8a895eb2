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
    return sorted(FORMATS.values(), key=lambda known: known.name) if formats else list(CATALOGUE.values())


def lines(known: Sequence[CatalogueEntry] | Sequence[Format]) -> Lines:
    """A few lines per dataset, or one per format."""
    yield from (f"{each.name:22}{each.about}" for each in known if isinstance(each, Format))
    entries = [each for each in known if isinstance(each, CatalogueEntry)]
    for card, problems in ((entry.card, entry.problems) for entry in entries):
        human = "" if card.human_accuracy is None else f"people {percent(card.human_accuracy)}; "
        reference = f"; {card.citation}" if card.citation else ""
        yield f"{card.name:16}{problems}"
        yield from wrap(
            f"{human}licence {card.licence}{reference}", 80, initial_indent=INDENT, subsequent_indent=INDENT
        )
        yield f"{INDENT}{card.source}"


def as_json(known: Sequence[CatalogueEntry] | Sequence[Format]) -> Any:
    """A list of objects, one per dataset or format."""
    return [
        {"format": each.name, "about": each.about, "writes": each.render is not None}
        if isinstance(each, Format)
        else asdict(each.card) | {"problems": each.problems, "formats": each.formats, "bundled": each.bundled}
        for each in known
    ]
