"""The numbers of the plots, and the files they are drawn into."""

import json
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from winokit.data.runs import Run
from winokit.drawing import plots
from winokit.drawing.figures import Figure, canvas, draw_forest
from winokit.drawing.plots import scorers
from winokit.drawing.wording import kind, say, say_interval
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Dataset, Problem
from winokit.results import Metric, stands
from winokit.stages.audit import plots as audit_plots
from winokit.stages.audit.figures import draw_histogram, figures_of
from winokit.stages.audit.page import AuditPage
from winokit.stages.audit.problems import problem_scripts
from winokit.stages.audit.table import summary_table

READER = "reader <1>"
GUESSER = "random"
ROW = Metric("d", "m", "full", None, "accuracy", "all", "accuracy", 0.75, 100, 0.66, 0.83, 0.5)


def made(*choices: tuple[int | None, int, float], scoring: str = "full") -> list[Prediction]:
    """Predictions from choice, answer and margin."""
    return [
        Prediction(
            str(i),
            "original",
            "m",
            scoring,
            None if choice is None else (margin, 0.0)[:: 1 - 2 * choice],
            choice,
            answer,
        )
        for i, (choice, answer, margin) in enumerate(choices)
    ]


def run_of(predictions: list[Prediction], *rows: Metric) -> Run:
    return Run({}, list(rows or (ROW,)), predictions, Dataset([Problem("A ", " b", ("c", "d"), 0)]))


@pytest.mark.parametrize(
    ("low", "high", "chance", "where"),
    [
        (0.51, 0.9, 0.5, "above"),
        (0.5, 0.9, 0.5, "at"),
        (0.1, 0.49, 0.5, "below"),
        (None, None, 0.5, "unknown"),
        (0.1, 0.2, None, "unknown"),
    ],
)
def test_a_row_stands_where_its_interval_lies(low, high, chance, where):
    assert stands(replace(ROW, low=low, high=high, chance=chance)) == where


def test_a_forest_has_a_mark_for_each_scorer_and_chance_of_its_own(run):
    drawn = plots.forest(run.metrics, scorers(run))
    lines = {line.title: line for line in drawn.lines}
    assert [mark.row.model for mark in lines["Whole groups right"].marks] == [READER, GUESSER]
    assert {mark.row.chance for mark in lines["Whole groups right"].marks} == {0.25}
    assert {mark.row.chance for mark in lines["All problems"].marks} == {0.5}


def test_rows_of_another_scoring_stand_with_their_model_and_say_so(run):
    titles = [line.title for line in plots.forest(run.metrics, scorers(run)).lines]
    assert [scorer.model for scorer in scorers(run)] == [READER, GUESSER]
    assert "Special word chosen · scoring special-word" in titles


def test_finer_subsets_are_kept_apart():
    rows = [ROW, replace(ROW, protocol="structure", subset="connective.because")]
    known = scorers(run_of([], *rows))
    assert [line.title for line in plots.forest(rows, known).lines] == ["All problems"]
    assert [line.title for line in plots.forest(rows, known, fine=True).lines] == ["Connective: because"]


def test_a_subset_asked_for_is_named():
    row = replace(ROW, protocol="artifacts", subset="part-sent@non_associative")
    lines = plots.forest([row], scorers(run_of([], row)), "artifacts").lines
    assert [line.title for line in lines] == ["Clause of the blank alone (part-sent), non associative only"]


def test_the_group_breakdown_is_the_rows_and_adds_up(run):
    first = audit_plots.stacks(run, scorers(run))[0]
    assert sum(row.value for row in first.shares) == pytest.approx(1)
    assert first.chance == (0.25, 0.5, 0.25)


def test_margins_are_counted_once_and_abstentions_never():
    predictions = made((0, 0, 1.0), (1, 1, 2.0), (1, 0, 0.5), (None, 0, 0.0), (0, 0, 0.25))
    histogram = audit_plots.histograms(run_of(predictions), scorers(run_of(predictions)))[0]
    assert (sum(histogram.right), sum(histogram.wrong)) == (3, 1)
    assert (histogram.median_right, histogram.median_wrong) == (1.0, 0.5)


def test_an_outlier_lands_in_the_last_bin():
    predictions = made(*[(0, 0, 0.01 * i) for i in range(1, 200)], (0, 0, 1e6))
    histogram = audit_plots.histograms(run_of(predictions), scorers(run_of(predictions)))[0]
    assert histogram.edges[-1] < 10
    assert sum(histogram.right) == 200
    assert histogram.beyond >= 1


def test_labels_without_scores_have_no_margins():
    bare = [replace(p, scores=None) for p in made((0, 0, 1.0), (1, 0, 1.0))]
    assert audit_plots.histograms(run_of(bare), scorers(run_of(bare))) == ()


def test_confusion_counts_places_and_abstentions():
    predictions = made((0, 0, 1.0), (1, 0, 1.0), (1, 1, 1.0), (None, 1, 0.0))
    table = audit_plots.confusions(run_of(predictions), scorers(run_of(predictions)))[0]
    assert table.counts == ((1, 1, 0), (0, 1, 1))
    assert table.share(1, 2) == 0.5


def test_the_switch_table_counts_every_problem_of_its_row(run):
    for table, row in zip(
        audit_plots.switch_tables(run, scorers(run)), [r for r in run.metrics if r.metric == "consistency"], strict=True
    ):
        assert table.both + table.before + table.after + table.neither == row.n


@pytest.mark.parametrize(
    ("metric", "value", "said"),
    [
        ("group_accuracy", 0.5739, "57.4\u00a0%"),
        ("delta", -0.175, "−17.5"),
        ("absolute_delta", 0.175, "17.5"),
        ("p_chance", 1e-9, "< 0.001"),
        ("n_to_beat_chance", 9000.0, "9,000"),
        ("correlation", 0.0625, "0.0625"),
        ("accuracy", float("nan"), "–"),
    ],
)
def test_a_number_is_said_in_its_own_kind(metric, value, said):
    assert say(replace(ROW, metric=metric, value=value, chance=None)) == said


@pytest.mark.parametrize("value", [-0.2, 0.0, 0.2])
def test_a_difference_is_one_whatever_its_sign_and_chance(value):
    row = replace(ROW, protocol="naturalness", metric="likely_minus_unlikely", value=value, chance=0.0)
    known = scorers(run_of([], row))
    assert plots.forest([row], known).blocks == ()
    assert len(plots.difference_forest([row], known).lines) == 1


def test_an_unknown_metric_with_a_chance_level_is_a_share():
    assert kind("shorter_chosen", 0.5, 0.4) == "share"
    assert kind("shorter_chosen", None, 0.4) == "number"


def test_an_interval_is_said_in_the_kind_of_its_value():
    assert say_interval(ROW) == "[66.0, 83.0]"
    assert say_interval(replace(ROW, low=None)) == ""


def test_figures_are_saved_as_pictures(run, tmp_path):
    figures = figures_of(AuditPage(run))
    assert set(figures) >= {"forest", "groups", "switching", "artifacts", "differences", "margins", "position"}
    for name, figure in figures.items():
        canvas(figure).savefig(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_many_panels_go_on_in_another_row():
    assert Figure([print] * 2, 4.5, 3.2).shape == (1, 2)
    assert Figure([print] * 5, 4.5, 3.2).shape == (3, 2)
    assert Figure([print], 12.0, 3.2).shape == (1, 1)


def test_counts_have_no_fractions_along_their_axis():
    from matplotlib.figure import Figure as Canvas

    ax = Canvas().subplots()
    histogram = audit_plots.Histogram("m", (0.0, 1.0, 2.0), (1, 0), (0, 1), None, None, 0)
    draw_histogram(ax, histogram)
    shown = list(ax.yaxis.get_majorticklocs())
    assert shown == [round(value) for value in shown]


def test_a_dot_at_the_end_of_an_axis_is_drawn_whole():
    from matplotlib.figure import Figure as Canvas

    ax = Canvas().subplots()
    row = replace(ROW, value=1.0, high=1.0)
    draw_forest(ax, plots.forest([row], scorers(run_of([], row))), ["m"])
    assert [dots.get_clip_on() for dots in ax.collections if len(dots.get_offsets())][-1] is False


def test_a_figure_keeps_names_as_they_are():
    row = replace(ROW, model="$x_1$ 模型")
    other = replace(ROW, model="plain")
    drawn = canvas(figures_of(AuditPage(run_of([], row, other)))["forest"])
    name = drawn.legends[0].get_texts()[0]
    assert name.get_text() == "$x_1$ 模型"
    assert not name.get_parse_math()


def test_a_figure_names_only_the_scorers_that_it_shows():
    accuracies = [replace(ROW, model=name) for name in ("labels", "one", "other")]
    followed = [replace(row, protocol="switching", subset="switchable", metric="consistency") for row in accuracies[1:]]
    drawn = canvas(figures_of(AuditPage(run_of([], *accuracies, *followed)))["switching"])
    assert [name.get_text() for name in drawn.legends[0].get_texts()] == ["one", "other"]


def test_scripts_hold_each_problem_with_its_outcome_in_every_variant(run):
    (script, text), *others = problem_scripts(run, scorers(run))
    content = json.loads(text.removeprefix("winokitProblems(0,").removesuffix(");\n"))
    assert [script.variant, *(one.variant for one, _ in others)] == ["original", *run.variants]
    assert len(content["rows"]) == script.n == len(run.dataset)
    letters = [row[7][0][0] for row in content["rows"]]
    reader = [p for p in run.predictions if p.model == READER and p.variant == "original"]
    assert letters.count("r") == sum(p.prediction == p.answer for p in reader)
    assert letters.count("a") == sum(p.prediction is None for p in reader)
    switched = {
        p.id: p.prediction == p.answer for p in run.predictions if p.model == READER and p.variant == "switched"
    }
    place = content["variants"].index("switched")
    for row in content["rows"]:
        assert row[8][0][place] == ("-" if row[6] not in switched else "r" if switched[row[6]] else "w")


def test_the_terminal_table_has_a_column_a_scorer(run):
    table = summary_table(run)
    assert [str(column.header) for column in table.columns] == ["protocol", "result", READER, GUESSER, "chance", "n"]
    printed = StringIO()
    Console(width=140, file=printed).print(table)
    text = printed.getvalue().replace("\u00a0", " ")
    accuracy = next(row for row in run.metrics if row.metric == "accuracy" and row.model == READER)
    assert f"{100 * accuracy.value:.1f} % [" in text


def test_twins_told_apart_are_a_share_where_nothing_is_answered_either():
    assert kind("told_apart", None, 0.0) == kind("right_way_round", None, 0.0) == "share"
