"""The client between models and servers: what HTTP allows a server to answer, and where httpx takes over."""

import gzip
import threading
from contextlib import closing, contextmanager
from socket import create_server

import pytest
from support.servers import CompletionsServer, FakeServer, Response

from winokit.models.http_client import ExchangeFailed, open_client


@pytest.fixture(autouse=True)
def _environment(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)


@contextmanager
def saying(*replies):
    """A server that sends raw bytes, a reply for each request, all on the first connection and then closes it."""
    listening, asked = create_server(("127.0.0.1", 0)), []

    def serve():
        connection, _ = listening.accept()
        with connection:
            for reply in replies:
                asked.append(connection.recv(65536))
                connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1/completions", asked
    finally:
        thread.join()
        listening.close()


def send(url, *bodies, key=None):
    """What comes back for each body, one after the other; an error where nothing does."""
    came = []
    with closing(open_client(url, key, 4)) as client:
        for number, body in enumerate(bodies):
            client.send(number, body)
            while not (replies := client.replies(10)):
                pass
            ((ticket, outcome),) = replies
            assert ticket == number
            if isinstance(outcome, ExchangeFailed):
                raise outcome
            came.append(outcome)
    return came


def zipped(raw):
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b" % (len(raw), raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{ \n}",
        b"HTTP/1.1 200\r\ncontent-length:4\r\n\r\n{ \n}",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n{ \n}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;x=y\r\n{\r\n3\r\n \n}\r\n0\r\nTrailer: x\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n{ \n}",
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n{ \n}",
        zipped(gzip.compress(b"{ \n}", mtime=0)),
    ],
)
def test_a_reply_is_read_however_its_end_is_told(raw):
    with saying(raw) as (url, asked):
        (reply,) = send(url, b"{}", key="secret")
    assert (reply.status, reply.content) == (200, b"{ \n}")
    assert asked[0].startswith(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"Authorization: Bearer secret\r\n" in asked[0]


def test_a_connection_is_used_again():
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with saying(ok, ok, ok) as (url, asked):
        assert len(send(url, b"{}", None, b"{}")) == 3
    assert [request[:4] for request in asked] == [b"POST", b"GET ", b"POST"]


@pytest.mark.parametrize("raw", [b"", b"SSH-2.0-OpenSSH_9\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"])
def test_what_is_no_reply_is_an_error_of_its_own(raw):
    with saying(raw) as (url, _), pytest.raises(ExchangeFailed):
        send(url, b"{}")


def test_nobody_there_is_one_too():
    with pytest.raises(ExchangeFailed, match="ConnectionRefusedError"):
        send("http://127.0.0.1:9/v1", b"{}")


class Proxy(FakeServer):
    """Answers whatever it is asked, wherever that is."""

    def respond(self, number, path, body):
        return Response(payload={"asked": path})


def test_a_proxy_of_the_environment_is_asked_unless_it_says_not_to(monkeypatch):
    with Proxy() as proxy, CompletionsServer() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        (reply,) = send("http://model.invalid/v1/models", b"{}", key="secret")
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        assert (proxy.paths, proxy.keys) == (["http://model.invalid/v1/models"], ["Bearer secret"])
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        (reply,) = send(f"{server.url}/nothing", b"{}")
        assert (reply.status, len(proxy.paths)) == (404, 1)
