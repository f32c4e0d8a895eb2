"""The record and the page of a next version: evolution.json and evolution.html in the folder of the new release."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from winokit.drawing.page import write_page
from winokit.drawing.plots import Forest, ForestBlock, ForestLine, ForestMark
from winokit.files import private, result_bytes, write_whole
from winokit.results import stands
from winokit.stages.evolve.evolution import RECORD, Evolution, Fare, coarse_fare
from winokit.stages.release.hidden import hidden_folder
from winokit.stages.release.manifest import STATUSES, read_manifest, write_manifest

PAGE = "evolution.html"
TITLES = {"accuracy": "Accuracy", "group_accuracy": "Whole groups right"}
COARSE = (
    "these scores depend on hidden answers, so they are rounded as on a leaderboard; how many groups were solved "
    "is with the answers"
)


def write_evolution(evolution: Evolution, folder: Path, hidden: Path | None = None) -> Path:
    """Write record and page into a release, take them into its manifest, and return the page.

    Where there is a hidden test (at `hidden`, or beside the folder) the public ones say no more of its answers than a
    leaderboard may: scores at a step, and what was retired. The full ones go beside the hidden labels.
    """
    hidden_place = hidden or hidden_folder(folder)
    if hidden_place.is_dir():
        with private():
            _write_record_and_page(evolution, hidden_place)
        _write_record_and_page(public_part(evolution), folder)
    else:
        _write_record_and_page(evolution, folder)
    manifest_content = {key: value for key, value in read_manifest(folder).items() if key not in ("schema", "files")}
    write_manifest(folder, manifest_content)
    return folder / PAGE


def public_part(evolution: Evolution) -> Evolution:
    """Part of an evolution that may be published beside a hidden test."""
    return replace(
        evolution,
        solved=replace(evolution.solved, strata=()),
        fares=tuple(map(coarse_fare, evolution.fares)),
        notes=(*evolution.notes, COARSE),
        findings=(),
    )


def status_counts(evolution: Evolution) -> dict[str, int]:
    """Count problems by their status in this version.

    Problems that retired earlier are not counted.
    """
    now = [row for row in evolution.lineage if row.get("until") in (None, evolution.version)]
    counts = Counter(row["status"] for row in now)
    return {status: counts[status] for status in STATUSES}


def _write_record_and_page(evolution: Evolution, folder: Path) -> None:
    """Write evolution.json: what was filtered, how much of that is chance, and how models fare; and its page."""
    counts = status_counts(evolution)
    record = {
        "version": evolution.version,
        "previous": evolution.previous,
        "problems": counts,
        "needed": evolution.solved.needed,
        "solved": [asdict(stratum) for stratum in evolution.solved.strata],
        "fares": [asdict(fare) for fare in evolution.fares],
        "notes": [*evolution.notes, *evolution.findings],
    }
    write_whole(folder / RECORD, result_bytes(record, allow_nan=False))
    models = list(dict.fromkeys(fare.model for fare in evolution.fares if fare.against))
    write_page(
        folder / PAGE,
        "stages/evolve/page.html.j2",
        evolution=evolution,
        charts=list(_make_charts(evolution.fares)),
        models=models,
        watched=any(fare.model not in models for fare in evolution.fares),
        counts=counts,
    )


def _make_charts(fares: Sequence[Fare]) -> Iterator[tuple[str, Forest]]:
    """A chart for each metric: each model a block, each version a line, in the order they were made."""
    filtered = {fare.model for fare in fares if fare.against}
    for metric, title in TITLES.items():
        blocks: dict[str, list[ForestLine]] = {}
        for fare in fares:
            if fare.metric == metric:
                note = "filtered against it: a fall is by construction" if fare.against else None
                line = ForestLine(f"version {fare.version}", (ForestMark(0, fare.row, stands(fare.row)),), note)
                blocks.setdefault(fare.model, []).append(line)
        notes = {model: "" if model in filtered else "never filtered against" for model in blocks}
        yield title, Forest(tuple(ForestBlock(model, notes[model], tuple(lines)) for model, lines in blocks.items()))
