"""Models whose corpus is behind a server: asked, dated, counted and limited as other served models are."""

from collections.abc import Iterator, Sequence

from winokit.methods.hunting.ngram_corpus import LookupsExhausted, NgramCorpus
from winokit.models.base import Answer, Choose, Lookup, Request, Usage
from winokit.models.identity import ServerIdentity

TOGETHER = 16
"""Problems whose queries are sent together: as many answers at most are lost when a run is stopped."""


class ServedByCorpus:
    """What a model that looks things up in a served corpus has beside its own rule."""

    corpus: NgramCorpus

    @property
    def usage(self) -> Usage:
        """What the server was asked."""
        return self.corpus.index.usage

    def identify(self) -> ServerIdentity:
        """Which corpus the server says it has."""
        return self.corpus.index.identify()

    def lookups_for(self, request: Choose) -> list[Lookup]:
        """What is looked up for a problem."""
        raise NotImplementedError

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """What a request makes the server read; it writes no tokens."""
        lookups = self.lookups_for(request) if isinstance(request, Choose) else []
        return [text for lookup in lookups for text in self.corpus.index.sends(lookup)]

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Look up what several problems need, then judge each; a limit on requests ends it."""
        for first in range(0, len(requests), TOGETHER):
            batch = requests[first : first + TOGETHER]
            needed = [self.lookups_for(request) for request in batch if isinstance(request, Choose)]
            self.corpus.look_up([lookup for lookups in needed for lookup in lookups])
            try:
                for place, answer in super().answer(batch):  # type: ignore[misc]
                    yield first + place, answer
            except LookupsExhausted:
                return
