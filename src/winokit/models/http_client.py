"""JSON over HTTP, many requests at once, from one thread and with little in between.

A server on this machine or its network (`http://`, no proxy in the way) may answer in less time than an ordinary client
takes to ask, so it is spoken to over plain sockets that stay open. What lies behind TLS or a proxy is far enough away
for httpx.
"""

import asyncio
import zlib
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from socket import IPPROTO_TCP, TCP_NODELAY, create_connection, socket
from sys import maxsize
from threading import Thread
from typing import Any, TypeAlias
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

CONNECTING = 30.0
"""Seconds for a connection to be made."""
READ_AT_ONCE = 2**18
"""Bytes that are taken from a socket at once."""
LONGEST_HEAD = 2**20
"""Bytes of a reply's headers at most."""
IN_PATHS = "/%:@!$&'()*+,;=~"
"""What stands in a path as it is."""


class ExchangeFailed(Exception):
    """No reply: no connection, one that broke, or something on it that is not HTTP."""


@dataclass(frozen=True, slots=True)
class HttpReply:
    """What came back, whatever the status; names of headers in lower case."""

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


class NotConnected(ExchangeFailed):
    """No connection could be made: no such host, nobody listening, or the network is down."""


Outcome: TypeAlias = HttpReply | ExchangeFailed


def open_client(url: str, key: str | None, connections: int) -> "HttpClient":
    """A client for one address, with a key in every request; the ticket of a request comes back with its reply."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return _NearClient(url, headers) if _is_near(url) else _FarClient(url, headers, connections)


def _is_near(url: str) -> bool:
    """Whether nothing but HTTP stands between, as far as the address and the environment tell."""
    parts = urlsplit(url)
    proxied = getproxies().keys() & {"http", "all"} and not proxy_bypass(parts.netloc)
    return parts.scheme == "http" and not proxied


def _failed(error: Exception, kind: type[ExchangeFailed] = ExchangeFailed) -> ExchangeFailed:
    return kind(f"{type(error).__name__} {error}".strip())


class _FarClient:
    """httpx on an event loop in a thread of its own: the caller's thread may run one already, as a notebook's does."""

    def __init__(self, url: str, headers: Mapping[str, str], connections: int) -> None:
        import httpx

        limits, timeout = httpx.Limits(max_connections=connections), httpx.Timeout(None, connect=CONNECTING)
        self._url, self._http = url, httpx.AsyncClient(headers=headers, limits=limits, timeout=timeout)
        self._replies: SimpleQueue[tuple[Any, Outcome]] = SimpleQueue()
        self._underway: dict[Any, Future[None]] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="winokit-server", daemon=True)
        self._thread.start()

    def send(self, ticket: Any, body: bytes | None) -> None:
        self._underway[ticket] = asyncio.run_coroutine_threadsafe(self._exchange(ticket, body), self._loop)

    async def _exchange(self, ticket: Any, body: bytes | None) -> None:
        import httpx

        method, headers = ("GET", {}) if body is None else ("POST", {"Content-Type": "application/json"})
        outcome: Outcome
        try:
            response = await self._http.request(method, self._url, content=body, headers=headers)
            outcome = HttpReply(response.status_code, response.reason_phrase, response.headers, response.content)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            outcome = _failed(error, NotConnected)
        except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:
            outcome = _failed(error)
        self._replies.put((ticket, outcome))

    def replies(self, seconds: float) -> list[tuple[Any, Outcome]]:
        replies: list[tuple[Any, Outcome]] = []
        with suppress(Empty):
            while True:
                replies.append(self._replies.get(timeout=0 if replies else seconds))
        return [(ticket, outcome) for ticket, outcome in replies if self._underway.pop(ticket, None)]

    def forget(self, ticket: Any) -> None:
        self._underway.pop(ticket).cancel()

    def close(self) -> None:
        for ticket in list(self._underway):
            self.forget(ticket)
        asyncio.run_coroutine_threadsafe(self._http.aclose(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _NearClient:
    """HTTP/1.1 over sockets that are used again; as many are opened as requests are under way."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        host = parts.netloc
        with suppress(UnicodeError):  # such a host is not found either
            host = host.encode("idna").decode()
        always = {"Host": host, "Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "winokit", **headers}
        path = quote(parts.path, safe=IN_PATHS) or "/"
        self._head = "".join([f"{path} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in always.items())])
        self._selector = DefaultSelector()
        self._peer: tuple[int, Any] | None = None
        self._idle: list[_Connection] = []
        self._underway: dict[Any, _Connection] = {}
        self._replies: list[tuple[Any, Outcome]] = []

    def send(self, ticket: Any, body: bytes | None) -> None:
        """Send a POST of JSON, or a GET where there is no body; redirects are replies like others."""
        request = f"GET {self._head}\r\n".encode()
        if body is not None:
            described = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            request = f"POST {self._head}{described}".encode() + body
        try:
            connection = self._idle.pop() if self._idle else self._connect()
        except (OSError, UnicodeError) as error:
            self._replies.append((ticket, _failed(error, NotConnected)))
            return
        self._underway[ticket] = connection
        connection.ticket, connection.unsent = ticket, request
        if connection.ready:
            self._advance(connection, EVENT_WRITE)

    def _connect(self) -> "_Connection":
        """A new connection; all but the first are made while others are in use, to the address that took that one."""
        if self._peer is None:
            line = create_connection((self._host, self._port), CONNECTING)
            self._peer = line.family, line.getpeername()
            line.setblocking(False)
        else:
            line = socket(self._peer[0])
            line.setblocking(False)
            line.connect_ex(self._peer[1])
        line.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        connection = _Connection(line)
        self._selector.register(line, EVENT_READ | EVENT_WRITE, connection)
        return connection

    def replies(self, seconds: float) -> list[tuple[Any, Outcome]]:
        """What has come since, with its tickets; where nothing has, wait for it so long at most."""
        for key, events in self._selector.select(0 if self._replies else seconds):
            if key.data.line.fileno() >= 0:
                self._advance(key.data, events)
        replies, self._replies = self._replies, []
        return replies

    def _advance(self, connection: "_Connection", events: int) -> None:
        """Write and read what can be now."""
        try:
            if events & EVENT_WRITE and connection.write() != connection.ready:
                connection.ready = not connection.ready
                wanted = EVENT_READ if connection.ready else EVENT_READ | EVENT_WRITE
                self._selector.modify(connection.line, wanted, connection)
            if events & EVENT_READ and (reply := connection.read()):
                self._replies.append((connection.ticket, reply))
                del self._underway[connection.ticket]
                connection.ticket = None
                if connection.stays:
                    self._idle.append(connection)
                else:
                    self._end(connection)
        except BlockingIOError:
            pass
        except (OSError, EOFError, ValueError, zlib.error) as error:
            if connection.ticket is None:
                self._idle.remove(connection)  # the server closes what it finds idle for long
            else:
                del self._underway[connection.ticket]
                self._replies.append((connection.ticket, _failed(error)))
            self._end(connection)

    def _end(self, connection: "_Connection") -> None:
        self._selector.unregister(connection.line)
        connection.line.close()

    def forget(self, ticket: Any) -> None:
        """Wait no longer for a reply."""
        self._end(self._underway.pop(ticket))

    def close(self) -> None:
        for connection in [*self._underway.values(), *self._idle]:
            self._end(connection)
        self._selector.close()


HttpClient: TypeAlias = _NearClient | _FarClient


class _Connection:
    """A socket with the request that is on it, if any, and as much of the reply as has come."""

    def __init__(self, line: socket) -> None:
        self.line = line
        self.ticket: Any = None
        self.unsent = self.received = b""
        self.ready = False
        """Whether it is connected and all is written."""
        self.stays = False
        """Whether it may be used again after the reply that was read."""
        self.wanted = 0
        """Bytes of a reply before which it need not be looked at."""

    def write(self) -> bool:
        """Send what can be sent; whether that is all."""
        with suppress(BlockingIOError):
            self.unsent = self.unsent[self.line.send(self.unsent) :]
        return not self.unsent

    def read(self) -> HttpReply | None:
        """The reply, as soon as all of it is there."""
        data = self.line.recv(READ_AT_ONCE)
        if self.ticket is None:
            raise EOFError("closed, or an unrequested reply")
        self.received += data
        if data and len(self.received) < self.wanted:
            return None
        reply = self._parsed(ended=not data)
        if reply is None and not data:
            raise EOFError(f"the connection was closed after {len(self.received)} bytes")
        if reply is not None:
            self.received, self.wanted = b"", 0
        return reply

    def _parsed(self, *, ended: bool) -> HttpReply | None:
        head, blank_line, rest = self.received.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        version, _, answer = first.partition(" ")
        if len(head) > LONGEST_HEAD or (blank_line and not version.startswith("HTTP/1.")):
            raise ValueError(f"not HTTP: {first[:40]!r}")
        if not blank_line:
            return None
        code, _, reason = answer.partition(" ")
        if int(code) < 200:  # "100 Continue" and the like come before the reply
            self.received = rest
            return self._parsed(ended=ended)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self.stays = version != "HTTP/1.0" and "close" not in headers.get("connection", "").lower()
        if "chunked" in headers.get("transfer-encoding", "").lower():
            content = _dechunked(rest)
        elif "content-length" in headers or code in ("204", "304"):
            length = 0 if code in ("204", "304") else int(headers["content-length"])
            self.wanted = len(head) + len(blank_line) + length
            content = rest[:length] if len(rest) >= length else None
            self.stays &= len(rest) == length
        else:
            self.wanted, self.stays = maxsize, False
            content = rest if ended else None
        if content is None:
            return None
        if headers.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate"):
            content = zlib.decompress(content, wbits=47)
        return HttpReply(int(code), reason, headers, content)


def _dechunked(raw: bytes) -> bytes | None:
    """What was sent in chunks; None while some are missing, or the trailers behind them."""
    chunks, at = list[bytes](), 0
    while (end := raw.find(b"\r\n", at)) >= 0:
        size = int(raw[at:end].partition(b";")[0], 16)
        if size <= 0:
            return b"".join(chunks) if b"\r\n\r\n" in raw[end:] else None
        chunks.append(raw[end + 2 : end + 2 + size])
        at = end + 2 + size + 2
    return None
