"""Output of a debiasing: its folder, its JSON record, its lines."""

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
from winokit.methods.aflite.null import NullModel
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
"""Number of words to record from each end of the table. Those between are not significant."""


def save(filtering: "Debiased", folder: Path | str) -> None:
    """Write all files of a debiasing, and its page, into the folder.

    `debias.json` is the record of the run. `results.json` has its settings and rows, as an audit writes them. Each file
    is written whole: the record first, since it marks the folder as one of `winokit debias`, then the problems. Source
    ids are left out of the problems, since some leak the answer. Raises BadInput if the folder holds other files.
    """
    folder = Path(folder)
    check_folder(folder)
    results = {"run": filtering.settings, "metrics": rows_to_json(filtering.metrics)}
    for name, content in ((DEBIAS, record(filtering)), (RESULTS, results)):
        json_bytes = result_bytes(content, allow_nan=False, default=_to_json_number)
        write_whole(folder / name, json_bytes)
    write(filtering.removed, folder / REMOVED)
    write(filtering.kept, folder / KEPT)
    write_debias_page(filtering, folder / REPORT)


def check_folder(folder: Path) -> None:
    """Raise BadInput if the folder holds files that `winokit debias` did not write."""
    has_record = (folder / DEBIAS).exists()
    check_own_folder(folder, (KEPT, REMOVED, RESULTS, REPORT), ours=has_record, of="a run of winokit debias")


def record(filtering: "Debiased") -> dict[str, Any]:
    """Return the record of a run, as JSON: everything except the problems."""
    null = None if filtering.null is None else _describe_null(filtering.null)
    kept_count = int(filtering.chosen.keep.sum())
    return {
        **filtering.settings,
        "problems": len(filtering.dataset),
        "kept": kept_count,
        "notes": list(filtering.notes),
        "warnings": list(filtering.warnings),
        "history": list(filtering.chosen.history),
        "null": null,
        "overuse": _describe_all_overuse(filtering),
        "metrics": rows_to_json(filtering.metrics),
    }


def _describe_null(model: NullModel) -> dict[str, Any]:
    """Return the relabelled runs as JSON, without the q-value of each problem."""
    removed_counts = model.null_removed
    null = asdict(model)
    del null["q_values"]
    null["expected"] = model.expected
    null["low"] = min(removed_counts)
    null["high"] = max(removed_counts)
    null["excess"] = model.excess
    null["p_value"] = model.ranks[0].p_value
    return null


def _describe_all_overuse(filtering: "Debiased") -> dict[str, Any]:
    """Return all over-used traits as JSON.

    Of many words only those at both ends of the order are written.
    """
    overused = filtering.overused
    words = overused.words
    extreme_words = words
    if len(words) > 2 * MOST_WORDS:
        extreme_words = (*words[:MOST_WORDS], *words[-MOST_WORDS:])
    return {
        "words_tested": len(words),
        "words": [_describe_overuse(trait, filtering) for trait in extreme_words],
        "lengths": [_describe_overuse(trait, filtering) for trait in overused.lengths],
        "polarity": [_describe_overuse(trait, filtering) for trait in overused.polarity],
    }


def _describe_overuse(trait: Overuse, filtering: "Debiased") -> dict[str, Any]:
    """Return one trait as JSON, with the public ids of its example problems."""
    example_ids = [filtering.dataset[row].id for row in trait.examples]
    return {**asdict(trait), "examples": example_ids}


def _to_json_number(value: Any) -> Any:
    """Convert a NumPy number to a Python one, and anything else to text."""
    return value.item() if isinstance(value, np.generic) else str(value)


def as_json(filtering: "Debiased") -> dict[str, Any]:
    """Return the output of `--json`: settings, warnings, rows, and paths of folder and page."""
    folder = filtering.folder or Path()
    page = folder / REPORT / INDEX
    return {
        "run": filtering.settings,
        "warnings": filtering.warnings,
        "metrics": rows_to_json(filtering.metrics),
        "out": str(folder),
        "report": str(page),
    }


def lines(filtering: "Debiased") -> Lines:
    """Yield the output for the terminal: sizes, settings, table of arms, verdict and files."""
    arm = filtering.chosen
    n = len(filtering.dataset)
    kept_count = int(arm.keep.sum())
    removed_count = n - kept_count
    settings = arm.settings
    in_phases = f" in {plural(len(arm.history), 'phase')}" if arm.history else ""
    yield f"{kept_count:,} of {n:,} problems kept, {removed_count:,} removed{in_phases}"
    if arm.history:
        yield (
            f"train size {settings['train_size']:,}, cutoff {settings['cutoff']:,}, threshold {settings['threshold']}, "
            f"ensemble {settings['ensemble_size']}, twins {settings['twins']}, {settings['backend']}"
        )
    header = ["problems", "kept", "groups split"]
    if filtering.pictures:
        header += ["linear probe", "KL, first component", "by chance"]
    table_rows = [list(_make_cells(each, filtering)) for each in filtering.arms]
    yield table(header, table_rows)
    yield verdict_of(filtering).word
    folder = filtering.folder
    if folder is not None:
        page = folder / REPORT / INDEX
        yield f"{folder / KEPT}, {REMOVED}, {DEBIAS}; page: {page}"


def _make_cells(arm: DebiasArm, filtering: "Debiased") -> Iterator[str]:
    """Yield the cells of an arm's row in the table.

    They are its name, kept problems, split groups, probe, divergence, and divergence by chance. The last three are left
    out if the features were not assessed.
    """
    split = filtering.find(arm.name, "n_groups_split")
    probe = filtering.find(arm.name, "probe_accuracy")
    kl = filtering.find(arm.name, "kl_histogram")
    kept_count = int(arm.keep.sum())
    yield arm.name
    yield f"{kept_count:,}"
    yield f"{split.value:,}" if split else ""
    if probe and kl:
        yield f"{100 * probe.value:.1f} % {say_interval(probe)}"
        yield f"{kl.value:.3f}"
        yield f"{kl.chance:.3f}"
