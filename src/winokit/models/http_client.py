"""Send JSON over HTTP, many requests at once, in a background thread.

It uses aiohttp on an event loop of its own, since the caller's thread may run a loop already, as a notebook does.
Proxies are those of the environment, certificates the system's. A POST is sent once: the caller decides whether to
send it again.
"""

import asyncio
import io
import os
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from os import strerror
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from winokit.errors import BadInput

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

CONNECTING = 30.0
"""Seconds for a connection to be made, its TLS included."""
LONGEST_HEADER = 2**18
"""Most bytes of one line of a reply's headers."""
LONGEST_REPLY = 2**27
"""Most bytes of a decompressed reply: far more than a full batch of replies needs."""
LARGE_BODY = 2**20
"""Bytes from which on a request is sent in chunks."""
NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
"""OpenSSL's reasons for an answer that is not TLS."""
PROXY_REFUSES = 407
PASSING = (408, 429)
"""Statuses below 500 after which the same request may succeed."""
UNTRUSTED = "check the URL, or set SSL_CERT_FILE to the certificate of whoever signed the server's"


class ExchangeFailed(Exception):
    """No HTTP reply was received.

    The connection failed or broke, or the server does not speak HTTP.
    """


class NotConnected(ExchangeFailed):
    """No connection could be made, for example since no server is running there."""


class CannotConnect(NotConnected):
    """No connection can be made, and trying again will not help.

    For example, a certificate is not trusted. `way_out` says what the user can do.
    """

    def __init__(self, fact: str, way_out: str) -> None:
        super().__init__(fact)
        self.way_out = way_out


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An HTTP reply of any status.

    Names of headers are in lower case.
    """

    status: int
    reason: str
    headers: Mapping[str, str]
    content: bytes


Outcome: TypeAlias = HttpReply | ExchangeFailed


def open_client(url: str, key: str | None, connections: int) -> "HttpClient":
    """Make a client for one URL, with an API key.

    The key is sent with every request. Raises BadInput if the environment names a proxy that is no HTTP proxy.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return HttpClient(url, headers, _find_proxy(url), connections)


class HttpClient:
    """Sends requests to one URL in the background, and returns the replies.

    Each request has a `ticket`, any hashable object, with which its reply is returned.

    Parameters
    ----------
    headers
        Headers that are sent with every request.
    proxy
        URL of the proxy to use, which may contain user and password. None for no proxy.
    connections
        Most connections that are open at once.
    """

    def __init__(self, url: str, headers: Mapping[str, str], proxy: str | None, connections: int) -> None:
        has_tls = any(address.startswith("https:") for address in (url, proxy or ""))
        certificates = trusted_certificates() if has_tls else True  # This may raise: no thread runs yet.
        self._url = url
        self._proxy = proxy
        self._arrived: SimpleQueue[tuple[Any, int, Outcome]] = SimpleQueue()
        self._underway: dict[Any, int] = {}
        """Number of each sent request by its ticket. Only used in the caller's thread."""
        self._sent = 0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        """Running tasks by number. Only used in the loop's thread."""
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="winokit-server", daemon=True)
        self._thread.start()
        self._session = asyncio.run_coroutine_threadsafe(
            _open_session(headers, connections, certificates), self._loop
        ).result()

    def send(self, ticket: Any, body: bytes | None) -> None:
        """Send a POST of JSON, or a GET if `body` is None.

        Redirects are not followed but returned as replies. Returns at once. The reply is among those that `replies`
        returns.
        """
        self._sent += 1
        self._underway[ticket] = self._sent
        self._loop.call_soon_threadsafe(self._start_task, ticket, self._sent, body)

    def _start_task(self, ticket: Any, number: int, body: bytes | None) -> None:
        """Start sending a request. Runs in the loop's thread."""
        self._tasks[number] = self._loop.create_task(self._exchange_once(ticket, number, body))

    async def _exchange_once(self, ticket: Any, number: int, body: bytes | None) -> None:
        """Send one request, and queue its outcome for the caller's thread."""
        try:
            outcome = await self._send_request(body)
        except Exception as error:  # No reply may keep its caller waiting, whatever a server has made of it.
            outcome = _convert_error(error)
        finally:
            del self._tasks[number]
        self._arrived.put((ticket, number, outcome))

    async def _send_request(self, body: bytes | None) -> Outcome:
        """Send one request and read its reply."""
        method = "GET" if body is None else "POST"
        headers = {} if body is None else {"Content-Type": "application/json"}
        data = io.BytesIO(body) if body and len(body) >= LARGE_BODY else body
        request = self._session.request(
            method, self._url, data=data, headers=headers, proxy=self._proxy, allow_redirects=False
        )
        async with request as response:
            if response.status == PROXY_REFUSES:
                return _convert_proxy_error(response.status, response.reason)
            content = await _read_content(response)
            names = {name.lower(): value for name, value in response.headers.items()}
            return HttpReply(response.status, response.reason or "", names, content)

    def replies(self, seconds: float) -> list[tuple[Any, Outcome]]:
        """Return the outcomes that have arrived, each with its ticket.

        If there are none, wait at most `seconds` for the first.
        """
        replies: list[tuple[Any, Outcome]] = []
        pause = seconds
        with suppress(Empty):
            while True:
                ticket, number, outcome = self._arrived.get(block=pause > 0, timeout=pause)
                pause = 0.0
                if self._underway.get(ticket) == number:
                    del self._underway[ticket]
                    replies.append((ticket, outcome))
        return replies

    def forget(self, ticket: Any) -> None:
        """Stop waiting for the reply to a request, and close its connection."""
        self._loop.call_soon_threadsafe(self._cancel_task, self._underway.pop(ticket))

    def _cancel_task(self, number: int) -> None:
        """Cancel a request that is under way. Runs in the loop's thread."""
        if number in self._tasks:
            self._tasks[number].cancel()

    def close(self) -> None:
        """Cancel all requests, and end the background thread."""
        asyncio.run_coroutine_threadsafe(self._close_session(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close_session(self) -> None:
        """Cancel all requests, and close the connections."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()
        await asyncio.sleep(0)  # Connections that are closed go in the next round of the loop.


async def _open_session(
    headers: Mapping[str, str], connections: int, certificates: ssl.SSLContext | bool
) -> "ClientSession":
    """Open aiohttp's session with the client's headers and certificates."""
    import aiohttp

    # With brotli or zstd installed aiohttp would offer these too.
    usual_headers = {"User-Agent": "winokit", "Accept": "*/*", "Accept-Encoding": "gzip, deflate"}
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=connections, ssl=certificates),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers={**usual_headers, **headers},
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECTING),
        max_line_size=LONGEST_HEADER,
        max_field_size=LONGEST_HEADER,
    )


async def _read_content(response: "ClientResponse") -> bytes:
    """Read the whole body of a response, decompressed.

    Raises ValueError if it is too large.
    """
    pieces: list[bytes] = []
    size = 0
    async for piece in response.content.iter_any():
        pieces.append(piece)
        size += len(piece)
        if size > LONGEST_REPLY:
            raise ValueError(f"a reply of more than {LONGEST_REPLY} bytes")
    return b"".join(pieces)


def _convert_error(error: Exception) -> ExchangeFailed:
    """Convert an error of aiohttp to one of this module.

    Its message has neither a user's name nor a password.
    """
    import aiohttp

    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return NotConnected(f"no connection within {CONNECTING:g} s")
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return _convert_proxy_error(error.status, error.message)
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return CannotConnect(f"its certificate is not trusted ({error.certificate_error})", UNTRUSTED)
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        if isinstance(cause, ssl.SSLError) and cause.reason in NO_TLS:
            return CannotConnect("it does not speak TLS", "check whether the URL begins with http")
        where = "connection to the proxy" if isinstance(error, aiohttp.ClientProxyConnectionError) else "connection"
        return NotConnected(f"no {where} ({_explain_cause(cause)})")
    # What a server sent is not repeated: it may be a part of the key.
    if isinstance(error, aiohttp.ClientResponseError):
        return ExchangeFailed("the reply is not HTTP")
    if isinstance(error, aiohttp.ClientPayloadError):
        return ExchangeFailed("the reply is cut off, or not packed as its headers say")
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return ExchangeFailed("the connection was closed without a reply")
    return ExchangeFailed(f"{type(error).__name__} {error}".strip())


def _explain_cause(cause: OSError) -> object:
    """Message of an operating system's error."""
    if cause.errno and cause.errno > 0:
        return strerror(cause.errno)
    return cause.strerror or cause


def _convert_proxy_error(status: int, reason: str | None) -> NotConnected:
    """Make the error for a proxy that answers instead of the server.

    CannotConnect if the proxy refuses for good.
    """
    fact = f"the proxy answers with status {status} {reason or ''}".strip()
    if status == PROXY_REFUSES:
        return CannotConnect(fact, "check its user and password in HTTPS_PROXY or HTTP_PROXY")
    if 400 <= status < 500 and status not in PASSING:
        return CannotConnect(fact, "check HTTPS_PROXY, or name the server in NO_PROXY")
    return NotConnected(fact)


def _find_proxy(url: str) -> str | None:
    """URL of the proxy that the environment names for a URL, or None."""
    parts = urlsplit(url)
    proxies = getproxies()
    name = parts.scheme if parts.scheme in proxies else "all"
    if name not in proxies or proxy_bypass(parts.netloc) or proxy_bypass(parts.hostname or ""):
        return None
    proxy = proxies[name] if "://" in proxies[name] else f"http://{proxies[name]}"
    kind = proxy.partition("://")[0]
    if kind.lower() not in ("http", "https"):
        raise BadInput(
            f"{name.upper()}_PROXY: a proxy that begins with {kind}:// cannot be used; "
            "name one that begins with http://, or the server in NO_PROXY"
        )
    return proxy


def trusted_certificates() -> ssl.SSLContext:
    """Load the certificates that servers are checked against.

    Those of $SSL_CERT_FILE, else the system's, else certifi's.
    """
    own_file = os.environ.get("SSL_CERT_FILE") or None
    if own_file and not Path(own_file).is_file():
        raise BadInput(f"SSL_CERT_FILE: no file {own_file}; name one with certificates, or unset it")
    try:
        context = ssl.create_default_context(cafile=own_file)
        if not own_file and not _has_certificates(ssl.get_default_verify_paths()):
            import certifi

            context.load_verify_locations(certifi.where())
    except (ssl.SSLError, OSError) as error:
        raise BadInput(f"SSL_CERT_FILE: {own_file} has no certificates ({error})") from None
    return context


def _has_certificates(paths: ssl.DefaultVerifyPaths) -> bool:
    """Whether the system has any certificates."""
    if paths.cafile:
        return True
    return paths.capath is not None and any(Path(paths.capath).iterdir())
