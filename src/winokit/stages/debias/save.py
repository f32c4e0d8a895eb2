"""The folder of a filtering: what is kept, what is removed, and everything that was decided and measured."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from winokit.data.formats import write
from winokit.files import check_own_folder, write_whole
from winokit.methods.aflite.null import NullModel
from winokit.methods.aflite.overuse import Overuse
from winokit.results import rows_to_json
from winokit.stages.debias.run import Debiased

KEPT, REMOVED, DEBIAS, RESULTS = "kept.jsonl", "removed.jsonl", "debias.json", "results.json"
REPORT = "report"
MOST_WORDS = 100
"""Words written at either end of the table; the middle says nothing."""


def save(filtering: Debiased, folder: Path | str) -> None:
    """Write the folder; each file is written whole.

    Source ids are left out of the problems, since some leak the answer. `debias.json` is the record of the run,
    `results.json` its settings and rows in the shape of an audit's. The record comes first, since it tells whose folder
    it is, and the kept problems last, since with them the folder is complete.
    """
    folder = Path(folder)
    check_folder(folder)
    results = {"run": filtering.settings, "metrics": rows_to_json(filtering.metrics)}
    for name, content in ((DEBIAS, record(filtering)), (RESULTS, results)):
        text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, default=_plain)
        write_whole(folder / name, (text + "\n").encode())
    write(filtering.removed, folder / REMOVED)
    write(filtering.kept, folder / KEPT)


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files another verb, or a person, has written."""
    ours = (folder / DEBIAS).exists()
    check_own_folder(folder, (KEPT, REMOVED, RESULTS, REPORT), ours=ours, of="a run of winokit debias")


def record(filtering: Debiased) -> dict[str, Any]:
    """Everything about a run but the problems themselves."""
    words = filtering.overused.words
    ends = words if len(words) <= 2 * MOST_WORDS else (*words[:MOST_WORDS], *words[-MOST_WORDS:])
    return {
        **filtering.settings,
        "problems": len(filtering.dataset),
        "kept": int(filtering.chosen.keep.sum()),
        "notes": list(filtering.notes),
        "warnings": list(filtering.warnings),
        "history": list(filtering.chosen.history),
        "null": _null(filtering.null),
        "overuse": {
            "words_tested": len(words),
            "words": [_overuse(one, filtering) for one in ends],
            "lengths": [_overuse(one, filtering) for one in filtering.overused.lengths],
            "polarity": [_overuse(one, filtering) for one in filtering.overused.polarity],
        },
        "metrics": rows_to_json(filtering.metrics),
    }


def _null(null: NullModel | None) -> dict[str, Any] | None:
    if null is None:
        return None
    low, high = min(null.null_removed), max(null.null_removed)
    rank = {"excess": null.excess, "p_value": null.ranks[0].p_value}
    known = {"expected": null.expected, "low": low, "high": high, **rank}
    return {key: value for key, value in asdict(null).items() if key != "q_values"} | known


def _overuse(one: Overuse, filtering: Debiased) -> dict[str, Any]:
    """One trait, with public ids in place of row numbers."""
    return {**asdict(one), "examples": [filtering.dataset[row].id for row in one.examples]}


def _plain(value: Any) -> Any:
    """NumPy's numbers and paths as JSON knows them."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
