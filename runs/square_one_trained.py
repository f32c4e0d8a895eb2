"""Square One, trained: artifacts, special words against the original, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

from runs.papers import SQUARE_ONE_CURVES, SQUARE_ONE_MATCHED, SQUARE_ONE_TABLE_1, SQUARE_ONE_TABLE_6
from runs.store import Record, Store
from runs.tables import grid, number, register
from runs.trained import WORDS_TEST, mean_sd, score, seeds
from runs.trained_tables import (
    DIFFERENCE_COLUMNS,
    NOT_RUN,
    SQUARE_ONE,
    counted,
    difference_cells,
    lowest_to_highest,
    runs_of,
    trained,
)
from winokit.drawing.wording import join

SETS = {"wsc": "WSC", "wsc-na": "WSC-na", "winogrande": "WinoGrande"}
WRONG = "both twins wrong"
VARIANTS = ("original", "no-cands", "part-sent")


def both(records: Sequence[Record], name: str) -> list[str]:
    """Accuracy on single problems and on pairs of a test set, mean and standard deviation over runs."""
    single = [score(run, name, None, "accuracy") for run in records]
    pairs = [score(run, name, None, "group_accuracy") for run in records]
    return [mean_sd(single), mean_sd(pairs)]


def all_three(records: Sequence[Record], name: str) -> list[str]:
    """Accuracy on single problems and on pairs, and the share of pairs with both twins wrong."""
    wrong = mean_sd(score(run, name, None, "none_right") for run in records)
    return [*both(records, name), wrong]


def show_artifacts(
    store: Store, arm: str, paper: Mapping[tuple[str, str], tuple[float, ...]], untrained: Sequence[Record] = ()
) -> str:
    """Table of twins as they are, without candidates, and in part, beside the paper's numbers.

    `arm` names the trained runs. `untrained` are runs of the model before training, shown beside them if given.
    """
    records = seeds(store, arm)
    lines = []
    for name, title in SETS.items():
        for variant in VARIANTS:
            test = f"{name}:{variant}"
            cells = [number(value, 2) for value in paper[name, variant]]
            cells += all_three(records, test)
            if untrained:
                cells += both(untrained, test)
            shown_title = title if variant == "original" else ""
            lines.append((shown_title, variant, *cells))
    header = ["dataset", "variant", "single, paper", "group, paper", f"single, {counted(records)}", "group", WRONG]
    if untrained:
        header += ["untrained: single", "group"]
    return f"{grid(header, lines)}\n\n{said_of_guessing(records)}"


def said_of_guessing(records: Sequence[Record]) -> str:
    """Say what guessing gets on single problems and on pairs, over all sets and variants, or nothing without runs."""
    phrases = []
    for metric, unit in (("accuracy", "single problems"), ("group_accuracy", "pairs")):
        levels = sorted(chance_levels(records, metric))
        if levels:
            ends = dict.fromkeys([levels[0], levels[-1]])
            phrases.append(f"{' to '.join(ends)} of {unit}")
    return f"Guessing has {join(phrases)}." if phrases else ""


def chance_levels(records: Sequence[Record], metric: str) -> set[str]:
    """Chance levels of a metric in per cent over all sets and variants, as text."""
    levels = set()
    for name, variant in product(SETS, VARIANTS):
        for run in records:
            row = score(run, f"{name}:{variant}", None, metric)
            if row is not None and row.chance is not None:
                levels.add(number(100 * row.chance))
    return levels


def show_single(store: Store) -> str:
    """Table 1: group scores and artifacts after training."""
    return show_artifacts(store, "transfer/xl", SQUARE_ONE_TABLE_1)


def show_headed(store: Store) -> str:
    """Table 6: group scores and artifacts with the MLM head, beside the model before training."""
    return show_artifacts(store, "square-one/mc-mlm", SQUARE_ONE_TABLE_6, seeds(store, "untrained"))


def show_forms(store: Store) -> str:
    """Section 6.1: the original and the special-word form, each by a model trained on it, then on the other form."""
    paper: list[str] = []
    for form in ("original", "special word"):
        paper += ["", *map(number, SQUARE_ONE_MATCHED[form])]
    lines: list[Sequence[object]] = [("WinoGrande", "RoBERTa-large, paper", *paper)]
    for name, title in SETS.items():
        for loss, arm in ORIGINAL_ARMS.items():
            n = store["sets"].settings["tests"][f"{name}:words"]
            shown_title = f"{title} ({n})" if loss == "mc-sent" else ""
            lines.append((shown_title, f"`{loss}`", *cells_of_forms(store, name, loss, arm)))
    header = ["dataset (problems)", "loss", "runs"]
    for form in ("original", "special word"):
        header += [f"{form}: single", "group", WRONG]
    header += ["seeds of both", "pairs, difference", *DIFFERENCE_COLUMNS[2:]]
    return f"{grid(header, lines)}\n\nAsked in the other form:\n\n{show_other_form(store)}"


ORIGINAL_ARMS = {"mc-sent": "transfer/xl", "mc-mlm": "square-one/mc-mlm"}
"""By loss, the arm that was trained on problems in their original form."""


def cells_of_forms(store: Store, name: str, loss: str, arm: str) -> list[str]:
    """Cells of one set and loss in `show_forms`: runs, both forms, and the difference if it is stored."""
    original = seeds(store, arm)
    words = seeds(store, f"words/{loss}")
    if not original or not words:
        return [NOT_RUN]
    cells = [f"{len(original)}, {len(words)}"]
    cells += all_three(original, f"{name}:matched")
    cells += all_three(words, f"{name}:words")
    return cells + (difference_cells(store, f"words/{loss}", name, "pairs") or [])


def show_other_form(store: Store) -> str:
    """Table of models trained on one form and asked in the other."""
    lines = []
    for loss, arm in ORIGINAL_ARMS.items():
        for job, form, said in (
            (arm, "words", "original, asked for special words"),
            (f"words/{loss}", "matched", "special words, asked in the original"),
        ):
            records = seeds(store, job)
            if records:
                cells: list[str] = []
                for name in SETS:
                    cells += both(records, f"{name}:{form}")
                lines.append((f"`{loss}`", said, len(records), *cells))
    header = ["loss", "trained on", "runs"]
    for title in SETS.values():
        header += [f"{title}: single", "group"]
    return grid(header, lines)


def distinct_runs(records: Sequence[Record]) -> list[Record]:
    """Runs without repeated predictions: a model before training is the same in every restart."""
    return list({tuple(record.predictions.items()): record for record in records}.values())


def show_word_curve(store: Store, loss: str) -> str:
    """Table of special words by the number of training problems, for one loss."""
    lines = []
    for size, paper in SQUARE_ONE_CURVES[loss].items():
        records = distinct_runs(seeds(store, f"word-curve/{loss}/{size}"))
        single, group, wrong = all_three(records, WORDS_TEST)
        group_range = lowest_to_highest(score(record, WORDS_TEST, None, "group_accuracy") for record in records)
        gap = difference_cells(store, f"word-curve/{loss}", WORDS_TEST, f"{size}") or [""] * 3
        lines.append((f"{size:,}", *paper, runs_of(records), single, *gap[1:3], group, group_range, wrong))
    header = ["training problems", "BERT, paper", "RoBERTa, paper", "ALBERT, paper", "runs", "single"]
    header += ["more than untrained", "other runs too", "group", "lowest to highest", WRONG]
    return grid(header, lines)


register(
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
