"""WinoGrande's Tables 4 to 6, trained: every arm on dev, on other sets, and on Winogender."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import fmean

from runs.papers import WINOGRANDE_TABLE_4, WINOGRANDE_TABLE_5_TRAINED, WINOGRANDE_TABLE_6
from runs.store import Record, Store
from runs.tables import grid, number, percent, register
from runs.trained import chosen_step, last, mean_sd, score, seeds
from runs.trained_tables import NOT_RUN, WINOGRANDE, on_dev, runs_of, trained

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
    return grid(["trained on", "dev, paper", "test, paper", "runs", "dev", "pairs"], lines)


def cell(store: Store, arm: str, test: str, *, by_rule: bool = False) -> str:
    """An arm on a test set: mean and standard deviation over seeds."""
    if why_empty(store, arm, test):
        return "–"
    values = []
    for one in seeds(store, f"transfer/{arm}"):
        step = chosen_step(one, test, store) if by_rule else None
        values.append(score(one, test, step))
    return mean_sd(values) or NOT_RUN


def why_empty(store: Store, arm: str, test: str) -> str | None:
    """Why an arm is not tested on a set."""
    empty: dict[str, dict[str, str]] = json.loads(store["sets"].texts["empty"])
    return empty.get(arm, {}).get(test)


def difference(store: Store, arms: str, test: str, how: str) -> str:
    """How much better the first arm is, with an interval over problems."""
    for one in store[f"difference/{arms}"].rows if f"difference/{arms}" in store else ():
        if (one.dataset, one.subset, one.metric) == (test, how, "accuracy"):
            told = percent(one, interval=True)
            return told if one.value < 0 else f"+{told}"
    return ""


def show_transfer(store: Store, *, by_rule: bool = False) -> str:
    """Every arm on every test set."""
    how = "chosen" if by_rule else "equal steps"
    lines = []
    for test, name in TESTS.items():
        if by_rule and test == "winogrande-dev":
            continue
        paper = WINOGRANDE_TABLE_5_TRAINED.get(test, "")
        n = store["sets"].settings["tests"][test]
        cells = [cell(store, arm, test, by_rule=by_rule) for arm in ARMS]
        lines.append((f"{name} ({n:,})", paper, *cells, difference(store, "xl - dpr", test, how)))
    return grid(["test set", "WinoGrande, paper", *ARMS.values(), "WinoGrande less DPR"], lines)


def show_chosen(store: Store) -> str:
    """The same with the number of steps chosen by the papers' rules; then how many were chosen."""
    lines = []
    for arm, name in ARMS.items():
        steps = {test: [chosen_step(one, test, store) for one in seeds(store, f"transfer/{arm}")] for test in TESTS}
        told = [
            ", ".join(f"{step:,}" for step in found if step is not None) or "–"
            for test, found in steps.items()
            if test != "winogrande-dev"
        ]
        lines.append((name, *told))
    header = ["steps chosen, by seed", *(name for test, name in TESTS.items() if test != "winogrande-dev")]
    return show_transfer(store, by_rule=True) + "\n\n" + grid(header, lines)


CELLS = ("female.not_gotcha", "female.gotcha", "male.not_gotcha", "male.gotcha")


def gender_line(name: str, paper: Sequence[float], records: Sequence[Record]) -> list[object]:
    """An arm's four cells and two gaps on Winogender."""
    theirs = [f"{paper[0]} / {paper[1]}", f"{paper[2]} / {paper[3]}"] if paper else ["", ""]
    if not records:
        return [name, *theirs, NOT_RUN, "", "", "", "", ""]
    whole = mean_sd(score(one, "winogender") for one in records)
    place = [f"winogender@{last(one, 'winogender')}" for one in records]

    def found(subset: str, metric: str) -> list[float]:
        return [
            each.value
            for one, at in zip(records, place, strict=True)
            for each in one.rows
            if (each.dataset, each.protocol, each.subset, each.metric) == (at, "gender", subset, metric)
        ]

    cells = [number(100 * fmean(found(subset, "accuracy"))) for subset in CELLS]
    gaps = [mean_sd(found(gender, "delta")) for gender in ("female", "male")]
    return [name, *theirs, runs_of(records), whole, f"{cells[0]} / {cells[1]}", f"{cells[2]} / {cells[3]}", *gaps]


def show_gender(store: Store) -> str:
    """Winogender by arm; then the formalization that reads the pronoun."""
    lines = [
        gender_line(name, WINOGRANDE_TABLE_6.get(arm, ()), seeds(store, f"transfer/{arm}"))
        for arm, name in ARMS.items()
    ]
    for on, name in (("dpr", "DPR, `p-span`"), ("superglue-wsc", "SuperGLUE-WSC, `p-span`")):
        lines.append(gender_line(name, (), seeds(store, f"p-span/{on}")))
    header = [
        "trained on",
        "female: not gotcha / gotcha, paper",
        "male, paper",
        "runs",
        "all",
        "female",
        "male",
        "ΔF",
        "ΔM",
    ]
    return grid(header, lines)


register(
    trained("winogrande", "4-trained", "dev, trained", WINOGRANDE, _=("transfer/", show_dev)),
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
