"""A table may have a column per model."""

import csv

import pytest
from support.reading import with_source_ids

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput


@pytest.fixture(scope="module")
def data():
    """Twenty-four problems with the ids of a source."""
    return with_source_ids(load("open")[:24], "qID", "p")


@pytest.fixture
def wide(data, tmp_path):
    """Path of a table of three models, of which the n-th is wrong on every (n + 1)-th problem."""
    path = tmp_path / "wide.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["qID", "answer", "gpt-3.5_en", "gpt-4_en", "gpt-4o_en"])
        for index, problem in enumerate(data):
            verdicts = [int(index % step > 0) for step in (2, 3, 4)]
            table.writerow([f"p{index}", problem.answer + 1, *verdicts])
    return path


@pytest.mark.parametrize("pattern", ["gpt-*", "gpt-3.5_en|gpt-4_en|gpt-4o_en"])
def test_each_column_is_a_model(data, wide, pattern):
    parts = read_predictions(wide, data, columns=checked_columns(f"id=qID,answer=answer,correct={pattern}"))
    right_by_model = [(part.model, part.right) for part in parts]
    assert right_by_model == [("gpt-3.5_en", 12), ("gpt-4_en", 16), ("gpt-4o_en", 18)]


def test_the_error_proposes_all_of_them_at_once(data, wide):
    with pytest.raises(BadInput) as caught:
        read_predictions(wide, data)
    message = str(caught.value)
    assert "all 3, each as a model: --columns 'id=qID,answer=answer,correct=gpt-*'" in message


def test_a_pattern_that_names_nothing_and_one_with_a_column_of_models_are_refused(data, wide):
    with pytest.raises(BadInput, match=r"no column 'llama\*'; it has qID, answer, gpt"):
        read_predictions(wide, data, columns=checked_columns("id=qID,correct=gpt-*|llama*"))
    with pytest.raises(BadInput, match="several columns are several models"):
        read_predictions(wide, data, columns=checked_columns("id=qID,correct=gpt-*,model=answer"))
