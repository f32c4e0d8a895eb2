"""Liu et al., trained: the trials of every formalization, their spread, and the heads they begin with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median

from runs.papers import LIU_TABLE_2
from runs.store import Record, Store
from runs.tables import grid, number, percent, register
from runs.trained import WITH_RUNS, mean_sd, score, seeds
from runs.trained_tables import LIU, NOT_RUN, ends_of, includes_zero, trained
from winokit.drawing.wording import plural
from winokit.methods.metrics.corrections import holm
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
COMPARED = "mc-mlm"
"""What the other formalizations are compared with, over the draws that both have."""
NOT_THE_PAPERS = "mc-mlm-fresh"
"""Ours alone: draws are common where the paper's formalizations have them."""
COMMON, ANY = "common draws", "whatever they began with"
"""Draws of which both trials began with the same head and the same held-out problems; all that both have."""
P_VALUE = "p"
"""Of a lead: how often it is as large if the two change places, group by group of questions."""
LEVEL = 0.05
"""P-values below this are significant."""
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
    searches = {name: store.records.get(f"search/{on}/{model}/{name}") for name in names}
    even = all(is_even(search) for search in searches.values() if search is not None)
    lines: list[tuple[object, ...]] = []
    for name, search in searches.items():
        if search is None:
            lines.append((FORMALIZATIONS[name], NOT_RUN))
            continue
        cells = [
            search.settings["trials"],
            percent(chance_of(search)),
            percent(search.find("median")),
            f"{percent(search.value('lower_quartile'))} – {percent(search.value('upper_quartile'))}",
            behind(search, COMMON),
            *([] if even else [behind(search, ANY)]),
        ]
        if is_tested(on):
            cells += [percent(_accuracy(search, SEARCHED[on], "chosen"), interval=True)]
        else:
            cells += [percent(search.value("best")), percent(search.find("corrected"), interval=True)]
        lines.append((FORMALIZATIONS[name], *cells, percent(_accuracy(search, SEARCHED[on], "ensemble"))))
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
    return f"{grid(header, lines)}\n\n{said_of_trials(searches)}{said_of_parts(store, on, model, names)}"


FIRST_PART = "dpr-held-out"
"""The part of DPR that the first trials held out to choose an epoch on: an earlier rule for overlap made it."""


def said_of_parts(store: Store, on: str, model: str, names: Iterable[str]) -> str:
    """How many trials chose their epoch on a part that no command makes any more; nothing if none did."""
    trials = [trial for name in names for trial in seeds(store, f"liu/{on}/{model}/{name}")]
    count = sum(trial.settings["chosen_on"] == FIRST_PART for trial in trials)
    if not count:
        return ""
    return (
        f" Set apart: {count} of {len(trials)} trials chose their epoch on held-out problems that no command makes now."
    )


def is_even(search: Record) -> bool:
    """Whether every draw that both have began alike in both."""
    common, whatever = (search.find(COMPARED, subset) for subset in (COMMON, ANY))
    return (common and (common.n, common.value)) == (whatever and (whatever.n, whatever.value))


def is_tested(on: str) -> bool:
    """Whether trials are compared on a test set, which no epoch was chosen on."""
    return SEARCHED[on].endswith("-test")


def behind(search: Record, subset: str) -> str:
    """By how much MC-MLM is ahead over common draws: with the interval over problems, and that over draws as well."""
    lead, wide = search.find(COMPARED, subset), search.find(WITH_RUNS, subset)
    if lead is None:
        return ""
    return f"{percent(lead, interval=True)} ({lead.n})" + (f"; {ends_of(wide)}" if wide else "")


def same_draws(searches: Iterable[Record]) -> bool:
    """Whether all have the same trials."""
    return len({search.settings["draws"] for search in searches}) <= 1


def began_alike(searches: Iterable[Record]) -> bool:
    """Whether all have the same trials, and every draw began alike in all."""
    shared = [(search.find("median_common"), search.settings["trials"]) for search in searches]
    return all(common is not None and common.n == trials for common, trials in shared)


def said_of_trials(searches: Mapping[str, Record | None]) -> str:
    """What can be said of a search: how even it is, what leads, and whom MC-MLM is ahead of."""
    known = {FORMALIZATIONS[name]: search for name, search in searches.items() if search is not None}
    papers = [search for name, search in searches.items() if search is not None and name != NOT_THE_PAPERS]
    trials = sorted({search.settings["trials"] for search in known.values()})
    count = plural(trials[0], "trial") if len(trials) == 1 else f"From {trials[0]} to {trials[-1]} trials"
    sentences = [f"{count} each{'.' if same_draws(papers) else UNEVEN}"]
    if not began_alike(papers):
        shared = next((common for search in papers if (common := search.find("median_common"))), None)
        whose = "The paper's formalizations that were run have"
        sentences.append(f"{whose} {plural(shared.n if shared else 0, 'draw')} in common that began alike.")
    medians = {name: search.value("median") for name, search in known.items() if search.settings["trials"] >= FEWEST}
    if len(medians) > 1:
        ends = []
        for end in (max(medians.values()), min(medians.values())):
            ends.append(f"{' and '.join(name for name, value in medians.items() if value == end)} ({percent(end)})")
        said = f"the highest median is that of {ends[0]}, the lowest that of {ends[1]}"
        sentences.append(f"Of those with at least {FEWEST} trials {said}.")
    sentences += said_of_leads(known)
    floors = {
        percent(search.value("floor"))
        for search in known.values()
        if search.value("floor") > (chance_of(search) or 1.0)
    }
    return " ".join([*sentences, *(f"Answering always the same has {floor}." for floor in sorted(floors))])


def said_of_leads(searches: Mapping[str, Record]) -> Iterator[str]:
    """Whom MC-MLM is ahead of, by what the intervals over common draws say."""
    leads = {name: lead for name, search in searches.items() if (lead := search.find(COMPARED, COMMON))}
    sides: dict[str, list[str]] = {}
    for name, lead in leads.items():
        wide = searches[name].find(WITH_RUNS, COMMON)
        side = "ahead" if lead.value > 0 else "behind"
        if lead.n < FEWEST or wide is None:
            side = "few"
        elif includes_zero(lead):
            side = "even"
        elif includes_zero(wide):
            side += ", open"
        sides.setdefault(side, []).append(name)
    for side, said in SIDES.items():
        if side in sides:
            yield f"{said.format(FORMALIZATIONS[COMPARED])} {'; '.join(sides[side])}."
    if len(leads) > 1 and set(sides) != {"few"}:
        p_values = [p.value for name in leads if (p := searches[name].find(P_VALUE, COMMON))]
        many = f"{sum(p < LEVEL for p in holm(p_values))} of {plural(len(p_values), 'difference')}"
        corrected = f"by p-values that are (Holm's rule), {many} are significant over these draws"
        yield f"These intervals are not corrected for their number; {corrected}."


def chance_of(search: Record) -> float | None:
    """What guessing gets under a formalization."""
    middle = search.find("median")
    return None if middle is None else middle.chance


def _accuracy(search: Record, dataset: str, subset: str) -> Metric | None:
    """Accuracy on a part of a set, undecided problems counting one half where there are any."""
    own = {metric.metric: metric for metric in search.rows if (metric.dataset, metric.subset) == (dataset, subset)}
    return own.get("expected_accuracy", own.get("accuracy"))


def show_answers(store: Store) -> str:
    """How often each formalization says yes on SuperGLUE-WSC's validation set."""
    lines, sizes = [], []
    for name, shown in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/superglue-wsc/mpnet-head/{name}")
        if trials:
            said, right = ([int(trial.value(metric)) for trial in trials] for metric in ("said_yes", "yes_found"))
            lines.append((shown, len(trials), _span(said), _span(right)))
            sizes = [metric.n for name in ("said_yes", "yes_found") if (metric := trials[0].find(name))]
    asked = f"of {sizes[0]} questions, {sizes[1]} of them yes"
    return grid([asked, "trials", "answered yes: median, range", "yes found: median, range"], lines)


def _span(counts: Sequence[int]) -> str:
    return f"{median(counts):g}, {min(counts)} to {max(counts)}"


def show_second(store: Store) -> str:
    """The two sets on which a second encoder was tried."""
    tables = []
    for shown, on in (("SuperGLUE-WSC, validation set", "superglue-wsc"), ("DPR, test set", "dpr")):
        if any(key.startswith(f"liu/{on}/minilm-head/") for key in store.records):
            tables.append(f"{shown}:\n\n{trials_table(store, on, 'minilm-head', ('mc-mlm', 'mc-sent'))}")
    return "\n\n".join(tables)


def show_epochs(store: Store) -> str:
    """DPR's trials by their number of epochs: the mean of each formalization, and by how much MC-MLM is ahead."""
    lines: list[Sequence[object]] = []
    epochs = sorted({trial.settings["epochs"] for trial in seeds(store, f"liu/dpr/mpnet-head/{COMPARED}")})
    for name, shown in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/dpr/mpnet-head/{name}")
        search = store.records.get(f"search/dpr/mpnet-head/{name}")
        if search is None:
            continue
        cells: list[object] = [shown]
        for count in epochs:
            scores = [score(trial, SEARCHED["dpr"]) for trial in trials if trial.settings["epochs"] == count]
            cells += [f"{mean_sd(scores)} ({len(scores)})", behind(search, f"{count} epochs").partition(" (")[0]]
        lines.append(cells)
    header = [text for count in epochs for text in (f"{count} epochs: mean (trials)", "MC-MLM ahead by")]
    return grid(["formalization", *header], lines)


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


def _spread(search: Record) -> str:
    std, kurtosis = (search.find(name) for name in ("std", "excess_kurtosis"))
    shape = "–" if kurtosis is None else number(kurtosis.value)
    return f"{percent(std) or '–'}, {shape} ({search.settings['trials']})"


def show_heads(store: Store) -> str:
    """What the heads learned."""
    lines: list[Sequence[object]] = []
    heads = [record for key, record in store.records.items() if key.startswith("head/")]
    for head in heads:
        how = head.settings
        alike = [other for other in heads if other.settings["model"] == how["model"]]
        shown = ENCODERS[how["model"]] + (f", head {alike.index(head) + 1}" if len(alike) > 1 else "")
        guessed = [percent(how[key]) for key in ("guessed_before", "guessed_after")]
        lines.append((shown, f"{how['pieces']:,}", f"{how['held_out']:,}", *guessed, f"{(head.seconds or 0) / 60:.1f}"))
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
        second=("liu/", show_second),
    ),
    trained("liu", "2", "spread of the runs", LIU, _=("liu/", show_published)),
)
