"""The leaderboard of a release: graded entries in order, and whether neighbours can be told apart at all.

Paired tests need to know who got which problem right. That stays beside the hidden labels; the page gets differences,
intervals and p-values, corrected for their number by Holm's method. A p-value asks how often two entries that differ
only by luck would be as far apart: in each group they may as well have changed places. That holds on tests of a dozen
groups too, where a bootstrap may tell equal entries apart more often than it says; the price is caution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from winokit.errors import BadInput
from winokit.metrics import Draws, all_right, complete_groups, holm, p_paired, paired_interval
from winokit.metrics.arrays import FloatArray
from winokit.release.grading import (
    ACCURACY,
    AUC,
    CURVE,
    GROUP_ACCURACY,
    Graded,
    Score,
    curve_weights,
    kept_outcome,
    read_graded,
    rounded,
)
from winokit.release.grading_log import Gradings, gradings
from winokit.release.hidden import MANIFEST_HASH, Hidden, hidden_folder, read_hidden
from winokit.release.manifest import manifest_hash, read_manifest

SMALL = 0.05
DRAWS = Draws(draws=4000)
Outcome = Mapping[str, NDArray[np.bool_]]


@dataclass(frozen=True, slots=True)
class Ahead:
    """How far an entry is ahead of the next one, paired by problems and groups."""

    difference: float
    low: float
    high: float
    p: float
    p_corrected: float

    @property
    def told_apart(self) -> bool:
        """Whether correction leaves a difference."""
        return self.p_corrected < SMALL


@dataclass(frozen=True, slots=True)
class Place:
    """One entry on the board."""

    rank: int
    """Equal scores share a rank."""
    entry: Graded
    main: Score
    ahead: Ahead | None = None
    """In the main score; None for the last, and where outcomes are not at hand."""
    group_ahead: Ahead | None = None
    """In group score, at the largest training size."""

    @property
    def largest(self) -> str:
        """The largest training size submitted."""
        return [score.size for score in self.entry.scores if score.metric == ACCURACY][-1]

    @property
    def group(self) -> Score | None:
        """The group score at that size."""
        return self.entry.find(self.largest, GROUP_ACCURACY)

    @property
    def curve(self) -> tuple[Score, ...]:
        """Accuracies from small to large training sizes; nothing where no sizes are said."""
        if not self.entry.sizes:
            return ()
        return tuple(score for score in self.entry.scores if score.metric == ACCURACY)


@dataclass(frozen=True)
class Leaderboard:
    """Everything the page shows."""

    release: dict[str, Any]
    metric: str
    """What ranks: auc where every entry has one, else accuracy."""
    places: tuple[Place, ...]
    tests: int
    """Paired tests made, which p-values are corrected for."""
    asked: Gradings | None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The board as JSON-ready values."""
        return {key: value for key, value in asdict(self).items() if key != "notes"}


def leaderboard(release: Path, folder: Path, *, hidden: Path | None = None) -> Leaderboard:
    """The board of the graded entries in a folder; those of other releases are passed over, with a note."""
    entries, notes = _entries(release, folder)
    metric = AUC if all(entry.find(CURVE, AUC) for entry in entries) else ACCURACY
    if metric == ACCURACY and any(entry.find(CURVE, AUC) for entry in entries):
        notes.append("ranked by accuracy at the largest size: not every entry has predictions for all training sizes")
    ranked = sorted(entries, key=lambda entry: (-_main(entry, metric).value, _name(entry), entry.submission))
    values = [_main(entry, metric).value for entry in ranked]
    places = [
        Place(1 + values.index(value), entry, _main(entry, metric)) for entry, value in zip(ranked, values, strict=True)
    ]
    labels = _labels(release, hidden)
    if labels is None:
        notes.append("no paired tests: the hidden labels are not at hand")
    tested = list(_tested(places, labels, metric)) if labels is not None else []
    tests = sum(len(one) for one in tested)
    return Leaderboard(
        release=entries[0].release,
        metric=metric,
        places=tuple(_with_tests(places, tested)),
        tests=tests,
        asked=gradings(labels.folder) if labels is not None else None,
        notes=tuple(notes),
    )


def _entries(release: Path, folder: Path) -> tuple[list[Graded], list[str]]:
    """The entries of this release in a folder."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; --board takes a folder of what winokit grade --out wrote")
    read_manifest(release)
    found: list[Graded] = []
    notes: list[str] = []
    for path in sorted(folder.glob("*.json")):
        entry = read_graded(path)
        if entry.release.get(MANIFEST_HASH) != manifest_hash(release):
            notes.append(f"passed over {path.name}, which was graded on another release")
        elif entry.statement is None:
            notes.append(f"passed over {path.name}, which says nothing of formalization, training data and trials")
        else:
            found.append(entry)
    if not found:
        raise BadInput(f"{folder}: no entry of {release} there; winokit grade --out FILE.json makes one")
    return found, notes


def _labels(release: Path, hidden: Path | None) -> Hidden | None:
    if hidden is None and not hidden_folder(release).exists():
        return None
    return read_hidden(release, hidden)


def _name(entry: Graded) -> str:
    return entry.statement.name if entry.statement else ""


def _main(entry: Graded, metric: str) -> Score:
    if metric == AUC:
        return entry.main
    return [score for score in entry.scores if score.metric == ACCURACY][-1]


Values = tuple[FloatArray, FloatArray | None]
"""What an entry is worth on each problem, and on each group."""


def _tested(places: Sequence[Place], labels: Hidden, metric: str) -> Iterator[dict[str, Ahead]]:
    """For each entry but the last, the tests against the next one, not corrected yet."""
    worth = [_worth(place, labels, metric) for place in places]
    for first, second in pairwise(worth):
        made = {}
        if first is not None and second is not None:
            made["ahead"] = _ahead(first[0], second[0], labels.groups)
            if first[1] is not None and second[1] is not None:
                made["group_ahead"] = _ahead(first[1], second[1], range(len(first[1])))
        yield made


def _worth(place: Place, labels: Hidden, metric: str) -> Values | None:
    outcome = kept_outcome(labels.folder, place.entry.submission)
    if outcome is None or not outcome.keys() >= {place.largest, *place.entry.sizes}:
        return None
    if any(len(flags) != len(labels) for flags in outcome.values()):
        return None
    last = outcome[place.largest]
    whole = all_right(last, labels.groups).astype(np.float64) if complete_groups(labels.groups) else None
    if metric == ACCURACY:
        return last.astype(np.float64), whole
    sizes = place.entry.sizes
    return np.column_stack([outcome[size] for size in sizes]) @ curve_weights(list(sizes.values())), whole


def _ahead(first: FloatArray, second: FloatArray, groups: Sequence[Any]) -> Ahead:
    interval = paired_interval(first, second, list(groups), DRAWS)
    p = p_paired(first, second, list(groups), DRAWS)
    difference = float(first.mean() - second.mean())
    return Ahead(rounded(difference), rounded(interval.low), rounded(interval.high), p, p)


def _with_tests(places: Sequence[Place], tested: Sequence[dict[str, Ahead]]) -> Iterator[Place]:
    """The places with their tests, p-values corrected over all of them."""
    keys = [(at, name) for at, made in enumerate(tested) for name in made]
    corrected = dict(zip(keys, holm([tested[at][name].p for at, name in keys]), strict=True))
    for at, place in enumerate(places):
        made = {
            name: Ahead(one.difference, one.low, one.high, rounded(one.p), rounded(corrected[at, name]))
            for name, one in (tested[at] if at < len(tested) else {}).items()
        }
        yield Place(place.rank, place.entry, place.main, made.get("ahead"), made.get("group_ahead"))
