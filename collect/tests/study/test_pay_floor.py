"""An hour of work must pay the platform's minimum, or what the requester has set."""

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app as command_line
from winokit_collect import verbs
from winokit_collect.study.config import parse_config
from winokit_collect.study.pay_floor import check_prices, pay_floor


@pytest.mark.parametrize(
    ("platform", "currency", "least_per_hour", "cents"),
    [
        ("links", "USD", 0, 725),
        ("links", "USD", 3, 300),
        ("links", "USD", 12, 1200),
        ("links", "EUR", 0, 0),
        ("prolific", "USD", 0, 800),
        ("prolific", "GBP", 3, 600),
        ("prolific", "GBP", 9, 900),
        ("mturk", "USD", 0, 725),
    ],
)
def test_the_least_that_an_hour_should_pay(platform, currency, least_per_hour, cents):
    pay = {"currency": currency, "least_per_hour": least_per_hour}
    config = parse_config({"platform": {"name": platform}, "pay": pay})
    assert pay_floor(config).cents == cents


def test_the_papers_prices_are_too_low_and_the_needed_ones_are_named():
    config = parse_config({})
    write, validate = check_prices(config, {"validate": 20.0})
    assert (write.hourly_cents, write.needed_cents) == (565, 52)
    assert (write.is_low, write.is_measured) == (True, False)
    assert (validate.hourly_cents, validate.needed_cents) == (540, 5)
    assert (validate.is_low, validate.is_measured) == (True, True)
    enough = parse_config({"pay": {"write": 0.52, "validate": 0.05}})
    prices = check_prices(enough, {"validate": 20.0})
    assert not any(price.is_low for price in prices)


def test_check_says_it_and_finds_nothing_in_a_study_that_is_ready(tmp_path):
    folder = tmp_path / "study"
    verbs.init(folder)
    answer = CliRunner().invoke(command_line, ["collect", "check", str(folder)])
    assert answer.exit_code == 1
    complaint = "write pays 5.65 USD per hour, below the federal minimum wage of the United States (7.25 USD)"
    assert complaint in answer.output
    assert "FILL IN" in answer.output
    settings = (folder / "study.toml").read_text()
    settings = settings.replace("write = 0.40", "write = 0.52").replace("validate = 0.03", "validate = 0.05")
    (folder / "study.toml").write_text(settings)
    (folder / "consent.md").write_text("# Welcome\n")
    answer = CliRunner().invoke(command_line, ["collect", "check", str(folder)])
    assert answer.exit_code == 0, answer.output
    assert "nothing is missing" in answer.output
