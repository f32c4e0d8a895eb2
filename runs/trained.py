"""Trained models, from the queue's records to the stores that tables are written from.

    python -m runs trained DIR --sets FILE      DIR is the --out of `python -m runs jobs`; FILE its prepared datasets

Every record becomes one record of a store, rows and predictions under `SET@STEP`. What takes the datasets to compute is
computed here: differences between arms with intervals over clusters, what a search comes to, twins wrong on both sides.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from runs.sets import OPEN
from runs.store import Record, Store, chosen
from runs.tables import RESULTS, number, row
from winokit.results import Metric

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
ARMS = ("wsc", "dpr", "debiased", "xl", "dpr>xl")
DIFFERENCES = (("xl", "dpr"), ("dpr>xl", "xl"), ("xl", "debiased"))
COMPARED = "mc-mlm"
"""What the other formalizations are compared with, over the draws that both have."""
TOP = 5
"""Trials that vote together."""


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
        more = {
            "trained-winogrande": _differences,
            "trained-liu": _searches,
            "trained-square-one": _word_differences,
        }[name](records, sets)
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
    return [one for key, one in store.records.items() if key.rpartition("/")[0] == name]


def mean_sd(values: Iterable[Metric | float | None]) -> str:
    """Mean and standard deviation in per cent; the mean alone of one; nothing of none."""
    known = [100 * (one.value if isinstance(one, Metric) else one) for one in values if one is not None]
    if not known:
        return ""
    return number(fmean(known)) + (f" ± {number(stdev(known))}" if len(known) > 1 else "")


def minutes(records: Iterable[Record]) -> float:
    """How long jobs took, added up."""
    return sum(one.seconds or 0 for one in records) / 60


# What takes the datasets


def _credits(records: Sequence[Record], name: str, data: Dataset, step: Callable[[Record], int]) -> NDArray[Any]:
    """What each problem earned, mean over runs."""
    from winokit.methods.metrics.accuracy import credit

    answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
    each = [credit(chosen(one.predictions[f"{name}@{step(one)}"]), answers, sizes) for one in records]
    found: NDArray[Any] = np.mean(each, axis=0)
    return found


def _differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Between arms, on every test set: mean over seeds, paired by problem."""
    from winokit.methods.metrics.compare import paired_interval

    held = Store(Path("nowhere"))
    about = sets.about()
    held.records = {"sets": Record("sets", {}, texts={key: json.dumps(about[key]) for key in ("rules", "empty")})}
    by_arm = {arm: [one for one in records if one.key.startswith(f"transfer/{arm}/")] for arm in ARMS}
    for first, second in DIFFERENCES:
        rows = []
        for test in dict.fromkeys(place.split("@")[0] for one in by_arm[first] for place in one.predictions):
            if test in sets.empty.get(first, {}) or test in sets.empty.get(second, {}):
                continue
            data = sets.data[test]
            for how in ("equal steps", "chosen"):

                def step(one: Record, test: str = test, how: str = how) -> int:
                    found = chosen_step(one, test, held) if how == "chosen" else None
                    return last(one, test) if found is None else found

                if by_arm[first] and by_arm[second]:
                    ours, theirs = (_credits(by_arm[arm], test, data, step) for arm in (first, second))
                    ends = paired_interval(ours, theirs, list(data.clusters))
                    value = float((ours - theirs).mean())
                    rows.append(
                        row(test, "difference", how, "accuracy", value, len(data), low=ends.low, high=ends.high)
                    )
        if rows:
            yield Record(f"difference/{first} - {second}", {"seeds": len(by_arm[first])}, tuple(rows))


def _word_differences(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """Pairs right as special words less pairs right as they are, each by a model trained on that form."""
    from winokit.methods.metrics.compare import paired_interval

    for loss, original in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
        arms = {
            "matched": [one for one in records if one.key.rpartition("/")[0] == original],
            "words": [one for one in records if one.key.rpartition("/")[0] == f"words/{loss}"],
        }
        if not all(arms.values()):
            continue
        rows = []
        for name in ("wsc", "wsc-na", "winogrande"):
            right, groups = {}, []
            for form, runs in arms.items():
                data = sets.data[f"{name}:{form}"]
                test = f"{name}:{form}"
                each = [_credits([one], test, data, partial(last, name=test)) == 1 for one in runs]
                right[form] = np.mean([one[0::2] & one[1::2] for one in each], axis=0)
                groups = list(data.clusters)[0::2]
            ends = paired_interval(right["words"], right["matched"], groups)
            value = float((right["words"] - right["matched"]).mean())
            rows.append(
                row(name, "difference", "pairs", "group_accuracy", value, len(groups), low=ends.low, high=ends.high)
            )
        yield Record(
            f"difference/words/{loss}", {"runs": {form: len(runs) for form, runs in arms.items()}}, tuple(rows)
        )


def _searches(records: Sequence[Record], sets: Sets) -> Iterator[Record]:
    """What the trials of each formalization come to."""
    from winokit.methods.formalizations.cases import guesses
    from winokit.methods.metrics.accuracy import chance, credit, majority_class
    from winokit.methods.metrics.compare import paired_interval
    from winokit.methods.scoring.scorer import Prediction
    from winokit.methods.training.evaluation import rows as evaluation_rows
    from winokit.stages.search.findings import voted
    from winokit.stages.search.luck import luck, spread

    by_kind: dict[str, list[Record]] = {}
    for one in records:
        if one.key.startswith("liu/"):
            by_kind.setdefault(one.key.rpartition("/")[0], []).append(one)
    for kind, trials in by_kind.items():
        dev = trials[0].settings["chosen_on"]
        data = sets.data[dev]
        answers, sizes = [problem.answer or 0 for problem in data], [len(problem.candidates) for problem in data]
        step = {one.key: last(one, dev) for one in trials}
        spec = trials[0].settings["formalization"]
        earned = np.array([credit(chosen(one.predictions[f"{dev}@{step[one.key]}"]), answers, sizes) for one in trials])
        scores = earned.mean(axis=1)
        found = spread(scores.tolist())
        floor = majority_class(answers) if all(p.query is not None for p in data) else chance(sizes)
        lucky = luck(earned, list(data.clusters), floor)
        guess = fmean(guesses(data, spec) or [chance(sizes)])
        rows = [
            row(dev, "search", "dev", name, getattr(found, name), found.n, chance=guess)
            for name in ("median", "lower_quartile", "upper_quartile", "best", "worst", "std", "excess_kurtosis")
            if getattr(found, name) is not None
        ]
        rows.append(row(dev, "search", "dev", "floor", floor, len(data)))
        ends = {"low": lucky.low, "high": lucky.high}
        rows.append(row(dev, "luck", "dev", "corrected", lucky.corrected or 0.0, len(data), **ends))
        rows.append(row(dev, "luck", "dev", "best_of_guessers", lucky.guessing, len(data)))
        rows.append(row(dev, "luck", "dev", "p_best_of_guessers", lucky.p_guessing, len(data)))
        best = [trials[at] for at in sorted(range(len(trials)), key=lambda at: (-scores[at], at))]
        for name in dict.fromkeys(place.split("@")[0] for place in best[0].predictions):
            tested = sets.data[name]
            ballots = [
                [
                    Prediction(p.id, "original", "", spec, None, c, p.answer)
                    for p, c in zip(tested, chosen(t.predictions[f"{name}@{step[t.key]}"]), strict=True)
                ]
                for t in best[:TOP]
            ]
            for subset, sheet in (("chosen", ballots[0]), ("ensemble", voted(tested, ballots, ""))):
                for each in evaluation_rows(tested, sheet, subset):
                    if each.metric in KEPT_ROWS:
                        rows.append(
                            row(name, "search", subset, each.metric, each.value, each.n, low=each.low, high=each.high)
                        )
        others = {one.key.rpartition("/")[2]: one for one in by_kind.get(f"{kind.rpartition('/')[0]}/{COMPARED}", [])}
        ours = [one for one in trials if one.key.rpartition("/")[2] in others]
        if ours and not kind.endswith(f"/{COMPARED}"):
            theirs = [others[one.key.rpartition("/")[2]] for one in ours]
            both = [_credits(some, dev, data, partial(last, name=dev)) for some in (theirs, ours)]
            ends = paired_interval(*both, list(data.clusters))
            value = float((both[0] - both[1]).mean())
            rows.append(
                row(dev, "difference", "common draws", COMPARED, value, len(ours), low=ends.low, high=ends.high)
            )
        yield Record(f"search/{kind.removeprefix('liu/')}", {"trials": len(trials), "best": best[0].key}, tuple(rows))


if __name__ == "__main__":
    raise SystemExit(main())
