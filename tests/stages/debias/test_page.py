"""The page of a filtering: every number on it is a number of the run, and it opens quietly anywhere."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from support.pages import opened

from winokit.data.synthetic import synthetic
from winokit.drawing.plots import Chart
from winokit.methods.aflite.aflite import AFLite
from winokit.results import AT, P
from winokit.stages.debias.features import DebiasFeatures
from winokit.stages.debias.filtering import Debiased
from winokit.stages.debias.page import debias_page, phase_charts, write_debias_page
from winokit.stages.debias.run import debias

STRANGE = '"Tom & Jerry" <script>alert(1)</script> '


def plant_features(strength: float) -> tuple:
    """Twins whose features give away what a word gives away too, and one text that would break a careless page."""
    data = synthetic(300, bias=0.5, seed=1)
    strange = data[0].replace(before=STRANGE + data[0].before)
    data = data.with_problems([strange, *data[1:]])
    answers = np.array([problem.answer for problem in data])
    biased = np.array([problem.labels["planted"] for problem in data])
    direction = 2 * answers - 1
    x = 0.4 * np.random.default_rng(0).normal(size=(600, 20))
    x[:, 0] += strength * direction * biased
    return data, DebiasFeatures(x.astype(np.float32), "planted <model>", "difference")


@pytest.fixture(scope="module")
def filtering() -> Debiased:
    data, features = plant_features(1.5)
    return debias(data, "aflite", features=features, ensemble_size=16, null_runs=19, seeds=2)


@pytest.fixture(scope="module")
def folder(filtering, tmp_path_factory) -> Path:
    page = write_debias_page(filtering, tmp_path_factory.mktemp("debias") / "report")
    return page.parent


@pytest.fixture(scope="module")
def html(folder) -> str:
    return (folder / "index.html").read_text("utf-8")


def test_every_row_is_on_the_page_with_its_exact_value(filtering, html):
    page_rows = re.findall(r'data-row="([^"]+)">.*?<data value="([^"]+)">', html)
    page_values = {}
    for name, value in page_rows:
        parts = re.findall(r'"([^"]+)"', unescape(name))
        page_values[tuple(parts)] = value
    values = {(row.subset, row.metric): str(row.value) for row in filtering.metrics}
    assert page_values == values


def test_every_arm_has_a_panel_with_its_divergence(filtering, html):
    page_values = re.findall(r'<p class="kl">KL <b><data value="([^"]+)">', html)
    divergences = [filtering.find(arm.name, "kl_histogram") for arm in filtering.arms]
    assert page_values == [str(row.value) for row in divergences]
    assert html.count('<svg class="plane"') == html.count('<svg class="along"') == 4


def test_panels_hold_every_row_inside_their_axes(filtering):
    for picture in filtering.pictures.arms:
        plane_count = picture.plane.sum()
        line_count = picture.line.sum()
        paths = [path for _, _, path in filtering.pictures.shades(picture)]
        cell_count = sum(path.count("M") for path in paths)
        assert 0.98 * picture.n <= plane_count <= line_count <= picture.n
        assert cell_count == np.count_nonzero(picture.plane.sum(axis=0))


def test_a_cell_of_one_answer_has_its_colour(filtering):
    shades = filtering.pictures.shades(filtering.pictures.arms[0])
    shares_of_first = {share for share, _, _ in shades}
    assert shares_of_first >= {0, 100}


def test_divergences_are_nats_and_not_percentages(filtering):
    tiles = debias_page(filtering)["tiles"]
    ((_, value, small_print),) = [tile for tile in tiles if tile[0].startswith("Divergence")]
    assert "%" not in value + small_print


def test_the_page_tells_over_use_with_an_example_from_the_removed(filtering, html):
    _, _, words = debias_page(filtering)["traits"][0]
    removed_ids = {problem.id for problem in filtering.removed}
    example_ids = set()
    for word in words:
        example_ids |= {filtering.dataset[row].id for row in word.examples}
    first_example = filtering.dataset[words[0].examples[0]]
    assert {word.trait for word in words[:2]} == {"honestly", "meanwhile"}
    assert example_ids <= removed_ids
    assert f"<mark>{first_example.right}</mark>{first_example.after}</p></td>" in html


def test_removed_examples_go_by_phase_and_score(filtering):
    examples = debias_page(filtering)["removed"]
    order = [(example.phase, -example.score) for example in examples]
    assert len(examples) == 8
    assert order == sorted(order)
    assert {example.twin for example in examples} <= {"kept", "removed"}


def test_phases_are_charted_from_the_start(filtering):
    chosen = filtering.chosen
    left_chart, removed_chart, *_ = phase_charts(chosen.history, chosen.settings)
    left_counts = left_chart.values
    removed_counts = removed_chart.values
    assert left_counts[0] == 600
    assert left_counts[-1] == chosen.keep.sum()
    assert len(left_counts) == len(removed_counts) + 1
    assert sum(removed_counts) == 600 - left_counts[-1]


def test_a_chart_maps_its_ends_to_its_edges():
    chart = Chart("t", (2.0, 4.0, 3.0), (1, 2, 3), 2.0, 4.0)
    assert chart.points == "0.00,100.00 50.00,0.00 100.00,50.00"


def test_a_value_of_a_chart_stands_at_its_own_step():
    chart = Chart("t", (2.0, 4.0, 3.0), (0, 1, 10), 2.0, 4.0, band=((2.0, 3.0), (3.0, 4.0), (2.0, 4.0)))
    assert chart.points == "0.00,100.00 10.00,0.00 100.00,50.00"
    assert chart.outline == "0.00,50.00 10.00,0.00 100.00,0.00 100.00,100.00 10.00,50.00 0.00,100.00"
    assert Chart("t", (3.0,), (7,), 2.0, 4.0).places == ((50.0, 50.0),)


def test_texts_are_shown_as_they_are(html):
    assert "<script>alert(1)" not in html
    assert "planted &lt;model&gt;" in html


def replace_probe_p(filtering: Debiased, p: float) -> Debiased:
    """The same filtering, were this the p-value of its probes."""
    metrics = []
    for row in filtering.metrics:
        if row.metric == "probe_accuracy":
            metrics.append(replace(row, details={**row.details, P: p}))
        else:
            metrics.append(row)
    return replace(filtering, metrics=metrics)


def test_a_probe_that_is_not_told_from_its_null_has_a_hollow_dot(filtering):
    page = debias_page(replace_probe_p(filtering, p=0.04))
    lines = [line for line in page["probe"].lines if line.title in ("All problems", "AFLite")]
    assert {line.marks[0].position for line in lines} == {AT}


def test_every_problem_is_counted_once_by_how_many_seeds_keep_it(filtering):
    seed_counts, problem_counts = zip(*debias_page(filtering)["keeping"], strict=True)
    assert seed_counts == (2, 1, 0)
    assert sum(problem_counts) == 600


def test_every_seed_has_its_line(filtering, html):
    _, _, after_head = html.partition('class="plain seeds"')
    table, _, _ = after_head.partition("</table>")
    table_lines = re.findall(r"<tr>(.*?)</tr>", table)
    numbers = [re.findall(r'<td class="num">([\d,]+)</td>', line)[:3] for line in table_lines[1:]]
    expected_numbers = []
    for arm in filtering.seeds:
        kept_count = arm.keep.sum()
        removed_count = (~arm.keep).sum()
        expected_numbers.append([f"{arm.settings['seed']:,}", f"{kept_count:,}", f"{removed_count:,}"])
    assert numbers == expected_numbers


def test_with_one_seed_nothing_is_said_of_others(untouched, tmp_path):
    html = write_debias_page(untouched, tmp_path).read_text("utf-8")
    assert 'id="seeds"' not in html
    assert "of 1 seeds" not in html


def test_a_filter_without_features_has_a_page_too(tmp_path):
    data, _ = plant_features(1.5)
    filtering = debias(data, "random", size=300, assess=False)
    html = write_debias_page(filtering, tmp_path).read_text("utf-8")
    assert "Reduced, but not assessed" in html
    assert 'id="components"' not in html
    assert "Some of the removed" in html


@pytest.fixture(scope="module")
def untouched() -> Debiased:
    """A filtering that removed nothing."""
    data, features = plant_features(0.0)
    return debias(data, AFLite(ensemble_size=8, stop_below=0.99), features=features)


def test_nothing_removed_is_said_so(untouched, tmp_path):
    html = write_debias_page(untouched, tmp_path).read_text("utf-8")
    assert "Nothing was removed" in html


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_opens_quietly_and_fits(chromium, folder, width, scheme):
    expected_rows = 1 if width > 704 else 2
    with opened(chromium, folder / "index.html", width, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        boxes = [panel.bounding_box() for panel in page.locator(".arm").all()]
        panel_rows = {box["y"] for box in boxes}
        cell = page.locator(".plane path >> nth=0")
        fill = cell.evaluate("one => getComputedStyle(one).fill")
        assert overflow == 0
        assert len(panel_rows) == expected_rows
        assert fill not in ("none", "rgb(0, 0, 0)")
