"""A table may have several answers to each problem, in a row for each or a column for each."""

import csv

import pytest
from support.reading import read_only_part

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
NUMBERED_COLUMNS = {"id": "id", "prediction": "prediction", "sample": "wdh"}
"""Choices of the three samples of each problem, counted from 1."""


@pytest.fixture
def write_table(tmp_path):
    def write(columns, rows):
        path = tmp_path / "m.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([columns, *rows])
        return path

    return write


def rows_of_samples(number=lambda sample: sample):
    """Row of each sample of each problem, with the problem's id, the sample's number and the choice."""
    rows = []
    for problem, choices in zip(PROBLEMS, CHOICES, strict=True):
        for sample, choice in enumerate(choices):
            rows.append((problem.id, number(sample), choice))
    return rows


def rows_of_problems():
    """Row of each problem, with its id and the choices of its samples."""
    return [(problem.id, *choices) for problem, choices in zip(PROBLEMS, CHOICES, strict=True)]


def read_choices(path, **columns):
    """Choices of each sample of each problem, counted from 1."""
    part = read_only_part(path, PROBLEMS, columns=columns or None)
    assert not part.unmatched
    choices = {problem.id: {} for problem in PROBLEMS}
    for row in part.predictions:
        choices[row.id][row.sample] = row.prediction + 1
    in_order = []
    for choices_by_sample in choices.values():
        samples = sorted(choices_by_sample)
        in_order.append([choices_by_sample[sample] for sample in samples])
    return in_order


@pytest.mark.parametrize("name", ["sample", "Sample_ID", "epoch", "run", "seed", "repeat"])
def test_a_column_that_numbers_the_rows_of_each_problem_is_known_by_its_name(write_table, name):
    path = write_table(("id", name, "prediction"), rows_of_samples())
    assert read_choices(path) == CHOICES
    part = read_only_part(path, PROBLEMS)
    assert part.notes == [f"{path}: 3 samples of each problem, by {name!r}"]


def test_names_of_models_number_no_samples(write_table):
    models = ("gpt-4", "llama-3", "gemma-2")
    path = write_table(("id", "run", "prediction"), rows_of_samples(number=models.__getitem__))
    with pytest.raises(BadInput, match="8 problems have 3 rows each"):
        read_choices(path)


def test_rows_may_stand_sample_by_sample(write_table):
    rows = sorted(rows_of_samples(), key=lambda row: row[1])
    path = write_table(("id", "sample", "prediction"), rows)
    assert read_choices(path) == CHOICES


def test_seeds_are_samples_in_their_order_by_size(write_table):
    seeds = [7, 42, 1001]
    seeded = rows_of_samples(lambda sample: seeds[sample])
    rows = sorted(seeded, key=lambda row: -row[1])
    path = write_table(("id", "seed", "prediction"), rows)
    assert read_choices(path) == CHOICES


def test_any_other_column_is_named(write_table):
    path = write_table(("id", "wdh", "prediction"), rows_of_samples())
    assert read_choices(path, id="id", prediction="prediction", sample="wdh") == CHOICES


def test_rows_that_nothing_numbers_are_numbered_as_they_stand(write_table):
    without_numbers = [(name, choice) for name, _, choice in rows_of_samples()]
    path = write_table(("id", "prediction"), without_numbers)
    assert read_choices(path, id="id", prediction="prediction", sample="line") == CHOICES


@pytest.mark.parametrize(
    ("columns", "hint"),
    [
        (("id", "wdh", "prediction"), "8 problems have 3 rows each: if these are samples: --columns "
         "id=id,prediction=prediction,sample=wdh; else keep the one that counts"),
        (("id", "", "prediction"), "8 problems have 3 rows each: if these are samples (numbered as they are listed): "
         "--columns id=id,prediction=prediction,sample=line; else keep"),
    ],
)  # fmt: skip
def test_several_rows_of_each_problem_are_refused_with_the_role_that_reads_them(write_table, columns, hint):
    path = write_table(columns, rows_of_samples())
    with pytest.raises(BadInput) as caught:
        read_predictions(path, PROBLEMS)
    message = str(caught.value)
    assert hint in message


def test_a_column_called_sample_that_numbers_nothing_is_none(write_table):
    rows = [(problem_id, "x", first) for problem_id, first, *_ in rows_of_problems()]
    path = write_table(("id", "sample", "prediction"), rows)
    part = read_only_part(path, PROBLEMS)
    samples = {row.sample for row in part.predictions}
    assert samples == {None}


@pytest.mark.parametrize("names", [("sample_1", "sample_2", "sample_3"), ("run1", "run2", "run3")])
def test_a_column_for_each_sample_is_known_by_their_names(write_table, names):
    path = write_table(("id", *names), rows_of_problems())
    assert read_choices(path) == CHOICES


def test_columns_of_samples_may_be_named(write_table):
    path = write_table(("id", "a", "b", "c"), rows_of_problems())
    assert read_choices(path, id="id", prediction1="a", prediction2="b", prediction3="c") == CHOICES


def test_columns_of_samples_may_be_matched_by_the_order_of_lines(write_table):
    choices = [row[1:] for row in rows_of_problems()]
    path = write_table(("sample_1", "sample_2", "sample_3"), choices)
    columns = {f"prediction{number}": f"sample_{number}" for number in (1, 2, 3)}
    assert read_choices(path, order="line", **columns) == CHOICES


def test_columns_and_rows_of_samples_at_once_are_refused(write_table):
    rows = [(row[0], 1, *row[1:3]) for row in rows_of_problems()]
    path = write_table(("id", "sample", "a", "b"), rows)
    columns = {"id": "id", "prediction1": "a", "prediction2": "b", "sample": "sample"}
    with pytest.raises(BadInput, match="expected a column for each sample, or sample=COLUMN; found both"):
        read_predictions(path, PROBLEMS, columns=columns)


def test_a_row_without_its_number_is_refused(write_table):
    complete_rows = rows_of_samples()[:-1]
    rows = [*complete_rows, (PROBLEMS[7].id, "", 1)]
    path = write_table(("id", "wdh", "prediction"), rows)
    with pytest.raises(BadInput, match="field 'wdh': expected the number of a sample, found nothing"):
        read_predictions(path, PROBLEMS, columns=NUMBERED_COLUMNS)


def test_two_rows_of_one_sample_contradict_each_other(write_table):
    rows = [*rows_of_samples(), (PROBLEMS[0].id, 0, 2)]
    path = write_table(("id", "wdh", "prediction"), rows)
    with pytest.raises(BadInput, match="line 2 and line 26 contradict each other"):
        read_predictions(path, PROBLEMS, columns=NUMBERED_COLUMNS)


def test_a_table_of_samples_is_audited(write_table):
    path = write_table(("id", "sample", "prediction"), rows_of_samples())
    run = winokit.audit(PROBLEMS, predictions=path, out=None)
    right_counts = []
    for problem, choices in zip(PROBLEMS, CHOICES, strict=True):
        right_counts.append(choices.count(1 + problem.answer))
    rows = [row for row in run.metrics if row.protocol == "samples" and row.subset == "all"]
    values = {row.metric: row.value for row in rows}
    assert values["all_right"] == right_counts.count(3) / 8
    assert values["any_right"] == 1 - right_counts.count(0) / 8
    mean = sum(right_counts) / 24
    assert values["accuracy"] == pytest.approx(mean)
    agreed_count = sum(len(set(choices)) == 1 for choices in CHOICES)
    assert values["same_answer"] == agreed_count / 8


def test_a_note_on_one_sample_names_it_even_if_it_is_the_first(write_table):
    rows = rows_of_samples()
    for index in range(3):
        problem_id, number, _ = rows[index]
        rows[index] = (problem_id, number, "")
    part = read_only_part(write_table(["id", "sample", "prediction"], rows), PROBLEMS)
    _, *notes = part.notes
    labels = [note.partition(": ")[2].partition(":")[0] for note in notes]
    assert labels == ["sample 1", "sample 2", "sample 3"]
