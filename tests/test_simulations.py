"""The simulations behind docs/evidence/statistics.md, in small: intervals cover, and no verdict is bold."""

import importlib.util
import math
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


simulations = load("simulations")
verdicts = load("verdicts")
ladder = load("ladder")


def noise(share: float, times: int) -> float:
    """Three standard errors of a share that is measured so many times."""
    return 3 * math.sqrt(share * (1 - share) / times)


def test_an_interval_of_a_share_of_groups_covers_exactly_what_it_says():
    for found in simulations.coverage():
        assert found.measured >= 0.95 - 1e-9, found


TIMES = 60


SECTIONS = ["unequal", "large", "repeated", "luck", "gaps", "paired", "sample-sizes", "gates", "margins"]


@pytest.mark.parametrize("section", SECTIONS)
def test_what_is_measured_is_what_is_claimed(section):
    for found in simulations.SECTIONS[section](TIMES):
        claimed = float(found.claimed.lstrip("≤≥ "))
        if found.claimed.startswith("≤"):
            assert found.measured <= claimed + noise(claimed, TIMES), found
        else:
            assert found.measured >= claimed - 0.03 - noise(claimed, TIMES), found


def test_learning_curves_cover_what_is_claimed(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    for row in simulations.curves(TIMES):
        assert row.measured >= float(row.claimed) - noise(0.95, TIMES), row


@pytest.mark.parametrize("nature", verdicts.NATURES, ids=lambda nature: nature.name)
def test_no_verdict_is_bolder_than_one_in_twenty(nature):
    cell = verdicts.judge(nature, 60, 40)
    assert cell.bold <= 0.05 + noise(0.05, 40), cell
    assert cell.findings <= 0.05 + noise(0.05, 40), cell


def test_what_is_clear_is_said():
    by_name = {nature.name: nature for nature in verdicts.NATURES}
    assert verdicts.judge(by_name["reasons, 80 %"], 428, 10).right == 1
    assert verdicts.judge(by_name["takes its favourite, 9 in 10"], 428, 10).right >= 0.8
    assert verdicts.compared(0.1, 428, 10).right >= 0.8


def test_equal_models_are_not_told_apart_more_than_one_time_in_twenty():
    cell = verdicts.compared(0.0, 200, 100)
    assert cell.bold <= 0.05 + noise(0.05, 100), cell


@pytest.mark.parametrize(("pairs", "told"), [(32, 0.744), (192, 0.598)])
def test_a_board_of_two_tells_an_unknown_pair_no_more_often_than_the_page_on_grading_says(pairs, told):
    assert ladder.read_off_a_board(pairs, draws=41) == pytest.approx(told, abs=0.01)
    assert ladder.read_off_a_board(pairs, draws=1) == 1.0  # and always where no margin is drawn
