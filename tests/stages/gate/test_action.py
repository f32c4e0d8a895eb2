"""The action at the repository's root: its inputs, its options, and its script run as a runner would."""

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


def test_every_input_reaches_the_script_through_the_environment_alone(action, steps):
    given = set(re.findall(r"inputs\.(\w+)", json.dumps(steps["gate"]["env"])))
    assert given == set(action["inputs"])
    assert all("${{" not in step.get("run", "") for step in steps.values())
    assert all(f"${name}" in steps["gate"]["run"] for name in steps["gate"]["env"])
    assert all(step.get("shell") == "bash" for step in steps.values() if "run" in step)


def test_its_options_and_defaults_are_those_of_the_gate(action, steps):
    known = {name: each.default for name, each in inspect.signature(gate).parameters.items()}
    assert set(re.findall(r"--([a-z]+)", steps["gate"]["run"])) <= known.keys()
    assert float(action["inputs"]["margin"]["default"]) == known["margin"]
    assert float(action["inputs"]["level"]["default"]) == known["level"]


def test_it_installs_from_files_that_are_there(steps):
    assert "$ACTION/constraints.txt" in steps["install"]["run"]
    assert (ROOT / "constraints.txt").is_file()
    assert (ROOT / "pyproject.toml").is_file()


def run_gate(steps, folder, **inputs):
    """Run the last step's script as a runner does, with the winokit of these tests."""
    command = folder / "winokit" / "bin" / "winokit"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m winokit "$@"\n')
    command.chmod(0o755)
    environment = dict.fromkeys(steps["gate"]["env"], "") | {"MARGIN": "1.0", "LEVEL": "0.05"} | inputs
    files = {"GITHUB_STEP_SUMMARY": str(folder / "summary"), "GITHUB_OUTPUT": str(folder / "output")}
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", steps["gate"]["run"]],
        env={**os.environ, "RUNNER_TEMP": str(folder), **files, **environment},
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def labels(tmp_path_factory):
    """Answers that are all right, and answers that are all wrong."""
    folder = tmp_path_factory.mktemp("labels of a run")
    answers = [problem.answer for problem in load("open")]
    (folder / "right.txt").write_text("".join(f"{answer + 1}\n" for answer in answers))
    (folder / "wrong.txt").write_text("".join(f"{2 - answer}\n" for answer in answers))
    return folder


@pytest.mark.parametrize(
    ("new", "against", "code", "output"),
    [("wrong", "right", 1, "passed=false\n"), ("right", "wrong", 0, "passed=true\n"), ("none", "right", 2, "")],
)
def test_its_script_passes_fails_and_refuses_as_the_gate_does(steps, labels, tmp_path, new, against, code, output):
    files = {"NEW": str(labels / f"{new}.txt"), "AGAINST": str(labels / f"{against}.txt"), "DATA": "open"}
    ran = run_gate(steps, tmp_path, METRICS="accuracy group_accuracy", STRICT="true", **files)
    assert ran.returncode == code, ran.stderr
    written = tmp_path / "output"
    assert (written.read_text() if written.exists() else "") == output
    if code == 2:
        assert ran.stderr.startswith("winokit: ")
        assert ran.stderr.count("\n") == 1
    else:
        assert "group accuracy" in (tmp_path / "summary").read_text()
