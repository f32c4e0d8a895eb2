"""Take a majority vote over the samples of a scorer."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import grouped
from winokit.results import decide


def majority_name(model: str, samples: int) -> str:
    """Name of a majority vote over samples of a model."""
    return f"{model}, majority of {samples}"


def majority_predictions(predictions: Sequence[Prediction]) -> Iterator[Prediction]:
    """Yield majority votes over the samples of each scorer with several.

    Abstentions cast no vote, and a tie is an abstention. A vote that is among the predictions already, as in a run
    that is read as predictions, is not taken again.
    """
    scorers = {(row.model, row.scoring) for row in predictions}
    sampled = [row for row in predictions if row.sample is not None]
    by_scorer = grouped(((row.model, row.scoring), row) for row in sampled)
    for (model, scoring), rows in by_scorer.items():
        count = 1 + max(row.sample or 0 for row in rows)
        name = majority_name(model, count)
        if (name, scoring) not in scorers:
            ballots = grouped(((row.variant, row.id), row) for row in rows)
            yield from (elected(name, votes) for votes in ballots.values())


def refuse_samples(predictions: Sequence[Prediction], verb: str) -> None:
    """Raise BadInput if predictions have several samples.

    `verb` takes one answer only, and is named in the error.
    """
    sampled = next((row for row in predictions if row.sample is not None), None)
    if sampled is not None:
        samples = [row.sample or 0 for row in predictions if row.model == sampled.model]
        count = 1 + max(samples)
        raise BadInput(
            f"{sampled.model}: expected one answer to each problem, found {count} samples, which {verb} cannot take: "
            "leave out ?n=, or audit them"
        )


def elected(name: str, votes: Sequence[Prediction]) -> Prediction:
    """Prediction of the majority of votes, under the name of a model.

    Abstentions cast no vote, and a tie is an abstention. Its scores are shares of the votes cast, or None if no vote
    has scores.
    """
    first = replace(votes[0], model=name, sample=None, scores=None, prediction=None)
    cast = [vote.prediction for vote in votes if vote.prediction is not None]
    if not cast:
        return replace(first, why="no sample answered")
    sizes = [len(vote.scores) for vote in votes if vote.scores is not None]
    candidate_count = sizes[0] if sizes else max(cast) + 1
    candidates = range(max(candidate_count, 2))
    shares = tuple(cast.count(index) / len(cast) for index in candidates)
    prediction, reason = decide(shares)
    return replace(first, scores=shares if sizes else None, prediction=prediction, why=reason)
