"""Text without spaces between words: what is scored begins where the text does, whatever the tokenizer joins."""

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
    """A tokenizer that has learnt to join words with the particles after them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    named = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>", "mask_token": "<mask>"}
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named)


def saved(folder, network) -> str:
    network.save_pretrained(folder)
    joining().save_pretrained(folder)
    return f"hf:{folder}"


def sizes(tokenizer) -> dict:
    small = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    return {"vocab_size": len(tokenizer), "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1, **small}


@pytest.mark.parametrize("bos", [False, True])
@pytest.mark.parametrize("text", TEXTS[:3])
def test_every_token_that_reaches_into_the_text_is_scored_and_no_other(text, bos):
    tokenizer = joining()
    across = 0
    whole = tokenizer(text, return_offsets_mapping=True)
    for cut in range(1, len(text)):
        (encoded,) = Boundary(tokenizer, bos=bos).split([Continuation(text[:cut], text[cut:])])
        places = list(zip(whole["input_ids"], whole["offset_mapping"], strict=True))
        wanted = [token for token, (_, end) in places if end > cut]
        if bos or len(wanted) < len(places):  # nothing is guessed from nothing
            assert list(encoded.scored.tokens[encoded.scored.first :]) == wanted
        across += any(start < cut < end for _, (start, end) in places)
    assert across


def test_llama_cpp_scores_the_same_tokens():
    tokenizer = joining()
    text = TEXTS[0]
    reader = SimpleNamespace(
        tokens=lambda words: tokenizer(words)["input_ids"] if words else [],
        spelling=lambda token: b"." * len(tokenizer.convert_ids_to_tokens(token)),  # a character a byte
        mark=(0,),
        longest=99,
    )
    for cut in range(1, len(text)):
        request = Continuation(text[:cut], text[cut:])
        (encoded,) = Boundary(tokenizer, bos=True).split([request])
        assert GgufModel._split_tokens(SimpleNamespace(_reader=reader), request) == (
            encoded.scored.tokens,
            encoded.scored.first,
        )


@torch.inference_mode()
def plain(tokenizer, network, before: str, after: str) -> float:
    """log p(after | before) by a plain loop over the tokens that reach into what follows."""
    read = tokenizer(before + after, return_offsets_mapping=True)
    ids = torch.tensor([read["input_ids"]])
    logprobs = network(ids).logits[0].log_softmax(-1)
    border = len(before.rstrip())
    scored = [at for at, (_, end) in enumerate(read["offset_mapping"]) if end > border and at]
    return sum(logprobs[at - 1, ids[0, at]].item() for at in scored)


@pytest.mark.parametrize("scoring", ["partial", "full"])
def test_scores_are_those_of_a_plain_loop(tmp_path, scoring):
    torch.manual_seed(5)
    tokenizer = joining()
    network = transformers.LlamaForCausalLM(transformers.LlamaConfig(initializer_range=0.3, **sizes(tokenizer))).eval()
    scored = winokit.score(Dataset(PROBLEMS), saved(tmp_path, network), scoring=scoring)
    for problem, prediction in zip(PROBLEMS, scored, strict=True):
        filled = [substitute(problem, candidate) for candidate in problem.candidates]
        parts = [(f.before + f.candidate, f.after) if scoring == "partial" else ("", f.text) for f in filled]
        assert prediction.scores == pytest.approx([plain(tokenizer, network, *part) for part in parts], abs=1e-4)


@pytest.mark.parametrize("scoring", ["masked-candidate", "pseudo-likelihood"])
def test_a_masked_model_scores_candidates_that_no_space_surrounds(tmp_path, scoring):
    tokenizer = joining()
    network = transformers.RobertaForMaskedLM(transformers.RobertaConfig(initializer_range=0.3, **sizes(tokenizer)))
    for prediction in winokit.score(Dataset(PROBLEMS), saved(tmp_path, network), scoring=scoring):
        assert prediction.why is None
        assert all(isfinite(score) and score < 0 for score in prediction.scores)
        assert len(set(prediction.scores)) == 2
