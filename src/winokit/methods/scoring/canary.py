"""Repeat some cached requests before other cached answers are used.

A server that was mended, or serves another model under the old name, answers some of them differently, and then none
is replayed. Replies that vary by themselves, at a temperature above 0, cannot be compared in this way.
"""

from collections.abc import Mapping

import numpy as np

from winokit.errors import AskingStopped
from winokit.methods.scoring.replay import KeptAnswer, kept_date_words
from winokit.models.base import Answer, Ask, Model, Pieces, Refusal, Reply, Request, Scores

CANARIES = 5
"""Answers that are asked again of one model under one scoring, at most."""
SEED = 0
"""Seed of the choice, fixed so that a dry run counts the texts that will be sent."""
NEAR_PROBABILITY = 0.1
"""Options whose probabilities differ by no more are the same: servers round differently from batch to batch."""
NEAR_LOGPROB = 0.2
"""Log-probabilities of a text whose tokens differ by no more on average are the same."""
SHOWN = 90
"""Characters of a prompt or a reply that an error shows."""


def choose_canaries(kept: Mapping[Request, KeptAnswer], most: int) -> list[Request]:
    """Choose up to `most` requests to repeat, spread over their dates.

    `kept` has the cached answer of each request.
    """

    def date_and_key(request: Request) -> tuple[int, bytes]:
        return kept[request].asked_at or 0, kept[request].key

    by_date = sorted(kept, key=date_and_key)
    count = min(most, len(by_date))
    if count <= 0:
        return []
    rng = np.random.default_rng(SEED)
    stretches = np.array_split(np.arange(len(by_date)), count)
    return [by_date[int(rng.choice(stretch))] for stretch in stretches]


def find_different(kept: Mapping[Request, KeptAnswer], answers: Mapping[Request, Answer]) -> list[Request]:
    """Requests whose new answers differ from the cached ones."""
    return [request for request, answer in answers.items() if not is_same_answer(kept[request].answer, answer)]


def is_same_answer(old: Answer, new: Answer) -> bool:
    """Whether two answers to one request are the same, except for rounding.

    Replies are the same if their options have nearly the same probabilities, or, without probabilities, if they choose
    the same, whatever their wording. Log-probabilities of a text need the same tokens and nearly the same numbers.
    """
    if isinstance(old, Reply) and isinstance(new, Reply):
        return _is_same_reply(old, new)
    if isinstance(old, tuple) and isinstance(new, tuple):
        return _are_same_pieces(old, new)
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return old.shape == new.shape and np.allclose(old, new, atol=1e-3)
    return type(old) is type(new) and bool(old == new)


def replay_refusal(model: Model, request: Request, kept: Mapping[Request, KeptAnswer], answer: Answer) -> AskingStopped:
    """Error that says that a server's answers have changed.

    It names the prompt, both answers, the dates of the cached answers and the ways out.
    """
    old = kept[request]
    dates = kept_date_words(kept.values())
    old_date = kept_date_words([old])
    fact = (
        f"the server answers differently from before, so {len(kept):,} kept answers, {dates}, are not replayed. "
        f"To {shown_prompt(request)!r} it said {_describe_answer(old.answer)} ({old_date}), "
        f"now {_describe_answer(answer)}"
    )
    way_out = "--set forget=on asks for all of them anew (audit, score, suite), another --set cache=FILE keeps them"
    return AskingStopped(f"{model.spec}: {fact}; {way_out}")


def shown_prompt(request: Request) -> str:
    """Beginning of a request's prompt for an error, without solved examples."""
    if isinstance(request, Ask):
        return shortened(request.prompt.rpartition("\n\n")[2])
    texts = (getattr(request, name) for name in request.__slots__)
    return shortened("".join(text for text in texts if isinstance(text, str)))


def shortened(text: str, most: int = SHOWN) -> str:
    """Text in one line, cut off after `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _are_same_pieces(old: Pieces, new: Pieces) -> bool:
    """Whether two answers have the same tokens and similar log-probabilities.

    These may differ by 0.2 in the mean over tokens.
    """
    old_places = [(piece.start, piece.end) for piece in old]
    new_places = [(piece.start, piece.end) for piece in new]
    if old_places != new_places:
        return False
    gaps = [abs(was.logprob - now.logprob) for was, now in zip(old, new, strict=True)]
    return not gaps or sum(gaps) / len(gaps) <= NEAR_LOGPROB


def _is_same_reply(old: Reply, new: Reply) -> bool:
    """Whether two replies give similar probabilities, or choose the same option.

    If both have probabilities only these are compared, and none may differ by more than 0.1. Otherwise only the
    choices are compared.
    """
    if old.logprobs is None or new.logprobs is None:
        return _get_choice(old) == _get_choice(new)
    old_probabilities = np.exp(old.logprobs)
    new_probabilities = np.exp(new.logprobs)
    return np.allclose(old_probabilities, new_probabilities, rtol=0, atol=NEAR_PROBABILITY)


def _get_choice(reply: Reply) -> int | None:
    """Option that a reply names or finds likeliest, or None."""
    if reply.choice is None and reply.logprobs is not None:
        return int(np.argmax(reply.logprobs))
    return reply.choice


def _describe_answer(answer: Answer) -> str:
    """Describe an answer in words for an error."""
    match answer:
        case Reply(text=text):
            return repr(shortened(text))
        case Refusal(why):
            return f"nothing ({shortened(why)})"
        case Scores(values):
            return str(values)
        case tuple():
            total = sum(piece.logprob for piece in answer)
            return f"{len(answer)} tokens with a log-probability of {total:.2f}"
    return "other numbers"
