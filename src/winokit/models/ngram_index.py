"""Query n-gram indexes of very large corpora over HTTP: `infinigram:INDEX@URL`.

Liu et al., "Infini-gram: Scaling Unbounded n-gram Language Models to a Trillion Tokens" (2024),
https://arxiv.org/abs/2401.17377. A query is a POST of JSON that names the index, the type of query and what is looked
for: n-grams, joined by OR within a clause and by AND between clauses. Of its types, `count` and `search_docs` are used.

Three things differ from an index of one's own. N-grams are looked for letter by letter, capitals included. Documents
are a random sample of those that match. Clauses that are very frequent are sampled too, so that counts of several
clauses are estimates; an answer says so.

The same corpus is known by its name and its number of tokens, which is the count of an empty query.

Options: those of servers (`server.retry_policy`); `documents`: how many are looked at for each query.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from winokit.errors import BadInput
from winokit.models.base import Answer, Found, Lookup, Request, cannot
from winokit.models.identity import ServerIdentity
from winokit.models.registry import Spec
from winokit.models.server import (
    EXCHANGE_OPTIONS,
    Body,
    ModelServer,
    RetryPolicy,
    identity_payload,
    name_and_url,
    retry_policy,
    server_key,
)

PREFIX = "infinigram"
PUBLIC = "https://api.infini-gram.io"
"""Server of infini-gram's authors, used if the SPEC names no other."""
INDEX_OPTIONS = (*EXCHANGE_OPTIONS, "documents")
USUAL_POLICY = RetryPolicy(concurrency=4, timeout=60.0, rate=5.0)
"""Limits for a free server that many people share: at most five requests a second."""
MOST_CLAUSES = 4
MOST_TERMS = 4
MOST_CHARACTERS = 1000
MOST_DOCUMENTS = 10
"""Limits of one query: clauses, n-grams of a clause, characters and returned documents."""
CLAUSE_SAMPLE = 500_000
"""Occurrences of a frequent clause that are sampled in a query of several clauses: the most that is allowed."""
SHOWN_TOKENS = 300
"""Number of tokens of a document that are returned around a match."""
OPERATOR = re.compile(r"(?<!\S)(?:AND|OR)(?!\S)")
WAYS_OUT = {
    403: "the server refuses: name its key with ?key_env=NAME, or ask less often (?rate=1)",
    404: "check the URL after the @",
    429: "ask less often (?rate=1), or try later",
}
READING = 1
"""Version of how replies are read, part of the fingerprint. Raise it whenever the same reply is read differently."""


class IndexServer(ModelServer):
    """A server of n-gram indexes, which serves no model and counts no tokens."""

    ways_out = WAYS_OUT

    def check_same_model(self, path: str, payload: Mapping[str, Any]) -> None:
        """Do nothing, since the server has no model that could change."""

    def charge(self, payload: Mapping[str, Any], body: Body | None) -> None:
        """Do nothing, since the server counts no tokens."""


class NgramIndex:
    """One n-gram index of a server, which answers `Lookup` requests.

    It is used like a model, so that its answers are stored and counted.
    """

    kind = "any"
    can: frozenset[type] = frozenset({Lookup})

    def __init__(self, spec: str, index: str, server: ModelServer, documents: int = MOST_DOCUMENTS) -> None:
        self.spec = spec
        self.index = index
        self.documents = documents
        self._server = server
        self.usage = server.usage
        determining = {"url": server.url, "index": index, "reading": READING}
        self.fingerprint = f"{PREFIX}:{json.dumps(determining, sort_keys=True)}"

    def identify(self) -> ServerIdentity:
        """Ask the server for the index's number of tokens, its identity.

        The identity is its name and this number. Empty if the server gives no number, and unconfirmed if it does not
        answer.
        """
        payload = identity_payload(self._server.ask_identity("", {"query_type": "count", "query": ""}))
        if isinstance(payload, ServerIdentity):
            return payload
        tokens = payload.get("count") if isinstance(payload, dict) else None
        if not isinstance(tokens, int):
            return ServerIdentity()
        return ServerIdentity({"id": self.index, "tokens": tokens})

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """The query for a request. The server generates no tokens."""
        return [(json.dumps(_build_body(request)), 0)] if isinstance(request, Lookup) else []

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Send all queries, several at once, yielding (index, answer) as replies arrive."""
        lookups = [request for request in requests if isinstance(request, Lookup)]
        if len(lookups) < len(requests):
            raise cannot(self, next(request for request in requests if not isinstance(request, Lookup)))
        return self._server.stream("", [_build_body(lookup) for lookup in lookups], self._read_found)

    def _read_found(self, payload: dict[str, Any]) -> Found:
        """Read the count and the documents of a reply.

        Raises BadInput if the server reports an error, such as an unknown index.
        """
        if "error" in payload:
            raise self._server.error("", f"the index {self.index!r} cannot be asked: {payload['error']}", NAME_WAY_OUT)
        count = payload["cnt"] if "documents" in payload else payload["count"]
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ValueError(f"not a count: {count!r}")
        documents = [(_join_spans(document), self._get_name(document)) for document in payload.get("documents", ())]
        return Found(count, bool(payload.get("approx")), tuple(documents))

    def _get_name(self, document: Mapping[str, Any]) -> str:
        """Name of a document: the index and the document's number."""
        return f"{self.index}, document {document['doc_ix']:,}"


NAME_WAY_OUT = "check its name, and which indexes the server has"


def load_index(spec: Spec) -> NgramIndex:
    """Make the index of a SPEC `infinigram:INDEX@URL?rate=5`.

    Nothing is sent to its server yet.
    """
    index, url = name_and_url(spec, PUBLIC, "INDEX@URL")
    key = server_key(spec) if spec.options.get("key_env") else None  # a key of another server is not sent to this one
    server = IndexServer(url, key, {"index": index}, retry_policy(spec, USUAL_POLICY))
    documents = spec.number("documents", MOST_DOCUMENTS, least=1)
    return NgramIndex(str(spec), index, server, documents)


def is_askable(term: str) -> bool:
    """Whether an n-gram can be searched for.

    Not if it is empty, or has AND or OR in capitals, which are operators of a query.

    >>> is_askable("bread and butter"), is_askable("bread AND butter"), is_askable(" ")
    (True, False, False)
    """
    return bool(term.strip()) and not OPERATOR.search(term)


def _build_body(lookup: Lookup) -> Body:
    """Build the query for a lookup, without the name of the index.

    Raises BadInput if it is too large for the server, or if an n-gram cannot be searched for (`is_askable`).
    """
    terms = list(chain.from_iterable(lookup.clauses))
    widest = max((len(clause) for clause in lookup.clauses), default=0)
    query = " AND ".join(map(" OR ".join, lookup.clauses))
    is_small = len(lookup.clauses) <= MOST_CLAUSES and widest <= MOST_TERMS and len(query) <= MOST_CHARACTERS
    if not (terms and is_small and all(map(is_askable, terms))):
        raise BadInput(f"{PREFIX}: expected a query of at most four clauses of four n-grams, found {query[:80]!r}")
    body: dict[str, Any] = {"query_type": "count", "query": query}
    if len(lookup.clauses) > 1:
        body |= {"max_diff_tokens": lookup.within, "max_clause_freq": CLAUSE_SAMPLE}
    if lookup.documents:
        body |= {"query_type": "search_docs", "maxnum": lookup.documents, "max_disp_len": SHOWN_TOKENS}
    return body


def _join_spans(document: Mapping[str, Any]) -> str:
    """Join the text of a document, which is returned in spans."""
    return "".join(str(text) for text, *_ in document["spans"])
