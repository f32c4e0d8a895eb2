"""How many word pieces texts have, by the built-in model's tokenizer: one ruler for every model and for logs alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from winokit.models.builtin import FOLDER

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def piece_counts(texts: Iterable[str]) -> dict[str, int]:
    """Word pieces of each distinct text.

    >>> piece_counts(["trophy", "the suitcase"])
    {'trophy': 1, 'the suitcase': 2}
    """
    distinct = list(dict.fromkeys(texts))
    found = _tokenizer().encode_batch(distinct, add_special_tokens=False)
    return {text: len(encoding.ids) for text, encoding in zip(distinct, found, strict=True)}


@lru_cache(1)
def _tokenizer() -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str((FOLDER / "tokenizer.json").read_text("utf-8"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
