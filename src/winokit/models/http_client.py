"""JSON over HTTP from an event loop, with little in between.

A server on this machine or its network (`http://`, no proxy in the way) may answer in less time than an ordinary client
takes to ask, so it is spoken to over plain connections that stay open. What lies behind TLS or a proxy is far enough
away for httpx.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

if TYPE_CHECKING:
    import httpx

READ_AHEAD = 2**20
"""Bytes of a reply that are taken before they are asked for; no header may be longer."""
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


@asynccontextmanager
async def open_client(url: str, key: str | None, connections: int) -> AsyncIterator[HttpClient]:
    """A client for an address, with a key in every request; its connections are closed in the end.

    It sends a POST of JSON, or a GET where there is no body; redirects are replies like others.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    if _is_near(url):
        async with aclosing(_NearClient(url, headers)) as near:
            yield near
        return
    import httpx

    limits = httpx.Limits(max_connections=connections)
    async with httpx.AsyncClient(headers=headers, limits=limits, timeout=None) as http:
        yield _FarClient(url, http)


def _is_near(url: str) -> bool:
    """Whether nothing but HTTP stands between, as far as the address and the environment tell."""
    parts = urlsplit(url)
    proxied = getproxies().keys() & {"http", "all"} and not proxy_bypass(parts.netloc)
    return parts.scheme == "http" and not proxied


class _FarClient:
    """httpx, with its errors as ours."""

    def __init__(self, url: str, http: httpx.AsyncClient) -> None:
        self._url, self._http = url, http

    async def send(self, body: bytes | None) -> HttpReply:
        import httpx

        try:
            if body is None:
                response = await self._http.get(self._url)
            else:
                response = await self._http.post(self._url, content=body, headers={"Content-Type": "application/json"})
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ExchangeFailed(f"{type(error).__name__} {error}".strip()) from None
        return HttpReply(response.status_code, response.reason_phrase, response.headers, response.content)


class _NearClient:
    """HTTP/1.1 over connections that are used again; as many are opened as requests are under way."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        host = parts.netloc
        with suppress(UnicodeError):  # such a host is not found either
            host = host.encode("idna").decode()
        always = {"Host": host, "Accept": "*/*", "Accept-Encoding": "gzip, deflate", "User-Agent": "winokit", **headers}
        path = quote(parts.path, safe=IN_PATHS) or "/"
        self._head = "".join([f"{path} HTTP/1.1\r\n", *(f"{name}: {value}\r\n" for name, value in always.items())])
        self._idle: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._open: set[asyncio.StreamWriter] = set()

    async def send(self, body: bytes | None) -> HttpReply:
        request = f"GET {self._head}\r\n".encode()
        if body is not None:
            described = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            request = f"POST {self._head}{described}".encode() + body
        try:
            reader, writer = await self._connection()
            stays = False
            try:
                writer.write(request)
                await writer.drain()
                reply, stays = await _read_reply(reader)
            finally:
                if stays:
                    self._idle.append((reader, writer))
                else:
                    self._open.discard(writer)
                    writer.transport.abort()
        except (OSError, EOFError, ValueError, asyncio.LimitOverrunError, zlib.error) as error:
            raise ExchangeFailed(f"{type(error).__name__} {error}".strip()) from None
        return reply

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer = self._idle.pop()
            if not (reader.at_eof() or writer.is_closing()):  # the server closes what it finds idle for long
                return reader, writer
            self._open.discard(writer)
            writer.transport.abort()
        reader, writer = await asyncio.open_connection(self._host, self._port, limit=READ_AHEAD)
        self._open.add(writer)
        return reader, writer

    async def aclose(self) -> None:
        for writer in self._open:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()


HttpClient: TypeAlias = _NearClient | _FarClient


async def _read_reply(reader: asyncio.StreamReader) -> tuple[HttpReply, bool]:
    """One reply, and whether the connection may be used for another."""
    status = 100
    while status < 200:  # "100 Continue" and the like come before the reply
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1."):
            raise ValueError(f"not HTTP: {first[:40]!r}")
        code, _, reason = rest.partition(" ")
        status = int(code)
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    stays = version != "HTTP/1.0" and "close" not in headers.get("connection", "").lower()
    if status in (204, 304):
        content = b""
    elif "chunked" in headers.get("transfer-encoding", "").lower():
        content = await _read_chunks(reader)
    elif "content-length" in headers:
        content = await reader.readexactly(int(headers["content-length"]))
    else:
        content, stays = await reader.read(), False
    if headers.get("content-encoding", "").lower() in ("gzip", "x-gzip", "deflate"):
        content = zlib.decompress(content, wbits=47)
    return HttpReply(status, reason, headers, content), stays


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    chunks = []
    while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
        chunks.append(await reader.readexactly(size))
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":  # trailers
        pass
    return b"".join(chunks)
