"""Problems of one unit count once: a hidden test that is written three times over makes no score surer."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from support import small

from winokit.data.loading import load
from winokit.errors import Malformed
from winokit.methods.metrics.judge_graded import lead_of
from winokit.problem import Card, Dataset
from winokit.stages.evolve.run import evolve
from winokit.stages.grade.ladder import rules_of, to_step
from winokit.stages.grade.leaderboard import LeadTest, leaderboard, write_board
from winokit.stages.grade.record import GradeScore, Statement, write_graded
from winokit.stages.grade.run import Grading, grade_submission
from winokit.stages.grade.table import lines
from winokit.stages.grade.units import GradedUnits
from winokit.stages.release.hidden import HiddenPart, hidden_folder, label_lines, read_hidden
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings

PAIRS = 60
COPIES = 3
STATEMENT = Statement("mine", "mc-sent", "train_xl", 10)
OUTCOMES = {"first": {4: 2, 11: 1, 17: 2, 23: 2, 30: 2}, "second": {4: 2, 5: 2, 6: 1, 7: 2, 8: 2, 9: 2, 40: 2}}
"""Number of wrong problems in each pair that an entry does not get right."""


def templated_pairs(templates: int, per_template: int) -> Dataset:
    """Pairs of twins with the label "template", `per_template` pairs for each."""
    problems = []
    for number in range(templates * per_template):
        template = f"template {number % templates}"
        problems += [problem.with_labels(template=template) for problem in small.twins(number)]
    return Dataset(problems, Card("templated"))


@dataclass(frozen=True)
class RepeatedTest:
    """A small release each pair of whose hidden test is written `copies` times."""

    folder: Path
    copies: int

    @property
    def entries(self) -> Path:
        return self.folder.with_name(f"graded-{self.copies}")

    def write_submission(self, name: str) -> Path:
        """Write the same answers to every copy of each pair."""
        wrong_rows = set()
        for pair, wrong_count in OUTCOMES.get(name, {}).items():
            for copy in range(self.copies):
                first_row = 2 * (pair * self.copies + copy)
                wrong_rows |= set(range(first_row, first_row + wrong_count))
        path = self.folder.with_name(f"{name}-{self.copies}.lst")
        write_labels(self.folder, path, wrong_rows)
        return path

    def grade(self, name: str, trials: int) -> Grading:
        """Grade the submission of this name, which has no errors if OUTCOMES has none."""
        path = self.write_submission(name)
        return grade_submission(self.folder, [path], Statement(name, "mc-sent", "none", trials))


def write_labels(folder: Path, path: Path, wrong_rows: set[int]) -> None:
    labels = small.labels_with(small.answers(folder), wrong_rows)
    path.write_text("\n".join(labels))


def repeat_test(tmp_path: Path, copies: int) -> RepeatedTest:
    """A release with entries for all outcomes."""
    repeated = RepeatedTest(small.small_release(tmp_path / f"v{copies}", tests=PAIRS, copies=copies), copies)
    for name in OUTCOMES:
        write_graded(repeated.grade(name, trials=10).public, repeated.entries / f"{name}.json")
    return repeated


@pytest.fixture
def once(tmp_path) -> RepeatedTest:
    return repeat_test(tmp_path, 1)


@pytest.fixture
def thrice(tmp_path) -> RepeatedTest:
    return repeat_test(tmp_path, COPIES)


def width_of(interval: GradeScore | LeadTest) -> float:
    return interval.high - interval.low


def test_a_test_written_three_times_gives_no_surer_score(once, thrice):
    single = grade_submission(once.folder, [once.write_submission("first")], STATEMENT).owner
    triple = grade_submission(thrice.folder, [thrice.write_submission("first")], STATEMENT).owner
    for score, triple_score in zip(single.scores, triple.scores, strict=True):
        assert (triple_score.metric, triple_score.value) == (score.metric, score.value)
        assert triple_score.n == COPIES * score.n
        assert width_of(triple_score) >= width_of(score) - 0.002
        assert triple_score.luck_corrected <= score.luck_corrected + 0.002
    assert triple.p_luck >= single.p_luck
    assert triple.rules == single.rules


def test_what_a_submitter_sees_of_it_is_no_surer_either(once, thrice):
    (score,) = once.grade("perfect", trials=1).public.scores
    (triple_score,) = thrice.grade("perfect", trials=1).public.scores
    assert triple_score.value == score.value
    assert width_of(triple_score) == width_of(score)


@pytest.mark.parametrize("field", ["ahead", "group_ahead"])
def test_two_entries_on_it_are_not_distinguished_any_better(once, thrice, field):
    first, _ = leaderboard(once.folder, once.entries, owner=True).places
    triple_first, _ = leaderboard(thrice.folder, thrice.entries, owner=True).places
    lead = getattr(first, field)
    triple_lead = getattr(triple_first, field)
    assert triple_lead.difference == lead.difference
    assert triple_lead.told_apart <= lead.told_apart
    assert triple_lead.p_corrected >= lead.p_corrected
    assert width_of(triple_lead) >= width_of(lead) - 0.002


def winogender_like() -> HiddenPart:
    """Sixty templates with six pairs each, as Winogender has them."""
    pairs = [row // 2 for row in range(720)]
    groups = tuple(f"g{pair}" for pair in pairs)
    units = tuple(pair // 6 for pair in pairs)
    return HiddenPart(Path(), {}, groups, (0,) * 720, groups, units)


def draw_outcome(rng: np.random.Generator, template_of: np.ndarray) -> np.ndarray:
    """Right or wrong for each problem: nearly as the template it is from, of which 60 % are solved."""
    solves_template = rng.random(60) < 0.6
    is_exception = rng.random(len(template_of)) < 0.1
    return (solves_template[template_of] ^ is_exception).astype(float)


def test_equal_submissions_on_sixty_templates_are_distinguished_in_one_case_of_twenty():
    """By groups, 360 of them, it was one in three to five: answers to one template go together."""
    labels = winogender_like()
    template_of = np.array(labels.units)
    units = GradedUnits.of_labels(labels).of_problems
    groups = GradedUnits.of_labels(replace(labels, units=None)).of_problems
    rng = np.random.default_rng(0)
    significant_by_units = 0
    significant_by_groups = 0
    for _ in range(400):
        first = draw_outcome(rng, template_of)
        second = draw_outcome(rng, template_of)
        significant_by_units += lead_of(first, second, units).p < 0.05
        significant_by_groups += lead_of(first, second, groups).p < 0.05
    assert significant_by_units / 400 <= 0.08
    assert significant_by_groups / 400 >= 0.2


def test_a_release_stores_which_problems_come_from_one_template(tmp_path):
    data = templated_pairs(templates=12, per_template=4)
    release = write_release(data, tmp_path / "v1", settings=ReleaseSettings(name="t", test=24, dev=8))
    labels = read_hidden(release.folder)
    template_of = {problem.id: problem.labels["template"] for problem in data}
    templates = [template_of[name] for name in labels.ids]
    template_count = len(set(templates))
    templates_with_units = set(zip(templates, labels.units, strict=True))
    assert template_count < len(set(labels.groups))
    assert len(templates_with_units) == template_count
    assert set(labels.units) == set(range(template_count))


def test_a_next_version_knows_the_templates_that_its_public_rows_do_not_name(tmp_path):
    data = templated_pairs(templates=12, per_template=4)
    settings = ReleaseSettings(name="t", test=24, dev=8)
    first = write_release(data, tmp_path / "v1", settings=settings, extras=ReleaseExtras(secret=bytes(32)))
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=24)
    first_labels = read_hidden(first.folder)
    labels = read_hidden(second.folder)
    assert len(labels) > 10
    first_unit_of = dict(zip(first_labels.ids, first_labels.units, strict=True))
    first_units = [first_unit_of[name] for name in labels.ids]
    matching_units = set(zip(first_units, labels.units, strict=True))
    assert len(matching_units) == len(set(first_units)) == len(set(labels.units))
    assert len(matching_units) < len(set(labels.groups))


def grade_perfect_labels(folder: Path) -> Grading:
    path = folder.with_name("p.lst")
    write_labels(folder, path, set())
    return grade_submission(folder, [path], STATEMENT)


def test_a_release_without_units_is_graded_by_group_and_says_so(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=PAIRS, units=False)
    grading = grade_perfect_labels(folder)
    log_row = json.loads((hidden_folder(folder) / "log.jsonl").read_text())
    assert any("count groups, not units" in note for note in grading.public.notes)
    assert grading.public.release["test"] == {"problems": 120, "groups": 60, "units": None}
    assert log_row["units"] is None
    assert next(lines(grading)) == "small 1.0: 120 test problems, 60 groups"


def test_the_board_of_a_release_without_units_says_so(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=PAIRS, units=False)
    entry = tmp_path / "graded" / "p.json"
    page = tmp_path / "board.html"
    write_graded(grade_perfect_labels(folder).public, entry)
    board = leaderboard(folder, entry.parent)
    write_board(board, page)
    assert any("count groups, not units" in note for note in board.notes)
    assert "Intervals and tests count groups, not units" in page.read_text()


def test_a_release_with_units_says_how_many_there_are(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=PAIRS, copies=COPIES)
    grading = grade_perfect_labels(folder)
    log_row = json.loads((hidden_folder(folder) / "log.jsonl").read_text())
    assert next(lines(grading)) == "small 1.0: 360 test problems, 180 groups, 60 units"
    assert grading.public.notes == ("no area under the learning curve: one label per line",)
    assert log_row["units"] == 60


def test_guesses_of_large_units_reach_the_lowest_score_as_seldom_as_those_of_equal_ones():
    sizes = np.array([60] + [1] * 40)
    rng = np.random.default_rng(0)
    rules = rules_of(100, sizes)
    assert rules.lowest > rules_of(100, len(sizes)).lowest
    shown_count = 0
    for _ in range(400):
        guesses = rng.random((rules.budget, len(sizes))) < 0.5
        scores = guesses @ sizes / sizes.sum()
        shown_count += any(to_step(score, rules.steps, rng.random()) >= rules.lowest for score in scores)
    standard_error = (0.05 * 0.95 / 400) ** 0.5
    assert shown_count / 400 <= 0.05 + 3 * standard_error


@pytest.mark.parametrize("unit", [-1, "3", True, None, 1.5])
def test_a_unit_that_is_no_number_is_refused(unit):
    with pytest.raises(Malformed, match="field 'unit'"):
        label_lines([{"id": "a", "answer": 1, "group": None, "unit": unit}])


def test_units_of_some_problems_alone_are_refused(tmp_path):
    folder = small.small_release(tmp_path / "v1")
    path = hidden_folder(folder) / "labels.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    del rows[2]["unit"]
    small.write_lines(path, rows)
    with pytest.raises(Malformed, match=r"labels\.jsonl:3: field 'unit': missing"):
        read_hidden(folder)


def test_the_real_winogender_has_a_unit_for_each_template(tmp_path, real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    release = write_release(data, tmp_path / "v1", settings=ReleaseSettings(name="w", test=0.5))
    labels = read_hidden(release.folder)
    assert len(set(labels.units)) <= 60 < len(set(labels.groups))
