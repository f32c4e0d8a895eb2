"""Random models of several families that are small enough to be trained in a test, each in a folder of its own."""

from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WORDS = (
    "the a . , ' s _ jim kevin bill yelled at because he his it was upset glad trophy suitcase fit into large small "
    "book that who and lent asked sold borrowed hid thanked for to from about since after although so as soon "
    "did not need week had left different one home knew almost nothing everything grown tired of wished all year"
).split()
SPECIAL = ["[CLS]", "[PAD]", "[SEP]", "[UNK]", "[MASK]"]
LETTERS = [letter for letter in "abcdefghijklmnopqrstuvwxyz" if letter not in WORDS]
SIZES = {
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "hidden_size": 16,
    "intermediate_size": 24,
    "max_position_embeddings": 128,
    "initializer_range": 0.5,  # far from uniform, so that a wrong position shows
}
FAMILIES = ("bert", "roberta", "albert", "deberta_v2", "mpnet", "modernbert", "distilbert")
TWO_SEPARATORS = ("roberta", "mpnet")


def tokenizer(family: str = "bert") -> transformers.PreTrainedTokenizerFast:
    """Tokenizer whose tokens are the words of `WORDS`, and letters for all others."""
    tokens = [*SPECIAL, *WORDS, *LETTERS, *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    vocabulary = {token: number for number, token in enumerate(tokens)}
    wordpiece = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    wordpiece.normalizer = normalizers.BertNormalizer()
    wordpiece.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    between = "[SEP] [SEP]" if family in TWO_SEPARATORS else "[SEP]"
    wordpiece.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair=f"[CLS] $A {between} $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 0), ("[SEP]", 2)],
    )
    names = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
    inputs = ["input_ids", "attention_mask"]
    if family in ("bert", "albert"):
        inputs.append("token_type_ids")
    return transformers.PreTrainedTokenizerFast(tokenizer_object=wordpiece, model_input_names=inputs, **names)


def tiny(family: str, folder: Path, *, head: bool = True, **changes) -> Path:
    """Save a random model of a family, with or without its language-modelling head, and return its folder.

    `changes` replace values of its config.
    """
    tokenizer_of_family = tokenizer(family)
    names = {"deberta_v2": "DebertaV2", "modernbert": "ModernBert", "distilbert": "DistilBert", "mpnet": "MPNet"}
    name = names.get(family, family.capitalize())
    sizes = SIZES | {"vocab_size": len(tokenizer_of_family), "pad_token_id": 1}
    if family == "deberta_v2":
        sizes |= {"relative_attention": True, "position_buckets": 8, "pos_att_type": ["p2c", "c2p"]}
    if family == "modernbert":
        sizes |= {"local_attention": 8, "bos_token_id": 0, "cls_token_id": 0, "eos_token_id": 2, "sep_token_id": 2}
    if family == "distilbert":
        sizes |= {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2}
    if family == "albert":
        sizes |= {"embedding_size": 8}
    torch.manual_seed(7)
    config = getattr(transformers, f"{name}Config")(**sizes | changes)
    model = getattr(transformers, f"{name}ForMaskedLM")(config)
    if not head:
        model = model.base_model
    model.save_pretrained(folder)
    tokenizer_of_family.save_pretrained(folder)
    return folder
