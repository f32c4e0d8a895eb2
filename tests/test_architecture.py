"""docs/architecture.md walks through four jobs, function by function: each is seen called, in that order."""

import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import winokit
from winokit.methods.transforms.variants import make_variants

ROOT = Path(__file__).parents[1]
SRC = Path(winokit.__file__).parent
COLLECT = ROOT / "collect" / "src"
STEP = re.compile(r"^\d+\. `([\w/]+\.py)` `(\w+)`", re.MULTILINE)


def walk(heading: str) -> list[tuple[str, str]]:
    """File and function of each step under a heading."""
    text = (ROOT / "docs/architecture.md").read_text("utf-8")
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE).group(1)
    return STEP.findall(section)


def calls(job: Callable[[], object]) -> dict[tuple[str, str], int]:
    """Rank of the first call of each of our functions while a job is done, in any thread, by file and function."""
    first_calls: dict[tuple[str, str], int] = {}
    our_folders = (f"{SRC}/", f"{COLLECT}/")

    def look(frame, event, _):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(our_folders):
            file = path.removeprefix(our_folders[0]).removeprefix(our_folders[1])
            first_calls.setdefault((file, frame.f_code.co_name), len(first_calls))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        job()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return first_calls


def check_walk(heading: str, job: Callable[[], object]) -> None:
    """Fail unless the job calls the functions under a heading, in the order of the page."""
    steps = walk(heading)
    first_calls = calls(job)
    assert len(steps) >= 10
    assert [step for step in steps if step not in first_calls] == []
    assert steps == sorted(steps, key=first_calls.__getitem__)


def typed(monkeypatch, tmp_path, *arguments: str) -> Callable[[], None]:
    """A job that runs a command in an empty folder."""
    from winokit.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["winokit", *arguments])

    def job() -> None:
        with pytest.raises(SystemExit) as exit_info:
            main()
        assert not exit_info.value.code

    return job


def test_the_page_says_what_becomes_of_the_problem_it_follows():
    page = (ROOT / "docs/architecture.md").read_text("utf-8")
    section = re.search(r"^## One problem, room by room\n(.*?)(?=^## )", page, re.DOTALL | re.MULTILINE).group(1)
    pair = winokit.load("open")[:2]
    first = pair.problems[0]
    assert first.before.removesuffix("never have to fetch ") in section
    variants = make_variants(pair)
    assert f'"{variants["part-sent"].problems.problems[0].text}"' in section
    assert variants["switched"].problems.problems[0].text.startswith("The spaniel can squeeze")
    rows = winokit.score(pair, "builtin", scoring="masked-candidate", cache="off").predictions
    for row in rows:
        for score in row.scores:
            assert f"{score:.3f}".replace("-", "−") in section
    assert [row.is_right for row in rows] == [True, False]
    assert len(variants) == 6
    assert "six variants" in section


def test_an_audit_goes_its_way(monkeypatch, tmp_path, capsys):
    check_walk("An audit", typed(monkeypatch, tmp_path, "audit", "--limit", "12", "--set", "cache=off"))


def test_a_debiasing_goes_its_way(monkeypatch, tmp_path, capsys):
    arguments = (
        "debias",
        "aflite",
        "synthetic-60",
        "--model",
        "builtin",
        "--set",
        "cache=off&null_runs=2",
        "--out",
        "out",
    )
    check_walk("A debiasing", typed(monkeypatch, tmp_path, *arguments, "--train-size", "40", "--cutoff", "10"))


def test_a_training_run_goes_its_way(monkeypatch, tmp_path, capsys):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from support import tiny

    spec = f"hf:{tiny.tiny('bert', tmp_path / 'bert')}"
    arguments = ("train", "open", "--model", spec, "--holdout", "20", "--steps", "2", "--limit", "16", "--out", "out")
    check_walk("A training run", typed(monkeypatch, tmp_path, *arguments))


def test_a_written_twin_goes_its_way(tmp_path):
    pytest.importorskip("winokit_collect")
    from collect_support.crew import form
    from collect_support.people import Browser
    from collect_support.studies import Clock, studies_in

    from winokit_collect.web.app import create_app

    with studies_in(tmp_path, Clock(), twins=4, social_share=0) as make:
        study = make()
        worker = Browser(create_app(study)).join(study)

        def job() -> None:
            task = worker.take("write")
            assert worker.send(f"{task}/write", **form()).status_code == 200

        check_walk("A written twin", job)
