"""What can be asked of a corpus of sentences, whatever keeps it: an index of ours, OpenSearch, or a list in a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that follow each other. They are cut and lower-cased by whatever keeps the corpus."""

    text: str


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of some phrases: the forms of a word, or its synonyms."""

    phrases: tuple[Phrase, ...]


@dataclass(frozen=True, slots=True)
class Near:
    """Two phrases with at most `within` words between them, in either order."""

    one: AnyOf
    other: AnyOf
    within: int


@dataclass(frozen=True, slots=True)
class AllOf:
    """Everything in one sentence."""

    parts: tuple[Phrase | AnyOf | Near, ...]


Query: TypeAlias = Phrase | AnyOf | Near | AllOf


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence found, and the file it came from where that is known."""

    text: str
    source: str | None = None


class Corpus(Protocol):
    """Anything that finds and counts sentences."""

    @property
    def name(self) -> str:
        """How the user named it."""

    @property
    def fingerprint(self) -> str:
        """Everything that determines what is found."""

    @property
    def sentences(self) -> int:
        """How many there are."""

    def search(self, query: Query, limit: int) -> list[Hit]:
        """The best sentences for a query, best first."""

    def count(self, query: Query) -> int:
        """In how many sentences a query is found."""

    def count_before(self, first: AnyOf, then: AnyOf, within: int) -> int:
        """How often one phrase comes before another, with at most `within` words from one to the other."""


def any_of(texts: Sequence[str]) -> AnyOf:
    """One of some phrases, each named once, in order."""
    return AnyOf(tuple(Phrase(text) for text in dict.fromkeys(texts)))


def open_corpus(place: str) -> Corpus:
    """The corpus at a place: an index's file, or the address of an OpenSearch or Elasticsearch index."""
    if place.startswith(("http://", "https://")):
        from winokit.methods.hunting.opensearch import OpenSearch

        return OpenSearch(place)
    from winokit.methods.hunting.index import SentenceIndex

    return SentenceIndex(place)
