"""Models behind servers in a suite: a server that was mended, a cell that was done, and what a cell says of both."""

import json

import pytest
from support.knowing import KnowingServer
from support.servers import lists_model, says
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.stages.suite.matrix import lines
from winokit.stages.suite.run import suite

MADE = 1_700_000_000


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def data():
    return winokit.load("open")[:40]


@pytest.fixture
def server(data):
    with KnowingServer(data) as server:
        yield server


def run_suite(server, data, folder, cache=None, **more):
    spec = f"chat:m@{server.url}?delay=0.001&name=m"
    how = {"model": [spec], "data": [data], "protocol": ("accuracy",), "out": folder}
    return suite(**how, cache=cache or folder.parent / "cache", **more)


def value(cell):
    return cell.run.find("accuracy", "all", "accuracy").value


def test_a_mended_server_never_has_its_old_number_shown_again(tmp_path, data, server):
    server.share = 0.0
    (cell,) = run_suite(server, data, tmp_path / "suite").cells
    assert value(cell) == 0.0
    server.share = 0.9
    asked = len(server.bodies)
    (cell,) = run_suite(server, data, tmp_path / "suite").cells
    assert (cell.state, cell.run) == ("failed", None)
    assert "the server answers differently from before" in cell.why
    assert len(server.bodies) - asked <= 5 + 5  # those that differ once more; another try would end alike
    (cell,) = run_suite(server, data, tmp_path / "suite", forget=True).cells
    assert value(cell) == 0.9
    (cell,) = run_suite(server, data, tmp_path / "suite").cells
    assert value(cell) == 0.9


@pytest.mark.parametrize("cache", ["off", None])
def test_a_server_that_names_another_model_gives_the_new_number_by_the_same_command(tmp_path, data, server, cache):
    server.models = lists_model(id="m", created=MADE)
    server.share = 0.0
    run_suite(server, data, tmp_path / "suite", cache)
    server.models = lists_model(id="m", created=MADE + 60)
    server.share = 0.9
    (cell,) = run_suite(server, data, tmp_path / "suite", cache).cells
    assert (value(cell), cell.from_before) == (0.9, "")


def test_without_a_cache_a_cell_of_a_server_that_says_nothing_is_asked_anew(tmp_path, data, server):
    server.share = 0.0
    run_suite(server, data, tmp_path / "suite", "off")
    server.share = 0.9
    (cell,) = run_suite(server, data, tmp_path / "suite", "off").cells
    assert value(cell) == 0.9


def test_a_cell_of_a_server_that_names_its_model_is_read_and_not_asked(tmp_path, data, server):
    server.models = lists_model(id="m", created=MADE)
    run_suite(server, data, tmp_path / "suite", "off")
    (cell,) = run_suite(server, data, tmp_path / "suite", "off").cells
    assert len(server.bodies) == 80
    assert cell.from_before == f"the audit of {cell.of_run[:16].replace('T', ' ')} UTC, read from its folder"
    run_suite(server, data, tmp_path / "suite", "off", forget=True)
    assert len(server.bodies) == 160


def test_replayed_cells_are_marked_on_the_terminal_the_page_the_tables_and_in_json(tmp_path, data, server):
    first = run_suite(server, data, tmp_path / "suite")
    assert "↻" not in "".join(map(str, lines(first)))
    assert "↻" not in (tmp_path / "suite" / "index.html").read_text()
    again = run_suite(server, data, tmp_path / "suite")
    (sentence,) = [line for line in lines(again) if "m: 80 of 80 answers are replayed" in str(line)]
    assert "; 5 of them, asked again, were the same" in sentence
    table = next(iter(lines(again)))
    assert any("↻" in str(cell) for column in table.columns for cell in column.cells)
    page = (tmp_path / "suite" / "index.html").read_text()
    assert f'title="{sentence}"' in page
    assert "answers from the cache, or an audit of before" in page
    for name in ("suite.md", "suite.tex"):
        assert sentence in (tmp_path / "suite" / name).read_text()
    stored = json.loads((tmp_path / "suite" / "suite.json").read_text())
    assert stored["suite"]["replayed"]["m"]["replayed"] == 80
    assert stored["cells"][0]["replayed"]["m"]["asked_again"] == 5
    assert stored["cells"][0]["of_run"] is None


def test_a_cell_of_a_model_on_this_machine_says_when_it_was_run(tmp_path):
    words = ["suite", "open", "--model", "random", "--limit", "10", "--protocol", "accuracy"]
    words += ["--set", f"cache={tmp_path / 'c'}", "--out", str(tmp_path / "suite")]
    assert "↻" not in CliRunner().invoke(app, words).stdout
    again = CliRunner().invoke(app, words).stdout
    assert "↻ not all of it was asked now:\n1 cell read from earlier audits, of 20" in again
    cell = json.loads((tmp_path / "suite" / "suite.json").read_text())["cells"][0]
    assert cell["of_run"].startswith("20")


def test_a_server_that_cannot_be_read_is_asked_twenty_times_and_not_again(tmp_path, data, server):
    server.behaviour = lambda number, body: says("I am a teapot.")
    (cell,) = run_suite(server, data, tmp_path / "suite").cells
    assert (cell.state, len(server.bodies)) == ("failed", 20)
    assert "no choice could be read from any of the first 20 replies" in cell.why


def test_a_server_is_asked_once_in_a_suite_which_model_it_serves(tmp_path, data, server):
    run_suite(server, data, tmp_path / "suite")
    assert server.lookups == 1


def test_a_dry_run_of_a_suite_asks_nobody(tmp_path, data, server):
    run_suite(server, data, tmp_path / "suite")
    bodies = len(server.bodies)
    lookups = server.lookups
    plan = run_suite(server, data, tmp_path / "suite", dry_run=True).plan
    assert (plan["cached"], plan["new"], plan["asked_again"]) == (80, 5, 5)
    assert (len(server.bodies), server.lookups) == (bodies, lookups)
