"""Send many requests at once to an OpenAI-compatible server, and retry.

`chat:` and `completions:` models share this module.

Everything happens in the caller's thread, whenever it asks for the next result. So it can store each result before
the next, and Ctrl-C ends everything. Errors that may pass (5xx, no reply, broken connections, unreadable replies)
are retried after growing pauses. Errors that will not pass (a wrong key, an unknown model) raise a `Complaint` at
once. If a server has too many requests (429, 503), the number of concurrent requests is halved, then slowly raised
again. This does not count against the retries, as long as some requests are answered.
"""

import json
import logging
import os
import random
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import InitVar, dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import inf
from time import monotonic, sleep
from typing import Any, TypeAlias, TypeVar
from urllib.parse import urlsplit

from winokit.errors import BadInput, WinokitError, needing
from winokit.models.base import Usage, estimated_tokens
from winokit.models.http_client import (
    CannotConnect,
    ExchangeFailed,
    HttpClient,
    HttpReply,
    NotConnected,
    Outcome,
    open_client,
)
from winokit.models.identity import ServerIdentity, read_identity, server_time
from winokit.models.registry import Spec
from winokit.progress import tell

LOG = logging.getLogger("winokit.models")
PROMPT_REPLY = 0.5
"""Seconds: after quicker replies the next call has twice as many texts, after replies four times as slow half as
many."""
OPENAI = "https://api.openai.com/v1"
LONGEST_PAUSE = 60.0
"""Longest pause in seconds between two tries, unless the server asks for more."""
LONGEST_REQUESTED_PAUSE = 600.0
"""Longest pause in seconds that a server may ask for. Otherwise it is given up."""
IDENTITY_PATH = "/models"
IDENTITY_RETRIES = 2
"""Most retries of the question which model is served."""
IDENTITY_TIMEOUT = 20.0
"""Longest time in seconds to wait for the answer which model is served."""
MOST_UNREAD = 256
"""Most replies that may wait to be read."""
PATIENCE = 600.0
"""Seconds without any answer after which a busy server is given up."""
ELSEWHERE = "the server is at another address: check the URL, and whether it begins with https"
WAYS_OUT = {
    **dict.fromkeys((301, 302, 303, 307, 308), ELSEWHERE),
    401: "check the API key",
    403: "check the API key and what it may use",
    404: "check the model's name and the URL, which usually ends in /v1",
    429: "send fewer requests at once (?concurrency=2), or try later",
}
TOO_LONG = re.compile(
    r"context.(?:length|size|window)|maximum context|(?:prompt|input|request)\b.{0,40} too (?:large|long)"
    r"|longer than the maximum model length|`inputs`.{0,40} must (?:have less than|be <=)",  # vLLM, TGI
    re.IGNORECASE,
)
"""A text that the model cannot read; others it may."""
EXCHANGE_OPTIONS = ("concurrency", "timeout", "retries", "delay", "rate", "key_env")
"""Options of a SPEC on requests to any server."""
SERVER_OPTIONS = (*EXCHANGE_OPTIONS, "tokenizer")
"""Options of a SPEC that `connect` reads."""

Body: TypeAlias = Mapping[str, Any]
T = TypeVar("T")


class Complaint(BadInput):
    """The server refuses one request for good.

    `text` is the server's message, without its address and advice.
    """

    def __init__(self, message: str, text: str, status: int) -> None:
        super().__init__(message)
        self.text = text
        self.status = status
        self.too_long = TOO_LONG.search(text) is not None
        """Whether the text is too long for the model. Shorter texts may be fine."""


@dataclass(frozen=True)
class RetryPolicy:
    """Limits for concurrent requests, waiting and retries.

    `timeout` is the longest time in seconds without any reply from the server. `retries` counts tries after the first.
    `delay` is the pause in seconds before the first of them, and doubles with each.
    """

    concurrency: int = 8
    timeout: float = 300.0
    retries: int = 6
    delay: float = 1.0
    rate: float = inf
    """Most calls a second, retries included."""


@dataclass(frozen=True)
class Bundle:
    """A way to send several requests in one call.

    `join` makes one body of at most `most` bodies. `part` splits the response into as many as there are bodies, and
    raises an error if it does not fit them.
    """

    most: int
    join: Callable[[Sequence[Body]], Body]
    part: Callable[[dict[str, Any], int], list[dict[str, Any]]]


class _Failed(Exception):
    """A call failed, but may succeed if it is sent again.

    `pause` is the wait in seconds that the server asks for. `crowded` says that the server is busy, and not that it
    failed.
    """

    def __init__(self, reason: str, status: int = 0, pause: float = 0.0) -> None:
        super().__init__(f"status {status}: {reason}" if status and status != 200 else reason)
        self.status = status
        self.pause = pause
        self.crowded = status in (429, 503) and "insufficient_quota" not in reason


def connect(spec: Spec, **settings: Any) -> "ModelServer":
    """Make the server of a SPEC `MODEL@URL`.

    Nothing is sent to it yet. A SPEC without a URL is asked at a usual one, which is told.

    Parameters
    ----------
    settings
        Fields of every request, in addition to the model's name.
    """
    usual_url = os.environ.get("OPENAI_BASE_URL") or OPENAI
    name, url = name_and_url(spec, usual_url)
    if "@" not in spec.place:
        tell([f"{spec.prefix}:{name} names no URL: asked at {url}"])
    server = ModelServer(url, server_key(spec), {"model": name, **settings}, retry_policy(spec))
    if "tokenizer" in spec.options:
        server.count_tokens = _make_token_counter(spec.options["tokenizer"])
    return server


def retry_policy(spec: Spec, usual: RetryPolicy = RetryPolicy()) -> RetryPolicy:
    """Read the limits for requests from a SPEC's options.

    `usual` has the defaults.
    """
    return RetryPolicy(
        concurrency=spec.number("concurrency", usual.concurrency, least=1),
        timeout=spec.number("timeout", usual.timeout, least=0.001),
        retries=spec.number("retries", usual.retries),
        delay=spec.number("delay", usual.delay),
        rate=spec.number("rate", usual.rate, least=0.001),
    )


class ModelServer:
    """A server of a model, with the settings that go into every request.

    Callers may change `settings` when the server complains about one.

    Parameters
    ----------
    url
        URL without the path of a request, such as `http://localhost:8000/v1`.
    key
        API key that is sent in every request and never shown. None for no key.
    """

    ways_out: Mapping[int, str] = WAYS_OUT
    """Advice for the user, by HTTP status."""

    def __init__(self, url: str, key: str | None, settings: Body, policy: RetryPolicy) -> None:
        self.url = url.rstrip("/")
        self.settings = settings
        self._key = key
        self._policy = policy
        self._limit = float(policy.concurrency)
        self._at_a_time = 1
        self.usage = Usage()
        """Requests and tokens so far, and whether more requests are allowed."""
        self.count_tokens: Callable[[str], int] | None = None
        """Counts the tokens of a text, if the SPEC names a tokenizer, else None."""
        self._served: str | None = None
        self._next_turn = 0.0
        """Time of the next call under the rate limit, by the monotonic clock."""

    def seconds_to_turn(self) -> float:
        """Seconds until the next call may be sent under the rate limit."""
        return max(self._next_turn - monotonic(), 0.0)

    def take_turn(self) -> None:
        """Count one call for the rate limit."""
        self._next_turn = max(self._next_turn, monotonic()) + 1 / self._policy.rate

    def identify(self) -> ServerIdentity:
        """Ask the server which model it serves.

        It counts against no limit. The identity is empty if the server has no list of models, and unconfirmed if it
        does not answer.
        """
        outcome = self.ask_identity(IDENTITY_PATH)
        payload = identity_payload(outcome)
        if isinstance(payload, ServerIdentity):
            return payload
        assert isinstance(outcome, HttpReply)
        return read_identity(payload, str(self.settings["model"]), server_time(outcome.headers))

    def ask_identity(self, path: str, body: Body | None = None) -> Outcome:
        """Send one request about the server's identity, and return its outcome.

        A GET without `body`, else a POST. It is repeated a few times if the server may answer later.
        """
        give_up_at = monotonic() + min(self._policy.timeout, IDENTITY_TIMEOUT)
        sent = None if body is None else json.dumps({**self.settings, **body}).encode()
        outcome = self._fetch_once(path, give_up_at, sent)
        for _ in range(min(IDENTITY_RETRIES, self._policy.retries)):
            if isinstance(outcome, HttpReply):
                has_said = not _may_pass(outcome.status)
            else:
                has_said = isinstance(outcome, CannotConnect)
            pause = min(self._policy.delay, LONGEST_PAUSE)
            if has_said or monotonic() + pause >= give_up_at:
                break
            sleep(pause)
            outcome = self._fetch_once(path, give_up_at, sent)
        return outcome

    def _fetch_once(self, path: str, give_up_at: float, body: bytes | None) -> Outcome:
        """Send one request, and wait for its outcome until `give_up_at`.

        That is a time of the monotonic clock.
        """
        with closing(open_client(self.address(path), self._key, 1)) as http:
            self.take_turn()
            http.send(path, body)
            while (time_left := give_up_at - monotonic()) > 0:
                for _, outcome in http.replies(time_left):
                    return outcome
        return ExchangeFailed("no reply in time")

    def post(self, path: str, body: Body | None, *, retries: int | None = None) -> dict[str, Any]:
        """Send one request, and return the JSON of its response.

        It counts against no limit of requests. A `body` of None is sent as a GET.
        """
        answers: list[tuple[int, dict[str, Any]]] = list(self.stream(path, [body], free=True, retries=retries))
        return answers[0][1]

    def stream(
        self,
        path: str,
        bodies: Sequence[Body | None],
        read: Callable[[dict[str, Any]], T] = lambda payload: payload,  # type: ignore[assignment,return-value]
        refused: Callable[[Complaint], T | None] | None = None,
        *,
        first_alone: bool = False,
        free: bool = False,
        retries: int | None = None,
        bundle: Bundle | None = None,
    ) -> Iterator[tuple[int, T]]:
        """Send every body, yielding (index, answer) as replies arrive.

        Parameters
        ----------
        path
            Path below the server's URL, such as `/completions`.
        read
            Makes the answer of a response's JSON. A ValueError, TypeError, LookupError or AttributeError in it is a
            failed try. A BadInput ends the stream.
        refused
            Called for a body that the server refuses for good. Returns the answer to yield, or None after it has
            changed `settings`, with which the body is sent again. If there is none, or it changes nothing, the
            complaint is raised.
        first_alone
            Whether all other bodies wait for the first answer, which may show what the server accepts.
        free
            Whether the requests are not counted, and so not limited. Their tokens are counted.
        retries
            Number of tries after the first. None for that of the SPEC.
        bundle
            A way to send several bodies in one call. Bodies that fail together are sent one by one.
        """
        policy = self._policy if retries is None else replace(self._policy, retries=retries)
        return _Exchange(self, path, bodies, read, refused, policy, bundle, free, first_alone).answers()

    def address(self, path: str) -> str:
        """URL of a path.

        A path that begins with two slashes is below the host, any other below the server's URL.
        """
        if not path.startswith("//"):
            return f"{self.url}{path}"
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{path[1:]}"

    def error(self, path: str, fact: str, way_out: str = "") -> BadInput:
        """Make an error with the URL, but without the API key.

        It is one line.
        """
        return BadInput(self._format_line(path, fact, way_out))

    def _format_line(self, path: str, fact: str, way_out: str = "") -> str:
        """Write a message with the URL, without the API key."""
        line = f"{self.address(path)}: {fact}"
        if way_out:
            line += f"; {way_out}"
        return self._hide_key(line)

    def _hide_key(self, text: str) -> str:
        """Replace the API key in a text, since some servers repeat it."""
        return text.replace(self._key, "…") if self._key else text

    def check_same_model(self, path: str, payload: Mapping[str, Any]) -> None:
        """Raise BadInput if a response is of another model than earlier ones.

        The model's name in the first response is remembered. A response without a name passes.
        """
        served = payload.get("model")
        if not isinstance(served, str):
            return
        if self._served not in (None, served):
            fact = f"the server changed its model during the run, from {self._served!r} to {served!r}"
            raise self.error(path, fact, "run again when it serves only one; what was scored is kept")
        self._served = served

    def charge(self, payload: Mapping[str, Any], body: Body | None) -> None:
        """Add the tokens of a request and its response to the usage.

        Estimated from the length of the texts if the server does not report them.
        """
        sent = body or {}
        reported = payload.get("usage") or payload.get("meta_info")
        counts = reported if isinstance(reported, Mapping) else {}
        read_count = counts.get("prompt_tokens")
        written_count = counts.get("completion_tokens")
        if not isinstance(read_count, int):
            self.usage.estimated = True
            read_count = sum(map(estimated_tokens, _list_sent_texts(sent)))
        if not isinstance(written_count, int):
            self.usage.estimated = True
            most = sent.get("max_tokens", sys.maxsize)
            written_count = sum(min(estimated_tokens(text), most) for text in _list_written_texts(payload))
        self.usage.read += read_count
        self.usage.written += written_count


@dataclass(eq=False, slots=True)
class _Call:
    """One HTTP call: its bodies, and how often it was tried.

    Bodies come with their indices. `tries` counts failures, `refusals` replies of a busy server, and `cuts` is how
    often the concurrency had been halved when it was sent.
    """

    numbered: list[tuple[int, Body | None]]
    tries: int = 0
    refusals: int = 0
    due: float = 0.0
    """Time from which on it may be sent again, by the monotonic clock."""
    body: Body | None = None
    """The body that was sent."""
    sent_at: float = 0.0
    settings: Body = field(default_factory=dict)
    """The server's settings when it was sent."""
    cuts: int = 0


@dataclass(eq=False)
class _Exchange:
    """Sends all bodies of a `stream`, and collects the replies.

    A reply makes room for the next call before it is read.
    """

    server: ModelServer
    path: str
    bodies: InitVar[Sequence[Body | None]]
    read: Callable[[dict[str, Any]], Any]
    refused: Callable[[Complaint], Any] | None
    policy: RetryPolicy
    bundle: Bundle | None
    free: bool
    alone: bool
    """Whether the rest waits for the first answer."""

    def __post_init__(self, bodies: Sequence[Body | None]) -> None:
        """Queue the bodies of all calls."""
        self._pending = deque(enumerate(bodies))
        self._fair = -(-len(bodies) // self.policy.concurrency)
        self._underway: set[_Call] = set()
        self._waiting: list[_Call] = []
        """Calls to be sent again."""
        self._unread: deque[tuple[_Call, Outcome]] = deque()
        self._ready: deque[tuple[int, Any]] = deque()
        self._troubled = False
        """Whether an unread failure may change what is sent next."""
        self._cuts = 0
        self._last_sign = self._last_answer = monotonic()
        self._has_answered = self._has_warned = False

    def answers(self) -> Iterator[tuple[int, Any]]:
        """Send all bodies, yielding (index, answer) as replies arrive."""
        url = self.server.address(self.path)
        with closing(open_client(url, self.server._key, self.policy.concurrency)) as http:
            while self._pending or self._underway or self._waiting or self._unread or self._ready:
                self._receive_replies(http)
                if not self._troubled:
                    self._send_more(http)
                if self._unread and not self._ready:
                    self._ready.extend(self._settle_call(*self._unread.popleft()))
                    self._troubled &= bool(self._unread)
                if self._ready:
                    yield self._ready.popleft()

    def _receive_replies(self, http: HttpClient) -> None:
        """Take the replies that have arrived, or wait for one.

        After `timeout` seconds without any reply, all calls count as failed.
        """
        replies = http.replies(self._compute_wait())
        now = monotonic()
        if self._underway and not replies and now >= self._last_sign + self.policy.timeout:
            late = ExchangeFailed(f"no reply within {self.policy.timeout:g} s")
            replies = [(call, late) for call in self._underway]
            for call in self._underway:
                http.forget(call)
        for call, outcome in replies:
            self._last_sign = now
            self._underway.remove(call)
            self._unread.append((call, outcome))
            self._troubled |= isinstance(outcome, ExchangeFailed) or outcome.status != 200
            self._adjust_pace(now - call.sent_at, len(call.numbered))

    def _compute_wait(self) -> float:
        """Seconds to wait for a reply, until there is something else to do."""
        if self._ready or self._unread:
            return 0.0
        turn = monotonic() + self.server.seconds_to_turn()
        until = [self._last_sign + self.policy.timeout] if self._underway else []
        if self._pending and self._has_room():
            until.append(turn)
        if len(self._underway) < int(self.server._limit):
            until += [max(call.due, turn) for call in self._waiting]
        return min(max(min(until) - monotonic(), 0.0), LONGEST_PAUSE)

    def _send_more(self, http: HttpClient) -> None:
        """Send calls, up to the limit of concurrent ones, repeated calls first."""
        now = monotonic()
        for call in [call for call in self._waiting if call.due <= now]:
            if len(self._underway) < int(self.server._limit) and not self.server.seconds_to_turn():
                self._waiting.remove(call)
                self._send_call(http, call)
        while self._pending and self._has_room() and not self.server.seconds_to_turn():
            numbered = self._take_bodies()
            if not numbered:
                self._pending.clear()
                return
            if not self.free:
                self.server.usage.calls += 1
            self._send_call(http, _Call(numbered))

    def _take_bodies(self) -> list[tuple[int, Body | None]]:
        """Take the bodies of the next call.

        Empty if the limit of requests is reached.
        """
        usage = self.server.usage
        most = 1
        if self.bundle:
            most = min(self.server._at_a_time, self._fair, self.bundle.most)
        numbered: list[tuple[int, Body | None]] = []
        while self._pending and len(numbered) < most and self._may_ask():
            numbered.append(self._pending.popleft())
            if not self.free:
                usage.requests += 1
        return numbered

    def _may_ask(self) -> bool:
        """Whether the limit of requests allows another one."""
        usage = self.server.usage
        return self.free or usage.may_ask is None or usage.may_ask()

    def _has_room(self) -> bool:
        """Whether a new call may be sent now.

        Not if too many calls are under way or waiting, too many replies are unread, or the first answer is still to
        come and the others must wait for it.
        """
        waited_for = len(self._underway) + len(self._waiting)
        # What a reply costs is known when it is read.
        most_unread = MOST_UNREAD if self.server.usage.may_ask is None or self.free else 1
        if self.alone and (waited_for or self._unread):
            return False
        has_slot = len(self._underway) < int(self.server._limit) and waited_for < self.policy.concurrency
        return has_slot and len(self._unread) < most_unread

    def _send_call(self, http: HttpClient, call: _Call) -> None:
        """Send one call.

        Raises BadInput for a text that is not valid Unicode.
        """
        call.settings, call.cuts, call.sent_at = self.server.settings, self._cuts, monotonic()
        self._last_sign = max(self._last_sign, call.sent_at)
        bodies: list[Any] = [body for _, body in call.numbered]
        body = bodies[0]
        if self.bundle and len(bodies) > 1:
            body = self.bundle.join(bodies)
        try:
            if body is None:
                http.send(call, None)
            else:
                call.body = {**call.settings, **body}
                text = json.dumps(call.body, ensure_ascii=False, separators=(",", ":"))
                http.send(call, text.encode())
        except UnicodeEncodeError as error:
            raise self.server.error(self.path, f"no text to send: {error}", "correct it in the data") from None
        self.server.take_turn()
        self._underway.add(call)

    def _adjust_pace(self, seconds: float, taken: int) -> None:
        """Choose the number of bodies for the next call.

        More if the last reply was quick, fewer if it was slow. `taken` is the number of bodies of the last call.
        """
        if seconds < PROMPT_REPLY and self.bundle:
            self.server._at_a_time = max(self.server._at_a_time, min(2 * taken, self.bundle.most))
        elif seconds > 4 * PROMPT_REPLY:
            self.server._at_a_time = max(min(self.server._at_a_time, taken // 2), 1)

    def _settle_call(self, call: _Call, outcome: Outcome) -> list[tuple[int, Any]]:
        """Process the outcome of a call, and return its answers with their indices.

        Empty if its bodies are sent again. Raises the server's complaint if nothing can be changed.
        """
        server = self.server
        alone = len(call.numbered) == 1
        try:
            answers = self._read_answers(call, outcome)
        except _Failed as failed:
            if not (failed.crowded or alone):
                return self._divide_call(call, shorter=True)
            self._postpone_call(call, failed)
        except Complaint as complaint:
            if call.settings is server.settings:  # else another request has found out what the server does not accept
                if not alone:
                    return self._divide_call(call, shorter=not complaint.too_long)
                answer = self.refused(complaint) if self.refused else None
                if answer is not None:
                    self.alone = False
                    return [(call.numbered[0][0], answer)]
                if call.settings is server.settings:
                    raise
        else:
            self._last_answer = monotonic()
            self._has_answered = True
            self.alone = False
            server._limit = min(server._limit + 1 / server._limit, self.policy.concurrency)
            return [(index, answer) for (index, _), answer in zip(call.numbered, answers, strict=True)]
        self._waiting.append(call)
        return []

    def _postpone_call(self, call: _Call, failed: _Failed) -> None:
        """Choose when a failed call is sent again.

        The concurrency of a busy server is halved.
        """
        server = self.server
        if failed.crowded:
            call.refusals += 1
            if call.cuts == self._cuts:  # Requests that were under way together count as one sign.
                self._cuts += 1
                server._limit = max(server._limit / 2, 1.0)
        else:
            call.tries += 1
        call.due = monotonic() + self._compute_pause(failed, call.tries, call.refusals)
        if not (self._has_answered or self._has_warned):
            self._has_warned = True
            LOG.warning("%s", server._format_line(self.path, f"{failed}", "trying again"))

    def _divide_call(self, call: _Call, *, shorter: bool) -> list[tuple[int, Any]]:
        """Send a failed call's bodies one by one, and return no answers.

        With `shorter`, later calls have fewer bodies.
        """
        if shorter and self.bundle:
            self.bundle = replace(self.bundle, most=max(len(call.numbered) // 2, 1))
        self._waiting += [_Call([numbered]) for numbered in call.numbered]
        self.server.usage.calls += 0 if self.free else len(call.numbered)
        return []

    def _read_answers(self, call: _Call, outcome: Outcome) -> list[Any]:
        """Read the answers to the bodies of a call.

        Raises _Failed if it may be sent again, Complaint if the server refuses it, and BadInput if there is no way to
        the server.
        """
        server = self.server
        if isinstance(outcome, CannotConnect):
            raise server.error(self.path, str(outcome), outcome.way_out)
        if isinstance(outcome, ExchangeFailed):
            raise _Failed(str(outcome))
        status = outcome.status
        complaint = "" if status == 200 else _extract_complaint(outcome, server._hide_key)
        # llama-cpp-python refuses log-probabilities and long texts with a 500, which no patience will change.
        lasting = "logprob" in complaint or TOO_LONG.search(complaint)
        if _may_pass(status) and not lasting:
            raise _Failed(complaint, status, _parse_requested_pause(outcome))
        if status != 200:
            way_out = server.ways_out.get(status, "")
            line = server._format_line(self.path, f"status {status}: {complaint}", way_out)
            raise Complaint(line, complaint, status)
        try:
            return self._read_payload(call, json.loads(outcome.content))
        except WinokitError:
            raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            raise _Failed(f"not a valid answer: {_extract_complaint(outcome, server._hide_key)}", status) from None

    def _read_payload(self, call: _Call, payload: Any) -> list[Any]:
        """Check the JSON of a response, count its tokens, and read its answers."""
        if not isinstance(payload, dict):
            raise TypeError(payload)
        self.server.check_same_model(self.path, payload)
        self.server.charge(payload, call.body)
        parts = [payload]
        count = len(call.numbered)
        if self.bundle and count > 1:
            parts = self.bundle.part(payload, count)
        return [self.read(part) for part in parts]

    def _compute_pause(self, failed: _Failed, tries: int, refusals: int) -> float:
        """Seconds until a failed call is sent again.

        They double with each try, are varied at random by up to a half, and are at least what the server asks for.
        `refusals` are the tries that the server turned away as too many at once, `tries` all others. Raises BadInput if
        both together exceed the limit, if a crowded server has answered nothing for too long, or if it asks for too
        long a pause.
        """
        error = self.server.error
        policy = self.policy
        if failed.pause > LONGEST_REQUESTED_PAUSE:
            raise error(self.path, f"{failed}", f"it asks us to wait {failed.pause:.0f} s")
        # A 503 may be a server that is down, as long as nobody has been answered.
        patient = failed.crowded and (failed.status == 429 or self._has_answered)
        hopeless = monotonic() - self._last_answer > PATIENCE if patient else tries + refusals > policy.retries
        if hopeless:
            way_out = self.server.ways_out.get(failed.status, "check that the server works, then run again")
            count = tries + refusals
            noun = "try" if count == 1 else "tries"
            raise error(self.path, f"given up after {count} {noun}: {failed}", way_out)
        again = refusals if failed.crowded else tries
        usual_pause = min(policy.delay * 2.0 ** min(again - 1, 30), LONGEST_PAUSE)
        pause = usual_pause * random.uniform(0.5, 1.5)
        if not failed.pause:
            return max(pause, 0.0)
        return max(pause, failed.pause + random.uniform(0, policy.delay))


def _list_sent_texts(body: Body) -> list[str]:
    """Texts of a request: its messages joined into one, or its prompts."""
    conversation = "\n".join(message["content"] for message in body.get("messages", ()))
    texts = body.get("prompt") or body.get("text") or conversation
    return [texts] if isinstance(texts, str) else texts


def _list_written_texts(payload: Mapping[str, Any]) -> list[str]:
    """Texts of a response, one for each choice, with thoughts."""
    messages = [choice.get("message") or choice for choice in payload.get("choices") or [payload]]
    return list(map(_join_fields, messages))


def _join_fields(message: Mapping[str, Any]) -> str:
    """Text of a message, its thought first."""
    names = ("reasoning_content", "reasoning", "content", "text")
    return "".join(str(message.get(name) or "") for name in names)


def _may_pass(status: int) -> bool:
    """Whether a request with this HTTP status may succeed later.

    It may after 408, 409, 429, and all from 500 on.
    """
    return status in (408, 409, 429) or status >= 500


def _extract_complaint(response: HttpReply, hide: Callable[[str], str]) -> str:
    """The server's message in one line of at most 300 characters.

    `hide` removes the API key, before the text is cut.
    """
    text = response.content.decode(errors="replace")
    try:
        content = json.loads(response.content)
        for name in ("error", "message", "detail"):
            content = content.get(name, content) if isinstance(content, dict) else content
    except (ValueError, RecursionError):
        content = text
    line = hide(" ".join(str(content).split()))
    if not line:
        line = response.reason if response.status >= 400 else "nothing at all"
    line = line if len(line) <= 300 else f"{line[:297]}…"
    quota = "insufficient_quota" in text and "insufficient_quota" not in line
    return f"{line} (insufficient_quota)" if quota else line


def _parse_requested_pause(response: HttpReply) -> float:
    """Seconds that a Retry-After header asks to wait, or 0 without one."""
    header = response.headers.get("retry-after", "")
    with suppress(ValueError):
        return max(0.0, float(header))  # in this order, so that NaN is none
    with suppress(ValueError):
        return max((parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds(), 0.0)
    return 0.0


def identity_payload(outcome: Outcome) -> Any:
    """JSON of a response about the server's identity.

    If there is none, an empty or unconfirmed `ServerIdentity` instead.
    """
    if isinstance(outcome, ExchangeFailed):
        # A server that is there, and only does not say who it is, may still answer, and then be another.
        return ServerIdentity(confirmed=False, reached=not isinstance(outcome, NotConnected))
    if _may_pass(outcome.status):
        return ServerIdentity(confirmed=False)
    if outcome.status != 200:
        return ServerIdentity()
    try:
        return json.loads(outcome.content)
    except (ValueError, RecursionError):
        return ServerIdentity()


def name_and_url(spec: Spec, usual_url: str, expected: str = "MODEL@URL") -> tuple[str, str]:
    """Split a SPEC's place at its last '@' into name and URL.

    Without an '@', the URL is `usual_url`. Raises BadInput if it is no HTTP URL.
    """
    location = spec.place_or_fail(expected)
    name, at, url = location.rpartition("@")
    if not at:
        name = location
        url = usual_url
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        sound = False
    if not name or not sound:
        example = f"expected {expected} with a URL such as http://localhost:8000/v1"
        raise BadInput(f"{spec.prefix}: {example}, found {url!r} for a URL")
    if "@" in parts.netloc or parts.query:
        way_out = "a key belongs in OPENAI_API_KEY"
        raise BadInput(f"{spec.prefix}: expected a URL without user, password or query; {way_out}")
    return name, url


def _make_token_counter(tokenizer: str) -> Callable[[str], int]:
    """Make a function that counts the tokens of a text with a tokenizer.

    `tokenizer` is its name on the hub, or its folder.
    """
    with needing("?tokenizer=", "hf"):
        from transformers import AutoTokenizer
    try:
        loaded = AutoTokenizer.from_pretrained(tokenizer)
    except (OSError, ValueError) as error:
        raise BadInput(f"?tokenizer={tokenizer}: no tokenizer there ({str(error).splitlines()[0]})") from None
    return lambda text: len(loaded(text, verbose=False)["input_ids"])


def server_key(spec: Spec) -> str | None:
    """API key from the environment, or None.

    Its variable is the option key_env, by default OPENAI_API_KEY. An empty key_env means no key. Error messages do not
    repeat the variable's name, since some users put the key there.
    """
    name = spec.options.get("key_env", "OPENAI_API_KEY")
    key = os.environ.get(name, "").strip() if name else ""
    if not key and spec.options.get("key_env"):
        raise BadInput(f"{spec.prefix}: option key_env: no environment variable of that name is set")
    if not (key.isascii() and key.isprintable()):
        raise BadInput(f"{spec.prefix}: the API key has characters that no HTTP header can carry")
    return key or None
