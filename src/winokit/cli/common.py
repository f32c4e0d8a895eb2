"""Options and output that verbs share."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from winokit.problem import Dataset

DATA_HELP = "A bundled name (open), a file, FORMAT:file, hub:org/name, or a folder."
Data = Annotated[list[str], typer.Argument(help=DATA_HELP, metavar="DATA", show_default=False)]
As = Annotated[
    str | None,
    typer.Option("--as", help="Another view: binary, choice (merge yes/no judgements) or judgements.", metavar="VIEW"),
]
Labels = Annotated[
    list[Path] | None,
    typer.Option("--labels", help="A file of Trichelair et al.'s labels to join by text; repeatable.", metavar="FILE"),
]
Lenient = Annotated[bool, typer.Option("--lenient", help="Skip malformed records, count and report them.")]
Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]


def load_all(
    data: list[str], as_: str | None, labels: list[Path] | None, lenient: bool, *, groups: bool = True
) -> list[Dataset]:
    """Load every dataset named, folders expanded, and tell the notes of each."""
    from winokit.data.loading import expand, load

    names, notes = expand(data)
    tell(notes)
    loaded = []
    for name in names:
        dataset = load(name, as_=as_, labels=labels or (), groups=groups, lenient=lenient)
        tell(dataset.notes)
        loaded.append(dataset)
    seen = Counter(dataset.card.name for dataset in loaded)
    for name, dataset in zip(names, loaded, strict=True):
        if seen[dataset.card.name] > 1:  # a/dev.jsonl and b/dev.jsonl would be one in what is said of them
            dataset.card = replace(dataset.card, name=name)
    return loaded


def tell(notes: Iterable[str]) -> None:
    """Say notes on standard error, where they do not mix with results."""
    for note in notes:
        typer.echo(f"note: {note}", err=True)


def print_json(value: Any) -> None:
    """Results for scripts."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False))


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[float, float], None] | None]:
    """A bar with the time left, on standard error, where a person looks; None elsewhere."""
    from rich.console import Console

    if not Console(stderr=True).is_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def console() -> Console:
    """A console with colours only where a person looks, and wide enough for whole rows where none does."""
    from rich.console import Console

    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=200)
