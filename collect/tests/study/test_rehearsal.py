"""A study is played through before people are asked: the money is right, and the page says what would happen."""

import json

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app as command_line
from winokit_collect import verbs
from winokit_collect.platforms import payout
from winokit_collect.rehearsal.plan import RehearsalPlan
from winokit_collect.rehearsal.play import _find_power, rehearse
from winokit_collect.study.pay_floor import ASSUMED_SECONDS


def plan_of(**changes):
    return RehearsalPlan(**{"pairs": 6, "bot_share": 0.2, "seed": 1, "seconds": dict(ASSUMED_SECONDS)} | changes)


@pytest.fixture
def folder(tmp_path):
    verbs.init(tmp_path / "study")
    return tmp_path / "study"


def test_what_is_owed_is_paid_on_a_platform_that_fails(folder, monkeypatch):
    monkeypatch.delenv("PROLIFIC_API_TOKEN", raising=False)
    before = sorted(path.name for path in folder.iterdir())
    played = rehearse(folder, plan_of(fails_after_paying=0.4, second_visit_share=0.6))
    assert played.money.owed_cents == played.money.paid_cents > 6 * 40
    assert played.money.disagreement_cents == 0
    assert played.money.uncertain > 0
    assert played.seen.second_visits > 0
    assert played.verdicts.valid + played.verdicts.invalid == 12
    assert sorted(path.name for path in folder.iterdir()) == before, "nothing in the study is changed"


def test_a_mistake_in_paying_is_seen(folder, monkeypatch):
    """A payout that trusts an error would pay twice."""
    real = payout._store_failure
    monkeypatch.setattr(payout, "_store_failure", lambda study, job, state, error: real(study, job, "refused", error))
    played = rehearse(folder, plan_of(fails_after_paying=0.5))
    assert played.money.paid_cents > played.money.owed_cents
    assert played.money.disagreement_cents > 0


def test_rewards_beyond_what_was_earned_are_named(folder):
    settings = (folder / "study.toml").read_text().replace("base_reward = 0.00", "base_reward = 3.00")
    (folder / "study.toml").write_text(settings)
    money = rehearse(folder, plan_of()).money
    assert money.rewards_beyond_cents > 0
    assert money.paid_cents == money.owed_cents + money.rewards_beyond_cents
    assert money.disagreement_cents == 0


def test_bots_are_seen_to_cost_problems(folder):
    settings = (folder / "study.toml").read_text().replace("quiz_pass_mark = 0.8", "quiz_pass_mark = 0")
    (folder / "study.toml").write_text(settings)  # which keeps most bots out
    few, many = (rehearse(folder, plan_of(pairs=10, bot_share=share)).verdicts for share in (0.0, 0.5))
    assert many.invalid > few.invalid
    assert many.bots > few.bots == 0
    assert many.hang_on_bots > 0


def test_the_power_is_that_of_a_simulated_test():
    from random import Random

    draw = Random(5)
    problems = 600
    seen = 0
    rounds = 400
    for _ in range(rounds):
        steps = draw.choices((1, -1, 0), weights=(0.125, 0.075, 0.8), k=problems)
        ahead = sum(steps)
        seen += abs(ahead) > 1.96 * (sum(map(abs, steps))) ** 0.5
    assert _find_power(problems).power == pytest.approx(seen / rounds, abs=0.08)
    assert _find_power(_find_power(problems).needed).power == pytest.approx(0.8, abs=0.03)


def test_data_that_people_judge_can_be_rehearsed(tmp_path):
    verbs.init(tmp_path / "study", judge="open", kind=("switchable",), limit=20)
    played = rehearse(tmp_path / "study", plan_of(pairs=3))
    assert played.money.owed_cents == played.money.paid_cents > 0
    assert played.hour.by_kind.keys() == {"switchable"}


def test_the_page_and_the_lines_say_it(folder):
    answer = CliRunner().invoke(command_line, ["collect", "rehearse", str(folder), "--pairs", "4", "--json"])
    assert answer.exit_code == 0, answer.output
    record = json.loads(answer.stdout)
    page = (folder / "rehearsal.html").read_text("utf-8")
    for heading in ("Owed and paid", "What a worker needs and earns", "Rejections", "see 5 points"):
        assert heading in page
    assert f"{record['power']['needed']:,}" in page
    assert "http://" not in page.replace("http://127", "")
