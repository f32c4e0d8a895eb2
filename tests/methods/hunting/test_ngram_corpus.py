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


def spec_of(server, options=FAST):
    """Address of the corpus that the server serves, with these options."""
    return f"infinigram:small@{server.url}?{options}"


QUERIES = [
    "so heavy",
    AnyOf(("tired", "heavy")),
    AllOf(("could not carry", AnyOf(("tired",)))),
    AllOf((AnyOf(("carry", "carried")), Near(AnyOf(("was",)), AnyOf(("heavy", "tired")), 1))),
]


def texts_found(corpus, query) -> set[str]:
    return {hit.text for hit in corpus.search(query, 60)}


def hunter_of(server) -> Hunter:
    return load_hunter(Spec.parse(f"hunter:{spec_of(server)}"))


@pytest.mark.parametrize("query", QUERIES)
def test_a_served_corpus_finds_the_sentences_that_an_index_finds(served, index, query):
    corpus = open_corpus(spec_of(served, f"{FAST}&documents=60"))
    texts = texts_found(corpus, query)
    assert texts
    assert texts == texts_found(index, query)
    for text in texts:
        assert sentence_matches(query, text)


def test_counts_are_those_of_the_server(served):
    corpus = open_corpus(spec_of(served))
    bread_count = sum(document.count("bread") for document in served.documents)
    assert bread_count == 5
    assert corpus.count("bread") == bread_count
    assert corpus.count(AnyOf(("jug", "cup", "bowl", "cans", "pots"))) == 6
    assert corpus.count("unicorn") == 0
    assert len(served.bodies) == 4  # five terms are asked about in two queries
    assert {body["index"] for body in served.bodies} == {"small"}


def test_a_clause_of_many_forms_becomes_several_queries():
    near = Near(AnyOf(("f",)), AnyOf(("g",)), 5)
    lookups = lookups_of(AllOf((AnyOf(tuple("abcde")), near)))
    clauses = [lookup.clauses for lookup in lookups]
    assert clauses == [(tuple("abcd"), ("f",), ("g",)), (("e",), ("f",), ("g",))]
    assert lookups_of("this AND that") == []


def test_a_hunter_of_a_served_corpus_decides_as_one_of_an_index(served, index, planted):
    served_hunter = hunter_of(served)
    index_hunter = Hunter(index)
    assert served_hunter.spec == f"hunter:infinigram:small?{FAST}"
    for problem in planted:
        assert served_hunter.hunt(problem).choice == index_hunter.hunt(problem).choice


def test_what_a_hunter_found_is_kept_dated_and_told(served, planted, tmp_path, monkeypatch):
    cache = tmp_path / "answers.sqlite"
    first_run = audit(planted, model=hunter_of(served), cache=cache)
    request_count = len(served.bodies)
    asked_notes = [note for note in first_run.notes if note.startswith("asked: ") and note.endswith(" requests")]
    assert asked_notes
    second_run = audit(planted, model=hunter_of(served), cache=cache)
    assert len(served.bodies) == request_count + 1  # how large the corpus is, which tells it from another
    assert served.bodies[-1] == {"index": "small", "query_type": "count", "query": ""}
    assert [row.value for row in second_run.metrics] == [row.value for row in first_run.metrics]
    (note,) = [note for note in second_run.notes if "replayed from the cache, of 20" in note]
    assert note.endswith("the server names the same model as then")
    served._tokens.append([(0, 1)])
    served.documents.append("x")
    changed_run = audit(planted, model=hunter_of(served), cache=cache)
    assert len(served.bodies) > request_count + 2
    warnings = [note for note in changed_run.notes if "names another model than the last time" in note]
    assert warnings


def test_a_limit_stops_a_hunter_and_the_next_run_goes_on(served, planted, tmp_path):
    problems = []
    for number in range(3):
        problems += [problem.replace(before=f"{number} {problem.before}") for problem in planted]
    data = Dataset(problems)
    cache = tmp_path / "answers.sqlite"
    with pytest.raises(BadInput, match=r"stopped at --set max_requests=3: 0 of 24 .* the same command continues"):
        score(data, hunter_of(served), cache=cache, max_requests=3)
    queries = [body["query"] for body in served.bodies if body["query"]]
    assert len(queries) == 3
    finished_run = score(data, hunter_of(served), cache=cache)
    assert len(finished_run.predictions) == 24


def test_a_dry_run_counts_queries_and_sends_none(served, planted):
    plan = score(planted, hunter_of(served), cache="off", dry_run=True).plan
    assert plan["new"] > 10
    assert served.bodies == []
    score(planted, hunter_of(served), cache="off")
    assert len(served.bodies) - 1 == plan["new"]


LONG = "When the old ferry left the harbour, the gulls followed the captain because "


FERRY = Problem(LONG, " had bread.", ("the gulls", "the captain"), 1, "they")


@pytest.mark.parametrize(
    ("document", "copies"),
    [
        (f"Once. {LONG}they had bread. The end.", [("verbatim", "small, document 1")]),
        (
            "So it was. When the old ferry left the harbour, gulls followed the captain because they had fish.",
            [("near", "small, document 1")],
        ),
        (
            "As everyone knows, when the old ferry left the harbour, the gulls followed its wake home.",
            [("part", "small, document 1")],
        ),
        ("The gulls followed the captain of the old ferry because the harbour had bread.", []),
    ],
)
def test_copies_in_a_served_corpus_are_found(document, copies):
    with NgramServer(["An unrelated opening of the book.", document]) as server:
        found_copies = find_copies(Dataset([FERRY]), open_corpus(spec_of(server)))
    assert [(copy.kind, copy.source) for copy in found_copies] == copies


def test_a_check_says_of_when_its_lookups_are(tmp_path):
    notes = []
    ferry = Dataset([FERRY])
    with NgramServer([f"{LONG}they had bread."]) as server:
        options = {"only": ["corpus"], "corpus": spec_of(server), "cache": tmp_path / "answers.sqlite"}
        with pytest.raises(BadInput, match="stopped at --set max_requests=2"):
            check(ferry, **options, max_requests=2)
        (first,) = check(ferry, **options)
        request_count = len(server.bodies)
        with telling(notes.append):
            (second,) = check(ferry, **options)
        assert len(server.bodies) == request_count + 1
    replay = second.details["replayed"]
    assert first.message == f"1 problem appears word for word in infinigram:small?{FAST}"
    assert second.message == first.message
    assert replay["replayed"] == replay["answers"]
    assert replay["answers"] > 3
    replay_notes = [note for note in notes if "replayed from the cache" in note]
    assert replay_notes
    (offline,) = check(ferry, **options)
    assert offline.details["replayed"]["check"] == "not reached"


def test_calls_are_as_few_a_second_as_the_rate_says(monkeypatch):
    times = []
    send = HttpClient.send

    def timed_send(*arguments):
        times.append(monotonic())
        send(*arguments)

    def fail_second_request(number, path, body):
        return complains(500, "again") if number == 2 else Response(payload={"count": 1})

    monkeypatch.setattr(HttpClient, "send", timed_send)
    with NgramServer(["bread and butter"]) as server:
        server.respond = fail_second_request
        corpus = open_corpus(spec_of(server, "rate=50&concurrency=8&delay=0"))
        corpus.look_up([Lookup(((word,),)) for word in "abcd"])
    assert len(times) == 5  # one was sent again
    for earlier, later in pairwise(times):
        assert later - earlier >= 1 / 50


BREAD = Problem("The baker left the bread, but ", " smelled of summer.", ("the storm", "the bread"), 1, "it")


def test_association_follows_what_words_go_together(index, served):
    assert read_association(BREAD) == AssociationWords(("storm", "bread"), ("smelled", "summer"))
    for corpus in (index, open_corpus(spec_of(served))):
        storm_value, bread_value = Association(corpus).judge(BREAD).values
        assert bread_value > storm_value


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        (("Ann", "Eve"), "a person's name goes with no word"),
        (("the unicorn", "the bread"), "the corpus does not have 'unicorn'"),
    ],
)
def test_association_says_why_it_abstains(index, candidates, reason):
    problem = BREAD.replace(candidates=candidates)
    assert Association(index).judge(problem).why == reason


def test_association_is_a_model_of_either_corpus(served, index_path, planted):
    model = load_association(Spec.parse(f"association:{spec_of(served)}"))
    assert model.spec == f"association:infinigram:small?{FAST}"
    assert isinstance(model.corpus, NgramCorpus)
    results = audit(planted, model=model, cache="off")
    assert results.find("accuracy", "all", "abstained").value < 1
    index_model = load_association(Spec.parse(f"association:{index_path}"))
    assert isinstance(index_model.corpus, SentenceIndex)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Response(payload={"error": "no such index"}), "'small' cannot be asked: no such index; check its name"),
        (complains(404, "nothing here"), "status 404: nothing here; check the URL after the @"),
        (complains(429, "slow down"), "given up after .* ask less often"),
        (Response(payload={"count": "many"}), "given up after 1 try: not a valid answer"),
        (Response(payload=b"<html>"), "given up after 1 try: not a valid answer"),
        (Response(hangs_up=True), "given up after 1 try"),
    ],
)
def test_a_server_that_does_not_answer_is_one_line(reply, says, monkeypatch):
    monkeypatch.setattr("winokit.models.server.PATIENCE", 0.0)
    with NgramServer([]) as server:
        server.respond = lambda number, path, body: reply
        corpus = open_corpus(spec_of(server, f"{FAST}&retries=0&delay=0"))
        with pytest.raises(BadInput, match=says) as raised:
            corpus.count("bread")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("spec", "error", "message"),
    [
        ("infinigram:", BadInput, "infinigram: expected INDEX@URL after the colon"),
        ("infinigram:x@nowhere", BadInput, "INDEX@URL with a URL such as"),
        ("infinigram:x?rat=3", UnknownName, "option of 'infinigram' corpora"),
        ("infinigram:x?rate=0", BadInput, "option rate: expected a number of at least 0.001"),
        ("infinigram:x?documents=none", BadInput, "option documents: expected a whole number"),
    ],
)
def test_a_bad_place_says_what_is_wrong(spec, error, message):
    with pytest.raises(error, match=message):
        open_corpus(spec)


def test_a_key_is_sent_only_where_one_is_named(served, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-you")
    monkeypatch.setenv("CORPUS_KEY", "mine")
    without_key = open_corpus(spec_of(served))
    with_key = open_corpus(spec_of(served, f"{FAST}&key_env=CORPUS_KEY"))
    without_key.count("bread")
    with_key.count("bread")
    assert served.keys == [None, "Bearer mine"]


def test_what_was_found_survives_the_cache(served, tmp_path):
    path = tmp_path / "answers.sqlite"
    corpus = open_corpus(spec_of(served))
    lookup = Lookup((("carry",), ("tired",)), documents=3)
    with Cache(path) as cache:
        answers = answer_all(corpus.index, [lookup], cache)
    with Cache(path) as cache:
        assert answer_all(corpus.index, [lookup], cache) == answers
    assert len(answers[lookup].documents) == 3
    assert json.dumps(served.bodies[-2]) != json.dumps(served.bodies[-1])


def test_a_cache_is_refused_where_the_corpus_is_here(index_path, planted):
    with pytest.raises(BadInput, match="for a corpus behind a server, as --corpus infinigram:INDEX@URL"):
        check(planted, only=["corpus"], corpus=str(index_path), max_requests=3)
