"""Where a context ends and its continuation begins, in tokens, by the rules of lm-evaluation-harness 0.4.13.

Spaces at the end of the context move to the text; the whole is encoded with the special tokens its tokenizer adds, and
the tokens beyond those of the context alone are scored. Without a context, the token that begins a document stands for
it (BOS, or EOS where there is none), and no other special token is added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from winokit.errors import BadInput
from winokit.models.base import Continuation, NothingToScore, Piece, Pieces
from winokit.models.prefix_tree import Scored


@dataclass(frozen=True, slots=True)
class Encoded:
    """A continuation as tokens, and where each scored one stands in its text."""

    scored: Scored
    places: list[tuple[int, int]]

    def pieces(self, logprobs: Sequence[float]) -> Pieces:
        """The scored tokens with their log-probabilities."""
        return tuple(Piece(*place, logprob) for place, logprob in zip(self.places, logprobs, strict=True))


class Boundary:
    """A tokenizer that splits requests into what is given and what is scored."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        start = tokenizer.bos_token_id
        self.start: int | None = tokenizer.eos_token_id if start is None else start
        # A text that already begins with the start token gets no second one.
        self.start_text = None if self.start is None else tokenizer.decode(self.start)

    def encode(self, texts: Sequence[str]) -> dict[str, Any]:
        """Each text with the special tokens its tokenizer adds, as ids and places."""
        marked = [text for text in texts if self.start_text is not None and text.startswith(self.start_text)]
        plain = set(texts).difference(marked)
        return self._encode(list(dict.fromkeys(marked)), special=False) | self._encode(list(plain), special=True)

    def split(self, requests: Sequence[Continuation]) -> list[Encoded]:
        """The tokens of each request, and which of them are scored."""
        moved = [_moved(request) for request in requests]
        whole = self.encode([context + text for context, text in moved if context])
        alone = self.encode([context for context, _ in moved if context])
        bare = self._encode([text for context, text in moved if not context], special=False)
        encoded = []
        for request, (context, text) in zip(requests, moved, strict=True):
            if context:
                ids, places = whole[context + text]
                first = len(alone[context][0])
            else:
                ids, places, first = self._from_start(request, *bare[text])
            if first >= len(ids):
                raise NothingToScore(request.text)
            shift = len(context) + len(text) - len(request.text)
            encoded.append(Encoded(Scored(tuple(ids), first), _placed(places[first:], shift, len(request.text))))
        return encoded

    def _from_start(self, request: Continuation, ids: list[int], places: Any) -> tuple[list[int], Any, int]:
        """A text without context, after the token that begins a document."""
        if self.start is None:
            raise BadInput(f"no context, and the tokenizer has no token to begin with: {request.text[:60]!r}")
        if ids and ids[0] == self.start:
            return ids, places, 1
        return [self.start, *ids], [(0, 0), *places], 1

    def _encode(self, texts: list[str], *, special: bool) -> dict[str, Any]:
        if not texts:
            return {}
        encoded = self.tokenizer(
            texts, add_special_tokens=special, return_offsets_mapping=True, return_attention_mask=False, verbose=False
        )
        return dict(zip(texts, zip(encoded["input_ids"], encoded["offset_mapping"], strict=True), strict=True))


def _moved(request: Continuation) -> tuple[str, str]:
    """Context and text, spaces at the end of the one moved to the beginning of the other."""
    context = request.context.rstrip()
    return context, request.context[len(context) :] + request.text


def _placed(places: Sequence[tuple[int, int]], shift: int, length: int) -> list[tuple[int, int]]:
    """Places in the whole as places in the text; what lies before it counts as its beginning."""
    return [(min(max(start - shift, 0), length), min(max(end - shift, 0), length)) for start, end in places]
