"""Scores of texts without spaces begin where the scored text does, whatever the tokenizer joins."""

from math import isfinite
from types import SimpleNamespace

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

import winokit
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Continuation
from winokit.models.boundary import Boundary
from winokit.models.gguf import GgufModel
from winokit.problem import Dataset, Problem

TEXTS = (
    "少年は犬を見た。彼は笑った。",
    "少女は犬を見た。彼女は笑った。",
    "教師は少年を呼んだ。",
    "Мальчик увидел собаку.",
)
PROBLEMS = [
    Problem("少年は犬を見た。", "は笑った。", ("少年", "犬"), 0, "彼", language="ja"),
    Problem("教師は少年を呼んだ。少女は", "見た。", ("教師", "少年"), 1, "彼を", language="ja"),
    Problem("Мальчик увидел собаку. ", " засмеялся.", ("Мальчик", "собаку"), 0, "Он", language="ru"),
]


def joining() -> transformers.PreTrainedTokenizerFast:
    """Make a tokenizer that has learnt to join words with the particles after them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    roles = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "mask_token": "<mask>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **roles)


def save_model(folder, network) -> str:
    """Save a network and the tokenizer in a folder, and return the model's spec."""
    network.save_pretrained(folder)
    joining().save_pretrained(folder)
    return f"hf:{folder}"


def sizes(tokenizer) -> dict:
    """Sizes of a small network for a tokenizer, with weights far from uniform."""
    layers = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    tokens = {"vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    return {"initializer_range": 0.3} | layers | tokens


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("text", TEXTS[:3])
def test_every_token_that_reaches_into_the_text_is_scored_and_no_other(text, bos):
    tokenizer = joining()
    across_count = 0
    whole = tokenizer(text, return_offsets_mapping=True)
    tokens = list(zip(whole["input_ids"], whole["offset_mapping"], strict=True))
    for cut in range(1, len(text)):
        request = Continuation(text[:cut], text[cut:])
        (encoded,) = Boundary(tokenizer, bos=bos).split([request])
        expected = [token for token, (_, end) in tokens if end > cut]
        if bos or len(expected) < len(tokens):  # nothing is guessed from nothing
            scored = encoded.scored
            assert list(scored.tokens[scored.first :]) == expected
        if any(start < cut < end for _, (start, end) in tokens):
            across_count += 1
    assert across_count


def test_llama_cpp_scores_the_same_tokens():
    tokenizer = joining()
    text = TEXTS[0]
    reader = SimpleNamespace(
        tokens=lambda words: tokenizer(words)["input_ids"] if words else [],
        spelling=lambda token: b"." * len(tokenizer.convert_ids_to_tokens(token)),  # a character a byte
        mark=(0,),
        longest=99,
    )
    model = SimpleNamespace(_reader=reader)
    for cut in range(1, len(text)):
        request = Continuation(text[:cut], text[cut:])
        (encoded,) = Boundary(tokenizer, bos=True).split([request])
        tokens, first = GgufModel._split_tokens(model, request)
        assert tokens == encoded.scored.tokens
        assert first == encoded.scored.first


@torch.inference_mode()
def log_probability(tokenizer, network, before: str, after: str) -> float:
    """Log-probability of `after` following `before`, by a loop over the tokens that reach into `after`."""
    encoded = tokenizer(before + after, return_offsets_mapping=True)
    ids = encoded["input_ids"]
    logprobs = network(torch.tensor([ids])).logits[0].log_softmax(-1)
    border = len(before.rstrip())
    total = 0.0
    for index, (_, end) in enumerate(encoded["offset_mapping"]):
        if index and end > border:
            total += logprobs[index - 1, ids[index]].item()
    return total


def cut_for_scoring(filled, scoring: str) -> tuple[str, str]:
    """Text before and after the border from which a filled problem is scored."""
    if scoring == "partial":
        return filled.before + filled.candidate, filled.after
    return "", filled.text


@pytest.mark.parametrize("scoring", ["partial", "full"])
def test_scores_are_those_of_a_plain_loop(tmp_path, scoring):
    torch.manual_seed(5)
    tokenizer = joining()
    config = transformers.LlamaConfig(**sizes(tokenizer))
    network = transformers.LlamaForCausalLM(config).eval()
    spec = save_model(tmp_path, network)
    predictions = winokit.score(Dataset(PROBLEMS), spec, scoring=scoring)
    for problem, prediction in zip(PROBLEMS, predictions, strict=True):
        expected = []
        for candidate in problem.candidates:
            before, after = cut_for_scoring(substitute(problem, candidate), scoring)
            expected.append(log_probability(tokenizer, network, before, after))
        assert prediction.scores == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("scoring", ["masked-candidate", "pseudo-likelihood"])
def test_a_masked_model_scores_candidates_that_no_space_surrounds(tmp_path, scoring):
    tokenizer = joining()
    config = transformers.RobertaConfig(**sizes(tokenizer))
    network = transformers.RobertaForMaskedLM(config)
    spec = save_model(tmp_path, network)
    for prediction in winokit.score(Dataset(PROBLEMS), spec, scoring=scoring):
        assert prediction.why is None
        assert len(set(prediction.scores)) == 2
        for score in prediction.scores:
            assert isfinite(score)
            assert score < 0
