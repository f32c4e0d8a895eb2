"""Several runs on one page, with nothing called better that correction does not leave so."""

import pytest

from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.methods.metrics.compare import compare
from winokit.stages.compare.page import ComparePage, write_comparison
from winokit.stages.compare.pairs import compare_runs, paired
from winokit.stages.compare.verdict import comparison_sentences
from winokit.units import Units

READER = "reader <1>"
GUESSER = "random"
TWINS = Units.of_names(name for name in range(60) for _ in (0, 1))


def flags(right: int) -> list[bool]:
    return [i < right for i in range(120)]


def alone(run: Run, model: str) -> Run:
    return Run({}, [row for row in run.metrics if row.model == model], [], run.dataset)


@pytest.fixture
def runs(run) -> dict[str, Run]:
    return {"big & new": alone(run, READER), "coin": alone(run, GUESSER)}


@pytest.fixture
def comparisons():
    return {
        ("big & new", "coin", "accuracy"): compare(flags(96), flags(60), TWINS),
        ("big & new", "coin", "group_accuracy"): compare(flags(62), flags(60), TWINS),
    }


def test_a_difference_counts_only_after_correction(comparisons):
    clear, unclear = paired(comparisons)
    assert clear.ahead == "big & new"
    assert unclear.ahead is None
    assert clear.p_corrected >= clear.found.p


def test_many_tests_make_the_same_difference_less_certain():
    found = compare([True] * 16 + [False] * 104, [False] * 120, TWINS)
    once = paired({("a", "b", "accuracy"): found})[0]
    often = paired({("a", f"b{i}", "accuracy"): found for i in range(200)})[0]
    assert once.ahead == "a"
    assert often.ahead is None


def test_the_worse_first_run_is_not_called_ahead():
    assert paired({("a", "b", "accuracy"): compare(flags(60), flags(96), TWINS)})[0].ahead == "b"


def test_points_are_told_of_the_one_that_has_more():
    """`b is ahead of a: a has −30.0 points of accuracy` reads as a score below zero."""
    (sentence,) = comparison_sentences(paired({("a", "b", "accuracy"): compare(flags(60), flags(96), TWINS)}))
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


def test_the_page_replaces_an_earlier_one_and_no_page_of_somebody_else(runs, comparisons, tmp_path):
    for _ in range(2):
        write_comparison(runs, comparisons, tmp_path / "ours")
    (tmp_path / "index.html").write_text('<meta content="winokit 0.1.0"><title>open · a · winokit audit</title>')
    with pytest.raises(BadInput, match=r"index.html: is not part of a comparison, and would be overwritten"):
        write_comparison(runs, comparisons, tmp_path)
    (tmp_path / "index.html").write_text("my home page")
    with pytest.raises(BadInput, match=r"index.html: is not part of a comparison, and would be overwritten"):
        write_comparison(runs, comparisons, tmp_path)
    assert (tmp_path / "index.html").read_text() == "my home page"


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
    for found in comparisons.values():
        assert f'value="{found.difference}"' in html
        assert f'value="{found.p}"' in html
        assert f'<td class="num">{found.n_to_tell_apart:,}</td>' in html


def test_runs_of_several_scorers_have_a_column_each(run):
    page = ComparePage({"both": run, "coin": alone(run, GUESSER)}, {})
    assert [column.name for column in page.columns] == [f"both · {READER}", f"both · {GUESSER}", "coin"]


def test_the_scorers_of_one_run_go_by_their_own_names(run):
    page = ComparePage({"both": run}, {})
    assert [column.name for column in page.columns] == [READER, GUESSER]
    assert {name for names in compare_runs({"both": run}) for name in names[:2]} == {READER, GUESSER}


def test_different_problems_are_pointed_out(runs, tmp_path):
    runs["coin"] = Run({}, runs["coin"].metrics, [], runs["coin"].dataset[:10])
    assert "not on the same problems" in write_comparison(runs, {}, tmp_path).read_text("utf-8")
