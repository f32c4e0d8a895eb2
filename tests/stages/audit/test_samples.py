"""Several samples of one scorer: rows over them, intervals and tests that copies do not sharpen, and what is said."""

import json
import re

import numpy as np
import pytest
from support.servers import SamplingServer

import winokit
from winokit.answers import Answers
from winokit.data.runs import Run
from winokit.errors import BadInput
from winokit.methods.metrics.judge import judge
from winokit.methods.metrics.judge_pairs import compare_answers
from winokit.problem import Dataset, Problem
from winokit.stages.audit.verdict import verdict


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def pairs(count: int) -> Dataset:
    return Dataset(
        Problem(f"Pair {pair} says that ", f" did {answer}.", ("one", "two"), answer, group=f"g{pair}")
        for pair in range(count)
        for answer in (0, 1)
    )


def singles(count: int, candidates: int = 2) -> Dataset:
    names = ("one", "two", "three")[:candidates]
    return Dataset(Problem(f"Text {at} says that ", " did.", names, at % 3 % candidates) for at in range(count))


def triplets(count: int) -> Dataset:
    return Dataset(
        Problem(f"Group {group} says that ", f" did {at}.", ("a", "b", "c"), at, group=f"g{group}")
        for group in range(count)
        for at in range(3)
    )


def questions(count: int) -> Dataset:
    return Dataset(
        Problem(f"Text {at} asks ", ".", ("no", "yes"), int((at + place) % 3 == 0), "she", query=name)
        for at in range(count)
        for place, name in enumerate(("Ana", "Ruth"))
    )


def written(path, data: Dataset, choices, model: str = "m"):
    """A file of predictions: a row of `choices` for each problem, a column for each sample; None abstains."""
    rows = []
    for problem, own in zip(data, choices, strict=True):
        for number, choice in enumerate(own):
            row = {"id": problem.id, "variant": "original", "model": model, "scoring": "own", "scores": None}
            row |= {"prediction": choice, "answer": problem.answer}
            rows.append(row | ({"sample": number} if len(own) > 1 else {}))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def audited(tmp_path, data, choices, **more):
    return winokit.audit(data, predictions=written(tmp_path / "m.jsonl", data, choices), **more)


def test_rows_say_what_all_some_and_the_mean_of_samples_get(tmp_path):
    data = pairs(3)  # right answers 0, 1, 0, 1, 0, 1
    choices = [[0, 0], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1]]
    run = audited(tmp_path, data, choices)
    values = {(row.subset, row.metric): (row.value, row.n) for row in run.metrics if row.protocol == "samples"}
    assert values == {
        ("all", "accuracy"): (pytest.approx(8 / 12), 6),
        ("all", "all_right"): (pytest.approx(3 / 6), 6),
        ("all", "any_right"): (pytest.approx(5 / 6), 6),
        ("all", "same_answer"): (pytest.approx(4 / 6), 6),
        ("complete", "group_accuracy"): (pytest.approx(1 / 3), 3),
    }
    assert run.find("accuracy", "all", "accuracy").value == pytest.approx(8 / 12)
    # Both twins of a pair are right in both samples of the first, and in one sample of the second.
    assert run.find("groups", "complete", "group_accuracy").value == pytest.approx(3 / 6)
    assert run.find("groups", "complete", "group_accuracy").n == 3


def test_what_a_coin_in_every_sample_gets_stands_beside_the_rows(tmp_path):
    run = audited(tmp_path, pairs(4), [[0, 1, 0]] * 8)
    chances = {(row.subset, row.metric): row.chance for row in run.metrics if row.protocol == "samples"}
    assert chances == {
        ("all", "accuracy"): 0.5,
        ("all", "all_right"): 1 / 8,
        ("all", "any_right"): 7 / 8,
        ("all", "same_answer"): 1 / 4,
        ("complete", "group_accuracy"): 1 / 64,
    }


@pytest.mark.parametrize(
    "data", [pairs(12), singles(25), singles(25, 3), triplets(7), questions(12)], ids=lambda data: str(len(data))
)
def test_four_copies_of_a_sample_say_nothing_surer(tmp_path, data):
    rng = np.random.default_rng(5)
    once = [
        [None if rng.random() < 0.1 else int(problem.answer if rng.random() < 0.7 else rng.integers(2))]
        for problem in data
    ]
    single = audited(tmp_path, data, once)
    copied = audited(tmp_path, data, [own * 4 for own in once])
    one_row = {(row.protocol, row.subset, row.metric): row for row in single.metrics}
    compared = 0
    for row in copied.metrics:
        own = one_row.get((row.protocol, row.subset, row.metric))
        if own is None:
            assert row.protocol == "samples"
            continue
        compared += 1
        for name in ("value", "n", "low", "high", "chance"):
            assert getattr(row, name) == pytest.approx(getattr(own, name)), (row.metric, name)
        for name in ("null", "p", "untestable"):
            assert row.details.get(name) == pytest.approx(own.details.get(name), abs=0.02), (row.metric, name)
    assert compared > 10


def test_samples_that_differ_say_more_than_one_and_less_than_as_many_problems(tmp_path):
    rng = np.random.default_rng(1)
    data = pairs(60)
    coins = rng.integers(0, 2, (120, 4)).tolist()
    widths = []
    for choices in ([own[:1] for own in coins], coins):
        row = audited(tmp_path, data, choices).find("accuracy", "all", "accuracy")
        widths.append(row.high - row.low)
    assert widths[0] / 2 * 0.9 < widths[1] < widths[0] * 0.75


def test_right_answers_change_places_for_all_samples_of_a_unit_at_once(tmp_path):
    # Each sample tells each pair apart at random: whole pairs are right or wrong in all samples together.
    data = pairs(6)
    steady = [[0] * 4, [1] * 4] * 6
    run = audited(tmp_path, data, steady)
    assert run.find("accuracy", "all", "accuracy").details["p"] == pytest.approx(0.5**6)


def test_a_problem_that_lacks_a_sample_is_left_out_of_the_rows_over_samples_alone(tmp_path):
    data = pairs(4)
    choices = [[problem.answer] * 3 for problem in data]
    choices[0] = choices[0][:2]
    run = audited(tmp_path, data, choices)
    assert run.find("samples", "all", "all_right").n == 7
    assert run.find("accuracy", "all", "accuracy").n == 8
    assert [(row.why, row.n) for row in run.left_out if row.protocol == "samples"] == [("fewer than 3 samples", 1)]


def test_an_audit_of_samples_is_written_and_read_back(tmp_path):
    run = audited(tmp_path, pairs(3), [[0, 1], [1, 1]] * 3, out=tmp_path / "run")
    rows = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    assert [row["sample"] for row in rows] == [0, 1] * 6
    again = Run.load(tmp_path / "run")
    assert again.predictions == run.predictions
    answers = again.answers()
    assert (len(answers), answers.problem_count, answers.samples.tolist()) == (12, 6, [0, 1] * 6)
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "Right in every sample" in page
    assert "the answer that most of them give" in page


def test_rows_of_one_sample_each_have_none_in_the_file(tmp_path):
    run = audited(tmp_path, pairs(3), [[0], [1]] * 3, out=tmp_path / "run")
    assert "sample" not in (tmp_path / "run" / "predictions.jsonl").read_text()
    assert not [row for row in run.metrics if row.protocol == "samples"]


def test_a_majority_is_a_scorer_of_its_own_and_a_tie_abstains(tmp_path):
    data = pairs(2)
    choices = [[0, 0, 1, None], [1, 0, 1, 0], [1, 1, 1, 1], [None] * 4]
    run = audited(tmp_path, data, choices, majority=True)
    votes = [row for row in run.predictions if row.model == "m, majority of 4"]
    assert [row.prediction for row in votes] == [0, None, 1, None]
    assert [row.sample for row in votes] == [None] * 4
    assert (votes[1].why, votes[3].why) == ("a tie", "no sample answered")
    assert run.find("accuracy", "all", "accuracy", "m, majority of 4").value == 1 / 4


def test_a_majority_in_the_file_is_not_voted_again(tmp_path):
    audited(tmp_path, pairs(3), [[0, 1, 1], [1, 1, 0]] * 3, majority=True, out=tmp_path / "run")
    again = winokit.audit(pairs(3), predictions=tmp_path / "run" / "predictions.jsonl", majority=True, out=None)
    assert {row.model for row in again.metrics} == {"m", "m, majority of 3"}


def test_a_majority_of_one_sample_is_refused(tmp_path):
    with pytest.raises(BadInput, match=r"majority: no scorer has several samples .*\?n=5"):
        audited(tmp_path, pairs(3), [[0], [1]] * 3, majority=True)


def test_two_scorers_are_compared_by_their_means_over_samples(tmp_path):
    data = pairs(10)
    right = [[problem.answer] for problem in data]
    half = [[problem.answer, 1 - problem.answer] for problem in data]
    first, second = (audited(tmp_path, data, choices).answers() for choices in (right, half))
    found = compare_answers(first, second)
    assert found["accuracy"].difference == pytest.approx(0.5)
    assert found["group_accuracy"].difference == pytest.approx(0.5)
    assert found["accuracy"].n == 20


def test_the_judge_counts_problems_and_not_samples():
    data = pairs(2)
    one = Answers.of_choices(data, [0, 1, 1, 1])
    rows = np.repeat(np.arange(4), 3)
    table = one.take(rows)
    object.__setattr__(table, "samples", np.tile(np.arange(3), 4))
    made = {(row.protocol, row.subset, row.metric): row for row in judge(table)}
    plain = {(row.protocol, row.subset, row.metric): row for row in judge(one)}
    assert {name: (row.value, row.n) for name, row in made.items()} == {
        name: (row.value, row.n) for name, row in plain.items()
    }
    assert [sample for sample, _ in table.by("sample")] == [0, 1, 2]


def sentence(run: Run) -> str:
    """What the verdict says of samples."""
    return next(point.text for point in verdict(run.metrics).points if "samples" in point.text)


@pytest.mark.parametrize("several", ["takes", "ignores", "refuses"])
def test_a_coin_in_every_sample_is_told_from_one_that_is_the_same_every_time(several):
    said = {}
    for steady in (False, True):
        with SamplingServer(steady=steady, several=several) as server:
            spec = f"chat:tiny@{server.url}?n=4"
            protocols = ("accuracy", "groups", "samples")
            said[steady] = winokit.audit("open", spec, limit=60, protocol=protocols, cache="off", out=None)
    assert said[True].find("samples", "all", "same_answer").value == 1
    assert sentence(said[True]) == (
        "It gives the same answer in all 4 samples on every problem: they say no more than one would."
    )
    assert said[False].find("samples", "all", "same_answer").value < 0.2
    assert re.match(
        r"It gives the same answer in all 4 samples on [\d.]+\s% of problems, as a coin in every sample may do too",
        sentence(said[False]),
    )


def test_a_scorer_that_wavers_on_few_problems_is_said_to_be_the_same_on_most(tmp_path):
    data = pairs(50)
    choices = [[problem.answer] * 4 for problem in data]
    choices[0] = [0, 1, 0, 1]
    run = audited(tmp_path, data, choices)
    assert sentence(run).replace("\u00a0", " ") == (
        "It gives the same answer in all 4 samples on 99.0 % of problems: on 99.0 % all are right, on 100.0 % at least "
        "one is; in 98.0 % of 50 pairs every sample of all twins is right."
    )


def test_epochs_of_an_inspect_log_are_audited_as_samples(tmp_path):
    data = pairs(4)
    said = ["AAA", "BBB", "AAB", "BBB", "ABA", "ABB", "BBB", "BBB"]
    samples = [
        {"id": number, "epoch": epoch, "input": problem.text, "choices": list(problem.candidates),
         "target": "AB"[problem.answer], "output": {"completion": letters[epoch - 1]},
         "scores": {"choice": {"value": "C" if "AB".index(letters[epoch - 1]) == problem.answer else "I",
                               "answer": letters[epoch - 1]}}}
        for epoch in (1, 2, 3)
        for number, (problem, letters) in enumerate(zip(data, said, strict=True))
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "mock/model"}, "samples": samples}
    (tmp_path / "log.json").write_text(json.dumps(log))
    run = winokit.audit(data, predictions=tmp_path / "log.json", out=None)
    found = {(row.subset, row.metric): row.value for row in run.metrics if row.protocol == "samples"}
    assert found["all", "same_answer"] == 5 / 8
    assert found["all", "all_right"] == 4 / 8
    assert found["all", "accuracy"] == pytest.approx((3 + 3 + 2 + 3 + 2 + 2 + 0 + 3) / 24)
    assert found["complete", "group_accuracy"] == 1 / 4
    assert {(row.model, row.scoring) for row in run.metrics} == {("mock/model", "inspect:choice")}
