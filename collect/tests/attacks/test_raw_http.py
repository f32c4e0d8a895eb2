"""A server on a real socket refuses sizes, paths, headers and methods that no browser sends."""

import re
import socket

import httpx
import pytest

from winokit_collect.study import invites, listings

MEGABYTE = 2**20
FORM = "Content-Type: application/x-www-form-urlencoded"


@pytest.fixture
def server(served):
    server, _ = served
    return server


@pytest.fixture
def study(served):
    _, study = served
    return study


@pytest.fixture
def refused(study):
    """A function that lists the refusals in the audit log, newest first, as (address, status)."""

    def list_refusals():
        return [(line.target, line.detail["status"]) for line in listings.log_entries(study, action="refused")]

    return list_refusals


@pytest.fixture(autouse=True)
def is_still_served(server):
    """Assert after every test that pages are served as before."""
    yield
    status, _ = server.request("GET /login")
    assert status == 200


def status_of(answer):
    """The status code of an answer, as it came over the socket."""
    return int(answer.split(b" ", 2)[1])


def make_chunks(total, size=8192):
    """A body of `total` bytes in chunks of `size` bytes, as HTTP sends it."""
    chunk = f"{size:x}\r\n".encode() + b"x" * size + b"\r\n"
    for _ in range(total // size):
        yield chunk
    yield b"0\r\n\r\n"


def test_ten_megabytes_that_say_so_are_refused(server, refused):
    body = b"x" * (10 * MEGABYTE)
    status, answer = server.request("POST /login", FORM, f"Content-Length: {len(body)}", body=body)
    assert status == 413
    assert b"That is too large" in answer
    assert refused()[0] == ("/login", 413)


def test_ten_megabytes_that_say_nothing_are_refused_and_never_held(server, refused):
    memory_before = server.peak_memory()
    for _ in range(3):
        head = f"POST /login HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{FORM}\r\nTransfer-Encoding: chunked\r\n\r\n"
        answer = server.send_raw(head.encode(), *make_chunks(10 * MEGABYTE))
        assert b" 413 " in answer.split(b"\r\n")[0]
    assert refused()[0] == ("/login", 413)
    assert server.peak_memory() - memory_before < 9 * 1024


def test_ten_megabytes_in_parts_are_refused(server):
    head = b'--b\r\nContent-Disposition: form-data; name="csrf"; filename="x"\r\n\r\n'
    body = head + b"x" * (10 * MEGABYTE) + b"\r\n--b--\r\n"
    content_type = "Content-Type: multipart/form-data; boundary=b"
    status, _ = server.request("POST /login", content_type, f"Content-Length: {len(body)}", body=body)
    assert status == 413
    small_body = body[:2000] + b"\r\n--b--\r\n"
    status, _ = server.request("POST /login", content_type, f"Content-Length: {len(small_body)}", body=small_body)
    assert status in (400, 403)


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "9" * 30, "٣", "1, 2", " "])
def test_a_length_that_is_none_is_refused(server, length):
    header = f"Content-Length: {length}".encode().decode("latin-1")
    status, _ = server.request("POST /login", FORM, header)
    assert status in (400, 413)


def test_a_request_with_two_ends_is_refused(server):
    """Two ends are a way to smuggle a second request past a proxy."""
    body = b"0\r\n\r\nGET /requester HTTP/1.1\r\nHost: x\r\n\r\n"
    headers = (FORM, "Content-Length: 4", "Transfer-Encoding: chunked")
    _, answer = server.request("POST /login", *headers, body=body)
    assert answer.count(b"HTTP/1.1 ") == 1
    status, _ = server.request("POST /login", FORM, "Content-Length: 4", "Content-Length: 40", body=b"a=b&")
    assert status == 400


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
    status, answer = server.request(f"GET {path}")
    assert status in (400, 403, 404), answer[:300]
    head, _, page = answer.partition(b"\r\n\r\n")
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
    answer = server.send_raw(head.encode())
    assert status_of(answer) < 500
    for location in re.findall(rb"(?i)location: (.*)\r\n", answer):
        assert re.fullmatch(rb"/[a-z][a-z/]*", location), location


@pytest.mark.parametrize("name", ["next", "url", "redirect", "return_to", "back"])
def test_no_address_says_where_to_go_next(server, name):
    for path in ("/login", "/requester", "/", "/start", "/finish"):
        _, answer = server.request(f"GET {path}?{name}=https://evil.example/")
        head, _, page = answer.partition(b"\r\n\r\n")
        assert b"evil.example" not in head
        assert b'href="https://evil.example' not in page


def test_headers_beyond_measure_are_refused(server):
    memory_before = server.peak_memory()
    long_cookie = ["Cookie: winokit-worker=" + "a" * MEGABYTE]
    long_header = ["X: " + "a" * MEGABYTE]
    value = "y" * 50
    many_headers = [f"X-{number}: {value}" for number in range(20_000)]
    for headers in (long_cookie, long_header, many_headers):
        status, _ = server.request("GET /", *headers)
        assert status in (0, 400, 431)
    status, _ = server.request("GET /" + "a" * MEGABYTE)
    assert status in (0, 400, 414)
    assert server.peak_memory() - memory_before < 9 * 1024


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
    statuses = {}
    for path in ("/begin", "/requester", "/"):
        statuses[path], _ = server.request(f"GET {path}", f"Cookie: {cookie}")
    assert statuses == {"/begin": 403, "/requester": 303, "/": 200}


@pytest.mark.parametrize(
    "header", ["X: a\r\n\tb", "X : a", "X\x00: a", "X: a\x00b", ": a", "X", "Transfer-Encoding: gzip"]
)
def test_headers_that_are_none_do_no_harm(server, header):
    status, answer = server.request("POST /login", header)
    assert status < 500 or (status == 501 and "Transfer" in header)
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    "method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "PROPFIND", "OPTIONS", "HEAD", "GE\x00T"]
)
def test_methods_that_no_page_knows_are_refused(server, method):
    for path in ("/login", "/requester", "/requester/pause", "/static/collect.css"):
        status, answer = server.request(f"{method} {path}")
        allowed_statuses = (200, 303, 405) if method == "HEAD" else (400, 404, 405)
        assert status in allowed_statuses, (method, path)
        assert b"Access-Control-Allow" not in answer


@pytest.mark.parametrize(
    "noise", [b"\x16\x03\x01\x02\x00\x01", b"\r\n\r\n\r\n", b"GET", b"\x00" * 100, b"PRI * HTTP/2.0\r\n\r\n"]
)
def test_what_is_no_request_is_no_harm(server, noise):
    answer = server.send_raw(noise, b"\r\n\r\n")
    assert not answer or status_of(answer) in (400, 404)


def test_a_socket_for_messages_is_not_to_be_had(server):
    headers = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA==")
    status, _ = server.request("GET /begin", *headers)
    assert status in (400, 403, 404)


def test_an_ordinary_worker_comes_in_after_all_that(server, study):
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", follow_redirects=True) as client:
        invite_path = invites.create(study).path
        steps = [
            (invite_path, {}),
            ("/consent", {"agree": "yes"}),
            ("/screening", {"native_speaker": "yes", "has_seen_wsc": "no"}),
            ("/begin", None),
        ]
        for path, fields in steps:
            page = client.get(path)
            assert page.status_code == 200
            if fields is not None:
                token = re.findall(r'name="csrf" value="(\w+)"', page.text)[0]
                answer = client.post(path, data={"csrf": token, **fields})
        assert answer.url.path == "/begin"


def test_a_head_is_an_answer_without_a_body(server):
    for path in ("/", "/login", "/health", "/static/collect.css"):
        status, answer = server.request(f"HEAD {path}")
        assert status == 200, path
        _, _, body = answer.partition(b"\r\n\r\n")
        assert body == b""


def test_health_says_that_the_database_answers_and_nothing_else(server):
    status, answer = server.request("GET /health")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert status == 200
    assert body == b'{"status":"ok"}'
    assert b"set-cookie" not in head.lower()


def test_whoever_goes_away_is_one_line_in_the_log(server):
    with socket.create_connection(("127.0.0.1", server.port)) as line:
        request = f"POST /join/secret HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: 100\r\n\r\ncsrf="
        line.sendall(request.encode())
    server.wait_for_output(r"POST /join/\{token\}: whoever asked went away$")
    status, _ = server.request("GET /health")
    assert status == 200
    output = server.output()
    assert output.count("whoever asked went away") == 1
    assert "secret" not in output
