"""An audit of minimal pairs equals a plain loop over transformers, and every stage behind it takes them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from support.harness import module_at, read_yaml, run_tasks
from support.pairs import pairs_file, rows
from support.tiny_causal import tiny_llama

from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.methods.scoring.features import embed
from winokit.models.base import Continuation
from winokit.models.random_model import RandomModel
from winokit.models.registry import load_model
from winokit.problem import Card, Dataset, Problem
from winokit.stages.audit.run import audit
from winokit.stages.convert.run import convert
from winokit.stages.debias.filtering import words_of_problem
from winokit.stages.release.manifest import read_release
from winokit.stages.release.run import write_release
from winokit.stages.release.settings import ReleaseSettings

NAME = "winokit_grammar"


class Causal(RandomModel):
    """Guesses of a model that has log-probabilities of texts alone."""

    kind = "causal"
    can = frozenset({Continuation})


@pytest.fixture
def grammar(tmp_path) -> Dataset:
    return Dataset(load(pairs_file(tmp_path)), Card("grammar"))


def score_text(network, tokenizer, text: str) -> float:
    """Log-probability of a text after its first token."""
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    with torch.no_grad():
        logprobs = network(ids).logits[0].log_softmax(-1)
    token_logprobs = logprobs[:-1].gather(1, ids[0, 1:, None])
    return float(token_logprobs.double().sum())


def score_in_plain_loop(network, tokenizer) -> list[tuple[float, float]]:
    """Log-probabilities of the good and the bad sentence of each pair, as anybody would compute them."""
    scores = []
    for row in rows():
        good = score_text(network, tokenizer, row["sentence_good"])
        bad = score_text(network, tokenizer, row["sentence_bad"])
        scores.append((good, bad))
    return scores


def measure_paradigms(scores: list[tuple[float, float]]) -> dict[str, float]:
    """Accuracy of each paradigm."""
    flags: dict[str, list[bool]] = {}
    for row, (good, bad) in zip(rows(), scores, strict=True):
        flags.setdefault(row["UID"], []).append(good > bad)
    return {name: sum(paradigm_flags) / len(paradigm_flags) for name, paradigm_flags in flags.items()}


def select_originals(run):
    """Predictions of the originals by problem."""
    return {row.id: row for row in run.predictions if row.variant == "original"}


def check_against_plain_loop(run, scores: list[tuple[float, float]], dataset: Dataset, tolerance: float) -> None:
    """Assert that an audit has the scores of the loop, and the accuracies that follow from them."""
    predictions = select_originals(run)
    for problem, (good, bad) in zip(dataset, scores, strict=True):
        prediction = predictions[problem.id]
        assert prediction.scores[problem.answer] == pytest.approx(good, abs=tolerance)
        assert prediction.scores[1 - problem.answer] == pytest.approx(bad, abs=tolerance)
        assert (prediction.prediction == problem.answer) == (good > bad)
    right_count = sum(good > bad for good, bad in scores)
    assert run.find("accuracy", "all", "accuracy").value == right_count / len(scores)
    paradigms = measure_paradigms(scores)
    assert len(paradigms) == 6
    for name, value in paradigms.items():
        assert run.find("structure", f"domain.{name}", "accuracy").value == value
    assert {row.scoring for row in run.predictions} == {"full"}


def test_an_audit_of_pairs_is_equal_to_a_plain_loop_over_a_tiny_model(grammar, tmp_path):
    folder = tiny_llama(tmp_path / "model")
    network = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    scores = score_in_plain_loop(network, tokenizer)
    check_against_plain_loop(audit(grammar, f"hf:{folder}"), scores, grammar, 1e-4)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("WINOKIT_SMOLLM2"), reason="set WINOKIT_SMOLLM2 to the folder of its GGUF file")
def test_an_audit_of_pairs_is_equal_to_a_plain_loop_over_smollm2(grammar, tmp_path):
    path = sorted(Path(os.environ["WINOKIT_SMOLLM2"]).rglob("*.gguf"))[0]
    options = {"gguf_file": path.name}
    network = transformers.AutoModelForCausalLM.from_pretrained(path.parent, **options, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, **options)
    network.hf_quantizer = None  # its weights are plain numbers by now, and it would not be saved
    del network.config.quantization_config
    folder = tmp_path / "smollm2"
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    run = audit(grammar, f"hf:{folder}?bos=off")
    scores = score_in_plain_loop(network, tokenizer)
    check_against_plain_loop(run, scores, grammar, 1e-3)
    assert run.find("accuracy", "all", "accuracy").value > 0.8


def test_groups_of_four_are_right_as_a_whole_by_a_sixteenth_of_guesses(grammar):
    run = audit(grammar, Causal(), protocol="groups")
    metrics = ("group_accuracy", "one_right", "none_right")
    shares = [run.find("groups", "complete", metric) for metric in metrics]
    assert shares[0].n == 8
    assert sum(row.value for row in shares) == pytest.approx(1)
    assert [row.chance for row in shares] == [1 / 16, 14 / 16, 1 / 16]


def test_what_needs_a_blank_has_no_rows_and_one_note_says_so(grammar):
    run = audit(grammar, Causal())
    protocols = {row.protocol for row in run.metrics}
    notes = [note for note in run.notes if "whole texts" in note]
    assert protocols.isdisjoint({"switching", "artifacts", "special-word", "strict"})
    assert notes == [
        "68 of 68 problems are whole texts, without a blank for switching, artifacts, special-word, strict"
    ]
    assert not [row for row in run.metrics if "special_last" in row.subset]
    assert not [row for row in run.metrics if row.metric == "same_option"]


def test_a_page_lists_whole_texts_without_a_blank(grammar, tmp_path):
    audit(grammar, Causal(), out=tmp_path / "run", protocol=["accuracy", "groups"])
    script = (tmp_path / "run/report/problems/0.js").read_text()
    assert script.startswith('winokitProblems(0,{"scorers":["random"]')
    start = script.index("{")
    end = script.rindex("}") + 1
    content = json.loads(script[start:end])
    assert content["rows"][0][:4] == ["", None, "", list(grammar[0].candidates)]


@pytest.fixture
def tasks(grammar, tmp_path):
    """Tasks for the LM harness, with the folder they are in."""
    return convert(grammar, tmp_path / "tasks", to="lmeval")


def test_tasks_ask_for_whole_texts(grammar, tasks):
    task = read_yaml(tasks.folder / f"{NAME}_original.yaml")
    utils = module_at(tasks.folder / "utils.py")
    texts = [tuple(utils.filled(doc)) for doc in utils.rows(f"{NAME}_original.jsonl")]
    assert set(tasks.tasks) == {f"{NAME}_original", f"{NAME}_reversed", f"{NAME}_solved"}
    assert task["doc_to_text"] == ""
    assert task["target_delimiter"] == ""
    assert task["doc_to_choice"] == "function utils.filled"
    assert texts == [problem.texts for problem in grammar]


def collect_scores(run):
    """Scores by problem and variant."""
    return {(row.id, row.variant): row.scores for row in run.predictions}


def test_the_log_of_tasks_gives_the_rows_of_a_direct_run(grammar, tasks, tmp_path):
    logs = run_tasks(tasks.folder, NAME, tmp_path / "logs", Causal())
    direct_run = audit(grammar, Causal())
    run_of_logs = audit(predictions=[logs])
    assert collect_scores(run_of_logs) == collect_scores(direct_run)
    assert collect_values(run_of_logs) == collect_values(direct_run)
    assert run_of_logs.dataset == grammar


def make_harness_line(model: Causal, number: int, row: dict) -> str:
    """A line of the harness's own log of pairs."""
    texts = [row["sentence_good"], row["sentence_bad"]]
    answers = dict(model.answer([Continuation("", text) for text in texts]))
    responses = []
    arguments = {}
    for index, text in enumerate(texts):
        logprob = sum(piece.logprob for piece in answers[index])
        responses.append([str(logprob), "False"])
        arguments[f"gen_args_{index}"] = {"arg_0": "", "arg_1": text}
    line = {"doc_id": number, "doc": row, "target": "0", "arguments": arguments, "filtered_resps": responses}
    line |= {"filter": "none", "acc": float(responses[0] > responses[1])}
    return json.dumps(line) + "\n"


def test_the_harnesses_own_log_of_pairs_is_read(grammar, tmp_path):
    model = Causal()
    log = tmp_path / "samples_blimp.jsonl"
    lines = [make_harness_line(model, number, row) for number, row in enumerate(rows())]
    log.write_text("".join(lines), "utf-8")
    direct_predictions = select_originals(audit(grammar, model, protocol="accuracy"))
    run_of_log = audit(grammar, predictions=[log], protocol="accuracy")
    run_without_data = audit(predictions=[log], protocol="accuracy")
    direct_scores = {problem_id: row.scores for problem_id, row in direct_predictions.items()}
    assert {row.id: row.scores for row in run_of_log.predictions} == direct_scores
    assert len(run_without_data.dataset) == 68


def test_inspect_is_asked_which_text_is_acceptable(grammar, tmp_path):
    tasks = convert(grammar, tmp_path / "tasks", to="inspect")
    source = (tasks.folder / f"{NAME}.py").read_text("utf-8")
    assert 'WHOLE if doc.get("texts") else' in source
    compile(source, NAME, "exec")


def test_debiasing_sees_both_texts(grammar):
    few_pairs = grammar[:4]
    builtin = load_model("builtin")
    first, second = np.split(embed(few_pairs, builtin), 2, axis=1)
    differences = embed(few_pairs, builtin, features="difference")
    assert np.array_equal(differences, first - second)
    with pytest.raises(BadInput, match="single features need a blank"):
        embed(few_pairs, builtin, features="single")


def test_debiasing_sees_in_which_text_a_word_stands(grammar):
    words = words_of_problem(grammar[0])
    assert words[:3] == ["1:the", "1:teacher", "1:sleeps"]
    assert words[6:9] == ["2:the", "2:teacher", "2:sleep"]


def test_a_release_takes_pairs_and_gives_them_back(grammar, tmp_path):
    settings = ReleaseSettings(name="grammar", licence="CC0-1.0", dev="8", test="0", sizes="20")
    release = write_release(grammar, tmp_path / "release", settings=settings)
    files = read_release(tmp_path / "release")
    ids_read = {problem.id for problem in files["dev"]}
    ids_written = {problem.id for problem in release.contents.files["dev"]}
    assert ids_read == ids_written
    for data in files.values():
        assert all(problem.is_whole for problem in data)
    card = (tmp_path / "release/README.md").read_text("utf-8")
    assert "two whole texts" in card
    assert "**full** scoring, log p(whole text with a candidate)" in card
    assert "**mc-sent**" in card


def test_a_mixture_scores_what_each_scoring_can(grammar):
    blank = Problem("The cup fell because ", " was wet.", ("the cup", "the tray"), 0)
    run = audit(Dataset([*grammar, blank]), Causal(), protocol=["accuracy", "artifacts"])
    assert {row.scoring for row in run.predictions} == {"partial"}
    assert run.find("accuracy", "all", "abstained").value == 68 / 69


def collect_values(run):
    """Value, number, interval and chance of each row, by protocol, subset and metric."""
    values = {}
    for row in run.metrics:
        values[row.protocol, row.subset, row.metric] = (row.value, row.n, row.low, row.high, row.chance)
    return values
