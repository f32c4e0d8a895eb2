import math

import pytest
from support.fake import FakeModel
from support.scoring import score

from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.models.base import Continuation, Fill, Piece
from winokit.models.ensemble import EnsembleModel
from winokit.models.registry import load_model
from winokit.problem import Dataset, Problem

REQUEST = Continuation("The cup", " slid fast.")
WORDS = (Piece(0, 5, math.log(0.5)), Piece(5, 11, math.log(0.2)))
# The same words in other tokens: " sl|id| fast|."
TOKENS = (
    Piece(0, 3, math.log(0.5)),
    Piece(3, 5, math.log(0.2)),
    Piece(5, 10, math.log(0.8)),
    Piece(10, 11, math.log(0.5)),
)


def combined(how):
    members = [FakeModel({REQUEST: WORDS}), FakeModel({REQUEST: TOKENS})]
    ((_, answer),) = EnsembleModel("e", members, how).answer([REQUEST])
    return answer


def test_the_mean_of_word_probabilities_is_taken_before_the_product():
    answer = combined("probability")
    assert [math.exp(piece.logprob) for piece in answer] == pytest.approx([(0.5 + 0.1) / 2, (0.2 + 0.4) / 2])
    assert [(piece.start, piece.end) for piece in answer] == [(0, 5), (5, 11)]


def test_the_mean_of_log_probabilities_is_the_geometric_one():
    assert [math.exp(piece.logprob) for piece in combined("logprob")] == pytest.approx(
        [math.sqrt(0.05), math.sqrt(0.08)]
    )


def test_unlikely_words_do_not_underflow():
    tiny = FakeModel({REQUEST: (Piece(0, 11, -2000.0),)})
    ((_, (piece, *_)),) = EnsembleModel("e", [tiny, tiny]).answer([REQUEST])
    assert piece.logprob == pytest.approx(-2000)


def test_votes_are_counted_and_a_split_is_a_tie():
    cup = Problem("The cup hit the tray because ", " slid.", ("the cup", "the tray"), 0, "it")
    contexts = ["The cup hit the tray because the cup", "The cup hit the tray because the tray"]

    def voter(first, second):
        answers = {Continuation(c, " slid."): (Piece(0, 6, v),) for c, v in zip(contexts, (first, second), strict=True)}
        return FakeModel(answers)

    likes_cup = voter(-1, -9)
    likes_tray = voter(-2, -1)
    (made,) = score(
        Dataset([cup]), EnsembleModel("e", [likes_cup, likes_tray, likes_tray], "vote"), ScoringPlan("partial")
    )
    assert made.scores == (1 / 3, 2 / 3)
    assert made.prediction == 1
    (tied,) = score(Dataset([cup]), EnsembleModel("e", [likes_cup, likes_tray], "vote"), ScoringPlan("partial"))
    assert tied.prediction is None
    assert tied.why == "a tie"


def test_members_that_share_nothing_are_refused():
    with pytest.raises(BadInput, match="no kind of answer in common"):
        EnsembleModel("e", [FakeModel({REQUEST: WORDS}), FakeModel({Fill("a", "b", "c"): WORDS})])


def test_an_ensemble_is_loaded_from_its_spec():
    model = load_model("ensemble:random+random?combine=logprob")
    assert len(model.members) == 2
    assert model.combine == "logprob"
    assert model.spec == "ensemble:random+random?combine=logprob"
    with pytest.raises(BadInput, match="two or more models"):
        load_model("ensemble:random")
    with pytest.raises(UnknownName, match="Known: logprob, probability, vote"):
        load_model("ensemble:random+random?combine=mean")


def test_the_fingerprint_names_every_member():
    one = load_model("ensemble:random+random")
    other = load_model("ensemble:random+random?combine=logprob")
    assert one.fingerprint != other.fingerprint
