"""Liu et al., trained: the trials of every formalization, their spread, and the heads they begin with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from runs.comparisons import ANY, BEFORE, COMMON, COMPARED, NOT_THE_PAPERS, WITH_RUNS
from runs.papers import LIU_TABLE_2
from runs.store import Record, Store
from runs.tables import grid, number, percent, register
from runs.trained import mean_sd, score, seeds
from runs.trained_tables import LIU, NOT_RUN, ends_of, includes_zero, signed, trained
from winokit.drawing.wording import plural
from winokit.results import Metric

FORMALIZATIONS = {
    "mc-mlm": "MC-MLM",
    "mc-sent": "MC-Sent",
    "mc-sent-no-softmax": "MC-Sent-NoSoftmax",
    "mc-sent-no-pair-loss": "MC-Sent-NoPairLoss",
    "p-sent": "P-Sent",
    "p-span": "P-Span",
    "mc-mlm-fresh": "MC-MLM, fresh head",
}
FEWEST = 5
"""Trials or common draws below which nothing is said of an order."""
UNEVEN = ", not all with the same draws, so that the medians of all trials compare different draws."
SIDES = {
    # by what the interval of a difference over common draws says
    "ahead": "Question by question {} is ahead of",
    "behind": "Question by question {} is behind",
    "ahead, open": "Open for other draws, but over these {} is ahead of",
    "behind, open": "Open for other draws, but over these {} is behind",
    "even": "{} cannot be distinguished from",
    "few": f"Too few draws (under {FEWEST}) are common to {{}} and",
}
ENCODERS = {"mpnet": "all-mpnet-base-v2", "minilm": "all-MiniLM-L6-v2"}
SEARCHED = {"superglue-wsc": "superglue-wsc-val", "dpr": "dpr-test", "winogrande-m": "winogrande-dev"}
"""By what was searched on, the set that trials are compared on: DPR's test set, which no epoch was chosen on."""


def trials_table(store: Store, on: str, model: str = "mpnet-head", names: Iterable[str] = FORMALIZATIONS) -> str:
    """The trials of every formalization on one set: guessing, medians, by how much MC-MLM leads, the best and luck."""
    lines: list[tuple[object, ...]] = []
    known = [one for name in names if (one := store.records.get(f"search/{on}/{model}/{name}")) is not None]
    even = began_alike(known)
    for name in names:
        key = f"search/{on}/{model}/{name}"
        if key not in store:
            lines.append((FORMALIZATIONS[name], NOT_RUN))
            continue
        one = store[key]
        median = one.find("median")
        told = [
            FORMALIZATIONS[name],
            one.settings["trials"],
            percent(None if median is None else median.chance),
            percent(median),
            f"{percent(one.value('lower_quartile'))} – {percent(one.value('upper_quartile'))}",
            behind(one, COMMON),
            *([] if even else [behind(one, ANY)]),
        ]
        if is_tested(on):
            told += [percent(_of(one, SEARCHED[on], "chosen"), interval=True)]
        else:
            told += [percent(one.value("best")), percent(one.find("corrected"), interval=True)]
        lines.append((*told, percent(_of(one, SEARCHED[on], "ensemble"))))
    header = [
        "formalization",
        "trials",
        "guessing",
        "median",
        "quartiles",
        "MC-MLM ahead by (common draws); other draws too",
        *([] if even else ["… whatever they began with"]),
        *(["chosen trial"] if is_tested(on) else ["best", "best, corrected for luck"]),
        "best five together",
    ]
    found = {name: store.records.get(f"search/{on}/{model}/{name}") for name in names}
    return f"{grid(header, lines)}\n\n{said_of_trials(found)}"


def is_tested(on: str) -> bool:
    """Whether trials are compared on a test set, which no epoch was chosen on."""
    return SEARCHED[on].endswith("-test")


def behind(record: Record, subset: str) -> str:
    """By how much MC-MLM is ahead over common draws: with the interval over problems, and that over draws as well."""
    found, wide = record.find(COMPARED, subset), record.find(WITH_RUNS, subset)
    if found is None:
        return ""
    return f"{percent(found, interval=True)} ({found.n})" + (f"; {ends_of(wide)}" if wide else "")


def same_draws(searches: Iterable[Record]) -> bool:
    """Whether all have the same trials."""
    return len({one.settings["draws"] for one in searches}) <= 1


def began_alike(searches: Iterable[Record]) -> bool:
    """Whether all have the same trials, and every draw began alike in all."""
    shared = [(one.find("median_common"), one.settings["trials"]) for one in searches]
    return all(found is not None and found.n == trials for found, trials in shared)


def said_of_trials(found: Mapping[str, Record | None]) -> str:
    """What can be said of a search: how even it is, what leads, and whom MC-MLM is ahead of."""
    known = {FORMALIZATIONS[name]: one for name, one in found.items() if one is not None}
    papers = [one for name, one in found.items() if one is not None and name != NOT_THE_PAPERS]
    trials = sorted({one.settings["trials"] for one in known.values()})
    count = plural(trials[0], "trial") if len(trials) == 1 else f"From {trials[0]} to {trials[-1]} trials"
    told = [f"{count} each{'.' if same_draws(papers) else UNEVEN}"]
    if not began_alike(papers):
        shared = next((median for one in papers if (median := one.find("median_common"))), None)
        whose = "The paper's formalizations that were run have"
        told.append(f"{whose} {plural(shared.n if shared else 0, 'draw')} in common that began alike.")
    tried = {name: one for name, one in known.items() if one.settings["trials"] >= FEWEST}
    if len(tried) > 1:
        medians = {name: one.value("median") for name, one in tried.items()}
        ends = []
        for end in (max(medians.values()), min(medians.values())):
            ends.append(f"{' and '.join(name for name, value in medians.items() if value == end)} ({percent(end)})")
        said = f"the highest median is that of {ends[0]}, the lowest that of {ends[1]}"
        told.append(f"Of those with at least {FEWEST} trials {said}.")
    gaps = {name: gap for name, one in known.items() if (gap := one.find(COMPARED, COMMON))}
    sides: dict[str, list[str]] = {}
    for name, gap in gaps.items():
        wide = known[name].find(WITH_RUNS, COMMON)
        side = "ahead" if gap.value > 0 else "behind"
        if gap.n < FEWEST or wide is None:
            side = "few"
        elif includes_zero(gap):
            side = "even"
        elif includes_zero(wide):
            side += ", open"
        sides.setdefault(side, []).append(name)
    for side, said in SIDES.items():
        if side in sides:
            told.append(f"{said.format(FORMALIZATIONS[COMPARED])} {'; '.join(sides[side])}.")
    if len(gaps) > 1 and set(sides) != {"few"}:
        told.append("These intervals are not corrected for their number.")
    floors = {percent(one.value("floor")) for one in known.values() if one.value("floor") > (chance_of(one) or 1.0)}
    return " ".join([*told, *(f"Answering always the same has {floor}." for floor in sorted(floors))])


def chance_of(record: Record) -> float | None:
    """What guessing gets under a formalization."""
    found = record.find("median")
    return None if found is None else found.chance


def _of(record: Record, dataset: str, subset: str) -> Metric | None:
    own = [one for one in record.rows if one.dataset == dataset and one.subset == subset]
    return next((one for one in own if one.metric == "expected_accuracy"), None) or next(
        (one for one in own if one.metric == "accuracy"), None
    )


def show_answers(store: Store) -> str:
    """How often each formalization says yes on SuperGLUE-WSC's validation set."""
    lines, sizes = [], []
    for name, shown in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/superglue-wsc/mpnet-head/{name}")
        if trials:
            said, found = (sorted(int(one.value(metric)) for one in trials) for metric in ("said_yes", "yes_found"))
            lines.append((shown, len(trials), _span(said), _span(found)))
            sizes = [one.n for metric in ("said_yes", "yes_found") if (one := trials[0].find(metric))]
    asked = f"of {sizes[0]} questions, {sizes[1]} of them yes"
    return grid([asked, "trials", "answered yes: median, range", "yes found: median, range"], lines)


def _span(values: Sequence[int]) -> str:
    middle = (
        values[len(values) // 2] if len(values) % 2 else (values[len(values) // 2 - 1] + values[len(values) // 2]) / 2
    )
    return f"{middle:g}, {values[0]} to {values[-1]}"


def show_second(store: Store) -> str:
    """The two sets on which a second encoder was tried."""
    told = []
    for shown, on in (("SuperGLUE-WSC, validation set", "superglue-wsc"), ("DPR, test set", "dpr")):
        if any(key.startswith(f"liu/{on}/minilm-head/") for key in store.records):
            told.append(f"{shown}:\n\n{trials_table(store, on, 'minilm-head', ('mc-mlm', 'mc-sent'))}")
    return "\n\n".join(told)


def show_epochs(store: Store) -> str:
    """DPR's trials by their number of epochs: the mean of each formalization, and by how much MC-MLM is ahead."""
    lines: list[Sequence[object]] = []
    epochs = sorted({one.settings["epochs"] for one in seeds(store, f"liu/dpr/mpnet-head/{COMPARED}")})
    for name, shown in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/dpr/mpnet-head/{name}")
        search = store.records.get(f"search/dpr/mpnet-head/{name}")
        if search is None:
            continue
        told: list[object] = [shown]
        for count in epochs:
            own = [score(one, SEARCHED["dpr"]) for one in trials if one.settings["epochs"] == count]
            told += [f"{mean_sd(own)} ({len(own)})", behind(search, f"{count} epochs").partition(" (")[0]]
        lines.append(told)
    header = [text for count in epochs for text in (f"{count} epochs: mean (trials)", "MC-MLM ahead by")]
    return grid(["formalization", *header], lines)


def show_again(store: Store) -> str:
    """Trials that were run twice, from two heads: how far the later one is from the earlier."""
    lines: list[Sequence[object]] = []
    for on, said in (("superglue-wsc", "SuperGLUE-WSC"), ("winogrande-m", "WinoGrande-m")):
        for name, shown in FORMALIZATIONS.items():
            one = store.records.get(f"again/{on}/mpnet-head/{name}")
            if one is None:
                continue
            mean, wide, apart = (one.find(metric) for metric in ("accuracy", WITH_RUNS, "apart"))
            assert mean is not None
            assert apart is not None
            told = signed(percent(mean, interval=True)) + (f"; {ends_of(wide)}" if wide else "")
            sizes = f"{percent(apart)}, {percent(apart.low)} to {percent(apart.high)}"
            lines.append((f"{said}, {shown}", mean.n, told, sizes))
    header = ["set, formalization", "trials run twice", "later head less earlier; other draws too"]
    return grid([*header, "single trials apart by: mean, range"], lines)


def show_published(store: Store) -> str:
    """Table 2: the paper's numbers beside our standard deviations."""
    lines = []
    for name, shown in FORMALIZATIONS.items():
        paper = LIU_TABLE_2.get(name, ("", "", ""))
        ours = []
        for on in SEARCHED:
            key = f"search/{on}/mpnet-head/{name}"
            ours.append(_spread(store[key]) if key in store else NOT_RUN)
        lines.append((shown, paper[0], paper[1], ours[0], paper[2], ours[2], ours[1]))
    header = [
        "formalization",
        "WSC test, paper",
        "WSC std, kurtosis, paper",
        "ours (trials)",
        "WinoGrande std, kurtosis, paper",
        "WinoGrande-m, ours",
        "DPR test, ours",
    ]
    return grid(header, lines)


def _spread(record: Record) -> str:
    std, kurtosis = (record.find(name) for name in ("std", "excess_kurtosis"))
    shape = "–" if kurtosis is None else number(kurtosis.value)
    return f"{percent(std) or '–'}, {shape} ({record.settings['trials']})"


def show_heads(store: Store) -> str:
    """What the heads learned."""
    lines: list[Sequence[object]] = []
    heads = [one for key, one in store.records.items() if re.match(rf"({BEFORE}[^/]*/)?head/", key)]
    for one in heads:
        alike = [each for each in heads if each.settings["model"] == one.settings["model"]]
        number = f", head {alike.index(one) + 1}" if len(alike) > 1 else ""
        shown = ENCODERS[one.settings["model"]] + number
        how = one.settings
        guessed = [percent(how[key]) for key in ("guessed_before", "guessed_after")]
        lines.append((shown, f"{how['pieces']:,}", f"{how['held_out']:,}", *guessed, f"{(one.seconds or 0) / 60:.1f}"))
    return grid(
        ["encoder", "pieces learned from", "held out", "masked words guessed before, %", "after, %", "minutes"], lines
    )


register(
    trained("liu", "heads", "language-modelling heads", LIU, _=("head/", show_heads)),
    trained(
        "liu",
        "1",
        "distributions over runs",
        LIU,
        superglue=("liu/superglue-wsc/mpnet-head/", partial(trials_table, on="superglue-wsc")),
        yes=("liu/superglue-wsc/mpnet-head/", show_answers),
        dpr=("liu/dpr/mpnet-head/", partial(trials_table, on="dpr")),
        winogrande=("liu/winogrande-m/mpnet-head/", partial(trials_table, on="winogrande-m")),
        epochs=("liu/dpr/mpnet-head/", show_epochs),
        again=("again/", show_again),
        second=("liu/", show_second),
    ),
    trained("liu", "2", "spread of the runs", LIU, _=("liu/", show_published)),
)
