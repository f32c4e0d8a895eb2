"""Plots have the numbers of the rows and predictions, and can be drawn into files."""

import json
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from winokit.data.runs import Run
from winokit.drawing import plots
from winokit.drawing.figures import Figure, canvas, draw_forest
from winokit.drawing.plots import ShownScorer, scorers
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


def make_predictions(*choices: tuple[int | None, int, float], scoring: str = "full") -> list[Prediction]:
    """Make predictions from choice, answer and margin."""
    predictions = []
    for index, (choice, answer, margin) in enumerate(choices):
        scores = make_scores(choice, margin)
        predictions.append(Prediction(str(index), "original", "m", scoring, scores, choice, answer))
    return predictions


def make_scores(choice: int | None, margin: float) -> tuple[float, float] | None:
    """Scores that lead to the choice with this margin, or None for an abstention."""
    if choice is None:
        return None
    return (margin, 0.0) if choice == 0 else (0.0, margin)


def make_run(predictions: list[Prediction], *rows: Metric) -> Run:
    dataset = Dataset([Problem("A ", " b", ("c", "d"), 0)])
    return Run({}, list(rows or (ROW,)), predictions, dataset)


def list_titles(rows: list[Metric], shown_scorers: Sequence[ShownScorer], **options) -> list[str]:
    """Titles of the lines of a forest."""
    forest = plots.forest(rows, shown_scorers, **options)
    return [line.title for line in forest.lines]


def make_histogram(predictions: list[Prediction]) -> audit_plots.Histogram:
    """The histogram of the margins of one scorer."""
    run = make_run(predictions)
    return audit_plots.histograms(run, scorers(run))[0]


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
    forest = plots.forest(run.metrics, scorers(run))
    lines = {line.title: line for line in forest.lines}
    group_rows = [mark.row for mark in lines["Whole groups right"].marks]
    problem_rows = [mark.row for mark in lines["All problems"].marks]
    assert [row.model for row in group_rows] == [READER, GUESSER]
    assert {row.chance for row in group_rows} == {0.25}
    assert {row.chance for row in problem_rows} == {0.5}


def test_rows_of_another_scoring_stand_with_their_model_and_say_so(run):
    shown_scorers = scorers(run)
    titles = list_titles(run.metrics, shown_scorers)
    assert [scorer.model for scorer in shown_scorers] == [READER, GUESSER]
    assert "Special word chosen · scoring special-word" in titles


def test_finer_subsets_are_kept_apart():
    rows = [ROW, replace(ROW, protocol="structure", subset="connective.because")]
    shown_scorers = scorers(make_run([], *rows))
    assert list_titles(rows, shown_scorers) == ["All problems"]
    assert list_titles(rows, shown_scorers, fine=True) == ["Connective: because"]


def test_a_subset_asked_for_is_named():
    row = replace(ROW, protocol="artifacts", subset="part-sent@non_associative")
    forest = plots.forest([row], scorers(make_run([], row)), "artifacts")
    titles = [line.title for line in forest.lines]
    assert titles == ["Clause of the blank alone (part-sent), non associative only"]


def test_the_group_breakdown_is_the_rows_and_adds_up(run):
    stack = audit_plots.stacks(run, scorers(run))[0]
    assert sum(row.value for row in stack.shares) == pytest.approx(1)
    assert stack.chance == (0.25, 0.5, 0.25)


def test_margins_are_counted_once_and_abstentions_never():
    predictions = make_predictions((0, 0, 1.0), (1, 1, 2.0), (1, 0, 0.5), (None, 0, 0.0), (0, 0, 0.25))
    histogram = make_histogram(predictions)
    assert (sum(histogram.right), sum(histogram.wrong)) == (3, 1)
    assert (histogram.median_right, histogram.median_wrong) == (1.0, 0.5)


def test_an_outlier_lands_in_the_last_bin():
    choices = [(0, 0, 0.01 * index) for index in range(1, 200)]
    predictions = make_predictions(*choices, (0, 0, 1e6))
    histogram = make_histogram(predictions)
    assert histogram.edges[-1] < 10
    assert sum(histogram.right) == 200
    assert histogram.beyond >= 1


def test_labels_without_scores_have_no_margins():
    predictions = make_predictions((0, 0, 1.0), (1, 0, 1.0))
    run = make_run([replace(row, scores=None) for row in predictions])
    assert audit_plots.histograms(run, scorers(run)) == ()


def test_confusion_counts_places_and_abstentions():
    predictions = make_predictions((0, 0, 1.0), (1, 0, 1.0), (1, 1, 1.0), (None, 1, 0.0))
    run = make_run(predictions)
    table = audit_plots.confusions(run, scorers(run))[0]
    assert table.counts == ((1, 1, 0), (0, 1, 1))
    assert table.share(1, 2) == 0.5


def test_the_switch_table_counts_every_problem_of_its_row(run):
    tables = audit_plots.switch_tables(run, scorers(run))
    problem_counts = [table.both + table.before + table.after + table.neither for table in tables]
    assert problem_counts == [row.n for row in run.metrics if row.metric == "consistency"]


@pytest.mark.parametrize(
    ("metric", "value", "text"),
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
def test_a_number_is_said_in_its_own_kind(metric, value, text):
    row = replace(ROW, metric=metric, value=value, chance=None)
    assert say(row) == text


@pytest.mark.parametrize("value", [-0.2, 0.0, 0.2])
def test_a_difference_is_one_whatever_its_sign_and_chance(value):
    row = replace(ROW, protocol="naturalness", metric="likely_minus_unlikely", value=value, chance=0.0)
    shown_scorers = scorers(make_run([], row))
    assert plots.forest([row], shown_scorers).blocks == ()
    assert len(plots.difference_forest([row], shown_scorers).lines) == 1


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
        path = tmp_path / f"{name}.png"
        canvas(figure).savefig(path)
        assert path.read_bytes().startswith(b"\x89PNG")


def test_many_panels_go_on_in_another_row():
    assert Figure([print] * 2, 4.5, 3.2).shape == (1, 2)
    assert Figure([print] * 5, 4.5, 3.2).shape == (3, 2)
    assert Figure([print], 12.0, 3.2).shape == (1, 1)


def test_counts_have_no_fractions_along_their_axis():
    from matplotlib.figure import Figure as Canvas

    ax = Canvas().subplots()
    histogram = audit_plots.Histogram("m", (0.0, 1.0, 2.0), (1, 0), (0, 1), None, None, 0)
    draw_histogram(ax, histogram)
    ticks = list(ax.yaxis.get_majorticklocs())
    assert ticks == [round(tick) for tick in ticks]


def test_a_dot_at_the_end_of_an_axis_is_drawn_whole():
    from matplotlib.figure import Figure as Canvas

    ax = Canvas().subplots()
    row = replace(ROW, value=1.0, high=1.0)
    forest = plots.forest([row], scorers(make_run([], row)))
    draw_forest(ax, forest, ["m"])
    dots = [collection for collection in ax.collections if len(collection.get_offsets())]
    assert dots[-1].get_clip_on() is False


def list_legend_texts(run: Run, figure_name: str) -> list:
    """Texts of the legend of one figure, as matplotlib has them."""
    figures = figures_of(AuditPage(run))
    drawing = canvas(figures[figure_name])
    return drawing.legends[0].get_texts()


def test_a_figure_keeps_names_as_they_are():
    mathematical = replace(ROW, model="$x_1$ 模型")
    plain = replace(ROW, model="plain")
    name = list_legend_texts(make_run([], mathematical, plain), "forest")[0]
    assert name.get_text() == "$x_1$ 模型"
    assert not name.get_parse_math()


def test_a_figure_names_only_the_scorers_that_it_shows():
    accuracies = [replace(ROW, model=name) for name in ("labels", "one", "other")]
    consistency = replace(ROW, protocol="switching", subset="switchable", metric="consistency")
    consistencies = [replace(consistency, model=name) for name in ("one", "other")]
    run = make_run([], *accuracies, *consistencies)
    names = [text.get_text() for text in list_legend_texts(run, "switching")]
    assert names == ["one", "other"]


@pytest.fixture(scope="module")
def scripts(run):
    """The scripts of all variants, each with its text."""
    return list(problem_scripts(run, scorers(run)))


@pytest.fixture(scope="module")
def original_content(scripts) -> dict:
    """The data in the script of the originals."""
    _, text = scripts[0]
    return json.loads(text.removeprefix("winokitProblems(0,").removesuffix(");\n"))


def select_reader(run: Run, variant: str) -> list[Prediction]:
    """Predictions of one variant by the first scorer."""
    return [row for row in run.predictions if row.model == READER and row.variant == variant]


def test_there_is_a_script_for_each_variant(run, scripts):
    variants = [script.variant for script, _ in scripts]
    assert variants == ["original", *run.variants]


def test_scripts_hold_each_problem_with_its_outcome(run, scripts, original_content):
    rows = original_content["rows"]
    outcomes = [row[7][0][0] for row in rows]
    predictions = select_reader(run, "original")
    right_count = sum(row.prediction == row.answer for row in predictions)
    silent_count = sum(row.prediction is None for row in predictions)
    assert len(rows) == len(run.dataset)
    assert scripts[0][0].n == len(run.dataset)
    assert outcomes.count("r") == right_count
    assert outcomes.count("a") == silent_count


def test_scripts_hold_the_outcome_of_each_problem_with_candidates_switched(run, original_content):
    letters = {}
    for row in select_reader(run, "switched"):
        letters[row.id] = "r" if row.prediction == row.answer else "w"
    variant_index = original_content["variants"].index("switched")
    assert letters
    for row in original_content["rows"]:
        problem_id = row[6]
        outcomes = row[8][0]
        assert outcomes[variant_index] == letters.get(problem_id, "-")


def test_the_terminal_table_has_a_column_a_scorer(run):
    headers = [str(column.header) for column in summary_table(run).columns]
    assert headers == ["protocol", "result", READER, GUESSER, "chance", "n"]


def test_the_terminal_table_has_values_with_their_intervals(run):
    output = StringIO()
    Console(width=140, file=output).print(summary_table(run))
    text = output.getvalue().replace("\u00a0", " ")
    accuracies = [row for row in run.metrics if row.metric == "accuracy" and row.model == READER]
    assert f"{100 * accuracies[0].value:.1f} % [" in text


@pytest.mark.parametrize("metric", ["told_apart", "right_way_round"])
def test_twins_told_apart_are_a_share_where_nothing_is_answered_either(metric):
    assert kind(metric, None, 0.0) == "share"
