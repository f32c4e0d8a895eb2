r"""Servers with a simulated clock, so that a test waits neither for a reply nor before another try.

A test says how long each reply takes (`Response.pause`), and reads off when requests came (`times`):

>>> import pytest
>>> from support.servers import ChatServer, complains, says
>>> from winokit.models.base import Ask
>>> from winokit.models.registry import load_model
>>> busy = complains(429, "slow down", Retry_After="30")
>>> with pytest.MonkeyPatch.context() as patch:
...     server = SimulatedServer(ChatServer(lambda number, body: says("B") if number else busy), patch)
...     model = load_model(f"chat:tiny@{server.url}?delay=0")
...     ((_, reply),) = model.answer([Ask("Which?", ("A", "B"))])
>>> reply.choice, server.times
(1, [0.0, 30.0])
"""

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.servers import FakeServer, Response, asks_for_city
from winokit.models import server as model_server
from winokit.models.http_client import ExchangeFailed, HttpReply, Outcome

URL = "http://simulated.invalid/v1"
BEGIN = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""When the clock of a simulation begins."""


class SimulatedServer:
    """A server without a network, and the clock of its clients.

    Parameters
    ----------
    server
        Its `respond` makes the replies; it is not started.
    patch
        Replaces the real clock and network.

    Attributes
    ----------
    bodies, times
        Of each request, in the order in which they came: its JSON (None for a GET), and the second in which it came.
    most_at_once
        How many requests were under way together at most.
    """

    def __init__(self, server: FakeServer, patch: pytest.MonkeyPatch) -> None:
        self.server = server
        self.url = URL
        self.second = 0.0
        self.bodies: list[Any] = []
        self.times: list[float] = []
        self.at_once = 0
        self.most_at_once = 0
        self.is_dead = False
        patch.setattr(model_server, "monotonic", lambda: self.second)
        patch.setattr(model_server, "datetime", SimulatedDates(self))
        patch.setattr(model_server, "random", random.Random(0))
        patch.setattr(model_server, "open_client", lambda address, key, connections: SimulatedClient(self, address))

    def receive(self, path: str, body: Any) -> Response | None:
        """Count a request and return the reply, None from a server that is dead."""
        if self.is_dead:
            return None
        if asks_for_city(body):
            return self.server.respond_to_probe(body)
        number = len(self.bodies)
        self.bodies.append(body)
        self.times.append(self.second)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        response = self.server.respond(number, path, body)
        self.is_dead = response.dies
        return response


class SimulatedDates:
    """A stand-in for the class `datetime`, by the clock of a simulation."""

    def __init__(self, server: SimulatedServer) -> None:
        self.server = server

    def now(self, zone: Any) -> datetime:
        """Date by the simulation's clock, in a time zone."""
        return (BEGIN + timedelta(seconds=self.server.second)).astimezone(zone)


class SimulatedClient:
    """An `HttpClient` that moves the clock on to the next reply, or as far as it was to wait."""

    def __init__(self, server: SimulatedServer, address: str) -> None:
        self.server = server
        self.path = urlsplit(address).path.removeprefix("/v1")
        self._underway: dict[Any, tuple[float, Outcome]] = {}
        """By ticket, the second in which its reply comes, and the reply."""

    def send(self, ticket: Any, body: bytes | None) -> None:
        """Ask the server, which decides at once what it will answer later."""
        response = self.server.receive(self.path, None if body is None else json.loads(body))
        pause = 0.0 if response is None else response.pause
        self._underway[ticket] = (self.server.second + pause, _make_outcome(response))

    def replies(self, seconds: float) -> list[tuple[Any, Outcome]]:
        """Replies that have come, or come within so many seconds, each with its ticket."""
        until = self.server.second + seconds
        first_arrival = min((arrival for arrival, _ in self._underway.values()), default=until)
        self.server.second = max(self.server.second, min(first_arrival, until))
        arrived = []
        for ticket, (arrival, outcome) in list(self._underway.items()):
            if arrival <= self.server.second:
                self.forget(ticket)
                arrived.append((ticket, outcome))
        return arrived

    def forget(self, ticket: Any) -> None:
        """Wait no longer for a reply."""
        del self._underway[ticket]
        self.server.at_once -= 1

    def close(self) -> None:
        """Wait for no reply any longer."""
        for ticket in list(self._underway):
            self.forget(ticket)


def _make_outcome(response: Response | None) -> Outcome:
    """Make a client's outcome of a response."""
    if response is None or response.hangs_up or response.dies:
        return ExchangeFailed("no reply")
    raw = response.payload
    if not isinstance(raw, bytes):
        raw = json.dumps(response.payload).encode()
    headers = {name.lower(): value for name, value in response.headers.items()}
    return HttpReply(response.status, "", headers, raw)
