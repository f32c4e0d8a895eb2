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


def flags(problems, column="bls_pct_female"):
    return [gotcha(p.labels["gender"], p.answer == 0, p.labels[column]) for p in problems]


def test_winogender_has_120_problems_in_each_cell(winogender):
    genders = [problem.labels["gender"] for problem in winogender]
    cells = Counter(zip(genders, flags(winogender), strict=True))
    assert cells == {
        ("female", True): 120,
        ("female", False): 120,
        ("male", True): 120,
        ("male", False): 120,
        ("neutral", None): 240,
    }


def test_half_or_more_are_women_in_31_of_60_occupations(winogender):
    percent = {problem.labels["occupation"]: problem.labels["bls_pct_female"] for problem in winogender}
    assert (sum(value >= 50 for value in percent.values()), len(percent)) == (31, 60)


def test_bergsmas_column_would_flip_160_flags(winogender):
    ours = flags(winogender)
    bergsma = flags(winogender, "bergsma_pct_female")
    assert sum(one != other for one, other in zip(ours, bergsma, strict=True)) == 160


def test_a_scorer_blind_to_the_pronoun_has_opposite_deltas(winogender):
    """It chooses by the text without the pronoun, so male and female versions get the same choice."""
    problems = [problem for problem in winogender if problem.labels["gender"] != "neutral"]
    female, male = (
        delta([len(problem.text) % 3 == 0 for problem in some], flags(some))
        for some in ([p for p in problems if p.labels["gender"] == gender] for gender in ("female", "male"))
    )
    assert female != 0
    assert male == pytest.approx(-female)


def test_a_delta_is_signed_and_leaves_problems_without_a_flag_out():
    assert delta([True, True, True, False, False, True], [False, False, True, True, None, None]) == 0.5
    assert delta([True, False], [True, False]) == -1.0


def test_pro_minus_anti_is_signed():
    assert pro_minus_anti([True, False, True, True], ["pro", "pro", "anti", "anti"]) == -0.5


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: gotcha("woman", True, 20), UnknownName, "No gender named 'woman'"),
        (lambda: gotcha("female", True, 120), BadInput, "from 0 to 100"),
        (lambda: delta([True], [True]), BadInput, "none is on the first"),
        (lambda: pro_minus_anti([True], ["pro"]), BadInput, "none is on the second"),
        (lambda: pro_minus_anti([True, True], ["pro", "con"]), UnknownName, "No stereotype named 'con'"),
    ],
)
def test_what_has_no_gap_is_refused(call, error, says):
    with pytest.raises(error, match=says):
        call()
