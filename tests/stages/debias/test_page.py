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


def planted(strength: float) -> tuple:
    """Twins whose features give away what a word gives away too, and one text that would break a careless page."""
    data = synthetic(300, bias=0.5, seed=1)
    data = data.with_problems([data[0].replace(before=STRANGE + data[0].before), *data[1:]])
    y, biased = (np.array([f(p) for p in data]) for f in (lambda p: p.answer, lambda p: p.labels["planted"]))
    x = 0.4 * np.random.default_rng(0).normal(size=(600, 20))
    x[:, 0] += strength * (2 * y - 1) * biased
    return data, DebiasFeatures(x.astype(np.float32), "planted <model>", "difference")


@pytest.fixture(scope="module")
def found() -> Debiased:
    data, features = planted(1.5)
    return debias(data, "aflite", features=features, ensemble_size=16, null_runs=19, seeds=2)


@pytest.fixture(scope="module")
def folder(found, tmp_path_factory) -> Path:
    return write_debias_page(found, tmp_path_factory.mktemp("debias") / "report").parent


@pytest.fixture(scope="module")
def html(folder) -> str:
    return (folder / "index.html").read_text("utf-8")


def test_every_row_is_on_the_page_with_its_exact_value(found, html):
    rows = re.findall(r'data-row="([^"]+)">.*?<data value="([^"]+)">', html)
    shown = {tuple(re.findall(r'"([^"]+)"', unescape(name))): value for name, value in rows}
    assert shown == {(row.subset, row.metric): str(row.value) for row in found.metrics}


def test_every_arm_has_a_panel_with_its_divergence(found, html):
    shown = re.findall(r'<p class="kl">KL <b><data value="([^"]+)">', html)
    assert shown == [str(found.find(arm.name, "kl_histogram").value) for arm in found.arms]
    assert html.count('<svg class="plane"') == html.count('<svg class="along"') == 4


def test_panels_hold_every_row_inside_their_axes(found):
    for picture in found.pictures.arms:
        assert 0.98 * picture.n <= picture.plane.sum() <= picture.line.sum() <= picture.n
        cells = sum(path.count("M") for _, _, path in found.pictures.shades(picture))
        assert cells == np.count_nonzero(picture.plane.sum(axis=0))


def test_a_cell_of_one_answer_has_its_colour(found):
    shades = found.pictures.shades(found.pictures.arms[0])
    assert {0, 100} <= {first for first, _, _ in shades}


def test_divergences_are_nats_and_not_percentages(found):
    ((value, small),) = [rest for label, *rest in debias_page(found)["tiles"] if label.startswith("Divergence")]
    assert "%" not in value + small


def test_the_page_tells_over_use_with_an_example_from_the_removed(found, html):
    _, _, words = debias_page(found)["traits"][0]
    assert {word.trait for word in words[:2]} == {"honestly", "meanwhile"}
    removed = {problem.id for problem in found.removed}
    assert all(found.dataset[row].id in removed for word in words for row in word.examples)
    first = found.dataset[words[0].examples[0]]
    assert f"<mark>{first.right}</mark>{first.after}</p></td>" in html


def test_removed_examples_go_by_phase_and_score(found):
    shown = debias_page(found)["removed"]
    assert len(shown) == 8
    assert [(one.phase, -one.score) for one in shown] == sorted((one.phase, -one.score) for one in shown)
    assert {one.twin for one in shown} <= {"kept", "removed"}


def test_phases_are_charted_from_the_start(found):
    left, removed, *_ = phase_charts(found.chosen.history, found.chosen.settings)
    assert left.values[0] == 600
    assert left.values[-1] == found.chosen.keep.sum()
    assert len(left.values) == len(removed.values) + 1
    assert sum(removed.values) == 600 - left.values[-1]


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


def test_a_probe_that_is_not_told_from_its_null_has_a_hollow_dot(found):
    lines = debias_page(probed(found, p=0.04))["probe"].lines
    assert {line.marks[0].position for line in lines if line.title in ("All problems", "AFLite")} == {AT}


def probed(found: Debiased, p: float) -> Debiased:
    """The same filtering, were this the p-value of its probes."""
    metrics = [
        replace(row, details={**row.details, P: p}) if row.metric == "probe_accuracy" else row for row in found.metrics
    ]
    return replace(found, metrics=metrics)


def test_every_seed_has_its_line_and_every_problem_is_counted_once(found, html):
    page = debias_page(found)
    assert [seeds for seeds, _ in page["keeping"]] == [2, 1, 0]
    assert sum(problems for _, problems in page["keeping"]) == 600
    lines = re.findall(r"<tr>(.*?)</tr>", html.partition('class="plain seeds"')[2].partition("</table>")[0])[1:]
    shown = [re.findall(r'<td class="num">([\d,]+)</td>', line)[:3] for line in lines]
    wanted = [[arm.settings["seed"], arm.keep.sum(), (~arm.keep).sum()] for arm in found.seeds]
    assert shown == [[f"{number:,}" for number in line] for line in wanted]


def test_with_one_seed_nothing_is_said_of_others(untouched, tmp_path):
    html = write_debias_page(untouched, tmp_path).read_text("utf-8")
    assert 'id="seeds"' not in html
    assert "of 1 seeds" not in html


def test_a_filter_without_features_has_a_page_too(tmp_path):
    data, _ = planted(1.5)
    found = debias(data, "random", size=300, assess=False)
    html = write_debias_page(found, tmp_path).read_text("utf-8")
    assert "Reduced, but not assessed" in html
    assert 'id="components"' not in html
    assert "Some of the removed" in html


@pytest.fixture(scope="module")
def untouched() -> Debiased:
    """A filtering that removed nothing."""
    data, features = planted(0.0)
    return debias(data, AFLite(ensemble_size=8, stop_below=0.99), features=features)


def test_nothing_removed_is_said_so(untouched, tmp_path):
    assert "Nothing was removed" in write_debias_page(untouched, tmp_path).read_text("utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 360])
def test_the_page_opens_quietly_and_fits(chromium, folder, width, scheme):
    with opened(chromium, folder / "index.html", width, color_scheme=scheme) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
        boxes = [one.bounding_box() for one in page.locator(".arm").all()]
        assert len({box["y"] for box in boxes}) == (1 if width > 704 else 2)
        cell = page.locator(".plane path >> nth=0").evaluate("one => getComputedStyle(one).fill")
        assert cell not in ("none", "rgb(0, 0, 0)")
