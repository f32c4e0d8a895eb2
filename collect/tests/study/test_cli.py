"""The commands of `winokit collect` do in a terminal what a new user expects of them."""

import json
import os
import shutil
import socket
import stat
import tempfile
import tomllib
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from sqlalchemy import select
from typer.testing import CliRunner

from winokit import WinokitError
from winokit.extend import BadInput
from winokit_collect import commands as cli
from winokit_collect import verbs
from winokit_collect.platforms.mturk import MTurk
from winokit_collect.study import invites, workers
from winokit_collect.study.schema import LogEntry, Task
from winokit_collect.study.study import Study
from winokit_collect.verbs import listen
from winokit_collect.web.protocol import ImpatientProtocol


def run_command(*arguments):
    """Run a command and return what it prints on stdout. Its errors are raised."""
    texts = [str(argument) for argument in arguments]
    result = CliRunner().invoke(cli.app, texts, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def fill_in_consent(folder):
    (folder / "consent.md").write_text("# Before you begin\n\nAsk Ada.\n")


def permissions_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def folder(tmp_path):
    run_command(
        "init", tmp_path / "study", "--title", "Gates & fences", "--twins", 3, "--kind", "write", "--kind", "validate"
    )
    return tmp_path / "study"


def test_init_makes_a_folder_to_edit(folder):
    names = {path.name for path in folder.iterdir()}
    assert {"study.toml", "guidelines.md", "guidelines-validate.md", "consent.md"} <= names
    settings = tomllib.loads((folder / "study.toml").read_text())
    assert settings["title"] == "Gates & fences"
    assert settings["tasks"]["twins"] == 3


def test_what_is_edited_before_the_first_visit_counts(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("social_share = 0.5", "social_share = 1.0"))
    run_command("status", folder)
    study = Study.open(folder)
    with study.store.read() as session:
        assert set(session.scalars(select(Task.domain).where(Task.kind == "write"))) == {"social"}
    study.close()


def test_a_second_study_in_the_same_folder_is_refused(folder):
    with pytest.raises(BadInput, match="already a study"):
        run_command("init", folder)


def test_init_of_an_evaluation_says_what_could_not_be_made(tmp_path):
    result = CliRunner().invoke(cli.app, ["init", str(tmp_path / "s"), "--evaluate", "open", "--variant", "part-sent"])
    assert result.exit_code == 0
    assert "note: part-sent: not made of" in result.output
    assert (tmp_path / "s" / "problems.jsonl").exists()


def test_links_good_for_longer_than_dates_reach_are_refused(folder):
    complaint = r"days: expected 0\.01 or more and 3650 or less"
    with pytest.raises(BadInput, match=complaint):
        run_command("invite", folder, "--days", "1e12")
    with pytest.raises(BadInput, match=complaint):
        verbs.invite(folder, days=1e12)


def test_invite_prints_links_that_work(folder):
    fill_in_consent(folder)
    links = run_command("invite", folder, "--count", 2, "--url", "https://study.example.org/").split()
    assert len(links) == 2
    assert all(link.startswith("https://study.example.org/join/") for link in links)
    study = Study.open(folder)
    worker = invites.claim(study, links[0].rpartition("/")[2])
    study.close()
    invites_for_worker = json.loads(run_command("invite", folder, "--worker", worker.code, "--json"))
    assert invites_for_worker[0]["uses"] == 1
    with pytest.raises(BadInput, match="one person"):
        run_command("invite", folder, "--worker", worker.code, "--count", 2)


def test_status_tells_a_person_and_a_script(folder):
    study = Study.open(folder)
    workers.join(study, "links")
    study.close()
    output = run_command("status", folder, "--workers")
    assert "Gates & fences" in output
    assert "0 % done" in output
    assert "1 active" in output
    # 3 pairs at 0.40, and 3 votes on each of 6 problems at 0.03
    assert "1.74 USD when everything is submitted" in output
    status = json.loads(run_command("status", folder, "--json", "--workers"))
    assert [kind["asked"] for kind in status["kinds"]] == [3, 0]
    assert status["people"][0]["state"] == "active"


def test_export_says_what_it_wrote(folder, tmp_path):
    output = run_command("export", folder, "--out", tmp_path / "out")
    assert f"{tmp_path / 'out' / 'votes.jsonl'}: 0" in output
    assert json.loads(run_command("export", folder, "--json"))["out"] == str(folder / "export")


def test_withdraw_says_what_was_taken_out_and_what_is_owed(folder):
    study = Study.open(folder)
    worker = workers.join(study, "links")
    study.close()
    output = run_command("withdraw", folder, worker.code, "--yes")
    assert f"{worker.code}: deleted 0 judgements and 0 sentences; still owed: $0.00" in output
    with pytest.raises(BadInput, match="has withdrawn"):
        run_command("withdraw", folder, worker.code, "--yes", "--json")
    with pytest.raises(BadInput, match="no such worker"):
        run_command("withdraw", folder, "w-nobody", "--yes")


def test_where_nobody_can_be_asked_the_option_that_confirms_is_named(folder):
    """In a script or a cron job the command fails with one line and asks nothing."""
    study = Study.open(folder)
    worker = workers.join(study, "links")
    study.close()
    for arguments in (["withdraw", str(folder), worker.code], ["reset-pilot", str(folder)]):
        result = CliRunner().invoke(cli.app, arguments, input="")
        assert isinstance(result.exception, BadInput)
        assert "cannot be undone; confirm with --yes" in str(result.exception)
        assert result.output == ""


def test_a_study_is_offered_on_mechanical_turk_once_its_cost_is_confirmed(folder, monkeypatch):
    fill_in_consent(folder)
    settings = folder / "study.toml"
    text = settings.read_text().replace('name = "links"', 'name = "mturk"')
    settings.write_text(text.replace("base_reward = 0.00", "base_reward = 0.40"))
    calls = []

    def note_call(self, operation, **parameters):
        calls.append((operation, parameters))
        return {"HIT": {"HITId": "3X"}}

    monkeypatch.setattr(MTurk, "_call_api", note_call)
    with pytest.raises(BadInput, match="publishing spends money; confirm with --yes"):
        run_command("publish", folder, "--url", "https://x.org")
    assert calls == []
    offer = ("publish", folder, "--visits", 30, "--url", "https://x.org/", "--yes")
    report = json.loads(run_command(*offer, "--json"))
    assert report == {"id": "3X", "visits": 30, "url": "https://x.org/start"}
    ((operation, parameters),) = calls
    assert operation == "create_hit"
    assert parameters["MaxAssignments"] == 30
    assert parameters["Reward"] == "0.40"
    assert "<ExternalURL>https://x.org/start</ExternalURL>" in parameters["Question"]
    with closing(Study.open(folder)) as study, study.store.read() as session:
        last = session.scalars(select(LogEntry).order_by(LogEntry.id.desc())).first()
    assert (last.action, last.target, last.detail) == ("publish", "3X", {"visits": 30})
    run_command(*offer)  # after an answer, it is another offer
    request_tokens = {parameters["UniqueRequestToken"] for _, parameters in calls}
    assert len(request_tokens) == 2


def test_who_says_no_keeps_everything(folder, monkeypatch):
    study = Study.open(folder, pilot=True)
    worker = workers.join(study, "links")
    study.close()
    questions = []
    terminal = SimpleNamespace(isatty=lambda: True)
    monkeypatch.setattr("winokit.cli.options.sys", SimpleNamespace(stdin=terminal, stderr=terminal))

    def say_no(question, *, abort, err):
        questions.append(question)
        raise typer.Abort

    monkeypatch.setattr(typer, "confirm", say_no)
    for arguments in (["withdraw", str(folder), worker.code], ["reset-pilot", str(folder)]):
        assert CliRunner().invoke(cli.app, arguments).exit_code == 1
    assert questions == [
        f"Delete the sentences and judgements of {worker.code}? This cannot be undone.",
        "Delete everything people did in the pilot? This cannot be undone.",
    ]
    assert "workers: 1," in run_command("reset-pilot", folder, "--yes")


@pytest.fixture
def serving_nothing(monkeypatch):
    import uvicorn

    monkeypatch.setattr(uvicorn.Server, "run", lambda self, sockets: None)
    # It closes whatever logs there were; absl's, if a test before has loaded it, closes pytest's own stderr with it.
    monkeypatch.setattr(uvicorn.Config, "configure_logging", lambda self: None)
    monkeypatch.setattr(verbs, "_freeze_loaded_objects", lambda: None)  # the tests do not end with the server


def test_nobody_is_let_in_as_long_as_the_consent_page_has_gaps_but_to_a_pilot(folder, serving_nothing):
    assert "workers cannot enter yet" in run_command("serve", folder, "--port", 0)
    with pytest.raises(BadInput, match="places still say FILL IN"):
        run_command("invite", folder)
    assert "pilot: everyone who takes part now is marked" in run_command("serve", folder, "--port", 0, "--pilot")
    assert "/join/" in run_command("invite", folder, "--pilot")
    fill_in_consent(folder)
    output = run_command("serve", folder, "--port", 0)
    assert "FILL IN" not in output
    assert "pilot" not in output


def test_links_begin_with_the_address_of_the_config(folder, serving_nothing):
    fill_in_consent(folder)
    path = folder / "study.toml"
    path.write_text(path.read_text().replace('url = ""', 'url = "https://study.example.org/"'))
    assert run_command("invite", folder).startswith("https://study.example.org/join/")
    _, link_line, *_ = run_command("account", folder, "ada", "--add").splitlines()
    assert link_line.count(" https://study.example.org/setup/") == 1
    assert "Gates & fences: https://study.example.org\n" in run_command("serve", folder, "--port", 0)
    path.write_text(path.read_text().replace("example.org/", "example.org/below"))
    with pytest.raises(BadInput, match=r"server\.url"):
        run_command("invite", folder)


def test_links_begin_with_the_address_at_which_the_study_is_served(folder, serving_nothing):
    fill_in_consent(folder)
    assert run_command("invite", folder).startswith("http://127.0.0.1:8000/join/")
    first_line, *_ = run_command("serve", folder, "--port", 0).splitlines()
    base = first_line.removeprefix("Gates & fences: ")
    assert run_command("invite", folder).startswith(f"{base}/join/")
    assert f" {base}/setup/" in run_command("account", folder, "ada", "--add")
    assert run_command("invite", folder, "--url", "https://a.example").startswith("https://a.example/join/")
    run_command("serve", folder, "--port", 0, "--url", "https://b.example/")
    assert run_command("invite", folder).startswith("https://b.example/join/")


def test_an_invite_to_a_pilot_that_is_served_without_one_says_so(folder, serving_nothing):
    invite_arguments = ["invite", str(folder), "--pilot"]
    assert CliRunner().invoke(cli.app, invite_arguments).stderr == ""
    run_command("serve", folder, "--port", 0)
    result = CliRunner().invoke(cli.app, invite_arguments)
    assert "was last served without --pilot" in result.stderr
    assert "/join/" in result.stdout
    run_command("serve", folder, "--port", 0, "--pilot")
    assert CliRunner().invoke(cli.app, invite_arguments).stderr == ""


def test_accounts_are_listed_made_changed_and_removed_in_a_terminal(folder):
    assert run_command("account", folder) == "no accounts\n"
    assert "ada: owner, since" in run_command("account", folder, "ada", "--add", "--role", "owner")
    run_command("account", folder, "bea", "--add")
    accounts = json.loads(run_command("account", folder, "--json"))["accounts"]
    roles = {account["name"]: account["role"] for account in accounts}
    assert roles == {"ada": "owner", "bea": "viewer"}
    assert "bea: editor" in run_command("account", folder, "bea", "--role", "editor")
    assert "/setup/" in run_command("account", folder, "bea", "--reset")
    with pytest.raises(BadInput, match="last owner"):
        run_command("account", folder, "ada", "--remove")
    with pytest.raises(BadInput, match="one at a time"):
        run_command("account", folder, "bea", "--remove", "--role", "owner")
    with pytest.raises(BadInput, match="name the account"):
        run_command("account", folder, "--reset")
    with pytest.raises(BadInput, match="no account eve"):
        run_command("account", folder, "eve", "--reset")
    with pytest.raises(BadInput, match="no account eve; known: ada, bea"):
        run_command("account", folder, "eve")
    run_command("account", folder, "bea", "--remove")
    assert "bea" not in run_command("account", folder)


def test_a_pilot_is_removed_in_a_terminal(folder):
    study = Study.open(folder, pilot=True)
    workers.join(study, "links")
    study.close()
    output = run_command("reset-pilot", folder, "--yes")
    assert output == "workers: 1, submissions: 0, problems: 0, written off cents: 0\n"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_everything_of_a_study_is_its_owner_s_alone_whatever_the_umask(tmp_path, umask, monkeypatch):
    monkeypatch.setattr(Path, "chmod", lambda *_: None)  # from the moment it exists, not from the next one on
    umask_before = os.umask(umask)
    try:
        run_command("init", tmp_path / "study", "--evaluate", "open", "--limit", 3)
        with closing(Study.open(tmp_path / "study")) as study:
            assert study.signer
            modes = {path.name: permissions_of(path) for path in study.folder.iterdir()}
        run_command("export", tmp_path / "study")
    finally:
        os.umask(umask_before)
    assert {"study.db", "study.db-wal", "study.db-shm", "secret.key", "problems.jsonl", "study.toml"} <= set(modes)
    assert set(modes.values()) == {0o600}
    export_folder = tmp_path / "study" / "export"
    assert permissions_of(tmp_path / "study") == 0o700
    assert permissions_of(export_folder) == 0o700
    assert {permissions_of(path) for path in export_folder.iterdir()} == {0o600}


def test_a_database_of_before_becomes_private_when_it_is_opened(folder):
    run_command("status", folder)
    (folder / "study.db").chmod(0o644)
    run_command("status", folder)
    assert permissions_of(folder / "study.db") == 0o600


def test_what_is_served_hangs_up_on_whoever_takes_too_long(folder, serving_nothing, monkeypatch):
    protocols = []
    monkeypatch.setattr("uvicorn.Server.run", lambda server, sockets: protocols.append(server.config.http))
    run_command("serve", folder, "--port", 0)
    assert protocols == [ImpatientProtocol]


def test_a_folder_that_others_can_look_into_is_told(folder, serving_nothing):
    folder.chmod(0o755)
    assert f"chmod 700 {folder}" in run_command("serve", folder, "--port", 0)


@pytest.fixture
def become_nobody(monkeypatch):
    """A function that gives a folder to the user nobody and goes on as that user.

    Permissions do not stop root. Tests that do not run as root stay who they are.
    """

    def switch_user(folder):
        if os.geteuid() == 0:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, 65534, 65534)
            monkeypatch.setattr(tempfile, "tempdir", str(folder))
            os.seteuid(65534)

    root = os.geteuid()
    yield switch_user
    os.seteuid(root)


@pytest.fixture
def open_folder():
    """A folder that other users may enter, unlike `tmp_path`."""
    with tempfile.TemporaryDirectory(prefix="winokit-open-") as folder:
        yield Path(folder)


@pytest.mark.parametrize("log", [False, True])
def test_status_and_export_read_a_copy_that_cannot_be_written(folder, open_folder, log, become_nobody):
    study = Study.open(folder)
    worker = workers.join(study, "links")
    copy = open_folder / "copy"
    run_command("status", folder, "--workers")  # loads what somebody else may not be let read
    run_command("export", folder, "--out", open_folder / "before")
    if log:  # as it stands while a server runs, with the last lines in the log alone
        shutil.copytree(folder, copy)
        (copy / "study.db-shm").unlink()
        study.close()
    else:
        study.close()
        shutil.copytree(folder, copy)
        (copy / "secret.key").unlink(missing_ok=True)
    for path in copy.iterdir():
        path.chmod(0o400)
    copy.chmod(0o500)
    become_nobody(open_folder)
    files_before = {path.name: path.read_bytes() for path in copy.iterdir()}
    with pytest.raises(PermissionError):
        (copy / "x").touch()
    assert worker.code in run_command("status", copy, "--workers")
    assert "workers.jsonl: 1" in run_command("export", copy, "--out", open_folder / "out")
    with pytest.raises(BadInput, match="cannot be written"):
        run_command("export", copy)
    with pytest.raises(BadInput, match=r"cannot be opened|cannot be written"):
        run_command("withdraw", copy, worker.code, "--yes")
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == files_before


def test_a_study_behind_a_link_is_a_study(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    fill_in_consent(folder)
    assert "/join/" in run_command("invite", tmp_path / "link")
    assert (folder / "study.db").exists()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    run_command("init", tmp_path / "dangling")
    assert permissions_of(tmp_path / "nowhere") == 0o700


def test_small_answers_are_sent_at_once():
    """asyncio turns TCP_NODELAY on only for sockets that say they are TCP.

    Without it an answer waits for 40 ms.
    """
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_whoever_comes_before_the_pages_are_served_waits():
    with listen("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()) as client:
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.recv(99).startswith(b"GET / ")


def test_a_port_in_use_is_one_line(folder):
    refusal = pytest.raises(BadInput, match=r"cannot listen there .* choose another --port")
    with listen("127.0.0.1", 0) as listener, refusal:
        _, port = listener.getsockname()
        run_command("serve", folder, "--port", port)


def test_nothing_is_left_behind_by_an_init_that_fails(tmp_path):
    with pytest.raises(BadInput, match=r"evaluate\.variants"):
        run_command("init", tmp_path / "s", "--evaluate", "open", "--variant", "nonsense")
    with pytest.raises(WinokitError, match="no such file"):
        run_command("init", tmp_path / "s", "--evaluate", "nowhere.jsonl")
    assert not (tmp_path / "s").exists()


def test_a_folder_without_a_study_is_one_line(tmp_path):
    for verb in ("status", "export", "invite", "serve"):
        with pytest.raises(BadInput, match=r"study\.toml: no such file; create a study with: winokit collect init"):
            run_command(verb, tmp_path)


def test_a_config_with_a_mistake_is_one_line_with_file_and_key(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("votes = 3", "votes = 0"))
    with pytest.raises(BadInput, match=r"study\.toml: field 'tasks\.votes'"):
        run_command("status", folder)


def test_asking_for_more_twins_later_adds_tasks(folder):
    path = folder / "study.toml"
    path.write_text(path.read_text().replace("twins = 3", "twins = 5"))
    status = json.loads(run_command("status", folder, "--json"))
    assert status["kinds"][0]["asked"] == 5
