"""A few kept answers of a server are asked again before the others are replayed: canaries.

A server that was mended, or serves another model under the old name, answers some of them differently, and then none
is replayed. Replies that vary by themselves, at a temperature above 0, cannot be compared in this way.
"""

from collections.abc import Mapping

import numpy as np

from winokit.errors import AskingStopped
from winokit.methods.scoring.replay import KeptAnswer, kept_date_words
from winokit.models.base import Answer, Ask, Model, Refusal, Reply, Request, Scores

CANARIES = 5
"""Answers that are asked again of one model under one scoring, at most."""
SEED = 0
"""The same answers are chosen from the same cache, so that a dry run counts the texts that will be sent."""
NEAR_PROBABILITY = 0.1
"""Options whose probabilities differ by no more are the same: servers round differently from batch to batch."""
NEAR_LOGPROB = 0.2
"""The same for log-probabilities of a text, on average over its tokens."""
SHOWN = 90
"""Characters of a prompt or a reply that an error shows."""


def choose_canaries(kept: Mapping[Request, KeptAnswer], most: int) -> list[Request]:
    """Requests to ask again: one from each stretch of time in which answers were kept."""
    by_date = sorted(kept, key=lambda request: (kept[request].asked_at or 0, kept[request].key))
    count = min(most, len(by_date))
    if count <= 0:
        return []
    rng = np.random.default_rng(SEED)
    stretches = np.array_split(np.arange(len(by_date)), count)
    return [by_date[int(rng.choice(stretch))] for stretch in stretches]


def find_different(kept: Mapping[Request, KeptAnswer], answers: Mapping[Request, Answer]) -> list[Request]:
    """The requests whose answers are not those that were kept."""
    return [request for request, answer in answers.items() if not is_same_answer(kept[request].answer, answer)]


def is_same_answer(old: Answer, new: Answer) -> bool:
    """Whether two answers to one request come to the same, except for rounding.

    Of replies the choice counts, not the wording; of log-probabilities the tokens, and about the numbers.
    """
    if isinstance(old, Reply) and isinstance(new, Reply):
        return _is_same_reply(old, new)
    if isinstance(old, tuple) and isinstance(new, tuple):
        if [(piece.start, piece.end) for piece in old] != [(piece.start, piece.end) for piece in new]:
            return False
        gaps = [abs(was.logprob - now.logprob) for was, now in zip(old, new, strict=True)]
        return not gaps or sum(gaps) / len(gaps) <= NEAR_LOGPROB
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return old.shape == new.shape and np.allclose(old, new, atol=1e-3)
    return type(old) is type(new) and bool(old == new)


def replay_refusal(model: Model, request: Request, kept: Mapping[Request, KeptAnswer], answer: Answer) -> AskingStopped:
    """The error about a server that does not answer as it did: which prompt, since when, and the ways out."""
    old = kept[request]
    return AskingStopped(
        f"{model.spec}: the server answers differently from before, so {len(kept):,} kept answers, "
        f"{kept_date_words(kept.values())}, are not replayed. To {shown_prompt(request)!r} it said "
        f"{_shown_answer(old.answer)} ({kept_date_words([old])}), now {_shown_answer(answer)}; "
        "--set forget=on asks for all of them anew (audit, score, suite), another --set cache=FILE keeps them"
    )


def shown_prompt(request: Request) -> str:
    """The beginning of what a request asks, without solved examples before it."""
    if isinstance(request, Ask):
        return shortened(request.prompt.rpartition("\n\n")[2])
    texts = (getattr(request, name) for name in request.__slots__)
    return shortened("".join(text for text in texts if isinstance(text, str)))


def shortened(text: str, most: int = SHOWN) -> str:
    """A text in one line, cut off where it is long."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _is_same_reply(old: Reply, new: Reply) -> bool:
    if old.logprobs is None or new.logprobs is None:
        return _choice_of(old) == _choice_of(new)
    return np.allclose(np.exp(old.logprobs), np.exp(new.logprobs), rtol=0, atol=NEAR_PROBABILITY)


def _choice_of(reply: Reply) -> int | None:
    if reply.choice is None and reply.logprobs is not None:
        return int(np.argmax(reply.logprobs))
    return reply.choice


def _shown_answer(answer: Answer) -> str:
    """An answer as an error shows it."""
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
