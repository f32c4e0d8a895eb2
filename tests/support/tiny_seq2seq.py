"""Random encoder-decoders that are small enough to be trained in a test: a T5 and a BART."""

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

SENTENCES = [
    "The trophy does not fit into the brown suitcase because it is too large.",
    "Nora thanked Ines because she had been helped.",
    "I poured water from the jug into the cup until it was full.",
]
LONG = " ".join(SENTENCES)


def unigram() -> Tokenizer:
    """A tokenizer like T5's: spaces made visible, `</s>` after a text and nothing before it.

    The pieces are letters and the first three letters of each word; the trainer would find others each time.
    """
    letters = sorted({letter for letter in LONG if letter != " "})
    starts = sorted({f"▁{word[:3]}" for word in LONG.split()})
    special = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces = [*special, ("▁", -4.0), *((letter, -4.0) for letter in letters), *((start, -3.0) for start in starts)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return tokenizer


def byte_level() -> Tokenizer:
    """A tokenizer like BART's: bytes, `<s>` before a text and `</s>` after it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300,
        special_tokens=["<s>", "<pad>", "</s>", "<unk>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(SENTENCES, trainer)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer


def tiny(family: str, folder: Path, **changes) -> Path:
    """A folder with a random model of the family, far from uniform so that a wrong position shows."""
    torch.manual_seed(7)
    if family == "t5":
        tokenizer = unigram()
        sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 2, "num_heads": 2, "initializer_factor": 1.0}
        sizes |= {"vocab_size": tokenizer.get_vocab_size(), "decoder_start_token_id": 0}
        model = transformers.T5ForConditionalGeneration(transformers.T5Config(**sizes | changes))
    else:
        tokenizer = byte_level()
        sizes = {"d_model": 16, "init_std": 0.5, "max_position_embeddings": 200}
        for side in ("encoder", "decoder"):
            sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": 2, f"{side}_ffn_dim": 24}
        sizes |= {"vocab_size": tokenizer.get_vocab_size()}
        model = transformers.BartForConditionalGeneration(transformers.BartConfig(**sizes | changes))
    model.save_pretrained(folder)
    names = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
    names |= {} if family == "t5" else {"bos_token": "<s>"}
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    return folder
