"""Several samples of one scorer give rows over them, and intervals and tests that copies do not sharpen."""

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
from winokit.results import Metric
from winokit.stages.audit.table import lines
from winokit.stages.audit.verdict import verdict

Choices = list[list[int | None]]
"""For each problem, its choice in each sample, or None where the sample abstains."""


@pytest.fixture(autouse=True)
def _set_environment(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def make_pairs(count: int) -> Dataset:
    problems = []
    for pair in range(count):
        for answer in (0, 1):
            before = f"Pair {pair} says that "
            after = f" did {answer}."
            problems.append(Problem(before, after, ("one", "two"), answer, group=f"g{pair}"))
    return Dataset(problems)


def make_singles(count: int, candidate_count: int = 2) -> Dataset:
    names = ("one", "two", "three")[:candidate_count]
    problems = []
    for index in range(count):
        answer = index % 3 % candidate_count
        problems.append(Problem(f"Text {index} says that ", " did.", names, answer))
    return Dataset(problems)


def make_triplets(count: int) -> Dataset:
    problems = []
    for group in range(count):
        for answer in range(3):
            before = f"Group {group} says that "
            after = f" did {answer}."
            problems.append(Problem(before, after, ("a", "b", "c"), answer, group=f"g{group}"))
    return Dataset(problems)


def make_questions(count: int) -> Dataset:
    problems = []
    for index in range(count):
        for place, name in enumerate(("Ana", "Ruth")):
            answer = int((index + place) % 3 == 0)
            problems.append(Problem(f"Text {index} asks ", ".", ("no", "yes"), answer, "she", query=name))
    return Dataset(problems)


def repeat_right_answers(data: Dataset, sample_count: int) -> Choices:
    """The right answer in every sample of every problem."""
    return [[problem.answer] * sample_count for problem in data]


def write_choices(path, data: Dataset, choices: Choices, model: str = "m"):
    """Write a file of predictions with a row for each sample, and return its path."""
    scorer = {"variant": "original", "model": model, "scoring": "own", "scores": None}
    rows = []
    for problem, sample_choices in zip(data, choices, strict=True):
        for number, choice in enumerate(sample_choices):
            row = {"id": problem.id, **scorer, "prediction": choice, "answer": problem.answer}
            if len(sample_choices) > 1:
                row["sample"] = number
            rows.append(row)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def audit_choices(tmp_path, data: Dataset, choices: Choices, **options) -> Run:
    path = write_choices(tmp_path / "m.jsonl", data, choices)
    return winokit.audit(data, predictions=path, **options)


def index_rows(rows: list[Metric]) -> dict[tuple[str, str, str], Metric]:
    """Rows by protocol, subset and metric."""
    return {(row.protocol, row.subset, row.metric): row for row in rows}


def select_sample_rows(run: Run) -> dict[tuple[str, str], Metric]:
    """Rows over samples, by subset and metric."""
    return {(row.subset, row.metric): row for row in run.metrics if row.protocol == "samples"}


@pytest.fixture(scope="module")
def two_samples(tmp_path_factory) -> Run:
    """Audit of two samples of three pairs, whose right answers are 0, 1, 0, 1, 0, 1."""
    choices = [[0, 0], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1]]
    return audit_choices(tmp_path_factory.mktemp("two"), make_pairs(3), choices)


def test_rows_say_what_all_some_and_the_mean_of_samples_get(two_samples):
    rows = select_sample_rows(two_samples)
    values = {name: (row.value, row.n) for name, row in rows.items()}
    assert values == {
        ("all", "accuracy"): (pytest.approx(8 / 12), 6),
        ("all", "all_right"): (pytest.approx(3 / 6), 6),
        ("all", "any_right"): (pytest.approx(5 / 6), 6),
        ("all", "same_answer"): (pytest.approx(4 / 6), 6),
        ("complete", "group_accuracy"): (pytest.approx(1 / 3), 3),
    }


def test_other_rows_are_means_over_samples(two_samples):
    accuracy = two_samples.find("accuracy", "all", "accuracy")
    group_accuracy = two_samples.find("groups", "complete", "group_accuracy")
    assert accuracy.value == pytest.approx(8 / 12)
    # Both twins of a pair are right in both samples of the first, and in one sample of the second.
    assert group_accuracy.value == pytest.approx(3 / 6)
    assert group_accuracy.n == 3


def test_what_a_coin_in_every_sample_gets_stands_beside_the_rows(tmp_path):
    choices = [[0, 1, 0]] * 8
    run = audit_choices(tmp_path, make_pairs(4), choices)
    chances = {name: row.chance for name, row in select_sample_rows(run).items()}
    assert chances == {
        ("all", "accuracy"): 0.5,
        ("all", "all_right"): 1 / 8,
        ("all", "any_right"): 7 / 8,
        ("all", "same_answer"): 1 / 4,
        ("complete", "group_accuracy"): 1 / 64,
    }


def draw_choices(data: Dataset, rng: np.random.Generator) -> Choices:
    """One sample that abstains on a tenth, and else has at least 70 % right."""
    choices: Choices = []
    for problem in data:
        choice = None
        if rng.random() >= 0.1:
            choice = problem.answer if rng.random() < 0.7 else int(rng.integers(2))
        choices.append([choice])
    return choices


def check_same_row(copied: Metric, single: Metric) -> None:
    """Assert that a row over copies of a sample says what the row of the sample says."""
    for name in ("value", "n", "low", "high", "chance"):
        expected = pytest.approx(getattr(single, name))
        assert getattr(copied, name) == expected, (copied.metric, name)
    for name in ("null", "p", "untestable"):
        expected = pytest.approx(single.details.get(name), abs=0.02)
        assert copied.details.get(name) == expected, (copied.metric, name)


@pytest.mark.parametrize(
    "data",
    [make_pairs(12), make_singles(25), make_singles(25, 3), make_triplets(7), make_questions(12)],
    ids=["pairs", "singles", "three candidates", "triplets", "questions"],
)
def test_four_copies_of_a_sample_say_nothing_surer(tmp_path, data):
    choices = draw_choices(data, np.random.default_rng(5))
    single = audit_choices(tmp_path, data, choices)
    copied = audit_choices(tmp_path, data, [sample * 4 for sample in choices])
    single_rows = index_rows(single.metrics)
    copied_rows = index_rows(copied.metrics)
    new_protocols = {protocol for protocol, _, _ in copied_rows.keys() - single_rows.keys()}
    assert new_protocols <= {"samples"}
    shared_names = copied_rows.keys() & single_rows.keys()
    assert len(shared_names) > 10
    for name in shared_names:
        check_same_row(copied_rows[name], single_rows[name])


def measure_interval_width(run: Run) -> float:
    accuracy = run.find("accuracy", "all", "accuracy")
    return accuracy.high - accuracy.low


def test_samples_that_differ_say_more_than_one_and_less_than_as_many_problems(tmp_path):
    rng = np.random.default_rng(1)
    data = make_pairs(60)
    four_coins = rng.integers(0, 2, (120, 4)).tolist()
    one_coin = [choices[:1] for choices in four_coins]
    width_of_one = measure_interval_width(audit_choices(tmp_path, data, one_coin))
    width_of_four = measure_interval_width(audit_choices(tmp_path, data, four_coins))
    assert width_of_one / 2 * 0.9 < width_of_four < width_of_one * 0.75


def test_right_answers_change_places_for_all_samples_of_a_unit_at_once(tmp_path):
    # Each sample tells each pair apart at random: whole pairs are right or wrong in all samples together.
    steady_choices = [[0] * 4, [1] * 4] * 6
    run = audit_choices(tmp_path, make_pairs(6), steady_choices)
    accuracy = run.find("accuracy", "all", "accuracy")
    assert accuracy.details["p"] == pytest.approx(0.5**6)


def test_a_problem_that_lacks_a_sample_is_left_out_of_the_rows_over_samples_alone(tmp_path):
    data = make_pairs(4)
    choices = repeat_right_answers(data, 3)
    choices[0] = choices[0][:2]
    run = audit_choices(tmp_path, data, choices)
    reasons = [(note.why, note.n) for note in run.left_out if note.protocol == "samples"]
    assert run.find("samples", "all", "all_right").n == 7
    assert run.find("accuracy", "all", "accuracy").n == 8
    assert reasons == [("fewer than 3 samples", 1)]


@pytest.fixture(scope="module")
def saved_samples(tmp_path_factory):
    """Audit of two samples with its folder."""
    folder = tmp_path_factory.mktemp("saved")
    choices = [[0, 1], [1, 1]] * 3
    run = audit_choices(folder, make_pairs(3), choices, out=folder / "run")
    return run, folder / "run"


def test_an_audit_of_samples_is_written_and_read_back(saved_samples):
    run, folder = saved_samples
    written_lines = (folder / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(line)["sample"] for line in written_lines] == [0, 1] * 6
    run_read = Run.load(folder)
    assert run_read.predictions == run.predictions
    answers = run_read.answers()
    assert len(answers) == 12
    assert answers.problem_count == 6
    assert answers.samples.tolist() == [0, 1] * 6


def test_the_page_of_samples_has_their_rows_and_says_which_answer_is_shown(saved_samples):
    _, folder = saved_samples
    page = (folder / "report" / "index.html").read_text()
    assert "Right in every sample" in page
    assert "the answer that most of them give" in page


def test_rows_of_one_sample_each_have_none_in_the_file(tmp_path):
    choices = [[0], [1]] * 3
    run = audit_choices(tmp_path, make_pairs(3), choices, out=tmp_path / "run")
    assert "sample" not in (tmp_path / "run" / "predictions.jsonl").read_text()
    assert not select_sample_rows(run)


def test_a_majority_is_a_scorer_of_its_own_and_a_tie_abstains(tmp_path):
    choices = [[0, 0, 1, None], [1, 0, 1, 0], [1, 1, 1, 1], [None] * 4]
    run = audit_choices(tmp_path, make_pairs(2), choices, majority=True)
    votes = [row for row in run.predictions if row.model == "m, majority of 4"]
    choices_of_majority = [row.prediction for row in votes]
    samples_of_majority = [row.sample for row in votes]
    accuracy = run.find("accuracy", "all", "accuracy", "m, majority of 4")
    assert choices_of_majority == [0, None, 1, None]
    assert samples_of_majority == [None] * 4
    assert votes[1].why == "a tie"
    assert votes[3].why == "no sample answered"
    assert accuracy.value == 1 / 4


def test_a_majority_in_the_file_is_not_voted_again(tmp_path):
    data = make_pairs(3)
    choices = [[0, 1, 1], [1, 1, 0]] * 3
    audit_choices(tmp_path, data, choices, majority=True, out=tmp_path / "run")
    predictions_path = tmp_path / "run" / "predictions.jsonl"
    second_run = winokit.audit(data, predictions=predictions_path, majority=True, out=None)
    assert {row.model for row in second_run.metrics} == {"m", "m, majority of 3"}


def test_a_majority_of_one_sample_is_refused(tmp_path):
    choices = [[0], [1]] * 3
    with pytest.raises(BadInput, match=r"majority: no scorer has several samples .*\?n=5"):
        audit_choices(tmp_path, make_pairs(3), choices, majority=True)


def test_two_scorers_are_compared_by_their_means_over_samples(tmp_path):
    data = make_pairs(10)
    half_right_choices = [[problem.answer, 1 - problem.answer] for problem in data]
    right_answers = audit_choices(tmp_path, data, repeat_right_answers(data, 1)).answers()
    half_right_answers = audit_choices(tmp_path, data, half_right_choices).answers()
    comparisons = compare_answers(right_answers, half_right_answers)
    assert comparisons["accuracy"].difference == pytest.approx(0.5)
    assert comparisons["group_accuracy"].difference == pytest.approx(0.5)
    assert comparisons["accuracy"].n == 20


def test_the_judge_counts_problems_and_not_samples():
    one_sample = Answers.of_choices(make_pairs(2), [0, 1, 1, 1])
    three_samples = one_sample.take(np.repeat(np.arange(4), 3))
    object.__setattr__(three_samples, "samples", np.tile(np.arange(3), 4))
    rows_of_one = index_rows(judge(one_sample))
    rows_of_three = index_rows(judge(three_samples))
    values_of_one = {name: (row.value, row.n) for name, row in rows_of_one.items()}
    values_of_three = {name: (row.value, row.n) for name, row in rows_of_three.items()}
    assert values_of_three == values_of_one
    assert [sample for sample, _ in three_samples.by("sample")] == [0, 1, 2]


def find_samples_sentence(run: Run) -> str:
    """Sentence of the verdict about samples."""
    texts = [point.text for point in verdict(run.metrics).points if "samples" in point.text]
    return texts[0]


def audit_sampling_server(several: str, steady: bool) -> Run:
    """Audit of four samples of a server that answers `n` in one of three ways."""
    with SamplingServer(steady=steady, several=several) as server:
        spec = f"chat:tiny@{server.url}?n=4"
        protocols = ("accuracy", "groups", "samples")
        return winokit.audit("open", spec, limit=60, protocol=protocols, cache="off", out=None)


@pytest.mark.parametrize("several", ["takes", "ignores", "refuses"])
def test_a_server_that_is_the_same_every_time_says_no_more_in_four_samples(several):
    run = audit_sampling_server(several, steady=True)
    assert run.find("samples", "all", "same_answer").value == 1
    assert find_samples_sentence(run) == (
        "It gives the same answer in all 4 samples on every problem: they say no more than one would."
    )


@pytest.mark.parametrize("several", ["takes", "ignores", "refuses"])
def test_a_coin_in_every_sample_is_said_to_be_one(several):
    run = audit_sampling_server(several, steady=False)
    assert run.find("samples", "all", "same_answer").value < 0.2
    sentence = (
        r"It gives the same answer in all 4 samples on [\d.]+\s% of problems, as a coin in every sample may do too"
    )
    assert re.match(sentence, find_samples_sentence(run))


@pytest.fixture(scope="module")
def nearly_steady(tmp_path_factory) -> Run:
    """Audit of four samples that differ on one problem of a hundred."""
    data = make_pairs(50)
    choices = repeat_right_answers(data, 4)
    choices[0] = [0, 1, 0, 1]
    return audit_choices(tmp_path_factory.mktemp("steady"), data, choices)


def test_a_scorer_that_wavers_on_few_problems_is_said_to_be_the_same_on_most(nearly_steady):
    sentence = find_samples_sentence(nearly_steady).replace("\u00a0", " ")
    assert sentence == (
        "It gives the same answer in all 4 samples on 99.0 % of problems: on 99.0 % all are right, on 100.0 % at least "
        "one is; in 98.0 % of 50 pairs every sample of all twins is right."
    )


def make_inspect_sample(number: int, epoch: int, problem: Problem, letter: str) -> dict[str, object]:
    """A sample as a log of inspect writes it, answered with this letter."""
    is_right = "AB".index(letter) == problem.answer
    score = {"value": "C" if is_right else "I", "answer": letter}
    return {
        "id": number,
        "epoch": epoch,
        "input": problem.text,
        "choices": list(problem.candidates),
        "target": "AB"[problem.answer],
        "output": {"completion": letter},
        "scores": {"choice": score},
    }


def test_epochs_of_an_inspect_log_are_audited_as_samples(tmp_path):
    data = make_pairs(4)
    letters_by_problem = ["AAA", "BBB", "AAB", "BBB", "ABA", "ABB", "BBB", "BBB"]
    samples = []
    for epoch in (1, 2, 3):
        for number, letters in enumerate(letters_by_problem):
            samples.append(make_inspect_sample(number, epoch, data[number], letters[epoch - 1]))
    log = {"version": 2, "status": "success", "eval": {"task": "t", "model": "mock/model"}, "samples": samples}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    run = winokit.audit(data, predictions=path, out=None)
    values = {name: row.value for name, row in select_sample_rows(run).items()}
    assert values["all", "same_answer"] == 5 / 8
    assert values["all", "all_right"] == 4 / 8
    assert values["all", "accuracy"] == pytest.approx((3 + 3 + 2 + 3 + 2 + 2 + 0 + 3) / 24)
    assert values["complete", "group_accuracy"] == 1 / 4
    scorers = {(row.model, row.scoring) for row in run.metrics}
    assert scorers == {("mock/model", "inspect:choice")}


def list_sentences(run: Run) -> list[str]:
    """Sentences that a terminal shows of a run, without its tables."""
    return [line for line in lines(run) if isinstance(line, str)]


def test_a_terminal_says_how_much_samples_agree(nearly_steady):
    start = "It gives the same answer in all 4 samples on 99.0"
    assert any(sentence.startswith(start) for sentence in list_sentences(nearly_steady))


@pytest.mark.parametrize(("undecided_count", "is_mentioned"), [(40, True), (0, False)], ids=["many", "none"])
def test_a_terminal_says_how_many_problems_are_left_undecided(tmp_path, undecided_count, is_mentioned):
    data = make_pairs(50)
    choices = repeat_right_answers(data, 1)
    choices[:undecided_count] = [[None]] * undecided_count
    sentences = list_sentences(audit_choices(tmp_path, data, choices))
    mention = "40.0\u00a0% of problems are left undecided"
    assert any(mention in sentence for sentence in sentences) == is_mentioned


def test_the_verdict_on_a_majority_says_how_many_ties_are_not_decided(tmp_path):
    data = make_pairs(50)
    choices = repeat_right_answers(data, 2)
    choices[:40] = [[0, 1]] * 40
    run = audit_choices(tmp_path, data, choices, majority=True)
    text = "\n".join(map(str, lines(run)))
    assert "Ties leave 40.0\u00a0% undecided; with guesses 80.0\u00a0%." in text
    assert "of problems are left undecided" not in text


def test_beside_another_scorer_too_a_terminal_says_how_many_problems_are_left_undecided(tmp_path):
    data = make_pairs(50)
    right = repeat_right_answers(data, 1)
    silent = [[None]] * 40 + right[40:]
    paths = [
        write_choices(tmp_path / "one.jsonl", data, right, "one"),
        write_choices(tmp_path / "two.jsonl", data, silent, "two"),
    ]
    run = winokit.audit(data, predictions=paths)
    text = "\n".join(map(str, lines(run)))
    assert text.count("40.0\u00a0% of problems are left undecided") == 1
