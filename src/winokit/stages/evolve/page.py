"""The record and the chart of an evolution, in the folder of the new release: evolution.json and evolution.html."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from winokit.drawing.page import rendered
from winokit.drawing.plots import Forest, ForestBlock, ForestLine, ForestMark
from winokit.files import result_bytes, write_whole
from winokit.results import Metric, stands
from winokit.stages.evolve.evolution import RECORD, Evolution, Fare, coarse_fare
from winokit.stages.release.hidden import hidden_folder, write_private
from winokit.stages.release.manifest import STATUSES, read_manifest, write_manifest

PAGE = "evolution.html"
TITLES = {"accuracy": "Accuracy", "group_accuracy": "Whole groups right"}
COARSE = (
    "hidden answers are in these scores, so that they are rounded as a leaderboard's are; how many groups were solved "
    "is with the answers"
)


def write_evolution(evolution: Evolution, folder: Path, hidden: Path | None = None) -> Path:
    """Write record and page into a release, take them into its manifest, and return the page.

    Where there is a hidden test (at `hidden`, or beside the folder) the public ones say no more of its answers than a
    leaderboard may: scores at a step, and what was retired. The full ones go beside the hidden labels.
    """
    place, public = hidden or hidden_folder(folder), evolution
    if place.is_dir():
        write_private(place / RECORD, _record(evolution))
        write_private(place / PAGE, _page(evolution))
        public = replace(
            evolution,
            solved=replace(evolution.solved, strata=()),
            filtered=(),
            fares=tuple(map(coarse_fare, evolution.fares)),
            notes=(*evolution.notes, COARSE),
            findings=(),
        )
    write_whole(folder / RECORD, _record(public))
    write_whole(folder / PAGE, _page(public))
    about = {key: value for key, value in read_manifest(folder).items() if key not in ("schema", "files")}
    write_manifest(folder, about)
    return folder / PAGE


def _page(evolution: Evolution) -> bytes:
    """The content of evolution.html."""
    models = list(dict.fromkeys(fare.model for fare in evolution.fares if fare.against))
    return rendered(
        "stages/evolve/page.html.j2",
        evolution=evolution,
        charts=list(_charts(evolution.fares)),
        models=models,
        watched=any(fare.model not in models for fare in evolution.fares),
        counts=_counts(evolution),
    )


def _record(evolution: Evolution) -> bytes:
    """The content of evolution.json: what was filtered, how much of that is chance, and how models fare."""
    record = {
        "version": evolution.version,
        "previous": evolution.previous,
        "problems": _counts(evolution),
        "needed": evolution.solved.needed,
        "solved": [asdict(stratum) for stratum in evolution.solved.strata],
        "aflite": [asdict(filtered) for filtered in evolution.filtered],
        "fares": [asdict(fare) for fare in evolution.fares],
        "notes": [*evolution.notes, *evolution.findings],
    }
    return result_bytes(record, allow_nan=False)


def _counts(evolution: Evolution) -> dict[str, int]:
    """Problems by what became of them in this version; those that went before are not counted."""
    now = [row for row in evolution.lineage if row.get("until") in (None, evolution.version)]
    return {status: sum(row["status"] == status for row in now) for status in STATUSES}


def _charts(fares: Sequence[Fare]) -> Iterator[tuple[str, Forest]]:
    """A chart for each metric: each model a block, each version a line, in the order they were made."""
    filtered = {fare.model for fare in fares if fare.against}
    for metric, title in TITLES.items():
        blocks: dict[str, list[ForestLine]] = {}
        for fare in fares:
            if fare.metric == metric:
                numbers = (fare.value, fare.n, fare.low, fare.high, fare.chance)
                row = Metric("", fare.model, "", None, "", fare.version, metric, *numbers)
                note = "filtered against it: a fall is by construction" if fare.against else None
                line = ForestLine(f"version {fare.version}", (ForestMark(0, row, stands(row)),), note)
                blocks.setdefault(fare.model, []).append(line)
        notes = {model: "" if model in filtered else "never filtered against" for model in blocks}
        yield title, Forest(tuple(ForestBlock(model, notes[model], tuple(lines)) for model, lines in blocks.items()))
