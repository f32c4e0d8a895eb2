"""Split texts at the border of context and continuation, as lm-evaluation-harness 0.4.13 does.

Spaces at the end of the context move to the text. The whole is tokenised with the special tokens that its tokenizer
adds, and the tokens beyond those of the context alone are scored. The harness counts these tokens. In text without
spaces, where a token may reach across the border, it would then score a part of the context, or leave out a part of
the text. So if the whole does not begin with the tokens of the context, and the characters at the border are not
ASCII, exactly the tokens that reach into the text are scored. This happens in one of ten Japanese texts with a
tokenizer that knows Japanese words.

Whether a text begins with BOS is one rule for all texts, with a context or without. So the log-probability of a
whole is the sum over its parts. Without BOS, the first token of a text without context follows nothing: it is read
and not scored. (The harness puts BOS, or EOS, before such a text whatever the model's files say.)
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winokit.errors import BadInput
from winokit.models import base
from winokit.models.packing import ScoredText

ALONE = "a single token with nothing before it has no probability; ?bos=on puts BOS there"


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A tokenised continuation, with the places of its scored tokens.

    Places count characters of the request's own text, without its context.
    """

    scored: ScoredText
    places: list[tuple[int, int]]

    def pieces(self, logprobs: Sequence[float]) -> base.Pieces:
        """Make pieces of the scored tokens, given their log-probabilities in order."""
        return tuple(base.Piece(*place, logprob) for place, logprob in zip(self.places, logprobs, strict=True))


class Boundary:
    """A tokenizer that splits requests into context tokens and scored tokens.

    Parameters
    ----------
    bos
        Whether every text begins with BOS, or with EOS if the tokenizer has no BOS.
    verbatim
        Whether texts contain all their special tokens already, as those of a chat template do.
    """

    def __init__(self, tokenizer: Any, *, bos: bool, verbatim: bool = False) -> None:
        self.tokenizer = tokenizer
        self.bos = bos
        self.verbatim = verbatim
        start = tokenizer.bos_token_id
        self.start: int | None = tokenizer.eos_token_id if start is None else start
        if bos and self.start is None:
            raise BadInput("bos=on: the tokenizer has no token to begin texts with")
        # A text that already begins with the start token gets no second one.
        self.start_text = None if self.start is None else tokenizer.decode(self.start)

    def encode(self, texts: Sequence[str]) -> dict[str, Any]:
        """Tokenise distinct texts, with or without BOS, as (ids, places) by text.

        Other special tokens are those that the tokenizer adds by itself.
        """
        start = "" if self.verbatim else self.start_text
        marked = [text for text in texts if start is not None and text.startswith(start)]
        plain = self._tokenize_texts(list(set(texts).difference(marked)), special=True)
        encoded_texts = self._tokenize_texts(list(dict.fromkeys(marked)), special=False)
        for text, encoded in plain.items():
            encoded_texts[text] = self._apply_bos(*encoded)
        return encoded_texts

    def split(self, requests: Sequence[base.Continuation], most: int = sys.maxsize) -> list[EncodedText | base.Refusal]:
        """Tokenise each request, and find the first token that is scored.

        `most` is the largest number of tokens that the model reads. A text that cannot be read or scored gives a
        Refusal. The last token is only predicted, so a text may have one more.
        """
        sides = [moved(request) for request in requests]
        encoded_wholes = self.encode([context + text for context, text in sides])
        encoded_contexts = self.encode([context for context, _ in sides if context])
        encoded: list[EncodedText | base.Refusal] = []
        for request, (context, text) in zip(requests, sides, strict=True):
            ids, places = encoded_wholes[context + text]
            first = 1
            if context:
                context_ids = encoded_contexts[context][0]
                first = len(context_ids)
                if reaches_across(context, text, ids, context_ids):
                    first = _count_tokens_within(places, len(context))
            if first >= len(ids):
                is_single_token = not context and ids and not self.bos
                encoded.append(base.Refusal(ALONE) if is_single_token else base.NothingToScore(request.text).refusal)
                continue
            if len(ids) - 1 > most:
                encoded.append(base.TooLong(context + text, len(ids) - 1, most).refusal)
                continue
            shift = len(context) + len(text) - len(request.text)
            text_places = _shift_places(places[first:], shift, len(request.text))
            encoded.append(EncodedText(ScoredText(tuple(ids), first), text_places))
        return encoded

    def _apply_bos(self, ids: list[int], places: list[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
        """Add BOS to a tokenised text, or remove it, as `bos` says."""
        begins = ids[:1] == [self.start]
        if self.start is None or begins == self.bos:
            return ids, places
        if begins:
            return ids[1:], places[1:]
        return [self.start, *ids], [(0, 0), *places]

    def _tokenize_texts(self, texts: list[str], *, special: bool) -> dict[str, Any]:
        """Tokenise texts, with the tokenizer's special tokens or without.

        Returns (ids, places) by text.
        """
        if not texts:
            return {}
        encoded = self.tokenizer(
            texts, add_special_tokens=special, return_offsets_mapping=True, return_attention_mask=False, verbose=False
        )
        return dict(zip(texts, zip(encoded["input_ids"], encoded["offset_mapping"], strict=True), strict=True))


def reaches_across(context: str, text: str, ids: Sequence[int], context_ids: Sequence[int]) -> bool:
    """Whether a token reaches across the end of the context.

    It does if the whole does not begin with the tokens of the context. `ids` are the tokens of the whole, `context_ids`
    those of the context alone. Always False if the characters at the border are ASCII.
    """
    around_border = context[-1:] + text[:1]
    begins_alike = list(ids[: len(context_ids)]) == list(context_ids)
    return not around_border.isascii() and not begins_alike


def after_a_space(prompt: str) -> tuple[str, str]:
    """Return a prompt, and the space to put between it and an option.

    The space is empty if the prompt is empty or ends with white space.
    """
    return prompt, "" if not prompt or prompt[-1].isspace() else " "


def split_requests(
    model: base.Model, requests: Sequence[base.Request], opened: Callable[[str], tuple[str, str]] = after_a_space
) -> list[tuple[int, base.Continuation]]:
    """Split requests into continuations, each with the index of its request.

    A `Continuation` is one part. An `Ask` gives one part for each option: `opened` returns its prompt and the gap
    before an option. Other requests that the model can answer, such as `Embed`, give no part. Raises BadInput for a
    request that it cannot answer.
    """
    parts: list[tuple[int, base.Continuation]] = []
    for index, request in enumerate(requests):
        if type(request) not in model.can:
            raise base.cannot(model, request)
        if isinstance(request, base.Continuation):
            parts.append((index, request))
        elif isinstance(request, base.Ask):
            prompt, gap = opened(request.prompt)
            parts += [(index, base.Continuation(prompt, gap + option)) for option in request.options]
    return parts


def join_answers(
    requests: Sequence[base.Request] | Mapping[int, base.Request],
    owners: Sequence[int],
    read: Iterable[tuple[int, base.Answer]],
) -> Iterator[tuple[int, base.Answer]]:
    """Combine the answers to parts into answers to requests, yielding (index, answer).

    A request is answered when its last part is, or when one of them is refused. The reply to an `Ask` has the summed
    log-probability of each option, no choice and no text. Other requests have one part, whose answer is passed on.

    Parameters
    ----------
    owners
        Index of the request for each part.
    read
        Pairs of a part's number and its answer, in any order.
    """
    part_counts = Counter(owners)
    totals: dict[int, dict[int, float]] = defaultdict(dict)
    for number, answer in read:
        index = owners[number]
        if not isinstance(requests[index], base.Ask):
            yield index, answer
        elif isinstance(answer, base.Refusal):
            if part_counts.pop(index, None):
                yield index, answer
        elif isinstance(answer, tuple) and index in part_counts:
            totals[index][number] = sum(piece.logprob for piece in answer)
            if len(totals[index]) == part_counts[index]:
                ordered_totals = sorted(totals.pop(index).items())
                yield index, base.Reply(tuple(total for _, total in ordered_totals), None, "")


def moved(request: base.Continuation) -> tuple[str, str]:
    """Context and text, after the context's final spaces moved to the text."""
    context = request.context.rstrip()
    return context, request.context[len(context) :] + request.text


def _count_tokens_within(places: Sequence[tuple[int, int]], border: int) -> int:
    """Number of tokens before the first that ends beyond the character position `border`."""
    for index, (_, end) in enumerate(places):
        if end > border:
            return index
    return len(places)


def _shift_places(places: Sequence[tuple[int, int]], shift: int, length: int) -> list[tuple[int, int]]:
    """Convert places in the whole text to places in the scored text.

    `shift` is the start of the scored text in the whole, `length` its length. Places outside of it are cut to its
    edges.
    """
    shifted_places: list[tuple[int, int]] = []
    for start, end in places:
        shifted_start = min(max(start - shift, 0), length)
        shifted_end = min(max(end - shift, 0), length)
        shifted_places.append((shifted_start, shifted_end))
    return shifted_places
