"""The matrix of a suite: letters, ranks and chance, corrected for how many are compared."""

import pytest
from support.copies import repeated, thrice

from winokit.data.loading import load
from winokit.methods.metrics.corrections import holm
from winokit.stages.suite.matrix import SuiteMatrix, _format_cell
from winokit.stages.suite.run import suite
from winokit.stages.suite.settings import SuiteModel

from .conftest import QUICK, Skilled

SKILLS = {"best": 0.95, "as good": 0.94, "middling": 0.45, "as middling": 0.46, "guessing": 0.0, "too": 0.0}


def run_matrix(models, datasets, **settings):
    """The matrix of a suite of the quick protocols."""
    result = suite(model=models, data=datasets, protocol=QUICK, cache="off", **settings)
    return SuiteMatrix(result)


@pytest.fixture(scope="module")
def matrix(open_data):
    """Matrix of two models that know nearly all, two that know some, and two that guess, on two datasets."""
    synthetic = load("synthetic-60")
    problems = [*open_data, *synthetic]
    models = []
    for seed, (name, skill) in enumerate(SKILLS.items()):
        models.append(Skilled(name, skill, problems, seed))
    return run_matrix(models, [open_data, synthetic])


@pytest.mark.parametrize(
    ("model", "equal", "letter"),
    [("best", "as good", "a"), ("middling", "as middling", "b"), ("guessing", "too", "c")],
)
def test_models_of_one_skill_share_a_letter_and_others_do_not(matrix, model, equal, letter):
    view = matrix.views["accuracy"]
    assert view[model, "open"].letters == letter
    assert view[equal, "open"].letters == letter


def test_a_ranking_has_its_bands_from_the_best_to_the_worst(matrix):
    ranking = matrix.rankings["accuracy"][0]
    values = [standing.row.value for standing in ranking.standings]
    bands = [sorted(band) for band in ranking.bands]
    assert values == sorted(values, reverse=True)
    assert bands == [[0, 1], [2, 3], [4, 5]]
    assert not any(standing.alone for standing in ranking.standings), "the best is not distinguished from its equal"


def test_tests_are_corrected_over_the_whole_matrix(matrix):
    p_values = [pair.found.p for _, pair in matrix.pairs]
    corrected = [pair.p_corrected for _, pair in matrix.pairs]
    assert len(p_values) == 15 * 2 * 2  # every two of six, on two datasets, on problems and on groups
    assert corrected == holm(p_values)


def test_a_guesser_is_not_above_chance_and_who_knows_is(matrix):
    view = matrix.views["group_accuracy"]
    assert view["best", "open"].stands == "above"
    assert view["guessing", "open"].stands == "at"
    assert view["guessing", "open"].row.chance == 0.25


def test_chance_is_corrected_over_the_cells_of_a_view(matrix):
    standings = matrix.views["accuracy"].values()
    p_values = [standing.row.details["p"] for standing in standings]
    assert [standing.p for standing in standings] == holm(p_values)


def test_a_view_without_rows_is_left_out(matrix):
    assert list(matrix.views) == ["accuracy", "group_accuracy"]


def alone_in(ranking):
    """Whether each standing of a ranking is distinguished from all others, from the best to the worst."""
    return [standing.alone for standing in ranking.standings]


def names_in(ranking):
    return [standing.cell.entrant.name for standing in ranking.standings]


def test_who_is_told_from_all_others_stands_alone(open_data, skilled):
    models = [skilled("best", 1.0), skilled("other", 0.2, 1), skilled("third", 0.2, 2)]
    matrix = run_matrix(models, [open_data])
    assert alone_in(matrix.rankings["accuracy"][0]) == [True, False, False]


SKIPPED = "-"
"""Stands for a problem that a model was not asked."""


def store_choices(tmp_path, data, name, choices):
    """Write predictions to a file, and return them as a model of a suite.

    A choice is an index, None for an abstention, or SKIPPED.
    """
    lines = ["id,prediction"]
    for problem, choice in zip(data, choices, strict=True):
        if choice is None:
            lines.append(f"{problem.id},")
        elif choice != SKIPPED:
            lines.append(f"{problem.id},{choice}")
    path = tmp_path / f"{name}.csv"
    path.write_text("\n".join(lines))
    return SuiteModel(name=name, predictions={data.card.name: path})


def choose_right(data, is_right):
    """Choices that are right where `is_right` is true."""
    choices = []
    for problem, right in zip(data, is_right, strict=True):
        choices.append(problem.answer if right else 1 - problem.answer)
    return choices


def test_the_ranking_and_bold_go_by_the_values_that_cells_show(tmp_path, open_data):
    """Right on the quarter that it answers: 25 % in its cell, and behind one that always takes the first."""
    quiet_choices = [None] * len(open_data)
    quiet_choices[::4] = [problem.answer for problem in open_data.problems[::4]]
    quiet = store_choices(tmp_path, open_data, "quiet", quiet_choices)
    first = store_choices(tmp_path, open_data, "first", [0] * len(open_data))
    matrix = run_matrix([quiet, first], [open_data])
    (ranking,) = matrix.rankings["accuracy"]
    assert names_in(ranking) == ["first", "quiet"]
    assert alone_in(ranking) == [True, False]
    _, pair = matrix.pairs[0]
    shown_values = [standing.row.value for standing in ranking.standings]
    assert [pair.found.second, pair.found.first] == shown_values


def test_who_answers_nothing_is_last_and_never_bold(tmp_path, open_data):
    """Beside one that has every tenth group right: by expected accuracy silence was 0.5, bold and first."""
    count = len(open_data)
    in_tenth_group = [index // 2 % 10 == 0 for index in range(count)]
    models = [
        store_choices(tmp_path, open_data, "silent", [None] * count),
        store_choices(tmp_path, open_data, "bad", choose_right(open_data, in_tenth_group)),
        store_choices(tmp_path, open_data, "wrong", choose_right(open_data, [False] * count)),
    ]
    matrix = run_matrix(models, [open_data])
    for measure, (ranking,) in matrix.rankings.items():
        assert names_in(ranking) == ["bad", "wrong", "silent"], measure
        assert alone_in(ranking) == [True, False, False], measure


def test_a_value_that_its_own_choices_would_get_is_not_above_chance(tmp_path, open_data):
    """Two of three right answers are first: who nearly always takes the first has two thirds right."""
    problems = []
    for index, problem in enumerate(open_data):
        right_first = (problem.answer, 1 - problem.answer)
        order = right_first if index % 3 < 2 else right_first[::-1]
        problems.append(problem.with_order(order).replace(group=None))
    data = open_data.with_problems(problems)
    choices = [int(index % 20 == 0) for index in range(len(data))]
    model = store_choices(tmp_path, data, "nearly", choices)
    (standing,) = run_matrix([model], [data]).views["accuracy"].values()
    styles = [span.style for span in _format_cell(standing.cell).spans]
    assert standing.row.value > 0.6
    assert standing.row.low > standing.row.chance, "a coin would be excluded"
    assert standing.stands == "at"
    assert abs(standing.above) < 0.05
    assert styles == ["dim"]


def test_a_cell_of_which_nothing_can_be_told_says_so(tmp_path, open_data):
    """The first is always right: no exchange of right answers changes anything."""
    problems = []
    for problem in open_data:
        right_first = (problem.answer, 1 - problem.answer)
        problems.append(problem.with_order(right_first).replace(group=None))
    data = open_data.with_problems(problems)
    model = store_choices(tmp_path, data, "first", [0] * len(data))
    out = tmp_path / "out"
    (standing,) = run_matrix([model], [data], out=out).views["accuracy"].values()
    page = (out / "index.html").read_text("utf-8")
    assert (standing.stands, standing.p) == ("unknown", None)
    assert "nothing can be told" in page


PATTERNS = {"best": 10, "good": 5, "half": 2}
"""Models that are wrong in every so many problems."""


@pytest.fixture(scope="module")
def once_and_copied(open_data, tmp_path_factory):
    """The matrix of eighty problems, and of three copies of each in groups of their own."""
    data = open_data[:80]
    copies = thrice(data)
    folder = tmp_path_factory.mktemp("once")
    folder_of_copies = tmp_path_factory.mktemp("copied")
    models = []
    models_of_copies = []
    for name, period in PATTERNS.items():
        is_right = [index % period > 0 for index in range(80)]
        choices = choose_right(data, is_right)
        models.append(store_choices(folder, data, name, choices))
        models_of_copies.append(store_choices(folder_of_copies, copies, name, repeated(choices)))
    return run_matrix(models, [data]), run_matrix(models_of_copies, [copies])


def test_each_problem_written_three_times_makes_no_test_surer(once_and_copied):
    """Copies are made from one template: no smaller p, and no narrower interval."""
    once, copied = once_and_copied
    for (_, pair), (_, copied_pair) in zip(once.pairs, copied.pairs, strict=True):
        interval = pair.found.interval
        copied_interval = copied_pair.found.interval
        models = (pair.first, pair.second, pair.measure)
        assert models == (copied_pair.first, copied_pair.second, copied_pair.measure)
        assert copied_pair.p_corrected >= pair.p_corrected - 1e-9
        assert copied_interval.low <= interval.low + 1e-9
        assert copied_interval.high >= interval.high - 1e-9


def test_each_problem_written_three_times_makes_no_standing_surer(once_and_copied):
    """Copies are made from one template: no letter less, no narrower interval, and no new claim about chance."""
    once, copied = once_and_copied
    for name, view in once.views.items():
        for standing, copied_standing in zip(view.values(), copied.views[name].values(), strict=True):
            letters = set(standing.letters)
            copied_letters = copied_standing.letters
            assert letters <= set(copied_letters) or len(copied_letters) >= len(standing.letters)
            assert copied_standing.alone <= standing.alone
            assert copied_standing.row.low <= standing.row.low + 1e-9
            assert copied_standing.row.high >= standing.row.high - 1e-9
            assert copied_standing.stands in (standing.stands, "at")


def test_models_that_answered_other_problems_are_not_told_apart_and_spoil_nothing(tmp_path, open_data):
    models = []
    for half in (0, 1):
        choices = [problem.answer for problem in open_data]
        for index in range(len(choices)):
            if index % 4 // 2 != half:
                choices[index] = SKIPPED
        models.append(store_choices(tmp_path, open_data, f"half {half}", choices))
    matrix = run_matrix(models, [open_data])
    letters = [standing.letters for standing in matrix.rankings["accuracy"][0].standings]
    assert not matrix.pairs
    assert letters == ["a", "a"]


def test_equal_models_are_told_apart_in_fewer_than_one_suite_in_twenty(open_data, skilled):
    """Fifteen suites of four equals: Holm keeps the share of suites with any letter too many at 5 %."""
    data = open_data[:40]
    wrong_count = 0
    for seed in range(15):
        models = [skilled(f"m{number}", 0.3, 100 * seed + number, data) for number in range(4)]
        matrix = run_matrix(models, [data])
        wrong_count += any(pair.ahead is not None for _, pair in matrix.pairs)
    assert wrong_count <= 3  # at 5 % more than that would be one time in two hundred
