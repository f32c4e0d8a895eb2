"""Trained models, from the queue's records to the stores that tables are written from.

    python -m runs trained DIR --sets FILE      DIR is the --out of `python -m runs jobs`; FILE its prepared datasets

Every record becomes one record of a store, rows and predictions under `SET@STEP`. What takes several records and the
datasets to compute is put beside them: differences between arms and gaps (`runs.comparisons`), what a search comes to
(`runs.trials`).
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

from runs.job_queue import say
from runs.sets import OPEN
from runs.store import Record, Store, chosen
from runs.tables import number, row
from winokit.errors import BadInput
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
ROUNDED = 1e-4
"""More than what a share of right answers loses as it is stored."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the stores."""
    from runs.sets import prepared

    parser = argparse.ArgumentParser(
        "python -m runs trained", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the --out of `python -m runs jobs`")
    parser.add_argument("--sets", type=Path, metavar="FILE", help="prepared datasets; default: DIR/sets.pkl.xz")
    parser.add_argument("--out", type=Path, metavar="DIR", help="default: DIR/results")
    given = parser.parse_args(arguments)
    if not any((given.folder / "records").glob("*.json")):
        raise BadInput(f"{given.folder}: no records; `python -m runs jobs --out {given.folder}` writes them")
    sets = prepared(given.sets or given.folder / "sets.pkl.xz", Path())
    out = given.out or given.folder / "results"
    write_stores(given.folder, sets, out)
    say(f"{out}: written from {given.folder}")
    return 0


def write_stores(folder: Path, sets: Sets, out: Path) -> list[Store]:
    """Write every store that has a new record in a folder, or none yet; other jobs keep what was stored of them."""
    from runs.comparisons import arm_differences, curve_differences, genders, word_differences
    from runs.trials import searches

    made_of_all = {
        "trained-winogrande": (arm_differences, genders),
        "trained-liu": (searches,),
        "trained-square-one": (word_differences, curve_differences),
    }
    paths = sorted((folder / "records").glob("*.json"))
    contents = [json.loads(path.read_text("utf-8")) for path in paths]
    for path, content in zip(paths, contents, strict=True):
        if "try" in content:
            raise BadInput(f"{path}: a try of {content['try']}, not a result; remove it, or choose another folder")
    about = sets.about()
    made = []
    for name, pattern in STORES.items():
        path = out / f"{name}.json"
        stored = Store(path).records if path.exists() else {}
        own = [content for content in contents if re.fullmatch(pattern, content["job"])]
        if stored and not own:
            continue
        _check_same_sets(path, stored, sets)
        new = {content["job"]: record_of(content, sets, paired=name == "trained-square-one") for content in own}
        kept = {key: record for key, record in stored.items() if re.fullmatch(pattern, key) and key not in new}
        records = sorted([*kept.values(), *new.values()], key=lambda record: record.key)
        more = [result for make in made_of_all[name] for result in make(records, sets)]
        store = Store(path)
        store.records.clear()
        store.put(_sets_record(about, stored.get("sets")), *records, *more)
        made.append(store)
    return made


def _check_same_sets(path: Path, stored: Mapping[str, Record], sets: Sets) -> None:
    """Refuse where stored predictions are not as right as their rows say: they would be held to other problems."""
    answers = {name: [problem.answer for problem in data] for name, data in sets.data.items()}
    for record in stored.values():
        rows = {row.dataset: row.value for row in record.rows if row.metric == "accuracy" and row.subset == "all"}
        for place, predicted in record.predictions.items():
            name, choices = place.split("@")[0], chosen(predicted)
            if name not in answers or place not in rows:
                continue
            right = [choice == answer for choice, answer in zip(choices, answers[name], strict=False)]
            if len(choices) != len(answers[name]) or abs(fmean(right) - rows[place]) > ROUNDED:
                why = f"predictions of {name!r} by {record.key} are of other problems than it has now"
                raise BadInput(f"{path}: {why}; give the set another name")


def _sets_record(about: Mapping[str, Any], stored: Record | None) -> Record:
    """What tables need of the sets; of those that stored runs were trained on, as these had them."""
    texts = {key: about[key] for key in ("empty", "dropped", "rules")}
    sizes = {"train": about["train"], "tests": {name: test["n"] for name, test in about["tests"].items()}}
    if stored is not None:
        texts = {key: part | json.loads(stored.texts[key]) for key, part in texts.items()}
        sizes = {key: part | stored.settings[key] for key, part in sizes.items()}
    return Record("sets", sizes, texts={key: json.dumps(part, ensure_ascii=False) for key, part in texts.items()})


def head_of(trial: Record) -> str:
    """The head that a run began with, by the job that made it; nothing where it was the first, or none was needed."""
    return str((trial.settings.get("more") or {}).get("head", ""))


def record_of(content: Mapping[str, Any], sets: Sets, *, paired: bool) -> Record:
    """A job's record as one of a store, with the tests that belong there."""
    rows: list[Metric] = []
    predictions = {}
    for name, marks in content.get("tests", {}).items():
        if name == OPEN or bool(PAIRED.fullmatch(name)) != paired:
            continue
        for step, mark in marks.items():
            place = f"{name}@{step}"
            predictions[place] = mark["predictions"]
            rows += [_row(place, each) for each in mark["rows"] if _wanted(each)]
            if paired or name in ("winogrande-dev", "superglue-wsc-val"):
                rows += _more_rows(place, sets.data[name], chosen(mark["predictions"]))
    if "authors" in content:
        content = {**content, "authors": _with_confidence(content, sets)}
    for part in ("authors", "encoder_dev"):
        if isinstance(content.get(part), Mapping):
            rows += [
                row("train_xl", part, "ours", name, float(value), content["filtered"])
                for name, value in content[part].items()
                if isinstance(value, (int, float))
            ]
    rows += _relabelled(content)
    rows += [_row("train_xl", each) for each in content.get("figure", ())]
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
    settings: dict[str, Any] = {name: content[name] for name in names if content.get(name) is not None}
    settings["steps"] = content.get("steps")
    made_with = {**content["versions"], "machine": content["device"]}
    return Record(
        content["job"], {**content["settings"], **settings}, tuple(rows), predictions, {}, content["seconds"], made_with
    )


def _with_confidence(content: Mapping[str, Any], sets: Sets) -> dict[str, float]:
    """Rank correlations with RoBERTa's confidence: ours, and that of what the authors removed.

    Records that were made before the two had names of their own have the first under the name of the second.
    """
    from runs.authors import _rank

    rows = sets.parts[content["settings"]["seed"]][0]
    theirs = _rank(sets.confidence[rows], sets.removed[rows].astype(float))
    ours = content["authors"].get("score_with_confidence", content["authors"].get("confidence_spearman"))
    return {**content["authors"], "score_with_confidence": ours, "confidence_spearman": theirs}


def _wanted(each: Sequence[Any]) -> bool:
    return each[2] in KEPT_ROWS and not str(each[1]).startswith("neutral")


def _row(place: str, each: Sequence[Any]) -> Metric:
    protocol, subset, metric, value, n, low, high, level = each
    return row(place, protocol, subset, metric, value, n, low=low, high=high, chance=level)


def _more_rows(place: str, data: Dataset, choices: Sequence[int | None]) -> Iterator[Metric]:
    """Twins that are wrong on both sides; of judgements, how many were answered yes, and how many rightly."""
    from winokit.answers import Answers, Scorer
    from winokit.methods.metrics.judge import Judge

    answers = Answers.of_choices(data, choices)
    yield from Judge(place, Scorer()).by_group(("groups", "all", "none_right"), answers)
    if all(problem.query is not None for problem in data):
        yes = sum(problem.answer == 1 for problem in data)
        right = sum(choice == 1 == problem.answer for choice, problem in zip(choices, data, strict=True))
        yield row(place, "answers", "all", "said_yes", choices.count(1), len(data))
        yield row(place, "answers", "yes", "yes_found", right, yes)


def _relabelled(content: Mapping[str, Any]) -> Iterator[Metric]:
    """Of runs on relabelled features the mean of each number, the lowest and the highest."""
    others = content.get("relabelled", ())
    for name in dict.fromkeys(key for other in others for key in other):
        values = [other[name] for other in others if name in other]
        low, high = min(values), max(values)
        yield row("train_xl", "authors", "relabelled", name, fmean(values), len(values), low=low, high=high)


# What tables ask of a record


def score(record: Record, name: str, step: int | str | None = None, metric: str = "accuracy") -> Metric | None:
    """Accuracy on a set, undecided problems counting one half; or another metric over all of it."""
    place = f"{name}@{last(record, name) if step is None else step}"
    own = [row for row in record.rows if row.dataset == place and row.subset == "all"]
    if metric == "accuracy":
        own.sort(key=lambda row: row.metric != "expected_accuracy")
        return next((row for row in own if row.metric in ("accuracy", "expected_accuracy")), None)
    return next((row for row in own if row.metric == metric), None)


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
    values = {step: metric.value for step in steps_of(record, on) if (metric := score(record, on, step)) is not None}
    return min(values, key=lambda step: (-values[step], step)) if values else None


def seeds(store: Store, name: str) -> list[Record]:
    """The records of one arm, seed by seed."""
    return [record for record in store.records.values() if arm_of(record) == name]


def arm_of(record: Record) -> str:
    """What a run's seeds share: its name without the last part."""
    return record.key.rpartition("/")[0]


def seed_of(record: Record) -> str:
    """The last part of a run's name: its seed, or the number of its draw."""
    return record.key.rpartition("/")[2]


def mean_sd(values: Iterable[Metric | float | None]) -> str:
    """Mean and standard deviation in per cent; the mean alone of one; nothing of none."""
    known = [100 * (value.value if isinstance(value, Metric) else value) for value in values if value is not None]
    if not known:
        return ""
    return number(fmean(known)) + (f" ± {number(stdev(known))}" if len(known) > 1 else "")


def minutes(records: Iterable[Record]) -> float:
    """How long jobs took, added up."""
    return sum(record.seconds or 0 for record in records) / 60


if __name__ == "__main__":
    raise SystemExit(main())
