"""`winokit score`: a score for each candidate of each problem."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from winokit.data.loading import Data, Limited, Loading, load_shots
from winokit.methods.scoring import scorer
from winokit.methods.scoring.asking import Asking
from winokit.methods.scoring.base import default_scoring, unread_languages
from winokit.methods.scoring.ledger import Ledger
from winokit.models.base import notes_of
from winokit.models.registry import ModelSpec
from winokit.problem import ORIGINAL, Dataset
from winokit.progress import Progress, tell
from winokit.results import Brief
from winokit.settings import Help, verb

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript


@dataclass(frozen=True, repr=False)
class Scored(Brief):
    """One prediction per problem, and the file they were written to."""

    predictions: list[scorer.Prediction]
    """The predictions in the order of the problems. Empty in a dry run."""
    out: Path | None
    """The file of the predictions. None if none was written."""
    notes: tuple[str, ...] = ()
    plan: Mapping[str, Any] | None = None
    """Of a dry run, the requests that would be made. None otherwise."""
    replayed: Mapping[str, Any] = field(default_factory=dict)
    """By model, counts and dates of answers that come from the cache."""

    def __iter__(self) -> Iterator[scorer.Prediction]:
        return iter(self.predictions)


@verb
def score(
    data: Data,
    model: ModelSpec = "builtin",
    *,
    scoring: Annotated[str | None, Help("How to score; default: depends on the kind of model.", metavar="NAME")] = None,
    asking: Asking = Asking(),
    loading: Limited = Loading(),
    out: Annotated[
        str | Path | None, Help("Where to write the predictions.", otherwise=Path("predictions.jsonl"))
    ] = None,
    progress: Progress | None = None,
) -> Scored:
    """Score every problem with a model and write predictions.jsonl.

    Answers are kept as they come: after an interruption, the same command continues.
    """
    file = None if out is None else Path(out)
    if file is not None:
        scorer.check_replaceable(file)
    dataset = loading.one(data)
    asking = replace(asking, plan=replace(asking.plan, scoring=scoring))
    answers = ask_model(dataset, model, asking, progress)
    if asking.spending.dry_run:
        return Scored([], None, dataset.notes, answers.ledger.planned({}))
    if file is not None:
        scorer.write_predictions(answers.predictions, file)
    notes = (*dataset.notes, *answers.notes)
    replays = answers.ledger.replays
    notes_shown = {*answers.early_notes, *replays.notes}  # those on replays are shown with the result
    tell(note for note in notes if note not in notes_shown)
    return Scored(answers.predictions, file, notes, replayed=replays.to_json())


@dataclass(frozen=True)
class ScoredAnswers:
    """The predictions of a model, with their ledger and notes."""

    predictions: list[scorer.Prediction]
    ledger: Ledger
    """Requests, costs, and answers that come from the cache. In a dry run, the plan."""
    early_notes: tuple[str, ...]
    """Notes that were already shown, before the model was asked."""
    notes: tuple[str, ...]
    """All notes, early ones included."""


def ask_model(dataset: Dataset, spec: ModelSpec, asking: Asking, progress: Progress | None) -> ScoredAnswers:
    """Load a model, and score all candidates of a dataset with it.

    Notes on the model are shown before it is asked. `asking` says how to score and with which cache.
    """
    transcripts: list[Transcript] = []
    with asking.loaded(spec) as model:
        early_notes = notes_of(model)
        tell((*early_notes, *unread_languages([model.spec], dataset)))
        plan = load_shots(asking.plan, dataset)
        scoring = plan.scoring or default_scoring(model, dataset)
        with asking.opened() as cache, cache.ledger.under(model.spec, scoring, ORIGINAL):
            predictions = scorer.score_variants(
                {ORIGINAL: dataset}, model, plan, cache=cache, progress=progress, transcripts=transcripts
            )
        ledger = cache.ledger
        notes = (*notes_of(model), *scorer.notes_on_replies(transcripts), *ledger.notes, *ledger.replays.notes)
    return ScoredAnswers(predictions, ledger, early_notes, notes)
