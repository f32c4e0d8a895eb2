"""Against a small OpenSearch: one index of sentences, and just enough of the query language to answer what we ask."""

import json
import re
import sqlite3
import threading
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from support.scoring import score

from winokit.errors import BadInput
from winokit.methods.hunting.association import associate
from winokit.methods.hunting.hunter import Hunter
from winokit.methods.hunting.search import AllOf, Near, OpenSearch, any_of
from winokit.models.registry import load_model


def words(text):
    return re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text.lower())


def spans(interval, tokens):
    """Where an interval of an `intervals` query stands: (start, end) of each place."""
    ((kind, body),) = interval.items()
    if kind == "match":
        assert (body["max_gaps"], body["ordered"]) == (0, True)
        sought = words(body["query"])
        size = len(sought)
        return [(i, i + size) for i in range(len(tokens) - size + 1) if size and tokens[i : i + size] == sought]
    if kind == "any_of":
        return [span for one in body["intervals"] for span in spans(one, tokens)]
    assert kind == "all_of"
    one, other = (spans(part, tokens) for part in body["intervals"])
    pairs = [(a, b) for a in one for b in other if a[1] <= b[0] or (b[1] <= a[0] and not body["ordered"])]
    gaps = [max(a[0], b[0]) - min(a[1], b[1]) for a, b in pairs]
    return [pair for pair, gap in zip(pairs, gaps, strict=True) if gap <= body["max_gaps"]]


def matches(query, text, field="text"):
    ((kind, body),) = query.items()
    tokens = words(text)
    if kind == "match_phrase":
        sought = {"match": {"query": body[field], "max_gaps": 0, "ordered": True}}
        return bool(spans(sought, tokens))
    if kind == "intervals":
        return bool(spans(body[field], tokens))
    assert kind == "bool"
    if "must" in body:
        return all(matches(part, text, field) for part in body["must"])
    assert body["minimum_should_match"] == 1
    return any(matches(part, text, field) for part in body["should"])


@contextmanager
def server(sentences, name="corpus", field="text"):
    """Serve an index; yields its address and a list of the bodies asked."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            if self.path == f"/{name}":
                self.say({name: {"settings": {"index": {"uuid": "u-1"}}}})
            elif self.path == f"/{name}/_count":
                self.say({"count": len(sentences)})
            else:
                self.say({"error": {"reason": f"no such index [{self.path.strip('/')}]"}}, 404)

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append(body)
            found = [text for text in sentences if matches(body["query"], text, field)]
            if self.path.endswith("/_count"):
                self.say({"count": len(found)})
            else:
                self.say({"hits": {"hits": [{"_source": {field: text}} for text in found[: body["size"]]]}})

        def say(self, value, status=200):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{http.server_port}/{name}", asked
        finally:
            http.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def sentences(index_path):
    with closing(sqlite3.connect(index_path)) as db:
        return [row[0] for row in db.execute("SELECT text FROM sentences")]


@pytest.fixture(scope="module")
def address(sentences):
    with server(sentences) as (address, _):
        yield address


@pytest.mark.parametrize(
    "query",
    [
        "could not carry",
        "carry not",
        any_of(["full", "empty"]),
        AllOf((any_of(["carry", "carried"]), "was tired")),
        Near(any_of(["cellar"]), any_of(["water", "dry"]), 3),
        Near(any_of(["water"]), any_of(["cellar"]), 2),
        AllOf(("poured", Near(any_of(["was", "were"]), any_of(["full"]), 5))),
    ],
)
def test_a_server_finds_what_an_index_finds(address, index, query):
    there = OpenSearch(address)
    assert there.sentences == index.sentences
    assert there.count(query) == index.count(query)
    found = {hit.text for hit in there.search(query, 50)}
    assert found == {hit.text for hit in index.search(query, 50)}


def test_order_is_asked_for(address):
    there = OpenSearch(address)
    woke, bus = any_of(["woke up"]), any_of(["the bus"])
    assert (there.count_before(woke, bus, 25), there.count_before(bus, woke, 25)) == (2, 0)
    assert there.count_before(woke, bus, 1) == 0


def test_the_hunter_decides_the_same_over_a_server(address, index, planted, unplanted):
    model = load_model(f"hunter:{address}")
    predicted = [row.prediction for row in score(planted, model)]
    assert predicted == [problem.answer for problem in planted]
    assert [row.prediction for row in score(unplanted, model)] == [None] * 4
    there, here = OpenSearch(address), index
    for problem in planted:
        assert len(Hunter(there).hunt(problem).evidence) == len(Hunter(here).hunt(problem).evidence)
        assert associate(problem, there).scores == associate(problem, here).scores


def test_the_field_is_named_after_a_hash(sentences):
    with server(sentences, field="body") as (address, asked):
        OpenSearch(f"{address}#body").search("bread", 3)
    assert asked == [{"query": {"match_phrase": {"body": "bread"}}, "size": 3, "_source": ["body"]}]


def test_a_password_is_not_told(sentences):
    with server(sentences) as (address, _):
        there = OpenSearch(address.replace("http://", "http://ann:secret@"))
    assert "secret" not in there.name + there.fingerprint
    assert "u-1" in there.fingerprint


def test_what_a_server_refuses_is_one_line(sentences):
    with server(sentences) as (address, _):
        with pytest.raises(BadInput, match=r"answered 404 no such index \[other\]"):
            OpenSearch(address.replace("/corpus", "/other"))
        with pytest.raises(BadInput, match="the address of an index expected"):
            OpenSearch(address.removesuffix("/corpus"))
    with pytest.raises(BadInput, match="no answer"):
        OpenSearch(address)
    with server([]) as (address, _), pytest.raises(BadInput, match="the index is empty"):
        OpenSearch(address)
