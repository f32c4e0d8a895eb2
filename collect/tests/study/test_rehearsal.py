"""A rehearsal plays a study through with simulated workers: the money is right and a page says what would happen."""

import json

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app as command_line
from winokit_collect import verbs
from winokit_collect.platforms import payout
from winokit_collect.rehearsal.plan import RehearsalPlan
from winokit_collect.rehearsal.play import _find_power, rehearse
from winokit_collect.study.pay_floor import ASSUMED_SECONDS


def make_plan(**changes):
    fields = {"pairs": 6, "bot_share": 0.2, "seed": 1, "seconds": dict(ASSUMED_SECONDS)}
    return RehearsalPlan(**fields | changes)


@pytest.fixture
def folder(tmp_path):
    verbs.init(tmp_path / "study")
    return tmp_path / "study"


def test_what_is_owed_is_paid_on_a_platform_that_fails(folder, monkeypatch):
    monkeypatch.delenv("PROLIFIC_API_TOKEN", raising=False)
    names_before = sorted(path.name for path in folder.iterdir())
    rehearsal = rehearse(folder, make_plan(fails_after_paying=0.4, second_visit_share=0.6))
    assert rehearsal.money.owed_cents == rehearsal.money.paid_cents > 6 * 40
    assert rehearsal.money.disagreement_cents == 0
    assert rehearsal.money.uncertain > 0
    assert rehearsal.seen.second_visits > 0
    assert rehearsal.verdicts.valid + rehearsal.verdicts.invalid == 12
    assert sorted(path.name for path in folder.iterdir()) == names_before, "nothing in the study is changed"


def test_a_mistake_in_paying_is_seen(folder, monkeypatch):
    """A payout that takes every error for a refusal pays twice."""
    store_failure = payout._store_failure

    def store_as_refused(study, job, state, error):
        return store_failure(study, job, "refused", error)

    monkeypatch.setattr(payout, "_store_failure", store_as_refused)
    rehearsal = rehearse(folder, make_plan(fails_after_paying=0.5))
    assert rehearsal.money.paid_cents > rehearsal.money.owed_cents
    assert rehearsal.money.disagreement_cents > 0


def test_rewards_beyond_what_was_earned_are_named(folder):
    settings = (folder / "study.toml").read_text().replace("base_reward = 0.00", "base_reward = 3.00")
    (folder / "study.toml").write_text(settings)
    money = rehearse(folder, make_plan()).money
    assert money.rewards_beyond_cents > 0
    assert money.paid_cents == money.owed_cents + money.rewards_beyond_cents
    assert money.disagreement_cents == 0


def test_bots_are_seen_to_cost_problems(folder):
    settings = (folder / "study.toml").read_text().replace("quiz_pass_mark = 0.8", "quiz_pass_mark = 0")
    (folder / "study.toml").write_text(settings)  # which keeps most bots out
    without_bots = rehearse(folder, make_plan(pairs=10, bot_share=0.0)).verdicts
    with_bots = rehearse(folder, make_plan(pairs=10, bot_share=0.5)).verdicts
    assert with_bots.invalid > without_bots.invalid
    assert with_bots.bots > without_bots.bots == 0
    assert with_bots.hang_on_bots > 0


def test_the_power_is_that_of_a_simulated_test():
    from random import Random

    draw = Random(5)
    problems = 600
    detected_count = 0
    rounds = 400
    for _ in range(rounds):
        steps = draw.choices((1, -1, 0), weights=(0.125, 0.075, 0.8), k=problems)
        difference = sum(steps)
        deviation = sum(abs(step) for step in steps) ** 0.5
        detected_count += abs(difference) > 1.96 * deviation
    estimate = _find_power(problems)
    assert estimate.power == pytest.approx(detected_count / rounds, abs=0.08)
    assert _find_power(estimate.needed).power == pytest.approx(0.8, abs=0.03)


def test_data_that_people_judge_can_be_rehearsed(tmp_path):
    verbs.init(tmp_path / "study", judge="open", kind=("switchable",), limit=20)
    rehearsal = rehearse(tmp_path / "study", make_plan(pairs=3))
    assert rehearsal.money.owed_cents == rehearsal.money.paid_cents > 0
    assert rehearsal.hour.by_kind.keys() == {"switchable"}


def test_the_page_and_the_lines_say_it(folder):
    answer = CliRunner().invoke(command_line, ["collect", "rehearse", str(folder), "--pairs", "4", "--json"])
    assert answer.exit_code == 0, answer.output
    record = json.loads(answer.stdout)
    page = (folder / "rehearsal.html").read_text("utf-8")
    for heading in ("Owed and paid", "What a worker needs and earns", "Rejections", "see 5 points"):
        assert heading in page
    assert f"{record['power']['needed']:,}" in page
    assert "http://" not in page.replace("http://127", "")
