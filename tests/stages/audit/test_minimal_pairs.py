"""An audit of minimal pairs: equal to a plain loop over transformers, and through every stage behind it."""

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


def plain_loop(network, tokenizer) -> tuple[list[tuple[float, float]], float, dict[str, float]]:
    """Log-probabilities of both sentences, accuracy and accuracy by paradigm, as anybody would write it."""
    scores = []
    right = 0
    paradigms = {}
    for row in rows():
        pair = []
        for text in (row["sentence_good"], row["sentence_bad"]):
            ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
            with torch.no_grad():
                logprobs = network(ids).logits[0].log_softmax(-1)
            pair.append(float(logprobs[:-1].gather(1, ids[0, 1:, None]).double().sum()))
        scores.append(tuple(pair))
        right += pair[0] > pair[1]
        paradigms.setdefault(row["UID"], []).append(pair[0] > pair[1])
    return scores, right / len(scores), {name: sum(some) / len(some) for name, some in paradigms.items()}


def assert_equal_to_the_loop(spec, network, tokenizer, grammar, tolerance):
    run = audit(grammar, spec)
    scores, accuracy, paradigms = plain_loop(network, tokenizer)
    made = {row.id: row for row in run.predictions if row.variant == "original"}
    for problem, (good, bad) in zip(grammar, scores, strict=True):
        mine = made[problem.id].scores
        assert mine[problem.answer] == pytest.approx(good, abs=tolerance)
        assert mine[1 - problem.answer] == pytest.approx(bad, abs=tolerance)
        assert (made[problem.id].prediction == problem.answer) == (good > bad)
    assert run.find("accuracy", "all", "accuracy").value == accuracy
    assert len(paradigms) == 6
    for name, value in paradigms.items():
        assert run.find("structure", f"domain.{name}", "accuracy").value == value
    assert {row.scoring for row in run.predictions} == {"full"}
    return run


def test_an_audit_of_pairs_is_equal_to_a_plain_loop_over_a_tiny_model(grammar, tmp_path):
    place = tiny_llama(tmp_path / "model")
    network = transformers.AutoModelForCausalLM.from_pretrained(place).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(place)
    assert_equal_to_the_loop(f"hf:{place}", network, tokenizer, grammar, 1e-4)


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get("WINOKIT_SMOLLM2"), reason="set WINOKIT_SMOLLM2 to the folder of its GGUF file")
def test_an_audit_of_pairs_is_equal_to_a_plain_loop_over_smollm2(grammar, tmp_path):
    file = sorted(Path(os.environ["WINOKIT_SMOLLM2"]).rglob("*.gguf"))[0]
    options = {"gguf_file": file.name}
    network = transformers.AutoModelForCausalLM.from_pretrained(file.parent, **options, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(file.parent, **options)
    network.hf_quantizer = None  # its weights are plain numbers by now, and it would not be saved
    del network.config.quantization_config
    network.save_pretrained(tmp_path / "smollm2")
    tokenizer.save_pretrained(tmp_path / "smollm2")
    run = assert_equal_to_the_loop(f"hf:{tmp_path / 'smollm2'}?bos=off", network, tokenizer, grammar, 1e-3)
    assert run.find("accuracy", "all", "accuracy").value > 0.8


def test_groups_of_four_are_right_as_a_whole_by_a_sixteenth_of_guesses(grammar):
    run = audit(grammar, Causal(), protocol="groups")
    whole = run.find("groups", "complete", "group_accuracy")
    assert (whole.n, whole.chance) == (8, 1 / 16)
    shares = [run.find("groups", "complete", name) for name in ("group_accuracy", "one_right", "none_right")]
    assert sum(row.value for row in shares) == pytest.approx(1)
    assert [row.chance for row in shares] == [1 / 16, 14 / 16, 1 / 16]


def test_what_needs_a_blank_has_no_rows_and_one_note_says_so(grammar):
    run = audit(grammar, Causal())
    assert not {row.protocol for row in run.metrics} & {"switching", "artifacts", "special-word", "strict"}
    assert [note for note in run.notes if "whole texts" in note] == [
        "68 of 68 problems are whole texts, without a blank for switching, artifacts, special-word, strict"
    ]
    assert not [row for row in run.metrics if "special_last" in row.subset or row.metric == "same_option"]


def test_a_page_lists_whole_texts_without_a_blank(grammar, tmp_path):
    audit(grammar, Causal(), out=tmp_path / "run", protocol=["accuracy", "groups"])
    script = (tmp_path / "run/report/problems/0.js").read_text()
    assert script.startswith('winokitProblems(0,{"scorers":["random"]')
    first = json.loads(script[script.index("{") : script.rindex("}") + 1])["rows"][0]
    assert first[:4] == ["", None, "", list(grammar[0].candidates)]


def test_tasks_ask_for_whole_texts_and_their_log_gives_the_rows_of_a_direct_run(grammar, tmp_path):
    written = convert(grammar, tmp_path / "tasks", to="lmeval")
    assert set(written.tasks) == {f"{NAME}_original", f"{NAME}_reversed", f"{NAME}_solved"}
    task = read_yaml(written.folder / f"{NAME}_original.yaml")
    assert (task["doc_to_text"], task["target_delimiter"]) == ("", "")
    assert task["doc_to_choice"] == "function utils.filled"
    utils = module_at(written.folder / "utils.py")
    assert [tuple(utils.filled(doc)) for doc in utils.rows(f"{NAME}_original.jsonl")] == [p.texts for p in grammar]
    logs = run_tasks(written.folder, NAME, tmp_path / "logs", Causal())
    direct = audit(grammar, Causal())
    back = audit(predictions=[logs])
    named = {(row.id, row.variant): row.scores for row in direct.predictions}
    assert {(row.id, row.variant): row.scores for row in back.predictions} == named
    assert _values(back) == _values(direct)
    assert back.dataset == grammar


def test_the_harnesses_own_log_of_pairs_is_read(grammar, tmp_path):
    model = Causal()
    log = tmp_path / "samples_blimp.jsonl"
    lines = []
    for number, row in enumerate(rows()):
        texts = [row["sentence_good"], row["sentence_bad"]]
        answers = dict(model.answer([Continuation("", text) for text in texts]))
        responses = [[str(sum(piece.logprob for piece in answers[place])), "False"] for place in (0, 1)]
        arguments = {f"gen_args_{place}": {"arg_0": "", "arg_1": text} for place, text in enumerate(texts)}
        line = {"doc_id": number, "doc": row, "target": "0", "arguments": arguments, "filtered_resps": responses}
        lines.append(json.dumps({**line, "filter": "none", "acc": float(responses[0] > responses[1])}))
    log.write_text("\n".join(lines) + "\n", "utf-8")
    direct = audit(grammar, model, protocol="accuracy")
    back = audit(grammar, predictions=[log], protocol="accuracy")
    scores = {row.id: row.scores for row in direct.predictions if row.variant == "original"}
    assert {row.id: row.scores for row in back.predictions} == scores
    assert len(audit(predictions=[log], protocol="accuracy").dataset) == 68


def test_inspect_is_asked_which_text_is_acceptable(grammar, tmp_path):
    written = convert(grammar, tmp_path / "tasks", to="inspect")
    source = (written.folder / f"{NAME}.py").read_text("utf-8")
    assert 'WHOLE if doc.get("texts") else' in source
    compile(source, NAME, "exec")


def test_debiasing_sees_both_texts_and_in_which_a_word_stands(grammar):
    some = grammar[:4]
    builtin = load_model("builtin")
    first, second = np.split(embed(some, builtin), 2, axis=1)
    assert np.array_equal(embed(some, builtin, features="difference"), first - second)
    with pytest.raises(BadInput, match="single features need a blank"):
        embed(some, builtin, features="single")
    assert words_of_problem(grammar[0])[:3] == ["1:the", "1:teacher", "1:sleeps"]
    assert words_of_problem(grammar[0])[6:9] == ["2:the", "2:teacher", "2:sleep"]


def test_a_release_takes_pairs_and_gives_them_back(grammar, tmp_path):
    settings = ReleaseSettings(name="grammar", licence="CC0-1.0", dev="8", test="0", sizes="20")
    made = write_release(grammar, tmp_path / "release", settings=settings)
    again = read_release(tmp_path / "release")
    assert {problem.id for problem in again["dev"]} == {problem.id for problem in made.contents.files["dev"]}
    assert all(problem.is_whole for data in again.values() for problem in data)
    card = (tmp_path / "release/README.md").read_text("utf-8")
    assert "two whole texts" in card
    assert "**full** scoring, log p(whole text with a candidate)" in card
    assert "**mc-sent**" in card


def test_a_mixture_scores_what_each_scoring_can(grammar):
    blank = Problem("The cup fell because ", " was wet.", ("the cup", "the tray"), 0)
    run = audit(Dataset([*grammar, blank]), Causal(), protocol=["accuracy", "artifacts"])
    assert {row.scoring for row in run.predictions} == {"partial"}
    assert run.find("accuracy", "all", "abstained").value == 68 / 69


def _values(run):
    return {
        (row.protocol, row.subset, row.metric): (row.value, row.n, row.low, row.high, row.chance) for row in run.metrics
    }
