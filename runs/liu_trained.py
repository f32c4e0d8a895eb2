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
    "mc-mlm-fresh": "MC-MLM (fresh head)",
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


def trials_table(
    store: Store, train_name: str, model: str = "mpnet-head", names: Iterable[str] = FORMALIZATIONS
) -> str:
    """Table of the trials of every formalization on one training set, and sentences about them.

    `train_name` is a key of `SEARCHED`, `model` the encoder in the records' keys, `names` the formalizations. Columns:
    guessing, medians, the lead of MC-MLM, and the best trial.
    """
    searches = {name: store.records.get(f"search/{train_name}/{model}/{name}") for name in names}
    stored_searches = [search for search in searches.values() if search is not None]
    with_other_draws = not all(map(is_even, stored_searches))
    lines: list[Sequence[object]] = []
    for name, search in searches.items():
        if search is None:
            lines.append((FORMALIZATIONS[name], NOT_RUN))
        else:
            cells = cells_of_trials(search, train_name, with_other_draws)
            lines.append((FORMALIZATIONS[name], *cells))
    header = header_of_trials(train_name, with_other_draws)
    return f"{grid(header, lines)}\n\n{said_of_trials(searches)}{said_of_parts(store, train_name, model, names)}"


def header_of_trials(train_name: str, with_other_draws: bool) -> list[str]:
    """Column names of `trials_table`."""
    header = ["formalization", "trials", "guessing", "median", "quartiles"]
    header.append("MC-MLM ahead by (common draws); other draws too")
    if with_other_draws:
        header.append("… whatever they began with")
    if is_tested(train_name):
        header.append("chosen trial")
    else:
        header += ["best", "best, corrected for luck"]
    return [*header, "best five together"]


def cells_of_trials(search: Record, train_name: str, with_other_draws: bool) -> list[object]:
    """Cells of one formalization in `trials_table`, after its name."""
    low = percent(search.value("lower_quartile"))
    high = percent(search.value("upper_quartile"))
    cells = [search.settings["trials"], percent(chance_of(search)), percent(search.find("median")), f"{low} – {high}"]
    cells.append(lead_cell(search, COMMON))
    if with_other_draws:
        cells.append(lead_cell(search, ANY))
    test = SEARCHED[train_name]
    if is_tested(train_name):
        cells.append(percent(find_accuracy(search, test, "chosen"), interval=True))
    else:
        cells.append(percent(search.value("best")))
        cells.append(percent(search.find("corrected"), interval=True))
    cells.append(percent(find_accuracy(search, test, "ensemble")))
    return cells


FIRST_PART = "dpr-held-out"
"""The part of DPR that the first trials held out to choose an epoch on: an earlier rule for overlap made it."""


def said_of_parts(store: Store, train_name: str, model: str, names: Iterable[str]) -> str:
    """Say how many trials chose their epoch on a part that no command makes any more, or nothing if none did."""
    trials: list[Record] = []
    for name in names:
        trials += seeds(store, f"liu/{train_name}/{model}/{name}")
    count = sum(trial.settings["chosen_on"] == FIRST_PART for trial in trials)
    if not count:
        return ""
    return (
        f" Set apart: {count} of {len(trials)} trials chose their epoch on held-out problems that no command makes now."
    )


def is_even(search: Record) -> bool:
    """Whether MC-MLM and this formalization began alike in every draw that both have."""
    return lead_of(search, COMMON) == lead_of(search, ANY)


def lead_of(search: Record, subset: str) -> tuple[int, float] | None:
    """Number of draws and lead of MC-MLM over them, or None if the lead is not stored."""
    lead = search.find(COMPARED, subset)
    return None if lead is None else (lead.n, lead.value)


def is_tested(train_name: str) -> bool:
    """Whether trials are compared on a test set, which no epoch was chosen on."""
    return SEARCHED[train_name].endswith("-test")


def lead_cell(search: Record, subset: str) -> str:
    """Lead of MC-MLM over a subset of draws as a cell, or empty if it is not stored.

    It has the interval over problems, the number of draws, and the interval over problems and draws.
    """
    lead = search.find(COMPARED, subset)
    if lead is None:
        return ""
    cell = f"{percent(lead, interval=True)} ({lead.n})"
    wide = search.find(WITH_RUNS, subset)
    return cell if wide is None else f"{cell}; {ends_of(wide)}"


def same_draws(searches: Iterable[Record]) -> bool:
    """Whether all searches have the same trials."""
    return len({search.settings["draws"] for search in searches}) <= 1


def began_alike(searches: Iterable[Record]) -> bool:
    """Whether all searches have the same trials, and every draw began alike in all."""
    for search in searches:
        common = search.find("median_common")
        if common is None or common.n != search.settings["trials"]:
            return False
    return True


def said_of_trials(searches: Mapping[str, Record | None]) -> str:
    """Say how even a search is, which medians are highest and lowest, and whom MC-MLM is ahead of.

    `searches` are by the name of the formalization, None if it was not run.
    """
    by_title = {FORMALIZATIONS[name]: search for name, search in searches.items() if search is not None}
    papers = [search for name, search in searches.items() if search is not None and name != NOT_THE_PAPERS]
    sentences = [said_of_counts(by_title.values(), papers)]
    if not began_alike(papers):
        commons = [search.find("median_common") for search in papers]
        count = next((common.n for common in commons if common is not None), 0)
        whose = "The paper's formalizations that were run have"
        sentences.append(f"{whose} {plural(count, 'draw')} in common that began alike.")
    medians = {name: search.value("median") for name, search in by_title.items() if search.settings["trials"] >= FEWEST}
    if len(medians) > 1:
        highest = names_with_median(medians, max(medians.values()))
        lowest = names_with_median(medians, min(medians.values()))
        extremes = f"the highest median is that of {highest}, the lowest that of {lowest}"
        sentences.append(f"Of those with at least {FEWEST} trials {extremes}.")
    sentences += said_of_leads(by_title)
    sentences += said_of_floors(by_title.values())
    return " ".join(sentences)


def said_of_counts(searches: Iterable[Record], papers: Iterable[Record]) -> str:
    """Say how many trials each search has, and whether those of the paper's formalizations have the same draws."""
    trials = sorted({search.settings["trials"] for search in searches})
    count = plural(trials[0], "trial") if len(trials) == 1 else f"From {trials[0]} to {trials[-1]} trials"
    ending = "." if same_draws(papers) else UNEVEN
    return f"{count} each{ending}"


def names_with_median(medians: Mapping[str, float], value: float) -> str:
    """Names of all formalizations with this median, and the median."""
    names = [name for name, median_value in medians.items() if median_value == value]
    return f"{' and '.join(names)} ({percent(value)})"


def said_of_floors(searches: Iterable[Record]) -> list[str]:
    """Say what the commonest answer has, where that is more than guessing."""
    floors = set()
    for search in searches:
        floor = search.value("floor")
        if floor > (chance_of(search) or 1.0):
            floors.add(percent(floor))
    return [f"Answering always the same has {floor}." for floor in sorted(floors)]


def said_of_leads(searches: Mapping[str, Record]) -> Iterator[str]:
    """Say whom MC-MLM is ahead of, by the intervals over common draws."""
    leads = {}
    sides: dict[str, list[str]] = {}
    for name, search in searches.items():
        lead = search.find(COMPARED, COMMON)
        if lead is not None:
            leads[name] = lead
            side = side_of_lead(lead, search.find(WITH_RUNS, COMMON))
            sides.setdefault(side, []).append(name)
    for side, said in SIDES.items():
        if side in sides:
            names = " and ".join(filter(None, [", ".join(sides[side][:-1]), sides[side][-1]]))
            yield f"{said.format(FORMALIZATIONS[COMPARED])} {names}."
    if len(leads) > 1 and set(sides) != {"few"}:
        p_metrics = [searches[name].find(P_VALUE, COMMON) for name in leads]
        p_values = [metric.value for metric in p_metrics if metric is not None]
        significant_count = sum(p < LEVEL for p in holm(p_values))
        many = f"{significant_count} of {plural(len(p_values), 'difference')}"
        yield "These intervals are not corrected for their number."
        yield f"By p-values that are corrected (Holm's rule), {many} are significant over these draws."


def side_of_lead(lead: Metric, wide: Metric | None) -> str:
    """Key of `SIDES` for a lead of MC-MLM.

    `lead` has an interval over problems, `wide` one over problems and draws; None if there are too few draws for it.
    """
    if lead.n < FEWEST or wide is None:
        return "few"
    if includes_zero(lead):
        return "even"
    side = "ahead" if lead.value > 0 else "behind"
    return f"{side}, open" if includes_zero(wide) else side


def chance_of(search: Record) -> float | None:
    """Accuracy of guessing under a formalization, or None if it is not stored."""
    median_row = search.find("median")
    return None if median_row is None else median_row.chance


def find_accuracy(search: Record, dataset: str, subset: str) -> Metric | None:
    """Accuracy row of a subset of a dataset, the one that counts undecided problems as one half if there is one."""
    rows = {row.metric: row for row in search.rows if row.dataset == dataset and row.subset == subset}
    return rows.get("expected_accuracy", rows.get("accuracy"))


def show_answers(store: Store) -> str:
    """Table of how often each formalization says yes on SuperGLUE-WSC's validation set."""
    lines = []
    question_count: int | str = ""
    yes_count: int | str = ""
    for name, title in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/superglue-wsc/mpnet-head/{name}")
        if trials:
            said_yes = [int(trial.value("said_yes")) for trial in trials]
            yes_found = [int(trial.value("yes_found")) for trial in trials]
            lines.append((title, len(trials), median_and_range(said_yes), median_and_range(yes_found)))
            question_count = trials[0].row("said_yes").n
            yes_count = trials[0].row("yes_found").n
    of_questions = f"of {question_count} questions, {yes_count} of them yes"
    return grid([of_questions, "trials", "answered yes: median, range", "yes found: median, range"], lines)


def median_and_range(counts: Sequence[int]) -> str:
    """Median, lowest and highest count as a cell."""
    return f"{median(counts):g}, {min(counts)} to {max(counts)}"


def show_second(store: Store) -> str:
    """Tables of the two training sets on which a second encoder was tried."""
    tables = []
    for title, train_name in (("SuperGLUE-WSC, validation set", "superglue-wsc"), ("DPR, test set", "dpr")):
        if any(key.startswith(f"liu/{train_name}/minilm-head/") for key in store.records):
            table = trials_table(store, train_name, "minilm-head", ("mc-mlm", "mc-sent"))
            tables.append(f"{title}:\n\n{table}")
    return "\n\n".join(tables)


def show_epochs(store: Store) -> str:
    """Table of DPR's trials by their number of epochs: the mean of each formalization, and the lead of MC-MLM."""
    lines: list[Sequence[object]] = []
    epochs = sorted({trial.settings["epochs"] for trial in seeds(store, f"liu/dpr/mpnet-head/{COMPARED}")})
    for name, title in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/dpr/mpnet-head/{name}")
        search = store.records.get(f"search/dpr/mpnet-head/{name}")
        if search is None:
            continue
        cells: list[object] = [title]
        for count in epochs:
            scores = [score(trial, SEARCHED["dpr"]) for trial in trials if trial.settings["epochs"] == count]
            cells.append(f"{mean_sd(scores)} ({len(scores)})")
            cells.append(lead_cell(search, f"{count} epochs").partition(" (")[0])
        lines.append(cells)
    header = ["formalization"]
    for count in epochs:
        header += [f"{count} epochs: mean (trials)", "MC-MLM ahead by"]
    return grid(header, lines)


def show_published(store: Store) -> str:
    """Table 2: the paper's numbers beside our standard deviations."""
    lines = []
    for name, title in FORMALIZATIONS.items():
        wsc_test, wsc_spread, winogrande_spread = LIU_TABLE_2.get(name, ("", "", ""))
        ours = {}
        for train_name in SEARCHED:
            search = store.records.get(f"search/{train_name}/mpnet-head/{name}")
            ours[train_name] = NOT_RUN if search is None else spread_cell(search)
        wsc_cells = [wsc_test, wsc_spread, ours["superglue-wsc"]]
        lines.append((title, *wsc_cells, winogrande_spread, ours["winogrande-m"], ours["dpr"]))
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


def spread_cell(search: Record) -> str:
    """Standard deviation and excess kurtosis over trials, with their number."""
    kurtosis = search.find("excess_kurtosis")
    shape = "–" if kurtosis is None else number(kurtosis.value)
    deviation = percent(search.find("std")) or "–"
    return f"{deviation}, {shape} ({search.settings['trials']})"


def show_heads(store: Store) -> str:
    """Table of the language-modelling heads: what they were trained on, and how many masked words they guess."""
    heads = [record for key, record in store.records.items() if key.startswith("head/")]
    lines = [head_line(head, heads) for head in heads]
    return grid(
        ["encoder", "pieces learned from", "held out", "masked words guessed before, %", "after, %", "minutes"], lines
    )


def head_line(head: Record, heads: Sequence[Record]) -> list[object]:
    """Line of one head, numbered if its encoder has several among `heads`."""
    settings = head.settings
    same_encoder = [other for other in heads if other.settings["model"] == settings["model"]]
    name = ENCODERS[settings["model"]]
    if len(same_encoder) > 1:
        name += f", head {same_encoder.index(head) + 1}"
    before = percent(settings["guessed_before"])
    after = percent(settings["guessed_after"])
    minutes = (head.seconds or 0) / 60
    return [name, f"{settings['pieces']:,}", f"{settings['held_out']:,}", before, after, f"{minutes:.1f}"]


register(
    trained("liu", "heads", "language-modelling heads", LIU, _=("head/", show_heads)),
    trained(
        "liu",
        "1",
        "distributions over runs",
        LIU,
        superglue=("liu/superglue-wsc/mpnet-head/", partial(trials_table, train_name="superglue-wsc")),
        yes=("liu/superglue-wsc/mpnet-head/", show_answers),
        dpr=("liu/dpr/mpnet-head/", partial(trials_table, train_name="dpr")),
        winogrande=("liu/winogrande-m/mpnet-head/", partial(trials_table, train_name="winogrande-m")),
        epochs=("liu/dpr/mpnet-head/", show_epochs),
        second=("liu/", show_second),
    ),
    trained("liu", "2", "spread of the runs", LIU, _=("liu/", show_published)),
)
