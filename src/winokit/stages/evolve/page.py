"""The record and the page of a next version: evolution.json and evolution.html."""

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
    """Write evolution.json and evolution.html into a release folder.

    Returns the path of the page. The release's manifest is rewritten to list both. If the release has a hidden test
    (its labels are in the folder `hidden`, by default beside the release), the public files say no more of its answers
    than a leaderboard may: scores are rounded and solved groups are not counted. The full files go beside the hidden
    labels.
    """
    labels_folder = hidden or hidden_folder(folder)
    if labels_folder.is_dir():
        with private():
            _write_record_and_page(evolution, labels_folder)
        _write_record_and_page(public_part(evolution), folder)
    else:
        _write_record_and_page(evolution, folder)
    manifest_content = dict(read_manifest(folder))
    for rewritten_key in ("schema", "files"):
        manifest_content.pop(rewritten_key, None)
    write_manifest(folder, manifest_content)
    return folder / PAGE


def public_part(evolution: Evolution) -> Evolution:
    """Copy of an evolution that may be published beside a hidden test.

    Scores are rounded, and how many groups were solved is left out.
    """
    return replace(
        evolution,
        solved=replace(evolution.solved, strata=()),
        fares=tuple(map(coarse_fare, evolution.fares)),
        notes=(*evolution.notes, COARSE),
        findings=(),
    )


def status_counts(evolution: Evolution) -> dict[str, int]:
    """Count problems by their status in this version: added, kept, removed, retired.

    Problems that retired in an earlier version are not counted.
    """
    current_rows = [row for row in evolution.lineage if row.get("until") in (None, evolution.version)]
    counts = Counter(row["status"] for row in current_rows)
    return {status: counts[status] for status in STATUSES}


def _write_record_and_page(evolution: Evolution, folder: Path) -> None:
    """Write evolution.json and evolution.html of an evolution into a folder."""
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
    """Yield the title and the chart of each metric.

    A chart has a block per model, and in it a line per version, in the order of the fares.
    """
    filtered_models = {fare.model for fare in fares if fare.against}
    for metric, title in TITLES.items():
        lines_by_model: dict[str, list[ForestLine]] = {}
        for fare in fares:
            if fare.metric == metric:
                lines_by_model.setdefault(fare.model, []).append(_make_line(fare))
        blocks = []
        for model, lines in lines_by_model.items():
            note = "" if model in filtered_models else "never filtered against"
            blocks.append(ForestBlock(model, note, tuple(lines)))
        yield title, Forest(tuple(blocks))


def _make_line(fare: Fare) -> ForestLine:
    """Line of a chart for a model's score on one version."""
    mark = ForestMark(0, fare.row, stands(fare.row))
    note = "filtered against it: a fall is by construction" if fare.against else None
    return ForestLine(f"version {fare.version}", (mark,), note)
