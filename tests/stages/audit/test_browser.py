"""The report opens from disk in a real browser without errors or requests, wide or narrow."""

import re
from contextlib import contextmanager

import pytest
from support.pages import opened
from support.servers import ReasoningServer
from support.waiting import HANGS

from winokit.stages.audit.run import audit

WIDTHS = [1280, 360]


@contextmanager
def open_problems(chromium, path, width=1280):
    """A report whose list of problems is unfolded."""
    with opened(chromium, path, width) as page:
        page.click("#problems > details > summary")
        yield page


def measure_overflow(page) -> int:
    """Pixels by which the page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def read_pressed_count(page) -> int:
    """The count on the button that is pressed."""
    return int(page.inner_text('[aria-pressed="true"] b').replace(",", ""))


def unfold_all(page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => details.open = true)")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_the_report_opens_quietly_and_fits(chromium, report, width, scheme):
    with opened(chromium, report / "index.html", width, color_scheme=scheme) as page:
        page.wait_for_selector("#rows tr", state="attached")
        unfold_all(page)
        assert measure_overflow(page) == 0
        assert page.locator("#rows tr").count() == 25


@pytest.mark.parametrize("width", WIDTHS)
def test_every_row_of_a_plot_lies_over_its_axis(chromium, report, width):
    with opened(chromium, report / "index.html", width) as page:
        unfold_all(page)
        for table in page.locator(".forest").all():
            boxes = [element.bounding_box() for element in table.locator(".track, .axis").all()]
            extents = {(round(box["x"]), round(box["width"])) for box in boxes}
            assert len(extents) == 1


def select_reader(run):
    """Predictions of the originals by the first scorer."""
    return [row for row in run.predictions if row.variant == "original" and row.model == "reader <1>"]


@pytest.mark.parametrize("width", WIDTHS)
def test_a_filter_keeps_what_it_says(chromium, run, report, width):
    predictions = select_reader(run)
    wrong_count = sum(row.prediction is not None and row.prediction != row.answer for row in predictions)
    with open_problems(chromium, report / "index.html", width) as page:
        page.click('[data-outcome="w"]')
        assert read_pressed_count(page) == wrong_count
        assert page.inner_text("#count").endswith(f"of {wrong_count}")
        assert set(page.locator("#rows .outcome").all_inner_texts()) == {"wrong"}
        assert measure_overflow(page) == 0


def test_search_variant_scorer_and_sort_work_together(chromium, run, report):
    with open_problems(chromium, report / "index.html") as page:
        page.fill("#search", "trombone")
        sentences = page.locator("#rows .sentence").all_inner_texts()
        assert sentences
        assert all("trombone" in sentence for sentence in sentences)
        page.fill("#search", "")
        page.select_option("#variant", label=f"switched ({len(run.variants['switched'])})")
        page.wait_for_function("document.querySelector('#rows .sentence').innerText.startsWith('Now ')")
        page.select_option("#scorer", label="random")
        page.select_option("#sort", "narrowest")
        margins = [float(text) for text in page.locator("#rows .margin").all_inner_texts()]
        assert margins == sorted(margins)
        assert page.inner_text("#count").endswith(f"of {len(run.variants['switched'])}")


def test_pages_turn(chromium, run, report):
    with open_problems(chromium, report / "index.html") as page:
        assert page.is_disabled("#previous")
        page.click("#next")
        assert page.inner_text("#count") == f"26 to 50 of {len(run.dataset)}"
        page.click("#previous")
        assert page.inner_text("#rows .place >> nth=0") == "1"


def test_a_text_with_markup_is_shown_as_it_is(chromium, report):
    with open_problems(chromium, report / "index.html") as page:
        assert '"Tom & Jerry" <script>alert(1)</script>' in page.inner_text("#rows .sentence >> nth=0")


def test_a_step_leads_to_the_rewritten_problem_and_back(chromium, run, report):
    with open_problems(chromium, report / "index.html") as page:
        page.click("#rows .step >> nth=0")
        page.wait_for_function("document.querySelectorAll('#rows tr').length === 1")
        assert page.inner_text("#rows .sentence").startswith("Now ")
        page.click("#only")
        assert page.inner_text("#count").endswith(f"of {len(run.dataset)}")


def test_a_group_is_shown_alone(chromium, report):
    with open_problems(chromium, report / "index.html") as page:
        page.click("#rows .link >> nth=2")
        assert page.locator("#rows tr").count() == 2
        assert len(set(page.locator("#rows .group").all_inner_texts())) == 1


def test_the_right_candidate_and_the_chosen_one_are_marked(chromium, run, report):
    problem = run.dataset[1]
    choices = {row.id: row.prediction for row in select_reader(run)}
    chosen_name = problem.candidates[choices[problem.id]]
    with open_problems(chromium, report / "index.html") as page:
        row = page.locator("#rows tr").nth(1)
        assert row.locator(".correct .name").inner_text() == problem.right
        assert row.locator(".chosen .name").inner_text() == chosen_name


def sum_channels(colour: str) -> int:
    """Sum of red, green and blue, from 0 to 765."""
    channels = re.findall(r"\d+", colour)[:3]
    return sum(int(channel) for channel in channels)


def test_the_button_changes_the_theme(chromium, report):
    with opened(chromium, report / "index.html", color_scheme="light") as page:
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.click("#theme")
        after = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum_channels(before) > 600
        assert sum_channels(after) < 200


def test_a_page_sent_without_its_folder_says_what_is_missing(chromium, report, tmp_path):
    lone_page = tmp_path / "index.html"
    lone_page.write_bytes((report / "index.html").read_bytes())
    context = chromium.new_context()
    context.set_default_timeout(1000 * HANGS)
    page = context.new_page()
    page.goto(lone_page.as_uri())
    page.wait_for_selector("#missing:visible")
    assert page.is_visible(".word >> nth=0")
    context.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_do_not_widen_the_page(chromium, one_model, tmp_path, width):
    from dataclasses import replace

    from winokit.data.runs import Run
    from winokit.stages.audit.page import write_report

    name = "hf:/very/long/path/without/a/single/space/" + "checkpoint" * 9
    rows = [replace(row, model=name, note="because" * 12) for row in one_model.metrics]
    predictions = [replace(row, model=name) for row in one_model.predictions]
    suffix = "X" * 60
    problems = [problem.replace(group=f"{problem.group}-{suffix}") for problem in one_model.dataset]
    dataset = one_model.dataset.with_problems(problems)
    path = write_report(Run({"hash": "f" * 300}, rows, predictions, dataset), tmp_path)
    with opened(chromium, path, width) as page:
        unfold_all(page)
        assert measure_overflow(page) == 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_comparison_opens_quietly_and_fits(chromium, run, one_model, tmp_path, width):
    from winokit.methods.metrics.compare import compare
    from winokit.stages.compare.page import write_comparison

    problem_count = len(run.dataset)
    all_right = [True] * problem_count
    two_of_three_right = [index % 3 > 0 for index in range(problem_count)]
    comparison = compare(all_right, two_of_three_right, run.dataset.units)
    path = write_comparison({"one": one_model, "two": run}, {("one", "two", "accuracy"): comparison}, tmp_path)
    with opened(chromium, path, width) as page:
        assert measure_overflow(page) == 0
        assert page.is_visible("text=one is ahead of two")


def test_a_row_opens_to_what_was_said_about_its_problem(chromium, tmp_path, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ReasoningServer("<think>", length=3000) as server:
        spec = f"chat:thinker@{server.url}?max_tokens=4000"
        run = audit("open", spec, protocol="accuracy", limit=4, out=tmp_path / "run", cache="off", shots=1)
    with opened(chromium, run.report, 360) as page:
        page.click("#problems > details > summary")  # always the first option: nothing is decided
        page.locator(".talk summary").nth(1).click()
        page.wait_for_selector(".exchange")
        assert measure_overflow(page) == 0
        transcripts = [row for row in run.transcripts if row.id == run.dataset[1].id]
        prompts = page.locator(".exchange .prompt").all_inner_texts()
        assert prompts == [row.prompt for row in transcripts]
        reply = page.locator(".exchange .reply").first.inner_text()
        assert re.search(
            r"^<think>\nWell,.*characters, which are in transcripts\.jsonl\.gz.*</think>\n\nA$", reply, re.S
        )
        assert page.locator(".exchange .why").all_inner_texts() == ["read as A", "read as A"]
