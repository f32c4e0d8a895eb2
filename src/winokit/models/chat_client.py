"""Many chat completions at once over HTTP, with patience: the part of `chat:` models that knows nothing of answers.

Requests run on an event loop in a thread of their own, and results are handed over as they come, so that a caller can
keep each of them before the next, and Ctrl-C ends it all. What may pass (429, 5xx, timeouts, broken connections,
unreadable replies) is tried again, later each time; what will not (a wrong key, an unknown model) fails at once.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from itertools import islice
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeAlias

import httpx

from winokit.errors import BadInput

LONGEST_PAUSE = 60.0
"""Seconds between two tries at most, unless the server asks for more."""
LONGEST_REQUESTED_PAUSE = 600.0
"""A server that asks for more seconds than this is not waited for."""
WAYS_OUT = {
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the model's name and the URL, which usually ends in /v1",
    429: "ask less at once (?concurrency=2) or later",
}
TOO_LONG = re.compile(
    r"context.(?:length|size|window)|maximum context|(?:prompt|input|request)\b.{0,40} too (?:large|long)",
    re.IGNORECASE,
)
"""A conversation that the model cannot read; others it may."""
TOO_LARGE = re.compile(r"too (?:large|long)", re.IGNORECASE)

Settings: TypeAlias = Mapping[str, Any]
Messages: TypeAlias = Sequence[Mapping[str, str]]


@dataclass(frozen=True)
class ChatToken:
    """One token of a reply, and what could have stood in its place, each with its log-probability."""

    text: str
    alternatives: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Completion:
    """What a server replied: text, whether it refused or ran out of tokens, log-probabilities if it gives them."""

    text: str
    refused: bool = False
    cut: bool = False
    too_long: bool = False
    """The conversation did not fit into the model's context; the text is the server's complaint."""
    tokens: tuple[ChatToken, ...] | None = None


@dataclass(frozen=True)
class ServerManners:
    """How hard a server is pressed: requests at once, seconds for each, tries after the first, first pause."""

    concurrency: int
    timeout: float
    retries: int
    delay: float


class _Failed(Exception):
    """A try that came to nothing; unless it was `refused`, another may succeed later."""

    def __init__(self, reason: str, status: int = 0, pause: float = 0.0, *, refused: bool = False) -> None:
        super().__init__(f"status {status}: {reason}" if status and status != 200 else reason)
        self.complaint, self.status, self.pause, self.refused = reason, status, pause, refused


class ChatClient:
    """A server and the settings it accepts, which are found out with the first request.

    Parameters
    ----------
    settings
        What goes into every request beside the messages.
    needs_logprobs
        Whether a server without log-probabilities is an error; else they are done without.
    """

    def __init__(
        self, url: str, key: str | None, settings: Settings, manners: ServerManners, *, needs_logprobs: bool = False
    ) -> None:
        self.url = url.rstrip("/") + "/chat/completions"
        self.settings = settings
        self.notes: list[str] = []
        """What had to be changed for this server."""
        self._key = key
        self._manners = manners
        self._needs_logprobs = needs_logprobs
        self._settled = False

    def complete(self, conversations: Sequence[Messages]) -> Iterator[tuple[int, Completion]]:
        """Send every conversation, yielding (index, completion) as soon as each is known."""
        results: SimpleQueue[tuple[int, Completion] | Exception | None] = SimpleQueue()
        loop = asyncio.new_event_loop()
        work = loop.create_task(self._complete_all(conversations, results.put))
        thread = Thread(target=_drive, args=(loop, work, results.put), name="winokit-chat", daemon=True)
        thread.start()
        try:
            while (result := results.get()) is not None:
                if isinstance(result, Exception):
                    raise result
                yield result
        finally:
            with suppress(RuntimeError):  # the loop has ended by itself
                loop.call_soon_threadsafe(work.cancel)
            thread.join()

    async def _complete_all(
        self, conversations: Sequence[Messages], put: Callable[[tuple[int, Completion]], None]
    ) -> None:
        """One conversation alone, to find out what the server accepts, then as many at once as agreed."""
        pending = iter(enumerate(conversations))
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=self._manners.concurrency)

        async def work_off(numbered: Iterable[tuple[int, Messages]]) -> None:
            for index, messages in numbered:
                put((index, await self._complete(http, messages)))

        async with httpx.AsyncClient(headers=headers, limits=limits, timeout=None) as http:
            if not self._settled:
                await work_off(islice(pending, 1))
            try:
                async with asyncio.TaskGroup() as workers:
                    for _ in range(min(self._manners.concurrency, len(conversations))):
                        workers.create_task(work_off(pending))
            except* BadInput as failures:
                raise failures.exceptions[0] from None

    async def _complete(self, http: httpx.AsyncClient, messages: Messages) -> Completion:
        """One completion, after as many tries as it takes or as are allowed."""
        tries = 0
        while True:
            settings = self.settings
            try:
                completion = await self._try(http, {**settings, "messages": messages})
            except _Failed as failed:
                if not failed.refused:
                    tries += 1
                    await asyncio.sleep(self._pause(failed, tries))
                elif TOO_LONG.search(failed.complaint):
                    return Completion(str(self._error(failed.complaint, "")), too_long=True)
                elif settings is self.settings:  # else another request has found out what the server does not accept
                    self._do_without(failed)
            else:
                self._settle(completion)
                return completion

    async def _try(self, http: httpx.AsyncClient, body: Settings) -> Completion:
        try:
            async with asyncio.timeout(self._manners.timeout):
                response = await http.post(self.url, json=body)
        except TimeoutError:
            raise _Failed(f"no reply within {self._manners.timeout:g} s") from None
        except httpx.HTTPError as error:
            raise _Failed(f"{type(error).__name__} {error}".strip()) from None
        status, complaint = response.status_code, _complaint(response)
        # llama-cpp-python refuses log-probabilities and long texts with a 500, which no patience will change.
        lasting = "logprob" in complaint or TOO_LONG.search(complaint)
        may_pass = (status in (408, 409, 429) or status >= 500) and not lasting
        if may_pass:
            raise _Failed(complaint, status, _requested_pause(response))
        if status != 200:
            raise _Failed(complaint, status, refused=True)
        try:
            return read_completion(response.json())
        except (ValueError, TypeError, LookupError, AttributeError):
            raise _Failed(f"a reply that is no chat completion: {complaint}", status) from None

    def _pause(self, failed: _Failed, tries: int) -> float:
        """Seconds until the next try: twice as long each time, give or take a half, and no less than asked for."""
        if tries > self._manners.retries:
            way_out = WAYS_OUT.get(failed.status, "see that the server is well, then run again")
            raise self._error(f"given up after {tries} tries: {failed}", way_out)
        if failed.pause > LONGEST_REQUESTED_PAUSE:
            raise self._error(f"{failed}", f"it asks to come back in {failed.pause:.0f} s")
        pause = min(self._manners.delay * 2.0 ** (tries - 1), LONGEST_PAUSE) * random.uniform(0.5, 1.5)
        return max(pause, failed.pause + random.uniform(0, self._manners.delay) if failed.pause else 0.0)

    def _do_without(self, refused: _Failed) -> None:
        """Change what the server complains about, or fail."""
        guess = not self._settled and refused.status in (400, 422)
        changed = without_refused(self.settings, refused.complaint, guess=guess)
        if changed is None or (self._needs_logprobs and "logprobs" not in changed[0]):
            raise self._error(f"{refused}", WAYS_OUT.get(refused.status, "")) from None
        self.settings, note = changed
        self.notes.append(note)

    def _settle(self, completion: Completion) -> None:
        """Know from the first reply with a text whether log-probabilities come with it; a refusal may have none."""
        if self._settled or completion.refused or not completion.text:
            return
        if "logprobs" in self.settings and completion.tokens is None:
            if self._needs_logprobs:
                raise self._error("the server gives no log-probabilities", "ask with ?logprobs=auto")
            self.settings = _drop(self.settings, "logprobs", "top_logprobs")
            self.notes.append("the server gives no log-probabilities")
        self._settled = True

    def _error(self, fact: str, way_out: str) -> BadInput:
        """An error in one line, without the key, which some servers repeat in what they say."""
        message = f"{self.url}: {fact}" + (f"; {way_out}" if way_out else "")
        return BadInput(message.replace(self._key, "…") if self._key else message)


def without_refused(settings: Settings, complaint: str, *, guess: bool) -> tuple[Settings, str] | None:
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
            return _drop(settings, name), f"the server takes no {name}, and uses its own"
    if "top_logprobs" in complaint and settings.get("top_logprobs", 0) > 5:
        return {**settings, "top_logprobs": 5}, "the server lists 5 tokens at most"
    if "logprobs" in settings and ("logprob" in complaint or guess):
        return _drop(settings, "logprobs", "top_logprobs"), "the server takes no request for log-probabilities"
    return None


def read_completion(payload: Any) -> Completion:
    """The completion in a server's JSON; one of many errors if there is none."""
    choice = payload["choices"][0]
    message = choice["message"]
    refused = bool(message.get("refusal")) or choice.get("finish_reason") == "content_filter"
    text = message.get("refusal") or message.get("content") or ""
    if not isinstance(text, str):  # a list of parts
        text = "".join(part.get("text", "") for part in text)
    listed = (choice.get("logprobs") or {}).get("content")
    tokens = tuple(_token(entry) for entry in listed) if listed else None
    return Completion(text, refused, choice.get("finish_reason") == "length", tokens=tokens)


def _token(entry: Mapping[str, Any]) -> ChatToken:
    listed = {item["token"]: float(item["logprob"]) for item in entry.get("top_logprobs") or ()}
    return ChatToken(entry["token"], tuple({entry["token"]: float(entry["logprob"]), **listed}.items()))


def _drop(settings: Settings, *names: str) -> Settings:
    return {name: value for name, value in settings.items() if name not in names}


def _complaint(response: httpx.Response) -> str:
    """What a server says is wrong, in one line."""
    try:
        content = response.json()
        for name in ("error", "message", "detail"):
            content = content.get(name, content) if isinstance(content, dict) else content
    except ValueError:
        content = response.text
    line = " ".join(str(content).split()) or response.reason_phrase
    return line if len(line) <= 300 else f"{line[:297]}…"


def _requested_pause(response: httpx.Response) -> float:
    """Seconds of a Retry-After header, which may be a date; 0 without one."""
    asked = response.headers.get("Retry-After", "")
    with suppress(ValueError):
        return max(float(asked), 0.0)
    with suppress(ValueError):
        return max((parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds(), 0.0)
    return 0.0


def _drive(loop: asyncio.AbstractEventLoop, work: asyncio.Task[None], put: Callable[[Exception | None], None]) -> None:
    """Run the work to its end in this thread; None says that there is no more."""
    try:
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(work)
    except Exception as error:
        put(error)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
        put(None)
