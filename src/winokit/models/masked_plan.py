"""What requests ask of a masked language model: texts to read with some tokens masked, and what to look up in each.

Candidates of equally many pieces leave the same masked text behind, so that texts are the keys of a plan.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from winokit.errors import BadInput
from winokit.models.base import (
    Attention,
    Embed,
    Fill,
    Piece,
    Pieces,
    PseudoLikelihood,
    Refusal,
    Request,
    Unreadable,
)
from winokit.models.reading import Ids, TextReading, pooled_positions


@dataclass(frozen=True, slots=True)
class Guess:
    """A token to guess: for which request, its position among the tokens, its place in the scored text, and its id."""

    request: int
    position: int
    place: tuple[int, int]
    token: int


@dataclass(frozen=True, slots=True)
class Gaze:
    """Attention asked for: by which request, from which positions, to which positions of each target."""

    request: int
    source: list[int]
    targets: list[list[int]]


@dataclass(frozen=True, slots=True)
class MaskPool:
    """A vector asked for: by which request, as the mean over which positions."""

    request: int
    positions: list[int]


@dataclass(slots=True)
class MaskPlan:
    """What a window of requests wants to know, by the token ids to read."""

    guesses: dict[Ids, list[Guess]] = field(default_factory=lambda: defaultdict(list))
    gazes: dict[Ids, list[Gaze]] = field(default_factory=lambda: defaultdict(list))
    pools: dict[Ids, list[MaskPool]] = field(default_factory=lambda: defaultdict(list))
    refused: dict[int, Refusal] = field(default_factory=dict)


def whole_text(request: Request) -> str:
    """The text to read for a request."""
    match request:
        case Fill(before, text, after):
            return before + text + after
        case PseudoLikelihood() | Attention() | Embed():
            return request.text
    raise BadInput(
        f"a masked model cannot answer {type(request).__name__} requests, "
        "only Attention, Embed, Fill and PseudoLikelihood"
    )


def planned(requests: Mapping[int, Request], readings: Sequence[TextReading], mask: int) -> MaskPlan:
    """The plan of some requests, each with the reading of its whole text; `mask` is the id that hides a token."""
    plan = MaskPlan()
    for (index, request), reading in zip(requests.items(), readings, strict=True):
        try:
            reading.check()
            _add(plan, index, request, reading, mask)
        except Unreadable as unreadable:
            plan.refused[index] = unreadable.refusal
    return plan


def _add(plan: MaskPlan, index: int, request: Request, reading: TextReading, mask: int) -> None:
    match request:
        case Fill() | PseudoLikelihood():
            for guess, hidden in guesses(index, request, reading):
                plan.guesses[reading.masked(hidden, mask)].append(guess)
        case Attention(_, source, targets):
            gaze = Gaze(index, reading.inside(*source), [reading.inside(*target) for target in targets])
            plan.gazes[tuple(reading.ids)].append(gaze)
        case Embed():
            pool = MaskPool(index, pooled_positions(request, reading))
            plan.pools[tuple(reading.ids)].append(pool)


def guesses(index: int, request: Fill | PseudoLikelihood, reading: TextReading) -> Iterator[tuple[Guess, list[int]]]:
    """Each token of the request to guess, with the positions to mask for it."""
    if isinstance(request, Fill):
        origin = len(request.before)
        found = reading.inside(origin, origin + len(request.text))
    else:
        origin = 0
        found = reading.inside(request.start, request.end)
    for position in found:
        # A token that is glued to its neighbours may reach out of the scored text.
        start, end = (min(max(edge - origin, 0), len(request.text)) for edge in reading.places[position] or (0, 0))
        guess = Guess(index, position, (start, end), reading.ids[position])
        if isinstance(request, Fill):
            yield guess, found
        else:
            yield guess, reading.rest_of_word(position) if request.within_word else [position]


def assembled(
    wanted: Mapping[Ids, list[Guess]], guessed: Iterable[tuple[Guess, float]]
) -> Iterator[tuple[int, Pieces]]:
    """Pieces of each request as soon as its last token is guessed."""
    left = Counter(guess.request for row in wanted.values() for guess in row)
    found: dict[int, dict[int, Piece]] = defaultdict(dict)
    for guess, logprob in guessed:
        pieces = found[guess.request]
        pieces[guess.position] = Piece(*guess.place, logprob)
        if len(pieces) == left[guess.request]:
            yield guess.request, tuple(pieces[position] for position in sorted(found.pop(guess.request)))
