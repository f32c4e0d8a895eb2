"""A wheel, installed into a new environment outside the checkout, works."""

import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    pip = [
        str(folder / "venv/bin/python"),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--constraint",
        str(ROOT / "constraints.txt"),
    ]
    done = subprocess.run([*pip, str(wheel)], check=False, capture_output=True, text=True, cwd=folder)
    if done.returncode and "No matching distribution" in done.stderr and "connection" in done.stderr.lower():
        pytest.skip("needs a package index to install the wheel's dependencies from")
    assert done.returncode == 0, done.stderr
    return folder / "venv/bin/winokit"


def run(command, *arguments):
    result = subprocess.run([command, *arguments], capture_output=True, text=True, check=False, cwd=command.parents[2])
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_the_installed_command_tells_its_version(installed):
    assert run(installed, "--version").startswith("winokit 0.")


def test_the_installed_command_finds_the_bundled_twins(installed):
    assert "214" in run(installed, "stats", "open")
