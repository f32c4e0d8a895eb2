"""Where a context ends and its continuation begins, in tokens, by the rules of lm-evaluation-harness 0.4.13.

Spaces at the end of the context move to the text; the whole is encoded with the special tokens its tokenizer adds, and
the tokens beyond those of the context alone are scored. The harness counts them, and in text without spaces, where a
token may reach across the border, would score a part of the context or leave out some of the text. Where the context
alone has other tokens than the whole begins with, and the letters there are not ASCII, all tokens that reach into the
text are scored, and no others: so it is in one of ten Japanese texts with a tokenizer that knows Japanese words.

Whether a text begins with BOS is one rule for all texts, with a context or without, so that the log-probability of a
whole is that of its parts added up. Where it does not, a text without context has a first token that is guessed from
nothing: it is read and not scored. (The harness puts BOS, or EOS, before such a text whatever the model's files say.)
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
    """A continuation as tokens, and where each scored one stands in its text."""

    scored: ScoredText
    places: list[tuple[int, int]]

    def pieces(self, logprobs: Sequence[float]) -> base.Pieces:
        """The scored tokens with their log-probabilities."""
        return tuple(base.Piece(*place, logprob) for place, logprob in zip(self.places, logprobs, strict=True))


class Boundary:
    """A tokenizer that splits requests into what is given and what is scored.

    Parameters
    ----------
    bos
        Whether every text begins with BOS, or with EOS where the tokenizer has no BOS.
    verbatim
        Whether texts bring all their special tokens along, as those of a chat template do.
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
        """Each text with BOS or without, and with what else its tokenizer adds, as ids and places."""
        start = "" if self.verbatim else self.start_text
        marked = [text for text in texts if start is not None and text.startswith(start)]
        plain = self._encode(list(set(texts).difference(marked)), special=True)
        return self._encode(list(dict.fromkeys(marked)), special=False) | {
            text: self._begun(*encoded) for text, encoded in plain.items()
        }

    def split(self, requests: Sequence[base.Continuation], most: int = sys.maxsize) -> list[EncodedText | base.Refusal]:
        """The tokens of each request, and which of them are scored; `most` is how many a model reads."""
        sides = [moved(request) for request in requests]
        whole = self.encode([context + text for context, text in sides])
        alone = self.encode([context for context, _ in sides if context])
        encoded: list[EncodedText | base.Refusal] = []
        for request, (context, text) in zip(requests, sides, strict=True):
            ids, places = whole[context + text]
            first = len(alone[context][0]) if context else 1
            if context and reaches_across(context, text, ids, alone[context][0]):
                first = next((at for at, (_, end) in enumerate(places) if end > len(context)), len(ids))
            if first >= len(ids):
                bare = not context and ids and not self.bos
                encoded.append(base.Refusal(ALONE) if bare else base.NothingToScore(request.text).refusal)
                continue
            if len(ids) - 1 > most:
                encoded.append(base.TooLong(context + text, len(ids) - 1, most).refusal)
                continue
            shift = len(context) + len(text) - len(request.text)
            own = _placed(places[first:], shift, len(request.text))
            encoded.append(EncodedText(ScoredText(tuple(ids), first), own))
        return encoded

    def _begun(self, ids: list[int], places: list[tuple[int, int]]) -> tuple[list[int], list[tuple[int, int]]]:
        """A text as the tokenizer made it, with BOS put before it or taken away."""
        begins = ids[:1] == [self.start]
        if self.start is None or begins == self.bos:
            return ids, places
        return (ids[1:], places[1:]) if begins else ([self.start, *ids], [(0, 0), *places])

    def _encode(self, texts: list[str], *, special: bool) -> dict[str, Any]:
        if not texts:
            return {}
        encoded = self.tokenizer(
            texts, add_special_tokens=special, return_offsets_mapping=True, return_attention_mask=False, verbose=False
        )
        return dict(zip(texts, zip(encoded["input_ids"], encoded["offset_mapping"], strict=True), strict=True))


def reaches_across(context: str, text: str, ids: Sequence[int], own: Sequence[int]) -> bool:
    """Whether the tokens of a whole do not begin with those of its context, between letters that are not ASCII."""
    return not (context[-1:] + text[:1]).isascii() and list(ids[: len(own)]) != list(own)


def after_a_space(prompt: str) -> tuple[str, str]:
    """A prompt, and what stands between it and an option, which is a word of its own."""
    return prompt, "" if not prompt or prompt[-1].isspace() else " "


def parts_of(
    model: base.Model, requests: Sequence[base.Request], opened: Callable[[str], tuple[str, str]] = after_a_space
) -> list[tuple[int, base.Continuation]]:
    """The continuations that requests ask for, each with the request's index; refuse what the model cannot answer.

    An `Ask` is one for each option, after the prompt as `opened` has it; a space at its end is moved there anyway.
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


def joined(
    requests: Sequence[base.Request] | Mapping[int, base.Request],
    owners: Sequence[int],
    read: Iterable[tuple[int, base.Answer]],
) -> Iterator[tuple[int, base.Answer]]:
    """Answers of requests from those of their parts, each when its last part is read or one of them was refused.

    The reply to an `Ask` has the summed log-probabilities of its options; nothing is said, so that there is no text.

    Parameters
    ----------
    owners
        Of each part, the index of its request.
    read
        Parts by their number, in any order, with their answers.
    """
    left = Counter(owners)
    totals: dict[int, dict[int, float]] = defaultdict(dict)
    for number, answer in read:
        index = owners[number]
        if not isinstance(requests[index], base.Ask):
            yield index, answer
        elif isinstance(answer, base.Refusal):
            if left.pop(index, None):
                yield index, answer
        elif isinstance(answer, tuple) and index in left:
            totals[index][number] = sum(piece.logprob for piece in answer)
            if len(totals[index]) == left[index]:
                yield index, base.Reply(tuple(total for _, total in sorted(totals.pop(index).items())), None, "")


def moved(request: base.Continuation) -> tuple[str, str]:
    """Context and text, spaces at the end of the one moved to the beginning of the other."""
    context = request.context.rstrip()
    return context, request.context[len(context) :] + request.text


def _placed(places: Sequence[tuple[int, int]], shift: int, length: int) -> list[tuple[int, int]]:
    """Places in the whole as places in the text; what lies before it counts as its beginning."""
    return [(min(max(start - shift, 0), length), min(max(end - shift, 0), length)) for start, end in places]
