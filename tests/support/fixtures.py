"""Fixtures of every test: three twin pairs a person can check by hand, the real datasets where they are, a browser."""

import gc
import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

# Two test processes share two cores, and models this small lose more to a second thread than they gain. NumPy, torch
# and onnxruntime read this when they are loaded, here and in the processes that tests start.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A test that imports onnxruntime by itself reports nothing to its makers either.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import pytest
from hypothesis import HealthCheck, settings

from winokit.problem import Dataset, Problem

# Numbers are compared with those of models on the CPU; a test of a GPU names its device.
os.environ["WINOKIT_DEVICE"] = "cpu"
# Seconds say how busy the machine is, not whether the code is right.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")
STATES = count()
REAL_DATA = Path(os.environ.get("WINOKIT_DATA") or Path(__file__).parents[3] / "shared" / "data")


def pytest_collection_finish() -> None:
    """Leave what was imported out of later searches for garbage: a million objects, half a second a search."""
    gc.collect()
    gc.freeze()


def real(name: str) -> Path:
    """A file of the real datasets; the test skips where there is none."""
    path = REAL_DATA / name
    if not path.exists():
        pytest.skip(f"needs the public datasets: set WINOKIT_DATA to a folder that has {name}")
    return path


@pytest.fixture(scope="session", autouse=True)
def answers(tmp_path_factory) -> None:
    """Answers of models are kept for as long as the tests run, and not in the user's cache."""
    os.environ["WINOKIT_CACHE"] = str(tmp_path_factory.mktemp("cache") / "answers.sqlite")
    # What fixtures of a whole module record; each test has a folder of its own.
    os.environ["WINOKIT_STATE"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def own_state(answers, tmp_path_factory, monkeypatch) -> None:
    """What one test records in the user's state folder is not seen by others. The folder is made when it is needed."""
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path_factory.getbasetemp() / f"state-{next(STATES)}"))


@pytest.fixture
def real_file() -> Callable[[str], Path]:
    return real


@pytest.fixture
def twins() -> Dataset:
    poured = "I poured water from the jug into the cup until "
    thanked = "Nora thanked Ines because "
    held = "The rope held the crate although "
    vessels = ("the jug", "the cup")
    people = ("Nora", "Ines")
    things = ("the rope", "the crate")
    return Dataset(
        [
            Problem(poured, " was empty.", vessels, 0, "it", group="pour"),
            Problem(poured, " was full.", vessels, 1, "it", group="pour"),
            Problem(thanked, " had been helped.", people, 0, "she", group="thank"),
            Problem(thanked, " had been helpful.", people, 1, "she", group="thank"),
            Problem(held, " was thin.", things, 0, "it", group="rope"),
            Problem(held, " was huge.", things, 1, "it", group="rope"),
        ]
    )


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser that real people use, without a window; tests open contexts of their own in it."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = os.environ.get("WINOKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    from support.waiting import HANGS

    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=1000 * HANGS)
        yield found
        found.close()
