"""WinoGrande's Tables 4 to 6, trained: every arm on dev, on other sets, and on Winogender."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from runs.papers import WINOGRANDE_TABLE_4, WINOGRANDE_TABLE_5_TRAINED, WINOGRANDE_TABLE_6
from runs.store import Record, Store
from runs.tables import grid, number, percent, register
from runs.trained import BOTH, chosen_step, mean_sd, score, seed_of, seeds
from runs.trained_tables import (
    DEV_COLUMNS,
    DIFFERENCE_COLUMNS,
    NOT_RUN,
    WINOGRANDE,
    counted,
    difference_cells,
    guessing_on_dev,
    includes_zero,
    on_dev,
    trained,
)
from winokit.drawing.wording import plural

ARMS = {
    "wsc": "WSC",
    "dpr": "DPR",
    "debiased": "WinoGrande, debiased",
    "xl": "WinoGrande, all",
    "dpr>xl": "DPR, then WinoGrande",
}
TESTS = {
    "wsc273": "WSC",
    "pdp": "PDP",
    "superglue-wsc-val": "SuperGLUE-WSC val",
    "dpr-test": "DPR test",
    "copa-test": "COPA test",
    "knowref": "KnowRef test",
    "winogender": "Winogender",
    "winogrande-dev": "WinoGrande dev",
}


def show_dev(store: Store) -> str:
    """Every arm on dev after as many steps."""
    paper = WINOGRANDE_TABLE_4
    lines = [
        on_dev("WinoGrande, all", seeds(store, "transfer/xl"), paper["BERT, fine-tuned"]),
        on_dev("DPR, then WinoGrande (seqft)", seeds(store, "transfer/dpr>xl"), paper["BERT, fine-tuned on DPR first"]),
        on_dev("WinoGrande, MLM head (`mc-mlm`, mpnet with a head)", seeds(store, "square-one/mc-mlm")),
        on_dev("WinoGrande, as true or false (`p-sent`)", seeds(store, "true-false")),
        on_dev("WinoGrande, debiased", seeds(store, "transfer/debiased")),
        on_dev("DPR", seeds(store, "transfer/dpr")),
        on_dev("WSC", seeds(store, "transfer/wsc")),
    ]
    for kind, name in (("random", "local context, random 25k"), ("kept", "local context, debiased 25k")):
        records = seeds(store, f"local-context/{kind}")
        size = f"{records[0].settings['problems']:,} problems" if records else "25,000 problems"
        said = f"local context, DPR first, {size} " + ("at random" if kind == "random" else "that our AFLite kept")
        lines.append(on_dev(said, records, paper[name], "dev-local-context"))
    known = next(iter([*seeds(store, "transfer/xl"), *seeds(store, "transfer/dpr")]), None)
    if known is not None:
        lines.append(guessing_on_dev([known]))
    return grid(["trained on", "dev, paper", "test, paper", *DEV_COLUMNS], lines)


DIFFERENCES = {
    # by the name of the difference, the first arm and the one that is taken from it
    "xl - debiased": ("transfer/xl", "transfer/debiased"),
    "dpr>xl - xl": ("transfer/dpr>xl", "transfer/xl"),
    "true-false - xl": ("true-false", "transfer/xl"),
    "mc-mlm - xl": ("square-one/mc-mlm", "transfer/xl"),
    "local-context, kept - random": ("local-context/kept", "local-context/random"),
}
ON_DEV = {
    # by the name of a difference: in words, the two arms, the test sets
    "dpr>xl - xl": ("DPR first", "WinoGrande alone", ("winogrande-dev",)),
    "true-false - xl": ("true or false", "multiple choice", ("winogrande-dev", "wsc273", "dpr-test")),
    "mc-mlm - xl": ("MLM head", "`mc-sent`", ("winogrande-dev", "wsc273")),
    "local-context, kept - random": ("local context, kept by AFLite", "at random", ("dev-local-context",)),
}


def show_compared(store: Store) -> str:
    """Arms of Table 4 against each other, seed by seed and problem by problem; then what was not run."""
    lines, missing = [], []
    for name, (first, second, tests) in ON_DEV.items():
        by_test = {test: cells for test in tests if (cells := difference_cells(store, name, test))}
        if not by_test:
            missing.append(f"{first} against {second}")
        for test, cells in by_test.items():
            wanted = store[f"difference/{name}"].settings["seeds"]
            means = []
            for arm in DIFFERENCES[name]:
                runs = [run for run in seeds(store, arm) if seed_of(run) in wanted]
                means.append(mean_sd(score(run, test) for run in runs))
            lines.append((first, second, TESTS.get(test, "WinoGrande dev, local context"), *means, *cells))
    header = ["first", "second", "test set", "first has", "second has", *DIFFERENCE_COLUMNS]
    parts = [grid(header, lines)] if lines else []
    return "\n\n".join([*parts, *([f"Not run with the same seeds: {'; '.join(missing)}."] if missing else [])])


def cell(store: Store, arm: str, test: str, *, by_rule: bool = False) -> str:
    """An arm on a test set: mean and standard deviation over seeds."""
    if why_empty(store, arm, test):
        return "–"
    values = []
    for record in seeds(store, f"transfer/{arm}"):
        step = chosen_step(record, test, store) if by_rule else None
        values.append(score(record, test, step))
    return mean_sd(values) or NOT_RUN


def why_empty(store: Store, arm: str, test: str) -> str | None:
    """Why an arm is not tested on a set."""
    empty: dict[str, dict[str, str]] = json.loads(store["sets"].texts["empty"])
    return empty.get(arm, {}).get(test)


def difference(store: Store, arms: str, test: str, how: str) -> str:
    """How much better the first arm is, with an interval over problems and, after it, one over problems and seeds."""
    cells = difference_cells(store, arms, test, how)
    return "" if cells is None else "; ".join(cell for cell in cells[1:3] if cell)


TRANSFER_DIFFERENCES = {"xl - dpr": "WinoGrande less DPR", "dpr>xl - xl": "DPR, then WinoGrande, less WinoGrande"}
"""Those of Table 5; after the steps that were chosen the first alone."""


def show_transfer(store: Store, *, by_rule: bool = False) -> str:
    """Every arm on every test set."""
    how = "chosen" if by_rule else "equal steps"
    named = dict(list(TRANSFER_DIFFERENCES.items())[: 1 if by_rule else None])
    lines = []
    for test, name in TESTS.items():
        if by_rule and test == "winogrande-dev":
            continue
        paper = WINOGRANDE_TABLE_5_TRAINED.get(test, "")
        n = store["sets"].settings["tests"][test]
        cells = [cell(store, arm, test, by_rule=by_rule) for arm in ARMS]
        gaps = [difference(store, arms, test, how) for arms in named]
        lines.append((f"{name} ({n:,})", paper, guessing(store, test), *cells, *gaps))
    header = ["test set", "WinoGrande, paper", "guessing", *arm_header(store, ARMS), *gap_header(store, named)]
    return grid(header, lines)


def arm_header(store: Store, arms: Iterable[str]) -> list[str]:
    """The names of arms, with how many runs each has."""
    return [f"{ARMS[arm]} ({counted(seeds(store, f'transfer/{arm}'))})" for arm in arms]


def gap_header(store: Store, named: Mapping[str, str]) -> list[str]:
    """Differences by name, with the number of seeds that both arms have."""
    header = []
    for name, shown in named.items():
        known = store.records.get(f"difference/{name}")
        count = len(known.settings["seeds"]) if known else 0
        header.append(f"{shown} ({plural(count, 'seed')})")
    return header


def guessing(store: Store, test: str) -> str:
    """What picking one of a problem's options at random gets on a set."""
    for arm in ("xl", *ARMS):
        for record in seeds(store, f"transfer/{arm}"):
            accuracy = score(record, test)
            if accuracy is not None and accuracy.chance is not None:
                return percent(accuracy.chance)
    return ""


def show_chosen(store: Store) -> str:
    """The same with the number of steps chosen by the papers' rules; then how many were chosen."""
    lines = []
    for arm, name in ARMS.items():
        steps = {test: [chosen_step(run, test, store) for run in seeds(store, f"transfer/{arm}")] for test in TESTS}
        cells = [
            ", ".join(f"{step:,}" for step in by_seed if step is not None) or "–"
            for test, by_seed in steps.items()
            if test != "winogrande-dev"
        ]
        lines.append((name, *cells))
    header = ["steps chosen, by seed", *(name for test, name in TESTS.items() if test != "winogrande-dev")]
    return show_transfer(store, by_rule=True) + "\n\n" + grid(header, lines)


def gender_line(name: str, paper: Sequence[float], record: Record | None, runs: Sequence[Record]) -> list[object]:
    """An arm on Winogender: the whole, either gender with its two cells, and the gaps with intervals and by seed."""
    theirs = [f"{paper[0]} / {paper[1]}", f"{paper[2]} / {paper[3]}"] if paper else ["", ""]
    if record is None:
        return [name, *theirs, NOT_RUN]
    cells: list[str] = []
    for gender in ("female", "male"):
        two = [percent(record.find("accuracy", f"{gender}.{kind}")) for kind in ("not_gotcha", "gotcha")]
        cells.append(f"{percent(record.find('accuracy', gender))} ({' / '.join(two)})")
    for gender in MARKS:
        whole, by_seed = (record.find(metric, gender) for metric in ("delta", "by_seed"))
        span = [number(100 * (end or 0.0)) for end in (by_seed.low, by_seed.high)] if by_seed and len(runs) > 1 else []
        cells.append(percent(whole, interval=True) + (f"; {' to '.join(span)}" if span else ""))
    everything = mean_sd(score(run, "winogender") for run in runs)
    return [name, *theirs, len(runs), percent(record.find("undecided", "all")), everything, *cells]


MARKS = {"female": "ΔF", "male": "ΔM", BOTH: "the gap of both genders"}
"""The gaps: where the pronoun's gender is the usual one for the right occupation less where it is not."""
READ_PRONOUN = {"p-span/dpr": "DPR, `p-span`", "p-span/superglue-wsc": "SuperGLUE-WSC, `p-span`"}


def show_gender(store: Store) -> str:
    """Winogender by arm; then the formalization that reads the pronoun; then what can be said of the gaps."""
    named = {f"transfer/{arm}": name for arm, name in ARMS.items()} | READ_PRONOUN
    records = {arm: store.records.get(f"gender/{arm}") for arm in named}
    lines = [
        gender_line(name, WINOGRANDE_TABLE_6.get(arm.removeprefix("transfer/"), ()), records[arm], seeds(store, arm))
        for arm, name in named.items()
    ]
    header = [
        "trained on",
        "female: not gotcha / gotcha, paper",
        "male, paper",
        "runs",
        "undecided",
        "all",
        "female (not gotcha / gotcha)",
        "male (not gotcha / gotcha)",
        "ΔF; single seeds",
        "ΔM; single seeds",
        "both genders; single seeds",
    ]
    return f"{grid(header, lines)}\n\n{said_of_gaps({named[arm]: record for arm, record in records.items() if record})}"


def said_of_gaps(records: Mapping[str, Record]) -> str:
    """How many problems stand behind a cell, and which gaps differ from zero, of arms with two seeds and more."""
    first = next(iter(records.values()))
    sizes = [first.find("accuracy", subset) for subset in ("all", "female", "female.gotcha")]
    n = ["–" if size is None else f"{size.n:,}" for size in sizes]
    text = f"{n[0]} problems, {n[1]} of either gender (the others have *they*), {n[2]} in each cell."
    seeded = {name: record for name, record in records.items() if len(record.settings["seeds"]) > 1}
    sure = []
    for name, record in seeded.items():
        for gender, mark in MARKS.items():
            gap = record.find("delta", gender)
            if gap is not None and not includes_zero(gap):
                sure.append(f"{mark} after {name}")
    if seeded:
        said = f"the interval of {'; '.join(sure)} excludes zero" if sure else "none has an interval that excludes zero"
        text += f" Of the {len(MARKS) * len(seeded)} gaps of arms with at least two runs, {said}."
    single = [name for name in records if name not in seeded]
    return text + (f" One run gives no verdict: {'; '.join(single)}." if single else "")


register(
    trained(
        "winogrande",
        "4-trained",
        "dev, trained",
        WINOGRANDE,
        _=("transfer/", show_dev),
        compared=("difference/", show_compared),
    ),
    trained(
        "winogrande",
        "5-trained",
        "transfer, trained",
        WINOGRANDE,
        _=("transfer/", show_transfer),
        chosen=("transfer/", show_chosen),
    ),
    trained("winogrande", "6-trained", "gender, trained", WINOGRANDE, _=("transfer/", show_gender)),
)
