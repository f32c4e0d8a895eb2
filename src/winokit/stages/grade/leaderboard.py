"""The leaderboard of a release: graded entries in order, and whether neighbours can be distinguished.

Entries are ordered by the scores that the Ladder shows. Paired tests need to know who got which problem right. That
stays beside the hidden labels; the page says whether neighbours are distinguishable, with p-values corrected for
their number by Holm's method. Differences, intervals and p-values themselves are on the owner's board alone.

A p-value asks how often two entries that differ only by luck would be as far apart: in each unit (`units`) they may as
well have changed places. That holds on tests of a dozen units too, where a bootstrap may tell equal entries apart more
often than it says; the price is caution.

Its page is one file that opens from disk, sorts by any column and makes no network requests.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from winokit.drawing.decision import SMALL
from winokit.drawing.page import write_page
from winokit.drawing.wording import join
from winokit.errors import BadInput
from winokit.methods.arrays import FloatArray
from winokit.methods.metrics.groups import all_right, complete_groups
from winokit.methods.metrics.judge_graded import corrected_for_number, curve_weights, lead_of
from winokit.results import Brief
from winokit.stages.grade import record
from winokit.stages.grade.budget import known_test, spent_budget
from winokit.stages.grade.ladder import MARGIN, LadderRules, rounded, steps_of
from winokit.stages.grade.record import ACCURACY, AUC, GROUP_ACCURACY, Graded, GradeScore, Gradings
from winokit.stages.grade.submissions import ONE
from winokit.stages.grade.units import GradedUnits
from winokit.stages.release.hidden import MANIFEST_HASH, HiddenPart, hidden_folder, read_hidden
from winokit.stages.release.hidden_registry import HiddenRegistry
from winokit.stages.release.manifest import manifest_hash
from winokit.units import Units


@dataclass(frozen=True, slots=True)
class LeadTest:
    """Lead of an entry over the next one, paired by problems, with units varying."""

    difference: float
    """Between the scores shown; on the owner's board, between all answers."""
    told_apart: bool
    """Whether correction leaves a difference."""
    p_corrected: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """One entry on the board."""

    rank: int | None
    """Equal scores share a rank; None where no score is shown."""
    entry: Graded
    main: GradeScore | None
    ahead: LeadTest | None = None
    """In the main score; None for the last, and where outcomes are not available."""
    group_ahead: LeadTest | None = None
    """In group score, at the largest training size; the owner's."""

    @property
    def largest(self) -> str:
        """The largest training size submitted."""
        return list(self.entry.sizes)[-1] if self.entry.sizes else ONE

    @property
    def group(self) -> GradeScore | None:
        """The group score at that size."""
        return self.entry.find(self.largest, GROUP_ACCURACY)

    @property
    def curve(self) -> tuple[GradeScore, ...]:
        """Accuracies from small to large training sizes (empty without sizes)."""
        if not self.entry.sizes:
            return ()
        return tuple(score for score in self.entry.scores if score.metric == ACCURACY)


@dataclass(frozen=True, repr=False)
class Leaderboard(Brief):
    """Everything the page shows."""

    release: dict[str, Any]
    metric: str
    """What ranks: auc or accuracy, whichever more entries have; auc where both are as many."""
    places: tuple[BoardPlace, ...]
    tests: int
    """Paired tests made, which p-values are corrected for."""
    asked: Gradings | None
    rules: LadderRules
    is_owners: bool = False
    """Whether it has all scores, and not only what a submitter may see."""
    notes: tuple[str, ...] = ()
    page: Path | None = None
    """Where it is shown."""

    def to_json(self) -> dict[str, Any]:
        """The board as JSON-ready values."""
        return {key: value for key, value in asdict(self).items() if key not in ("notes", "page")}


def leaderboard(release: Path, folder: Path, *, hidden: Path | None = None, owner: bool = False) -> Leaderboard:
    """Make the board of the graded entries in a folder.

    Entries of other releases are skipped, with a note.

    With `owner`, entries have every score of the record beside the hidden labels: not for publication.
    """
    labels_folder = hidden or hidden_folder(release)
    labels = read_hidden(release, hidden) if hidden is not None or labels_folder.exists() else None
    entries, notes = _read_entries(release, folder, labels)
    if owner and labels is None:
        raise BadInput(f"{labels_folder}: no hidden labels there, and the owner's record is with them")
    if labels is None:
        notes.append("no paired tests, and scores as the entries say: the hidden labels are not available")
    elif owner:
        entries = [record.owner_record(entry, labels.folder) for entry in entries]
    with_curve = sum(_find_main_score(entry, AUC) is not None for entry in entries)
    with_accuracy = sum(_find_main_score(entry, ACCURACY) is not None for entry in entries)
    metric = AUC if with_curve >= max(1, with_accuracy) else ACCURACY
    places = list(_rank_entries(entries, metric))
    if any(labels_folder.rank is None and labels_folder.entry.scores for labels_folder in places):
        notes.append(f"ranked by {metric}: entries for which that is not shown have no rank")
    tested, tests = (places, 0) if labels is None else _test_leads(places, labels, metric, owner)
    if labels is not None and (note := GradedUnits.of_labels(labels).note):
        notes.append(note)
    return Leaderboard(
        release=entries[0].release,
        metric=metric,
        places=tuple(tested),
        tests=tests,
        asked=_count_gradings(release, labels) if labels is not None else None,
        rules=entries[-1].rules,
        is_owners=owner,
        notes=tuple(notes),
    )


def _count_gradings(release: Path, labels: HiddenPart) -> Gradings:
    """Number of gradings of the test."""
    registry = HiddenRegistry()
    return spent_budget(registry, known_test(registry, release, labels), labels).gradings()


def _rank_entries(entries: Sequence[Graded], metric: str) -> Iterator[BoardPlace]:
    """The entries by the score that ranks, those for which none is shown last."""
    mains = []
    for entry in entries:
        name = entry.statement.name if entry.statement else ""
        mains.append((entry, _find_main_score(entry, metric), name))
    mains.sort(key=lambda row: (-row[1].value if row[1] else 1.0, row[2], row[0].submission))
    values = [main.value for _, main, _ in mains if main is not None]
    for entry, main, _ in mains:
        yield BoardPlace(None if main is None else 1 + values.index(main.value), entry, main)


def _read_entries(release: Path, folder: Path, labels: HiddenPart | None) -> tuple[list[Graded], list[str]]:
    """Read the entries of this release, or only those in the log if there is one."""
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such folder; --board takes a folder of what winokit grade --out wrote")
    own_hash = manifest_hash(release)
    entries: list[Graded] = []
    notes: list[str] = []
    for path in sorted(folder.glob("*.json")):
        entry = record.read_graded(path)
        if entry.release.get(MANIFEST_HASH) != own_hash:
            notes.append(f"skipped {path.name}, which was graded on another release")
        elif entry.statement is None:
            notes.append(f"skipped {path.name}, which does not state formalization, training data and trials")
        elif labels is not None and not record.was_graded(entry, labels.folder):
            notes.append(f"skipped {path.name}: no grading gave this entry as it is; grade it again")
        else:
            entries.append(entry)
    if not entries:
        raise BadInput(f"{folder}: no entry of {release} there; winokit grade --out FILE.json makes one")
    return entries, notes


def _find_main_score(entry: Graded, metric: str) -> GradeScore | None:
    scores = [score for score in entry.scores if score.metric == metric]
    return scores[-1] if scores else None


AHEAD = "ahead"
GROUP_AHEAD = "group_ahead"


def _test_leads(
    places: Sequence[BoardPlace], labels: HiddenPart, metric: str, owner: bool
) -> tuple[list[BoardPlace], int]:
    """The places, each but the last tested against the next one, and how many tests p-values are corrected for.

    Of two that share a rank the order is nobody's to know but the owner's, and so is who is ahead in group score.
    In public the tests are without the owner's numbers, and a lead must exceed a margin of up to a step, which the
    secret draws for every two entries: else one answer, turned where a test is just passed, is read off it each time.
    """
    units = GradedUnits.of_labels(labels)
    worth = [_score_problems(place, labels, metric) for place in places]
    tests: dict[tuple[int, str], tuple[LeadTest, float]] = {}
    for at, (first, second) in enumerate(pairwise(worth)):
        if first and second and (owner or places[at].rank != places[at + 1].rank):
            both = " ".join(place.entry.submission for place in places[at : at + 2])
            step = 1 / steps_of(units.counted_problems)
            margin = 0.0 if owner else MARGIN * labels.draws.share("lead", both) * step
            tests[at, AHEAD] = _test_lead(first[AHEAD], second[AHEAD], units.of_problems, margin)
            if owner and GROUP_AHEAD in first and GROUP_AHEAD in second:
                tests[at, GROUP_AHEAD] = _test_lead(first[GROUP_AHEAD], second[GROUP_AHEAD], units.of_groups)
    tested = list(places)
    for ((at, name), (lead, _)), p in zip(
        tests.items(), corrected_for_number([p for _, p in tests.values()]), strict=True
    ):
        lead = replace(lead, told_apart=p < SMALL and lead.told_apart, p_corrected=rounded(p))
        if not owner:
            first_shown = places[at].main
            second_shown = places[at + 1].main
            shown_lead = rounded(first_shown.value - second_shown.value) if first_shown and second_shown else 0.0
            lead = LeadTest(shown_lead, lead.told_apart)
        named: dict[str, Any] = {name: lead}
        tested[at] = replace(tested[at], **named)
    return tested, len(tests)


def _score_problems(place: BoardPlace, labels: HiddenPart, metric: str) -> dict[str, FloatArray]:
    """Scores of an entry by problem or group.

    Empty if its outcome is not at hand.
    """
    outcome = record.kept_outcome(labels.folder, place.entry.submission) if place.rank is not None else None
    if outcome is None or not outcome.keys() >= {place.largest, *place.entry.sizes}:
        return {}
    if any(len(flags) != len(labels) for flags in outcome.values()):
        return {}
    last = outcome[place.largest]
    sizes = place.entry.sizes
    worth = {AHEAD: last.astype(np.float64)}
    if metric != ACCURACY:
        worth[AHEAD] = np.column_stack([outcome[size] for size in sizes]) @ curve_weights(list(sizes.values()))
    if complete_groups(labels.groups):
        worth[GROUP_AHEAD] = all_right(last, labels.groups).astype(np.float64)
    return worth


def _test_lead(first: FloatArray, second: FloatArray, units: Units, margin: float = 0.0) -> tuple[LeadTest, float]:
    """Whether the first is ahead, and how probable what goes beyond a margin is by chance."""
    lead = lead_of(first, second, units, margin)
    test = LeadTest(rounded(lead.difference), lead.difference > 0, None, rounded(lead.low), rounded(lead.high))
    return test, lead.p


WIDTH = 108
HEIGHT = 34
EDGE = 4
LOWEST = 0.4
"""Where the axis of the small curves begins: chance is well inside, and no curve worth drawing is below."""


def write_board(board: Leaderboard, path: Path) -> None:
    """Write the page."""
    write_page(
        path,
        "stages/grade/page.html.j2",
        board=board,
        rows=[(place, curve_of(place)) for place in board.places],
        ranks_by="AUC" if board.metric == AUC else "Accuracy",
        formalizations=sorted({place.entry.statement.formalization for place in board.places if place.entry.statement}),
        size=(WIDTH, HEIGHT),
        small=SMALL,
        has_curves=any(place.curve for place in board.places),
    )


def curve_of(place: BoardPlace) -> dict[str, Any] | None:
    """Draw the curve of an entry over its training sizes, or None without one.

    Its dots, the height of chance, and the curve in words.
    """
    scores = place.curve
    sizes = place.entry.sizes
    if len(scores) < 2:
        return None
    logs = [math.log2(sizes[score.size]) for score in scores]
    across = (WIDTH - 2 * EDGE) / ((logs[-1] - logs[0]) or 1)
    across_all = [round(EDGE + (log - logs[0]) * across, 1) for log in logs]
    dots = list(zip(across_all, (_place_height(score.value) for score in scores), strict=True))
    caption = join([f"{100 * score.value:.1f} % with {sizes[score.size]:,} training problems" for score in scores])
    return {"dots": dots, "chance": _place_height(scores[0].chance), "said": caption}


def _place_height(value: float) -> float:
    share = (min(max(value, LOWEST), 1.0) - LOWEST) / (1 - LOWEST)
    return round(HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE), 1)
