"""Records of Every Eval Ever are written completely and come back, and what its converter loses is found."""

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from support.json_rows import json_lines
from support.reading import choice_number, choices_of, is_right, read_only_part

import winokit
from winokit import load
from winokit.data.predictions.every_eval_ever import write_records
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput

LOGS = Path(__file__).parent / "logs"
VALIDATOR = shutil.which("every_eval_ever")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of one model that abstains on one problem."""
    data = load("open")[:24]
    numbers = [choice_number(index, problem) for index, problem in enumerate(data)]
    numbers[5] = ""
    rows = ["id,prediction,model"]
    for problem, number in zip(data, numbers, strict=True):
        rows.append(f"{problem.id},{number},org/mine")
    path = tmp_path_factory.mktemp("run") / "mine.csv"
    path.write_text("\n".join(rows) + "\n")
    return winokit.audit(data, predictions=[path])


@pytest.fixture
def records(run, tmp_path):
    return write_records(run, tmp_path, timestamp=1_700_000_000)


def read_rows(path):
    """Rows of a file with a JSON object a line."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_model_has_an_aggregate_and_its_samples_which_name_each_other(records, run, tmp_path):
    aggregate_path, samples_path = records.files
    aggregate = json.loads(aggregate_path.read_text())
    samples = read_rows(samples_path)
    pointer = aggregate["detailed_evaluation_results"]
    assert tmp_path / pointer["file_path"] == samples_path
    assert pointer["checksum"] == sha256(samples_path.read_bytes()).hexdigest()
    assert pointer["total_rows"] == 24
    assert len(samples) == 24
    evaluation_ids = {sample["evaluation_id"] for sample in samples}
    assert evaluation_ids == {aggregate["evaluation_id"]}
    assert aggregate_path.parent.parts[-2:] == ("org", "mine")
    scores = {}
    for result in aggregate["evaluation_results"]:
        metric_name = result["metric_config"]["metric_name"]
        scores[metric_name] = result["score_details"]["score"]
    assert scores == {"accuracy": run.accuracy.value, "pair accuracy": run.pairs.value}


def test_samples_have_options_answer_and_choice(records, run):
    problems = {problem.id: problem for problem in run.dataset}
    samples = read_rows(records.files[1])
    for row, sample in zip(run.predictions, samples, strict=False):
        problem = problems[sample["sample_id"]]
        assert sample["input"]["choices"] == list(problem.candidates)
        assert sample["input"]["reference"] == [problem.right]
        assert sample["input"]["raw"] == problem.text
        output = [] if row.prediction is None else [problem.candidates[row.prediction]]
        assert sample["output"]["raw"] == output
        assert sample["evaluation"]["is_correct"] == (row.prediction == row.answer)


def test_what_is_written_comes_back(records, run):
    part = read_only_part(records.files[1], run.dataset)
    choices = [row.prediction for row in run.predictions[:24]]
    assert choices_of(part) == choices
    assert part.model == "org/mine"


def test_one_run_is_written_the_same_twice(records, run, tmp_path):
    again = write_records(run, tmp_path / "again", timestamp=1_700_000_000)
    names = [path.name for path in records.files]
    names_again = [path.name for path in again.files]
    assert names_again == names
    contents = [path.read_bytes() for path in records.files]
    contents_again = [path.read_bytes() for path in again.files]
    assert contents_again == contents


@pytest.fixture
def with_source_ids(tmp_path):
    """Twelve problems as WinoGrande's rows, whose documents the harness hashed."""
    path = tmp_path / "open.jsonl"
    winokit.convert("open", path, to="winogrande", limit=12)
    return load(path)


def test_samples_of_the_harness_s_converter_are_found_by_the_hash_of_their_document(with_source_ids):
    part = read_only_part(LOGS / "every_eval_ever_0.3.0_of_lm_eval_samples.jsonl", with_source_ids)
    log = read_only_part(LOGS / "samples_winogrande_0.4.13.jsonl", with_source_ids)
    assert choices_of(part) == choices_of(log)
    assert part.right == 5


def test_such_samples_of_other_documents_are_refused():
    path = LOGS / "every_eval_ever_0.3.0_of_lm_eval_samples.jsonl"
    other_problems = load("open")[20:40]
    with pytest.raises(BadInput, match="nothing in it matches a problem"):
        read_predictions(path, other_problems)


@pytest.mark.skipif(VALIDATOR is None, reason="every_eval_ever 0.3 is not installed (Python 3.12)")
def test_their_validator_passes_what_is_written(records, tmp_path):
    paths = [str(path.relative_to(tmp_path)) for path in records.files]
    command = [str(VALIDATOR), "validate", *paths]
    validation = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert validation.returncode == 0, validation.stdout


def openeval_items(data, *, letters=False):
    """Items of OpenEval with the responses of two models."""
    items = []
    for index, problem in enumerate(data):
        options = problem.candidates
        choice = options[choice_number(index, problem) - 1]
        reply = f"The answer is {choice}."
        if letters:
            options = options[::-1]
            reply = "AB"[options.index(choice)]
        prompt = f"{problem.text}\nA) {options[0]}\nB) {options[1]}\nAnswer:"
        content = {"input": [problem.text, *problem.candidates], "references": [problem.right]}
        metric = {"name": "exact match", "models": []}
        score = {"metric": metric, "value": float(is_right(index, problem))}
        response = {
            "response_id": f"i{index}_0",
            "item_adaptation": {"request_input": [prompt], "demonstrations": []},
            "response_content": [reply],
            "scores": [score],
        }
        responses = [{**response, "model": {"name": name, "size": ""}} for name in ("one", "two")]
        items.append({"item_id": f"i{index}", "item_metadata": {}, "item_content": content, "responses": responses})
    return items


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize("as_lines", [False, True])
def test_items_of_openeval_are_read_for_each_model_by_what_the_prompt_lists(tmp_path, letters, as_lines):
    data = load("open")[:24]
    items = openeval_items(data, letters=letters)
    path = tmp_path / "items.json"
    path.write_text(json_lines(items) if as_lines else json.dumps(items))
    parts = read_predictions(path, data)
    counts = [(part.model, part.right, len(part.predictions)) for part in parts]
    assert counts == [("one", 18, 24), ("two", 18, 24)]
    for part in parts:
        assert not any("the file says" in note for note in part.notes)
