"""What an hour pays, and the least that it should, by platform."""

import pytest
from typer.testing import CliRunner

from winokit.cli.main import app as command_line
from winokit_collect import verbs
from winokit_collect.study.config import parse_config
from winokit_collect.study.pay_floor import check_prices, pay_floor


@pytest.mark.parametrize(
    ("platform", "currency", "own", "cents"),
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
def test_the_least_that_an_hour_should_pay(platform, currency, own, cents):
    config = parse_config({"platform": {"name": platform}, "pay": {"currency": currency, "least_per_hour": own}})
    assert pay_floor(config).cents == cents


def test_the_papers_prices_are_too_low_and_the_needed_ones_are_named():
    config = parse_config({})
    write, validate = check_prices(config, {"validate": 20.0})
    assert (write.hourly_cents, write.needed_cents, write.is_low, write.is_measured) == (565, 52, True, False)
    assert (validate.hourly_cents, validate.needed_cents, validate.is_low, validate.is_measured) == (540, 5, True, True)
    enough = parse_config({"pay": {"write": 0.52, "validate": 0.05}})
    assert not any(price.is_low for price in check_prices(enough, {"validate": 20.0}))


def test_check_says_it_and_finds_nothing_in_a_study_that_is_ready(tmp_path):
    verbs.init(tmp_path / "study")
    answer = CliRunner().invoke(command_line, ["collect", "check", str(tmp_path / "study")])
    assert answer.exit_code == 1
    assert (
        "write pays 5.65 USD per hour, below the federal minimum wage of the United States (7.25 USD)" in answer.output
    )
    assert "FILL IN" in answer.output
    settings = (tmp_path / "study" / "study.toml").read_text()
    settings = settings.replace("write = 0.40", "write = 0.52").replace("validate = 0.03", "validate = 0.05")
    (tmp_path / "study" / "study.toml").write_text(settings)
    (tmp_path / "study" / "consent.md").write_text("# Welcome\n")
    answer = CliRunner().invoke(command_line, ["collect", "check", str(tmp_path / "study")])
    assert (answer.exit_code, "nothing is missing" in answer.output) == (0, True), answer.output
