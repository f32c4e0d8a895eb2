"""Records of Every Eval Ever: what we write is complete and comes back, and what its own converter loses is found."""

import json
import shutil
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest

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
    path = tmp_path_factory.mktemp("run") / "mine.csv"
    rows = [
        f"{p.id},{'' if at == 5 else 1 + (p.answer if at % 4 else 1 - p.answer)},org/mine" for at, p in enumerate(data)
    ]
    path.write_text("\n".join(["id,prediction,model", *rows]) + "\n")
    return winokit.audit(data, predictions=[path])


@pytest.fixture
def records(run, tmp_path):
    return write_records(run, tmp_path, timestamp=1_700_000_000)


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_model_has_an_aggregate_and_its_samples_which_name_each_other(records, run, tmp_path):
    aggregate_path, samples_path = records.files
    aggregate = json.loads(aggregate_path.read_text())
    samples = lines(samples_path)
    pointer = aggregate["detailed_evaluation_results"]
    assert tmp_path / pointer["file_path"] == samples_path
    assert pointer["checksum"] == sha256(samples_path.read_bytes()).hexdigest()
    assert (pointer["total_rows"], len(samples)) == (24, 24)
    assert {sample["evaluation_id"] for sample in samples} == {aggregate["evaluation_id"]}
    assert aggregate_path.parent.parts[-2:] == ("org", "mine")
    scores = {
        each["metric_config"]["metric_name"]: each["score_details"]["score"] for each in aggregate["evaluation_results"]
    }
    assert scores == {"accuracy": run.accuracy.value, "pair accuracy": run.pairs.value}


def test_samples_have_options_answer_and_choice(records, run):
    problems = {problem.id: problem for problem in run.dataset}
    for made, sample in zip(run.predictions, lines(records.files[1]), strict=False):
        problem = problems[sample["sample_id"]]
        assert sample["input"]["choices"] == list(problem.candidates)
        assert sample["input"]["reference"] == [problem.right]
        assert sample["input"]["raw"] == problem.text
        chosen = [] if made.prediction is None else [problem.candidates[made.prediction]]
        assert sample["output"]["raw"] == chosen
        assert sample["evaluation"]["is_correct"] == (made.prediction == made.answer)


def test_what_is_written_comes_back(records, run):
    (read,) = read_predictions(records.files[1], run.dataset)
    assert [made.prediction for made in read.predictions] == [made.prediction for made in run.predictions[:24]]
    assert read.model == "org/mine"


def test_one_run_is_written_the_same_twice(records, run, tmp_path):
    again = write_records(run, tmp_path / "again", timestamp=1_700_000_000)
    assert [path.name for path in again.files] == [path.name for path in records.files]
    assert [path.read_bytes() for path in again.files] == [path.read_bytes() for path in records.files]


@pytest.fixture
def with_source_ids(tmp_path):
    """Twelve problems as WinoGrande's rows, whose documents the harness hashed."""
    path = tmp_path / "open.jsonl"
    winokit.convert("open", path, to="winogrande", limit=12)
    return load(path)


def test_samples_of_the_harness_s_converter_are_found_by_the_hash_of_their_document(with_source_ids):
    (read,) = read_predictions(LOGS / "every_eval_ever_0.3.0_of_lm_eval_samples.jsonl", with_source_ids)
    (log,) = read_predictions(LOGS / "samples_winogrande_0.4.13.jsonl", with_source_ids)
    assert [made.prediction for made in read.predictions] == [made.prediction for made in log.predictions]
    assert read.right == 5


def test_such_samples_of_other_documents_are_refused():
    with pytest.raises(BadInput, match="nothing in it matches a problem"):
        read_predictions(LOGS / "every_eval_ever_0.3.0_of_lm_eval_samples.jsonl", load("open")[20:40])


@pytest.mark.skipif(VALIDATOR is None, reason="every_eval_ever 0.3 is not installed (Python 3.12)")
def test_their_validator_passes_what_is_written(records, tmp_path):
    named = [str(path.relative_to(tmp_path)) for path in records.files]
    ran = subprocess.run(
        [str(VALIDATOR), "validate", *named], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout


def openeval(data, *, letters=False):
    """Items of OpenEval with the responses of two models."""
    items = []
    for at, problem in enumerate(data):
        listed = problem.candidates[::-1] if letters else problem.candidates
        prompt = "\n".join([problem.text, *(f"{'AB'[n]}) {name}" for n, name in enumerate(listed)), "Answer:"])
        chosen = problem.candidates[problem.answer if at % 4 else 1 - problem.answer]
        reply = "AB"[listed.index(chosen)] if letters else f"The answer is {chosen}."
        content = {"input": [problem.text, *problem.candidates], "references": [problem.right]}
        asked = {"request_input": [prompt], "demonstrations": []}
        score = {"metric": {"name": "exact match", "models": []}, "value": float(bool(at % 4))}
        response = {"response_id": f"i{at}_0", "item_adaptation": asked, "response_content": [reply], "scores": [score]}
        models = [{**response, "model": {"name": name, "size": ""}} for name in ("one", "two")]
        items.append({"item_id": f"i{at}", "item_metadata": {}, "item_content": content, "responses": models})
    return items


@pytest.mark.parametrize("letters", [False, True])
@pytest.mark.parametrize("as_lines", [False, True])
def test_items_of_openeval_are_read_for_each_model_by_what_the_prompt_lists(tmp_path, letters, as_lines):
    data = load("open")[:24]
    items = openeval(data, letters=letters)
    path = tmp_path / "items.json"
    path.write_text("".join(json.dumps(item) + "\n" for item in items) if as_lines else json.dumps(items))
    reads = read_predictions(path, data)
    assert [(read.model, read.right, len(read.predictions)) for read in reads] == [("one", 18, 24), ("two", 18, 24)]
    assert not any("the file says" in note for read in reads for note in read.notes)
