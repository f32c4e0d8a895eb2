"""The action at the repository's root has the gate's options, and its script passes and fails as the gate does."""

import inspect
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from winokit.data.loading import load
from winokit.stages.gate.run import gate

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def action():
    return yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


@pytest.fixture(scope="module")
def steps(action):
    return {step["id"]: step for step in action["runs"]["steps"]}


@pytest.fixture(scope="module")
def gate_script(steps) -> str:
    return steps["gate"]["run"]


def test_every_input_reaches_the_script_through_the_environment_alone(action, steps, gate_script):
    variables = steps["gate"]["env"]
    inputs_of_variables = set(re.findall(r"inputs\.(\w+)", json.dumps(variables)))
    assert inputs_of_variables == set(action["inputs"])
    assert all(f"${name}" in gate_script for name in variables)


def test_every_script_runs_in_bash_and_holds_no_expression(steps):
    script_steps = [step for step in steps.values() if "run" in step]
    assert all(step.get("shell") == "bash" for step in script_steps)
    assert all("${{" not in step["run"] for step in script_steps)


def test_its_options_and_defaults_are_those_of_the_gate(action, gate_script):
    parameters = inspect.signature(gate).parameters
    options = set(re.findall(r"--([a-z]+)", gate_script))
    assert options <= parameters.keys()
    for name in ("margin", "level"):
        default = float(action["inputs"][name]["default"])
        assert default == parameters[name].default


def test_it_installs_from_files_that_are_there(steps):
    assert "$ACTION/constraints.txt" in steps["install"]["run"]
    assert (ROOT / "constraints.txt").is_file()
    assert (ROOT / "pyproject.toml").is_file()


def write_command(path: Path) -> None:
    """Write a command that runs the winokit of these tests."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m winokit "$@"\n')
    path.chmod(0o755)


def run_gate(steps, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the last step's script as a runner does, with the winokit of these tests."""
    write_command(folder / "winokit" / "bin" / "winokit")
    environment = dict(os.environ)
    environment["RUNNER_TEMP"] = str(folder)
    environment["GITHUB_STEP_SUMMARY"] = str(folder / "summary")
    environment["GITHUB_OUTPUT"] = str(folder / "output")
    environment |= dict.fromkeys(steps["gate"]["env"], "")
    environment |= {"MARGIN": "1.0", "LEVEL": "0.05"}
    environment |= inputs
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c"]
    return subprocess.run([*shell, steps["gate"]["run"]], env=environment, capture_output=True, text=True)


def write_labels(path: Path, choices: list[int]) -> None:
    path.write_text("".join(f"{choice + 1}\n" for choice in choices))


@pytest.fixture(scope="module")
def labels(tmp_path_factory) -> Path:
    """Folder of answers that are all right, and of answers that are all wrong."""
    folder = tmp_path_factory.mktemp("labels of a run")
    answers = [problem.answer for problem in load("open")]
    write_labels(folder / "right.txt", answers)
    write_labels(folder / "wrong.txt", [1 - answer for answer in answers])
    return folder


def run_gate_on_labels(steps, labels: Path, folder: Path, new: str, against: str):
    files = {"NEW": str(labels / f"{new}.txt"), "AGAINST": str(labels / f"{against}.txt"), "DATA": "open"}
    return run_gate(steps, folder, METRICS="accuracy group_accuracy", STRICT="true", **files)


@pytest.mark.parametrize(
    ("new", "against", "code", "output"),
    [("wrong", "right", 1, "passed=false\n"), ("right", "wrong", 0, "passed=true\n")],
)
def test_its_script_passes_and_fails_as_the_gate_does(steps, labels, tmp_path, new, against, code, output):
    result = run_gate_on_labels(steps, labels, tmp_path, new, against)
    assert result.returncode == code, result.stderr
    assert (tmp_path / "output").read_text() == output
    assert "group accuracy" in (tmp_path / "summary").read_text()


def test_its_script_refuses_as_the_gate_does(steps, labels, tmp_path):
    result = run_gate_on_labels(steps, labels, tmp_path, "none", "right")
    output_path = tmp_path / "output"
    output = output_path.read_text() if output_path.exists() else ""
    assert result.returncode == 2, result.stderr
    assert output == ""
    assert result.stderr.startswith("winokit: ")
    assert result.stderr.count("\n") == 1
