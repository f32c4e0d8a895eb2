"""Fixtures of every test: three twin pairs a person can check by hand, files of the real datasets, a browser."""

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
    """Exclude imported objects from later garbage collections.

    They are a million, and take half a second each time.
    """
    gc.collect()
    gc.freeze()


def real(name: str) -> Path:
    """Path of a file of the real datasets.

    The test is skipped if there is no such file.
    """
    path = REAL_DATA / name
    if not path.exists():
        pytest.skip(f"needs the public datasets: set WINOKIT_DATA to a folder that has {name}")
    return path


@pytest.fixture(scope="session", autouse=True)
def answers(tmp_path_factory) -> None:
    """Keep the answers of models for as long as the tests run, outside the user's cache."""
    os.environ["WINOKIT_CACHE"] = str(tmp_path_factory.mktemp("cache") / "answers.sqlite")
    # For the fixtures of whole modules; each test has a folder of its own.
    os.environ["WINOKIT_STATE"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(autouse=True)
def own_state(answers, tmp_path_factory, monkeypatch) -> None:
    """Give each test a state folder of its own, which is made when it is needed."""
    monkeypatch.setenv("WINOKIT_STATE", str(tmp_path_factory.getbasetemp() / f"state-{next(STATES)}"))


@pytest.fixture
def real_file() -> Callable[[str], Path]:
    return real


@pytest.fixture
def twins() -> Dataset:
    pour_text = "I poured water from the jug into the cup until "
    thank_text = "Nora thanked Ines because "
    rope_text = "The rope held the crate although "
    vessels = ("the jug", "the cup")
    people = ("Nora", "Ines")
    things = ("the rope", "the crate")
    problems = [
        Problem(pour_text, " was empty.", vessels, 0, "it", group="pour"),
        Problem(pour_text, " was full.", vessels, 1, "it", group="pour"),
        Problem(thank_text, " had been helped.", people, 0, "she", group="thank"),
        Problem(thank_text, " had been helpful.", people, 1, "she", group="thank"),
        Problem(rope_text, " was thin.", things, 0, "it", group="rope"),
        Problem(rope_text, " was huge.", things, 1, "it", group="rope"),
    ]
    return Dataset(problems)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A Chromium without a window, in which tests open contexts of their own."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    path = os.environ.get("WINOKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    from support.waiting import HANGS

    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=path, args=["--no-sandbox"], timeout=1000 * HANGS)
        yield browser
        browser.close()
