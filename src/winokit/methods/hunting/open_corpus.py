"""A corpus as users name it: an index's file, or the address of an OpenSearch or Elasticsearch index."""

from __future__ import annotations

from winokit.methods.hunting.search import Corpus


def open_corpus(place: str) -> Corpus:
    """The corpus at a place."""
    if place.startswith(("http://", "https://")):
        from winokit.methods.hunting.opensearch import OpenSearch

        return OpenSearch(place)
    from winokit.methods.hunting.index import SentenceIndex

    return SentenceIndex(place)
