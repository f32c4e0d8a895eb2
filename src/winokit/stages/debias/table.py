"""Output of a debiasing: its folder, its record as JSON, and its lines for a person."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from winokit.data.formats import write
from winokit.drawing.page import INDEX
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import plural, say_interval
from winokit.files import check_own_folder, result_bytes, write_whole
from winokit.methods.aflite.methods import DebiasArm
from winokit.methods.aflite.overuse import Overuse
from winokit.results import rows_to_json
from winokit.stages.debias.page import write_debias_page
from winokit.stages.debias.verdict import verdict_of

if TYPE_CHECKING:
    from winokit.stages.debias.filtering import Debiased

KEPT = "kept.jsonl"
REMOVED = "removed.jsonl"
DEBIAS = "debias.json"
RESULTS = "results.json"
REPORT = "report"
MOST_WORDS = 100
"""Words written at either end of the table; the middle says nothing."""


def save(filtering: "Debiased", folder: Path | str) -> None:
    """Write the folder and its page. Each file is written whole.

    Source ids are left out of the problems, since some leak the answer. `debias.json` is the record of the run,
    `results.json` its settings and rows in the shape of an audit's. The record comes first, since it tells whose folder
    it is, and the kept problems last, since with them the folder is complete.
    """
    folder = Path(folder)
    check_folder(folder)
    results = {"run": filtering.settings, "metrics": rows_to_json(filtering.metrics)}
    for name, content in ((DEBIAS, record(filtering)), (RESULTS, results)):
        write_whole(folder / name, result_bytes(content, allow_nan=False, default=_to_json_number))
    write(filtering.removed, folder / REMOVED)
    write(filtering.kept, folder / KEPT)
    write_debias_page(filtering, folder / REPORT)


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files another verb, or a person, has written."""
    ours = (folder / DEBIAS).exists()
    check_own_folder(folder, (KEPT, REMOVED, RESULTS, REPORT), ours=ours, of="a run of winokit debias")


def record(filtering: "Debiased") -> dict[str, Any]:
    """Return the record of a run: everything except the problems."""
    words = filtering.overused.words
    null = None
    if filtering.null is not None:
        removed_counts = filtering.null.null_removed
        first = filtering.null.ranks[0]
        null = asdict(filtering.null)
        del null["q_values"]
        null["expected"] = filtering.null.expected
        null["low"] = min(removed_counts)
        null["high"] = max(removed_counts)
        null["excess"] = filtering.null.excess
        null["p_value"] = first.p_value
    ends = words
    if len(words) > 2 * MOST_WORDS:
        ends = (*words[:MOST_WORDS], *words[-MOST_WORDS:])
    overuse = {
        "words_tested": len(words),
        "words": [_describe_overuse(trait, filtering) for trait in ends],
        "lengths": [_describe_overuse(trait, filtering) for trait in filtering.overused.lengths],
        "polarity": [_describe_overuse(trait, filtering) for trait in filtering.overused.polarity],
    }
    return {
        **filtering.settings,
        "problems": len(filtering.dataset),
        "kept": int(filtering.chosen.keep.sum()),
        "notes": list(filtering.notes),
        "warnings": list(filtering.warnings),
        "history": list(filtering.chosen.history),
        "null": null,
        "overuse": overuse,
        "metrics": rows_to_json(filtering.metrics),
    }


def _describe_overuse(trait: Overuse, filtering: "Debiased") -> dict[str, Any]:
    """One trait as JSON, with public ids in place of row numbers."""
    return {**asdict(trait), "examples": [filtering.dataset[row].id for row in trait.examples]}


def _to_json_number(value: Any) -> Any:
    """NumPy's numbers as JSON knows them."""
    return value.item() if isinstance(value, np.generic) else str(value)


def as_json(filtering: "Debiased") -> dict[str, Any]:
    """Return the output for scripts."""
    folder = filtering.folder or Path()
    metrics = rows_to_json(filtering.metrics)
    places = {"out": str(folder), "report": str(folder / REPORT / INDEX)}
    return {"run": filtering.settings, "warnings": filtering.warnings, "metrics": metrics, **places}


def lines(filtering: "Debiased") -> Lines:
    """Yield the output for people: sizes, settings, table of arms, verdict and files."""
    arm = filtering.chosen
    n = len(filtering.dataset)
    kept_count = int(arm.keep.sum())
    settings = arm.settings
    in_phases = f" in {plural(len(arm.history), 'phase')}" if arm.history else ""
    yield f"{kept_count:,} of {n:,} problems kept, {n - kept_count:,} removed{in_phases}"
    if arm.history:
        yield (
            f"train size {settings['train_size']:,}, cutoff {settings['cutoff']:,}, threshold {settings['threshold']}, "
            f"ensemble {settings['ensemble_size']}, twins {settings['twins']}, {settings['backend']}"
        )
    assessed = ("linear probe", "KL, first component", "by chance") if filtering.pictures else ()
    header = ("problems", "kept", "groups split", *assessed)
    yield table(header, [list(_make_cells(each, filtering)) for each in filtering.arms])
    yield verdict_of(filtering).word
    if filtering.folder is not None:
        page = filtering.folder / REPORT / INDEX
        yield f"{filtering.folder / KEPT}, {REMOVED}, {DEBIAS}; page: {page}"


def _make_cells(arm: DebiasArm, filtering: "Debiased") -> Iterator[str]:
    """An arm beside the others: how many are kept, the probe, and the divergence with what chance gives."""
    split = filtering.find(arm.name, "n_groups_split")
    probe = filtering.find(arm.name, "probe_accuracy")
    kl = filtering.find(arm.name, "kl_histogram")
    yield from (arm.name, f"{int(arm.keep.sum()):,}", f"{split.value:,}" if split else "")
    if probe and kl:
        yield from (f"{100 * probe.value:.1f} % {say_interval(probe)}", f"{kl.value:.3f}", f"{kl.chance:.3f}")
