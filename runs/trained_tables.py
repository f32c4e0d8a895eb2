"""Tables of what was trained, written from the stores of `runs.trained`: what those of all papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runs.store import Record, Store
from runs.tables import Table, number, percent
from runs.trained import STORES, WITH_RUNS, mean_sd, score
from winokit.drawing.wording import plural
from winokit.results import Metric

NOT_RUN = "not run"
NEEDS = "stored runs of a queue that is gone; no command makes them"
WINOGRANDE, LIU, SQUARE_ONE = STORES
SENTENCE = "Not run with this version."


def runs_of(records: Sequence[Record]) -> str:
    """How many runs there are."""
    return str(len(records)) if records else NOT_RUN


def counted(records: Sequence[Record]) -> str:
    """How many runs there are, in words: 1 run, 3 runs, not run."""
    return plural(len(records), "run") if records else NOT_RUN


def lowest_to_highest(values: Iterable[Metric | float | None], digits: int = 1, times: float = 100) -> str:
    """What single runs have, from the lowest to the highest; nothing of fewer than two."""
    known = [times * (value.value if isinstance(value, Metric) else value) for value in values if value is not None]
    return f"{number(min(known), digits)} to {number(max(known), digits)}" if len(known) > 1 else ""


DEV_COLUMNS = ("runs", "dev", "lowest to highest", "pairs")


def on_dev(
    name: str, records: Sequence[Record], paper: Sequence[object] = ("", ""), test: str = "winogrande-dev"
) -> list[object]:
    """A line of Table 4: single problems and pairs of dev."""
    single, pairs = ([score(run, test, None, metric) for run in records] for metric in ("accuracy", "group_accuracy"))
    return [name, *paper, runs_of(records), mean_sd(single), lowest_to_highest(single), mean_sd(pairs)]


def guessing_on_dev(records: Sequence[Record], paper: Sequence[object] = ("", "")) -> list[object]:
    """What guessing has there."""
    known = (score(records[0], "winogrande-dev", None, metric) for metric in ("accuracy", "group_accuracy"))
    single, pairs = ("" if row is None or row.chance is None else percent(row.chance) for row in known)
    return ["guessing", *paper, "", single, "", pairs]


DIFFERENCE_COLUMNS = ("seeds of both", "difference", "other seeds too", "single seeds", "reading")


def difference_cells(store: Store, name: str, test: str, how: str = "equal steps") -> list[str] | None:
    """A difference between arms: over how many seeds, its intervals, by seed, and what follows; None without it."""
    record = store.records.get(f"difference/{name}")
    own = [row for row in record.rows if (row.dataset, row.subset) == (test, how)] if record else []
    by_seed = next((row for row in own if row.metric == "by_seed"), None)
    wide = next((row for row in own if row.metric == WITH_RUNS), None)
    whole = next((row for row in own if row.metric not in ("by_seed", WITH_RUNS)), None)
    if by_seed is None or whole is None:
        return None
    ends = [100 * (end or 0.0) for end in (by_seed.low, by_seed.high)]
    span = f"{signed(number(ends[0]))} to {signed(number(ends[1]))}" if by_seed.n > 1 else ""
    return [str(by_seed.n), signed(percent(whole, interval=True)), ends_of(wide), span, reading(whole, by_seed, wide)]


def ends_of(metric: Metric | None) -> str:
    """The interval of a metric alone; nothing without one."""
    return "" if metric is None else percent(metric, interval=True).partition(" ")[2]


def signed(text: str) -> str:
    """A number with its sign, plus included, but for nought.

    >>> signed("1.5 [0.1, 2.0]"), signed("−1.5"), signed("0.0 [−1.0, 1.0]")
    ('+1.5 [0.1, 2.0]', '−1.5', '0.0 [−1.0, 1.0]')
    """
    return text if text.startswith("−") or text.partition(" ")[0] == "0.0" else f"+{text}"


def reading(whole: Metric, by_seed: Metric, wide: Metric | None) -> str:
    """What follows from a difference: nothing from one seed, nor from an interval that includes zero.

    The wide interval is over problems and seeds: where it alone includes zero, what holds of these runs is left open
    for others.
    """
    if by_seed.n < 2 or wide is None:
        return "one seed: no verdict"
    if includes_zero(whole):
        return "not distinguishable"
    side = "higher" if whole.value > 0 else "lower"
    every = (by_seed.low or 0.0) > 0 if whole.value > 0 else (by_seed.high or 0.0) < 0
    said = f"{side}, in each of {by_seed.n} seeds" if every else f"{side} in the mean, not in every seed"
    return f"{said}; open for other seeds" if includes_zero(wide) else said


def includes_zero(metric: Metric) -> bool:
    """Whether zero is in the interval."""
    assert None not in (metric.low, metric.high)
    return (metric.low or 0.0) <= 0 <= (metric.high or 0.0)


def shown_if(prefix: str, write: Callable[[Store], str]) -> Callable[[Store], str]:
    """What a part has if any of its jobs was run; a sentence if none was."""

    def part(store: Store) -> str:
        return write(store) if any(key.startswith(prefix) for key in store.records) else SENTENCE

    return part


def trained(paper: str, number: str, title: str, file: str, **parts: tuple[str, Callable[[Store], str]]) -> Table:
    """A table of trained models; each part has the jobs that it cannot do without."""
    made = {name.strip("_"): shown_if(*part) for name, part in parts.items()}
    return Table(paper, number, title, NEEDS, made, file=file)
