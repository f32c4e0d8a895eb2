"""Tables with a column per model."""

import csv

import pytest

from winokit import load
from winokit.data.predictions.columns import checked_columns
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput


@pytest.fixture(scope="module")
def data():
    """Twenty-four problems with the ids of a source."""
    problems = load("open")[:24]
    return problems.with_problems(p.replace(provenance={"qID": f"p{at}"}) for at, p in enumerate(problems))


@pytest.fixture
def wide(data, tmp_path):
    """Three models, of which the n-th is wrong on every (n + 2)-th problem."""
    path = tmp_path / "wide.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["qID", "answer", "gpt-3.5_en", "gpt-4_en", "gpt-4o_en"])
        for at, problem in enumerate(data):
            table.writerow([f"p{at}", problem.answer + 1, *(int(at % n > 0) for n in (2, 3, 4))])
    return path


@pytest.mark.parametrize("named", ["gpt-*", "gpt-3.5_en|gpt-4_en|gpt-4o_en"])
def test_each_column_is_a_model(data, wide, named):
    reads = read_predictions(wide, data, columns=checked_columns(f"id=qID,answer=answer,correct={named}"))
    assert [(read.model, read.right) for read in reads] == [("gpt-3.5_en", 12), ("gpt-4_en", 16), ("gpt-4o_en", 18)]


def test_the_error_proposes_all_of_them_at_once(data, wide):
    with pytest.raises(BadInput) as caught:
        read_predictions(wide, data)
    assert "all 3, each as a model: --columns 'id=qID,answer=answer,correct=gpt-*'" in str(caught.value)


def test_a_pattern_that_names_nothing_and_one_with_a_column_of_models_are_refused(data, wide):
    with pytest.raises(BadInput, match=r"no column 'llama\*'; it has qID, answer, gpt"):
        read_predictions(wide, data, columns=checked_columns("id=qID,correct=gpt-*|llama*"))
    with pytest.raises(BadInput, match="several columns are several models"):
        read_predictions(wide, data, columns=checked_columns("id=qID,correct=gpt-*,model=answer"))
