"""The tutorial runs from end to end, and its page shows the commands of its script and the pictures they make."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "runs" / "tutorial.sh"
PAGE = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
SCREENSHOTS = {
    "debias": "filtered/report/index.html",
    "leaderboard": "board.html",
    "verdict": "audit/report/index.html",
}

SOMETIMES = {"phases"}  # drawn where AFLite had more than one, which is up to the example workers' slips


def commands_of_the_page():
    blocks = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


def commands_of_the_script():
    shown = SCRIPT.read_text("utf-8").partition("set -x\n")[2]
    return [line for line in shown.splitlines() if line and not line.startswith("#")]


def run_in(folder, cache):
    """Run the script as a user would, with this environment's winokit and python on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "WINOKIT_CACHE": str(cache)}
    return subprocess.run(
        ["bash", str(SCRIPT)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_page_has_the_commands_of_the_script_in_their_order():
    assert len(commands_of_the_script()) > 10
    assert commands_of_the_page() == commands_of_the_script()


def test_no_picture_of_the_tutorial_is_left_out_of_its_page():
    shown = re.findall(r"\]\((tutorial-[\w-]+\.png)\)", PAGE)
    assert sorted(shown) == sorted(path.name for path in (ROOT / "docs").glob("tutorial-*.png"))


def test_a_folder_with_something_in_it_is_refused_in_one_line(tmp_path):
    (tmp_path / "mine.txt").touch()
    done = run_in(tmp_path, tmp_path / "answers.sqlite")
    assert done.returncode == 2
    assert done.stderr == f"tutorial.sh: {tmp_path} is not empty; run it in an empty folder\n"


def found(folder, protocol, metric):
    """The rows of an audit's results for one metric, by subset."""
    rows = json.loads((folder / "results.json").read_text("utf-8"))["metrics"]
    return {row["subset"]: row for row in rows if (row["protocol"], row["metric"]) == (protocol, metric)}


def test_the_script_runs_to_the_end_makes_every_picture_and_finds_what_the_page_tells(tmp_path):
    for needed in ("sqlalchemy", "argon2", "pyarrow", "mlcroissant"):
        pytest.importorskip(needed)
    folder = tmp_path / "try"
    folder.mkdir()
    done = run_in(folder, tmp_path / "answers.sqlite")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("\n$ ") == len(commands_of_the_script())
    assert "as it should be" in done.stdout
    assert "2 entries written to board.html" in done.stdout

    figures = {path.stem for path in folder.glob("*/report/figures/*.png")}
    for name in re.findall(r"\]\(tutorial-([\w-]+)\.png\)", PAGE):
        assert name in figures | SOMETIMES or (folder / SCREENSHOTS[name]).is_file(), name

    dev = found(folder / "audit", "accuracy", "accuracy")
    assert {row["dataset"] for row in dev.values()} == {"example/dev"}  # and not WinoGrande's
    pairs = found(folder / "more", "groups", "group_accuracy")["complete"]
    assert pairs["high"] < pairs["chance"]
    accuracy = found(folder / "more", "accuracy", "accuracy")["all"]
    assert accuracy["low"] <= accuracy["chance"] <= accuracy["high"]
