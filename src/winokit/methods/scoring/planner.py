"""Plan, then ask: every request of every problem is collected, repetitions are dropped, and the model is asked once.

What the cache knows is not asked again; what the model answers is kept as it comes. Sorting by length, packing and
sharing prefixes is the model's part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache, key_of, known
from winokit.models.base import Answer, Model, Refusal, Request

Progress = Callable[[int, int], None]
"""Told how much is done and how much there is, in characters of text: a fair measure of time."""


def answer_all(
    model: Model, requests: Iterable[Request], cache: Cache, progress: Progress | None = None
) -> Mapping[Request, Answer]:
    """Answer requests, each distinct one at most once, from the cache or from the model."""
    distinct = list(dict.fromkeys(requests))
    answers = dict(known(cache, model.fingerprint, distinct))
    missing = [request for request in distinct if request not in answers]
    unfit = next((request for request in missing if type(request) not in model.can), None)
    if unfit is not None:
        raise BadInput(f"{model.spec!r}, a {model.kind} model, cannot answer a {type(unfit).__name__} request")
    total = sum(map(size, distinct))
    done = total - sum(map(size, missing))
    if progress:
        progress(done, total)
    for index, answer in model.answer(missing) if missing else ():
        request = missing[index]
        # A refusal is quickly told again, and may be a matter of what the fingerprint leaves out: a server, n_ctx.
        if not isinstance(answer, Refusal):
            cache.keep(key_of(model.fingerprint, request), answer)
        answers[request] = answer
        done += size(request)
        if progress:
            progress(done, total)
    return answers


def size(request: Request) -> int:
    """How much text a request holds."""
    fields = (getattr(request, name) for name in request.__slots__)
    return 1 + sum(len(value) for value in fields if isinstance(value, str))
