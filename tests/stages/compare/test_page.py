"""The page of several runs calls nothing better that is not so after correction."""

import pytest

from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.methods.metrics.compare import Comparison, compare
from winokit.stages.compare.page import ComparePage, write_comparison
from winokit.stages.compare.pairs import compare_runs, paired
from winokit.stages.compare.verdict import comparison_sentences
from winokit.units import Units

READER = "reader <1>"
GUESSER = "random"
PAIR_COUNT = 60
PROBLEM_COUNT = 2 * PAIR_COUNT
TWINS = Units.of_names(index // 2 for index in range(PROBLEM_COUNT))


def make_flags(right_count: int) -> list[bool]:
    """Whether each problem is right: the first ones are."""
    return [index < right_count for index in range(PROBLEM_COUNT)]


def compare_counts(first_count: int, second_count: int) -> Comparison:
    """Compare two scorers that have so many problems right."""
    return compare(make_flags(first_count), make_flags(second_count), TWINS)


def select_model(run: Run, model: str) -> Run:
    """The run with the rows of one model alone."""
    rows = [row for row in run.metrics if row.model == model]
    return Run({}, rows, [], run.dataset)


def list_columns(page: ComparePage) -> list[str]:
    return [column.name for column in page.columns]


@pytest.fixture
def runs(run) -> dict[str, Run]:
    return {"big & new": select_model(run, READER), "coin": select_model(run, GUESSER)}


@pytest.fixture
def comparisons():
    return {
        ("big & new", "coin", "accuracy"): compare_counts(96, 60),
        ("big & new", "coin", "group_accuracy"): compare_counts(62, 60),
    }


def test_a_difference_counts_only_after_correction(comparisons):
    clear, unclear = paired(comparisons)
    assert clear.ahead == "big & new"
    assert unclear.ahead is None
    assert clear.p_corrected >= clear.found.p


def test_many_tests_make_the_same_difference_less_certain():
    comparison = compare_counts(16, 0)
    one_test = {("a", "b", "accuracy"): comparison}
    many_tests = {("a", f"b{index}", "accuracy"): comparison for index in range(200)}
    assert paired(one_test)[0].ahead == "a"
    assert paired(many_tests)[0].ahead is None


def test_the_worse_first_run_is_not_called_ahead():
    (pair,) = paired({("a", "b", "accuracy"): compare_counts(60, 96)})
    assert pair.ahead == "b"


def test_points_are_told_of_the_one_that_has_more():
    """`b is ahead of a: a has −30.0 points of accuracy` reads as a score below zero."""
    pairs = paired({("a", "b", "accuracy"): compare_counts(60, 96)})
    (sentence,) = comparison_sentences(pairs)
    assert sentence.startswith("b is ahead of a. b has +30.0 points of accuracy [+")


def test_the_page_tells_who_is_ahead_and_who_is_not(runs, comparisons, tmp_path):
    path = write_comparison(runs, comparisons, tmp_path)
    html = path.read_text("utf-8")
    page = ComparePage(runs, comparisons)
    assert path == tmp_path / "index.html"
    sentence, correction = page.sentences
    assert correction == "p-values are corrected for 2 tests."
    assert sentence.startswith(
        "big & new is ahead of coin; on groups no difference is shown. big & new has +30.0 points of accuracy [+"
    )
    assert "big & new has +1.7 points of group accuracy [" in sentence
    assert sentence.endswith(" points would usually have been missed.")
    assert "big &amp; new is ahead" in html


def test_the_page_replaces_an_earlier_one(runs, comparisons, tmp_path):
    for _ in range(2):
        path = write_comparison(runs, comparisons, tmp_path)
    assert path.is_file()


@pytest.mark.parametrize(
    "text",
    ['<meta content="winokit 0.1.0"><title>open · a · winokit audit</title>', "my home page"],
    ids=["page of an audit", "home page"],
)
def test_the_page_replaces_no_page_of_somebody_else(runs, comparisons, tmp_path, text):
    path = tmp_path / "index.html"
    path.write_text(text)
    with pytest.raises(BadInput, match=r"index.html: is not part of a comparison, and would be overwritten"):
        write_comparison(runs, comparisons, tmp_path)
    assert path.read_text() == text


def test_the_page_says_of_each_test_what_is_shown_with_the_margin(runs, comparisons, tmp_path):
    html = write_comparison(runs, comparisons, tmp_path, margin=5).read_text("utf-8")
    assert "ahead, by more than the margin" in html
    assert "<td>not shown</td>" in html
    assert "points would usually have been missed, and" in html
    assert "equality within 5 points cannot be shown with 120 groups" in html
    assert "“more than the margin” of 5 points" in html


def test_every_value_of_every_run_is_on_the_page(runs, comparisons, tmp_path):
    html = write_comparison(runs, comparisons, tmp_path).read_text("utf-8")
    for run in runs.values():
        for row in run.metrics:
            if row.metric in ("accuracy", "group_accuracy", "consistency"):
                assert f'value="{row.value}"' in html


def test_every_value_of_every_comparison_is_on_the_page(runs, comparisons, tmp_path):
    html = write_comparison(runs, comparisons, tmp_path).read_text("utf-8")
    for comparison in comparisons.values():
        assert f'value="{comparison.difference}"' in html
        assert f'value="{comparison.p}"' in html
        assert f'<td class="num">{comparison.n_to_tell_apart:,}</td>' in html


def test_runs_of_several_scorers_have_a_column_each(run):
    page = ComparePage({"both": run, "coin": select_model(run, GUESSER)}, {})
    assert list_columns(page) == [f"both · {READER}", f"both · {GUESSER}", "coin"]


def test_the_scorers_of_one_run_go_by_their_own_names(run):
    page = ComparePage({"both": run}, {})
    names = set()
    for first, second, _ in compare_runs({"both": run}):
        names |= {first, second}
    assert list_columns(page) == [READER, GUESSER]
    assert names == {READER, GUESSER}


def test_different_problems_are_pointed_out(runs, tmp_path):
    coin = runs["coin"]
    runs["coin"] = Run({}, coin.metrics, [], coin.dataset[:10])
    html = write_comparison(runs, {}, tmp_path).read_text("utf-8")
    assert "not on the same problems" in html
