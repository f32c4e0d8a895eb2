"""Failed pairs are shown with the words marked in which their twins differ, and with no others."""

from dataclasses import replace

import pytest

from winokit.data.runs import Run
from winokit.drawing.plots import scorers
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.stages.audit.failures import FailedTwin, find_failures


def make_cup_and_ann() -> list[Problem]:
    """Two pairs: of a cup and a box, and of Ann and Eve."""
    cup = Problem("The cup does not fit the box because ", " is too big.", ("the cup", "the box"), 0, group="a")
    box = cup.replace(after=" is too small.", answer=1)
    ann = Problem("Ann thanked Eve because ", " had got.", ("Ann", "Eve"), 0, group="b")
    eve = ann.replace(after=" had given.", answer=1)
    return [cup, box, ann, eve]


def make_run(problems: list[Problem], **choices: tuple[int | None, ...]) -> Run:
    """Make a run from the choices of each scorer, by its name."""
    rows = []
    for name, scorer_choices in choices.items():
        for problem, choice in zip(problems, scorer_choices, strict=True):
            rows.append(Prediction(problem.id, "original", name, "own", None, choice, problem.answer))
    return Run({}, [], rows, Dataset(problems))


def list_right_candidates(run: Run) -> list[list[str]]:
    """Right candidates of the texts of each failure."""
    candidates = []
    for failure in find_failures(run, scorers(run), 6):
        candidates.append([text.right for text in failure.texts])
    return candidates


def find_first_texts(run: Run) -> tuple[FailedTwin, ...]:
    (failure,) = find_failures(run, scorers(run), 1)
    return failure.texts


def list_marked_parts(text: FailedTwin) -> list[str | None]:
    return [part for part, is_marked in text.parts if is_marked]


@pytest.fixture
def run_of_three() -> Run:
    """Run of three scorers, of which more fail on Ann and Eve than on the cup."""
    return make_run(make_cup_and_ann(), one=(0, 0, 0, 0), two=(0, 1, 1, 1), three=(0, 1, 0, 1))


def test_the_pair_shown_is_the_one_that_most_fail_with_its_special_words_marked(run_of_three):
    ann, eve = find_first_texts(run_of_three)
    assert ann.parts == (("Ann thanked Eve because ", False), (None, False), (" had", False), (" got.", True))
    assert eve.parts[-1] == (" given.", True)


def test_the_pair_shown_has_its_right_candidates_and_all_choices(run_of_three):
    ann, eve = find_first_texts(run_of_three)
    assert (ann.right, eve.right) == ("Ann", "Eve")
    assert ann.choices == (("one", "Ann", True), ("two", "Eve", False), ("three", "Ann", True))
    assert eve.choices == (("one", "Ann", False), ("two", "Eve", True), ("three", "Eve", True))


def test_a_word_that_only_one_twin_has_is_marked_there_alone():
    shorter = Problem("Ann met Eve before ", " said that she was big.", ("Ann", "Eve"), 0, group="a")
    longer = shorter.replace(after=" said that she was not big.", answer=1)
    texts = find_first_texts(make_run([shorter, longer], m=(0, 0)))
    assert [list_marked_parts(text) for text in texts] == [[], [" not"]]


def test_the_pair_shown_has_the_spaces_of_its_text():
    before = "Ann told Eve that "
    first = Problem(before, ", a one, left.", ("Ann", "Eve"), 0, "she", group="b")
    second = first.replace(after=", no one, left.")
    text, _ = find_first_texts(make_run([first, second], one=(1, 1)))
    assert text.parts == ((before, False), (None, False), (",", False), (" a", True), (" one, left.", False))
    assert text.language == first.language


def test_the_pair_shown_has_no_spaces_in_japanese():
    before = "猫は犬を追った。"
    first = Problem(before, "が速かった。", ("猫", "犬"), 0, group="a", language="ja")
    second = first.replace(after="が遅かった。", answer=1)
    text, _ = find_first_texts(make_run([first, second], one=(1, 0)))
    assert text.parts == ((before, False), (None, False), ("が", False), ("速", True), ("かった。", False))
    assert text.language == "ja"


@pytest.mark.parametrize("choices", [(0, 1, 0, 1), (None, 0, 0, None)], ids=["nobody fails", "nobody answers in full"])
def test_no_pair_is_shown_that_nobody_fails_or_answers_in_full(choices):
    run = make_run(make_cup_and_ann(), one=choices)
    assert find_failures(run, scorers(run), 6) == []


def test_mistakes_that_are_surest_come_first_among_pairs_that_as_many_fail():
    run = make_run(make_cup_and_ann(), one=(0, 0, 0, 0))
    margins = (0.1, 0.2, 0.1, 0.9)
    predictions = []
    for row, margin in zip(run.predictions, margins, strict=True):
        predictions.append(replace(row, scores=(margin, 0.0)))
    run = replace(run, predictions=predictions)
    assert list_right_candidates(run) == [["Ann", "Eve"], ["the cup", "the box"]]


def test_of_problems_without_pairs_single_ones_are_shown_without_marks():
    singles = [problem.replace(group=None) for problem in make_cup_and_ann()]
    run = make_run(singles, one=(0, 0, 0, 1))
    assert list_right_candidates(run) == [["the box"]]
    (text,) = find_first_texts(run)
    assert list_marked_parts(text) == []
