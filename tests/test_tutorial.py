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
"""Time at which answers were cached, which differs from machine to machine."""
SCREENSHOTS = {
    "dashboard": "study/study.db",
    "debias": "filtered/report/index.html",
    "leaderboard": "board.html",
    "verdict": "audit/report/index.html",
}


def steps(text):
    """Commands after a dollar, each with the lines that it printed."""
    dateless = MINUTE.sub("TIME", text.replace("\u00a0", " "))
    _, *parts = re.split(r"^\$ ", dateless, flags=re.MULTILINE)
    commands_and_lines = []
    for part in parts:
        command, *lines = part.splitlines()
        commands_and_lines.append((command, [line.rstrip() for line in lines if line]))
    return commands_and_lines


def steps_of_the_page():
    """Commands of the page, each with the lines that it shows."""
    commands_and_lines = []
    for block in CONSOLE.findall(PAGE):
        commands_and_lines += steps(block)
    return commands_and_lines


def commands_of_the_page():
    return [command for command, _ in steps_of_the_page()]


def commands_of_the_script():
    _, _, commands = SCRIPT.read_text("utf-8").partition("set -x\n")
    return [line for line in commands.splitlines() if line and not line.startswith("#")]


def run_in(folder, cache):
    """Run the script as a user would, with this environment's winokit and python on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "WINOKIT_CACHE": str(cache)}
    return subprocess.run(
        ["bash", str(SCRIPT)],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def tutorial(tmp_path_factory):
    """A folder in which the script ran to its end, and the output."""
    for package in ("sqlalchemy", "argon2", "pyarrow", "mlcroissant"):
        pytest.importorskip(package)
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
    pictures = [path.stem.removeprefix("tutorial-") for path in (ROOT / "docs").glob("tutorial-*.png")]
    assert sorted(pictures_of_the_page()) == sorted(pictures)


def test_a_folder_with_something_in_it_is_refused_in_one_line(tmp_path):
    (tmp_path / "mine.txt").touch()
    done = run_in(tmp_path, tmp_path / "answers.sqlite")
    assert done.returncode == 2
    assert done.stdout == f"tutorial.sh: {tmp_path} is not empty; run it in an empty folder\n"


def test_the_page_shows_what_the_run_prints(tutorial):
    _, printed = tutorial
    for (command, page_lines), (_, run_lines) in zip(steps_of_the_page(), steps(printed), strict=True):
        if LEFT_OUT in page_lines:
            later_run_lines = iter(run_lines)  # `in` goes on behind the last line that it found
            missing = [line for line in page_lines if line != LEFT_OUT and line not in later_run_lines]
            assert missing == [], command
        else:
            assert page_lines == run_lines, command


def test_the_sentences_of_the_page_have_the_numbers_of_the_run(tutorial):
    folder, _ = tutorial
    text = CONSOLE.sub("", PAGE)
    builtin, coin = accuracies_on_the_test(folder / "example.hidden" / "log.jsonl")
    dev = rows_of_metric(folder / "audit", "accuracy", "accuracy")["all", "builtin"]["value"]
    collected = load(folder / "study/export/problems.jsonl")
    kept = load(folder / "filtered/kept.jsonl")
    assert f"{len(collected)} of 120 are;" in text
    assert f"contains the {len(kept)} kept problems" in text
    assert f"{coin:.1%} against {builtin:.1%}:".replace("%", " %") in text
    assert f"{dev:.1%} on dev".replace("%", " %") in text


def accuracies_on_the_test(log):
    """Accuracy of each name that was graded, in the order of the first grade, from the last in the owner's record."""
    accuracies = {}
    for line in log.read_text("utf-8").splitlines():
        grade = json.loads(line)
        accuracies[grade["name"]] = next(
            (score["value"] for score in grade["scores"] if score["metric"] == "accuracy"), None
        )
    return list(accuracies.values())


def test_the_pictures_of_the_page_are_those_of_the_run(tutorial):
    """Sizes are compared, which depend on the number of rows, groups and panels."""
    folder, _ = tutorial
    run = winokit.Run.load(folder / "audit")
    for name in pictures_of_the_page():
        if name in SCREENSHOTS:
            assert (folder / SCREENSHOTS[name]).is_file(), name
        else:
            run.figure(name).savefig(folder / f"{name}.png")
            assert size_of(ROOT / "docs" / f"tutorial-{name}.png") == size_of(folder / f"{name}.png"), name


def size_of(png):
    """Bytes of the header that have the width and the height."""
    return png.read_bytes()[16:24]


def rows_of_metric(folder, protocol, metric):
    """Rows of an audit's results for one metric, by subset and model."""
    results = json.loads((folder / "results.json").read_text("utf-8"))
    rows = {}
    for row in results["metrics"]:
        if row["protocol"] == protocol and row["metric"] == metric:
            rows[row["subset"], row["model"]] = row
    return rows


def test_the_run_finds_what_the_page_tells(tutorial):
    folder, _ = tutorial
    grade_of_coin = json.loads((folder / "graded" / "coin.json").read_text("utf-8"))
    assert grade_of_coin["scores"] == []
    dev = rows_of_metric(folder / "audit", "accuracy", "accuracy")
    assert {row["dataset"] for row in dev.values()} == {"example/dev"}  # and not WinoGrande's
    pairs = rows_of_metric(folder / "more", "groups", "group_accuracy")["complete", "builtin"]
    assert pairs["high"] < pairs["chance"]
    accuracy = rows_of_metric(folder / "more", "accuracy", "accuracy")["all", "builtin"]
    assert accuracy["low"] <= accuracy["chance"] <= accuracy["high"]
