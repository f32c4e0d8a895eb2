"""Identify the model that a server serves, by its entry in `/models`.

The identity is part of the keys under which answers are stored.

A name is not enough: tomorrow a server may serve another model under it. Most servers list `id`, `root`, `owned_by`
and `created`. Only `created` can distinguish a model from an earlier one, and only if it is a date of the model, as
Ollama's is. vLLM and llama.cpp return the time of the request, LiteLLM one constant for all models.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeAlias

FACTS = ("id", "root", "owned_by")
"""Fields of an entry that are stored as they are. `created` is checked first."""
TELLING = frozenset({"created", "tokens"})
"""Facts that distinguish a model from an earlier one of the same name."""
PLACEHOLDERS = (0, 1, 1677610602)
"""Values of `created` that servers give for every model; the last is LiteLLM's."""
OLLAMA_TAG = ":latest"
"""Suffix that Ollama adds to a name without a tag."""
A_MOMENT = 5.0
"""Seconds within which `created` counts as the time of the request."""
MILLISECONDS = 10**11
"""A time since 1970 that is larger than this is in milliseconds."""
LATEST = 10**14
"""A larger number is no time at all: in milliseconds it is the year 5138."""

Entry: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True)
class ServerIdentity:
    """A server's description of the model that it serves."""

    facts: Mapping[str, str | int] = field(default_factory=dict)
    """Values of id, root, owned_by, created and tokens, if they say something. Empty if the model is not listed."""
    confirmed: bool = True
    """Whether the server said so now. Otherwise the facts are those it gave last time."""
    reached: bool = True
    """Whether any server could be reached. False if no connection was made."""

    @property
    def tells(self) -> bool:
        """Whether an equal identity means that the model is the same.

        It does if the server said now when the model was created, or how many tokens the corpus has. A name alone is
        not enough.
        """
        return self.confirmed and not TELLING.isdisjoint(self.facts)

    @property
    def text(self) -> str:
        """The facts as JSON, as they are stored in keys.

        Empty if there are none.
        """
        return json.dumps(self.facts, sort_keys=True) if self.facts else ""

    @classmethod
    def recall(cls, text: str) -> "ServerIdentity":
        """Parse an identity from its text.

        An empty text gives an empty identity.
        """
        return cls(json.loads(text) if text else {})


def read_identity(payload: Any, name: str, asked_at: float) -> ServerIdentity:
    """Read the identity of a model from the JSON of `/models`.

    It is empty if the model is not listed.

    Parameters
    ----------
    name
        The model's name in requests. A server that lists a single model serves that one under any name.
    asked_at
        Seconds since 1970, by the server's clock where it has one.
    """
    entries = _list_entries(payload)
    entry = _find_entry(name, entries)
    if entry is None:
        return ServerIdentity()
    facts: dict[str, str | int] = {key: entry[key] for key in FACTS if isinstance(entry.get(key), str)}
    created = _read_creation_time(entry, entries, asked_at)
    if created is not None:
        facts["created"] = created
    return ServerIdentity(facts)


def server_time(headers: Mapping[str, str]) -> float:
    """Seconds since 1970 by the `Date` header of a reply, else by our own clock."""
    try:
        return parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        return time()


def _list_entries(payload: Any) -> list[Entry]:
    """Entries of the models in the JSON of `/models`.

    Empty if it has another form.
    """
    listed = payload.get("data") if isinstance(payload, dict) else payload
    if not isinstance(listed, list):
        return []
    return [entry for entry in listed if isinstance(entry, dict)]


def _find_entry(name: str, entries: Sequence[Entry]) -> Entry | None:
    """Find a model's entry by name, else the only entry.

    None if there are several others.
    """
    for entry in entries:
        if entry.get("id") in (name, f"{name}{OLLAMA_TAG}"):
            return entry
    return entries[0] if len(entries) == 1 else None


def _read_creation_time(entry: Entry, entries: Sequence[Entry], asked_at: float) -> int | None:
    """Time at which a model was created, as its entry has it.

    None if `created` is the time of the request, or the same for all models. In the entry's own unit, seconds or
    milliseconds since 1970.
    """
    created = entry.get("created")
    if isinstance(created, bool) or not isinstance(created, int | float) or not 0 <= created <= LATEST:
        return None
    seconds = created / 1000 if created > MILLISECONDS else float(created)
    if created in PLACEHOLDERS or abs(seconds - asked_at) <= A_MOMENT:
        return None
    names = {str(other.get("id")) for other in entries}
    times = {str(other.get("created")) for other in entries}
    if len(names) > 1 and len(times) == 1:
        return None
    return int(created)
