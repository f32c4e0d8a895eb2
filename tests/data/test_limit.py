"""A limit parses the first problems and those among which their twins may be, not the whole file."""

import pytest
from support.json_rows import json_lines

import winokit
from winokit.data.loading import AHEAD, load, load_first, load_one
from winokit.problem import Problem

COUNT = AHEAD + 500
LIMIT = 6


def winogrande_row(index: int) -> dict[str, str]:
    """Row of WinoGrande, of which an even one and the next are twins."""
    pair, which = divmod(index, 2)
    end = ("was too low", "was too tall")[which]
    return {
        "qID": f"{pair:030}-{1 + which}",
        "sentence": f"The shelf {pair} did not fit under the window {pair} because the _ {end}.",
        "option1": f"shelf {pair}",
        "option2": f"window {pair}",
        "answer": str(2 - which),
    }


@pytest.fixture
def file(tmp_path):
    """File with more problems than a limit parses."""
    path = tmp_path / "many.jsonl"
    rows = [winogrande_row(number) for number in range(COUNT)]
    path.write_text(json_lines(rows), "utf-8")
    return path


def test_a_limit_parses_the_first_problems_and_a_thousand_more(file, monkeypatch):
    texts = set()
    validate = Problem.__post_init__

    def record_and_validate(problem):
        texts.add(problem.text)
        validate(problem)

    monkeypatch.setattr(Problem, "__post_init__", record_and_validate)
    dataset = load_one(file, limit=LIMIT)
    assert len(dataset) == LIMIT
    assert len(texts) == LIMIT + AHEAD


def test_a_limited_dataset_is_the_beginning_of_the_whole_one(file):
    limited = load_one(file, limit=LIMIT)
    full_dataset = load(file)[:LIMIT]
    assert limited.problems == full_dataset.problems
    assert limited.card == full_dataset.card
    assert limited.card.name.endswith(f"{LIMIT} of {COUNT:,}")
    whole_groups = [problem.group for problem in full_dataset]
    limited_groups = [problem.group for problem in limited]
    assert limited_groups == whole_groups


def test_rows_that_number_themselves_are_no_twins_under_a_limit(file):
    rows = [{**winogrande_row(2 * number), "qID": f"mine-{number}"} for number in range(COUNT)]
    file.write_text(json_lines(rows), "utf-8")
    assert "mine" not in load_one(file, limit=2).groups


def test_problems_of_one_language_are_looked_for_in_the_whole_file(file):
    rows = [winogrande_row(number) | {"language": "en"} for number in range(COUNT)]
    for german_row in rows[AHEAD + 100 :]:
        german_row["language"] = "de"
    file.write_text(json_lines(rows), "utf-8")
    german = winokit.score(file, model="random", language="de", limit=LIMIT, cache="off")
    assert len(german.predictions) == LIMIT


def test_the_first_problems_of_a_known_set_have_its_name(real_file):
    file = real_file("winogrande/train_m.jsonl")
    beginning = load_first(file, LIMIT)
    assert len(beginning) == LIMIT + AHEAD
    assert beginning.unread == 2558 - LIMIT - AHEAD
    assert beginning.card.name == "winogrande/train_m"
    assert beginning[:LIMIT].card.name == "winogrande/train_m, 6 of 2,558"


def test_an_audit_with_predictions_reads_the_whole_file(file, tmp_path):
    path = tmp_path / "labels.lst"
    labels = [str(2 - number % 2) for number in range(COUNT)]
    path.write_text("\n".join(labels) + "\n", "utf-8")
    run = winokit.audit(file, predictions=path, limit=LIMIT)
    assert run.accuracy.value == 1.0
    assert run.accuracy.n == LIMIT


def test_an_audit_of_a_model_has_a_limit(file):
    run = winokit.audit(file, model="random", limit=LIMIT, cache="off")
    assert run.accuracy.n == LIMIT
