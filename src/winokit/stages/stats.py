"""`winokit stats`: the papers' Table 2 for any list of datasets."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any

from winokit.data.checks.statistics import Statistics, statistics
from winokit.data.loading import Datasets, Labelled, Loading, load_all, remember_reading
from winokit.drawing.tables import Lines, table
from winokit.progress import tell
from winokit.settings import Help, verb
from winokit.text.words import Tokens

COUNTS = ("problems", "groups", "single", "mean_words", "vocabulary", "candidates", "answered")


@verb
def stats(
    data: Datasets,
    *,
    tokens: Annotated[Tokens, Help("How to count words: ptb or whitespace.", noun="way to count tokens")] = "ptb",
    loading: Labelled = Loading(),
    remember: Annotated[
        bool, Help("Write --columns and --language to winokit.toml beside DATA, for all verbs.")
    ] = False,
) -> list[Statistics]:
    """Count problems, groups, words and vocabulary."""
    datasets = load_all(data, **loading.how)
    if remember:
        tell(f"remembered in {path}" for path in remember_reading(data, loading))
    return [statistics(dataset, tokens) for dataset in datasets]


def lines(rows: Sequence[Statistics]) -> Lines:
    """Lines for the terminal: one table with a line per dataset."""
    heads = ["dataset", *(name.replace("_", " ") for name in COUNTS), "domains, labels"]
    yield table(heads, [_make_cells(row) for row in rows], words=(-1,))


def _make_cells(row: Statistics) -> list[str]:
    """Cells of a dataset: name, counts, and counts of its labels.

    Domains count as labels.
    """
    counts = [_format_count(getattr(row, name)) for name in COUNTS]
    if row.unit != "words":
        counts[COUNTS.index("mean_words")] += f" {row.unit}"
    label_counts = [*row.domains.items(), *row.labels.items()]
    labels = ", ".join(f"{name} {count:,}" for name, count in label_counts)
    return [row.dataset, *counts, labels]


def as_json(rows: Sequence[Statistics]) -> Any:
    """A list of JSON objects, one per dataset."""
    return [asdict(row) for row in rows]


def _format_count(count: float) -> str:
    """A count with commas between thousands.

    A mean has one decimal.
    """
    return f"{count:,.1f}" if isinstance(count, float) else f"{count:,}"
