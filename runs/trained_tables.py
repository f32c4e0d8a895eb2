"""Tables of what was trained, written from the stores of `runs.trained`; what has no record is said not to be run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from statistics import fmean

from runs.papers import (
    AAAI_RESULTS,
    LIU_TABLE_2,
    SQUARE_ONE_CURVES,
    SQUARE_ONE_MATCHED,
    SQUARE_ONE_TABLE_1,
    SQUARE_ONE_TABLE_6,
    WINOGRANDE_KL,
    WINOGRANDE_TABLE_4,
    WINOGRANDE_TABLE_5_TRAINED,
    WINOGRANDE_TABLE_6,
)
from runs.store import Record, Store
from runs.tables import Table, grid, number, percent, register
from runs.trained import COMPARED, STORES, chosen_step, last, mean_sd, minutes, score, seeds
from winokit.drawing.wording import join
from winokit.methods.metrics.curve import SIZES as CURVE_SIZES
from winokit.methods.metrics.curve import fit_log, leaderboard_auc
from winokit.results import Metric

NOT_RUN = "not run"
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


def runs_of(records: Sequence[Record]) -> str:
    """How many runs there are."""
    return str(len(records)) if records else NOT_RUN


def on_dev(
    name: str, records: Sequence[Record], paper: Sequence[object] = ("", ""), test: str = "winogrande-dev"
) -> list[object]:
    """A line of Table 4: single problems and pairs of dev."""
    found = [[score(one, test, None, metric) for one in records] for metric in ("accuracy", "group_accuracy")]
    return [name, *paper, runs_of(records), *(mean_sd(each) for each in found)]


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
        if (one.dataset, one.subset) == (test, how):
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


FIGURE_ARMS = {"all": "all", "random": "random", "pmi": "PMI", "aflite": "AFLite"}


def show_figure(store: Store) -> str:
    """Figure 1 with fine-tuned features: means over seeds."""
    records = [one for one in seeds(store, "aflite") if one.find("probe_accuracy", "aflite") is not None]
    lines = []
    for arm, name in FIGURE_ARMS.items():
        kept = fmean(one.value("n_kept", arm) for one in records)
        probe = mean_sd(one.value("probe_accuracy", arm) for one in records)
        divergences = [
            number(fmean(one.value(metric, arm) for one in records), 3)
            for metric in ("kl_histogram", "kl_knn", "kl_gaussian")
        ]
        lines.append((name, number(kept, 0), WINOGRANDE_KL[arm], *divergences, probe))
    said = f"Means over {len(records)} runs" if len(records) > 1 else "One run"
    said += f": {join([run_name(one) for one in records])}."
    return (
        grid(["problems", "kept", "KL, paper", "KL: histogram", "neighbours", "normal", "linear probe"], lines)
        + f"\n\n{said}"
    )


AUTHORS = {
    # what, how many decimals, times what
    "auc": ("AUC of the first phase's score", 3, 1),
    "spearman": ("rank correlation", 3, 1),
    "pairs_auc": ("AUC, pairs removed whole against kept whole", 3, 1),
    "pairs_spearman": ("rank correlation, pairs", 3, 1),
    "removed": ("problems removed by a full run", 0, 1),
    "of_ours": ("… of these the authors removed, %", 1, 100),
    "base": ("of all problems they removed, %", 1, 100),
    "pairs_of_ours": ("of pairs we remove whole they removed whole, %", 1, 100),
    "pairs_base": ("of all pairs they removed whole, %", 1, 100),
    "score_with_confidence": ("rank correlation of our score with RoBERTa's confidence", 3, 1),
}


def run_name(record: Record) -> str:
    """The seed of a run, and whether it is a second run of that seed."""
    return f"seed {record.key.rpartition('/')[2].replace('-', ' ')}"


def show_authors(store: Store) -> str:
    """Per seed: does our score tell what the authors removed, and how much of what we remove did they?"""
    records = seeds(store, "aflite")
    lines = []
    for metric, (name, digits, times) in AUTHORS.items():
        ours = [one.find(metric, "ours") for one in records]
        others = [found for one in records if (found := one.find(metric, "relabelled")) and "base" not in metric]
        low, high = ([times * (getattr(one, end) or 0.0) for one in others] for end in ("low", "high"))
        span = f"{number(min(low), digits)} to {number(max(high), digits)}" if others else ""
        mark = records[0].find(f"confidence_{metric}", "ours") if digits == 3 else None
        cells = ["" if one is None else number(times * one.value, digits) for one in (*ours, mark)]
        lines.append((name, *cells[:-1], span, cells[-1]))
    header = ["", *map(run_name, records), "relabelled, lowest to highest"]
    return grid([*header, "RoBERTa-large's confidence"], lines)


def show_taught(store: Store) -> str:
    """What AFLite kept against as many at random."""
    lines = []
    for kind, name in (("kept", "kept by our AFLite"), ("random", "as many at random")):
        records = seeds(store, f"taught/{kind}")
        size = f"{records[0].settings['problems']:,}" if records else ""
        lines.append(on_dev(name, records, (size,)))
    return grid(["trained on", "problems", "runs", "dev", "pairs"], lines)


CURVE = ("xs", "s", "m", "l", "xl")


def curve_records(store: Store) -> dict[str, list[Record]]:
    """The runs of every size."""
    return {size: seeds(store, "transfer/xl" if size == "xl" else f"curve/{size}") for size in CURVE}


def show_curve(store: Store) -> str:
    """The AAAI learning curve, every size for as many steps, and the line through it."""
    lines, means, sizes = [], [], []
    for size, records in curve_records(store).items():
        n = store["sets"].settings["train"][f"train:{size}"]
        paper = {"s": "59.4 (about 800)", "xl": "79.1"}.get(size, "")
        lines.append(on_dev(f"{size}, {n:,}", records, (paper,)))
        for one in records:
            found = score(one, "winogrande-dev")
            if found is not None:
                sizes.append(n)
                means.append(100 * found.value)
    said = ""
    if len(set(sizes)) > 2:
        fit = fit_log(sizes, means)
        slope, line = fit.slope_interval(), f"{number(fit.slope, 2)} ln x + {number(fit.intercept)}"
        said = f"\n\nThe line through all runs: {line}, slope [{number(slope.low, 2)}, {number(slope.high, 2)}]."
    each = [fmean(value for value, size in zip(means, sizes, strict=True) if size == n) for n in sorted(set(sizes))]
    if len(each) == len(CURVE_SIZES):
        area = leaderboard_auc([value / 100 for value in each])
        said += f" Area under the curve, as the leaderboard has it: {number(area, 3)}."
    return grid(["training problems", "paper", "runs", "single", "group"], lines) + said


def show_results(store: Store) -> str:
    """The AAAI paper's results on other sets beside ours."""
    lines = [
        (
            TESTS[test],
            paper,
            cell(store, "xl", test),
            cell(store, "xl", test, by_rule=True),
            cell(store, "dpr>xl", test),
        )
        for test, paper in AAAI_RESULTS.items()
    ]
    return grid(
        [
            "test set",
            "RoBERTa-large on WinoGrande, paper",
            "WinoGrande, equal steps",
            "steps chosen",
            "DPR, then WinoGrande",
        ],
        lines,
    )


FORMALIZATIONS = {
    "mc-mlm": "MC-MLM",
    "mc-sent": "MC-Sent",
    "mc-sent-no-softmax": "MC-Sent-NoSoftmax",
    "mc-sent-no-pair-loss": "MC-Sent-NoPairLoss",
    "p-sent": "P-Sent",
    "p-span": "P-Span",
    "mc-mlm-fresh": "MC-MLM, fresh head",
}
SEARCHED = {"superglue-wsc": "superglue-wsc-val", "dpr": "dpr-held-out", "winogrande-m": "winogrande-dev"}


def trials_table(store: Store, on: str, model: str = "mpnet-head", names: Iterable[str] = FORMALIZATIONS) -> str:
    """The trials of every formalization on one set: spread, luck, guessing."""
    lines = []
    for name in names:
        key = f"search/{on}/{model}/{name}"
        if key not in store:
            lines.append((FORMALIZATIONS[name], NOT_RUN))
            continue
        one = store[key]
        dev = SEARCHED[on]
        median = next(each for each in one.rows if each.metric == "median")
        quartiles = f"{percent(one.value('lower_quartile'))} – {percent(one.value('upper_quartile'))}"
        corrected = one.find("corrected")
        spread = one.find("std")
        kurtosis = one.find("excess_kurtosis")
        told = [
            FORMALIZATIONS[name],
            one.settings["trials"],
            percent(median),
            quartiles,
            percent(one.value("best")),
            percent(corrected, interval=True),
        ]
        told += ["" if spread is None else percent(spread), "" if kurtosis is None else number(kurtosis.value)]
        behind = one.find(COMPARED)
        common = "" if behind is None else f"{percent(behind, interval=True)} ({behind.n})"
        told += [percent(median.chance), percent(_of(one, dev, "ensemble")), common]
        if on == "dpr":
            told += [percent(_of(one, "dpr-test", "chosen"), interval=True), percent(_of(one, "dpr-test", "ensemble"))]
        lines.append(tuple(told))
    header = [
        "formalization",
        "trials",
        "median",
        "quartiles",
        "best",
        "best, corrected for luck",
        "std",
        "kurtosis",
        "guessing",
        "best five together",
        "MC-MLM ahead by (common draws)",
    ]
    return grid([*header, *(["chosen trial, DPR test", "best five, DPR test"] if on == "dpr" else [])], lines)


def _of(record: Record, dataset: str, subset: str) -> Metric | None:
    own = [one for one in record.rows if one.dataset == dataset and one.subset == subset]
    return next((one for one in own if one.metric == "expected_accuracy"), None) or next(
        (one for one in own if one.metric == "accuracy"), None
    )


def show_answers(store: Store) -> str:
    """How often each formalization says yes on SuperGLUE-WSC's validation set."""
    lines = []
    for name, shown in FORMALIZATIONS.items():
        trials = seeds(store, f"liu/superglue-wsc/mpnet-head/{name}")
        if trials:
            said, found = (sorted(int(one.value(metric)) for one in trials) for metric in ("said_yes", "yes_found"))
            lines.append((shown, len(trials), _span(said), _span(found)))
    return grid(
        ["of 104 questions, 38 of them yes", "trials", "answered yes: median, range", "yes found: median, range"], lines
    )


def _span(values: Sequence[int]) -> str:
    middle = (
        values[len(values) // 2] if len(values) % 2 else (values[len(values) // 2 - 1] + values[len(values) // 2]) / 2
    )
    return f"{middle:g}, {values[0]} to {values[-1]}"


def show_trials(store: Store) -> str:
    """Every search that was run, under its name; then those that were not."""
    second = "a second encoder, all-MiniLM-L6-v2 with a head made the same way"
    parts: dict[str, tuple[str, Callable[[Store], str]]] = {
        "SuperGLUE-WSC, validation set": (
            "liu/superglue-wsc/mpnet-head/",
            lambda store: f"{trials_table(store, 'superglue-wsc')}\n\n{show_answers(store)}",
        ),
        "DPR": ("liu/dpr/mpnet-head/", partial(trials_table, on="dpr")),
        "WinoGrande-m, dev": ("liu/winogrande-m/mpnet-head/", partial(trials_table, on="winogrande-m")),
    }
    for name, on in (("SuperGLUE-WSC", "superglue-wsc"), ("DPR", "dpr")):
        write = partial(trials_table, on=on, model="minilm-head", names=("mc-mlm", "mc-sent"))
        parts[f"{name}, {second}"] = (f"liu/{on}/minilm-head/", write)
    told, missing = [], []
    for name, (prefix, write) in parts.items():
        if any(key.startswith(prefix) for key in store.records):
            told.append(f"{name}:\n\n{write(store)}")
        else:
            missing.append(name)
    return "\n\n".join([*told, *([f"Not run: {'; '.join(missing)}."] if missing else [])])


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
        "DPR, ours",
    ]
    return grid(header, lines)


def _spread(record: Record) -> str:
    std, kurtosis = (record.find(name) for name in ("std", "excess_kurtosis"))
    shape = "–" if kurtosis is None else number(kurtosis.value)
    return f"{percent(std) or '–'}, {shape} ({record.settings['trials']})"


def show_heads(store: Store) -> str:
    """What the heads learned."""
    lines: list[Sequence[object]] = []
    for name, shown in (("head/mpnet", "all-mpnet-base-v2"), ("head/minilm", "all-MiniLM-L6-v2")):
        if name not in store:
            lines.append((shown, NOT_RUN))
            continue
        one = store[name]
        how = one.settings
        guessed = [percent(how[key]) for key in ("guessed_before", "guessed_after")]
        lines.append((shown, f"{how['pieces']:,}", f"{how['held_out']:,}", *guessed, f"{(one.seconds or 0) / 60:.1f}"))
    return grid(
        ["encoder", "pieces learned from", "held out", "masked words guessed before, %", "after, %", "minutes"], lines
    )


SETS = {"wsc": "WSC", "wsc-na": "WSC-na", "winogrande": "WinoGrande"}
VARIANTS = ("original", "no-cands", "part-sent")


def both(records: Sequence[Record], name: str) -> list[str]:
    """Single and group accuracy, mean and standard deviation."""
    return [mean_sd(score(one, name, None, metric) for one in records) for metric in ("accuracy", "group_accuracy")]


def show_artifacts(
    store: Store, arm: str, paper: Mapping[tuple[str, str], tuple[float, ...]], untrained: Sequence[Record] = ()
) -> str:
    """Twins as they are, without candidates, and in part."""
    records, lines = seeds(store, arm), []
    for name, shown in SETS.items():
        for variant in VARIANTS:
            wrong = mean_sd(score(one, f"{name}:{variant}", None, "none_right") for one in records)
            cells = [
                *both(records, f"{name}:{variant}"),
                wrong,
                *(both(untrained, f"{name}:{variant}") if untrained else ()),
            ]
            theirs = paper[name, variant]
            lines.append(
                (
                    shown if variant == "original" else "",
                    variant,
                    *(number(one, 2) for one in theirs),
                    *cells,
                )
            )
    header = [
        "dataset",
        "variant",
        "single, paper",
        "group, paper",
        f"single, {len(records)} runs",
        "group",
        "both twins wrong",
    ]
    return grid([*header, *(["untrained: single", "group"] if untrained else [])], lines)


def show_single(store: Store) -> str:
    """Table 1, trained."""
    return show_artifacts(store, "transfer/xl", SQUARE_ONE_TABLE_1)


def show_headed(store: Store) -> str:
    """Table 6: the same with the MLM head, beside the model before training."""
    return show_artifacts(store, "square-one/mc-mlm", SQUARE_ONE_TABLE_6, seeds(store, "untrained"))


def show_forms(store: Store) -> str:
    """Section 6.1: either form, each by a model that was trained on it."""
    theirs = [number(one) for cells in SQUARE_ONE_MATCHED.values() for one in cells]
    lines: list[Sequence[object]] = [("WinoGrande", "RoBERTa-large, paper", "", *theirs, "")]
    for name, shown in SETS.items():
        for loss, arm in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
            original, words = seeds(store, arm), seeds(store, f"words/{loss}")
            n = store["sets"].settings["tests"][f"{name}:words"]
            first = f"{shown} ({n})" if loss == "mc-sent" else ""
            if not original or not words:
                lines.append((first, f"`{loss}`", NOT_RUN))
                continue
            key = f"difference/words/{loss}"
            gap = next((one for one in store[key].rows if one.dataset == name), None) if key in store else None
            cells = [*both(original, f"{name}:matched"), *both(words, f"{name}:words")]
            lines.append((first, f"`{loss}`", f"{len(original)}, {len(words)}", *cells, percent(gap, interval=True)))
    header = ["dataset (problems)", "loss", "runs", "original: single", "group", "special word: single", "group"]
    return f"{grid([*header, 'pairs, difference'], lines)}\n\nAsked in the other form:\n\n{show_other_form(store)}"


def show_other_form(store: Store) -> str:
    """Trained on one form and asked in the other."""
    lines = []
    for loss, arm in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
        for trained, form, said in (
            (arm, "words", "original, asked for special words"),
            (f"words/{loss}", "matched", "special words, asked in the original"),
        ):
            records = seeds(store, trained)
            if records:
                cells = [one for name in SETS for one in both(records, f"{name}:{form}")]
                lines.append((f"`{loss}`", said, len(records), *cells))
    return grid(
        ["loss", "trained on", "runs", *(one for name in SETS.values() for one in (f"{name}: single", "group"))], lines
    )


def show_word_curve(store: Store, loss: str) -> str:
    """Special words by how many were trained on."""
    lines = []
    for size, paper in SQUARE_ONE_CURVES[loss].items():
        records = seeds(store, f"word-curve/{loss}/{size}")
        wrong = mean_sd(score(one, "words-test", None, "none_right") for one in records)
        lines.append((f"{size:,}", *paper, runs_of(records), *both(records, "words-test"), wrong))
    header = ["training problems", "BERT, paper", "RoBERTa, paper", "ALBERT, paper", "runs", "single", "group"]
    return grid([*header, "both twins wrong"], lines)


TIMES = {
    "WinoGrande, Tables 4 to 6, and AAAI results": r"transfer/",
    "AAAI learning curve (without xl)": r"curve/",
    "AFLite with fine-tuned features": r"aflite/",
    "does what AFLite keeps teach less?": r"taught/",
    "local contexts": r"local-context/",
    "P-Span on Winogender": r"p-span/",
    "WinoGrande as true or false": r"true-false/",
    "language-modelling heads": r"head/",
    "Liu, SuperGLUE-WSC": r"liu/superglue-wsc/",
    "Liu, DPR": r"liu/dpr/",
    "Liu, WinoGrande-m": r"liu/winogrande-m/",
    "Square One, Table 6": r"square-one/",
    "Square One, section 6.1": r"words/",
    "Square One, Tables 4 and 5": r"word-curve/",
}


def show_times(store: Store) -> str:
    """Runs, steps and minutes per table."""
    records: dict[str, Record] = {}
    for name in STORES:
        records |= Store(store.path.with_name(f"{name}.json")).records
    lines: list[Sequence[object]] = []
    shown: list[Record] = []
    for table, prefix in TIMES.items():
        own = [one for key, one in records.items() if key.startswith(prefix)]
        shown += own
        steps = sum(one.settings.get("steps") or 0 for one in own)
        lines.append((table, len(own) or NOT_RUN, f"{steps:,}" if steps else "", number(minutes(own)) if own else ""))
    lines.append(("all", len(shown), "", number(minutes(shown))))
    return grid(["table", "runs", "training steps", "minutes, added up"], lines)


NEEDS = "python -m runs jobs, then python -m runs trained; a GPU"
WINOGRANDE, LIU, SQUARE_ONE = STORES
SENTENCE = "Not run with this version."


def shown_if(prefix: str, write: Callable[[Store], str]) -> Callable[[Store], str]:
    """What a part has if any of its jobs was run; a sentence if none was."""

    def part(store: Store) -> str:
        return write(store) if any(key.startswith(prefix) for key in store.records) else SENTENCE

    return part


def trained(paper: str, number: str, title: str, file: str, **parts: tuple[str, Callable[[Store], str]]) -> Table:
    """A table of trained models; each part has the jobs that it cannot do without."""
    made = {name.strip("_"): shown_if(*part) for name, part in parts.items()}
    return Table(paper, number, title, NEEDS, made, file=file)


register(
    trained(
        "winogrande",
        "figure-1-trained",
        "divergence, fine-tuned features",
        WINOGRANDE,
        _=("aflite/", show_figure),
        taught=("taught/", show_taught),
    ),
    trained("winogrande", "authors", "AFLite against its authors", WINOGRANDE, _=("aflite/", show_authors)),
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
    trained("winogrande", "time", "what the training took", WINOGRANDE, _=("", show_times)),
    trained("winogrande-aaai", "curve", "the learning curve", WINOGRANDE, _=("curve/", show_curve)),
    trained("winogrande-aaai", "results", "results on other datasets", WINOGRANDE, _=("transfer/", show_results)),
    trained("liu", "heads", "language-modelling heads", LIU, _=("head/", show_heads)),
    trained(
        "liu",
        "1",
        "distributions over runs",
        LIU,
        _=("liu/", show_trials),
    ),
    trained("liu", "2", "spread of the runs", LIU, _=("liu/", show_published)),
    trained(
        "square-one", "1-trained", "group scores and artifacts, trained", SQUARE_ONE, _=("transfer/xl/", show_single)
    ),
    trained(
        "square-one",
        "6.1-trained",
        "special words, trained",
        SQUARE_ONE,
        _=("words/", show_forms),
    ),
    trained(
        "square-one",
        "4-5",
        "learning curves",
        SQUARE_ONE,
        sent=("word-curve/mc-sent", partial(show_word_curve, loss="mc-sent")),
        mlm=("word-curve/mc-mlm", partial(show_word_curve, loss="mc-mlm")),
    ),
    trained("square-one", "6", "artifacts with the MLM head", SQUARE_ONE, _=("square-one/", show_headed)),
)
