"""Predictions in a file of problems are audited, and a message says so."""

import csv
import json

import pytest
from support.harness import partial
from support.json_rows import json_lines
from support.reading import choice_number

import winokit
from winokit import audit, load
from winokit.data.formats.files import remember
from winokit.data.predictions.within import predictions_within, split_columns
from winokit.errors import BadInput
from winokit.progress import telling

COLUMNS = ("sentence", "option1", "option2", "answer")


@pytest.fixture(scope="module")
def data():
    return load("open")[:24]


@pytest.fixture
def write_table(data, tmp_path):
    """Function that writes problems with more columns, each a function of a row's index and its problem."""

    def write(names=COLUMNS, **columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*names, *columns])
            for index, problem in enumerate(data):
                cells = [cell_of(index, problem) for cell_of in columns.values()]
                answer = problem.answer + 1
                table.writerow([problem.text, *problem.candidates, answer, *cells])
        return path

    return write


def audit_accuracy(path, **more):
    """Audit a file and return the names of its models, the messages as one text, and the run."""
    messages = []
    with telling(messages.append):
        run = audit(path, protocol="accuracy", out=None, **more)
    models = {row.model for row in run.predictions}
    return sorted(models), " ".join(messages), run


def first_score(index, problem):
    return -choice_number(index, problem) - 0.5


def second_score(index, problem):
    return choice_number(index, problem) - 3.5


def half_unreadable(index, problem):
    return "n/a?" if index % 2 else 1


def test_the_column_of_predictions_in_the_file_of_problems_is_audited_and_that_is_said(write_table):
    path = write_table(prediction=choice_number)
    models, messages, run = audit_accuracy(path)
    assert models == ["mine"]
    assert run.find("accuracy", "all", "accuracy").value == 0.75
    assert "mine.csv: has a column 'prediction' beside its problems, which is audited (24 of 24 rows read)" in messages
    assert "--model builtin scores the built-in model instead" in messages
    assert any("which is audited" in note for note in run.notes)


def test_scores_of_both_candidates_are_audited_too(write_table):
    path = write_table(logit_1=first_score, logit_2=second_score)
    models, messages, _run = audit_accuracy(path)
    assert models == ["mine"]
    assert "has columns 'logit_1', 'logit_2' beside its problems, which are audited" in messages


def test_a_model_that_is_named_is_scored_and_nothing_else(write_table):
    path = write_table(prediction=choice_number)
    models, messages, _ = audit_accuracy(path, model="random")
    assert models == ["random"]
    assert "prediction" not in messages


def test_how_a_model_is_asked_means_the_built_in_one_and_the_column_is_mentioned(write_table):
    path = write_table(prediction=choice_number)
    within = predictions_within(path, load(path), is_scored=True)
    assert within.files == ()
    assert within.columns is None
    (note,) = within.notes
    assert "the built-in model is scored; to audit that instead: --predictions" in note
    assert note.endswith("prediction=prediction (reads 24 of 24 rows)")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"a_pred": choice_number, "b_pred": lambda index, p: 1},
            "has columns 'a_pred', 'b_pred' beside its problems; the built",
        ),
        ({"output": lambda index, p: p.answer + 1}, "to audit that instead if it is not the answers: --predictions"),
        ({"prediction": half_unreadable}, "fewer than nine rows of ten read as choices"),
        (
            {"nll_one": lambda index, p: 0.25, "nll_two": lambda index, p: 0.5},
            "the lowest is best: say so with the roles",
        ),
    ],
)
def test_what_may_be_something_else_is_mentioned_and_the_built_in_model_is_scored(write_table, columns, says):
    path = write_table(**columns)
    models, messages, _ = audit_accuracy(path, limit=2)
    assert models == ["builtin"]
    assert "the built-in model is scored" in messages
    assert says in messages


@pytest.mark.parametrize("name", ["gpt4", "chatgpt", "pred_a", "llama-2-7b"])
def test_a_column_called_after_a_model_is_mentioned_and_the_built_in_model_is_scored(write_table, name):
    path = write_table(**{name: choice_number})
    models, messages, _run = audit_accuracy(path)
    assert models == ["builtin"]
    assert f"mine.csv: has a column {name!r} of choices beside its problems; the built-in model is scored" in messages
    assert f"prediction={name}" in messages
    assert "(reads 24 of 24 rows)" in messages


def test_a_column_of_replies_in_words_is_mentioned_too(write_table):
    path = write_table(gpt4=lambda index, problem: f"I think option {choice_number(index, problem)} it is.")
    _models, messages, _run = audit_accuracy(path)
    assert "has a column 'gpt4' beside its problems, which may be replies of a model; the built-in model is" in messages


def test_predictions_in_one_of_several_files_are_mentioned(write_table, data, tmp_path):
    path = write_table(prediction=choice_number)
    other_path = tmp_path / "other.jsonl"
    problem = {"qID": "1", "sentence": "Ann saw Bea as _ sang.", "option1": "Ann", "option2": "Bea"}
    other_path.write_text(json.dumps(problem))
    within = predictions_within(f"{path}+{other_path}", data)
    assert not within.files
    (note,) = within.notes
    assert "mine.csv: has a column 'prediction' beside its problems; the built-in model is scored" in note


@pytest.mark.parametrize(
    "columns", [{"is_switchable": lambda index, problem: index % 2}, {"worker_id": lambda index, problem: 1}]
)
def test_what_says_something_of_a_problem_is_no_model(write_table, columns):
    path = write_table(**columns)
    _models, messages, _run = audit_accuracy(path)
    assert "built-in" not in messages


def test_a_table_of_problems_alone_is_scored_without_a_word(write_table):
    path = write_table(note=lambda index, problem: "x")
    within = predictions_within(path, load(path))
    assert within.notes == ()


def test_columns_of_problems_and_of_predictions_are_told_in_one_option(write_table):
    names = ("satz", "a", "b", "loesung")
    columns = "text=satz,option1=a,option2=b,answer=loesung,prediction=wahl"
    path = write_table(names, wahl=choice_number)
    models, _, run = audit_accuracy(path, columns=columns)
    assert models == ["mine"]
    assert run.find("accuracy", "all", "accuracy").value == 0.75
    path = write_table(names, prediction=choice_number)
    models, _messages, _ = audit_accuracy(path, columns=columns.removesuffix(",prediction=wahl"))
    assert models == ["mine"]
    columns_of_problems, *_ = split_columns("text=satz,prediction=wahl")
    assert columns_of_problems is None


def test_columns_of_predictions_without_a_file_of_them_are_those_of_data(write_table):
    path = write_table(wahl=choice_number)
    models, _, _ = audit_accuracy(path, columns="text=sentence,prediction=wahl")
    assert models == ["mine"]
    with pytest.raises(BadInput, match="--predictions FILE"):
        audit("open", columns="text=sentence,prediction=wahl")


def test_a_log_in_the_place_of_data_is_audited_and_not_scored_anew(data, tmp_path):
    path = tmp_path / "samples_mine.jsonl"
    rows = [partial(problem, [-1.5, -2.5]) | {"doc_id": index} for index, problem in enumerate(data)]
    path.write_text(json_lines(rows))
    models, messages, _run = audit_accuracy(path)
    assert models == ["mine"]
    assert "is a log; its predictions are audited; --model builtin scores the built-in model instead" in messages


def test_the_public_roberta_s_file_by_itself_gets_966(real_file):
    path = real_file("predictions/roberta_winogrande_dev.csv")
    models, _messages, run = audit_accuracy(path)
    assert models == ["roberta_winogrande_dev"]
    accuracy = run.find("accuracy", "all", "accuracy").value
    assert round(accuracy * 1267) == 966
    assert winokit.load(path).card.name == "winogrande/dev"


GERMAN = {"text": "satz", "option1": "erste", "option2": "zweite", "answer": "loesung"}


def write_german_table(folder, data, **columns):
    """Write problems under German names, with columns that are functions of an index and a problem."""
    path = folder / "mine.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow([*GERMAN.values(), *columns])
        for index, problem in enumerate(data):
            cells = [cell_of(index, problem) for cell_of in columns.values()]
            table.writerow([problem.text, *problem.candidates, problem.answer + 1, *cells])
    return path


@pytest.mark.parametrize("way", ["text", "mapping", "winokit.toml"])
def test_a_column_from_which_the_problems_are_read_is_not_proposed_as_predictions(data, tmp_path, way):
    path = write_german_table(tmp_path, data)
    options = {}
    if way == "text":
        options["columns"] = ",".join(f"{role}={name}" for role, name in GERMAN.items())
    elif way == "mapping":
        options["columns"] = GERMAN
    else:
        remember(tmp_path, GERMAN)
    models, messages, _ = audit_accuracy(path, **options)
    assert models == ["builtin"]
    assert "beside its problems" not in messages


def test_columns_of_choices_are_proposed_beside_those_of_problems_that_winokit_toml_names(data, tmp_path):
    path = write_german_table(tmp_path, data, roberta=choice_number)
    remember(tmp_path, GERMAN)
    _, messages, _ = audit_accuracy(path)
    assert "has a column 'roberta' of choices beside its problems" in messages


def test_an_answer_that_is_called_like_a_prediction_is_not_proposed(data, tmp_path):
    path = write_german_table(tmp_path, data)
    path.write_text(path.read_text().replace("loesung", "prediction", 1))
    models, messages, _ = audit_accuracy(path, columns=GERMAN | {"answer": "prediction:1"})
    assert models == ["builtin"]
    assert "beside its problems" not in messages
