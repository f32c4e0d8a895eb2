"""A majority vote over the samples of a scorer: a scorer of its own, named so."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from winokit.errors import BadInput
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import grouped
from winokit.results import decide


def majority_name(model: str, samples: int) -> str:
    """The name of a majority vote over samples of a model."""
    return f"{model}, majority of {samples}"


def majority_predictions(predictions: Sequence[Prediction]) -> Iterator[Prediction]:
    """The vote of the samples of each scorer that has several.

    Abstentions cast no vote, and a tie is an abstention. A vote that is among the predictions already is not taken
    again, as of a run that is read as predictions.
    """
    scorers = {(row.model, row.scoring) for row in predictions}
    sampled = [row for row in predictions if row.sample is not None]
    for (model, scoring), rows in grouped(((row.model, row.scoring), row) for row in sampled).items():
        count = 1 + max(row.sample or 0 for row in rows)
        name = majority_name(model, count)
        if (name, scoring) not in scorers:
            ballots = grouped(((row.variant, row.id), row) for row in rows)
            yield from (elected(name, votes) for votes in ballots.values())


def refuse_samples(predictions: Sequence[Prediction], verb: str) -> None:
    """Refuse several samples, for a verb that takes one answer."""
    sampled = next((row for row in predictions if row.sample is not None), None)
    if sampled is not None:
        count = 1 + max(row.sample or 0 for row in predictions if row.model == sampled.model)
        raise BadInput(
            f"{sampled.model}: expected one answer to each problem, found {count} samples, which {verb} cannot take: "
            "leave out ?n=, or audit them"
        )


def elected(name: str, votes: Sequence[Prediction]) -> Prediction:
    """The prediction of a majority, with shares of votes for scores."""
    first = replace(votes[0], model=name, sample=None, scores=None, prediction=None)
    cast = [vote.prediction for vote in votes if vote.prediction is not None]
    if not cast:
        return replace(first, why="no sample answered")
    sizes = [len(vote.scores) for vote in votes if vote.scores is not None]
    places = max(cast) + 1 if not sizes else sizes[0]
    shares = tuple(cast.count(place) / len(cast) for place in range(max(places, 2)))
    prediction, why = decide(shares)
    return replace(first, scores=shares if sizes else None, prediction=prediction, why=why)
