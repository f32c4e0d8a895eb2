"""SQL in every field and every filter, on SQLite and on PostgreSQL: it is text, and stays text."""

import pytest
from sqlalchemy import func, inspect, select

from winokit_collect.study import listings
from winokit_collect.study.schema import Base, ProblemRow, Requester
from winokit_collect.web.app import create_app

TRICKS = [
    "' OR '1'='1",
    "'; DROP TABLE submissions; --",
    '" OR ""="',
    "1 UNION SELECT password_hash FROM requesters",
    "x' AND (SELECT pg_sleep(9)) IS NOT NULL --",
    "\\'; DELETE FROM workers; --",
    "%' --",
    "$1 :me %s ?",
]
QUIET = ("audit_log", "login_failures", "drafts", "events")
"""Tables in which refusals and what was typed may leave a line."""


@pytest.fixture
def app(either_study):
    return create_app(either_study)


@pytest.fixture
def study(either_study):
    return either_study


def rows(study):
    """How many rows each table has."""
    with study.store.read() as session:
        return {
            table.name: session.scalar(select(func.count()).select_from(table))
            for table in Base.metadata.sorted_tables
            if table.name not in QUIET
        }


def fields_of(app):
    """Every address with a form, and the names of its fields."""
    described = app.openapi()
    for path, methods in described["paths"].items():
        if "post" in methods:
            form = methods["post"]["requestBody"]["content"]["application/x-www-form-urlencoded"]["schema"]
            model = (
                described.get("components", {}).get("schemas", {}).get(form.get("$ref", "").rpartition("/")[2], form)
            )
            yield path, [name for name in model["properties"] if name != "csrf"]


def queries_of(app):
    """Every address that is read, and the names of its filters."""
    for path, methods in app.openapi()["paths"].items():
        if "get" in methods:
            yield path, [one["name"] for one in methods["get"].get("parameters", []) if one["in"] == "query"]


def filled(path, told):
    for place in ("token", "kind", "code", "number", "invite"):
        path = path.replace("{" + place + "}", told)
    return path


def test_sql_in_every_field_changes_nothing(app, study, worker, requester):
    task = worker.take("write").removeprefix("/task/")
    # A browser that is a worker and a requester at once.
    worker.client.cookies.set("winokit-requester", requester.client.cookies["winokit-requester"])
    before = rows(study)
    tried = 0
    for path, names in fields_of(app):
        if path in ("/logout", "/sign-out", "/requester/pause", "/task/{token}/skip"):
            continue
        for number, trick in enumerate(TRICKS):
            place = filled(path, task if path.startswith("/task/") else ("1", trick, "write")[number % 3])
            fields = dict.fromkeys(names, trick) if names else {}
            token = worker.token_for(path)
            answer = worker.client.post(place, data={"csrf": token, **fields}, follow_redirects=False)
            assert answer.status_code < 500, (place, fields)
            tried += 1
    assert tried > 200
    assert rows(study) == before
    tables = inspect(study.store.engine).get_table_names()
    assert set(Base.metadata.tables) <= set(tables)
    with study.store.read() as session:
        assert session.scalars(select(Requester.name)).all() == ["ann"]


def test_sql_in_every_filter_finds_nothing(app, worker, requester):
    assert worker.does_a_days_work(1)
    for path, names in queries_of(app):
        for trick in TRICKS if names else TRICKS[:2]:
            for name in names or [""]:
                asked = {name: trick} if name else {}
                answer = requester.client.get(filled(path, trick.replace("/", "%2f")), params=asked)
                assert answer.status_code < 500, (path, asked)
                if path == "/requester/problems" and name in ("author", "text"):
                    assert "terrier" not in answer.text, asked
                if path == "/requester/submissions" and name == "worker":
                    assert "terrier" not in answer.text, asked
    assert "terrier" in requester.get("/requester/problems", params={"text": "terrier"}).text


@pytest.mark.parametrize("wild", ["%", "s_aniel", "t%r"])
def test_the_wildcards_of_sql_are_letters_in_a_search(worker, requester, wild):
    assert worker.does_a_days_work(1)
    assert "terrier" not in requester.get("/requester/problems", params={"text": wild}).text


def test_sql_is_no_way_past_the_login(app, study, person, requester, password):
    for number, trick in enumerate(TRICKS):
        for name in (trick, f"ann{trick}", "ann"):
            answer = person(app, f"10.1.{number}.1").send("/login", name=name, password=trick)
            assert answer.status_code in (403, 429)
            assert answer.url.path == "/login"
    assert any(line.action == "login refused" and "DROP" in line.target for line in listings.log_entries(study))


def test_sql_in_twins_is_kept_to_the_letter(study, worker, twins, requester):
    trick = "'; DROP TABLE problems; --"
    told = {name: f"{text} {trick}" for name, text in twins.items() if name in ("first", "second")}
    answer = worker.send(f"{worker.take('write')}/write", **{**twins, **told})
    assert answer.url.path == "/begin", answer.text
    with study.store.read() as session:
        assert [row.after.endswith(trick) for row in session.scalars(select(ProblemRow))] == [True, True]
    assert "DROP TABLE problems" in requester.get("/requester/problems").text


NUL = ["/task/%00/vote", "/task/%00/none", "/join/%00", "/requester/workers/%00", "/requester/problems?text=a%00b"]


@pytest.mark.parametrize("path", NUL)
def test_what_postgresql_has_no_letter_for_is_refused(app, worker, requester, path):
    for somebody in (worker, requester):
        assert somebody.client.get(path, follow_redirects=False).status_code in (303, 403, 404)
    fields = {"first": "a\x00b", "anchor": "\ud800".encode("utf-8", "surrogatepass")}
    task = worker.take("write")
    for last in ("draft", "feedback", "write"):
        data = {"csrf": worker.token_for("/task"), **fields}
        assert worker.client.post(f"{task}/{last}", data=data).status_code in (200, 422)
