"""Square One, trained: artifacts, special words against the original, and learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

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
    """Single and group accuracy, mean and standard deviation."""
    return [mean_sd(score(run, name, None, metric) for run in records) for metric in ("accuracy", "group_accuracy")]


def all_three(records: Sequence[Record], name: str) -> list[str]:
    """The same, and pairs that are wrong on both sides."""
    return [*both(records, name), mean_sd(score(run, name, None, "none_right") for run in records)]


def show_artifacts(
    store: Store, arm: str, paper: Mapping[tuple[str, str], tuple[float, ...]], untrained: Sequence[Record] = ()
) -> str:
    """Twins as they are, without candidates, and in part."""
    records, lines = seeds(store, arm), []
    for name, shown in SETS.items():
        for variant in VARIANTS:
            cells = [
                *all_three(records, f"{name}:{variant}"),
                *(both(untrained, f"{name}:{variant}") if untrained else ()),
            ]
            theirs = paper[name, variant]
            lines.append(
                (
                    shown if variant == "original" else "",
                    variant,
                    *(number(value, 2) for value in theirs),
                    *cells,
                )
            )
    header = [
        "dataset",
        "variant",
        "single, paper",
        "group, paper",
        f"single, {counted(records)}",
        "group",
        WRONG,
    ]
    table = grid([*header, *(["untrained: single", "group"] if untrained else [])], lines)
    return f"{table}\n\n{said_of_guessing(records)}"


def said_of_guessing(records: Sequence[Record]) -> str:
    """What guessing has of single problems and of pairs, over all sets and variants."""
    phrases = []
    for metric, of in (("accuracy", "single problems"), ("group_accuracy", "pairs")):
        scores = (score(run, f"{name}:{kind}", None, metric) for run in records for name in SETS for kind in VARIANTS)
        levels = sorted({number(100 * row.chance) for row in scores if row is not None and row.chance is not None})
        if levels:
            phrases.append(f"{' to '.join(dict.fromkeys((levels[0], levels[-1])))} of {of}")
    return f"Guessing has {join(phrases)}." if phrases else ""


def show_single(store: Store) -> str:
    """Table 1, trained."""
    return show_artifacts(store, "transfer/xl", SQUARE_ONE_TABLE_1)


def show_headed(store: Store) -> str:
    """Table 6: the same with the MLM head, beside the model before training."""
    return show_artifacts(store, "square-one/mc-mlm", SQUARE_ONE_TABLE_6, seeds(store, "untrained"))


def show_forms(store: Store) -> str:
    """Section 6.1: either form, each by a model that was trained on it."""
    theirs = [number(value) for cells in SQUARE_ONE_MATCHED.values() for value in cells]
    lines: list[Sequence[object]] = [("WinoGrande", "RoBERTa-large, paper", "", *theirs[:2], "", *theirs[2:])]
    for name, shown in SETS.items():
        for loss, arm in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
            original, words = seeds(store, arm), seeds(store, f"words/{loss}")
            n = store["sets"].settings["tests"][f"{name}:words"]
            first = f"{shown} ({n})" if loss == "mc-sent" else ""
            if not original or not words:
                lines.append((first, f"`{loss}`", NOT_RUN))
                continue
            cells = [*all_three(original, f"{name}:matched"), *all_three(words, f"{name}:words")]
            gap = difference_cells(store, f"words/{loss}", name, "pairs") or []
            lines.append((first, f"`{loss}`", f"{len(original)}, {len(words)}", *cells, *gap))
    header = ["dataset (problems)", "loss", "runs"]
    header += [column for form in ("original", "special word") for column in (f"{form}: single", "group", WRONG)]
    header += ["seeds of both", "pairs, difference", *DIFFERENCE_COLUMNS[2:]]
    return f"{grid(header, lines)}\n\nAsked in the other form:\n\n{show_other_form(store)}"


def show_other_form(store: Store) -> str:
    """Trained on one form and asked in the other."""
    lines = []
    for loss, arm in (("mc-sent", "transfer/xl"), ("mc-mlm", "square-one/mc-mlm")):
        for job, form, said in (
            (arm, "words", "original, asked for special words"),
            (f"words/{loss}", "matched", "special words, asked in the original"),
        ):
            records = seeds(store, job)
            if records:
                cells = [cell for name in SETS for cell in both(records, f"{name}:{form}")]
                lines.append((f"`{loss}`", said, len(records), *cells))
    columns = (column for name in SETS.values() for column in (f"{name}: single", "group"))
    return grid(["loss", "trained on", "runs", *columns], lines)


def _distinct(records: Sequence[Record]) -> list[Record]:
    """Without those that say what another does: a model before training is the same in every restart."""
    return list({tuple(record.predictions.items()): record for record in records}.values())


def show_word_curve(store: Store, loss: str) -> str:
    """Special words by how many were trained on."""
    lines = []
    for size, paper in SQUARE_ONE_CURVES[loss].items():
        records = _distinct(seeds(store, f"word-curve/{loss}/{size}"))
        single, group, wrong = all_three(records, WORDS_TEST)
        span = lowest_to_highest(score(record, WORDS_TEST, None, "group_accuracy") for record in records)
        gap = difference_cells(store, f"word-curve/{loss}", WORDS_TEST, f"{size}") or [""] * 3
        lines.append((f"{size:,}", *paper, runs_of(records), single, *gap[1:3], group, span, wrong))
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
