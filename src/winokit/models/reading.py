"""Tokenise a text, and plan what a masked model must look up in it.

For a masked language model, a request is a set of texts with masked tokens, and the tokens to look up in each.
Candidates of equally many pieces give the same masked text. So a plan has texts as keys, and each is read once.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, TypeAlias, TypeVar

from winokit.errors import check_known
from winokit.models import base

WINDOW = 1024
"""Number of requests planned together: enough to pack well, few enough for the memory."""
POOLINGS = ("first", "mean", "span")

Ids: TypeAlias = tuple[int, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class TextReading:
    """A tokenised text, with the place and the word of each token.

    A place is the token's (start, end) in characters, without white space at its edges. The word is a number, the same
    for all tokens of a word. Both are None for special tokens such as [CLS].
    """

    text: str
    ids: list[int]
    places: list[tuple[int, int] | None]
    words: list[int | None]
    most: int
    """Largest number of tokens that the model reads."""

    @classmethod
    def of(cls, text: str, encoding: Any, most: int) -> "TextReading":
        """Make a reading of a text's encoding by the `tokenizers` library.

        `most` is the largest number of tokens that the model reads. Words are the tokenizer's. If it finds only one,
        they are separated at white space instead.
        """
        special = encoding.special_tokens_mask
        places: list[tuple[int, int] | None] = []
        for offsets, is_special in zip(encoding.offsets, special, strict=True):
            places.append(None if is_special else strip_spaces(text, *offsets))
        words = encoding.word_ids
        own_words = {word for word, is_special in zip(words, special, strict=True) if not is_special}
        if len(own_words) < 2:
            # A tokenizer that does not cut a text into words first takes all of it for one.
            words = _number_words(text, places)
        return cls(text, encoding.ids, places, words, most)

    def check(self) -> None:
        """Raise TooLong if the text has more tokens than the model reads."""
        if len(self.ids) > self.most:
            raise base.TooLong(self.text, len(self.ids), self.most)

    def own(self) -> list[int]:
        """Positions of all tokens except special ones such as [CLS].

        Raises NothingToScore if there are none.
        """
        positions = [position for position, place in enumerate(self.places) if place is not None]
        if not positions:
            raise base.NothingToScore(self.text)
        return positions

    def inside(self, start: int, end: int) -> list[int]:
        """Positions of the tokens that overlap `text[start:end]`.

        Raises NothingToScore if there are none.
        """
        positions: list[int] = []
        for position, place in enumerate(self.places):
            if place is None:
                continue
            token_start, token_end = place
            if token_start < end and max(token_end, token_start + 1) > start:
                positions.append(position)
        if not positions or not self.text[start:end].strip():
            raise base.NothingToScore(self.text[start:end])
        return positions

    def rest_of_word(self, position: int) -> list[int]:
        """Positions of a token and of the later tokens of its word."""
        word = self.words[position]
        return [later for later in range(position, len(self.ids)) if self.words[later] == word]

    def masked(self, positions: Sequence[int], mask: int) -> Ids:
        """Token ids, with the mask's id at some positions."""
        ids = list(self.ids)
        for position in positions:
            ids[position] = mask
        return tuple(ids)

    def pooled(self, request: base.Embed) -> list[int]:
        """Positions of the tokens whose mean is the vector for a request.

        The pooling `mean` takes all tokens, with special ones, and `first` the first, which may be special. Raises
        NothingToScore if there are none.
        """
        check_known("pooling", request.pooling, POOLINGS)
        if request.pooling == "span":
            return self.inside(request.start, request.end)
        if not self.ids:
            raise base.NothingToScore(self.text)
        return [0] if request.pooling == "first" else list(range(len(self.ids)))


def _number_words(text: str, places: Sequence[tuple[int, int] | None]) -> list[int | None]:
    """Number of the word in which each token begins.

    Words are separated by white space. Counted from 1. None for special tokens.
    """
    starts = [word.start() for word in re.finditer(r"\S+", text)]
    numbers: list[int | None] = []
    for place in places:
        numbers.append(None if place is None else bisect_right(starts, place[0]))
    return numbers


def read(tokenizer: Any, texts: Sequence[str], most: int, *, as_target: bool = False) -> list[TextReading]:
    """Tokenise texts, with special tokens.

    Texts of more than `most` tokens raise TooLong when they are checked. With `as_target`, the tokenizer reads them as
    a decoder's output, which some tokenizers treat differently.
    """
    if not texts:
        return []
    side = "text_target" if as_target else "text"
    encodings = tokenizer(**{side: list(texts)}, verbose=False).encodings
    return [TextReading.of(text, encoding, most) for text, encoding in zip(texts, encodings, strict=True)]


def strip_spaces(text: str, start: int, end: int) -> tuple[int, int]:
    """Character span without the white space at its edges.

    Byte-level and sentencepiece tokens include the space before a word. A token of only white space gets an empty span
    at the start of the next word.

    >>> strip_spaces("a cup", 1, 5), strip_spaces("a  cup", 1, 2)
    ((2, 5), (3, 3))
    """
    while start < len(text) and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, max(start, end)


def split_windows(requests: Sequence[T], size: int) -> list[dict[int, T]]:
    """Split requests into windows of at most `size`.

    Each window has its requests by their index among all.
    """
    indexed = list(enumerate(requests))
    starts = range(0, len(indexed), size)
    return [dict(indexed[start : start + size]) for start in starts]


@dataclass(frozen=True, slots=True)
class Guess:
    """A token whose log-probability is to be looked up, for one request.

    `position` is its index in the tokens, `place` its span in the scored text. `request` is the index of the request,
    `token` the id to look up.
    """

    request: int
    position: int
    place: tuple[int, int]
    token: int


@dataclass(frozen=True, slots=True)
class Gaze:
    """Attention to look up for one request, from a source to targets.

    Source and targets are positions of tokens.
    """

    request: int
    source: list[int]
    targets: list[list[int]]


@dataclass(slots=True)
class MaskPlan:
    """Everything to look up for a window of requests.

    The keys are the texts to read, as token ids. `refused` has the requests that cannot be answered, by index.
    """

    mask: int
    """Id of the mask token."""
    guesses: dict[Ids, list[Guess]] = field(default_factory=lambda: defaultdict(list))
    gazes: dict[Ids, list[Gaze]] = field(default_factory=lambda: defaultdict(list))
    pools: dict[Ids, list[tuple[int, list[int]]]] = field(default_factory=lambda: defaultdict(list))
    """Requests for vectors by text, as pairs of request index and positions to take the mean of."""
    refused: dict[int, base.Refusal] = field(default_factory=dict)

    def add(self, index: int, request: base.Request, reading: TextReading) -> None:
        """Plan one request, given the reading of its whole text.

        Raises Unreadable if there is nothing to look up. The lookups are added to this plan.
        """
        match request:
            case base.Fill(before, text):
                positions = reading.inside(len(before), len(before) + len(text))
                for position in positions:
                    self._plan_guess(index, position, positions, reading, len(before), len(text))
            case base.PseudoLikelihood(text, start, end, within_word):
                for position in reading.inside(start, end):
                    hidden = reading.rest_of_word(position) if within_word else [position]
                    self._plan_guess(index, position, hidden, reading, 0, len(text))
            case base.Attention(_, source, targets):
                source_positions = reading.inside(*source)
                target_positions = [reading.inside(*target) for target in targets]
                gaze = Gaze(index, source_positions, target_positions)
                self.gazes[tuple(reading.ids)].append(gaze)
            case base.Embed():
                pool = index, reading.pooled(request)
                self.pools[tuple(reading.ids)].append(pool)

    def _plan_guess(
        self, index: int, position: int, hidden: Sequence[int], reading: TextReading, origin: int, length: int
    ) -> None:
        """Plan to look up one token, with some positions masked.

        These are `hidden`. The scored text begins at `origin` and has this `length`. A token that reaches beyond it is
        cut to its edges.
        """
        token_start, token_end = reading.places[position] or (0, 0)
        start = min(max(token_start - origin, 0), length)
        end = min(max(token_end - origin, 0), length)
        guess = Guess(index, position, (start, end), reading.ids[position])
        self.guesses[reading.masked(hidden, self.mask)].append(guess)


def plan_lookups(
    model: base.Model, requests: Mapping[int, base.Request], read: Callable[[list[str]], list[TextReading]], mask: int
) -> MaskPlan:
    """Plan all lookups for requests to a masked model.

    `read` tokenises texts. Requests that cannot be read are in the plan's `refused`. Raises BadInput for requests that
    the model does not answer.
    """
    plan = MaskPlan(mask)
    texts = []
    for request in requests.values():
        if type(request) not in model.can or not isinstance(
            request, base.Fill | base.PseudoLikelihood | base.Attention | base.Embed
        ):
            raise base.cannot(model, request)
        if isinstance(request, base.Fill):
            texts.append(request.before + request.text + request.after)
        else:
            texts.append(request.text)
    for (index, request), reading in zip(requests.items(), read(texts), strict=True):
        try:
            reading.check()
            plan.add(index, request, reading)
        except base.Unreadable as unreadable:
            plan.refused[index] = unreadable.refusal
    return plan


def list_lookups(batch: Sequence[tuple[Ids, list[Guess]]]) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """Find the (row, position) pairs of a batch at which logits are needed.

    Returns the distinct pairs and, for each guess in order, the index of its pair and its token.
    """
    places: list[tuple[int, int]] = []
    tokens: list[int] = []
    for row, (_, guesses) in enumerate(batch):
        places += [(row, guess.position) for guess in guesses]
        tokens += [guess.token for guess in guesses]
    pairs = sorted(set(places))
    order = {place: index for index, place in enumerate(pairs)}
    return pairs, [order[place] for place in places], tokens


def assemble_pieces(
    wanted: Mapping[Ids, list[Guess]], guessed: Iterable[tuple[Guess, float]]
) -> Iterator[tuple[int, base.Pieces]]:
    """Combine the log-probabilities of guesses into pieces, yielding (request, pieces).

    A request is yielded when its last guess has arrived. `wanted` has all guesses, by text. `guessed` has each guess
    with its log-probability, in any order. A piece is a scored token: its place in the text, and its log-probability.
    """
    guess_counts = Counter(guess.request for guess in chain.from_iterable(wanted.values()))
    by_request: dict[int, dict[int, base.Piece]] = defaultdict(dict)
    for guess, logprob in guessed:
        pieces = by_request[guess.request]
        pieces[guess.position] = base.Piece(*guess.place, logprob)
        if len(pieces) == guess_counts[guess.request]:
            del by_request[guess.request]
            yield guess.request, tuple(pieces[position] for position in sorted(pieces))
