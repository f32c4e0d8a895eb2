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
    """Paired test of whether an entry is better than the next one."""

    difference: float
    """Difference of the scores shown. On the owner's board, mean difference over problems or groups."""
    told_apart: bool
    """Whether the entry is significantly better, after correction for the number of tests."""
    p_corrected: float | None = None
    """The corrected p-value. Like the interval, on the owner's board only."""
    low: float | None = None
    """Lower end of the 95 % interval of the difference."""
    high: float | None = None


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """One entry on the board, with its rank and its lead over the next."""

    rank: int | None
    """The rank, from 1; equal scores share one. None if the ranking score is not shown."""
    entry: Graded
    main: GradeScore | None
    """The score that ranks. None if it is not shown."""
    ahead: LeadTest | None = None
    """The lead in the main score. None if there is no test against the next entry."""
    group_ahead: LeadTest | None = None
    """The lead in group score at the largest training size. On the owner's board only."""

    @property
    def largest(self) -> str:
        """The largest training size of the entry, or `one` without sizes."""
        return list(self.entry.sizes)[-1] if self.entry.sizes else ONE

    @property
    def group(self) -> GradeScore | None:
        """The group score at the largest training size, or None."""
        return self.entry.find(self.largest, GROUP_ACCURACY)

    @property
    def curve(self) -> tuple[GradeScore, ...]:
        """Accuracies from small to large training sizes.

        Empty if the entry names no sizes.
        """
        if not self.entry.sizes:
            return ()
        return tuple(score for score in self.entry.scores if score.metric == ACCURACY)


@dataclass(frozen=True, repr=False)
class Leaderboard(Brief):
    """The ranked entries of a release, and everything else on the page."""

    release: dict[str, Any]
    """Name, version and manifest hash of the release, and the size of its test."""
    metric: str
    """The metric that ranks: auc or accuracy, whichever more entries have, and auc if as many have both."""
    places: tuple[BoardPlace, ...]
    """The entries in the order of the board."""
    tests: int
    """Number of paired tests, which p-values are corrected for."""
    asked: Gradings | None
    """Number of gradings of the test so far. None without the hidden labels."""
    rules: LadderRules
    is_owners: bool = False
    """Whether it has all scores, and not only what a submitter may see."""
    notes: tuple[str, ...] = ()
    page: Path | None = None
    """The file of the page. None if it was not written."""

    def to_json(self) -> dict[str, Any]:
        """Return the board as JSON-ready values, without notes and page."""
        return {key: value for key, value in asdict(self).items() if key not in ("notes", "page")}


def leaderboard(release: Path, folder: Path, *, hidden: Path | None = None, owner: bool = False) -> Leaderboard:
    """Make the leaderboard of the graded entries in a folder.

    Entries of other releases, without a statement, or that the log does not confirm are skipped with a note.

    Parameters
    ----------
    release
        The folder of the release.
    folder
        The folder of entries, as `winokit grade --out` writes them.
    hidden
        The folder of hidden labels. Default: the one beside the release. Without it there are no paired tests.
    owner
        Whether entries have every score of the owner's record: not for publication.

    Raises
    ------
    BadInput
        If the folder has no entry of the release, or `owner` is set and there are no hidden labels.
    """
    labels_folder = hidden or hidden_folder(release)
    labels = None
    if hidden is not None or labels_folder.exists():
        labels = read_hidden(release, hidden)
    entries, notes = _read_entries(release, folder, labels)
    if owner and labels is None:
        raise BadInput(f"{labels_folder}: no hidden labels there, and the owner's record is with them")
    if labels is None:
        notes.append("no paired tests, and scores as the entries say: the hidden labels are not available")
    elif owner:
        entries = [record.owner_record(entry, labels.folder) for entry in entries]
    metric = _choose_metric(entries)
    places = list(_rank_entries(entries, metric))
    if any(place.rank is None and place.entry.scores for place in places):
        notes.append(f"ranked by {metric}: entries for which that is not shown have no rank")
    test_count = 0
    gradings = None
    if labels is not None:
        places, test_count = _test_leads(places, labels, metric, owner)
        gradings = _count_gradings(release, labels)
        units_note = GradedUnits.of_labels(labels).note
        if units_note:
            notes.append(units_note)
    return Leaderboard(
        release=entries[0].release,
        metric=metric,
        places=tuple(places),
        tests=test_count,
        asked=gradings,
        rules=entries[-1].rules,
        is_owners=owner,
        notes=tuple(notes),
    )


def _choose_metric(entries: Sequence[Graded]) -> str:
    """Return the metric that ranks: auc or accuracy, whichever more entries have.

    It is auc if as many have both, and accuracy if no entry has any score.
    """
    curve_count = sum(_find_main_score(entry, AUC) is not None for entry in entries)
    accuracy_count = sum(_find_main_score(entry, ACCURACY) is not None for entry in entries)
    return AUC if curve_count >= max(1, accuracy_count) else ACCURACY


def _count_gradings(release: Path, labels: HiddenPart) -> Gradings:
    """Count the gradings of a release's hidden test, under any name."""
    registry = HiddenRegistry()
    test = known_test(registry, release, labels)
    return spent_budget(registry, test, labels).gradings()


def _rank_entries(entries: Sequence[Graded], metric: str) -> Iterator[BoardPlace]:
    """Yield the entries by falling score, and those without a score last.

    Entries with the same score share a rank, and are in the order of their names.
    """

    def sort_key(entry: Graded) -> tuple[float, str, str]:
        score = _find_main_score(entry, metric)
        negative_score = -score.value if score else 1.0
        name = entry.statement.name if entry.statement else ""
        return negative_score, name, entry.submission

    values: list[float] = []
    for entry in sorted(entries, key=sort_key):
        score = _find_main_score(entry, metric)
        rank = None
        if score is not None:
            values.append(score.value)
            rank = 1 + values.index(score.value)
        yield BoardPlace(rank, entry, score)


def _read_entries(release: Path, folder: Path, labels: HiddenPart | None) -> tuple[list[Graded], list[str]]:
    """Read the entries of a release in a folder.

    Returns them, and a note for each file that is skipped. With hidden labels, entries that their log does not
    confirm are skipped. Raises BadInput if no entry is left.
    """
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
    """Return the score of a metric at the largest size, or None."""
    scores = [score for score in entry.scores if score.metric == metric]
    return scores[-1] if scores else None


AHEAD = "ahead"
GROUP_AHEAD = "group_ahead"


def _test_leads(
    places: Sequence[BoardPlace], labels: HiddenPart, metric: str, owner: bool
) -> tuple[list[BoardPlace], int]:
    """Test each entry against the next one.

    Returns all entries, and the number of tests. Only the owner may know the order of two entries that share a rank,
    or who is ahead in group score. In public the tests are without the owner's numbers, and a lead must exceed a
    margin of up to a step, which the secret draws for every two entries. Without it, changing one prediction where a
    test is just passed would reveal one answer.
    """
    units = GradedUnits.of_labels(labels)
    scores = [_score_problems(place, labels, metric) for place in places]
    tests: dict[tuple[int, str], tuple[LeadTest, float]] = {}
    for index, (first, second) in enumerate(pairwise(scores)):
        may_compare = owner or places[index].rank != places[index + 1].rank
        if not (may_compare and first and second):
            continue
        margin = 0.0
        if not owner:
            margin = _draw_margin(places[index], places[index + 1], labels, units)
        tests[index, AHEAD] = _test_lead(first[AHEAD], second[AHEAD], units.of_problems, margin)
        if owner and GROUP_AHEAD in first and GROUP_AHEAD in second:
            tests[index, GROUP_AHEAD] = _test_lead(first[GROUP_AHEAD], second[GROUP_AHEAD], units.of_groups)
    p_values = corrected_for_number([p for _, p in tests.values()])
    tested_places = list(places)
    for ((index, field), (lead, _)), p in zip(tests.items(), p_values, strict=True):
        is_apart = p < SMALL and lead.told_apart
        if owner:
            lead = replace(lead, told_apart=is_apart, p_corrected=rounded(p))
        else:
            lead = LeadTest(_subtract_shown(places[index], places[index + 1]), is_apart)
        change: dict[str, Any] = {field: lead}
        tested_places[index] = replace(tested_places[index], **change)
    return tested_places, len(tests)


def _draw_margin(first: BoardPlace, second: BoardPlace, labels: HiddenPart, units: GradedUnits) -> float:
    """Draw the margin, up to a step, that a public lead must exceed.

    It is always the same for the same two submissions and secret.
    """
    submissions = f"{first.entry.submission} {second.entry.submission}"
    step = 1 / steps_of(units.counted_problems)
    return MARGIN * labels.draws.share("lead", submissions) * step


def _subtract_shown(first: BoardPlace, second: BoardPlace) -> float:
    """Difference of the main scores that are shown of two entries.

    It is 0 if one is not shown.
    """
    if first.main is None or second.main is None:
        return 0.0
    return rounded(first.main.value - second.main.value)


def _score_problems(place: BoardPlace, labels: HiddenPart, metric: str) -> dict[str, FloatArray]:
    """Score an entry on each problem (`ahead`) and each complete group (`group_ahead`).

    Empty if the entry has no rank or its outcome was not kept. By accuracy, a problem scores 1 if it is right at the
    largest training size; by auc, its weighted mean over all sizes.
    """
    if place.rank is None:
        return {}
    outcome = record.kept_outcome(labels.folder, place.entry.submission)
    sizes = place.entry.sizes
    if outcome is None or not outcome.keys() >= {place.largest, *sizes}:
        return {}
    if any(len(flags) != len(labels) for flags in outcome.values()):
        return {}
    right = outcome[place.largest]
    scores = {AHEAD: right.astype(np.float64)}
    if metric != ACCURACY:
        right_by_size = np.column_stack([outcome[size] for size in sizes])
        scores[AHEAD] = right_by_size @ curve_weights(list(sizes.values()))
    if complete_groups(labels.groups):
        scores[GROUP_AHEAD] = all_right(right, labels.groups).astype(np.float64)
    return scores


def _test_lead(first: FloatArray, second: FloatArray, units: Units, margin: float = 0.0) -> tuple[LeadTest, float]:
    """Test whether the first scores are higher than the second.

    Returns the test and its p-value. Scores are one for each problem or group, with their units. The p-value is the
    probability of a lead beyond the margin by chance.
    """
    lead = lead_of(first, second, units, margin)
    test = LeadTest(rounded(lead.difference), lead.difference > 0, None, rounded(lead.low), rounded(lead.high))
    return test, lead.p


WIDTH = 108
HEIGHT = 34
EDGE = 4
LOWEST = 0.4
"""The accuracy at the lower edge of the small curves: chance is well above, and no useful curve is below."""


def write_board(board: Leaderboard, path: Path) -> None:
    """Write the page of a leaderboard, which makes no network requests."""
    statements = [place.entry.statement for place in board.places]
    formalizations = {statement.formalization for statement in statements if statement}
    write_page(
        path,
        "stages/grade/page.html.j2",
        board=board,
        rows=[(place, curve_of(place)) for place in board.places],
        ranks_by="AUC" if board.metric == AUC else "Accuracy",
        formalizations=sorted(formalizations),
        size=(WIDTH, HEIGHT),
        small=SMALL,
        has_curves=any(place.curve for place in board.places),
    )


def curve_of(place: BoardPlace) -> dict[str, Any] | None:
    """Compute the drawing of an entry's learning curve.

    None with fewer than two accuracies. `dots` are pairs of x and y in pixels, `chance` is the y of chance, and
    `said` is the curve in words.
    """
    scores = place.curve
    sizes = place.entry.sizes
    if len(scores) < 2:
        return None
    logs = [math.log2(sizes[score.size]) for score in scores]
    pixels_per_doubling = (WIDTH - 2 * EDGE) / ((logs[-1] - logs[0]) or 1)
    dots = []
    captions = []
    for log, score in zip(logs, scores, strict=True):
        x = round(EDGE + (log - logs[0]) * pixels_per_doubling, 1)
        dots.append((x, _find_height(score.value)))
        captions.append(f"{100 * score.value:.1f} % with {sizes[score.size]:,} training problems")
    return {"dots": dots, "chance": _find_height(scores[0].chance), "said": join(captions)}


def _find_height(accuracy: float) -> float:
    """The y coordinate of an accuracy, in pixels from the top.

    Accuracies of 0.4 and less are at the lower edge.
    """
    clipped = min(max(accuracy, LOWEST), 1.0)
    share = (clipped - LOWEST) / (1 - LOWEST)
    return round(HEIGHT - EDGE - share * (HEIGHT - 2 * EDGE), 1)
