"""A file with problems and predictions: who audits it means the predictions, and is told what was scored."""

import csv
import json

import pytest

import winokit
from winokit import audit, load
from winokit.data.predictions.within import predictions_within, split_columns
from winokit.errors import BadInput
from winokit.progress import telling

COLUMNS = ("sentence", "option1", "option2", "answer")


@pytest.fixture(scope="module")
def data():
    return load("open")[:24]


@pytest.fixture
def written(data, tmp_path):
    """Problems as a table, and whatever columns are given, each a function of a row's number and its problem."""

    def write(names=COLUMNS, **columns):
        path = tmp_path / "mine.csv"
        with path.open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow([*names, *columns])
            for at, problem in enumerate(data):
                cells = [cell(at, problem) for cell in columns.values()]
                table.writerow([problem.text, *problem.candidates, problem.answer + 1, *cells])
        return path

    return write


def choice(at, problem):
    """Right three times in four."""
    return 1 + (problem.answer if at % 4 else 1 - problem.answer)


def audited(path, **more):
    """The models of an audit, and what was told."""
    told = []
    with telling(told.append):
        run = audit(path, protocol="accuracy", out=None, **more)
    return sorted({row.model for row in run.predictions}), " ".join(told), run


def test_the_column_of_predictions_in_the_file_of_problems_is_audited_and_that_is_said(written):
    models, told, run = audited(written(prediction=choice))
    assert models == ["mine"]
    assert run.find("accuracy", "all", "accuracy").value == 0.75
    assert "mine.csv: has a column 'prediction' beside its problems, which is audited (24 of 24 rows read)" in told
    assert "--model builtin scores the built-in model instead" in told
    assert any("which is audited" in note for note in run.notes)


def test_scores_of_both_candidates_are_audited_too(written):
    path = written(
        logit_1=lambda at, problem: -choice(at, problem) - 0.5, logit_2=lambda at, problem: choice(at, problem) - 3.5
    )
    models, told, _run = audited(path)
    assert models == ["mine"]
    assert "has columns 'logit_1', 'logit_2' beside its problems, which are audited" in told


def test_a_model_that_is_named_is_scored_and_nothing_else(written):
    models, told, _ = audited(written(prediction=choice), model="random")
    assert (models, "prediction" in told) == (["random"], False)


def test_how_a_model_is_asked_means_the_built_in_one_and_the_column_is_mentioned(written):
    within = predictions_within(written(prediction=choice), load(written(prediction=choice)), is_scored=True)
    assert (within.files, within.columns) == ((), None)
    (note,) = within.notes
    assert "the built-in model is scored; to audit that instead: --predictions" in note
    assert note.endswith("prediction=prediction (reads 24 of 24 rows)")


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (
            {"a_pred": choice, "b_pred": lambda at, p: 1},
            "has columns 'a_pred', 'b_pred' beside its problems; the built",
        ),
        ({"output": lambda at, p: p.answer + 1}, "to audit that instead if it is not the answers: --predictions"),
        ({"prediction": lambda at, p: "n/a?" if at % 2 else 1}, "fewer than nine rows of ten read as choices"),
        ({"nll_one": lambda at, p: 0.25, "nll_two": lambda at, p: 0.5}, "the lowest is best: say so with the roles"),
    ],
)
def test_what_may_be_something_else_is_mentioned_and_the_built_in_model_is_scored(written, columns, says):
    models, told, _ = audited(written(**columns), limit=2)
    assert models == ["builtin"]
    assert "the built-in model is scored" in told
    assert says in told


@pytest.mark.parametrize("name", ["gpt4", "chatgpt", "pred_a", "llama-2-7b"])
def test_a_column_called_after_a_model_is_mentioned_and_the_built_in_model_is_scored(written, name):
    models, told, _run = audited(written(**{name: choice}))
    assert models == ["builtin"]
    assert f"mine.csv: has a column {name!r} of choices beside its problems; the built-in model is scored" in told
    assert f"prediction={name}" in told
    assert "(reads 24 of 24 rows)" in told


def test_a_column_of_replies_in_words_is_mentioned_too(written):
    _models, told, _run = audited(written(gpt4=lambda at, problem: f"I think option {choice(at, problem)} it is."))
    assert "has a column 'gpt4' beside its problems, which may be replies of a model; the built-in model is" in told


def test_predictions_in_one_of_several_files_are_mentioned(written, data, tmp_path):
    path = written(prediction=choice)
    other = tmp_path / "other.jsonl"
    other.write_text(json.dumps({"qID": "1", "sentence": "Ann saw Bea as _ sang.", "option1": "Ann", "option2": "Bea"}))
    within = predictions_within(f"{path}+{other}", data)
    assert not within.files
    (note,) = within.notes
    assert "mine.csv: has a column 'prediction' beside its problems; the built-in model is scored" in note


@pytest.mark.parametrize(
    "columns", [{"is_switchable": lambda at, problem: at % 2}, {"worker_id": lambda at, problem: 1}]
)
def test_what_says_something_of_a_problem_is_no_model(written, columns):
    assert "built-in" not in audited(written(**columns))[1]


def test_a_table_of_problems_alone_is_scored_without_a_word(written):
    path = written(note=lambda at, problem: "x")
    assert predictions_within(path, load(path)).notes == ()


def test_columns_of_problems_and_of_predictions_are_told_in_one_option(written):
    names = ("satz", "a", "b", "loesung")
    columns = "text=satz,option1=a,option2=b,answer=loesung,prediction=wahl"
    models, _, run = audited(written(names, wahl=choice), columns=columns)
    assert (models, run.find("accuracy", "all", "accuracy").value) == (["mine"], 0.75)
    models, _told, _ = audited(written(names, prediction=choice), columns=columns.removesuffix(",prediction=wahl"))
    assert models == ["mine"]
    assert split_columns("text=satz,prediction=wahl")[0] is None


def test_columns_of_predictions_without_a_file_of_them_are_those_of_data(written):
    models, _, _ = audited(written(wahl=choice), columns="text=sentence,prediction=wahl")
    assert models == ["mine"]
    with pytest.raises(BadInput, match="--predictions FILE"):
        audit("open", columns="text=sentence,prediction=wahl")


def test_a_log_in_the_place_of_data_is_audited_and_not_scored_anew(data, tmp_path):
    path = tmp_path / "samples_mine.jsonl"
    samples = [
        {
            "doc_id": at,
            "doc": {
                "sentence": p.text,
                "option1": p.candidates[0],
                "option2": p.candidates[1],
                "answer": str(p.answer + 1),
            },
            "arguments": {
                f"gen_args_{i}": {"arg_0": p.before + c, "arg_1": p.after} for i, c in enumerate(p.candidates)
            },
            "filtered_resps": [["-1.5", "False"], ["-2.5", "False"]],
            "filter": "none",
        }
        for at, p in enumerate(data)
    ]
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    models, told, _run = audited(path)
    assert models == ["mine"]
    assert "is a log; its predictions are audited; --model builtin scores the built-in model instead" in told


def test_the_public_roberta_s_file_by_itself_gets_966(real_file):
    models, _told, run = audited(real_file("predictions/roberta_winogrande_dev.csv"))
    assert models == ["roberta_winogrande_dev"]
    assert round(run.find("accuracy", "all", "accuracy").value * 1267) == 966
    assert winokit.load(real_file("predictions/roberta_winogrande_dev.csv")).card.name == "winogrande/dev"
