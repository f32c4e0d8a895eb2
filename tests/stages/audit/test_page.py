"""The page has every number of results.json, fetches nothing from the network and escapes all names."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from winokit.data.runs import Run
from winokit.drawing.page import environment
from winokit.drawing.plots import Forest, scorers
from winokit.drawing.protocols import TITLES
from winokit.drawing.wording import SHARE, kind
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Card, Dataset, Problem
from winokit.results import Metric
from winokit.stages.audit.page import AuditPage, write_report

FETCHING_ATTRIBUTES = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "object": "data",
    "link": "href",
}
EMPTY_TAGS = {"meta", "link", "img", "input", "br", "hr"}
RowName = tuple[str | None, ...]
"""Model, scoring, formalization, protocol, subset and metric of a row."""


@dataclass
class Page(HTMLParser):
    """Tags of a page in order, with its words and the tags still open."""

    html: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.html)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY_TAGS:
            self.open.append(tag)

    def handle_endtag(self, tag) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data) -> None:
        if not {"script", "style"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    @property
    def ids(self) -> set[str | None]:
        return {attrs["id"] for _, attrs in self.tags if "id" in attrs}

    @property
    def values(self) -> list[float]:
        """Exact values of all numbers in plots, tiles and tables."""
        return [float(attrs["value"]) for tag, attrs in self.tags if tag == "data"]

    def collect_rows(self) -> dict[RowName, list[float]]:
        """Collect the exact values in the table of all numbers: value, low and high, by the row's name."""
        rows: dict[RowName, list[float]] = {}
        for tag, attrs in self.tags:
            if "data-row" in attrs:
                name = tuple(json.loads(attrs["data-row"]))
                values = rows.setdefault(name, [])
            elif tag == "details" or tag == "section":
                values = []
            elif tag == "data" and rows:
                values.append(float(attrs["value"]))
        return rows

    def get_first_screen(self) -> str:
        """HTML before the navigation."""
        return self.html.split("<nav")[0]

    def get_section(self, name: str) -> str:
        """HTML of a section from its name on."""
        start = self.html.split(f'<section id="{name}"')[1]
        return start.split("</section>")[0]

    def get_legend(self, section: str) -> str:
        """HTML of the legend of a section's plot."""
        start = self.html.split(f'<section id="{section}">')[1]
        legend = start.split('<p class="legend">')[1]
        return legend.split("</p>")[0]


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page((report / "index.html").read_text("utf-8"))


def render_page(run: Run) -> Page:
    template = environment().get_template("stages/audit/page.html.j2")
    return Page(template.render(page=AuditPage(run), scripts=[]))


def select_protocols(run: Run, *protocols: str) -> list[Metric]:
    """Rows of these protocols."""
    return [row for row in run.metrics if row.protocol in protocols]


def test_every_metric_is_on_the_page_to_the_last_digit(run, page):
    values_on_page = page.collect_rows()
    assert len(values_on_page) == len(run.metrics)
    for row in run.metrics:
        name = (row.model, row.scoring, row.formalization, row.protocol, row.subset, row.metric)
        values = [row.value]
        if row.low is not None:
            values += [row.low, row.high]
        assert values_on_page[name] == values


def test_rows_of_twins_switching_and_luck_have_names_for_people(run):
    """Names of other rows are put together from their parts, and these would be put together badly."""
    rows = select_protocols(run, "groups", "switching", "luck")
    names = {f"{row.protocol}/{row.subset}/{row.metric}" for row in rows}
    assert names
    assert names - set(TITLES) == set()


@pytest.mark.parametrize("metric", ["told_apart", "right_way_round"])
def test_shares_of_twins_are_shares_even_where_nothing_is_known_of_chance(metric):
    assert kind(metric, None, 0.0) == SHARE


def test_the_page_says_the_same_numbers_as_results_json_after_a_round_trip(run, tmp_path):
    run.save(tmp_path)
    results = json.loads((tmp_path / "results.json").read_text())
    values_in_file = [row["value"] for row in results["metrics"]]
    rows_on_page = render_page(Run.load(tmp_path)).collect_rows()
    values_on_page = [values[0] for values in rows_on_page.values()]
    assert sorted(values_on_page) == sorted(values_in_file)


def test_plots_and_tiles_show_values_of_rows_only(run, page):
    values_of_rows = set()
    for row in run.metrics:
        values_of_rows |= {row.value, row.low, row.high}
    assert set(page.values) <= values_of_rows


def test_a_legend_names_only_the_models_of_its_own_plot(run):
    """The model that has no switched sentences is named where all are compared, and not beside the switched ones."""
    accuracy_rows = select_protocols(run, "accuracy")
    rows_of_another = [replace(row, model="another") for row in accuracy_rows]
    page = render_page(replace(run, metrics=[*run.metrics, *rows_of_another]))
    assert "another" in page.get_legend("protocols")
    assert "another" not in page.get_legend("switching")
    assert "another" not in page.get_legend("artifacts")


def test_tags_close_in_order(page):
    assert page.open == []


def test_ids_are_unique(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_links_within_the_page_lead_somewhere(page):
    addresses = [attrs["href"] for tag, attrs in page.tags if tag == "a"]
    targets = {address.removeprefix("#") for address in addresses if address.startswith("#")}
    assert targets
    assert targets <= page.ids


def test_nothing_is_fetched_by_a_tag(page):
    tags = [(tag, attrs) for tag, attrs in page.tags if tag in FETCHING_ATTRIBUTES]
    addresses = [attrs.get(FETCHING_ATTRIBUTES[tag]) for tag, attrs in tags]
    assert not [address for address in addresses if address and not address.startswith("data:")]


def test_nothing_is_fetched_by_a_style_or_a_script(report, page):
    scripts = [path.read_text() for path in report.rglob("*.js")]
    for text in [page.html, *scripts]:
        assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|sendBeacon|new Worker", text)


def test_files_named_on_the_page_are_there(report, page):
    script_list = re.search(r'id="scripts">(.*?)</script>', page.html)[1]
    names = json.loads(script_list)
    assert names
    assert all((report / name).is_file() for name in names)


def test_names_and_reasons_are_escaped(page):
    assert "reader <1>" not in page.html
    assert "reader &lt;1&gt;" in page.html
    assert "a candidate is named twice &amp; more" in page.html
    assert "alert(1)" not in page.html


def test_what_was_left_out_and_the_settings_are_told(page):
    assert "labelled not switchable" in page.text
    assert "data.hash" in page.text


def test_each_protocol_that_was_run_is_cited(page):
    assert "Trichelair et al., 2018" in page.text
    assert "Elazar et al., 2021" in page.text
    citations = page.text.split("How to cite")[1]
    assert "Abdou et al., 2020; " not in citations.split("Switching")[1]


@pytest.mark.parametrize(
    "protocol",
    ["accuracy", "groups", "switching", "association", "artifacts", "special-word", "gender", "position", "luck"],
)
def test_one_protocol_alone_makes_a_page(run, protocol):
    rows = select_protocols(run, protocol)
    page = render_page(Run(run.settings, rows, [], run.dataset))
    assert page.open == []
    assert len(page.collect_rows()) == len(rows)
    assert page.ids >= {"verdict", "numbers", "run", "cite"}


def test_a_protocol_nobody_knows_is_shown_under_its_own_name(run):
    row = replace(run.metrics[0], protocol="wild_idea", subset="some_part", metric="accuracy")
    page = render_page(Run({}, [row], [], run.dataset))
    assert "Wild idea" in page.text
    assert "Some part" in page.text


def test_a_run_without_rows_or_predictions_still_makes_a_report(run, tmp_path):
    path = write_report(Run({}, [], [], run.dataset[:2]), tmp_path)
    assert path == tmp_path / "index.html"
    assert "Nothing was left out." in Page(path.read_text("utf-8")).text


def test_problems_without_answers_and_with_many_candidates_are_shown(tmp_path):
    without_answer = Problem("Ann saw ", " run.", ("Bo", "Cy", "Di"))
    with_answer = Problem("Bo saw ", " run.", ("Ann", "Cy", "Di"), 2)
    problems = [without_answer, with_answer]
    scores = (0.1, float("nan"), 0.3)
    predictions = [Prediction(problem.id, "original", "m", "full", scores, 2, problem.answer) for problem in problems]
    path = write_report(Run({}, [], predictions, Dataset(problems, Card("tiny"))), tmp_path)
    assert "chose third" in Page(path.read_text("utf-8")).text
    assert '["u",2,[0.1,null,0.3]]' in (tmp_path / "problems" / "0.js").read_text()


def read_files(folder: Path) -> dict[str, bytes]:
    """Contents of all files in a folder, by their paths in it."""
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_the_same_run_gives_the_same_files(one_model, tmp_path):
    for name in ("one", "two"):
        write_report(one_model, tmp_path / name)
    files = read_files(tmp_path / "one")
    second_files = read_files(tmp_path / "two")
    different_names = [name for name, content in files.items() if content != second_files[name]]
    assert len(files) > 5
    assert not different_names


def test_the_first_screen_has_one_table_and_a_sentence_for_each_scorer(page, run):
    first_screen = page.get_first_screen()
    scorer_count = len(scorers(run))
    assert first_screen.count('class="compare"') == 1
    assert first_screen.count('<th scope="row" class="who">') == scorer_count
    assert first_screen.count('class="headline"') == scorer_count
    assert "<article" not in first_screen
    assert "A coin" in first_screen


def test_six_more_failed_pairs_are_shown(page):
    assert page.get_section("failures").count('class="failed"') == 6


def test_every_problem_is_folded_away(page):
    assert "<details><summary>" in page.get_section("problems")


def list_line_titles(forests: Iterable[Forest]) -> list[tuple[str, str]]:
    """Titles of all lines, each after the title of its block."""
    titles = []
    for forest in forests:
        for block in forest.blocks:
            titles += [(block.title, line.title) for line in block.lines]
    return titles


def test_no_row_is_drawn_twice(run):
    """Switching and artifacts have sections of their own, and others are folded away."""
    page = AuditPage(run)
    forests = [page.protocols, page.switching, page.artifacts, page.finer, page.differences, *page.folded]
    titles = list_line_titles(forests)
    assert len(titles) == len(set(titles))
    block_titles = {block_title for block_title, _ in titles}
    assert {block.title for block in page.forest.blocks} <= block_titles


def test_position_and_special_word_are_folded_away(run):
    titles = set()
    for forest in AuditPage(run).folded:
        titles |= {block.title for block in forest.blocks}
    assert titles >= {"Position", "Special word"}


@pytest.mark.parametrize("name", ["run", "cite"])
def test_settings_and_sources_are_folded_away(page, name):
    section = page.get_section(name)
    assert section.index("<details") < section.index("<table")


def test_the_null_of_each_scorer_is_drawn_once_beside_its_verdict(run):
    details = {"null": 0.5, "null_error": 0.03, "p": 0.4}
    rows_with_null = []
    for row in select_protocols(run, "accuracy"):
        if (row.subset, row.metric) == ("all", "accuracy"):
            rows_with_null.append(replace(row, details=details))
    page = render_page(Run({}, rows_with_null, [], run.dataset))
    assert len(rows_with_null) > 1
    assert page.html.count('<svg class="hill') == len(rows_with_null)
    assert page.get_first_screen().count('<svg class="hill') == len(rows_with_null)


@pytest.mark.parametrize("protocol", ["position", "luck", "special-word"])
def test_a_protocol_that_was_asked_for_by_name_is_on_the_first_screen(run, protocol):
    rows = select_protocols(run, protocol)
    page = render_page(Run({"protocols_named": True}, rows, [], run.dataset))
    table = page.get_first_screen().split('class="plain asked"')[1]
    values = {float(text) for text in re.findall(r'<data value="([^"]+)"', table)}
    assert values
    assert values <= {row.value for row in rows}


def test_a_protocol_that_was_asked_for_by_name_is_not_folded_away(run):
    rows = select_protocols(run, "accuracy", "position")
    page = AuditPage(Run({"protocols_named": True}, rows, [], run.dataset))
    assert page.folded == []
    assert "Position" in {block.title for block in page.protocols.blocks}
    unnamed_page = AuditPage(Run({}, rows, [], run.dataset))
    assert unnamed_page.folded != []


def test_of_the_usual_protocols_the_first_screen_has_no_second_table(page):
    assert 'class="plain asked"' not in page.html
