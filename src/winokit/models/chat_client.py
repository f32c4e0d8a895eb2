"""Request chat completions from a server, for `chat:` models.

Some servers do not accept log-probabilities, a temperature, or the name of a setting. The first request shows this.
Later requests leave these out, and `notes` says so.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, TypeAlias

from winokit.models.constraints import FRUITS, QUESTION, Constraint
from winokit.models.server import Body, Complaint, ModelServer
from winokit.models.thoughts import answer_in, thinking_aloud

PATH = "/chat/completions"
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields of a message for a separate thought, as a text or as parts."""
LOGPROBS = ("logprobs", "top_logprobs")
TOO_LARGE = re.compile(r"too (?:large|long)", re.IGNORECASE)

Messages: TypeAlias = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class ChatToken:
    """One token of a reply, with alternatives and their log-probabilities.

    Alternatives are pairs of text and log-probability, the token itself among them.
    """

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Completion:
    """A server's completion: its text, and how it ended.

    The text includes any thought. `cut` means that the token limit ended it. `tokens` is None without
    log-probabilities.
    """

    text: str
    refused: bool = False
    cut: bool = False
    ended: bool = False
    """Whether the server says that the reply ended by itself."""
    too_long: bool = False
    """Whether the conversation was too long for the model. The text is then the server's complaint."""
    tokens: tuple[ChatToken, ...] | None = None


class ChatClient:
    """Requests chat completions from a server, and adapts the settings to it.

    Parameters
    ----------
    server
        The server. Its settings go into every request, in addition to the messages.
    needs_logprobs
        Whether it is an error if the server gives no log-probabilities.
    """

    def __init__(self, server: ModelServer, *, needs_logprobs: bool = False) -> None:
        self.server = server
        self.notes: list[str] = []
        """Changes of settings that this server needed."""
        self._needs_logprobs = needs_logprobs
        self.settled = False
        """Whether a reply has shown if the server gives log-probabilities."""
        self._takes_n: bool | None = None
        """Whether the server gives several replies to one request. None as long as that was not tried."""

    def complete(self, bodies: Sequence[Body]) -> Iterator[tuple[int, Completion]]:
        """Send every request, yielding (index, completion) as they arrive."""
        return self.server.stream(
            PATH, bodies, self._read_payload, self._handle_complaint, first_alone=not self.settled
        )

    def complete_many(self, bodies: Sequence[Body], counts: Sequence[int]) -> Iterator[tuple[int, Completion]]:
        """Send every request for several completions, yielding (index, completion).

        `counts` has the number of completions for each. They are requested together if the server can do that, else one
        by one.
        """
        indices = range(len(bodies))
        replies_left = dict(zip(indices, counts, strict=True))
        if not self.settled or self._takes_n is None:  # what the server does with `n` is told by a reply that is needed
            for _, completion in self.complete(bodies[:1]):
                replies_left[0] -= 1
                yield 0, completion
        several = [index for index in indices if replies_left[index] > 1]
        if self._takes_n is None and several:
            yield from self._ask_several(bodies, several[:1], replies_left)
            several = several[1:]
        if self._takes_n:
            yield from self._ask_several(bodies, several, replies_left)
        singly: list[int] = []
        for index in indices:
            singly += [index] * replies_left[index]
        for number, completion in self.complete([bodies[index] for index in singly]):
            yield singly[number], completion

    def _ask_several(self, bodies: Sequence[Body], indices: Sequence[int], left: dict[int, int]) -> Iterator[Any]:
        """Request all completions that some bodies still need, yielding (index, completion).

        Each body at `indices` is sent in one request. `left` has the number of completions that are still missing, by
        index, and is updated.
        """
        sent = [{**bodies[index], "n": left[index]} for index in indices]
        for number, completions in self.server.stream(PATH, sent, self._read_payloads, self._handle_refused_count):
            index = indices[number]
            if self._takes_n is None:
                self._takes_n = len(completions) > 1
                if not self._takes_n:
                    self.notes.append("the server gives one reply a request, and is asked several times")
            for completion in completions[: left[index]]:
                left[index] -= 1
                yield index, completion

    def _read_payloads(self, payload: Any) -> list[Completion]:
        """Read all completions of a response."""
        choices = payload["choices"]
        if not choices:
            raise ValueError("no reply")
        return [self._read_payload({**payload, "choices": [choice]}) for choice in choices]

    def _handle_refused_count(self, complaint: Complaint) -> list[Completion] | None:
        """Handle a complaint about a request for several completions.

        Empty if the server does not give several: they are then requested one by one. None if a setting was changed.
        """
        if self._takes_n is None and complaint.status in (400, 422) and not complaint.too_long:
            self._takes_n = False
            self.notes.append("the server refuses several replies a request, and is asked several times")
            return []
        refused = self._handle_complaint(complaint)
        return None if refused is None else [refused]

    def obeys(self, constraint: Constraint) -> bool | None:
        """Whether the server obeys a constraint, or None if it refuses it.

        Asks the server a question whose natural answer the constraint does not allow. Settings that it complains about
        are changed for later requests too.
        """
        logprobs = {name: self.server.settings[name] for name in LOGPROBS if name in self.server.settings}
        self.server.settings = _drop_settings(self.server.settings, *LOGPROBS)
        body = {"messages": [{"role": "user", "content": QUESTION}], **constraint.body(FRUITS)}

        def refused(complaint: Complaint) -> Completion | None:
            changed = without_refused(self.server.settings, complaint.text, guess=False)
            if changed is None:
                return Completion("", refused=True)
            self.server.settings, note = changed
            self.notes.append(note)
            return None

        try:
            ((_, reply),) = self.server.stream(PATH, [body], read_completion, refused, free=True, retries=0)
        finally:
            self.server.settings = {**self.server.settings, **logprobs}
        if reply.refused:
            return None
        return constraint.said((answer_in(reply.text) or "").strip()) in FRUITS

    def _handle_complaint(self, complaint: Complaint) -> Completion | None:
        """Drop or rename the setting that the server complains about, and return None.

        Other complaints are raised. For a conversation that is too long, a completion that says so is returned.
        """
        if complaint.too_long:
            return Completion(complaint.text, too_long=True)
        guess = not self.settled and complaint.status in (400, 422)
        changed = without_refused(self.server.settings, complaint.text, guess=guess)
        if changed is None or (self._needs_logprobs and "logprobs" not in changed[0]):
            raise complaint
        self.server.settings, note = changed
        self.notes.append(note)
        return None

    def _read_payload(self, payload: Any) -> Completion:
        """Read the completion of a response.

        The first response shows whether there are log-probabilities.
        """
        completion = read_completion(payload)
        settings = self.server.settings
        if self.settled or completion.refused or not (answer_in(completion.text) or "").strip():
            return completion
        if "logprobs" in settings and completion.tokens is None:
            if self._needs_logprobs:
                raise self.server.error(PATH, "the server gives no log-probabilities", "ask with ?logprobs=auto")
            self.server.settings = _drop_settings(settings, "logprobs", "top_logprobs")
            self.notes.append("the server gives no log-probabilities")
        self.settled = True
        return completion


def without_refused(settings: Body, complaint: str, *, guess: bool) -> tuple[Body, str] | None:
    """Change the settings that a server's complaint names, and describe the change.

    None if there is nothing to change. With `guess`, a complaint that names no setting is taken to be about
    log-probabilities, which the fewest servers know.
    """
    if TOO_LARGE.search(complaint):
        return None
    if "max_tokens" in settings and "max_tokens" in complaint:
        renamed = {**_drop_settings(settings, "max_tokens"), "max_completion_tokens": settings["max_tokens"]}
        return renamed, "max_tokens is sent as max_completion_tokens"
    for name in ("max_completion_tokens", "temperature"):
        if name in settings and name in complaint:
            return _drop_settings(settings, name), f"the server does not accept {name} and uses its own"
    if "top_logprobs" in complaint and settings.get("top_logprobs", 0) > 5:
        return {**settings, "top_logprobs": 5}, "the server lists at most 5 tokens"
    if "logprobs" in settings and ("logprob" in complaint or guess):
        return _drop_settings(
            settings, "logprobs", "top_logprobs"
        ), "the server does not accept requests for log-probabilities"
    return None


def read_completion(payload: Any) -> Completion:
    """Read the completion in a server's JSON.

    Raises one of several errors (such as KeyError or ValueError) if there is none.
    """
    choice = payload["choices"][0]
    message = choice["message"]
    finish = choice.get("finish_reason")
    refused = bool(message.get("refusal")) or finish == "content_filter"
    content = message.get("refusal") or message.get("content")
    parts = content if isinstance(content, list) else [content]
    thought_parts = [part for part in parts if _is_thought(part)]
    text = None if content is None else _join_text([part for part in parts if part not in thought_parts])
    thought = _join_text([*_list_separate_thoughts(message)[:1], *thought_parts])
    if thought:
        text = thinking_aloud(thought, text)
    elif text is None and not refused and finish != "length":
        raise ValueError("a message without content")
    listed = (choice.get("logprobs") or {}).get("content")
    tokens = tuple(_read_token(entry) for entry in listed) if listed else None
    return Completion(text or "", refused, finish == "length", finish == "stop", tokens=tokens)


def _is_thought(part: Any) -> bool:
    """Whether a part of a message's content is a thought."""
    return isinstance(part, dict) and part.get("type") in ("thinking", "reasoning")


def _list_separate_thoughts(message: Mapping[str, Any]) -> list[Any]:
    """Thoughts in a message that are separate from its content."""
    values = [message.get(name) for name in THOUGHTS]
    return [value for value in values if isinstance(value, str | list) and value]


def _join_text(parts: Any) -> str:
    """Text of a message's content.

    The content is a string, a part, or a list of parts.
    """
    if isinstance(parts, dict):
        texts = [parts.get(name) for name in ("text", "thinking", "summary", "reasoning")]
        parts = next(filter(None, texts), "")
    return parts if isinstance(parts, str) else "".join(_join_text(part) for part in parts)


def _read_token(entry: Mapping[str, Any]) -> ChatToken:
    """Read a token with its alternatives.

    Raises ValueError for a log-probability that is NaN.
    """
    listed = {item["token"]: float(item["logprob"]) for item in entry.get("top_logprobs") or ()}
    text = entry["token"]
    logprob = float(entry["logprob"])
    if any(map(isnan, (logprob, *listed.values()))):
        raise ValueError("a log-probability that is not a number")
    alternatives = {text: logprob, **listed}
    return ChatToken(text, tuple(alternatives.items()))


def _drop_settings(settings: Body, *names: str) -> Body:
    """Return the settings without some names."""
    return {name: value for name, value in settings.items() if name not in names}
