"""Models whose corpus is behind a server: asked, dated, counted and limited as other served models are."""

from collections.abc import Iterator, Sequence
from itertools import chain

from winokit.methods.hunting.ngram_corpus import LookupsExhausted, NgramCorpus
from winokit.models.base import Answer, Choose, Lookup, Request, Usage
from winokit.models.identity import ServerIdentity

TOGETHER = 16
"""Problems whose queries are sent together: as many answers at most are lost when a run is stopped."""


class ServedByCorpus:
    """The shared part of models that look things up in a served corpus.

    Each model adds its own rule.
    """

    corpus: NgramCorpus

    @property
    def usage(self) -> Usage:
        """Requests to the server, counted."""
        return self.corpus.index.usage

    def identify(self) -> ServerIdentity:
        """The corpus as the server describes it."""
        return self.corpus.index.identify()

    def lookups_for(self, request: Choose) -> list[Lookup]:
        """The lookups that a problem takes."""
        raise NotImplementedError

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """The queries that a request needs. The server writes no tokens."""
        lookups = self.lookups_for(request) if isinstance(request, Choose) else []
        return list(chain.from_iterable(map(self.corpus.index.sends, lookups)))

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Look up what several problems need, then judge each.

        A limit on requests ends it.
        """
        for first in range(0, len(requests), TOGETHER):
            batch = requests[first : first + TOGETHER]
            problems = [request for request in batch if isinstance(request, Choose)]
            self.corpus.look_up(chain.from_iterable(map(self.lookups_for, problems)))
            try:
                for place, answer in super().answer(batch):  # type: ignore[misc]
                    yield first + place, answer
            except LookupsExhausted:
                return
