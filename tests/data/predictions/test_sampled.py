"""Tables with several answers to each problem: a row for each, or a column for each."""

import csv

import pytest

import winokit
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput
from winokit.problem import Dataset, Problem

PROBLEMS = Dataset(
    Problem(f"Pair {pair} says that ", f" did {answer}.", ("one", "two"), answer, group=f"g{pair}")
    for pair in range(4)
    for answer in (0, 1)
)
CHOICES = [[1, 1, 2], [2, 2, 2], [1, 2, 1], [2, 1, 1], [1, 1, 1], [2, 2, 2], [2, 2, 1], [1, 2, 2]]
"""Of each problem the choices of three samples, counted from 1."""


@pytest.fixture
def written(tmp_path):
    def write(columns, rows):
        path = tmp_path / "m.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


def long(number=lambda sample: sample):
    return [
        (problem.id, number(sample), choice)
        for problem, own in zip(PROBLEMS, CHOICES, strict=True)
        for sample, choice in enumerate(own)
    ]


def wide():
    return [(problem.id, *own) for problem, own in zip(PROBLEMS, CHOICES, strict=True)]


def choices_of(path, **columns):
    """The choices of each sample of each problem, counted from 1."""
    (read,) = read_predictions(path, PROBLEMS, columns=columns or None)
    assert not read.unmatched
    table = {problem.id: {} for problem in PROBLEMS}
    for made in read.predictions:
        table[made.id][made.sample] = made.prediction + 1
    return [[own[sample] for sample in sorted(own)] for own in table.values()]


@pytest.mark.parametrize("name", ["sample", "Sample_ID", "epoch", "run", "seed", "repeat"])
def test_a_column_that_numbers_the_rows_of_each_problem_is_known_by_its_name(written, name):
    path = written(("id", name, "prediction"), long())
    assert choices_of(path) == CHOICES
    (read,) = read_predictions(path, PROBLEMS)
    assert read.notes == [f"{path}: 3 samples of each problem, by {name!r}"]


def test_names_of_models_number_no_samples(written):
    models = ("gpt-4", "llama-3", "gemma-2")
    path = written(("id", "run", "prediction"), long(number=models.__getitem__))
    with pytest.raises(BadInput, match="8 problems have 3 rows each"):
        choices_of(path)


def test_rows_may_stand_sample_by_sample(written):
    rows = sorted(long(), key=lambda row: row[1])
    assert choices_of(written(("id", "sample", "prediction"), rows)) == CHOICES


def test_seeds_are_samples_in_their_order_by_size(written):
    seeds = [7, 42, 1001]
    rows = sorted(long(lambda sample: seeds[sample]), key=lambda row: -row[1])
    assert choices_of(written(("id", "seed", "prediction"), rows)) == CHOICES


def test_any_other_column_is_named(written):
    path = written(("id", "wdh", "prediction"), long())
    assert choices_of(path, id="id", prediction="prediction", sample="wdh") == CHOICES


def test_rows_that_nothing_numbers_are_numbered_as_they_stand(written):
    path = written(("id", "prediction"), [(name, choice) for name, _, choice in long()])
    assert choices_of(path, id="id", prediction="prediction", sample="line") == CHOICES


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (("id", "wdh", "prediction"), "8 problems have 3 rows each: if these are samples: --columns "
         "id=id,prediction=prediction,sample=wdh; else keep the one that counts"),
        (("id", "", "prediction"), "8 problems have 3 rows each: if these are samples (numbered as they are listed): "
         "--columns id=id,prediction=prediction,sample=line; else keep"),
    ],
)  # fmt: skip
def test_several_rows_of_each_problem_are_refused_with_the_role_that_reads_them(written, columns, hint):
    with pytest.raises(BadInput) as caught:
        read_predictions(written(columns, long()), PROBLEMS)
    assert hint in str(caught.value)


def test_a_column_called_sample_that_numbers_nothing_is_none(written):
    rows = [(problem.id, "x", own[0]) for problem, own in zip(PROBLEMS, CHOICES, strict=True)]
    (read,) = read_predictions(written(("id", "sample", "prediction"), rows), PROBLEMS)
    assert {made.sample for made in read.predictions} == {None}


@pytest.mark.parametrize("names", [("sample_1", "sample_2", "sample_3"), ("run1", "run2", "run3")])
def test_a_column_for_each_sample_is_known_by_their_names(written, names):
    assert choices_of(written(("id", *names), wide())) == CHOICES


def test_columns_of_samples_may_be_named(written):
    path = written(("id", "a", "b", "c"), wide())
    assert choices_of(path, id="id", prediction1="a", prediction2="b", prediction3="c") == CHOICES


def test_columns_of_samples_may_be_matched_by_the_order_of_lines(written):
    path = written(("sample_1", "sample_2", "sample_3"), [row[1:] for row in wide()])
    named = {f"prediction{number}": f"sample_{number}" for number in (1, 2, 3)}
    assert choices_of(path, order="line", **named) == CHOICES


def test_columns_and_rows_of_samples_at_once_are_refused(written):
    path = written(("id", "sample", "a", "b"), [(row[0], 1, *row[1:3]) for row in wide()])
    named = {"id": "id", "prediction1": "a", "prediction2": "b", "sample": "sample"}
    with pytest.raises(BadInput, match="expected a column for each sample, or sample=COLUMN; found both"):
        read_predictions(path, PROBLEMS, columns=named)


def test_a_row_without_its_number_is_refused(written):
    rows = [*long()[:-1], (PROBLEMS[7].id, "", 1)]
    with pytest.raises(BadInput, match="field 'wdh': expected the number of a sample, found nothing"):
        read_predictions(
            written(("id", "wdh", "prediction"), rows),
            PROBLEMS,
            columns={"id": "id", "prediction": "prediction", "sample": "wdh"},
        )


def test_two_rows_of_one_sample_contradict_each_other(written):
    rows = [*long(), (PROBLEMS[0].id, 0, 2)]
    path = written(("id", "wdh", "prediction"), rows)
    with pytest.raises(BadInput, match="line 2 and line 26 contradict each other"):
        read_predictions(path, PROBLEMS, columns={"id": "id", "prediction": "prediction", "sample": "wdh"})


def test_a_table_of_samples_is_audited(written):
    run = winokit.audit(PROBLEMS, predictions=written(("id", "sample", "prediction"), long()), out=None)
    right = [[choice == 1 + problem.answer for choice in own] for problem, own in zip(PROBLEMS, CHOICES, strict=True)]
    found = {row.metric: row.value for row in run.metrics if (row.protocol, row.subset) == ("samples", "all")}
    assert found["all_right"] == sum(map(all, right)) / 8
    assert found["any_right"] == sum(map(any, right)) / 8
    assert found["accuracy"] == pytest.approx(sum(map(sum, right)) / 24)
    assert found["same_answer"] == sum(len(set(own)) == 1 for own in CHOICES) / 8
