"""The tutorial runs from end to end, and its page shows the commands, the output, the numbers and pictures of a run."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import winokit
from winokit.data.loading import load

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "runs" / "tutorial.sh"
PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
LEFT_OUT = "…"
MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d( to \d{4}-\d\d-\d\d \d\d:\d\d)? UTC")
"""When answers were kept: another time on every machine."""
SCREENSHOTS = {
    "dashboard": "study/study.db",
    "debias": "filtered/report/index.html",
    "leaderboard": "board.html",
    "verdict": "audit/report/index.html",
}


def steps(shown):
    """Each command after a dollar, with the lines that it printed."""
    dateless = MINUTE.sub("TIME", shown.replace("\u00a0", " "))
    parts = re.split(r"^\$ ", dateless, flags=re.MULTILINE)[1:]
    return [(command, [line.rstrip() for line in lines if line]) for command, *lines in map(str.splitlines, parts)]


def steps_of_the_page():
    return [step for block in CONSOLE.findall(PAGE) for step in steps(block)]


def commands_of_the_page():
    return [command for command, _ in steps_of_the_page()]


def commands_of_the_script():
    shown = SCRIPT.read_text("utf-8").partition("set -x\n")[2]
    return [line for line in shown.splitlines() if line and not line.startswith("#")]


def run_in(folder, cache):
    """Run the script as a user would, with this environment's winokit and python on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "WINOKIT_CACHE": str(cache)}
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(["bash", str(SCRIPT)], cwd=folder, env=environment, **both, text=True, check=False)


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """A folder in which the script ran to its end, and what it printed."""
    for needed in ("sqlalchemy", "argon2", "pyarrow", "mlcroissant"):
        pytest.importorskip(needed)
    folder = tmp_path_factory.mktemp("tutorial") / "try"
    folder.mkdir()
    done = run_in(folder, folder.with_name("answers.sqlite"))
    assert done.returncode == 0, done.stdout
    return folder, done.stdout


def test_the_page_has_the_commands_of_the_script_in_their_order():
    assert len(commands_of_the_script()) > 10
    assert commands_of_the_page() == commands_of_the_script()


def pictures_of_the_page():
    return re.findall(r"\]\(tutorial-([\w-]+)\.png\)", PAGE)


def test_no_picture_of_the_tutorial_is_left_out_of_its_page():
    there = [path.stem.removeprefix("tutorial-") for path in (ROOT / "docs").glob("tutorial-*.png")]
    assert sorted(pictures_of_the_page()) == sorted(there)


def test_a_folder_with_something_in_it_is_refused_in_one_line(tmp_path):
    (tmp_path / "mine.txt").touch()
    done = run_in(tmp_path, tmp_path / "answers.sqlite")
    assert done.returncode == 2
    assert done.stdout == f"tutorial.sh: {tmp_path} is not empty; run it in an empty folder\n"


def test_the_page_shows_what_the_run_prints(tutorial):
    _, printed = tutorial
    for (command, shown), (_, lines) in zip(steps_of_the_page(), steps(printed), strict=True):
        if LEFT_OUT in shown:
            rest = iter(lines)
            assert [line for line in shown if line != LEFT_OUT and line not in rest] == [], command
        else:
            assert shown == lines, command


def test_the_sentences_of_the_page_have_the_numbers_of_the_run(tutorial):
    folder, _ = tutorial
    text = CONSOLE.sub("", PAGE)
    builtin, coin = accuracies_on_the_test(folder / "example.hidden" / "log.jsonl")
    dev = found(folder / "audit", "accuracy", "accuracy")["all", "builtin"]["value"]
    assert f"{len(load(folder / 'study/export/problems.jsonl'))} of 120 are;" in text
    assert f"contains the {len(load(folder / 'filtered/kept.jsonl'))} kept problems" in text
    assert f"{coin:.1%} against {builtin:.1%}:".replace("%", " %") in text
    assert f"{dev:.1%} on dev".replace("%", " %") in text


def accuracies_on_the_test(log):
    """Of each name that was graded, from the owner's record."""
    rows = {row["name"]: row for row in map(json.loads, log.read_text("utf-8").splitlines())}
    return [next(score["value"] for score in row["scores"] if score["metric"] == "accuracy") for row in rows.values()]


def test_the_pictures_of_the_page_are_those_of_the_run(tutorial):
    """As far as their size tells: it goes with the number of rows, groups and panels."""
    folder, _ = tutorial
    run = winokit.Run.load(folder / "audit")
    for name in pictures_of_the_page():
        if name in SCREENSHOTS:
            assert (folder / SCREENSHOTS[name]).is_file(), name
        else:
            run.figure(name).savefig(folder / f"{name}.png")
            assert size_of(ROOT / "docs" / f"tutorial-{name}.png") == size_of(folder / f"{name}.png"), name


def size_of(png):
    """Width and height, as they stand in the header."""
    return png.read_bytes()[16:24]


def found(folder, protocol, metric):
    """The rows of an audit's results for one metric, by subset and model."""
    rows = json.loads((folder / "results.json").read_text("utf-8"))["metrics"]
    return {
        (row["subset"], row["model"]): row for row in rows if (row["protocol"], row["metric"]) == (protocol, metric)
    }


def test_the_run_finds_what_the_page_tells(tutorial):
    folder, _ = tutorial
    assert json.loads((folder / "graded" / "coin.json").read_text("utf-8"))["scores"] == []
    dev = found(folder / "audit", "accuracy", "accuracy")
    assert {row["dataset"] for row in dev.values()} == {"example/dev"}  # and not WinoGrande's
    pairs = found(folder / "more", "groups", "group_accuracy")["complete", "builtin"]
    assert pairs["high"] < pairs["chance"]
    accuracy = found(folder / "more", "accuracy", "accuracy")["all", "builtin"]
    assert accuracy["low"] <= accuracy["chance"] <= accuracy["high"]
