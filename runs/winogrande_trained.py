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
    """Table 4: every arm on WinoGrande's dev set after as many steps, beside the paper."""
    paper = WINOGRANDE_TABLE_4
    lines = [
        on_dev("WinoGrande, all", seeds(store, "transfer/xl"), paper["BERT, fine-tuned"]),
        on_dev("DPR, then WinoGrande (seqft)", seeds(store, "transfer/dpr>xl"), paper["BERT, fine-tuned on DPR first"]),
        on_dev("WinoGrande, MLM head (`mc-mlm`, mpnet with a head)", seeds(store, "square-one/mc-mlm")),
        on_dev("WinoGrande, as true or false (`p-sent`)", seeds(store, "true-false")),
        on_dev("WinoGrande, debiased", seeds(store, "transfer/debiased")),
        on_dev("DPR", seeds(store, "transfer/dpr")),
        on_dev("WSC", seeds(store, "transfer/wsc")),
        local_context_line(store, "random", "at random", paper["local context, random 25k"]),
        local_context_line(store, "kept", "that our AFLite kept", paper["local context, debiased 25k"]),
    ]
    runs_on_dev = [*seeds(store, "transfer/xl"), *seeds(store, "transfer/dpr")]
    if runs_on_dev:
        lines.append(guessing_on_dev(runs_on_dev))
    return grid(["trained on", "dev, paper", "test, paper", *DEV_COLUMNS], lines)


def local_context_line(store: Store, kind: str, chosen_how: str, paper: Sequence[object]) -> list[object]:
    """Line of models that saw local contexts only, of problems chosen at random or kept by AFLite."""
    records = seeds(store, f"local-context/{kind}")
    size = f"{records[0].settings['problems']:,} problems" if records else "25,000 problems"
    name = f"local context, DPR first, {size} {chosen_how}"
    return on_dev(name, records, paper, "dev-local-context")


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
    """Table of arms of Table 4 against each other, over seeds that both have, and a sentence on what was not run."""
    lines: list[Sequence[object]] = []
    missing = []
    for name, (first, second, tests) in ON_DEV.items():
        is_run = False
        for test in tests:
            cells = difference_cells(store, name, test)
            if cells is not None:
                is_run = True
                test_title = TESTS.get(test, "WinoGrande dev, local context")
                lines.append((first, second, test_title, *arm_means(store, name, test), *cells))
        if not is_run:
            missing.append(f"{first} against {second}")
    parts = []
    if lines:
        header = ["first", "second", "test set", "first has", "second has", *DIFFERENCE_COLUMNS]
        parts.append(grid(header, lines))
    if missing:
        parts.append(f"Not run with the same seeds: {'; '.join(missing)}.")
    return "\n\n".join(parts)


def arm_means(store: Store, name: str, test: str) -> list[str]:
    """Accuracy of both arms of a difference on a test set, over the seeds that both have."""
    common_seeds = store[f"difference/{name}"].settings["seeds"]
    means = []
    for arm in DIFFERENCES[name]:
        runs = [run for run in seeds(store, arm) if seed_of(run) in common_seeds]
        means.append(mean_sd(score(run, test) for run in runs))
    return means


def cell(store: Store, arm: str, test: str, *, by_rule: bool = False) -> str:
    """Accuracy of an arm on a test set: mean and standard deviation over seeds.

    With `by_rule` after the steps that the papers' rule chooses, otherwise after the last one. A dash if the arm is
    not tested on the set, "not run" if nothing is stored.
    """
    if why_empty(store, arm, test):
        return "–"
    values = []
    for record in seeds(store, f"transfer/{arm}"):
        step = chosen_step(record, test, store) if by_rule else None
        values.append(score(record, test, step))
    return mean_sd(values) or NOT_RUN


def why_empty(store: Store, arm: str, test: str) -> str | None:
    """Reason why an arm is not tested on a set, or None if it is."""
    reasons: dict[str, dict[str, str]] = json.loads(store["sets"].texts["empty"])
    return reasons.get(arm, {}).get(test)


def difference(store: Store, arms: str, test: str, how: str) -> str:
    """Lead of the first arm with its interval over problems, then that over problems and seeds.

    `arms` names the difference, `how` says how steps were chosen. Empty if it is not stored.
    """
    cells = difference_cells(store, arms, test, how)
    if cells is None:
        return ""
    _, value, wide_interval, *_ = cells
    return "; ".join(cell for cell in (value, wide_interval) if cell)


TRANSFER_DIFFERENCES = {"xl - dpr": "WinoGrande less DPR", "dpr>xl - xl": "DPR, then WinoGrande, less WinoGrande"}
"""Those of Table 5; after the steps that were chosen the first alone."""


def show_transfer(store: Store, *, by_rule: bool = False) -> str:
    """Table 5: every arm on every test set.

    With `by_rule` after the steps that the papers' rule chooses, and with the first difference only.
    """
    how = "chosen" if by_rule else "equal steps"
    difference_titles = dict(TRANSFER_DIFFERENCES)
    if by_rule:
        first_name = next(iter(TRANSFER_DIFFERENCES))
        difference_titles = {first_name: TRANSFER_DIFFERENCES[first_name]}
    lines = []
    for test, name in TESTS.items():
        if by_rule and test == "winogrande-dev":
            continue
        paper = WINOGRANDE_TABLE_5_TRAINED.get(test, "")
        n = store["sets"].settings["tests"][test]
        cells = [cell(store, arm, test, by_rule=by_rule) for arm in ARMS]
        gaps = [difference(store, arms, test, how) for arms in difference_titles]
        lines.append((f"{name} ({n:,})", paper, guessing(store, test), *cells, *gaps))
    header = ["test set", "WinoGrande, paper", "guessing"]
    header += arm_header(store, ARMS)
    header += gap_header(store, difference_titles)
    return grid(header, lines)


def arm_header(store: Store, arms: Iterable[str]) -> list[str]:
    """Names of arms, each with the number of its runs."""
    return [f"{ARMS[arm]} ({counted(seeds(store, f'transfer/{arm}'))})" for arm in arms]


def gap_header(store: Store, titles: Mapping[str, str]) -> list[str]:
    """Titles of differences, each with the number of seeds that both arms have."""
    header = []
    for name, title in titles.items():
        record = store.records.get(f"difference/{name}")
        count = len(record.settings["seeds"]) if record else 0
        header.append(f"{title} ({plural(count, 'seed')})")
    return header


def guessing(store: Store, test: str) -> str:
    """Accuracy of picking one of a problem's options at random, or empty if no run has the set."""
    for arm in ("xl", *ARMS):
        for record in seeds(store, f"transfer/{arm}"):
            accuracy = score(record, test)
            if accuracy is not None and accuracy.chance is not None:
                return percent(accuracy.chance)
    return ""


def show_chosen(store: Store) -> str:
    """Table 5 after the numbers of steps that the papers' rules choose, and a table of these numbers."""
    tests = {test: name for test, name in TESTS.items() if test != "winogrande-dev"}
    lines = []
    for arm, name in ARMS.items():
        cells = [steps_cell(store, arm, test) for test in tests]
        lines.append((name, *cells))
    steps_table = grid(["steps chosen, by seed", *tests.values()], lines)
    return f"{show_transfer(store, by_rule=True)}\n\n{steps_table}"


def steps_cell(store: Store, arm: str, test: str) -> str:
    """Steps that the papers' rule chooses for a test set, one per seed, or a dash if it chooses none."""
    steps = [chosen_step(run, test, store) for run in seeds(store, f"transfer/{arm}")]
    chosen = [f"{step:,}" for step in steps if step is not None]
    return ", ".join(chosen) or "–"


def gender_line(name: str, paper: Sequence[float], record: Record | None, runs: Sequence[Record]) -> list[object]:
    """Line of an arm on Winogender: all problems, each gender with its two cells, and the gaps.

    `paper` has the paper's four cells, or nothing. `record` has the arm's rows over all runs; None if it was not run.
    """
    theirs = ["", ""]
    if paper:
        female, female_gotcha, male, male_gotcha = paper
        theirs = [f"{female} / {female_gotcha}", f"{male} / {male_gotcha}"]
    if record is None:
        return [name, *theirs, NOT_RUN]
    cells = [gender_cell(record, "female"), gender_cell(record, "male")]
    cells += [gap_cell(record, gender, len(runs)) for gender in MARKS]
    undecided = percent(record.find("undecided", "all"))
    overall = mean_sd(score(run, "winogender") for run in runs)
    return [name, *theirs, len(runs), undecided, overall, *cells]


def gender_cell(record: Record, gender: str) -> str:
    """Accuracy on a gender's pronouns, and in brackets without and with gotcha."""
    plain = percent(record.find("accuracy", f"{gender}.not_gotcha"))
    gotcha = percent(record.find("accuracy", f"{gender}.gotcha"))
    return f"{percent(record.find('accuracy', gender))} ({plain} / {gotcha})"


def gap_cell(record: Record, gender: str, run_count: int) -> str:
    """Gap of a gender with its interval, and the range over seeds if there are several runs."""
    gap = percent(record.find("delta", gender), interval=True)
    by_seed = record.find("by_seed", gender)
    if by_seed is None or run_count < 2:
        return gap
    low = number(100 * (by_seed.low or 0.0))
    high = number(100 * (by_seed.high or 0.0))
    return f"{gap}; {low} to {high}"


MARKS = {"female": "ΔF", "male": "ΔM", BOTH: "the gap of both genders"}
"""The gaps: where the pronoun's gender is the usual one for the right occupation less where it is not."""
READ_PRONOUN = {"p-span/dpr": "DPR, `p-span`", "p-span/superglue-wsc": "SuperGLUE-WSC, `p-span`"}


def show_gender(store: Store) -> str:
    """Table 6: Winogender by arm, then the formalization that reads the pronoun, then what the gaps say."""
    titles = {f"transfer/{arm}": name for arm, name in ARMS.items()} | READ_PRONOUN
    lines = []
    stored = {}
    for arm, title in titles.items():
        record = store.records.get(f"gender/{arm}")
        if record is not None:
            stored[title] = record
        paper = WINOGRANDE_TABLE_6.get(arm.removeprefix("transfer/"), ())
        lines.append(gender_line(title, paper, record, seeds(store, arm)))
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
    return f"{grid(header, lines)}\n\n{said_of_gaps(stored)}"


def said_of_gaps(records: Mapping[str, Record]) -> str:
    """Say how many problems a cell has, and which gaps differ from zero, of arms with at least two seeds.

    `records` are by the arm's name in the table.
    """
    first = next(iter(records.values()))
    problems = problem_count(first, "all")
    of_a_gender = problem_count(first, "female")
    of_a_cell = problem_count(first, "female.gotcha")
    sentences = [
        f"{problems} problems, {of_a_gender} of either gender (the others have *they*), {of_a_cell} in each cell."
    ]
    seeded = {name: record for name, record in records.items() if len(record.settings["seeds"]) > 1}
    if seeded:
        nonzero = nonzero_gaps(seeded)
        finding = (
            f"the interval of {'; '.join(nonzero)} excludes zero"
            if nonzero
            else "none has an interval that excludes zero"
        )
        gap_count = len(MARKS) * len(seeded)
        sentences.append(f"Of the {gap_count} gaps of arms with at least two runs, {finding}.")
    single = [name for name in records if name not in seeded]
    if single:
        sentences.append(f"One run gives no verdict: {'; '.join(single)}.")
    return " ".join(sentences)


def problem_count(record: Record, subset: str) -> str:
    """Number of problems that the accuracy of a subset is over, or a dash if it is not stored."""
    row = record.find("accuracy", subset)
    return "–" if row is None else f"{row.n:,}"


def nonzero_gaps(records: Mapping[str, Record]) -> list[str]:
    """Gaps whose interval excludes zero, in words."""
    gaps = []
    for name, record in records.items():
        for gender, mark in MARKS.items():
            gap = record.find("delta", gender)
            if gap is not None and not includes_zero(gap):
                gaps.append(f"{mark} after {name}")
    return gaps


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
