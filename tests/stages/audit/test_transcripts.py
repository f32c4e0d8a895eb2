"""An audit keeps prompts and replies, tells what its models noticed, and writes no address of a server."""

import gzip
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from support.servers import CoinServer, FlakyServer, ReasoningServer

from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.methods.scoring.transcripts import Transcript, reply_notes
from winokit.stages.audit.run import audit
from winokit.stages.audit.verdict import verdict
from winokit.stages.score.run import score

CUT_OFF_NOTE = "of 16 replies 16 (100.0 %) without a choice (its reply ended before the answer: raise max_tokens)"


@pytest.fixture(autouse=True)
def _set_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def audit_few(spec, folder, cache="off"):
    """Audit of eight problems under one protocol."""
    return audit("open", spec, protocol="accuracy", limit=8, out=folder, cache=cache)


def read_transcripts(folder):
    """Rows of the transcripts in a folder."""
    with gzip.open(folder / "transcripts.jsonl.gz", "rt") as lines:
        return [json.loads(line) for line in lines]


def read_page(folder):
    return (folder / "report" / "index.html").read_text()


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """A server that was asked, its first run and a second one from the cache, with the folder of both."""
    folder = tmp_path_factory.mktemp("replayed")
    with pytest.MonkeyPatch.context() as environment, ReasoningServer("<think>") as server:
        environment.setenv("NO_PROXY", "127.0.0.1")
        environment.delenv("OPENAI_API_KEY", raising=False)
        spec = f"chat:thinker@{server.url}"
        first_run = audit_few(spec, folder / "first", folder / "cache")
        first_count = len(server.bodies)
        second_run = audit_few(spec, folder / "second", folder / "cache")
    return SimpleNamespace(
        server=server, first_run=first_run, first_count=first_count, second_run=second_run, folder=folder
    )


def test_the_note_on_replies_says_how_many_requests_they_are():
    row = Transcript("one", "original", "toy", "ask", "Who?", ("A", "B"), "A", 0, None)
    rows = [row, replace(row, id="two"), replace(row, prompt="Which?")]
    (note,) = reply_notes(rows)
    requests = "(to 2 requests: questions with the same text are asked once)"
    assert note == f"toy (ask): of 3 replies {requests} 3 (100.0 %) read by their text"
    (note,) = reply_notes(rows[1:])
    assert note == "toy (ask): of 2 replies 2 (100.0 %) read by their text"


def test_replies_are_asked_for_once(replayed):
    assert replayed.first_count == 16
    assert len(replayed.server.bodies) == 16 + 5  # five are asked again, and not kept
    assert replayed.second_run.settings["replayed"]["chat:thinker"]["replayed"] == 16


def test_prompt_and_reply_are_kept_whether_asked_now_or_before(replayed):
    first_rows = read_transcripts(replayed.folder / "first")
    second_rows = read_transcripts(replayed.folder / "second")
    prompts_asked = {body["messages"][0]["content"] for body in replayed.server.bodies}
    assert len(replayed.first_run.transcripts) == 16
    assert replayed.second_run.transcripts == replayed.first_run.transcripts
    assert first_rows == second_rows
    assert {row["prompt"] for row in second_rows} == prompts_asked
    assert Run.load(replayed.folder / "second").transcripts == replayed.second_run.transcripts


def test_a_transcript_says_who_was_asked_and_how_the_reply_was_read(replayed):
    row = read_transcripts(replayed.folder / "first")[0]
    scorer = (row["variant"], row["model"], row["scoring"])
    assert row["id"] == replayed.first_run.dataset[0].id
    assert scorer == ("original", "chat:thinker", "ask")
    assert row["reply"].startswith("<think>")
    assert row["options"] == ["A", "B"]
    assert row["choice"] == 0
    assert row["logprobs"] is None
    assert row["why"] is None


def test_a_run_without_transcripts_loads_and_leaves_none_behind(tmp_path):
    with CoinServer() as server:
        audit_few(f"chat:coin@{server.url}", tmp_path / "run")
    scripts = tmp_path / "run" / "report" / "transcripts"
    assert (scripts / "0.js").exists()
    audit_few("random", tmp_path / "run")
    assert not list(scripts.glob("*"))
    assert not (tmp_path / "run" / "transcripts.jsonl.gz").exists()
    assert Run.load(tmp_path / "run").transcripts == []


def test_transcripts_that_are_cut_off_are_refused_in_one_line(tmp_path):
    with CoinServer() as server:
        audit_few(f"chat:coin@{server.url}", tmp_path / "run")
    path = tmp_path / "run" / "transcripts.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BadInput, match="not a run that can be read"):
        Run.load(tmp_path / "run")


@pytest.mark.parametrize("is_cached", [False, True], ids=["asked now", "from the cache"])
def test_thoughts_that_do_not_finish_are_told_in_terminal_results_and_report(tmp_path, is_cached):
    with ReasoningServer(length=40) as server:
        spec = f"chat:thinker@{server.url}?max_tokens=20"
        if is_cached:
            audit_few(spec, None, tmp_path / "cache")
        run = audit_few(spec, tmp_path / "run", tmp_path / "cache")
        scores = score("open", spec, limit=8, cache="off")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert any(CUT_OFF_NOTE in note for note in run.notes)
    assert any(CUT_OFF_NOTE in note for note in scores.notes)
    assert CUT_OFF_NOTE in "; ".join(results["run"]["notes"])
    assert CUT_OFF_NOTE in read_page(tmp_path / "run")
    first_point = verdict(run.metrics).points[0]
    reasons = {row.why for row in run.predictions}
    assert run.find("accuracy", "all", "abstained").details["unfinished"] == 1
    assert "of problems ended before the answer: raise max_tokens" in first_point.text
    assert reasons == {"its reply ended before the answer: raise max_tokens"}


def test_what_a_server_does_not_give_is_told_after_it_was_asked(tmp_path):
    with CoinServer() as server:
        run = audit_few(f"chat:coin@{server.url}", tmp_path / "run")
    plan = "chat:coin: its plan: by parsed answers; the server gives no log-probabilities"
    assert any(note.startswith(plan) for note in run.notes)
    assert plan in read_page(tmp_path / "run")


def read_files(folder):
    """Contents of all files below a folder by path, unpacked where they are packed."""
    contents = {}
    for path in folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            contents[path] = gzip.decompress(content) if path.suffix == ".gz" else content
    return contents


def test_no_address_is_written_and_a_name_is_shown(tmp_path):
    folder = tmp_path / "run"
    with CoinServer() as server, CoinServer(seed=1) as second_server:
        specs = [f"chat:coin@{server.url}", f"chat:coin@{second_server.url}?name=Other%20coin"]
        audit("open", specs, protocol=["accuracy"], limit=8, out=folder, cache="off")
    models = {row.model for row in Run.load(folder).predictions}
    assert models == {"chat:coin", "Other coin"}
    for path, content in read_files(folder).items():
        assert b"127.0.0.1" not in content, path
    assert "Other coin" in read_page(folder)


def test_two_servers_of_one_name_are_refused():
    with CoinServer() as server, CoinServer(seed=1) as second_server:
        specs = [f"chat:coin@{server.url}", f"chat:coin@{second_server.url}"]
        with pytest.raises(BadInput, match=r"two models are called 'chat:coin': .*\?name="):
            audit("open", specs, limit=8, cache="off")


def test_a_run_under_random_refusals_and_failures_ends_as_one_without(tmp_path):
    troubles = ("429", "500", "503", "html", "half", "null", "hangs up")
    with FlakyServer(CoinServer(), 0.3, troubles) as flaky:
        troubled_run = audit_few(f"chat:coin@{flaky.url}?delay=0.001&retries=20", None)
    with CoinServer() as sound:
        calm_run = audit_few(f"chat:coin@{sound.url}", None)
    troubled_choices = [row.prediction for row in troubled_run.predictions]
    calm_choices = [row.prediction for row in calm_run.predictions]
    assert flaky.failed
    assert troubled_choices == calm_choices
