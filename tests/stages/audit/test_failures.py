"""Failed pairs are shown with the words marked in which their twins differ, and with no others."""

from collections.abc import Sequence
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
    ann = Problem("Ann thanked Eve because ", " had got.", ("Ann", "Eve"), 0, group="b")
    return [*make_twins(cup, " is too small."), *make_twins(ann, " had given.")]


def make_twins(problem: Problem, after: str, answer: int = 1) -> tuple[Problem, Problem]:
    """The problem, and its twin that ends otherwise."""
    return (problem, problem.replace(after=after, answer=answer))


def make_run(problems: Sequence[Problem], **choices: tuple[int | None, ...]) -> Run:
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
    assert ann.right == "Ann"
    assert eve.right == "Eve"
    assert ann.choices == (("one", "Ann", True), ("two", "Eve", False), ("three", "Ann", True))
    assert eve.choices == (("one", "Ann", False), ("two", "Eve", True), ("three", "Eve", True))


def test_a_word_that_only_one_twin_has_is_marked_there_alone():
    problem = Problem("Ann met Eve before ", " said that she was big.", ("Ann", "Eve"), 0, group="a")
    twins = make_twins(problem, " said that she was not big.")
    shorter, longer = find_first_texts(make_run(twins, m=(0, 0)))
    assert list_marked_parts(shorter) == []
    assert list_marked_parts(longer) == [" not"]


def test_the_pair_shown_has_the_spaces_of_its_text():
    problem = Problem("Ann told Eve that ", ", a one, left.", ("Ann", "Eve"), 0, "she", group="b")
    twins = make_twins(problem, ", no one, left.", answer=0)
    text, _ = find_first_texts(make_run(twins, one=(1, 1)))
    start = (problem.before, False)
    assert text.parts == (start, (None, False), (",", False), (" a", True), (" one, left.", False))
    assert text.language == problem.language


def test_the_pair_shown_has_no_spaces_in_japanese():
    problem = Problem("猫は犬を追った。", "が速かった。", ("猫", "犬"), 0, group="a", language="ja")
    twins = make_twins(problem, "が遅かった。")
    text, _ = find_first_texts(make_run(twins, one=(1, 0)))
    start = (problem.before, False)
    assert text.parts == (start, (None, False), ("が", False), ("速", True), ("かった。", False))
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
