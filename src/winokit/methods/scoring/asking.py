"""How models are asked, whichever verb asks: what they are told, where they run, what it may cost, what is kept."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Annotated

from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring.cache import Cache, CacheFile, open_cache
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.base import Model
from winokit.models.registry import ModelLike, as_model, load_model, release
from winokit.settings import Settings, Without


@dataclass(frozen=True)
class Asking(Settings):
    """How models are asked.

    Verbs take the settings of each part by their own names: `dry_run=True` is
    `asking=Asking(spending=Spending(dry_run=True))`.
    """

    plan: Annotated[ScoringPlan, Without("scoring")] = ScoringPlan()
    spending: Spending = Spending()
    cluster: ClusterSettings = ClusterSettings()
    cache: CacheFile = None

    def opened(self) -> AbstractContextManager[Cache]:
        """The cache, with a ledger of what is spent."""
        return open_cache(self.cache, self.spending)

    @contextmanager
    def loaded(self, model: ModelLike) -> Iterator[Model]:
        """The model where the engine has it, released at the end.

        So two large models are never in memory together. A model that was given as an object stays loaded.
        """
        given = as_model(model)
        loaded = self._load(given)
        try:
            yield loaded
        finally:
            if loaded is not given:
                release(loaded)

    def _load(self, model: str | Model) -> Model:
        """The model here, or as copies on a cluster."""
        if self.cluster.engine == "local":
            return load_model(model)
        from winokit.methods.scoring.ray_model import load_on

        return load_on(model, self.cluster)
