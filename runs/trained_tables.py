"""Tables of what was trained, written from the stores of `runs.trained`: what those of all papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from runs.store import Record, Store
from runs.tables import Table, number, percent
from runs.trained import STORES, WITH_RUNS, mean_sd, plain_values, score
from winokit.drawing.wording import plural
from winokit.results import Metric

NOT_RUN = "not run"
NEEDS = "stored runs of a queue that is gone; no command makes them"
WINOGRANDE, LIU, SQUARE_ONE = STORES
SENTENCE = "Not run with this version."


def runs_of(records: Sequence[Record]) -> str:
    """Number of runs as a cell, or "not run" if there are none."""
    return str(len(records)) if records else NOT_RUN


def counted(records: Sequence[Record]) -> str:
    """Number of runs in words: "1 run", "3 runs", or "not run"."""
    return plural(len(records), "run") if records else NOT_RUN


def lowest_to_highest(values: Iterable[Metric | float | None], digits: int = 1, times: float = 100) -> str:
    """Range of the values of single runs, each multiplied by `times`, as "LOW to HIGH".

    None values are left out. Empty if fewer than two are left.
    """
    scaled = [times * value for value in plain_values(values)]
    if len(scaled) < 2:
        return ""
    return f"{number(min(scaled), digits)} to {number(max(scaled), digits)}"


DEV_COLUMNS = ("runs", "dev", "lowest to highest", "pairs")


def on_dev(
    name: str, records: Sequence[Record], paper: Sequence[object] = ("", ""), test: str = "winogrande-dev"
) -> list[object]:
    """Build a line of Table 4: name, the paper's cells, then `DEV_COLUMNS` for single problems and pairs."""
    single = [score(run, test, None, "accuracy") for run in records]
    pairs = [score(run, test, None, "group_accuracy") for run in records]
    return [name, *paper, runs_of(records), mean_sd(single), lowest_to_highest(single), mean_sd(pairs)]


def guessing_on_dev(records: Sequence[Record], paper: Sequence[object] = ("", "")) -> list[object]:
    """Build the line of Table 4 for guessing, from the chance levels of the first record."""
    single = chance_on_dev(records[0], "accuracy")
    pairs = chance_on_dev(records[0], "group_accuracy")
    return ["guessing", *paper, "", single, "", pairs]


def chance_on_dev(record: Record, metric: str) -> str:
    """Chance level of a metric on WinoGrande's dev set in per cent, or empty if it is not stored."""
    row = score(record, "winogrande-dev", None, metric)
    return "" if row is None else percent(row.chance)


DIFFERENCE_COLUMNS = ("seeds of both", "difference", "other seeds too", "single seeds", "reading")


def difference_cells(store: Store, name: str, test: str, how: str = "equal steps") -> list[str] | None:
    """Cells of `DIFFERENCE_COLUMNS` for a stored difference between two arms on a test set.

    `how` is the subset of its rows: how the number of training steps was chosen. None if it is not stored.
    """
    record = store.records.get(f"difference/{name}")
    if record is None:
        return None
    rows = {row.metric: row for row in record.rows if row.dataset == test and row.subset == how}
    by_seed = rows.pop("by_seed", None)
    wide = rows.pop(WITH_RUNS, None)
    difference = next(iter(rows.values()), None)
    if by_seed is None or difference is None:
        return None
    seed_range = ""
    if by_seed.n > 1:
        seed_range = " to ".join(signed(number(100 * (end or 0.0))) for end in (by_seed.low, by_seed.high))
    value = signed(percent(difference, interval=True))
    return [str(by_seed.n), value, ends_of(wide), seed_range, reading(difference, by_seed, wide)]


def ends_of(metric: Metric | None) -> str:
    """Interval of a metric in per cent without its value, empty for None."""
    return "" if metric is None else percent(metric, interval=True).partition(" ")[2]


def signed(text: str) -> str:
    """Put a plus before a number, unless it is negative or zero.

    >>> signed("1.5 [0.1, 2.0]"), signed("−1.5"), signed("0.0 [−1.0, 1.0]")
    ('+1.5 [0.1, 2.0]', '−1.5', '0.0 [−1.0, 1.0]')
    """
    is_zero = text.partition(" ")[0] == "0.0"
    return text if text.startswith("−") or is_zero else f"+{text}"


def reading(whole: Metric, by_seed: Metric, wide: Metric | None) -> str:
    """Say in words what follows from the difference between two arms.

    `whole` is the difference with its interval over problems, `by_seed` has the lowest and the highest seed, `wide`
    an interval over problems and seeds. Nothing follows from one seed, nor from an interval that includes zero. If
    only the wide interval includes zero, the difference holds of these runs and is open for other seeds.
    """
    if by_seed.n < 2 or wide is None:
        return "one seed: no verdict"
    if includes_zero(whole):
        return "not distinguishable"
    if whole.value > 0:
        side = "higher"
        in_every_seed = (by_seed.low or 0.0) > 0
    else:
        side = "lower"
        in_every_seed = (by_seed.high or 0.0) < 0
    verdict = f"{side}, in each of {by_seed.n} seeds" if in_every_seed else f"{side} in the mean, not in every seed"
    return f"{verdict}; open for other seeds" if includes_zero(wide) else verdict


def includes_zero(metric: Metric) -> bool:
    """Whether zero is in the metric's interval, which must be there."""
    assert metric.low is not None
    assert metric.high is not None
    return metric.low <= 0 <= metric.high


def shown_if(prefix: str, write: Callable[[Store], str]) -> Callable[[Store], str]:
    """Wrap a writer of Markdown: without a record whose key begins with `prefix`, it says "not run" instead."""

    def write_if_run(store: Store) -> str:
        is_run = any(key.startswith(prefix) for key in store.records)
        return write(store) if is_run else SENTENCE

    return write_if_run


def trained(paper: str, number: str, title: str, file: str, **parts: tuple[str, Callable[[Store], str]]) -> Table:
    """Build a table of trained models, which is only shown and not run.

    `file` names the store. Each part is a prefix of job names without which it cannot be written, and its writer;
    its keyword is its place on the page, `_` the table itself.
    """
    writers = {name.strip("_"): shown_if(*part) for name, part in parts.items()}
    return Table(paper, number, title, NEEDS, writers, file=file)
