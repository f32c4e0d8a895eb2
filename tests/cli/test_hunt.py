"""`winokit hunt` from the outside: its index, bad input, and runs that go on after an interrupt."""

import json
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app, main
from winokit.errors import WinokitError
from winokit.stages.hunt import hunt

TEXT = "I could not carry him because I was tired.\n\nHe could not carry the girl because she was heavy.\n"
runner = CliRunner()


def run(*arguments):
    return runner.invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def index(tmp_path):
    (tmp_path / "text.txt").write_text(TEXT)
    result = run("hunt", "index", tmp_path / "text.txt", "--out", tmp_path / "i.db")
    assert result.exit_code == 0
    assert f"2 sentences of 1 files in {tmp_path / 'i.db'}" in result.output
    assert "1 added" in result.output
    return tmp_path / "i.db"


def test_index_adds_to_what_is_there(index, tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "One more."}\n')
    result = run("hunt", "index", tmp_path / "text.txt", rows, "--out", index, "--json")
    output = json.loads(result.output)
    assert output["added"] == [rows.as_posix()]
    assert output["sentences"] == 3
    assert output["files"] == 2


def test_index_passes_over_what_it_knows(index, tmp_path):
    text = tmp_path / "text.txt"
    output = json.loads(run("hunt", "index", text, "--out", index, "--json").output)
    assert output["added"] == []
    assert output["unchanged"] == [text.as_posix()]
    assert output["sentences"] == 2


def test_score_answers_with_the_hunter(index, tmp_path):
    run("score", "open", "--model", f"hunter:{index}", "--limit", 1, "--out", tmp_path / "p.jsonl")
    (row,) = map(json.loads, (tmp_path / "p.jsonl").read_text().splitlines())
    assert (row["prediction"], row["why"]) == (None, "no two candidates are named together in one clause")


def test_check_takes_a_corpus(tmp_path):
    (tmp_path / "text.txt").write_text(
        "The terrier can squeeze under the garden gate but the spaniel cannot, so we never have to fetch the spaniel "
        "back from the street.\n"
    )
    run("hunt", "index", tmp_path / "text.txt", "--out", tmp_path / "i.db")
    result = run("check", "open", "--only", "corpus", "--corpus", tmp_path / "i.db")
    assert result.exit_code == 1
    assert "1 problem appears" in result.output
    assert "word for word" in result.output


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["hunt", "index", "nowhere.txt", "--out", "i.db"], "nowhere.txt: cannot be read (No such file or directory)"),
        (["hunt", "index", "empty.txt", "--out", "i.db"], "no sentence in empty.txt"),
        (["hunt", "index", "binary.bin", "--out", "i.db"], "binary.bin: a binary file, not text"),
        (["hunt", "index", "text.txt", "--out", "i.db", "--encoding", "utf-9"], "no encoding named 'utf-9'"),
        (["hunt", "index", "text.txt", "--out", "i.db", "--encoding", "base64"], "no encoding named 'base64'"),
        (["hunt", "index", "text.txt", "--out", "/proc/none/i.db"], "cannot be written"),
    ],
)
def test_bad_input_is_refused_in_one_line(tmp_path, monkeypatch, arguments, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "empty.txt").write_text("\n")
    (tmp_path / "binary.bin").write_bytes(b"\x7fELF\x00\x01")
    with pytest.raises(WinokitError) as refusal:
        run(*arguments)
    assert reason in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "i.db").exists()


@pytest.mark.parametrize(
    "arguments", ["audit open --model hunter:no.db", "score open --model hunter:no.db", "check open --corpus no.db"]
)
def test_a_missing_index_is_exit_code_2_everywhere(monkeypatch, capsys, arguments):
    monkeypatch.setattr(sys, "argv", ["winokit", *arguments.split()])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert capsys.readouterr().err.startswith("winokit: no.db: no such index; make one with")


def test_ctrl_c_stops_and_the_next_run_goes_on(tmp_path, monkeypatch):
    program = (
        "import signal, time\n"
        "from winokit.cli.main import app\n"
        "from winokit.methods.hunting import building, corpus\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "corpus.BLOCK, building.COMMIT, building.SMALL = 4000, 8000, 0\n"
        "keep, kept = building._Writer._write_part, []\n"
        "def stop_at_fifth(writer, part, split):\n"
        "    keep(writer, part, split)\n"
        "    kept.append(part)\n"
        "    if len(kept) == 5:\n"
        "        print('kept', flush=True)\n"
        "        time.sleep(600)\n"  # until the interrupt
        "building._Writer._write_part = stop_at_fifth\n"
        "if __name__ == '__main__':\n"
        "    app()\n"
    )
    (tmp_path / "program.py").write_text(program)
    (tmp_path / "text.txt").write_text("".join(f"Sentence {number} stands here.\n\n" for number in range(12_000)))
    command = [sys.executable, "program.py", "hunt", "index", "text.txt", "--out", "i.db", "--workers", "1"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        assert process.stdout.readline() == "kept\n"
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
    assert process.returncode != 0
    assert "Traceback" not in error
    with pytest.raises(WinokitError, match="not finished"):
        hunt(tmp_path / "i.db", "open")
    monkeypatch.setattr("winokit.methods.hunting.corpus.BLOCK", 4000)
    assert "12,000 sentences" in run("hunt", "index", tmp_path / "text.txt", "--out", tmp_path / "i.db").output
    assert hunt(tmp_path / "i.db", "open").why
