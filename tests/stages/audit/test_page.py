"""The page by its structure: every number of results.json, nothing fetched, nothing unescaped, nothing presumed."""

import json
import re
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from winokit.data.runs import Run
from winokit.drawing.page import environment
from winokit.drawing.plots import scorers
from winokit.drawing.protocols import TITLES
from winokit.drawing.wording import SHARE, kind
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import Card, Dataset, Problem
from winokit.stages.audit.failures import find_failures
from winokit.stages.audit.page import AuditPage, write_report

FETCHING = {"script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data", "link": "href"}
EMPTY = {"meta", "link", "img", "input", "br", "hr"}


@dataclass
class Page(HTMLParser):
    """Tags in order, with what a test asks about them."""

    html: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.html)

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in EMPTY:
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

    def rows(self) -> dict[tuple, list[str]]:
        """The exact values in the table of all numbers, by the row's name: value, low, high."""
        found: dict[tuple, list[str]] = {}
        for tag, attrs in self.tags:
            if "data-row" in attrs:
                values = found.setdefault(tuple(json.loads(attrs["data-row"])), [])
            elif tag == "details" or tag == "section":
                values = []
            elif tag == "data" and found:
                values.append(attrs["value"])
        return found


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page((report / "index.html").read_text("utf-8"))


def rendered(run: Run) -> Page:
    return Page(environment().get_template("stages/audit/page.html.j2").render(page=AuditPage(run), scripts=[]))


def test_every_metric_is_on_the_page_to_the_last_digit(run, page):
    shown = page.rows()
    assert len(shown) == len(run.metrics)
    for row in run.metrics:
        name = (row.model, row.scoring, row.formalization, row.protocol, row.subset, row.metric)
        exact = [row.value] if row.low is None else [row.value, row.low, row.high]
        assert [float(value) for value in shown[name]] == exact


def test_rows_of_twins_switching_and_luck_have_names_for_people(run):
    """Connectives and such have names that are put together; these would be put together badly."""
    rows = [row for row in run.metrics if row.protocol in ("groups", "switching", "luck")]
    names = {f"{row.protocol}/{row.subset}/{row.metric}" for row in rows}
    assert names
    assert names - set(TITLES) == set()


def test_shares_of_twins_are_shares_even_where_nothing_is_known_of_chance():
    assert {kind(name, None, 0.0) for name in ("told_apart", "right_way_round")} == {SHARE}


def test_the_page_says_the_same_numbers_as_results_json_after_a_round_trip(run, tmp_path):
    run.save(tmp_path)
    saved = json.loads((tmp_path / "results.json").read_text())["metrics"]
    shown = rendered(Run.load(tmp_path)).rows()
    assert sorted(float(values[0]) for values in shown.values()) == sorted(row["value"] for row in saved)


def test_plots_and_tiles_show_values_of_rows_only(run, page):
    known = {row.value for row in run.metrics} | {end for row in run.metrics for end in (row.low, row.high)}
    shown = {float(attrs["value"]) for tag, attrs in page.tags if tag == "data"}
    assert shown <= known


def legend(page, section):
    part = page.html.split(f'<section id="{section}">')[1].split('<p class="legend">')[1]
    return part.split("</p>")[0]


def test_a_legend_names_only_the_models_of_its_own_plot(run):
    """The model that has no switched sentences is named where all are compared, and not beside the switched ones."""
    more = [replace(row, model="another") for row in run.metrics if row.protocol == "accuracy"]
    page = rendered(replace(run, metrics=[*run.metrics, *more]))
    assert "another" in legend(page, "protocols")
    assert "another" not in legend(page, "switching")
    assert "another" not in legend(page, "artifacts")


def test_tags_close_in_order(page):
    assert page.open == []


def test_ids_are_unique(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_links_within_the_page_lead_somewhere(page):
    inside = {attrs["href"][1:] for tag, attrs in page.tags if tag == "a" and attrs["href"].startswith("#")}
    assert inside
    assert inside <= page.ids


def test_nothing_is_fetched_from_the_network(report, page):
    fetched = [attrs.get(FETCHING[tag]) for tag, attrs in page.tags if tag in FETCHING]
    assert not [address for address in fetched if address and not address.startswith("data:")]
    for style in [page.html, *(path.read_text() for path in report.rglob("*.js"))]:
        assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|sendBeacon|new Worker", style)


def test_files_named_on_the_page_are_there(report, page):
    scripts = json.loads(re.search(r'id="scripts">(.*?)</script>', page.html)[1])
    assert scripts
    assert all((report / name).is_file() for name in scripts)


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
    assert "Abdou et al., 2020; " not in page.text.split("How to cite")[1].split("Switching")[1]


@pytest.mark.parametrize(
    "protocol",
    ["accuracy", "groups", "switching", "association", "artifacts", "special-word", "gender", "position", "luck"],
)
def test_one_protocol_alone_makes_a_page(run, protocol):
    rows = [row for row in run.metrics if row.protocol == protocol]
    page = rendered(Run(run.settings, rows, [], run.dataset))
    assert page.open == []
    assert len(page.rows()) == len(rows)
    assert page.ids >= {"verdict", "numbers", "run", "cite"}


def test_a_protocol_nobody_knows_is_shown_under_its_own_name(run):
    row = run.metrics[0]
    page = rendered(
        Run({}, [replace(row, protocol="wild_idea", subset="some_part", metric="accuracy")], [], run.dataset)
    )
    assert "Wild idea" in page.text
    assert "Some part" in page.text


def test_a_run_without_rows_or_predictions_still_makes_a_report(run, tmp_path):
    path = write_report(Run({}, [], [], run.dataset[:2]), tmp_path)
    assert path == tmp_path / "index.html"
    assert "Nothing was left out." in Page(path.read_text("utf-8")).text


def test_problems_without_answers_and_with_many_candidates_are_shown(tmp_path):
    hidden = Problem("Ann saw ", " run.", ("Bo", "Cy", "Di"))
    known = Problem("Bo saw ", " run.", ("Ann", "Cy", "Di"), 2)
    made = [Prediction(p.id, "original", "m", "full", (0.1, float("nan"), 0.3), 2, p.answer) for p in (hidden, known)]
    path = write_report(Run({}, [], made, Dataset([hidden, known], Card("tiny"))), tmp_path)
    assert "chose third" in Page(path.read_text("utf-8")).text
    assert '["u",2,[0.1,null,0.3]]' in (tmp_path / "problems" / "0.js").read_text()


def test_the_same_run_gives_the_same_files(one_model, tmp_path):
    for name in ("one", "two"):
        write_report(one_model, tmp_path / name)
    files = [path.relative_to(tmp_path / "one") for path in (tmp_path / "one").rglob("*") if path.is_file()]
    assert len(files) > 5
    different = [f for f in files if (tmp_path / "one" / f).read_bytes() != (tmp_path / "two" / f).read_bytes()]
    assert not different


def pair_run(**chosen):
    """Two pairs, and what scorers chose of their four problems."""
    first = ("The cup does not fit the box because ", " is too ", ("the cup", "the box"))
    second = ("Ann thanked Eve because ", " had ", ("Ann", "Eve"))
    problems = [
        Problem(before, f"{after}{word}.", candidates, answer, group=group)
        for group, (before, after, candidates), words in (
            ("a", first, ("big", "small")),
            ("b", second, ("got", "given")),
        )
        for answer, word in enumerate(words)
    ]
    rows = [
        Prediction(problem.id, "original", name, "own", None, choice, problem.answer)
        for name, choices in chosen.items()
        for problem, choice in zip(problems, choices, strict=True)
    ]
    return Run({}, [], rows, Dataset(problems))


def test_the_pair_shown_is_the_one_that_most_fail_with_its_special_words_marked():
    run = pair_run(one=(0, 0, 0, 0), two=(0, 1, 1, 1), three=(0, 1, 0, 1))
    ann, eve = find_failures(run, scorers(run), 1)[0].texts
    assert ann.parts == (("Ann thanked Eve because ", False), (None, False), (" had", False), (" got.", True))
    assert eve.parts[-1] == (" given.", True)
    assert (ann.right, eve.right) == ("Ann", "Eve")
    assert ann.choices == (("one", "Ann", True), ("two", "Eve", False), ("three", "Ann", True))
    assert eve.choices == (("one", "Ann", False), ("two", "Eve", True), ("three", "Eve", True))


def test_the_pair_shown_has_the_spaces_of_its_text_and_in_japanese_none():
    texts = ("猫は犬を追った。", "が速かった。"), ("猫は犬を追った。", "が遅かった。")
    twins = [Problem(*text, ("猫", "犬"), at, group="a", language="ja") for at, text in enumerate(texts)]
    twins += [
        Problem("Ann told Eve that ", f", {w} one, left.", ("Ann", "Eve"), 0, "she", group="b") for w in ("a", "no")
    ]
    for pair, parts in (
        (twins[:2], ((texts[0][0], False), (None, False), ("が", False), ("速", True), ("かった。", False))),
        (twins[2:], ((twins[2].before, False), (None, False), (",", False), (" a", True), (" one, left.", False))),
    ):
        rows = [Prediction(each.id, "original", "one", "own", None, 1 - each.answer, each.answer) for each in pair]
        run = Run({}, [], rows, Dataset(pair))
        shown = find_failures(run, scorers(run), 1)[0].texts[0]
        assert (shown.parts, shown.language) == (parts, pair[0].language)


@pytest.mark.parametrize("choices", [(0, 1, 0, 1), (None, 0, 0, None)])
def test_no_pair_is_shown_that_nobody_fails_or_answers_in_full(choices):
    run = pair_run(one=choices)
    assert find_failures(run, scorers(run), 6) == []


def test_the_first_screen_has_one_table_and_a_sentence_for_each_scorer(page, run):
    first = page.html.split("<nav")[0]
    assert first.count('class="compare"') == 1
    assert first.count('<th scope="row" class="who">') == len(scorers(run)) == first.count('class="headline"')
    assert "<article" not in first
    assert "A coin" in first


def test_mistakes_that_are_surest_come_first_among_pairs_that_as_many_fail():
    run = pair_run(one=(0, 0, 0, 0))
    scores = [(0.1, 0.0), (0.2, 0.0), (0.1, 0.0), (0.9, 0.0)]
    surer = [replace(row, scores=pair) for row, pair in zip(run.predictions, scores, strict=True)]
    run = replace(run, predictions=surer)
    assert [failure.texts[0].right for failure in find_failures(run, scorers(run), 6)] == ["Ann", "the cup"]


def test_of_problems_without_pairs_single_ones_are_shown_without_marks():
    run = pair_run(one=(0, 0, 0, 1))
    alone = run.dataset.with_problems(problem.replace(group=None) for problem in run.dataset)
    run = replace(run, dataset=alone)
    (failure,) = find_failures(run, scorers(run), 6)
    assert [text.right for text in failure.texts] == ["the box"]
    assert not any(special for text in failure.texts for _, special in text.parts)


def section_of(page, name):
    return page.html.split(f'<section id="{name}"')[1].split("</section>")[0]


def test_six_more_failed_pairs_are_shown_and_every_problem_is_folded_away(page, run):
    assert section_of(page, "failures").count('class="failed"') == 6
    assert "<details><summary>" in section_of(page, "problems")


def test_no_row_is_drawn_twice(run):
    """Switching and artifacts have sections of their own, and others are folded away."""
    page = AuditPage(run)
    forests = [page.protocols, page.switching, page.artifacts, page.finer, page.differences, *page.folded]
    titles = [(block.title, line.title) for each in forests for block in each.blocks for line in block.lines]
    assert len(titles) == len(set(titles))
    assert {title for block in page.forest.blocks for title in [block.title]} <= {title for title, _ in titles}
    assert {block.title for each in page.folded for block in each.blocks} >= {"Position", "Special word"}


def test_settings_and_sources_are_folded_away(page):
    for name in ("run", "cite"):
        section = section_of(page, name)
        assert section.index("<details") < section.index("<table")


def test_the_null_of_each_scorer_is_drawn_once_beside_its_verdict(run):
    details = {"null": 0.5, "null_error": 0.03, "p": 0.4}
    with_null = [
        replace(row, details=details)
        for row in run.metrics
        if (row.protocol, row.subset, row.metric) == ("accuracy", "all", "accuracy")
    ]
    page = rendered(Run({}, with_null, [], run.dataset))
    assert page.html.count('<svg class="hill') == len(with_null) > 1
    assert page.html.split("<nav")[0].count('<svg class="hill') == len(with_null)


@pytest.mark.parametrize("protocol", ["position", "luck", "special-word"])
def test_a_protocol_that_was_asked_for_by_name_is_on_the_first_screen(run, protocol):
    rows = [row for row in run.metrics if row.protocol == protocol]
    page = rendered(Run({"protocols_named": True}, rows, [], run.dataset))
    table = page.html.split("<nav")[0].split('class="plain asked"')[1]
    shown = re.findall(r'<data value="([^"]+)"', table)
    assert shown
    assert {float(value) for value in shown} <= {row.value for row in rows}


def test_a_protocol_that_was_asked_for_by_name_is_not_folded_away(run):
    rows = [row for row in run.metrics if row.protocol in ("accuracy", "position")]
    named = AuditPage(Run({"protocols_named": True}, rows, [], run.dataset))
    assert named.folded == []
    assert "Position" in {block.title for block in named.protocols.blocks}
    assert AuditPage(Run({}, rows, [], run.dataset)).folded != []


def test_of_the_usual_protocols_the_first_screen_has_no_second_table(page):
    assert 'class="plain asked"' not in page.html
