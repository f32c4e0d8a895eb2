"""Decide whether a server must constrain its replies to the options.

A constrained reply is the answer to another task, and is kept apart. By default a server that can constrain does,
unless free replies to these questions are kept: what a user has begun goes on as it was, and says so. What was
decided for a model is remembered beside its answers, so that a replay needs no server, and a run that goes on does so
alike.
"""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache, key_of
from winokit.methods.scoring.shelf import served_fingerprint, server_identity
from winokit.models.base import Model, Request

if TYPE_CHECKING:
    from winokit.models.chat import ChatModel

KEPT_FREE = (
    "replies are free, as those that are kept; ?constrain=choice, json or grammar asks anew, with replies held to the "
    "options as the server can"
)
UNDECIDED = "whether the server holds replies to the options is found out when it is asked; here they count as free"


def settle_constraint(model: Model, requests: Sequence[Request], cache: Cache) -> str | None:
    """Decide how a model's replies are constrained, and tell the model.

    Returns the way, such as `choice` or `grammar`, or None for free replies. A model whose SPEC names one keeps it.
    Otherwise an earlier decision in the cache holds. If there is none, free replies in the cache decide for free ones,
    and without any the server is tried out. The decision is stored in the cache.
    """
    if getattr(model, "wish", None) != "auto":
        return getattr(model, "constraint", None)
    chat: ChatModel = model  # type: ignore[assignment]
    remembered_as = f"constraint of {chat.free_fingerprint}"
    decision = cache.last_identity(remembered_as)
    if not decision:
        decision = _find_decision(chat, requests, cache)
        if decision:
            cache.keep_identity(remembered_as, decision)
    chat.wish = decision or chat.wish
    if chat.wish not in ("auto", "off"):
        chat.constrain(chat.wish)
    return chat.constraint


def _find_decision(chat: "ChatModel", requests: Sequence[Request], cache: Cache) -> str:
    """Decide for a model without a stored decision.

    "off" stands for free replies. Empty if it stays open: in a dry run, without requests, or if the server fails. May
    send a question to the server.
    """
    if _has_kept_replies(chat, requests, cache):
        chat.constraint_notes = [KEPT_FREE]
        return "off"
    if cache.ledger.spending.dry_run:
        chat.constraint_notes = [UNDECIDED]
        return ""
    if not requests:
        return ""
    try:
        return chat.find_constraint() or "off"
    except BadInput:  # the first question will tell what is wrong
        return ""


def _has_kept_replies(chat: "ChatModel", requests: Sequence[Request], cache: Cache) -> bool:
    """Whether the cache has a free reply to any of these questions."""
    identity = server_identity(chat, cache)
    names = dict.fromkeys((served_fingerprint(chat, identity), chat.fingerprint, *chat.earlier))
    keys = [key_of(name, request) for name, request in product(names, requests)]
    return bool(cache.find(keys))
