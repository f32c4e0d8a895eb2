"""The HTTP client copes with all that HTTP allows a server to answer, and with what a server may do wrong."""

import asyncio
import base64
import gzip
import socket
import threading
import time
from contextlib import closing, contextmanager
from socket import create_server

import pytest
from support.servers import CompletionsServer, FakeServer, Response
from support.tls import server_context

import winokit
from winokit.errors import BadInput
from winokit.models import http_client
from winokit.models.http_client import CannotConnect, ExchangeFailed, NotConnected, open_client


@pytest.fixture(autouse=True)
def _clear_environment(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@contextmanager
def saying(*replies, host="127.0.0.1"):
    """Serve raw bytes, a reply for each request on the first connection, which is then closed."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = create_server((host, 0), family=family)
    requests_seen = []

    def serve():
        connection, _ = listening.accept()
        with connection:
            for reply in replies:
                requests_seen.append(connection.recv(65536))
                connection.sendall(reply)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        host_in_url = f"[{host}]" if ":" in host else host
        yield f"http://{host_in_url}:{listening.getsockname()[1]}/v1/completions", requests_seen
    finally:
        thread.join()
        listening.close()


def send(url, *bodies, key=None):
    """Send the bodies one after the other, and return a reply or an error for each."""
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
    assert reply.status == 200
    assert reply.content == b"{ \n}"
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


@pytest.mark.parametrize(
    "raw",
    [
        b"sk-secret " * 20 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nsk-secret\x00: sk-secret\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsk-secret\r\n{}\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
        zipped(b"sk-secret"),
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200,
    ],
)
def test_what_is_no_reply_is_not_repeated_since_it_may_have_the_key(raw):
    with saying(raw) as (url, _), pytest.raises(ExchangeFailed) as failure:
        send(url, b"{}", key="sk-secret")
    assert "sk-" not in str(failure.value)
    assert len(str(failure.value)) < 80


def test_nobody_there_is_one_too():
    with pytest.raises(ExchangeFailed, match=r"no connection \(Connection refused\)"):
        send("http://127.0.0.1:9/v1", b"{}")


class Proxy(FakeServer):
    """Server that answers every request, whatever its path."""

    def respond(self, number, path, body):
        return Response(payload={"asked": path})


def test_a_proxy_of_the_environment_is_asked_unless_it_says_not_to(monkeypatch):
    with Proxy() as proxy, CompletionsServer() as server:
        monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("NO_PROXY", "")
        (reply,) = send("http://model.invalid/v1/models", b"{}", key="secret")
        assert reply.status == 200
        assert reply.headers["content-type"] == "application/json"
        assert proxy.paths == ["http://model.invalid/v1/models"]
        assert proxy.keys == ["Bearer secret"]
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        (reply,) = send(f"{server.url}/nothing", b"{}")
        assert reply.status == 404
        assert len(proxy.paths) == 1


class Tunnel:
    """Proxy for TLS that hands bytes on both ways, given the right user and password."""

    def __init__(self, credentials=None, answer=None):
        self.credentials = credentials
        self.answer = answer
        self.asked = []

    def __enter__(self):
        self._listening = create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._accept_clients, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listening.close()

    def _accept_clients(self):
        while True:
            try:
                client, _ = self._listening.accept()
            except OSError:
                return
            threading.Thread(target=self._open_tunnel, args=[client], daemon=True).start()

    def _open_tunnel(self, client):
        head = client.recv(65536)
        self.asked.append(head)
        if self.answer or (self.credentials and base64.b64encode(self.credentials) not in head):
            client.sendall(self.answer or b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return client.close()
        host, _, port = head.split()[1].decode().rpartition(":")
        server = socket.create_connection((host.strip("[]"), int(port)))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        threading.Thread(target=self._move_bytes, args=[server, client], daemon=True).start()
        return self._move_bytes(client, server)

    @staticmethod
    def _move_bytes(source, target):
        with source, target:
            try:
                while data := source.recv(65536):
                    target.sendall(data)
            except OSError:
                pass


def test_a_proxy_of_plain_http_that_wants_a_password_is_named_too(monkeypatch):
    refuses = b"HTTP/1.1 407 Authenticate\r\nContent-Length: 0\r\n\r\n"
    with saying(refuses) as (url, _):
        monkeypatch.setenv("HTTP_PROXY", url.removesuffix("/v1/completions"))
        with pytest.raises(CannotConnect, match="the proxy answers with status 407 Authenticate"):
            send("http://model.invalid/v1", b"{}")


def test_a_proxy_that_is_busy_is_asked_again(monkeypatch):
    busy = b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"
    with Tunnel(answer=busy) as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{tunnel.port}")
        spec = "completions:tiny@https://model.invalid/v1?retries=1&delay=0"
        with pytest.raises(BadInput, match="given up after 2 tries: the proxy answers with status 503 Busy"):
            winokit.score("open", spec, limit=1, cache="off")


class Secure(CompletionsServer):
    """Completions server behind TLS."""

    def __init__(self, folder):
        super().__init__()
        self.context = server_context(folder)

    @property
    def url(self):
        return f"https://localhost:{self.port}/v1"

    def __enter__(self):
        super().__enter__()
        self._http.socket = self.context.wrap_socket(self._http.socket, server_side=True)
        return self


def test_a_server_whose_certificate_is_trusted_is_asked(tmp_path, monkeypatch):
    with Secure(tmp_path) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        assert [reply.status for reply in send(f"{server.url}/nothing", b"{}", b"{}")] == [404, 404]


def test_a_server_that_nobody_vouches_for_is_not_asked_and_not_tried_again(tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with (
        Secure(tmp_path) as server,
        pytest.raises(BadInput, match=r"not trusted.*self.signed.*SSL_CERT_FILE") as refusal,
    ):
        winokit.score("open", f"completions:tiny@{server.url}", limit=1, cache="off")
    assert "sk-secret" not in str(refusal.value)
    assert server.bodies == []


def test_tls_to_a_server_without_is_an_error_of_the_url():
    plain = CompletionsServer()
    with plain, pytest.raises(CannotConnect, match="does not speak TLS") as refusal:
        send(plain.url.replace("http:", "https:"), b"{}")
    assert refusal.value.way_out == "check whether the URL begins with http"


def test_certificates_that_are_not_there_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    with pytest.raises(BadInput, match=r"SSL_CERT_FILE: no file .*none\.pem"):
        send("https://localhost:9/v1", b"{}")
    (tmp_path / "empty.pem").write_text("nothing\n")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "empty.pem"))
    with pytest.raises(BadInput, match=r"SSL_CERT_FILE: .*empty\.pem has no certificates"):
        send("https://localhost:9/v1", b"{}")
    assert "winokit-server" not in [thread.name for thread in threading.enumerate()]


def test_a_machine_without_certificates_has_those_of_certifi(monkeypatch, tmp_path):
    nothing = http_client.ssl.get_default_verify_paths()._replace(cafile=None, capath=str(tmp_path))
    monkeypatch.setattr(http_client.ssl, "get_default_verify_paths", lambda: nothing)
    monkeypatch.setattr(http_client.ssl.SSLContext, "load_default_certs", lambda *_: None)
    assert http_client.trusted_certificates().cert_store_stats()["x509_ca"] > 50


def test_tls_goes_through_a_proxy_with_user_and_password_which_sees_no_key(tmp_path, monkeypatch):
    with Secure(tmp_path) as server, Tunnel(b"ann:p%w") as tunnel:
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "server.pem"))
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:p%25w@127.0.0.1:{tunnel.port}")
        (reply,) = send(f"{server.url}/nothing", b"{}", key="sk-secret")
        assert reply.status == 404
        assert server.keys == ["Bearer sk-secret"]
    (asked,) = tunnel.asked
    assert asked.startswith(f"CONNECT localhost:{server.port} ".encode())
    assert b"sk-secret" not in asked


@pytest.mark.parametrize(
    ("answer", "fact"),
    [
        (None, "status 407 Proxy Authentication Required; check its user and password"),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "status 403 Forbidden; check HTTPS_PROXY"),
    ],
)
def test_a_proxy_that_lets_nobody_through_is_named_without_its_password(monkeypatch, answer, fact):
    with Tunnel(b"ann:right", answer) as tunnel:
        monkeypatch.setenv("HTTPS_PROXY", f"http://ann:wr0ng@127.0.0.1:{tunnel.port}")
        with pytest.raises(BadInput, match=fact) as refusal:
            winokit.score("open", "completions:tiny@https://model.invalid/v1", limit=1, cache="off")
    assert "wr0ng" not in str(refusal.value)


def test_a_proxy_that_is_not_there_is_told_from_the_server(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "ann:wr0ng@127.0.0.1:9")
    with pytest.raises(NotConnected, match=r"^no connection to the proxy \(Connection refused\)$"):
        send("http://model.invalid/v1", b"{}")


def test_a_proxy_of_another_kind_is_named_without_its_password(monkeypatch):
    monkeypatch.setenv("ALL_PROXY", "socks5://ann:wr0ng@127.0.0.1:1080")
    with pytest.raises(BadInput, match=r"ALL_PROXY: a proxy that begins with socks5://") as refusal:
        send("http://model.invalid/v1", b"{}")
    assert "wr0ng" not in str(refusal.value)


@pytest.mark.skipif(not socket.has_ipv6, reason="this Python has no IPv6")
def test_a_server_may_be_named_by_its_ipv6_address(monkeypatch):
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "::1")
    with saying(ok, host="::1") as (url, asked):
        (reply,) = send(url, b"{}")
    assert reply.status == 200
    assert b"Host: [::1]:" in asked[0]


def test_a_redirect_is_a_reply_and_a_cookie_is_not_kept():
    away = b"HTTP/1.1 307 Moved\r\nLocation: /v2\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    with saying(away, away) as (url, asked):
        assert [reply.status for reply in send(url, b"{}", b"{}")] == [307, 307]
    assert b"Cookie" not in asked[1]


def test_a_post_on_a_connection_that_the_server_has_closed_is_sent_on_a_new_one_once():
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    listening = create_server(("127.0.0.1", 0))
    requests_seen = []
    closed = threading.Event()

    def serve():
        for _ in range(2):
            connection, _ = listening.accept()
            with connection:
                requests_seen.append(connection.recv(65536))
                connection.sendall(ok)
            closed.set()

    thread = threading.Thread(target=serve)
    thread.start()
    with listening, closing(open_client(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", None, 1)) as client:
        for ticket in range(2):
            client.send(ticket, b"{}")
            ((_, reply),) = client.replies(10)
            assert reply.status == 200
            assert closed.wait(10)
            time.sleep(0.05)  # Until the end of the connection has come here too.
        thread.join()
    assert len(requests_seen) == 2


def test_a_post_whose_connection_breaks_is_not_sent_twice():
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
    with saying(ok, b"") as (url, asked), pytest.raises(ExchangeFailed):
        send(url, b"{}", b"{}")
    assert len(asked) == 2


def test_a_reply_without_end_is_given_up(monkeypatch):
    monkeypatch.setattr(http_client, "LONGEST_REPLY", 10)
    with saying(zipped(gzip.compress(b" " * 100_000))) as (url, _), pytest.raises(ExchangeFailed, match="more than 10"):
        send(url, b"{}")


def test_long_headers_and_long_bodies_are_no_trouble():
    long = b"HTTP/1.1 200 OK\r\nX-Policy: %b\r\nContent-Length: 2\r\n\r\n{}" % (b"x" * 100_000)

    class Reading(FakeServer):
        def respond(self, number, path, body):
            return Response(payload={"length": len(body["text"])})

    with saying(long) as (url, _):
        assert send(url, b"{}")[0].status == 200
    with Reading() as server:
        (reply,) = send(f"{server.url}/x", b'{"text": "%b"}' % (b"x" * 3_000_000))
    assert reply.content == b'{"length": 3000000}'


def test_a_reply_that_is_not_waited_for_any_longer_does_not_come_later():
    with CompletionsServer() as server, closing(open_client(f"{server.url}/nothing", None, 1)) as client:
        client.send("ticket", b"{}")
        client.forget("ticket")
        client.send("ticket", b"{}")
        ((ticket, reply),) = client.replies(10)
        assert ticket == "ticket"
        assert reply.status == 404
        assert client.replies(0.05) == []


def test_a_notebook_whose_loop_runs_can_ask_too():
    async def cell(url):
        return send(url, b"{}")

    with CompletionsServer() as server:
        (reply,) = asyncio.run(cell(f"{server.url}/nothing"))
    assert reply.status == 404


def test_a_user_s_netrc_does_not_take_the_place_of_the_key(tmp_path, monkeypatch):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login ann password other\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with CompletionsServer() as server:
        send(f"{server.url}/nothing", b"{}", key="mine")
    assert server.keys == ["Bearer mine"]


def test_a_server_that_says_nothing_after_a_connection_is_given_up(monkeypatch):
    with create_server(("127.0.0.1", 0)) as silent:
        spec = f"completions:tiny@http://127.0.0.1:{silent.getsockname()[1]}/v1?timeout=0.2&retries=0"
        with pytest.raises(BadInput, match=r"no reply within 0\.2 s"):
            winokit.score("open", spec, limit=1, cache="off")
