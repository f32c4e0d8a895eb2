"""A small HTTP server that answers JSON as it is told, and one that fails now and then."""

import json
import random
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Response:
    """What goes back: a status with JSON (or raw bytes), after a pause; or nothing, the server being dead."""

    status: int = 200
    payload: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    hangs_up: bool = False
    """The connection ends without a reply."""
    dies: bool = False
    """So does the server."""


def complains(status: int, message: str, **headers: str) -> Response:
    """An error as OpenAI words it; `Retry_After="1"` is a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"error": {"message": message, "type": "some_error"}}, named)


class FakeServer:
    """A server on a free port (or a given one) for as long as the `with` block lasts; kinds of it say what to respond.

    Attributes
    ----------
    bodies, paths, keys, times
        Of each request, in the order in which they came: its JSON (None for a GET), its path below the URL, its
        Authorization header, and when it came.
    most_at_once
        How many requests were under way together at most.
    """

    def __init__(self, port: int = 0) -> None:
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.at_once = self.most_at_once = 0
        self.dead = False
        self._lock = threading.Lock()
        self._wanted_port = port

    def respond(self, number: int, path: str, body: Any) -> Response:
        """What goes back for the request of that number (from 0)."""
        return complains(404, f"nothing at {path}")

    @property
    def port(self) -> int:
        """Where it listens, once it is started."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """What a SPEC names after the @."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = _QuietServer(("127.0.0.1", self._wanted_port), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()
        self._thread.join()

    def die(self) -> None:
        """Stop accepting connections and answering on those there are."""
        self.dead = True
        self._http.shutdown()
        self._http.server_close()

    def receive(self, path: str, body: Any, key: str | None) -> Response:
        """Count a request and respond to it."""
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.paths.append(path)
            self.keys.append(key)
            self.times.append(time.monotonic())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        response = self.respond(number, path, body)
        time.sleep(response.pause)
        with self._lock:
            self.at_once -= 1
        if response.dies:
            self.die()
        return response


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # of 5, the usual number, a dozen clients at once find some lost, and wait a second

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up when they like."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: FakeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._reply(None)

    def do_POST(self) -> None:
        self._reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _reply(self, body: Any) -> None:
        response = self.owner.receive(self.path.removeprefix("/v1"), body, self.headers.get("Authorization"))
        if self.owner.dead or response.hangs_up:
            self.close_connection = True
            return
        raw = response.payload if isinstance(response.payload, bytes) else json.dumps(response.payload).encode()
        try:
            self.send_response(response.status)
            for name, value in {"Content-Type": "application/json", **response.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:  # the client did not wait
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep the test's output to itself."""


def _half(response: Response) -> Response:
    raw = json.dumps(response.payload).encode()
    return replace(response, payload=raw[: len(raw) // 2])


TROUBLES: Mapping[str, Callable[[Response], Response]] = {
    "429": lambda _: complains(429, "too many requests", Retry_After="0.01"),
    "500": lambda _: complains(500, "something broke"),
    "503": lambda _: complains(503, "overloaded"),
    "html": lambda _: Response(payload=b"<!doctype html><title>Sign in</title>", headers={"Content-Type": "text/html"}),
    "half": _half,
    "null": lambda _: Response(payload={"choices": [{"message": {"content": None}, "text": None, "logprobs": None}]}),
    "hangs up": lambda _: Response(hangs_up=True),
    "late": lambda response: replace(response, pause=1.0),
}
"""Ways to fail, each made of what should have gone back."""


class FlakyServer(FakeServer):
    """A server that fails at random, and otherwise responds as another one would (which need not be started).

    Parameters
    ----------
    share
        How many of the requests fail.
    troubles
        Names of `TROUBLES`, of which each failure is one.
    """

    def __init__(
        self, sound: FakeServer, share: float = 0.5, troubles: Sequence[str] = ("429",), *, seed: int = 0, port: int = 0
    ) -> None:
        super().__init__(port)
        self.sound, self.share, self.troubles, self.failed = sound, share, troubles, 0
        self._chance = random.Random(seed)

    def respond(self, number: int, path: str, body: Any) -> Response:
        """Fail, or do not."""
        response = self.sound.respond(number, path, body)
        if self._chance.random() >= self.share:
            return response
        self.failed += 1
        return TROUBLES[self._chance.choice(self.troubles)](response)
