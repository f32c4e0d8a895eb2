"""SQL in every field and every filter is plain text, on SQLite and on PostgreSQL."""

from itertools import product

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
LOGGING_TABLES = ("audit_log", "login_failures", "drafts", "events")
"""Tables to which refused requests and unfinished forms may add rows."""
SEARCHES = (
    ("/requester/problems", "author"),
    ("/requester/problems", "text"),
    ("/requester/submissions", "worker"),
)
"""Pages and filters that would show the pair of twins if a trick found every row."""


@pytest.fixture
def app(either_study):
    return create_app(either_study)


@pytest.fixture
def study(either_study):
    return either_study


def count_rows(study):
    """Number of rows of each table, by its name, without those that any request may add to."""
    tables = [table for table in Base.metadata.sorted_tables if table.name not in LOGGING_TABLES]
    with study.store.read() as session:
        return {table.name: session.scalar(select(func.count()).select_from(table)) for table in tables}


def form_fields(app):
    """Path and names of the fields of every form of the app."""
    openapi = app.openapi()
    models = openapi.get("components", {}).get("schemas", {})
    for path, methods in openapi["paths"].items():
        if "post" in methods:
            content = methods["post"]["requestBody"]["content"]
            schema = content["application/x-www-form-urlencoded"]["schema"]
            model_name = schema.get("$ref", "").rpartition("/")[2]
            model = models.get(model_name, schema)
            yield path, [name for name in model["properties"] if name != "csrf"]


def query_filters(app):
    """Path and names of the filters of every page of the app."""
    for path, methods in app.openapi()["paths"].items():
        if "get" in methods:
            parameters = methods["get"].get("parameters", [])
            yield path, [parameter["name"] for parameter in parameters if parameter["in"] == "query"]


def fill_path(path, value):
    for name in ("token", "kind", "code", "number", "invite"):
        path = path.replace("{" + name + "}", value)
    return path


def test_sql_in_every_field_changes_nothing(app, study, worker, requester):
    task_token = worker.take("write").removeprefix("/task/")
    # A browser that is a worker and a requester at once.
    worker.client.cookies.set("winokit-requester", requester.client.cookies["winokit-requester"])
    counts_before = count_rows(study)
    request_count = 0
    for path, names in form_fields(app):
        if path in ("/logout", "/sign-out", "/requester/pause", "/task/{token}/skip"):
            continue
        for number, trick in enumerate(TRICKS):
            path_values = ("1", trick, "write")
            path_value = task_token if path.startswith("/task/") else path_values[number % 3]
            address = fill_path(path, path_value)
            fields = dict.fromkeys(names, trick)
            token = worker.token_for(path)
            answer = worker.client.post(address, data={"csrf": token, **fields}, follow_redirects=False)
            assert answer.status_code < 500, (address, fields)
            request_count += 1
    assert request_count > 200
    assert count_rows(study) == counts_before
    tables = inspect(study.store.engine).get_table_names()
    assert set(Base.metadata.tables) <= set(tables)
    with study.store.read() as session:
        assert session.scalars(select(Requester.name)).all() == ["ann"]


def test_sql_in_every_filter_finds_nothing(app, worker, requester):
    assert worker.does_a_days_work(1)
    for path, names in query_filters(app):
        tricks = TRICKS if names else TRICKS[:2]
        for trick, name in product(tricks, names or [""]):
            query = {name: trick} if name else {}
            address = fill_path(path, trick.replace("/", "%2f"))
            answer = requester.client.get(address, params=query)
            assert answer.status_code < 500, (path, query)
            if (path, name) in SEARCHES:
                assert "terrier" not in answer.text, query
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
    refused_logins = listings.log_entries(study, action="login refused")
    assert any("DROP" in line.target for line in refused_logins)


def test_sql_in_twins_is_kept_to_the_letter(study, worker, twins, requester):
    trick = "'; DROP TABLE problems; --"
    texts = {name: f"{twins[name]} {trick}" for name in ("first", "second")}
    task = worker.take("write")
    answer = worker.send(f"{task}/write", **twins | texts)
    assert answer.url.path == "/begin", answer.text
    with study.store.read() as session:
        text_ends = [row.after.endswith(trick) for row in session.scalars(select(ProblemRow))]
    assert text_ends == [True, True]
    assert "DROP TABLE problems" in requester.get("/requester/problems").text


PATHS_WITH_NUL = [
    "/task/%00/vote",
    "/task/%00/none",
    "/join/%00",
    "/requester/workers/%00",
    "/requester/problems?text=a%00b",
]


@pytest.mark.parametrize("path", PATHS_WITH_NUL)
def test_what_postgresql_has_no_letter_for_is_refused(app, worker, requester, path):
    for somebody in (worker, requester):
        assert somebody.client.get(path, follow_redirects=False).status_code in (303, 403, 404)
    fields = {"first": "a\x00b", "anchor": "\ud800".encode("utf-8", "surrogatepass")}
    task = worker.take("write")
    for last in ("draft", "feedback", "write"):
        form = {"csrf": worker.token_for("/task"), **fields}
        answer = worker.client.post(f"{task}/{last}", data=form)
        assert answer.status_code in (200, 422)
