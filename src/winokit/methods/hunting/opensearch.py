"""The same queries against an OpenSearch or Elasticsearch index, for corpora beyond one machine.

The index has one document a sentence, its text in the field `text` (or `#FIELD` at the end of the address). Nearness
and order are asked for with *intervals* queries, which both servers have. A user and password may stand in the address.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import urldefrag

import httpx

from winokit.errors import BadInput
from winokit.methods.hunting.search import AllOf, AnyOf, Hit, Near, Query

TIMEOUT = 60.0


class OpenSearch:
    """An index on a server, as a corpus."""

    def __init__(self, address: str) -> None:
        url, field = urldefrag(address)
        try:
            self._url = httpx.URL(url.rstrip("/"))
        except httpx.InvalidURL as error:
            raise BadInput(f"{address}: not an address ({error})") from None
        self.field = field or "text"
        if self._url.path in ("", "/"):
            raise BadInput(f"{address}: the address of an index expected, as in http://localhost:9200/corpus")
        self.name = str(self._url.copy_with(username=None, password=None))
        self._client = httpx.Client(timeout=TIMEOUT)
        about: Any = next(iter(self._ask("GET", "").values()), None)
        uuid = about.get("settings", {}).get("index", {}).get("uuid", "") if isinstance(about, dict) else ""
        self.sentences = int(self._ask("GET", "/_count").get("count", 0))
        if not self.sentences:
            raise BadInput(f"{self.name}: the index is empty")
        self.fingerprint = f"{self.name}#{self.field} {uuid} {self.sentences}"
        self.count = lru_cache(100_000)(lambda query: self._counted(dsl(query, self.field)))
        self.count_before = lru_cache(100_000)(self._count_before)

    def search(self, query: Query, limit: int) -> list[Hit]:
        """The server's best sentences for a query; those that say the same count once."""
        body = {"query": dsl(query, self.field), "size": limit, "_source": [self.field]}
        hits = self._ask("POST", "/_search", body).get("hits", {}).get("hits", [])
        texts = [str(hit.get("_source", {}).get(self.field, "")) for hit in hits]
        return list({text.casefold(): Hit(text, self.name) for text in texts}.values())

    def _count_before(self, first: AnyOf, then: AnyOf, within: int) -> int:
        """Within one sentence only: a server does not know which sentence comes next."""
        return self._counted({"intervals": {self.field: _all_of(first, then, within, ordered=True)}})

    def _counted(self, query: dict[str, Any]) -> int:
        return int(self._ask("POST", "/_count", {"query": query}).get("count", 0))

    def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        try:
            answer = self._client.request(method, f"{self._url}{path}", json=body)
        except httpx.HTTPError as error:
            raise BadInput(f"{self.name}: no answer ({error or type(error).__name__})") from None
        try:
            content = answer.json()
        except ValueError:
            content = None
        if answer.is_error or not isinstance(content, dict):
            complaint = content.get("error", {}) if isinstance(content, dict) else {}
            reason = complaint.get("reason", "") if isinstance(complaint, dict) else complaint
            raise BadInput(f"{self.name}: answered {answer.status_code} {reason or answer.reason_phrase}".rstrip())
        return content


def dsl(query: Query, field: str) -> dict[str, Any]:
    """A query in the servers' words."""
    match query:
        case str():
            return {"match_phrase": {field: query}}
        case AnyOf():
            return {"bool": {"should": [dsl(phrase, field) for phrase in query.phrases], "minimum_should_match": 1}}
        case Near():
            return {"intervals": {field: _all_of(query.one, query.other, query.within, ordered=False)}}
        case AllOf():
            return {"bool": {"must": [dsl(part, field) for part in query.parts]}}


def _all_of(one: AnyOf, other: AnyOf, within: int, *, ordered: bool) -> dict[str, Any]:
    return {"all_of": {"ordered": ordered, "max_gaps": within, "intervals": [_interval(one), _interval(other)]}}


def _interval(phrases: AnyOf) -> dict[str, Any]:
    matches = [{"match": {"query": phrase, "max_gaps": 0, "ordered": True}} for phrase in phrases.phrases]
    return {"any_of": {"intervals": matches}}
