"""Runs are compared on the problems that they share, under names that tell their scorers apart."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from support.copies import repeated, thrice

from winokit.data.loading import load
from winokit.data.runs import Run
from winokit.errors import BadInput, UnknownName
from winokit.methods.metrics.judge_pairs import WORDS
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.stages.compare.page import ComparePage
from winokit.stages.compare.pairs import compare_runs
from winokit.stages.compare.run import compare
from winokit.stages.compare.table import as_json, lines

OPEN = load("open")
IsRight = Callable[[int], bool]
"""Whether a scorer is right on the problem of this index."""


def always(index: int) -> bool:
    return True


def never(index: int) -> bool:
    return False


def on_two_of_three(index: int) -> bool:
    return index % 3 != 0


def on_three_of_four(index: int) -> bool:
    return index % 4 != 0


def on_second_twins(index: int) -> bool:
    return index % 2 == 1


def on_every_second_pair(index: int) -> bool:
    return index // 2 % 2 == 1


def on_all_but_first(count: int) -> IsRight:
    return lambda index: index >= count


def make_run(is_right: IsRight, dataset=OPEN, model="m") -> Run:
    """Make a run whose predictions are right where `is_right` says so."""
    rows = []
    for index, problem in enumerate(dataset):
        choice = problem.answer if is_right(index) else 1 - problem.answer
        rows.append(Prediction(problem.id, "original", model, "own", None, choice, problem.answer))
    return Run({}, [], rows, dataset)


def list_column_names(compared) -> list[str]:
    """Names of the scorers of all pairs, each once, in the order of the columns."""
    names = []
    for pair in compared.pairs:
        names += [pair.first, pair.second]
    return list(dict.fromkeys(names))


def list_sentences(compared) -> list[str]:
    return [line for line in lines(compared) if isinstance(line, str)]


def test_the_same_predictions_do_not_differ():
    comparisons = compare_runs({"a": make_run(on_two_of_three), "b": make_run(on_two_of_three)})
    results = []
    for (_, _, measure), comparison in comparisons.items():
        results.append((measure, comparison.difference, comparison.p))
    assert results == [("accuracy", 0.0, 1.0), ("group_accuracy", 0.0, 1.0)]


def test_group_accuracy_sees_what_accuracy_does_not():
    """Both get half right: one whole groups, the other one twin of each."""
    whole_pairs = make_run(on_every_second_pair)
    half_pairs = make_run(on_second_twins)
    comparisons = compare_runs({"whole": whole_pairs, "torn": half_pairs})
    accuracy = comparisons["whole", "torn", "accuracy"]
    group_accuracy = comparisons["whole", "torn", "group_accuracy"]
    assert accuracy.difference == 0.0
    assert group_accuracy.difference == pytest.approx(0.5)
    assert group_accuracy.p < 1e-6


def test_twins_are_one_group_of_the_test():
    """Ten pairs that one gets wrong and the other right: ten signs, and not twenty."""
    comparisons = compare_runs({"a": make_run(always), "b": make_run(on_all_but_first(20))})
    accuracy = comparisons["a", "b", "accuracy"]
    assert (accuracy.n, accuracy.unit_count) == (428, 214)
    assert 2 / 2**10 <= accuracy.p < 0.01


def test_what_hangs_together_by_its_text_is_one_group_of_the_test():
    """He, she and they in one text that a scorer reads alike: three problems, one sign."""
    candidates = ("the clerk", "the cook")
    problems = []
    for text in range(8):
        before = f"The clerk paid cook {text} because "
        for pronoun in ("he", "she", "they"):
            problems.append(Problem(before, " was kind.", candidates, 0, pronoun))
    texts = Dataset(problems)
    comparisons = compare_runs({"a": make_run(always, texts), "b": make_run(never, texts)})
    accuracy = comparisons["a", "b", "accuracy"]
    assert (accuracy.n, accuracy.unit_count) == (24, 8)
    assert accuracy.p >= 2 / 2**8


def test_the_order_of_candidates_in_a_run_does_not_matter():
    turned = OPEN.with_problems(problem.with_order((1, 0)) for problem in OPEN)
    comparisons = compare_runs({"a": make_run(always), "b": make_run(always, turned)})
    assert all(comparison.difference == 0.0 for comparison in comparisons.values())


def test_only_shared_problems_count():
    comparisons = compare_runs({"a": make_run(always), "b": make_run(never, OPEN[:100])})
    assert [comparison.n for comparison in comparisons.values()] == [100, 50]


def test_runs_that_share_nothing_are_refused():
    first = make_run(on_all_but_first(1), OPEN[:10])
    second = make_run(on_all_but_first(1), OPEN[10:20])
    with pytest.raises(BadInput, match="no problem in common"):
        compare({"a": first, "b": second})


def test_a_run_that_stands_alone_is_refused():
    with pytest.raises(BadInput, match="at least two scorers"):
        compare_runs({"a": make_run(on_all_but_first(1))})


def test_of_several_datasets_what_can_be_paired_is_and_what_cannot_is_named():
    runs = {
        "a on first": make_run(on_two_of_three, OPEN[:40]),
        "b on first": make_run(on_second_twins, OPEN[:40]),
        "a on second": make_run(on_two_of_three, OPEN[40:60]),
        "b on second": make_run(on_second_twins, OPEN[40:60]),
    }
    compared = compare(runs)
    pairs = {(pair.first, pair.second) for pair in compared.pairs}
    assert pairs == {("a on first", "b on first"), ("a on second", "b on second")}
    (note,) = compared.notes
    assert note == (
        "open, 40 of 428 and open, 20 of 428 have no problem in common: "
        "4 pairs of runs not compared, such as a on first and a on second"
    )


def test_one_dataset_has_nothing_to_note():
    compared = compare({"a": make_run(on_two_of_three), "b": make_run(on_second_twins)})
    assert compared.notes == ()


@pytest.fixture(scope="module")
def namesakes() -> dict[str, Run]:
    """Runs named like a scorer of another run has its column, one of them with a number too."""
    both = make_run(always, model="reader")
    both.predictions += make_run(on_second_twins, model="random").predictions
    every_fifth_wrong = make_run(lambda index: index % 5 != 0)
    return {"a": both, "a · random": make_run(on_two_of_three), "a · random (2)": every_fifth_wrong}


def test_two_scorers_never_share_a_column(namesakes):
    compared = compare(namesakes)
    expected_names = ["a · reader", "a · random", "a · random (3)", "a · random (2)"]
    page_columns = ComparePage(namesakes, {}).columns
    assert list_column_names(compared) == expected_names
    assert [column.name for column in page_columns] == expected_names
    assert compared.notes == (
        "a · random (3) is m of the run a · random; without the number it would be called like another column",
    )


def test_a_column_with_a_number_has_the_differences_of_its_own_run(namesakes):
    differences = {}
    for pair in compare(namesakes).pairs:
        if pair.measure == "accuracy":
            differences[pair.first, pair.second] = pair.found.difference
    assert differences["a · reader", "a · random"] == pytest.approx(0.5)
    assert differences["a · reader", "a · random (3)"] == pytest.approx(1 / 3, abs=0.01)


def test_a_folder_named_like_a_numbered_run_is_compared_too(tmp_path):
    folder = tmp_path / "run (3)"
    make_run(never).save(folder)
    compared = compare([make_run(always), folder, make_run(on_second_twins)])
    assert set(list_column_names(compared)) == {"m (run)", "m (run (2))", "m (run (3))"}


def test_a_folder_named_twice_is_one_run(tmp_path):
    folder = tmp_path / "run"
    make_run(on_all_but_first(1)).save(folder)
    with pytest.raises(BadInput, match="at least two scorers"):
        compare([folder, folder])


def test_the_table_never_says_that_p_is_zero(tmp_path):
    make_run(always).save(tmp_path / "right")
    make_run(never).save(tmp_path / "wrong")
    *_, table = lines(compare([tmp_path / "right", tmp_path / "wrong"]))
    p_values = [str(cell) for cell in table.columns[5].cells]
    assert p_values == ["< 0.001", "< 0.001"]


def test_of_several_models_the_terminal_says_who_is_ahead_and_the_table_the_rest():
    runs = {"a": make_run(always), "b": make_run(on_all_but_first(200)), "c": make_run(on_all_but_first(202))}
    first, second, third, _ = lines(compare(runs))
    assert first == "a is ahead of b, on whole groups too."
    assert second == "a is ahead of c, on whole groups too."
    assert third.startswith("b and c are equal within 5 points")


def test_differences_are_printed_in_points():
    *_, table = lines(compare({"a": make_run(always), "b": make_run(on_all_but_first(107))}))
    differences = [str(cell) for cell in table.columns[3].cells]
    intervals = [str(cell) for cell in table.columns[4].cells]
    assert differences == ["+25.0", "+25.2"]
    assert intervals[0].startswith("+")


def test_models_go_by_their_names_and_not_by_their_folders(tmp_path):
    for folder, model in (("first", "gpt"), ("second", "bert")):
        make_run(on_two_of_three, model=model).save(tmp_path / folder)
    compared = compare([tmp_path / "first", tmp_path / "second"], out=tmp_path / "page")
    pairs = {(pair.first, pair.second) for pair in compared.pairs}
    assert pairs == {("gpt", "bert")}
    html = compared.page.read_text("utf-8")
    assert "<title>gpt, bert" in html
    assert '<td class="who">first</td><td class="who">gpt</td>' in html


def test_a_folder_is_named_only_where_two_models_have_one_name(tmp_path):
    folders = []
    for name, model in (("first", "gpt"), ("second", "gpt"), ("third", "bert")):
        folder = tmp_path / name
        make_run(on_two_of_three, model=model).save(folder)
        folders.append(folder)
    assert list_column_names(compare(folders)) == ["gpt (first)", "gpt (second)", "bert"]


def test_one_model_scored_in_two_ways_goes_by_its_scorings():
    first = make_run(on_two_of_three)
    second = make_run(on_second_twins)
    second.predictions = [replace(row, scoring="other") for row in second.predictions]
    pair = compare([first, second]).pairs[0]
    assert (pair.first, pair.second) == ("m · own", "m · other")


def test_a_run_and_a_folder_of_its_name_are_both_compared_and_this_folder_has_a_name(tmp_path, monkeypatch):
    unsaved = make_run(always)
    make_run(never).save(tmp_path / "run")
    monkeypatch.chdir(tmp_path / "run")
    pairs = [(pair.first, pair.second) for pair in compare([unsaved, "."]).pairs]
    assert pairs == [("m (run)", "m (run (2))")] * 2


def make_silent_run(share: float, is_right: IsRight = always) -> Run:
    """Make a run that is silent on that share of the groups and answers the others."""
    run = make_run(is_right)
    rows = []
    for index, row in enumerate(run.predictions):
        is_silent = (index // 2) % 10 < 10 * share
        rows.append(replace(row, prediction=None) if is_silent else row)
    run.predictions = rows
    return run


@pytest.fixture(scope="module")
def against_silence():
    """Comparison of a model that says nothing and one that has a tenth right."""
    bad = make_run(lambda index: (index // 2) % 10 == 0)
    measures = ["accuracy", "group_accuracy", "expected_accuracy"]
    return compare({"silent": make_silent_run(1), "bad": bad}, metric=measures)


def test_who_answers_nothing_is_never_ahead(against_silence):
    """A model that has a tenth right was 19 points of expected group accuracy behind one that says nothing."""
    leaders = [(pair.measure, pair.ahead) for pair in against_silence.pairs]
    assert leaders == [("accuracy", "bad"), ("group_accuracy", "bad"), ("expected_accuracy", None)]
    expected_accuracy = against_silence.pairs[2]
    assert expected_accuracy.found.difference > 0.3
    assert expected_accuracy.p_corrected < 0.001


def test_the_terminal_says_that_silence_is_never_ahead(against_silence):
    sentence, correction = list_sentences(against_silence)
    assert "bad is ahead of silent, on whole groups too." in sentence
    assert "p\u00a0<\u00a00.001: what guessing would get for each abstention, and no lead." in sentence
    assert sentence.endswith("silent answers nothing, and is never ahead.")
    assert correction == "p-values are corrected for 3 tests."


def test_silence_is_not_half_a_right_answer():
    """Silent on half and else right: 50 % in its cell, and that is what is compared with 60 %."""
    on_six_of_ten_pairs = make_run(lambda index: (index // 2) % 10 < 6)
    (pair, _) = compare({"quiet": make_silent_run(0.5), "other": on_six_of_ten_pairs}).pairs
    accuracies = (pair.found.first, pair.found.second)
    assert accuracies == pytest.approx((0.5, 0.6), abs=0.01)


def test_silence_is_half_a_right_answer_in_expected_accuracy():
    compared = compare({"a": make_silent_run(0.5), "b": make_silent_run(0)}, metric="expected_accuracy")
    (pair,) = compared.pairs
    assert pair.found.first == pytest.approx(0.75, abs=0.01)
    assert pair.measure_title == "expected accuracy"


@pytest.mark.parametrize(
    ("mistakes", "margin", "word"),
    [
        (100, 5, "ahead, by more than the margin"),
        (12, 5, "ahead"),
        (12, 10, "ahead, by little"),
        (12, 0.1, "ahead, by more than the margin"),
        (0, 5, "equal within the margin"),
        (0, 0.5, "not shown"),
    ],
    ids=["many", "few", "few, of ten", "few, of one", "same", "same, of one"],
)
def test_a_margin_sorts_differences_into_those_that_matter_and_others(mistakes, margin, word):
    runs = {"whole": make_run(always), "other": make_run(on_all_but_first(mistakes))}
    compared = compare(runs, margin=margin, metric="accuracy")
    assert [pair.word for pair in compared.pairs] == [word]


@pytest.fixture(scope="module")
def without_difference():
    """Comparison of two runs on so few problems that their difference is not shown."""
    few = OPEN[:60]
    return compare({"a": make_run(on_two_of_three, few), "b": make_run(on_three_of_four, few)})


def test_what_is_not_shown_says_what_it_could_have_seen(without_difference):
    sentence, _ = list_sentences(without_difference)
    assert sentence.startswith("No difference between a and b is shown. b has +")
    assert "points would usually have been missed" in sentence
    assert "and equality within 5 points cannot be shown with 60 problems in 30 units." in sentence
    assert "cannot be shown with 30 groups." in sentence


def test_json_of_what_is_not_shown_has_the_gap_that_could_have_been_found(without_difference):
    (row, _) = as_json(without_difference)
    assert (row["word"], row["margin"], row["can_show_equality"]) == ("not shown", 0.05, False)
    assert 0.05 < row["gap_to_find"] < 0.5


@pytest.fixture
def two_runs() -> dict[str, Run]:
    return {"a": make_run(on_two_of_three), "b": make_run(on_second_twins)}


def test_a_measure_that_the_runs_have_nothing_for_is_refused(two_runs):
    with pytest.raises(BadInput, match="consistency: the runs cannot be compared by it: no predictions in common"):
        compare(two_runs, metric="consistency")


def test_a_wrong_metric_is_corrected(two_runs):
    with pytest.raises(UnknownName, match=r"No metric named 'acuracy'\. Did you mean 'accuracy'"):
        compare(two_runs, metric="acuracy")


def test_consistency_is_compared_where_both_were_asked_with_candidates_switched():
    """One follows the switch, the other sticks to its place."""
    follows = make_run(on_second_twins)
    sticks = make_run(on_second_twins)
    for row in follows.predictions[:60]:
        follows.predictions.append(replace(row, variant="switched", prediction=1 - row.prediction))
    for row in sticks.predictions[:60]:
        sticks.predictions.append(replace(row, variant="switched"))
    (pair,) = compare({"follows": follows, "sticks": sticks}, metric="consistency").pairs
    assert (pair.found.first, pair.found.second) == (1.0, 0.0)
    assert pair.ahead == "follows"


def make_copied_run(is_right: IsRight, problems: Dataset) -> Run:
    """Make a run on each problem written three times, with the same answer to all copies."""
    flags = repeated([is_right(index) for index in range(len(problems))])
    return make_run(flags.__getitem__, thrice(problems))


def check_interval_not_narrower(copied, once) -> None:
    assert copied.low <= once.low + 1e-9
    assert copied.high >= once.high - 1e-9


@pytest.mark.parametrize(
    ("first_is_right", "second_is_right"),
    [
        (on_all_but_first(20), always),
        (on_all_but_first(6), always),
        (lambda index: (index // 2) % 3 != 0, on_three_of_four),
        (on_two_of_three, on_two_of_three),
    ],
    ids=["far apart", "apart", "as good", "alike"],
)
@pytest.mark.parametrize("margin", [1, 5, 20])
def test_each_problem_written_three_times_makes_nothing_surer(first_is_right, second_is_right, margin):
    """Copies in groups of their own, made from one template: no narrower interval, no smaller p, no stronger word."""
    data = OPEN[:80]
    once = compare({"a": make_run(first_is_right, data), "b": make_run(second_is_right, data)}, margin=margin)
    copied_runs = {"a": make_copied_run(first_is_right, data), "b": make_copied_run(second_is_right, data)}
    copied = compare(copied_runs, margin=margin)
    for one_pair, copied_pair in zip(once.pairs, copied.pairs, strict=True):
        assert copied_pair.found.difference == pytest.approx(one_pair.found.difference)
        assert copied_pair.p_corrected >= one_pair.p_corrected - 1e-9
        check_interval_not_narrower(copied_pair.found.interval, one_pair.found.interval)
        check_interval_not_narrower(copied_pair.found.narrow, one_pair.found.narrow)
        assert WORDS.index(copied_pair.word) <= WORDS.index(one_pair.word)
        gap_once = one_pair.verdict.gap_to_find or 2
        gap_copied = copied_pair.verdict.gap_to_find or 2
        assert gap_copied >= gap_once - 1e-9
        assert one_pair.verdict.can_show_equality >= copied_pair.verdict.can_show_equality


REPLAYED_COUNTS = {
    "answers": 60,
    "replayed": 40,
    "first": "2026-03-01T09:30:00+00:00",
    "last": "2026-03-01T09:30:59+00:00",
    "of_unknown_date": 0,
    "check": None,
    "asked_again": 0,
}


def test_replayed_answers_are_counted_and_dated_beside_the_difference(tmp_path):
    fresh = make_run(on_two_of_three, model="fresh")
    old = make_run(on_two_of_three, model="old")
    old.settings["replayed"] = {"old": REPLAYED_COUNTS}
    compared = compare({"fresh": fresh, "old": old}, out=tmp_path / "page")
    note = "old: old: 40 of 60 answers are replayed from the cache, of 2026-03-01 09:30 UTC"
    assert compared.notes == (note,)
    assert note[1:] in compared.page.read_text()


def test_runs_whose_variants_are_made_in_different_styles_are_noted():
    usual = make_run(on_two_of_three, model="usual")
    paper = make_run(on_two_of_three, model="paper")
    assert not compare({"usual": usual, "paper": paper}).notes
    paper.settings["style"] = "paper"
    (note,) = compare({"usual": usual, "paper": paper}).notes
    assert note.endswith("not of the same texts: usual (default) and paper (paper)")
