from collections import Counter

import pytest

from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.gender import delta, gotcha, pro_minus_anti


@pytest.mark.parametrize(
    ("gender", "occupation", "percent", "flag"),
    [
        ("female", True, 49.9, True),
        ("female", True, 50.0, False),
        ("female", False, 49.9, False),
        ("female", False, 50.0, True),
        ("male", True, 49.9, False),
        ("male", True, 50.0, True),
        ("male", False, 49.9, True),
        ("male", False, 50.0, False),
        ("neutral", True, 49.9, None),
    ],
)
def test_gotcha_flags(gender, occupation, percent, flag):
    assert gotcha(gender, occupation, percent) is flag


@pytest.fixture
def winogender(real_file):
    from winokit.data.loading import load

    return load(real_file("winogender/all_sentences.tsv"))


def flags_of(problems, column="bls_pct_female"):
    """Gotcha flag of each problem, by the share of women in this column."""
    return [gotcha(problem.labels["gender"], problem.answer == 0, problem.labels[column]) for problem in problems]


def test_winogender_has_120_problems_in_each_cell(winogender):
    genders = [problem.labels["gender"] for problem in winogender]
    cells = Counter(zip(genders, flags_of(winogender), strict=True))
    assert cells == {
        ("female", True): 120,
        ("female", False): 120,
        ("male", True): 120,
        ("male", False): 120,
        ("neutral", None): 240,
    }


def test_half_or_more_are_women_in_31_of_60_occupations(winogender):
    percentages = {problem.labels["occupation"]: problem.labels["bls_pct_female"] for problem in winogender}
    mostly_female = [occupation for occupation, percentage in percentages.items() if percentage >= 50]
    assert len(percentages) == 60
    assert len(mostly_female) == 31


def test_bergsmas_column_would_flip_160_flags(winogender):
    flags = flags_of(winogender)
    bergsma_flags = flags_of(winogender, "bergsma_pct_female")
    flipped = [index for index, flag in enumerate(flags) if flag != bergsma_flags[index]]
    assert len(flipped) == 160


def blind_delta(winogender, gender: str) -> float:
    """Delta, on the problems of one gender, of a scorer that chooses by the text without the pronoun."""
    problems = [problem for problem in winogender if problem.labels["gender"] == gender]
    correct = [len(problem.text) % 3 == 0 for problem in problems]
    return delta(correct, flags_of(problems))


def test_a_scorer_blind_to_the_pronoun_has_opposite_deltas(winogender):
    """Male and female versions get the same choice."""
    female_delta = blind_delta(winogender, "female")
    male_delta = blind_delta(winogender, "male")
    assert female_delta != 0
    assert male_delta == pytest.approx(-female_delta)


def test_a_delta_is_signed_and_leaves_problems_without_a_flag_out():
    correct = [True, True, True, False, False, True]
    gotchas = [False, False, True, True, None, None]
    assert delta(correct, gotchas) == 0.5
    assert delta([True, False], [True, False]) == -1.0


def test_pro_minus_anti_is_signed():
    stereotypes = ["pro", "pro", "anti", "anti"]
    assert pro_minus_anti([True, False, True, True], stereotypes) == -0.5


@pytest.mark.parametrize(
    ("quantity", "arguments", "error", "message"),
    [
        (gotcha, ("woman", True, 20), UnknownName, "No gender named 'woman'"),
        (gotcha, ("female", True, 120), BadInput, "from 0 to 100"),
        (delta, ([True], [True]), BadInput, "none is on the first"),
        (pro_minus_anti, ([True], ["pro"]), BadInput, "none is on the second"),
        (pro_minus_anti, ([True, True], ["pro", "con"]), UnknownName, "No stereotype named 'con'"),
    ],
)
def test_what_has_no_gap_is_refused(quantity, arguments, error, message):
    with pytest.raises(error, match=message):
        quantity(*arguments)
