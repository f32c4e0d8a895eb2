"""A limit parses the first problems and those among which their twins may be, not the whole file."""

import json

import pytest

import winokit
from winokit.data.loading import AHEAD, load, load_first, load_one
from winokit.problem import Problem

COUNT = AHEAD + 500
LIMIT = 6


def row(number: int) -> dict[str, str]:
    """One of two twins in WinoGrande's format."""
    end = "was too tall" if number % 2 else "was too low"
    sentence = f"The shelf {number // 2} did not fit under the window {number // 2} because the _ {end}."
    options = {"option1": f"shelf {number // 2}", "option2": f"window {number // 2}"}
    return {
        "qID": f"{number // 2:030}-{1 + number % 2}",
        "sentence": sentence,
        **options,
        "answer": str(2 - number % 2),
    }


@pytest.fixture
def file(tmp_path):
    """A file with more problems than a limit parses."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(json.dumps(row(number)) + "\n" for number in range(COUNT)), "utf-8")
    return path


def test_a_limit_parses_the_first_problems_and_a_thousand_more(file, monkeypatch):
    made = []
    checked = Problem.__post_init__
    monkeypatch.setattr(Problem, "__post_init__", lambda problem: (made.append(problem.text), checked(problem)))
    dataset = load_one(file, limit=LIMIT)
    assert len(dataset) == LIMIT
    assert len(set(made)) == LIMIT + AHEAD


def test_a_limited_dataset_is_the_beginning_of_the_whole_one(file):
    limited = load_one(file, limit=LIMIT)
    whole = load(file)[:LIMIT]
    assert limited.problems == whole.problems
    assert limited.card == whole.card
    assert limited.card.name.endswith(f"{LIMIT} of {COUNT:,}")
    assert [problem.group for problem in limited] == [problem.group for problem in whole]


def test_rows_that_number_themselves_are_no_twins_under_a_limit(file):
    rows = [{**row(2 * number), "qID": f"mine-{number}"} for number in range(COUNT)]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    assert "mine" not in load_one(file, limit=2).groups


def test_problems_of_one_language_are_looked_for_in_the_whole_file(file):
    rows = [{**row(number), "language": "de" if number >= AHEAD + 100 else "en"} for number in range(COUNT)]
    file.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    german = winokit.score(file, model="random", language="de", limit=LIMIT, cache="off")
    assert len(german.predictions) == LIMIT


def test_the_first_problems_of_a_known_set_have_its_name(real_file):
    file = real_file("winogrande/train_m.jsonl")
    begun = load_first(file, LIMIT)
    assert (len(begun), begun.unread) == (LIMIT + AHEAD, 2558 - LIMIT - AHEAD)
    assert begun.card.name == "winogrande/train_m"
    assert begun[:LIMIT].card.name == "winogrande/train_m, 6 of 2,558"


def test_an_audit_with_predictions_reads_the_whole_file(file, tmp_path):
    labels = tmp_path / "labels.lst"
    labels.write_text("".join(f"{2 - number % 2}\n" for number in range(COUNT)), "utf-8")
    run = winokit.audit(file, predictions=labels, limit=LIMIT)
    assert (run.accuracy.value, run.accuracy.n) == (1.0, LIMIT)
    assert winokit.audit(file, model="random", limit=LIMIT, cache="off").accuracy.n == LIMIT
