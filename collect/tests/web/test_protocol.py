"""A request that takes too long is hung up on, by a clock that the tests move."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import uvicorn
from support.waiting import HANGS
from uvicorn.server import ServerState

from winokit_collect.web.protocol import SECONDS, ImpatientProtocol

KEEP_ALIVE = 5 * SECONDS
"""Seconds after which uvicorn by itself ends a connection over which nothing is asked after an answer."""
GET = b"GET /login HTTP/1.1\r\nHost: x\r\n\r\n"
UNFINISHED_POST = b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ncsrf="
UNFINISHED_REQUESTS = (
    b"",
    b"GET /login HTTP/1.1\r\nHo",
    UNFINISHED_POST,
    b"POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ncsrf=\r\n",
    GET + UNFINISHED_POST,
)


class SteeredLoop(asyncio.SelectorEventLoop):
    """An event loop whose time passes only when a test says so."""

    moment = 0.0

    def time(self):
        return self.moment


class CountingProtocol(ImpatientProtocol):
    """The protocol of the app, which also counts the bytes that it receives."""

    count = 0

    def data_received(self, data):
        super().data_received(data)
        self.count += len(data)


async def answer(scope, receive, send):
    """Answer `ok` once a request is whole."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def until(holds):
    """Let the loop run until `holds()` is true. AssertionError if it never is."""
    late = time.monotonic() + HANGS
    while not holds():
        assert time.monotonic() < late, "it never happens"
        await asyncio.sleep(0)


class Line:
    """A connection to a server in the same event loop."""

    def __init__(self, protocol, reader, writer):
        self.protocol = protocol
        self.reader = reader
        self.writer = writer
        self.sent = 0

    async def send(self, data):
        """Send bytes, and wait until the server has looked at them."""
        self.writer.write(data)
        self.sent += len(data)
        await until(lambda: self.protocol.count == self.sent)

    async def hear_answer(self):
        await self.reader.readuntil(b"ok")

    async def pass_seconds(self, seconds):
        """Let time pass, and run the callbacks that are due then."""
        asyncio.get_running_loop().moment += seconds
        for _ in range(9):
            await asyncio.sleep(0)

    @property
    def is_open(self):
        return not self.protocol.transport.is_closing()


def play_scene(scene):
    """Run `scene(line)` with a line to a server whose clock stands still."""

    async def run_scene():
        loop = asyncio.get_running_loop()
        config = uvicorn.Config(answer, lifespan="off", log_config=None, ws="none", timeout_keep_alive=KEEP_ALIVE)
        protocols = []
        state = ServerState()

        def make_protocol():
            protocol = CountingProtocol(config, state, {}, loop)
            protocols.append(protocol)
            return protocol

        server = await loop.create_server(make_protocol, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            await until(lambda: protocols and protocols[0].transport is not None)
            try:
                await scene(Line(protocols[0], reader, writer))
            finally:
                writer.close()
                await until(lambda: not state.connections)

    def run_in_new_loop():
        with asyncio.Runner(loop_factory=SteeredLoop) as runner:
            runner.run(run_scene())

    with ThreadPoolExecutor(1) as pool:  # a browser of other tests may keep a loop running in this thread
        pool.submit(run_in_new_loop).result()


@pytest.mark.parametrize("sent", UNFINISHED_REQUESTS)
def test_whoever_takes_too_long_over_a_request_is_hung_up_on(sent):
    async def scene(line):
        await line.send(sent)
        if sent.startswith(GET):
            await line.hear_answer()
        await line.pass_seconds(SECONDS - 0.001)
        assert line.is_open
        await line.pass_seconds(0.001)
        assert not line.is_open

    play_scene(scene)


@pytest.mark.parametrize("sent", UNFINISHED_REQUESTS)
def test_one_byte_now_and_then_does_not_buy_more_time(sent):
    async def scene(line):
        await line.send(sent)
        if sent.startswith(GET):
            await line.hear_answer()
        for _ in range(4):
            assert line.is_open
            await line.send(b"x")
            await line.pass_seconds(SECONDS / 4)
        assert not line.is_open

    play_scene(scene)


def test_whoever_takes_their_time_between_requests_is_not():
    async def scene(line):
        for _ in range(3):
            await line.send(GET)
            await line.hear_answer()
            await line.pass_seconds(SECONDS + 1)
            assert line.is_open

    play_scene(scene)


def test_every_request_has_the_whole_time():
    async def scene(line):
        for _ in range(3):
            await line.send(GET[:20])
            await line.pass_seconds(SECONDS - 1)
            await line.send(GET[20:])
            await line.hear_answer()
            assert line.is_open

    play_scene(scene)
