"""Every benchmark still runs: those that few people start rot first."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
ELSEWHERE = {
    "quiet",  # which the others share
    "install",  # installs other people's packages
}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({path.stem for path in FOLDER.glob("*.py")} - ELSEWHERE))
def test_a_benchmark_shows_in_seconds_that_it_runs(name, tmp_path):
    command = [sys.executable, str(FOLDER / f"{name}.py"), "--quick"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    output = done.stdout + done.stderr
    assert "load" in output or "skipped" in output  # the line on the load of the machine
