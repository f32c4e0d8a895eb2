import pytest
from support.copies import repeated, thrice

from winokit.data.loading import load
from winokit.methods.metrics.corrections import holm
from winokit.stages.suite.matrix import SuiteMatrix, _format_cell
from winokit.stages.suite.run import suite
from winokit.stages.suite.settings import SuiteModel

from .conftest import QUICK


@pytest.fixture(scope="module")
def matrix(open_data):
    """Two that know nearly all, two that know some, and two that guess, on two datasets."""
    from .conftest import Skilled

    synthetic = load("synthetic-60")
    both = [*open_data, *synthetic]
    skills = {"best": 0.95, "as good": 0.94, "middling": 0.45, "as middling": 0.46, "guessing": 0.0, "too": 0.0}
    models = [Skilled(name, skill, both, seed) for seed, (name, skill) in enumerate(skills.items())]
    return SuiteMatrix(suite(model=models, data=[open_data, synthetic], protocol=QUICK, cache="off"))


def test_models_of_one_skill_share_a_letter_and_others_do_not(matrix):
    letters = {name: matrix.views["accuracy"][name, "open"].letters for name in ("best", "middling", "guessing")}
    assert letters == {"best": "a", "middling": "b", "guessing": "c"}
    for one, other in (("best", "as good"), ("middling", "as middling"), ("guessing", "too")):
        assert matrix.views["accuracy"][other, "open"].letters == letters[one]


def test_a_ranking_has_its_bands_from_the_best_to_the_worst(matrix):
    ranking = matrix.rankings["accuracy"][0]
    values = [one.row.value for one in ranking.standings]
    assert values == sorted(values, reverse=True)
    assert [sorted(band) for band in ranking.bands] == [[0, 1], [2, 3], [4, 5]]
    assert not any(one.alone for one in ranking.standings), "the best cannot be distinguished from its equal"


def test_tests_are_corrected_over_the_whole_matrix(matrix):
    assert len(matrix.pairs) == 15 * 2 * 2  # every two of six, on two datasets, on problems and on groups
    assert [pair.p_corrected for _, pair in matrix.pairs] == holm([pair.found.p for _, pair in matrix.pairs])


def test_a_guesser_is_not_above_chance_and_who_knows_is(matrix):
    view = matrix.views["group_accuracy"]
    assert view["best", "open"].stands == "above"
    assert view["guessing", "open"].stands == "at"
    assert view["guessing", "open"].row.chance == 0.25


def test_chance_is_corrected_over_the_cells_of_a_view(matrix):
    view = matrix.views["accuracy"]
    assert [one.p for one in view.values()] == holm([one.row.details["p"] for one in view.values()])


def test_a_view_without_rows_is_left_out(matrix):
    assert list(matrix.views) == ["accuracy", "group_accuracy"]


def test_who_is_told_from_all_others_stands_alone(open_data, skilled):
    models = [skilled("best", 1.0), skilled("other", 0.2, 1), skilled("third", 0.2, 2)]
    made = SuiteMatrix(suite(model=models, data=[open_data], protocol=QUICK, cache="off"))
    assert [one.alone for one in made.rankings["accuracy"][0].standings] == [True, False, False]


def predicted(tmp_path, data, name, picks):
    """A model of stored predictions: what it picks of each problem, None for silence, or nothing at all of it."""
    rows = [f"{problem.id},{'' if pick is None else pick}" for problem, pick in zip(data, picks, strict=True)]
    (tmp_path / f"{name}.csv").write_text("\n".join(["id,prediction", *(row for row in rows if row[-2:] != ",-")]))
    return SuiteModel(name=name, predictions={data.card.name: tmp_path / f"{name}.csv"})


def test_the_ranking_and_bold_go_by_the_values_that_cells_show(tmp_path, open_data):
    """Right on the quarter that it answers: 25 % in its cell, and behind one that always takes the first."""
    quiet = [problem.answer if place % 4 == 0 else None for place, problem in enumerate(open_data)]
    both = [
        predicted(tmp_path, open_data, "quiet", quiet),
        predicted(tmp_path, open_data, "first", [0] * len(open_data)),
    ]
    made = SuiteMatrix(suite(model=both, data=[open_data], protocol=QUICK, cache="off"))
    (ranking,) = made.rankings["accuracy"]
    assert [one.cell.entrant.name for one in ranking.standings] == ["first", "quiet"]
    assert [one.alone for one in ranking.standings] == [True, False]
    (_, pair), *_ = made.pairs
    shown = [one.row.value for one in ranking.standings]
    assert [pair.found.second, pair.found.first] == shown


def test_who_answers_nothing_is_last_and_never_bold(tmp_path, open_data):
    """Beside one that has every tenth group right: by expected accuracy silence was 0.5, bold and first."""
    bad = [problem.answer if place // 2 % 10 == 0 else 1 - problem.answer for place, problem in enumerate(open_data)]
    three = [
        predicted(tmp_path, open_data, "silent", [None] * len(open_data)),
        predicted(tmp_path, open_data, "bad", bad),
        predicted(tmp_path, open_data, "wrong", [1 - problem.answer for problem in open_data]),
    ]
    made = SuiteMatrix(suite(model=three, data=[open_data], protocol=QUICK, cache="off"))
    for measure, (ranking,) in made.rankings.items():
        names = [one.cell.entrant.name for one in ranking.standings]
        assert names == ["bad", "wrong", "silent"], measure
        assert [one.alone for one in ranking.standings] == [True, False, False], measure


def test_a_value_that_its_own_choices_would_get_is_not_above_chance(tmp_path, open_data):
    """Two of three right answers are first: who nearly always takes the first has two thirds right."""
    data = open_data.with_problems(
        problem.with_order((problem.answer, 1 - problem.answer)[:: 1 if place % 3 < 2 else -1]).replace(group=None)
        for place, problem in enumerate(open_data)
    )
    picks = [int(place % 20 == 0) for place in range(len(data))]
    nearly = predicted(tmp_path, data, "nearly", picks)
    made = SuiteMatrix(suite(model=[nearly], data=[data], protocol=QUICK, cache="off"))
    (standing,) = made.views["accuracy"].values()
    assert standing.row.value > 0.6
    assert standing.row.low > standing.row.chance, "a coin would be excluded"
    assert (standing.stands, abs(standing.above) < 0.05) == ("at", True)
    assert [span.style for span in _format_cell(standing.cell).spans] == ["dim"]


def test_a_cell_of_which_nothing_can_be_told_says_so(tmp_path, open_data):
    """The first is always right: no exchange of right answers changes anything."""
    data = open_data.with_problems(p.with_order((p.answer, 1 - p.answer)).replace(group=None) for p in open_data)
    model = predicted(tmp_path, data, "first", [0] * len(data))
    run = suite(model=[model], data=[data], protocol=QUICK, cache="off", out=tmp_path / "out")
    (standing,) = SuiteMatrix(run).views["accuracy"].values()
    assert (standing.stands, standing.p) == ("unknown", None)
    assert "nothing can be told" in (tmp_path / "out" / "index.html").read_text("utf-8")


def test_each_problem_written_three_times_makes_nothing_surer(tmp_path, open_data):
    """Copies in groups of their own, made from one template: no smaller p, and no letter less."""
    data = open_data[:80]
    flags = {
        "best": [place % 10 > 0 for place in range(80)],
        "good": [place % 5 > 0 for place in range(80)],
        "half": [place % 2 > 0 for place in range(80)],
    }

    def matrix_of(problems, flags):
        models = [
            predicted(
                tmp_path,
                problems,
                name,
                [p.answer if flag else 1 - p.answer for p, flag in zip(problems, own, strict=True)],
            )
            for name, own in flags.items()
        ]
        return SuiteMatrix(suite(model=models, data=[problems], protocol=QUICK, cache="off"))

    once = matrix_of(data, flags)
    copied = matrix_of(thrice(data), {name: repeated(own) for name, own in flags.items()})
    for (_, one), (_, three) in zip(once.pairs, copied.pairs, strict=True):
        assert (one.first, one.second, one.measure) == (three.first, three.second, three.measure)
        assert three.p_corrected >= one.p_corrected - 1e-9
        assert three.found.interval.low <= one.found.interval.low + 1e-9
        assert three.found.interval.high >= one.found.interval.high - 1e-9
    for name, view in once.views.items():
        for one, three in zip(view.values(), copied.views[name].values(), strict=True):
            assert set(one.letters) <= set(three.letters) or len(three.letters) >= len(one.letters)
            assert three.alone <= one.alone
            assert three.row.low <= one.row.low + 1e-9
            assert three.row.high >= one.row.high - 1e-9
            assert one.stands == three.stands or three.stands == "at"


def test_models_that_answered_other_problems_are_not_told_apart_and_spoil_nothing(tmp_path, open_data):
    halves = [
        [problem.answer if place % 4 // 2 == half else "-" for place, problem in enumerate(open_data)]
        for half in (0, 1)
    ]
    both = [predicted(tmp_path, open_data, f"half {half}", picks) for half, picks in enumerate(halves)]
    made = SuiteMatrix(suite(model=both, data=[open_data], protocol=QUICK, cache="off"))
    assert not made.pairs
    assert [one.letters for one in made.rankings["accuracy"][0].standings] == ["a", "a"]


def test_equal_models_are_told_apart_in_fewer_than_one_suite_in_twenty(open_data, skilled):
    """Fifteen suites of four equals: Holm keeps the share of suites with any letter too many at 5 %."""
    data = open_data[:40]
    wrong = 0
    for seed in range(15):
        models = [skilled(f"m{k}", 0.3, 100 * seed + k, data) for k in range(4)]
        made = SuiteMatrix(suite(model=models, data=[data], protocol=QUICK, cache="off"))
        wrong += any(pair.ahead is not None for _, pair in made.pairs)
    assert wrong <= 3  # at 5 % more than that would be one time in two hundred
