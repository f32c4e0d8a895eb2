"""Count word pieces of the built-in model, the measure of length for candidates."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FOLDER = files("winokit") / "assets" / "minilm-mlm"
"""Weights and tokenizer of the built-in model."""


def piece_counts(texts: Iterable[str]) -> dict[str, int]:
    """Number of word pieces of each distinct text, in the built-in model's vocabulary.

    >>> piece_counts(["trophy", "the suitcase"])
    {'trophy': 1, 'the suitcase': 2}
    """
    distinct = list(dict.fromkeys(texts))
    encodings = tokenizer().encode_batch(distinct, add_special_tokens=False)
    return {text: len(encoding.ids) for text, encoding in zip(distinct, encodings, strict=True)}


@cache
def tokenizer() -> "Tokenizer":
    """Load the built-in model's tokenizer, once. It neither pads nor truncates."""
    from tokenizers import Tokenizer

    return Tokenizer.from_str((FOLDER / "tokenizer.json").read_text("utf-8"))
