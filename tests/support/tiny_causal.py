"""A tokenizer small enough for models that are made in a test, with or without a post-processor that adds BOS."""

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

TWINS = [
    "The cup fell off the table because it stood near the edge.",
    "The cup fell off the table because it was pushed.",
    "The spoon fell off the table because it stood near the edge.",
    "Nora thanked Ines because Nora had been helped.",
    "Nora thanked Ines because Ines had been helpful.",
    "Nora left.",
]


def tiny_tokenizer(*, bos: bool = False) -> transformers.PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<s>", "</s>"], initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TWINS, trainer)
    if bos:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 0)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>")


def tiny_llama(folder: Path, *, bos: bool = False, **changes: float) -> Path:
    """Save a random Llama of two layers with its tokenizer."""
    torch.manual_seed(5)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    special = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 1}
    config = transformers.LlamaConfig(**{"vocab_size": 320, "initializer_range": 0.3, **sizes, **special, **changes})
    transformers.LlamaForCausalLM(config).save_pretrained(folder)
    tiny_tokenizer(bos=bos).save_pretrained(folder)
    return folder
