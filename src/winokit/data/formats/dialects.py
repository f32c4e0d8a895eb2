"""Rows from a hub or a harness log, in the dialect that their keys show.

Datasets of the Hugging Face hub, or of a local folder in its layout: `hub:org/name[/config]`, `hub:./folder`. `#split`
picks a split; without it the only split, or validation, test or train, whichever is first there.

Sample logs of lm-evaluation-harness (`--log_samples`) are read, from each row's `doc`, and not written. The log's
`target` is the text to continue, not the answer; the answer is taken from the doc.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from winokit.data.formats import copa, fields, jsonl, knowref, minimal_pairs, superglue_wsc, trichelair, winogrande
from winokit.data.formats.base import drop_numbered_groups, json_format
from winokit.data.formats.columns import read_columns
from winokit.data.formats.source import Source
from winokit.data.formats.tables import Table, numbered_rows
from winokit.data.known import with_true_card
from winokit.errors import BadInput, Malformed, needing
from winokit.problem import Dataset, Problem


def _parse_wsc273_row(row: Mapping[str, Any]) -> Problem:
    """Parse a row of WSC273 on the Hugging Face hub.

    Its fields are text, pronoun, pronoun_loc, options and label.
    """
    text = fields.string(row, "text")
    pronoun = fields.string(row, "pronoun")
    start = fields.integer(row, "pronoun_loc")
    options = fields.strings(row, "options")
    end = start + len(pronoun)
    if text[start:end] != pronoun:
        raise Malformed(f"{pronoun!r} is not at character {start}", field="pronoun_loc")
    label = fields.integer(row, "label")
    answer = None if label == -1 else label
    return Problem(text[:start], text[end:], options, answer, pronoun=pronoun)


PREFERRED = ("validation", "test", "train")
# The keys of each dialect and its parser. The first dialect that fits is used.
DIALECTS: tuple[tuple[frozenset[str], Callable[[Mapping[str, Any]], Problem]], ...] = (
    (winogrande.KEYS, winogrande.parse),
    (frozenset({"premise", "choice1", "choice2", "question"}), copa.parse_row),
    *((frozenset(keys), superglue_wsc.parse) for keys in superglue_wsc.KEYS),
    (frozenset({"text", "candidates"}), jsonl.parse),
    (frozenset({"texts"}), jsonl.parse),
    (frozenset({"sentence_with_pronoun"}), knowref.parse),
    (frozenset({"sentence", "answer0", "answer1"}), trichelair.parse),
    (frozenset({"text", "pronoun_loc", "options"}), _parse_wsc273_row),
    *((layout.needed, minimal_pairs.parse) for layout in minimal_pairs.LAYOUTS),
)


def parse_row(row: Mapping[str, Any]) -> Problem:
    """Parse a row into a problem by the format of its keys.

    Raises Malformed if no known format has them.
    """
    for keys, parse in DIALECTS:
        if keys <= row.keys():
            return parse(row)
    raise Malformed(f"no known dialect has the fields {fields.names(row)}")


@json_format("lmeval", "sample logs of lm-evaluation-harness (read only)", {"doc_id", "doc"}, assemble=None)
def parse_sample(row: Mapping[str, Any]) -> Problem:
    """Parse the problem in a sample of a log of lm-evaluation-harness."""
    return parse_row(document_of(row))


def document_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the `doc` of a logged sample.

    It is the row of data that was evaluated. Raises Malformed if it has none.
    """
    doc = row.get("doc")
    if not isinstance(doc, dict):
        raise Malformed(f"expected the evaluated document, found {fields.shown(doc)}", field="doc")
    return doc


def load_hub(name: str, *, lenient: bool = False, columns: Mapping[str, str] | None = None) -> Dataset:
    """Read a dataset with Hugging Face's `datasets` library.

    Parameters
    ----------
    name
        `org/name[/config][#split]`, or a local folder. Without a split, it is the first of validation, test and train
        that is there, or else the first split.
    lenient
        Skip malformed rows and note them, instead of raising.
    columns
        Column names by role. None if the rows are in a known format.
    """
    with needing("reading from the hub", "hub"):
        import datasets
    place, _, asked_split = name.partition("#")
    arguments = _make_arguments(place)
    datasets.disable_progress_bars()
    try:
        splits = datasets.load_dataset(**arguments)
    except Exception as error:  # the library raises anything from ConnectionError to its own classes
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BadInput(f"hub:{place}: {reason}") from None
    split = asked_split or _choose_split(splits)
    if split not in splits:
        raise BadInput(f"hub:{place}: no split {split!r}; it has {', '.join(splits)}")
    source = Source(Path(f"hub:{place}#{split}"), lenient=lenient)
    rows = numbered_rows(_drop_empty_cells(splits[split]))
    if columns is None:
        problems = list(source.each(minimal_pairs.split_target_pairs(rows), parse_row))
    else:
        table = Table(str(source.path), tuple(splits[split].column_names), rows)
        problems = list(read_columns(source, columns, table))
    notes = [f"hub:{place}: split {split!r} of {', '.join(splits)}"]
    notes += [f"skipped: {error}" for error in source.skipped]
    if not problems:
        raise BadInput(f"hub:{place}#{split}: no problems in it; {notes[-1]}")
    problems, _ = drop_numbered_groups(problems)
    is_local = Path(place).exists()
    dataset_name = Path(place).name if is_local else f"hub:{place}"
    dataset = with_true_card(Dataset(problems, None, notes), dataset_name)
    if not is_local and not dataset.card.source:
        link = f"https://huggingface.co/datasets/{place}"
        dataset.card = replace(dataset.card, title=place, source=link)
    return dataset


def _choose_split(splits: Iterable[str]) -> str:
    """Choose validation, test or train, or else the first split."""
    names = list(splits)
    for name in PREFERRED:
        if name in names:
            return name
    return names[0]


def _drop_empty_cells(rows: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield each row without its empty cells.

    Tables of the hub have a cell in every column.
    """
    for row in rows:
        yield {key: cell for key, cell in row.items() if cell is not None and cell != ""}


def _make_arguments(place: str) -> dict[str, Any]:
    """Arguments of `datasets.load_dataset` for a place on the hub.

    `place` is a local folder, or `org/name[/config]`. Raises BadInput for anything else.
    """
    if place and Path(place).exists():
        return {"path": place}
    parts = place.split("/")
    if len(parts) > 3 or not all(parts):
        raise BadInput(f"hub:{place}: expected 'org/name', 'org/name/config' or a folder that exists")
    configuration = parts[2] if len(parts) == 3 else None
    return {"path": "/".join(parts[:2]), "name": configuration}
