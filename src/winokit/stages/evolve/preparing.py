"""From a previous release and the names of models to a new version: everything `winokit release --previous` needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache
from winokit.problem import Dataset
from winokit.progress import Progress
from winokit.stages.debias.features import embedded
from winokit.stages.evolve.answers import EvolveAnswers, answers_of
from winokit.stages.evolve.pool import EvolvePool, pool_of
from winokit.stages.evolve.run import Evolution, EvolveSettings, evolve

AFLITE = "aflite:"


@dataclass(frozen=True)
class EvolveModels:
    """Who is asked. Each is a SPEC, a file of predictions for the problems asked, or `aflite:SPEC` for its features."""

    against: Sequence[str]
    watched: Sequence[str] = ()
    """Shown beside the others, and not filtered against."""
    scoring: str | None = None


def evolved(
    previous: Path,
    offered: Dataset,
    models: EvolveModels,
    settings: EvolveSettings,
    *,
    removed: Dataset | None = None,
    hidden: Path | None = None,
    bring_back: bool = False,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> Evolution:
    """Make the next version of a release: `offered` are the problems to enter it, `removed` those for training alone.

    Nothing is asked of a model twice where there is a cache, so that an interrupted run goes on.
    """
    pool = pool_of(previous, offered, removed, hidden=hidden, bring_back=bring_back)
    if not len(pool.asked):
        raise BadInput(f"{previous}: neither dev nor test, and nothing new offered: there is nothing to filter")
    specs = [name.removeprefix(AFLITE) for name in models.against if name.startswith(AFLITE)]
    return evolve(
        pool,
        _answers(pool, [name for name in models.against if not name.startswith(AFLITE)], models, cache, progress),
        settings,
        embeddings=[embedded(pool.asked, spec, cache=cache, progress=progress) for spec in specs],
        watched=_answers(pool, models.watched, models, cache, progress),
        previous=previous,
    )


def _answers(
    pool: EvolvePool, names: Sequence[str], models: EvolveModels, cache: Cache | None, progress: Progress | None
) -> list[EvolveAnswers]:
    found = [
        one
        for name in names
        for one in answers_of(pool.asked, name, scoring=models.scoring, cache=cache, progress=progress)
    ]
    twice = {one.model for one in found if [other.model for other in found].count(one.model) > 1}
    if twice:
        raise BadInput(f"{sorted(twice)[0]} is named twice; two answers of one model are not two models")
    return found
