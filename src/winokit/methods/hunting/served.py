"""Models whose corpus is behind a server: asked, dated, counted and limited as other served models are."""

from collections.abc import Iterator, Sequence
from itertools import chain

from winokit.methods.hunting.ngram_corpus import LookupsExhausted, NgramCorpus
from winokit.models.base import Answer, Choose, Lookup, Request, Usage
from winokit.models.identity import ServerIdentity

TOGETHER = 16
"""Problems whose queries are sent together: as many answers at most are lost when a run is stopped."""


class ServedByCorpus:
    """Mixin for models whose corpus is behind a server.

    A model adds `lookups_for`.
    """

    corpus: NgramCorpus

    @property
    def usage(self) -> Usage:
        """Counts of requests to the server."""
        return self.corpus.index.usage

    def identify(self) -> ServerIdentity:
        """Identity of the corpus, as the server states it."""
        return self.corpus.index.identify()

    def lookups_for(self, request: Choose) -> list[Lookup]:
        """Lookups on the server that scoring a problem needs."""
        raise NotImplementedError

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """Texts sent to the server for a request.

        Each has 0, since the server writes no tokens.
        """
        lookups = self.lookups_for(request) if isinstance(request, Choose) else []
        return list(chain.from_iterable(map(self.corpus.index.sends, lookups)))

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Make the lookups of several problems together, then score each.

        Yields the index of a request and its scores. It ends early if a limit on requests is reached.
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
