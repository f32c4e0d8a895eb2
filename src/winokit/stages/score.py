"""`winokit score`: a score for each candidate of each problem."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from winokit.answers import ORIGINAL
from winokit.data.loading import Data, Limited, Loading, load_shots
from winokit.drawing.tables import Lines, plan_lines
from winokit.methods.cluster import ClusterSettings
from winokit.methods.scoring import scorer
from winokit.methods.scoring.base import default_scoring, unread_languages
from winokit.methods.scoring.cache import CacheFile, open_cache
from winokit.methods.scoring.ledger import Spending
from winokit.methods.scoring.ray_model import load_on
from winokit.methods.scoring.replay import replay_sentences
from winokit.methods.scoring.transcripts import Transcript, reply_notes
from winokit.models.base import notes_of
from winokit.models.registry import ModelSpec, as_model
from winokit.progress import Progress, tell
from winokit.results import Brief
from winokit.settings import Help, verb


@dataclass(frozen=True, repr=False)
class Scored(Brief):
    """One prediction per problem, and where they were written."""

    predictions: list[scorer.Prediction]
    out: Path | None
    notes: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None
    """Of a dry run: what would be asked."""
    replayed: Mapping[str, Any] = field(default_factory=dict)
    """By model, counts and dates of answers that come from the cache."""

    def __iter__(self) -> Iterator[scorer.Prediction]:
        return iter(self.predictions)


@verb
def score(
    data: Data,
    model: ModelSpec = "builtin",
    *,
    plan: scorer.ScoringPlan = scorer.ScoringPlan(),
    spending: Spending = Spending(),
    cluster: ClusterSettings = ClusterSettings(),
    out: Annotated[
        str | Path | None, Help("Where to write the predictions.", otherwise=Path("predictions.jsonl"))
    ] = None,
    loading: Limited = Loading(),
    cache: CacheFile = None,
    progress: Progress | None = None,
) -> Scored:
    """Score every problem with a model and write predictions.jsonl.

    Answers are kept as they come: after an interruption, the same command continues.
    """
    file = None if out is None else Path(out)
    if file is not None:
        scorer.check_replaceable(file)
    dataset, loaded = loading.one(data), load_on(as_model(model), cluster)
    early, said = notes_of(loaded), list[Transcript]()
    tell((*early, *unread_languages([loaded.spec], dataset)))
    plan, asked = load_shots(plan, dataset), plan.scoring or default_scoring(loaded, dataset)
    with open_cache(cache, spending) as known, known.ledger.under(loaded.spec, asked, ORIGINAL):
        predictions = scorer.score_variants(
            {ORIGINAL: dataset}, loaded, plan, cache=known, progress=progress, transcripts=said
        )
    if spending.dry_run:
        return Scored([], None, dataset.notes, known.ledger.planned({}))
    if file is not None:
        scorer.write_predictions(predictions, file)
    replays = known.ledger.replays
    notes = (*dataset.notes, *notes_of(loaded), *reply_notes(said), *known.ledger.notes, *replays.notes)
    told = {*early, *replays.notes}  # those of the second kind beside the result, by `lines`
    tell(note for note in notes if note not in told)
    return Scored(predictions, file, notes, replayed=replays.to_json())


def as_json(result: Scored) -> dict[str, Any]:
    """How many problems were answered, and how many right; of a dry run, what would be asked."""
    if result.plan is not None:
        return dict(result.plan)
    labelled = [row for row in result.predictions if row.answer is not None]
    return {
        "out": result.out and str(result.out),
        "model": result.predictions[0].model,
        "scoring": result.predictions[0].scoring,
        "problems": len(result.predictions),
        "answered": sum(row.prediction is not None for row in result.predictions),
        "right": sum(row.is_right for row in labelled),
        "labelled": len(labelled),
        "close_calls": scorer.close_calls(result.predictions),
        "replayed": dict(result.replayed),
    }


def lines(result: Scored) -> Lines:
    """The same for a person."""
    if result.plan is not None:
        yield from plan_lines(result.plan)
        return
    counts = as_json(result)
    yield "{problems:,} predictions by {model} ({scoring}) written to {out}".format(**counts)
    if counts["labelled"]:
        yield "{right:,} of {labelled:,} right ({share:.1f} %)".format(
            **counts, share=100 * counts["right"] / counts["labelled"]
        )
    silent = [row for row in result.predictions if row.prediction is None]
    if silent:
        yield f"{len(silent):,} not answered; the first: {silent[0].why}"
    if counts["close_calls"]:
        yield "{close_calls:,} rest on a margin below 0.0001, which another batch size could turn".format(**counts)
    yield from replay_sentences(result.replayed)
