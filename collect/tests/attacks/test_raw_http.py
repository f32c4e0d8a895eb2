"""Bytes on a socket, to a server in a process of its own: sizes, paths, headers and methods that no browser sends."""

import re
import socket

import httpx
import pytest

from winokit_collect.study import invites, listings

MEGABYTE = 2**20
FORM = "Content-Type: application/x-www-form-urlencoded"


@pytest.fixture
def server(served):
    return served[0]


@pytest.fixture
def study(served):
    return served[1]


@pytest.fixture
def refused(study):
    return lambda: [(line.target, line.detail["status"]) for line in listings.log_entries(study, action="refused")]


@pytest.fixture(autouse=True)
def still_there(server):
    """After every attack pages are served as before."""
    yield
    assert server.request("GET /login")[0] == 200


def chunked(total, size=8192):
    piece = f"{size:x}\r\n".encode() + b"x" * size + b"\r\n"
    yield from (piece for _ in range(total // size))
    yield b"0\r\n\r\n"


def test_ten_megabytes_that_say_so_are_refused(server, refused):
    body = b"x" * (10 * MEGABYTE)
    status, heard = server.request("POST /login", FORM, f"Content-Length: {len(body)}", body=body)
    assert status == 413
    assert b"That is too large" in heard
    assert refused()[0] == ("/login", 413)


def test_ten_megabytes_that_say_nothing_are_refused_and_never_held(server, refused):
    before = server.most_memory()
    for _ in range(3):
        head = f"POST /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{FORM}\r\nTransfer-Encoding: chunked\r\n\r\n"
        heard = server.raw(head.encode(), *chunked(10 * MEGABYTE))
        assert b" 413 " in heard.split(b"\r\n")[0]
    assert refused()[0] == ("/login", 413)
    assert server.most_memory() - before < 9 * 1024


def test_ten_megabytes_in_parts_are_refused(server):
    head = b'--b\r\nContent-Disposition: form-data; name="csrf"; filename="x"\r\n\r\n'
    body = head + b"x" * (10 * MEGABYTE) + b"\r\n--b--\r\n"
    kind = "Content-Type: multipart/form-data; boundary=b"
    assert server.request("POST /login", kind, f"Content-Length: {len(body)}", body=body)[0] == 413
    small = body[:2000] + b"\r\n--b--\r\n"
    assert server.request("POST /login", kind, f"Content-Length: {len(small)}", body=small)[0] in (400, 403)


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "9" * 30, "٣", "1, 2", " "])
def test_a_length_that_is_none_is_refused(server, length):
    status, _ = server.request("POST /login", FORM, f"Content-Length: {length}".encode().decode("latin-1"))
    assert status in (400, 413)


def test_a_request_with_two_ends_is_refused(server):
    """The way to smuggle a second request past a proxy."""
    body = b"0\r\n\r\nGET /requester HTTP/1.1\r\nHost: x\r\n\r\n"
    headers = (FORM, "Content-Length: 4", "Transfer-Encoding: chunked")
    heard = server.request("POST /login", *headers, body=body)[1]
    assert heard.count(b"HTTP/1.1 ") == 1
    two = server.request("POST /login", FORM, "Content-Length: 4", "Content-Length: 40", body=b"a=b&")[0]
    assert two == 400


PATHS = [
    "/static/../app.py",
    "/static/%2e%2e/app.py",
    "/static/%2e%2e%2f%2e%2e%2fstudy.py",
    "/static/..%5c..%5capp.py",
    "/static//etc/passwd",
    "/static/%2fetc%2fpasswd",
    "/static/....//....//app.py",
    "/static/%00",
    "/static/collect.css%00.html",
    "/static/.",
    "/static/",
    "/static",
    "/static/" + "a" * 5000,
    "/%2e%2e/%2e%2e/etc/passwd",
    "//login",
    "/./login",
    "/requester/../login/..;/requester",
    "/requester%2f",
    "/%72equester%00",
    "/REQUESTER",
    "/requester;x",
    "/study.db",
    "/secret.key",
    "/%ff%fe",
    "/%",
    "/%zz",
    "*",
    "http://evil.example/login/x",
    "/login%0d%0aSet-Cookie:%20a=b",
    "/a?" + "b=c&" * 2000,
]


@pytest.mark.parametrize("path", PATHS)
def test_path_tricks_lead_nowhere(server, path):
    status, heard = server.request(f"GET {path}")
    assert status in (400, 403, 404), heard[:300]
    head, _, page = heard.partition(b"\r\n\r\n")
    assert b"a=b" not in head
    assert b"root:" not in page
    assert b"import annotations" not in page
    assert b"location:" not in head.lower()


@pytest.mark.parametrize(
    "path", ["/login", "/login/", "/", "//", "/requester", "/begin/", "//evil.example/login", "/static"]
)
@pytest.mark.parametrize("host", ["evil.example", "evil.example/x", "[", "x?y", "a@evil.example", "127.0.0.1:99999"])
def test_no_redirect_leads_elsewhere_whatever_the_host_is_said_to_be(server, path, host):
    head = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Forwarded-Host: evil.example\r\nConnection: close\r\n\r\n"
    heard = server.raw(head.encode())
    assert int(heard.split(b" ", 2)[1]) < 500
    for place in re.findall(rb"(?i)location: (.*)\r\n", heard):
        assert re.fullmatch(rb"/[a-z][a-z/]*", place), place


@pytest.mark.parametrize("name", ["next", "url", "redirect", "return_to", "back"])
def test_no_address_says_where_to_go_next(server, name):
    for path in ("/login", "/requester", "/", "/start", "/finish"):
        heard = server.request(f"GET {path}?{name}=https://evil.example/")[1]
        head, _, page = heard.partition(b"\r\n\r\n")
        assert b"evil.example" not in head
        assert b'href="https://evil.example' not in page


def test_headers_beyond_measure_are_refused(server):
    before = server.most_memory()
    for headers in (
        ["Cookie: winokit-worker=" + "a" * MEGABYTE],
        ["X: " + "a" * MEGABYTE],
        [f"X-{number}: {'y' * 50}" for number in range(20_000)],
    ):
        assert server.request("GET /", *headers)[0] in (0, 400, 431)
    assert server.request("GET /" + "a" * MEGABYTE)[0] in (0, 400, 414)
    assert server.most_memory() - before < 9 * 1024


@pytest.mark.parametrize(
    "cookie",
    [
        "winokit-worker=" + "a" * 30_000,
        "winokit-worker=" + ".".join("a" * 9000),
        "winokit-worker=" + "; winokit-worker=".join("abc"),
        "winokit-worker=\xe9\xff",
        'winokit-worker="; winokit-requester="',
        "winokit-requester=WzFd.aaaaaa.x; winokit-visitor=; =; ;;",
        "winokit-requester=.eJyr.x.y",
    ],
)
def test_cookies_that_nobody_baked_are_nobodys(server, cookie):
    assert server.request("GET /begin", f"Cookie: {cookie}")[0] == 403
    assert server.request("GET /requester", f"Cookie: {cookie}")[0] == 303
    assert server.request("GET /", f"Cookie: {cookie}")[0] == 200


@pytest.mark.parametrize(
    "header", ["X: a\r\n\tb", "X : a", "X\x00: a", "X: a\x00b", ": a", "X", "Transfer-Encoding: gzip"]
)
def test_headers_that_are_none_do_no_harm(server, header):
    status, heard = server.request("POST /login", header)
    assert status < 500 or (status == 501 and "Transfer" in header)
    assert heard.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "OPTIONS", "HEAD", "GE\x00T"]
)
def test_methods_that_no_page_knows_are_refused(server, method):
    for path in ("/login", "/requester", "/requester/pause", "/static/collect.css"):
        status, heard = server.request(f"{method} {path}")
        assert status in ((200, 303, 405) if method == "HEAD" else (400, 404, 405)), (method, path)
        assert b"Access-Control-Allow" not in heard


@pytest.mark.parametrize(
    "noise", [b"\x16\x03\x01\x02\x00\x01", b"\r\n\r\n\r\n", b"GET", b"\x00" * 100, b"PRI * HTTP/2.0\r\n\r\n"]
)
def test_what_is_no_request_is_no_harm(server, noise):
    heard = server.raw(noise, b"\r\n\r\n")
    assert not heard or int(heard.split(b" ", 2)[1]) in (400, 404)


def test_a_socket_for_messages_is_not_to_be_had(server):
    headers = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    assert server.request("GET /begin", *headers)[0] in (400, 403, 404)


def test_an_ordinary_worker_comes_in_after_all_that(server, study):
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", follow_redirects=True) as client:
        path = invites.create(study).path
        steps = [
            (path, {}),
            ("/consent", {"agree": "yes"}),
            ("/screening", {"native_speaker": "yes", "has_seen_wsc": "no"}),
            ("/begin", None),
        ]
        for where, fields in steps:
            page = client.get(where)
            assert page.status_code == 200
            if fields is not None:
                token = re.findall(r'name="csrf" value="(\w+)"', page.text)[0]
                answer = client.post(where, data={"csrf": token, **fields})
        assert answer.url.path == "/begin"


def test_a_head_is_an_answer_without_a_body(server):
    for path in ("/", "/login", "/health", "/static/collect.css"):
        status, heard = server.request(f"HEAD {path}")
        assert status == 200, path
        assert heard.partition(b"\r\n\r\n")[2] == b""


def test_health_says_that_the_database_answers_and_nothing_else(server):
    status, heard = server.request("GET /health")
    assert (status, heard.partition(b"\r\n\r\n")[2]) == (200, b'{"status":"ok"}')
    assert b"set-cookie" not in heard.lower()


def test_whoever_goes_away_is_one_line_in_the_log(server):
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        line.sendall(f"POST /join/secret HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: 100\r\n\r\ncsrf=".encode())
    server.hear(r"POST /join/\{token\}: whoever asked went away$")
    assert server.request("GET /health")[0] == 200
    assert server.said().count("whoever asked went away") == 1
    assert "secret" not in server.said()
