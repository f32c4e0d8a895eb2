"""Chat completions of a server: the part of `chat:` models that knows nothing of answers.

What the server does not accept (log-probabilities, a temperature, the name of a setting) is found out with the first
request and done without, and told in `notes`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeAlias

from winokit.models.server import Body, Complaint, ModelServer
from winokit.models.thoughts import answer_in, thinking_aloud

PATH = "/chat/completions"
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
"""Where a message has its thought, if it is kept apart: a text, or parts."""
TOO_LARGE = re.compile(r"too (?:large|long)", re.IGNORECASE)

Messages: TypeAlias = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class ChatToken:
    """One token of a reply, and what could have stood in its place, each with its log-probability."""

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Completion:
    """What a server replied: text with any thought, whether it refused or was cut off, log-probabilities if given."""

    text: str
    refused: bool = False
    cut: bool = False
    ended: bool = False
    """The server says that it came to its end by itself."""
    too_long: bool = False
    """The conversation did not fit into the model's context; the text is the server's complaint."""
    tokens: tuple[ChatToken, ...] | None = None


class ChatClient:
    """A server that is talked to.

    Parameters
    ----------
    server
        Its settings go into every request beside the messages.
    needs_logprobs
        Whether a server without log-probabilities is an error; else they are done without.
    """

    def __init__(self, server: ModelServer, *, needs_logprobs: bool = False) -> None:
        self.server = server
        self.notes: list[str] = []
        """What had to be changed for this server."""
        self._needs_logprobs = needs_logprobs
        self.settled = False
        """Whether an answer has shown what the server gives."""

    def complete(self, conversations: Sequence[Messages]) -> Iterator[tuple[int, Completion]]:
        """Send every conversation, yielding (index, completion) as soon as each is known."""
        bodies = [{"messages": messages} for messages in conversations]
        return self.server.stream(PATH, bodies, self._read, self._refused, first_alone=not self.settled)

    def _refused(self, complaint: Complaint) -> Completion | None:
        """Change what the server complains about, or fail; a conversation may be too long by itself."""
        if complaint.too_long:
            return Completion(complaint.text, too_long=True)
        guess = not self.settled and complaint.status in (400, 422)
        changed = without_refused(self.server.settings, complaint.text, guess=guess)
        if changed is None or (self._needs_logprobs and "logprobs" not in changed[0]):
            raise complaint
        self.server.settings, note = changed
        self.notes.append(note)
        return None

    def _read(self, payload: Any) -> Completion:
        """A completion. The first that answers shows whether log-probabilities come with it."""
        completion, settings = read_completion(payload), self.server.settings
        if self.settled or completion.refused or not (answer_in(completion.text) or "").strip():
            return completion
        if "logprobs" in settings and completion.tokens is None:
            if self._needs_logprobs:
                raise self.server.error(PATH, "the server gives no log-probabilities", "ask with ?logprobs=auto")
            self.server.settings = _drop(settings, "logprobs", "top_logprobs")
            self.notes.append("the server gives no log-probabilities")
        self.settled = True
        return completion


def without_refused(settings: Body, complaint: str, *, guess: bool) -> tuple[Body, str] | None:
    """The settings without what a server's complaint names, and a note; None if there is nothing to do without.

    With `guess`, a complaint that names nothing is taken to mean log-probabilities, which fewest servers know.
    """
    if TOO_LARGE.search(complaint):
        return None
    if "max_tokens" in settings and "max_tokens" in complaint:
        renamed = {**_drop(settings, "max_tokens"), "max_completion_tokens": settings["max_tokens"]}
        return renamed, "max_tokens is sent as max_completion_tokens"
    for name in ("max_completion_tokens", "temperature"):
        if name in settings and name in complaint:
            return _drop(settings, name), f"the server does not accept {name} and uses its own"
    if "top_logprobs" in complaint and settings.get("top_logprobs", 0) > 5:
        return {**settings, "top_logprobs": 5}, "the server lists at most 5 tokens"
    if "logprobs" in settings and ("logprob" in complaint or guess):
        return _drop(settings, "logprobs", "top_logprobs"), "the server does not accept requests for log-probabilities"
    return None


def read_completion(payload: Any) -> Completion:
    """The completion in a server's JSON; one of many errors if there is none."""
    choice = payload["choices"][0]
    message, finish = choice["message"], choice.get("finish_reason")
    refused = bool(message.get("refusal")) or finish == "content_filter"
    content = message.get("refusal") or message.get("content")
    parts = content if isinstance(content, list) else [content]
    thoughts = [part for part in parts if isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")]
    text = None if content is None else _text_of([part for part in parts if part not in thoughts])
    apart = [message[name] for name in THOUGHTS if isinstance(message.get(name), str | list) and message[name]]
    thought = _text_of([*apart[:1], *thoughts])
    if thought:
        text = thinking_aloud(thought, text)
    elif text is None and not refused and finish != "length":
        raise ValueError("a message without content")
    listed = (choice.get("logprobs") or {}).get("content")
    tokens = tuple(_token(entry) for entry in listed) if listed else None
    return Completion(text or "", refused, finish == "length", finish == "stop", tokens=tokens)


def _text_of(parts: Any) -> str:
    """What a string says, or a list of parts; a part has its text under one of several names, or parts of its own."""
    if isinstance(parts, dict):
        parts = next((parts[name] for name in ("text", "thinking", "summary", "reasoning") if parts.get(name)), "")
    return parts if isinstance(parts, str) else "".join(_text_of(part) for part in parts)


def _token(entry: Mapping[str, Any]) -> ChatToken:
    listed = {item["token"]: float(item["logprob"]) for item in entry.get("top_logprobs") or ()}
    if any(isnan(value) for value in (float(entry["logprob"]), *listed.values())):
        raise ValueError("a log-probability that is not a number")
    return ChatToken(entry["token"], tuple({entry["token"]: float(entry["logprob"]), **listed}.items()))


def _drop(settings: Body, *names: str) -> Body:
    return {name: value for name, value in settings.items() if name not in names}
