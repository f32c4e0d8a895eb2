"""Settings for asking models, for every verb that does."""

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
    """Settings for asking models.

    Verbs take the settings of each part by their own names: `dry_run=True` is
    `asking=Asking(spending=Spending(dry_run=True))`.
    """

    plan: Annotated[ScoringPlan, Without("scoring")] = ScoringPlan()
    spending: Spending = Spending()
    cluster: ClusterSettings = ClusterSettings()
    cache: CacheFile = None

    def opened(self) -> AbstractContextManager[Cache]:
        """Open the answer cache, with a ledger for these limits."""
        return open_cache(self.cache, self.spending)

    @contextmanager
    def loaded(self, model: ModelLike) -> Iterator[Model]:
        """Load a model inside the context, and release it at the end.

        So two large models are never in memory together. A model that was given as an object stays loaded.
        """
        source = as_model(model)
        loaded = self._load_by_engine(source)
        try:
            yield loaded
        finally:
            if loaded is not source:
                release(loaded)

    def _load_by_engine(self, model: str | Model) -> Model:
        """Load a model on this machine, or as copies on a cluster."""
        if self.cluster.engine == "local":
            return load_model(model)
        from winokit.methods.scoring.ray_model import load_on

        return load_on(model, self.cluster)
