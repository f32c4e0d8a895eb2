"""What hangs together in a hidden test counts once: a test written three times over makes nothing surer."""

import json
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
from winokit.stages.grade.leaderboard import leaderboard, write_board
from winokit.stages.grade.record import Statement, write_graded
from winokit.stages.grade.run import grade_submission
from winokit.stages.grade.table import lines
from winokit.stages.grade.units import GradedUnits
from winokit.stages.release.hidden import HiddenPart, hidden_folder, label_lines, read_hidden
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseExtras, ReleaseSettings

PAIRS = 60
COPIES = 3
SAID = Statement("mine", "mc-sent", "train_xl", 10)
OUTCOMES = {"first": {4: 2, 11: 1, 17: 2, 23: 2, 30: 2}, "second": {4: 2, 5: 2, 6: 1, 7: 2, 8: 2, 9: 2, 40: 2}}
"""For each entry the pairs that it has wrong: both problems, or one."""


def templated(templates: int, per_template: int) -> Dataset:
    """Pairs of twins, so many of each template as its label says."""
    pairs = [small.twins(number) for number in range(templates * per_template)]
    return Dataset(
        [
            problem.with_labels(template=f"template {number % templates}")
            for number, members in enumerate(pairs)
            for problem in members
        ],
        Card("templated"),
    )


def enter(folder: Path, name: str, copies: int) -> Path:
    """Grade the same answers to every copy of each pair, under a name, and return the entry's file."""
    right = small.answers(folder)
    wrong = set()
    for pair, problems in OUTCOMES[name].items():
        for copy in range(copies):
            first = 2 * (pair * copies + copy)
            wrong |= set(range(first, first + problems))
    path = folder.with_name(f"{name}-{copies}.lst")
    path.write_text("\n".join(small.labels_with(right, wrong)))
    entry = folder.with_name(f"graded-{copies}") / f"{name}.json"
    write_graded(grade_submission(folder, [path], Statement(name, "mc-sent", "none", 10)).public, entry)
    return path


@pytest.fixture
def written_once_and_thrice(tmp_path):
    folders = [small.small_release(tmp_path / f"v{copies}", tests=PAIRS, copies=copies) for copies in (1, COPIES)]
    files = [
        [enter(folder, name, copies) for name in OUTCOMES] for folder, copies in zip(folders, (1, COPIES), strict=True)
    ]
    return folders, files


def test_a_test_written_three_times_gives_no_surer_score(written_once_and_thrice):
    folders, files = written_once_and_thrice
    once, thrice = (grade_submission(folder, [own[0]], SAID) for folder, own in zip(folders, files, strict=True))
    for one, other in zip(once.owner.scores, thrice.owner.scores, strict=True):
        assert (one.metric, one.value) == (other.metric, other.value)
        assert other.n == COPIES * one.n
        assert other.high - other.low >= one.high - one.low - 0.002
        assert other.luck_corrected <= one.luck_corrected + 0.002
    assert thrice.owner.p_luck >= once.owner.p_luck
    assert thrice.owner.rules == once.owner.rules


def test_what_a_submitter_sees_of_it_is_no_surer_either(written_once_and_thrice):
    folders, _ = written_once_and_thrice
    widths = []
    for folder, copies in zip(folders, (1, COPIES), strict=True):
        path = folder.with_name(f"perfect-{copies}.lst")
        path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
        (score,) = grade_submission(folder, [path], Statement("perfect", "mc-sent", "none", 1)).public.scores
        widths.append((score.high - score.low, score.value))
    assert widths[0] == widths[1]


def test_two_entries_on_it_are_not_distinguished_any_better(written_once_and_thrice):
    folders, _ = written_once_and_thrice
    first, second = (
        leaderboard(folder, folder.with_name(f"graded-{copies}"), owner=True).places[0]
        for folder, copies in zip(folders, (1, COPIES), strict=True)
    )
    for one, other in ((first.ahead, second.ahead), (first.group_ahead, second.group_ahead)):
        assert one.difference == other.difference
        assert other.told_apart <= one.told_apart
        assert other.p_corrected >= one.p_corrected
        assert other.high - other.low >= one.high - one.low - 0.002


def winogender_like() -> HiddenPart:
    """Sixty templates with six pairs each, as Winogender has them."""
    groups = tuple(f"g{pair}" for pair in range(360) for _ in range(2))
    units = tuple(pair // 6 for pair in range(360) for _ in range(2))
    return HiddenPart(Path(), {}, groups, (0,) * 720, groups, units)


def test_equal_submissions_on_sixty_templates_are_distinguished_in_one_case_of_twenty():
    """By groups, 360 of them, it was one in three to five: answers to one template go together."""
    labels = winogender_like()
    rng = np.random.default_rng(0)
    found = {"units": 0, "groups": 0}
    units = GradedUnits.of_labels(labels)
    groups = GradedUnits.of_labels(HiddenPart(Path(), {}, labels.ids, labels.answers, labels.groups))
    for _ in range(400):
        # Each is as good as the other; what one knows of a template holds for nearly all of its problems.
        entries = []
        for _ in range(2):
            known = rng.random(60)[units.of_problems.numbers] < 0.6
            entries.append((known ^ (rng.random(720) < 0.1)).astype(float))
        found["units"] += lead_of(*entries, units.of_problems).p < 0.05
        found["groups"] += lead_of(*entries, groups.of_problems).p < 0.05
    assert found["units"] / 400 <= 0.08
    assert found["groups"] / 400 >= 0.2


def test_a_release_stores_which_problems_come_from_one_template(tmp_path):
    data = templated(templates=12, per_template=4)
    made = write_release(data, tmp_path / "v1", settings=ReleaseSettings(name="t", test=24, dev=8))
    labels = read_hidden(made.folder)
    template_of = {problem.id: problem.labels["template"] for problem in data}
    templates = [template_of[name] for name in labels.ids]
    assert len(set(templates)) < len(set(labels.groups))
    assert len(set(zip(templates, labels.units, strict=True))) == len(set(templates)) == len(set(labels.units))
    assert min(labels.units) == 0
    assert max(labels.units) == len(set(labels.units)) - 1


def test_a_next_version_knows_the_templates_that_its_public_rows_do_not_name(tmp_path):
    data = templated(templates=12, per_template=4)
    settings = {"name": "t", "test": 24, "dev": 8}
    first = write_release(
        data, tmp_path / "v1", settings=ReleaseSettings(**settings), extras=ReleaseExtras(secret=bytes(32))
    )
    second = evolve(first.folder, out=tmp_path / "v2", model=["random"], version="2.0", test=24)
    before = read_hidden(first.folder)
    now = read_hidden(second.folder)
    assert len(now) > 10
    unit_before = dict(zip(before.ids, before.units, strict=True))
    pairs = {(unit_before[name], unit) for name, unit in zip(now.ids, now.units, strict=True)}
    assert len(pairs) == len({unit for unit, _ in pairs}) == len({unit for _, unit in pairs})
    assert len(pairs) < len(set(now.groups))


def test_a_release_without_units_is_graded_by_group_and_says_so(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=PAIRS, units=False)
    path = tmp_path / "p.lst"
    entry = tmp_path / "graded" / "p.json"
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    grading = grade_submission(folder, [path], SAID)
    assert any("count groups, not units" in note for note in grading.public.notes)
    assert grading.public.release["test"] == {"problems": 120, "groups": 60, "units": None}
    assert json.loads((hidden_folder(folder) / "log.jsonl").read_text())["units"] is None
    assert next(lines(grading)) == "small 1.0: 120 test problems, 60 groups"
    write_graded(grading.public, entry)
    board = leaderboard(folder, entry.parent)
    assert any("count groups, not units" in note for note in board.notes)
    write_board(board, tmp_path / "board.html")
    assert "Intervals and tests count groups, not units" in (tmp_path / "board.html").read_text()


def test_a_release_with_units_says_how_many_there_are(tmp_path):
    folder = small.small_release(tmp_path / "v1", tests=PAIRS, copies=COPIES)
    path = tmp_path / "p.lst"
    path.write_text("\n".join(small.labels_with(small.answers(folder), set())))
    grading = grade_submission(folder, [path], SAID)
    assert next(lines(grading)) == "small 1.0: 360 test problems, 180 groups, 60 units"
    assert grading.public.notes == ("no area under the learning curve: one label per line",)
    assert json.loads((hidden_folder(folder) / "log.jsonl").read_text())["units"] == 60


def test_guesses_of_large_units_reach_the_lowest_score_as_seldom_as_those_of_equal_ones():
    sizes = np.array([60] + [1] * 40)
    rng = np.random.default_rng(0)
    rules = rules_of(100, sizes)
    assert rules.lowest > rules_of(100, len(sizes)).lowest
    shown = 0
    for _ in range(400):
        guesses = rng.random((rules.budget, len(sizes))) < 0.5
        scores = guesses @ sizes / sizes.sum()
        shown += any(to_step(score, rules.steps, rng.random()) >= rules.lowest for score in scores)
    assert shown / 400 <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


@pytest.mark.parametrize("unit", [-1, "3", True, None, 1.5])
def test_a_unit_that_is_no_number_is_refused(unit):
    with pytest.raises(Malformed, match="field 'unit'"):
        label_lines([{"id": "a", "answer": 1, "group": None, "unit": unit}])


def test_units_of_some_problems_alone_are_refused(tmp_path):
    folder = small.small_release(tmp_path / "v1")
    path = hidden_folder(folder) / "labels.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    del rows[2]["unit"]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with pytest.raises(Malformed, match=r"labels\.jsonl:3: field 'unit': missing"):
        read_hidden(folder)


def test_the_real_winogender_has_a_unit_for_each_template(tmp_path, real_file):
    data = load(real_file("winogender/all_sentences.tsv"))
    made = write_release(data, tmp_path / "v1", settings=ReleaseSettings(name="w", test=0.5), extras=ReleaseExtras())
    labels = read_hidden(made.folder)
    assert len(set(labels.units)) <= 60 < len(set(labels.groups))
