"""What was said is kept, whoever answered; what the models noticed is told; where they are is not."""

import gzip
import json

import pytest
from support.servers import CoinServer, FlakyServer, ReasoningServer

from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.stages.audit.run import audit
from winokit.stages.audit.verdict import verdict
from winokit.stages.score.run import score

CUT = "of 16 replies 16 (100.0 %) without a choice (its reply ended before the answer: raise max_tokens)"


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def audited(spec, folder, cache="off"):
    return audit("open", spec, protocol="accuracy", limit=8, out=folder, cache=cache)


def rows(folder):
    return [json.loads(line) for line in gzip.open(folder / "transcripts.jsonl.gz", "rt")]


def test_prompt_and_reply_are_kept_whether_asked_now_or_before(tmp_path):
    with ReasoningServer("<think>") as server:
        first = audited(f"chat:thinker@{server.url}", tmp_path / "first", tmp_path / "cache")
        asked = len(server.bodies)
        again = audited(f"chat:thinker@{server.url}", tmp_path / "again", tmp_path / "cache")
        assert again.settings["replayed"]["chat:thinker"]["replayed"] == 16
    assert asked == len(server.bodies) - 5 == len(first.transcripts) == 16  # five are asked again, and not kept
    assert rows(tmp_path / "first") == rows(tmp_path / "again")
    row = rows(tmp_path / "first")[0]
    assert (row["id"], row["variant"], row["model"], row["scoring"]) == (
        first.dataset[0].id,
        "original",
        "chat:thinker",
        "ask",
    )
    assert {body["messages"][0]["content"] for body in server.bodies} == {r["prompt"] for r in rows(tmp_path / "again")}
    assert row["reply"].startswith("<think>")
    assert (row["options"], row["choice"], row["logprobs"], row["why"]) == (["A", "B"], 0, None, None)
    assert Run.load(tmp_path / "again").transcripts == again.transcripts == first.transcripts


def test_a_run_without_transcripts_loads_and_leaves_none_behind(tmp_path):
    with CoinServer() as server:
        audited(f"chat:coin@{server.url}", tmp_path / "run")
    assert (tmp_path / "run" / "report" / "transcripts" / "0.js").exists()
    audited("random", tmp_path / "run")
    assert not list((tmp_path / "run" / "report").glob("transcripts/*"))
    assert not (tmp_path / "run" / "transcripts.jsonl.gz").exists()
    assert Run.load(tmp_path / "run").transcripts == []


def test_transcripts_that_are_cut_off_are_refused_in_one_line(tmp_path):
    with CoinServer() as server:
        audited(f"chat:coin@{server.url}", tmp_path / "run")
    file = tmp_path / "run" / "transcripts.jsonl.gz"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(BadInput, match="not a run that can be read"):
        Run.load(tmp_path / "run")


@pytest.mark.parametrize("cached", [False, True])
def test_thoughts_that_do_not_finish_are_told_in_terminal_results_and_report(tmp_path, cached):
    with ReasoningServer(length=40) as server:
        spec = f"chat:thinker@{server.url}?max_tokens=20"
        if cached:
            audited(spec, None, tmp_path / "cache")
        run = audited(spec, tmp_path / "run", tmp_path / "cache")
        scored = score("open", spec, limit=8, cache="off")
    assert any(CUT in note for note in run.notes)
    assert any(CUT in note for note in scored.notes)
    assert CUT in "; ".join(json.loads((tmp_path / "run" / "results.json").read_text())["run"]["notes"])
    assert CUT in (tmp_path / "run" / "report" / "index.html").read_text()
    assert run.find("accuracy", "all", "abstained").details["unfinished"] == 1
    assert "of problems ended before the answer: raise max_tokens" in verdict(run.metrics).points[0].text
    assert {row.why for row in run.predictions} == {"its reply ended before the answer: raise max_tokens"}


def test_what_a_server_does_not_give_is_told_after_it_was_asked(tmp_path):
    with CoinServer() as server:
        run = audited(f"chat:coin@{server.url}", tmp_path / "run")
    told = "chat:coin: its plan: by parsed answers; the server gives no log-probabilities"
    assert any(note.startswith(told) for note in run.notes)
    assert told in (tmp_path / "run" / "report" / "index.html").read_text()


def test_no_address_is_written_and_a_name_is_shown(tmp_path):
    with CoinServer() as server, CoinServer(seed=1) as other:
        audit(
            "open",
            [f"chat:coin@{server.url}", f"chat:coin@{other.url}?name=Other%20coin"],
            protocol=["accuracy"],
            limit=8,
            out=tmp_path / "run",
            cache="off",
        )
        with pytest.raises(BadInput, match=r"two models are called 'chat:coin': .*\?name="):
            audit("open", [f"chat:coin@{server.url}", f"chat:coin@{other.url}"], limit=8, cache="off")
    assert {row.model for row in Run.load(tmp_path / "run").predictions} == {"chat:coin", "Other coin"}
    for file in (tmp_path / "run").rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert b"127.0.0.1" not in (gzip.decompress(content) if file.suffix == ".gz" else content), file
    assert "Other coin" in (tmp_path / "run" / "report" / "index.html").read_text()


def test_a_run_under_random_refusals_and_failures_ends_as_one_without(tmp_path):
    troubles = ("429", "500", "503", "html", "half", "null", "hangs up")
    with FlakyServer(CoinServer(), 0.3, troubles) as flaky:
        shaky = audited(f"chat:coin@{flaky.url}?delay=0.001&retries=20", None)
    with CoinServer() as sound:
        calm = audited(f"chat:coin@{sound.url}", None)
    assert flaky.failed
    assert [row.prediction for row in shaky.predictions] == [row.prediction for row in calm.predictions]
