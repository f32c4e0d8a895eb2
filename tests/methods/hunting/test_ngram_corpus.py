import json
from itertools import pairwise
from time import monotonic

import pytest
from support.servers import NgramServer, Response, complains

from winokit.data.checks.contamination import find_copies
from winokit.errors import BadInput, UnknownName
from winokit.methods.hunting.association import Association, AssociationWords, read_association
from winokit.methods.hunting.association import load as load_association
from winokit.methods.hunting.hunter import Hunter
from winokit.methods.hunting.hunter import load as load_hunter
from winokit.methods.hunting.ngram_corpus import NgramCorpus, lookups_of, open_corpus
from winokit.methods.hunting.search import AllOf, AnyOf, Near, SentenceIndex, sentence_matches
from winokit.methods.scoring.cache import Cache, answer_all
from winokit.models.base import Lookup
from winokit.models.http_client import HttpClient
from winokit.models.registry import Spec
from winokit.problem import Dataset, Problem
from winokit.progress import telling
from winokit.stages.audit.run import audit
from winokit.stages.check import check
from winokit.stages.score.run import score

FAST = "rate=1000"


@pytest.fixture
def served(corpus_file):
    """A server with the same text as the index, a document for each paragraph."""
    paragraphs = corpus_file.read_text("utf-8").split("\n\n")
    with NgramServer([" ".join(paragraph.split()) for paragraph in paragraphs]) as server:
        yield server


def place_of(server, more=FAST):
    return f"infinigram:small@{server.url}?{more}"


QUERIES = [
    "so heavy",
    AnyOf(("tired", "heavy")),
    AllOf(("could not carry", AnyOf(("tired",)))),
    AllOf((AnyOf(("carry", "carried")), Near(AnyOf(("was",)), AnyOf(("heavy", "tired")), 1))),
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_served_corpus_finds_the_sentences_that_an_index_finds(served, index, query):
    corpus = open_corpus(place_of(served, f"{FAST}&documents=60"))
    there = {hit.text for hit in corpus.search(query, 60)}
    assert there == {hit.text for hit in index.search(query, 60)} != set()
    assert all(sentence_matches(query, text) for text in there)


def test_counts_are_those_of_the_server(served):
    corpus = open_corpus(place_of(served))
    assert corpus.count("bread") == sum(document.count("bread") for document in served.documents) == 5
    assert corpus.count(AnyOf(("jug", "cup", "bowl", "cans", "pots"))) == 6
    assert corpus.count("unicorn") == 0
    assert len(served.bodies) == 4  # five terms are asked about in two queries
    assert {body["index"] for body in served.bodies} == {"small"}


def test_a_clause_of_many_forms_becomes_several_queries():
    made = lookups_of(AllOf((AnyOf(tuple("abcde")), Near(AnyOf(("f",)), AnyOf(("g",)), 5))))
    assert [lookup.clauses for lookup in made] == [(tuple("abcd"), ("f",), ("g",)), (("e",), ("f",), ("g",))]
    assert lookups_of("this AND that") == []


def test_a_hunter_of_a_served_corpus_decides_as_one_of_an_index(served, index, planted):
    hunter = load_hunter(Spec.parse(f"hunter:{place_of(served)}"))
    assert hunter.spec == f"hunter:infinigram:small?{FAST}"
    assert [hunter.hunt(problem).choice for problem in planted] == [
        Hunter(index).hunt(problem).choice for problem in planted
    ]


def test_what_a_hunter_found_is_kept_dated_and_told(served, planted, tmp_path, monkeypatch):
    spec = load_hunter(Spec.parse(f"hunter:{place_of(served)}"))
    cache = tmp_path / "answers.sqlite"
    first = audit(planted, model=spec, cache=cache)
    asked = len(served.bodies)
    assert any(note.startswith("asked: ") and note.endswith(" requests") for note in first.notes)
    again = audit(planted, model=load_hunter(Spec.parse(f"hunter:{place_of(served)}")), cache=cache)
    assert len(served.bodies) == asked + 1  # how large the corpus is, which tells it from another
    assert served.bodies[-1] == {"index": "small", "query_type": "count", "query": ""}
    assert [row.value for row in again.metrics] == [row.value for row in first.metrics]
    (note,) = (note for note in again.notes if "replayed from the cache, of 20" in note)
    assert note.endswith("the server names the same model as then")
    served._tokens.append([(0, 1)])
    served.documents.append("x")
    changed = audit(planted, model=load_hunter(Spec.parse(f"hunter:{place_of(served)}")), cache=cache)
    assert len(served.bodies) > asked + 2
    assert any("names another model than the last time" in note for note in changed.notes)


def test_a_limit_stops_a_hunter_and_the_next_run_goes_on(served, planted, tmp_path):
    many = Dataset([problem.replace(before=f"{i} {problem.before}") for i in range(3) for problem in planted])
    cache = tmp_path / "answers.sqlite"
    with pytest.raises(BadInput, match=r"stopped at --set max_requests=3: 0 of 24 .* the same command continues"):
        score(many, load_hunter(Spec.parse(f"hunter:{place_of(served)}")), cache=cache, max_requests=3)
    asked = len([body for body in served.bodies if body["query"]])
    assert asked == 3
    done = score(many, load_hunter(Spec.parse(f"hunter:{place_of(served)}")), cache=cache)
    assert len(done.predictions) == 24


def test_a_dry_run_counts_queries_and_sends_none(served, planted):
    planned = score(planted, load_hunter(Spec.parse(f"hunter:{place_of(served)}")), cache="off", dry_run=True).plan
    assert planned["new"] > 10
    assert served.bodies == []
    score(planted, load_hunter(Spec.parse(f"hunter:{place_of(served)}")), cache="off")
    assert len(served.bodies) - 1 == planned["new"]


LONG = "When the old ferry left the harbour, the gulls followed the captain because "


@pytest.mark.parametrize(
    ("document", "kind"),
    [
        (f"Once. {LONG}they had bread. The end.", "verbatim"),
        ("So it was. When the old ferry left the harbour, gulls followed the captain because they had fish.", "near"),
        ("As everyone knows, when the old ferry left the harbour, the gulls followed its wake home.", "part"),
        ("The gulls followed the captain of the old ferry because the harbour had bread.", None),
    ],
)
def test_copies_in_a_served_corpus_are_found(document, kind):
    ferry = Problem(LONG, " had bread.", ("the gulls", "the captain"), 1, "they")
    with NgramServer(["An unrelated opening of the book.", document]) as server:
        found = find_copies(Dataset([ferry]), open_corpus(place_of(server)))
    assert [copy.kind for copy in found] == ([] if kind is None else [kind])
    assert [copy.source for copy in found] == ([] if kind is None else ["small, document 1"])


def test_a_check_says_of_when_its_lookups_are(tmp_path):
    notes = []
    ferry = Dataset([Problem(LONG, " had bread.", ("the gulls", "the captain"), 1, "they")])
    cache = tmp_path / "answers.sqlite"
    with NgramServer([f"{LONG}they had bread."]) as server:
        place = place_of(server)
        with pytest.raises(BadInput, match="stopped at --set max_requests=2"):
            check(ferry, only=["corpus"], corpus=place, cache=cache, max_requests=2)
        (first,) = check(ferry, only=["corpus"], corpus=place, cache=cache)
        asked = len(server.bodies)
        with telling(notes.append):
            (again,) = check(ferry, only=["corpus"], corpus=place, cache=cache)
        assert len(server.bodies) == asked + 1
    assert first.message == again.message == f"1 problem appears word for word in infinigram:small?{FAST}"
    assert again.details["replayed"]["replayed"] == again.details["replayed"]["answers"] > 3
    assert any("replayed from the cache" in note for note in notes)
    (offline,) = check(ferry, only=["corpus"], corpus=place, cache=cache)
    assert offline.details["replayed"]["check"] == "not reached"


def test_calls_are_as_few_a_second_as_the_rate_says(monkeypatch):
    times = []
    send = HttpClient.send

    def timed_send(*given):
        times.append(monotonic())
        send(*given)

    monkeypatch.setattr(HttpClient, "send", timed_send)
    with NgramServer(["bread and butter"]) as server:
        server.respond = lambda number, path, body: (
            complains(500, "again") if number == 2 else Response(payload={"count": 1})
        )
        corpus = open_corpus(place_of(server, "rate=50&concurrency=8&delay=0"))
        corpus.look_up([Lookup(((word,),)) for word in "abcd"])
    assert len(times) == 5  # one was sent again
    assert all(later - earlier >= 1 / 50 for earlier, later in pairwise(times))


def test_association_follows_what_words_go_together(index, served):
    problem = Problem("The baker left the bread, but ", " smelled of summer.", ("the storm", "the bread"), 1, "it")
    assert read_association(problem) == AssociationWords(("storm", "bread"), ("smelled", "summer"))
    for corpus in (index, open_corpus(place_of(served))):
        storm, bread = Association(corpus).judge(problem).values
        assert bread > storm
    people = problem.replace(candidates=("Ann", "Eve"))
    assert Association(index).judge(people).why == "a person's name goes with no word"
    unknown = problem.replace(candidates=("the unicorn", "the bread"))
    assert Association(index).judge(unknown).why == "the corpus does not have 'unicorn'"


def test_association_is_a_model_of_either_corpus(served, index_path, planted):
    model = load_association(Spec.parse(f"association:{place_of(served)}"))
    assert (model.spec, isinstance(model.corpus, NgramCorpus)) == (f"association:infinigram:small?{FAST}", True)
    results = audit(planted, model=model, cache="off")
    assert results.find("accuracy", "all", "abstained").value < 1
    assert isinstance(load_association(Spec.parse(f"association:{index_path}")).corpus, SentenceIndex)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Response(payload={"error": "no such index"}), "'small' cannot be asked: no such index; check its name"),
        (complains(404, "nothing here"), "status 404: nothing here; check the URL after the @"),
        (complains(429, "slow down"), "given up after .* ask less often"),
        (Response(payload={"count": "many"}), "given up after 1 tries: not a valid answer"),
        (Response(payload=b"<html>"), "given up after 1 tries: not a valid answer"),
        (Response(hangs_up=True), "given up after 1 tries"),
    ],
)
def test_a_server_that_does_not_answer_is_one_line(reply, says, monkeypatch):
    monkeypatch.setattr("winokit.models.server.PATIENCE", 0.0)
    with NgramServer([]) as server:
        server.respond = lambda number, path, body: reply
        with pytest.raises(BadInput, match=says) as raised:
            open_corpus(place_of(server, f"{FAST}&retries=0&delay=0")).count("bread")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("place", "kind", "says"),
    [
        ("infinigram:", BadInput, "infinigram: expected INDEX@URL after the colon"),
        ("infinigram:x@nowhere", BadInput, "INDEX@URL with a URL such as"),
        ("infinigram:x?rat=3", UnknownName, "option of 'infinigram' corpora"),
        ("infinigram:x?rate=0", BadInput, "option rate: expected a number of at least 0.001"),
        ("infinigram:x?documents=none", BadInput, "option documents: expected a whole number"),
    ],
)
def test_a_bad_place_says_what_is_wrong(place, kind, says):
    with pytest.raises(kind, match=says):
        open_corpus(place)


def test_a_key_is_sent_only_where_one_is_named(served, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-you")
    monkeypatch.setenv("CORPUS_KEY", "mine")
    open_corpus(place_of(served)).count("bread")
    open_corpus(place_of(served, f"{FAST}&key_env=CORPUS_KEY")).count("bread")
    assert served.keys == [None, "Bearer mine"]


def test_what_was_found_survives_the_cache(served, tmp_path):
    corpus = open_corpus(place_of(served))
    lookup = Lookup((("carry",), ("tired",)), documents=3)
    with Cache(tmp_path / "answers.sqlite") as cache:
        first = answer_all(corpus.index, [lookup], cache)
    with Cache(tmp_path / "answers.sqlite") as cache:
        assert answer_all(corpus.index, [lookup], cache) == first
    assert len(first[lookup].documents) == 3
    assert json.dumps(served.bodies[-2]) != json.dumps(served.bodies[-1])


def test_a_cache_is_refused_where_the_corpus_is_here(index_path, planted):
    with pytest.raises(BadInput, match="for a corpus behind a server, as --corpus infinigram:INDEX@URL"):
        check(planted, only=["corpus"], corpus=str(index_path), max_requests=3)
