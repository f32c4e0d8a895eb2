"""A text beyond a model's context is an abstention, and the other problems are scored as if it were not there."""

import pytest
from support.fake import FakeModel
from support.scoring import score

from winokit.errors import BadInput
from winokit.methods.scoring.cache import Cache, answer_all, encode
from winokit.methods.scoring.features import embed
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.base import Continuation, Embed, Piece, Refusal
from winokit.models.ensemble import EnsembleModel
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem

CUP = Problem("The cup hit the tray because ", " slid.", ("the cup", "the tray"), 0, "it")
LONG = CUP.replace(before="The cup fell. " * 300 + CUP.before)
WHY = "1,212 tokens; the model reads at most 512"
FIRST = Continuation(f"{CUP.before}{CUP.candidates[0]}", " slid.")
SECOND = Continuation(f"{CUP.before}{CUP.candidates[1]}", " slid.")
TEXTS = [FIRST, SECOND]


def pieces_of(logprob: float) -> tuple[Piece, ...]:
    """The pieces of " slid." with this log-probability."""
    return (Piece(0, 6, logprob),)


def test_a_long_text_is_an_abstention_and_the_others_are_scored(twins):
    model = load_model("builtin")
    predictions = score(twins, model)
    (*others, refused) = score(twins.with_problems([*twins, LONG]), model)
    assert others == predictions
    assert refused.scores is None
    assert refused.prediction is None
    assert refused.why == WHY


def test_a_long_text_has_no_vector_and_the_error_names_its_problem(twins):
    with pytest.raises(BadInput, match=rf"^problem {LONG.id} has no vector: 1,212 tokens; the model reads at most 512"):
        embed(twins.with_problems([*twins, LONG]), load_model("builtin"))


def test_a_refusal_is_not_kept_and_is_asked_again(tmp_path):
    answers = {FIRST: Refusal(WHY), SECOND: pieces_of(-1.0)}
    model = FakeModel(answers)
    with Cache(tmp_path / "answers.sqlite") as cache:
        assert answer_all(model, TEXTS, cache) == answers
        answer_all(model, TEXTS, cache)
    assert model.asked == [FIRST, SECOND, FIRST]


def test_a_refusal_cannot_be_written_to_the_cache():
    with pytest.raises(TypeError):
        encode(Refusal(WHY))


@pytest.mark.parametrize("combine", ["probability", "logprob"])
def test_what_one_member_cannot_read_the_ensemble_cannot(combine):
    reader = FakeModel({FIRST: pieces_of(-1.0), SECOND: pieces_of(-1.0)})
    refuser = FakeModel({FIRST: Refusal(WHY), SECOND: pieces_of(-2.0)})
    ensemble = EnsembleModel("e", [reader, refuser], combine)
    (prediction,) = score(Dataset([CUP]), ensemble, ScoringPlan("partial"))
    assert prediction.prediction is None
    assert prediction.why == WHY


def test_a_vote_is_counted_without_the_member_that_cannot_read_it():
    reader = FakeModel({FIRST: pieces_of(-1.0), SECOND: pieces_of(-9.0)})
    refuser = FakeModel(dict.fromkeys(TEXTS, Refusal(WHY)))
    ensemble = EnsembleModel("e", [reader, refuser], "vote")
    (prediction,) = score(Dataset([CUP]), ensemble, ScoringPlan("partial"))
    assert prediction.prediction == 0
    assert prediction.scores == (1.0, 0.0)


def test_an_embedding_that_is_refused_stops_before_anything_is_written(twins):
    requests = [Embed(problem.sentence, "first") for problem in twins]
    model = FakeModel(dict.fromkeys(requests, Refusal(WHY)))
    with pytest.raises(BadInput, match="has no vector"):
        embed(twins, model, features="single")
