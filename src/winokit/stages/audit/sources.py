"""Where the predictions of an audit come from: that no two sources are taken for one, and what they leave unsaid."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from winokit.data.predictions.read import ReadPredictions
from winokit.data.runs import LeftOut
from winokit.errors import BadInput
from winokit.methods.scoring import Prediction
from winokit.stages.audit.sheet import ORIGINAL


def check_once(what: str, names: Sequence[str | None]) -> None:
    """Refuse a name given twice: its rows would be there twice."""
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"{what} {name!r} is named twice: name it once")


def check_apart(sources: Mapping[str, Iterable[Prediction]]) -> None:
    """Refuse two sources of predictions for the same problems under one name: the first would be lost."""
    owners: dict[tuple[str, str, str], dict[str, str]] = {}
    for source, rows in sources.items():
        for row in rows:
            owner = owners.setdefault((row.model, row.scoring, row.variant), {}).setdefault(row.id, source)
            if owner != source:
                raise BadInput(
                    f"{owner} and {source} both have predictions by {row.model!r} ({row.scoring}), as for {row.id}; "
                    "rename one of the files, or the model in it, or leave one out"
                )


def unanswered(rows: Iterable[Prediction], wanted: Collection[str]) -> list[str]:
    """For each scorer that says nothing about some problems, how many they are."""
    answered: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        seen = answered.setdefault((row.model, row.scoring), set())
        if row.variant == ORIGINAL:
            seen.add(row.id)
    return [
        f"{model} ({scoring}): no prediction for {len(wanted) - len(seen):,} of {len(wanted):,} problems; "
        "they are left out, not counted as wrong"
        for (model, scoring), seen in answered.items()
        if len(seen) < len(wanted)
    ]


def unmatched(reads: Iterable[ReadPredictions]) -> list[LeftOut]:
    """Rows of prediction files that belong to no problem; never guessed, always told."""
    return [
        LeftOut("predictions", f"{read.model} ({read.scoring})", f"the first: {read.unmatched[0]}", len(read.unmatched))
        for read in reads
        if read.unmatched
    ]
