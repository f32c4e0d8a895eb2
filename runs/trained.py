"""Trained models, from the queue's records to the stores that tables are written from.

    python -m runs trained DIR --sets FILE      DIR is the --out of `python -m runs jobs`; FILE its prepared datasets

Every record becomes one record of a store, rows and predictions under `SET@STEP`. What takes several records and the
datasets to compute (`runs.comparisons`) is put beside them: differences between arms, gaps, what a search comes to.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from runs.sets import OPEN
from runs.store import Record, Store, chosen
from runs.tables import RESULTS, number, row
from winokit.results import Metric

if TYPE_CHECKING:
    from runs.sets import Sets
    from winokit.problem import Dataset

STORES = {
    "trained-winogrande": r"(transfer|curve|aflite|local-context|taught|p-span|true-false|square-one)/.*",
    "trained-liu": r"(liu|head)/.*",
    "trained-square-one": r"(transfer/xl|untrained|square-one|words|word-curve)/.*",
}
"""The jobs of each store."""
PAIRED = re.compile(r".*:.*|words-test")
"""The sets of Square One's store; the others have the rest."""
KEPT_ROWS = {"accuracy", "expected_accuracy", "group_accuracy", "abstained", "delta"}
MACHINE = "NVIDIA H200"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the stores."""
    from runs.sets import prepared

    parser = argparse.ArgumentParser(
        "python -m runs trained", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --out of `python -m runs jobs`")
    parser.add_argument("--sets", type=Path, metavar="FILE", help="prepared datasets; default: DIR/sets.pkl.xz")
    parser.add_argument("--out", type=Path, default=RESULTS, metavar="DIR", help="default: runs/results")
    given = parser.parse_args(arguments)
    sets = prepared(given.sets or given.folder / "sets.pkl.xz", Path())
    write_stores(given.folder, sets, given.out)
    return 0


def write_stores(folder: Path, sets: Sets, out: Path) -> list[Store]:
    """Write every store from the records of a folder; jobs it has no record of keep what was stored of them."""
    from runs.comparisons import MADE_OF_ALL

    told = [json.loads(path.read_text("utf-8")) for path in sorted((folder / "records").glob("*.json"))]
    new = {one["job"] for one in told}
    about = sets.about()
    made = []
    for name, pattern in STORES.items():
        own = [one for one in told if re.fullmatch(pattern, one["job"])]
        path = out / f"{name}.json"
        stored = Store(path).records.values() if path.exists() else ()
        kept = [one for one in stored if re.fullmatch(pattern, one.key) and one.key not in new]
        records = [*kept, *(record_of(one, sets, paired=name == "trained-square-one") for one in own)]
        records.sort(key=lambda record: record.key)
        more = MADE_OF_ALL[name](records, sets)
        texts = {key: json.dumps(about[key], ensure_ascii=False) for key in ("empty", "dropped", "rules")}
        sizes = {"train": about["train"], "tests": {key: one["n"] for key, one in about["tests"].items()}}
        path.unlink(missing_ok=True)
        store = Store(path)
        store.put(Record("sets", sizes, texts=texts), *records, *more)
        made.append(store)
    return made


def record_of(told: Mapping[str, Any], sets: Sets, *, paired: bool) -> Record:
    """A job's record as one of a store, with the tests that belong there."""
    rows: list[Metric] = []
    predictions = {}
    for name, marks in told.get("tests", {}).items():
        if name == OPEN or bool(PAIRED.fullmatch(name)) != paired:
            continue
        for step, mark in marks.items():
            place = f"{name}@{step}"
            predictions[place] = mark["predictions"]
            rows += [_row(place, each) for each in mark["rows"] if _wanted(each)]
            if paired or name in ("winogrande-dev", "superglue-wsc-val"):
                rows += _more_rows(place, sets.data[name], chosen(mark["predictions"]))
    if "authors" in told:
        told = {**told, "authors": _with_confidence(told, sets)}
    for part in ("authors", "encoder_dev"):
        if isinstance(told.get(part), Mapping):
            rows += [
                row("train_xl", part, "ours", name, float(value), told["filtered"])
                for name, value in told[part].items()
                if isinstance(value, (int, float))
            ]
    rows += _relabelled(told)
    rows += [_row("train_xl", each) for each in told.get("figure", ())]
    names = (
        "model",
        "train",
        "after",
        "problems",
        "examples",
        "steps",
        "chosen_on",
        "aflite",
        "more",
        "pieces",
        "held_out",
        "guessed_before",
        "guessed_after",
    )
    settings: dict[str, Any] = {name: told[name] for name in names if told.get(name) is not None}
    settings["steps"] = told.get("steps")
    made_with = {**told["versions"], "machine": told["device"]}
    return Record(
        told["job"], {**told["settings"], **settings}, tuple(rows), predictions, {}, told["seconds"], made_with
    )


def _with_confidence(told: Mapping[str, Any], sets: Sets) -> dict[str, float]:
    """Rank correlations with RoBERTa's confidence: ours, and that of what the authors removed.

    Records that were made before the two had names of their own have the first under the name of the second.
    """
    from runs.authors import _rank

    rows = sets.parts[told["settings"]["seed"]][0]
    theirs = _rank(sets.confidence[rows], sets.removed[rows].astype(float))
    ours = told["authors"].get("score_with_confidence", told["authors"].get("confidence_spearman"))
    return {**told["authors"], "score_with_confidence": ours, "confidence_spearman": theirs}


def _wanted(each: Sequence[Any]) -> bool:
    return each[2] in KEPT_ROWS and not str(each[1]).startswith("neutral")


def _row(place: str, each: Sequence[Any]) -> Metric:
    protocol, subset, metric, value, n, low, high, level = each
    return row(place, protocol, subset, metric, value, n, low=low, high=high, chance=level)


def _more_rows(place: str, data: Dataset, choices: Sequence[int | None]) -> Iterator[Metric]:
    """Twins that are wrong on both sides; of judgements, how many were answered yes, and how many rightly."""
    from winokit.methods.metrics.measuring import MetricColumns, RowHead, clusters_by_id

    columns = MetricColumns(data, choices, clusters_by_id(data))
    sizes = {name: len(members) for name, members in data.groups.items()}
    yield from RowHead(place, "", "").by_group(("groups", "all", "none_right"), columns, sizes)
    if all(problem.query is not None for problem in data):
        yes = sum(problem.answer == 1 for problem in data)
        right = sum(one == 1 == problem.answer for one, problem in zip(choices, data, strict=True))
        yield row(place, "answers", "all", "said_yes", sum(one == 1 for one in choices), len(data))
        yield row(place, "answers", "yes", "yes_found", right, yes)


def _relabelled(told: Mapping[str, Any]) -> Iterator[Metric]:
    """Of runs on relabelled features the mean of each number, the lowest and the highest."""
    others = told.get("relabelled", ())
    for name in dict.fromkeys(key for one in others for key in one):
        values = [one[name] for one in others if name in one]
        low, high = min(values), max(values)
        yield row("train_xl", "authors", "relabelled", name, fmean(values), len(values), low=low, high=high)


# What tables ask of a record


def score(record: Record, name: str, step: int | str | None = None, metric: str = "accuracy") -> Metric | None:
    """Accuracy on a set, undecided problems counting one half; or another metric over all of it."""
    place = f"{name}@{last(record, name) if step is None else step}"
    own = [one for one in record.rows if one.dataset == place and one.subset == "all"]
    if metric == "accuracy":
        own.sort(key=lambda one: one.metric != "expected_accuracy")
        return next((one for one in own if one.metric in ("accuracy", "expected_accuracy")), None)
    return next((one for one in own if one.metric == metric), None)


def steps_of(record: Record, name: str) -> list[int]:
    """The steps at which a set was predicted."""
    return sorted(int(place.rsplit("@", 1)[1]) for place in record.predictions if place.rsplit("@", 1)[0] == name)


def last(record: Record, name: str) -> int:
    """The last of them; -1 for none."""
    return max(steps_of(record, name), default=-1)


def chosen_step(record: Record, test: str, store: Store) -> int | None:
    """The step that the papers' rule chooses for a test set, of equals the first; None where nothing can be chosen."""
    rules, empty = (json.loads(store["sets"].texts[key]) for key in ("rules", "empty"))
    arm = record.key.split("/")[1]
    on = rules.get(test)
    if on is None or on in empty.get(arm, {}):
        return None
    values = {step: found.value for step in steps_of(record, on) if (found := score(record, on, step)) is not None}
    return min(values, key=lambda step: (-values[step], step)) if values else None


def seeds(store: Store, name: str) -> list[Record]:
    """The records of one arm, seed by seed."""
    return [one for one in store.records.values() if arm_of(one) == name]


def arm_of(record: Record) -> str:
    """What a run's seeds share: its name without the last part."""
    return record.key.rpartition("/")[0]


def seed_of(record: Record) -> str:
    """The last part of a run's name: its seed, or the number of its draw."""
    return record.key.rpartition("/")[2]


def mean_sd(values: Iterable[Metric | float | None]) -> str:
    """Mean and standard deviation in per cent; the mean alone of one; nothing of none."""
    known = [100 * (one.value if isinstance(one, Metric) else one) for one in values if one is not None]
    if not known:
        return ""
    return number(fmean(known)) + (f" ± {number(stdev(known))}" if len(known) > 1 else "")


def minutes(records: Iterable[Record]) -> float:
    """How long jobs took, added up."""
    return sum(one.seconds or 0 for one in records) / 60


if __name__ == "__main__":
    raise SystemExit(main())
