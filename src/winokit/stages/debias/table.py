"""What a debiasing leaves: its folder with what is kept and removed, its record as JSON, and lines for a person."""

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
    """Write the folder and its page; each file is written whole.

    Source ids are left out of the problems, since some leak the answer. `debias.json` is the record of the run,
    `results.json` its settings and rows in the shape of an audit's. The record comes first, since it tells whose folder
    it is, and the kept problems last, since with them the folder is complete.
    """
    folder = Path(folder)
    check_folder(folder)
    results = {"run": filtering.settings, "metrics": rows_to_json(filtering.metrics)}
    for name, content in ((DEBIAS, record(filtering)), (RESULTS, results)):
        write_whole(folder / name, result_bytes(content, allow_nan=False, default=_plain))
    write(filtering.removed, folder / REMOVED)
    write(filtering.kept, folder / KEPT)
    write_debias_page(filtering, folder / REPORT)


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files another verb, or a person, has written."""
    ours = (folder / DEBIAS).exists()
    check_own_folder(folder, (KEPT, REMOVED, RESULTS, REPORT), ours=ours, of="a run of winokit debias")


def record(filtering: "Debiased") -> dict[str, Any]:
    """Everything about a run but the problems themselves."""
    words = filtering.overused.words
    null = None
    if filtering.null is not None:
        drawn = filtering.null.null_removed
        first = filtering.null.ranks[0]
        null = {key: value for key, value in asdict(filtering.null).items() if key != "q_values"}
        null |= {"expected": filtering.null.expected, "low": min(drawn), "high": max(drawn)}
        null |= {"excess": filtering.null.excess, "p_value": first.p_value}
    ends = words if len(words) <= 2 * MOST_WORDS else (*words[:MOST_WORDS], *words[-MOST_WORDS:])
    return {
        **filtering.settings,
        "problems": len(filtering.dataset),
        "kept": int(filtering.chosen.keep.sum()),
        "notes": list(filtering.notes),
        "warnings": list(filtering.warnings),
        "history": list(filtering.chosen.history),
        "null": null,
        "overuse": {
            "words_tested": len(words),
            "words": [_overuse(trait, filtering) for trait in ends],
            "lengths": [_overuse(trait, filtering) for trait in filtering.overused.lengths],
            "polarity": [_overuse(trait, filtering) for trait in filtering.overused.polarity],
        },
        "metrics": rows_to_json(filtering.metrics),
    }


def _overuse(trait: Overuse, filtering: "Debiased") -> dict[str, Any]:
    """One trait, with public ids in place of row numbers."""
    return {**asdict(trait), "examples": [filtering.dataset[row].id for row in trait.examples]}


def _plain(value: Any) -> Any:
    """NumPy's numbers as JSON knows them."""
    return value.item() if isinstance(value, np.generic) else str(value)


def as_json(filtering: "Debiased") -> dict[str, Any]:
    """What scripts read of a debiasing."""
    folder = filtering.folder or Path()
    metrics = rows_to_json(filtering.metrics)
    places = {"out": str(folder), "report": str(folder / REPORT / INDEX)}
    return {"run": filtering.settings, "warnings": filtering.warnings, "metrics": metrics, **places}


def lines(filtering: "Debiased") -> Lines:
    """What a person reads: sizes, what was scaled to the data, the table of arms, the verdict, where to look."""
    arm = filtering.chosen
    n = len(filtering.dataset)
    kept = int(arm.keep.sum())
    settings = arm.settings
    in_phases = f" in {plural(len(arm.history), 'phase')}" if arm.history else ""
    yield f"{kept:,} of {n:,} problems kept, {n - kept:,} removed{in_phases}"
    if arm.history:
        yield (
            f"train size {settings['train_size']:,}, cutoff {settings['cutoff']:,}, threshold {settings['threshold']}, "
            f"ensemble {settings['ensemble_size']}, twins {settings['twins']}, {settings['backend']}"
        )
    assessed = ("linear probe", "KL, first component", "by chance") if filtering.pictures else ()
    yield table(
        ("problems", "kept", "groups split", *assessed), [list(_cells(each, filtering)) for each in filtering.arms]
    )
    yield verdict_of(filtering).word
    if filtering.folder is not None:
        page = filtering.folder / REPORT / INDEX
        yield f"{filtering.folder / KEPT}, {REMOVED}, {DEBIAS}; page: {page}"


def _cells(arm: DebiasArm, filtering: "Debiased") -> Iterator[str]:
    """An arm beside the others: how many are kept, the probe, and the divergence with what chance gives."""
    split, probe, kl = (filtering.find(arm.name, name) for name in ("n_groups_split", "probe_accuracy", "kl_histogram"))
    yield from (arm.name, f"{int(arm.keep.sum()):,}", f"{split.value:,}" if split else "")
    if probe and kl:
        yield from (f"{100 * probe.value:.1f} % {say_interval(probe)}", f"{kl.value:.3f}", f"{kl.chance:.3f}")
