"""What the terminal shows of a release: its splits, what stayed out, where everything is, and what to beware of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winokit.drawing.tables import table
from winokit.stages.release.run import Release
from winokit.stages.release.settings import NOT_STATED

COUNTS = ("problems", "kept", "removed", "groups", "single")


def warnings(release: Release) -> Iterator[str]:
    """What a maker of benchmarks must not overlook."""
    facts = release.facts
    if facts.licence == NOT_STATED:
        yield "THE LICENCE IS NOT STATED, and the card says so: nobody may use the release. Give one: --licence"
    for crossing in facts.crossings:
        if crossing.repeated or crossing.groups:
            repeated = f"{sum(crossing.repeated.values()):,} repeated texts"
            yield f"{crossing.one} and {crossing.other}: {repeated}, {crossing.groups:,} groups in both"
    for name, leaks in facts.leaks.items():
        yield from (f"{name}: {leak.says} in {leak.right:,} of {leak.n:,}" for leak in leaks)
    if facts.test_leaks and release.hidden is not None:
        yield f"test: something predicts its answers without reading: {_from_here(release.hidden / 'checks.json')}"


def lines(release: Release) -> Iterator[Any]:
    """The splits as a table, what stayed out, and where everything is."""
    splits = _splits(release).items()
    yield table(("file", *COUNTS), [(name, *(f"{row[key]:,}" for key in COUNTS)) for name, row in splits])
    for reason, count in release.contents.left_out.items():
        yield f"left out: {count:,} ({reason})"
    settings = release.settings
    yield f"{release.folder}: {settings.name} {settings.version}; card: {release.folder / 'README.md'}"
    if release.hidden is not None:
        yield f"answers and secret of the test: {_from_here(release.hidden)} (keep it to yourself)"
    if release.page is not None:
        yield f"what changed, and how models fare: {release.page}"


def _from_here(path: Path) -> Path:
    """A path as one would type it: without the folder one is in."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _splits(release: Release) -> dict[str, dict[str, int]]:
    """The counts of each file."""
    splits = {}
    for name, data in release.contents.shown.items():
        kept, single = release.contents.count_kept(data), len(data) - sum(map(len, data.groups.values()))
        splits[name] = dict(zip(COUNTS, (len(data), kept, len(data) - kept, len(data.groups), single), strict=True))
    return splits


def as_json(release: Release) -> dict[str, Any]:
    """The same for scripts."""
    facts = release.facts
    return {
        "name": facts.settings.name,
        "version": facts.settings.version,
        "licence": facts.licence,
        "seed": facts.settings.seed,
        "splits": _splits(release),
        "left_out": release.contents.left_out,
        "crossings": [asdict(crossing) for crossing in facts.crossings],
        "leaks": {name: [asdict(leak) for leak in leaks] for name, leaks in facts.leaks.items()},
        "test_leaks": bool(facts.test_leaks),
        "notes": [*release.notes, *warnings(release)],
        "out": str(release.folder),
        "hidden": str(release.hidden) if release.hidden else None,
        "page": str(release.page) if release.page else None,
    }
