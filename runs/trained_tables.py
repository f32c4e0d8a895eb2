"""Tables of what was trained, written from the stores of `runs.trained`: what those of all papers share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runs.store import Record, Store
from runs.tables import Table
from runs.trained import STORES, mean_sd, score

NOT_RUN = "not run"
NEEDS = "python -m runs jobs, then python -m runs trained; a GPU"
WINOGRANDE, LIU, SQUARE_ONE = STORES
SENTENCE = "Not run with this version."


def runs_of(records: Sequence[Record]) -> str:
    """How many runs there are."""
    return str(len(records)) if records else NOT_RUN


def on_dev(
    name: str, records: Sequence[Record], paper: Sequence[object] = ("", ""), test: str = "winogrande-dev"
) -> list[object]:
    """A line of Table 4: single problems and pairs of dev."""
    found = [[score(one, test, None, metric) for one in records] for metric in ("accuracy", "group_accuracy")]
    return [name, *paper, runs_of(records), *(mean_sd(each) for each in found)]


def shown_if(prefix: str, write: Callable[[Store], str]) -> Callable[[Store], str]:
    """What a part has if any of its jobs was run; a sentence if none was."""

    def part(store: Store) -> str:
        return write(store) if any(key.startswith(prefix) for key in store.records) else SENTENCE

    return part


def trained(paper: str, number: str, title: str, file: str, **parts: tuple[str, Callable[[Store], str]]) -> Table:
    """A table of trained models; each part has the jobs that it cannot do without."""
    made = {name.strip("_"): shown_if(*part) for name, part in parts.items()}
    return Table(paper, number, title, NEEDS, made, file=file)
