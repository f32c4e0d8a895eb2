"""A small OpenAI-compatible server for tests, which answers, stalls, fails and dies as it is told."""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Response:
    """What goes back: a status with JSON (or raw bytes), after a pause; or nothing, the server being dead."""

    status: int = 200
    payload: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    dies: bool = False


Behaviour = Callable[[int, dict[str, Any]], Response]
"""What to do with the request of that number (from 0) and that body."""


def says(text: str | None, tokens: list[tuple[str, dict[str, float]]] | None = None, **message: Any) -> Response:
    """A chat completion with this text, and log-probabilities of its tokens if given."""
    choice: dict[str, Any] = {
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": "stop" if text else "length",
    }
    if tokens is not None:
        choice["logprobs"] = {"content": [_token(token, alternatives) for token, alternatives in tokens]}
    return Response(payload={"choices": [choice]})


def complains(status: int, message: str, **headers: str) -> Response:
    """An error as OpenAI words it."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"error": {"message": message, "type": "some_error"}}, named)


def _token(token: str, alternatives: dict[str, float]) -> dict[str, Any]:
    listed = [{"token": name, "logprob": logprob} for name, logprob in alternatives.items()]
    return {"token": token, "logprob": alternatives[token], "top_logprobs": listed}


class ChatServer:
    """A server on a free port (or a given one), for as long as the `with` block lasts."""

    def __init__(self, behaviour: Behaviour, port: int = 0) -> None:
        self.behaviour = behaviour
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.at_once = self.most_at_once = 0
        self.dead = False
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), type("Handler", (_Handler,), {"owner": self}))
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        return self._http.server_address[1]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> "ChatServer":
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

    def receive(self, body: dict[str, Any], key: str | None) -> Response:
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.keys.append(key)
            self.times.append(time.monotonic())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        response = self.behaviour(number, body)
        time.sleep(response.pause)
        with self._lock:
            self.at_once -= 1
        if response.dies:
            self.die()
        return response


class _Handler(BaseHTTPRequestHandler):
    owner: ChatServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        response = self.owner.receive(body, self.headers.get("Authorization"))
        if self.owner.dead or not self.path.endswith("/v1/chat/completions"):
            self.close_connection = True
            return
        raw = response.payload if isinstance(response.payload, bytes) else json.dumps(response.payload).encode()
        try:
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:  # the client did not wait
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep the test's output to itself."""
