"""`winokit collect`: init, invite, status and export in a terminal, as a new user meets them."""

import json
import socket
import tomllib

import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from winokit.cli import collect as cli
from winokit.collect import verbs
from winokit.collect.study import invites, workers
from winokit.collect.study.schema import Task
from winokit.collect.study.study import Study
from winokit.collect.verbs import listen
from winokit.errors import BadInput, WinokitError


def run(*arguments):
    """What a command prints; its error is raised, as `winokit` itself would catch it."""
    done = CliRunner().invoke(cli.app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.fixture
def folder(tmp_path):
    run("init", tmp_path / "study", "--title", "Gates & fences", "--twins", 3, "--kind", "write", "--kind", "validate")
    return tmp_path / "study"


def test_init_makes_a_folder_to_edit(folder):
    names = {path.name for path in folder.iterdir()}
    assert {"study.toml", "guidelines.md", "guidelines-validate.md", "consent.md"} <= names
    told = tomllib.loads((folder / "study.toml").read_text())
    assert (told["title"], told["tasks"]["twins"]) == ("Gates & fences", 3)


def test_what_is_edited_before_the_first_visit_counts(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("social_share = 0.5", "social_share = 1.0"))
    run("status", folder)
    study = Study.open(folder)
    with study.store.read() as session:
        assert set(session.scalars(select(Task.domain).where(Task.kind == "write"))) == {"social"}
    study.close()


def test_a_second_study_in_the_same_folder_is_refused(folder):
    with pytest.raises(BadInput, match="there is a study already"):
        run("init", folder)


def test_init_of_an_evaluation_says_what_could_not_be_made(tmp_path):
    done = CliRunner().invoke(cli.app, ["init", str(tmp_path / "s"), "--evaluate", "open", "--variant", "part-sent"])
    assert done.exit_code == 0
    assert "note: part-sent: not made of" in done.output
    assert (tmp_path / "s" / "problems.jsonl").exists()


def test_links_good_for_longer_than_dates_reach_are_refused(folder):
    done = CliRunner().invoke(cli.app, ["invite", str(folder), "--days", "1e12"])
    assert done.exit_code == 2
    with pytest.raises(BadInput, match=r"days: 0\.01 or more and 3650 or less expected"):
        verbs.invite(folder, days=1e12)


def test_invite_prints_links_that_work(folder):
    links = run("invite", folder, "--count", 2, "--url", "https://study.example.org/").split()
    assert len(links) == 2
    assert all(link.startswith("https://study.example.org/join/") for link in links)
    study = Study.open(folder)
    worker = invites.claim(study, links[0].rpartition("/")[2])
    study.close()
    told = json.loads(run("invite", folder, "--worker", worker.code, "--json"))
    assert told[0]["uses"] == 1
    with pytest.raises(BadInput, match="one person"):
        run("invite", folder, "--worker", worker.code, "--count", 2)


def test_status_tells_a_person_and_a_script(folder):
    study = Study.open(folder)
    workers.join(study, "links")
    study.close()
    told = run("status", folder, "--workers")
    assert "Gates & fences" in told
    assert "0% done" in told
    assert "1 active" in told
    # 3 pairs at 0.40, and 3 votes on each of 6 problems at 0.03
    assert "1.74 USD when all is in" in told
    parsed = json.loads(run("status", folder, "--json", "--workers"))
    assert [kind["asked"] for kind in parsed["kinds"]] == [3, 0]
    assert parsed["people"][0]["state"] == "active"


def test_export_says_what_it_wrote(folder, tmp_path):
    told = run("export", folder, "--out", tmp_path / "out")
    assert f"{tmp_path / 'out' / 'votes.jsonl'}: 0" in told
    assert json.loads(run("export", folder, "--json"))["out"] == str(folder / "export")


def test_withdraw_says_what_was_taken_out_and_what_is_owed(folder):
    study = Study.open(folder)
    worker = workers.join(study, "links")
    study.close()
    done = CliRunner().invoke(cli.app, ["withdraw", str(folder), worker.code], input="n\n")
    assert done.exit_code == 1
    told = run("withdraw", folder, worker.code, "--yes")
    assert f"{worker.code}: taken out 0 judgements and 0 sentences; still owed: $0.00" in told
    with pytest.raises(BadInput, match="has withdrawn"):
        run("withdraw", folder, worker.code, "--yes", "--json")
    with pytest.raises(BadInput, match="no such worker"):
        run("withdraw", folder, "w-nobody", "--yes")


@pytest.fixture
def serving_nothing(monkeypatch):
    uvicorn = pytest.importorskip("uvicorn", reason="needs the collect extra")
    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    # It closes whatever logs there were; absl's, if a test before has loaded it, closes pytest's own stderr with it.
    monkeypatch.setattr(uvicorn.Config, "configure_logging", lambda self: None)
    monkeypatch.setattr(verbs, "_spare_what_stays", lambda: None)  # the tests do not end with the server


def test_serve_warns_as_long_as_the_consent_page_is_not_filled_in(folder, serving_nothing):
    assert "places that say FILL IN" in run("serve", folder, "--port", 0)
    (folder / "consent.md").write_text("# Before you begin\n\nAsk Ada.\n")
    assert "FILL IN" not in run("serve", folder, "--port", 0)


def test_small_answers_are_sent_at_once():
    """asyncio turns TCP_NODELAY on only for sockets that say they are TCP; without it an answer waits for 40 ms."""
    with listen("127.0.0.1", 0) as place:
        assert place.proto == socket.IPPROTO_TCP


def test_a_port_in_use_is_one_line(folder):
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        with pytest.raises(BadInput, match=r"cannot listen there .* choose another --port"):
            run("serve", folder, "--port", taken.getsockname()[1])


def test_nothing_is_left_behind_by_an_init_that_fails(tmp_path):
    with pytest.raises(BadInput, match=r"evaluate\.variants"):
        run("init", tmp_path / "s", "--evaluate", "open", "--variant", "nonsense")
    with pytest.raises(WinokitError, match="no such file"):
        run("init", tmp_path / "s", "--evaluate", "nowhere.jsonl")
    assert not (tmp_path / "s").exists()


def test_a_folder_without_a_study_is_one_line(tmp_path):
    for verb in ("status", "export", "invite", "serve"):
        with pytest.raises(BadInput, match=r"study\.toml: no such file; make a study with: winokit collect init"):
            run(verb, tmp_path)


def test_a_config_with_a_mistake_is_one_line_with_file_and_key(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("votes = 3", "votes = 0"))
    with pytest.raises(BadInput, match=r"study\.toml: field 'tasks\.votes'"):
        run("status", folder)


def test_asking_for_more_twins_later_adds_tasks(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("twins = 3", "twins = 5"))
    assert json.loads(run("status", folder, "--json"))["kinds"][0]["asked"] == 5
