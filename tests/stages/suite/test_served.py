"""Cells of models behind servers are replayed while the server is the same, and say so."""

import json

import pytest
from support.knowing import KnowingServer
from support.servers import lists_model, says
from typer.testing import CliRunner

import winokit
from winokit.cli.main import app
from winokit.stages.suite.matrix import lines
from winokit.stages.suite.run import suite

CREATED = 1_700_000_000


@pytest.fixture(autouse=True)
def _clear_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def data():
    return winokit.load("open")[:40]


@pytest.fixture
def server(data):
    with KnowingServer(data) as server:
        yield server


def run_suite(server, data, folder, cache=None, **settings):
    """A suite of the model behind a server, with a cache beside its folder unless another is given."""
    spec = f"chat:m@{server.url}?delay=0.001&name=m"
    cache = cache or folder.parent / "cache"
    return suite(model=[spec], data=[data], protocol=("accuracy",), out=folder, cache=cache, **settings)


def run_cell(server, data, folder, cache=None, **settings):
    """The only cell of a suite of the model behind a server."""
    (cell,) = run_suite(server, data, folder, cache, **settings).cells
    return cell


def accuracy_of(cell):
    return cell.run.find("accuracy", "all", "accuracy").value


@pytest.fixture
def folder(tmp_path):
    """Folder of a suite."""
    return tmp_path / "suite"


def test_a_mended_server_never_has_its_old_number_shown_again(folder, data, server):
    server.share = 0.0
    cell = run_cell(server, data, folder)
    assert accuracy_of(cell) == 0.0
    server.share = 0.9
    request_count = len(server.bodies)
    cell = run_cell(server, data, folder)
    new_requests = len(server.bodies) - request_count
    assert (cell.state, cell.run) == ("failed", None)
    assert "the server answers differently from before" in cell.why
    assert new_requests <= 5 + 5  # those that differ once more; another try would end alike
    cell = run_cell(server, data, folder, forget=True)
    assert accuracy_of(cell) == 0.9
    cell = run_cell(server, data, folder)
    assert accuracy_of(cell) == 0.9


@pytest.mark.parametrize("cache", ["off", None])
def test_a_server_that_names_another_model_gives_the_new_number_by_the_same_command(folder, data, server, cache):
    server.models = lists_model(id="m", created=CREATED)
    server.share = 0.0
    run_suite(server, data, folder, cache)
    server.models = lists_model(id="m", created=CREATED + 60)
    server.share = 0.9
    cell = run_cell(server, data, folder, cache)
    assert (accuracy_of(cell), cell.from_before) == (0.9, "")


def test_without_a_cache_a_cell_of_a_server_that_says_nothing_is_asked_anew(folder, data, server):
    server.share = 0.0
    run_suite(server, data, folder, "off")
    server.share = 0.9
    cell = run_cell(server, data, folder, "off")
    assert accuracy_of(cell) == 0.9


def test_a_cell_of_a_server_that_names_its_model_is_read_and_not_asked(folder, data, server):
    server.models = lists_model(id="m", created=CREATED)
    run_suite(server, data, folder, "off")
    cell = run_cell(server, data, folder, "off")
    run_time = cell.of_run[:16].replace("T", " ")
    assert len(server.bodies) == 80
    assert cell.from_before == f"the audit of {run_time} UTC, read from its folder"
    run_suite(server, data, folder, "off", forget=True)
    assert len(server.bodies) == 160


def test_a_suite_that_asked_everything_has_no_mark_of_replay(folder, data, server):
    result = run_suite(server, data, folder)
    page = (folder / "index.html").read_text()
    assert "↻" not in "".join(map(str, lines(result)))
    assert "↻" not in page


def test_replayed_cells_are_marked_on_the_terminal_the_page_the_tables_and_in_json(folder, data, server):
    run_suite(server, data, folder)
    replayed = run_suite(server, data, folder)
    terminal_lines = list(lines(replayed))
    (sentence,) = [line for line in terminal_lines if "m: 80 of 80 answers are replayed" in str(line)]
    assert "; 5 of them, asked again, were the same" in sentence
    columns = [" ".join(map(str, column.cells)) for column in terminal_lines[0].columns]
    assert any("↻" in column for column in columns)

    page = (folder / "index.html").read_text()
    assert f'title="{sentence}"' in page
    assert "answers from the cache, or an audit of before" in page
    assert sentence in (folder / "suite.md").read_text()
    assert sentence in (folder / "suite.tex").read_text()

    stored = json.loads((folder / "suite.json").read_text())
    stored_cell = stored["cells"][0]
    assert stored["suite"]["replayed"]["m"]["replayed"] == 80
    assert stored_cell["replayed"]["m"]["asked_again"] == 5
    assert stored_cell["of_run"] is None


def test_a_cell_of_a_model_on_this_machine_says_when_it_was_run(folder, tmp_path):
    command = ["suite", "open", "--model", "random", "--limit", "10", "--protocol", "accuracy"]
    command += ["--set", f"cache={tmp_path / 'c'}", "--out", str(folder)]
    first_output = CliRunner().invoke(app, command).stdout
    second_output = CliRunner().invoke(app, command).stdout
    stored = json.loads((folder / "suite.json").read_text())
    assert "↻" not in first_output
    assert "↻ not all of it was asked now:\n1 cell read from earlier audits, of 20" in second_output
    assert stored["cells"][0]["of_run"].startswith("20")


def test_a_server_that_cannot_be_read_is_asked_twenty_times_and_not_again(folder, data, server):
    server.behaviour = lambda number, body: says("I am a teapot.")
    cell = run_cell(server, data, folder)
    assert (cell.state, len(server.bodies)) == ("failed", 20)
    assert "no choice could be read from any of the first 20 replies" in cell.why


def test_a_server_is_asked_once_in_a_suite_which_model_it_serves(folder, data, server):
    run_suite(server, data, folder)
    assert server.lookups == 1


def test_a_dry_run_of_a_suite_asks_nobody(folder, data, server):
    run_suite(server, data, folder)
    request_count = len(server.bodies)
    lookup_count = server.lookups
    plan = run_suite(server, data, folder, dry_run=True).plan
    assert (plan["cached"], plan["new"], plan["asked_again"]) == (80, 5, 5)
    assert len(server.bodies) == request_count
    assert server.lookups == lookup_count
