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
PART_OF_SLID = Piece(3, 5, math.log(0.2))
TOKENS = (Piece(0, 3, math.log(0.5)), PART_OF_SLID, Piece(5, 10, math.log(0.8)), Piece(10, 11, math.log(0.5)))
CUP = Problem("The cup hit the tray because ", " slid.", ("the cup", "the tray"), 0, "it")


def combine_answers(way):
    """Pieces of two members that read the same words in different tokens, combined in some way."""
    members = [FakeModel({REQUEST: WORDS}), FakeModel({REQUEST: TOKENS})]
    ensemble = EnsembleModel("e", members, way)
    ((_, pieces),) = ensemble.answer([REQUEST])
    return pieces


def probabilities_of(pieces):
    return [math.exp(piece.logprob) for piece in pieces]


def test_the_mean_of_word_probabilities_is_taken_before_the_product():
    pieces = combine_answers("probability")
    spans = [(piece.start, piece.end) for piece in pieces]
    mean_of_first = (0.5 + 0.1) / 2
    mean_of_second = (0.2 + 0.4) / 2
    assert probabilities_of(pieces) == pytest.approx([mean_of_first, mean_of_second])
    assert spans == [(0, 5), (5, 11)]


def test_the_mean_of_log_probabilities_is_the_geometric_one():
    pieces = combine_answers("logprob")
    assert probabilities_of(pieces) == pytest.approx([math.sqrt(0.05), math.sqrt(0.08)])


def test_unlikely_words_do_not_underflow():
    pieces = (Piece(0, 11, -2000.0),)
    member = FakeModel({REQUEST: pieces})
    ensemble = EnsembleModel("e", [member, member])
    ((_, (piece, *_)),) = ensemble.answer([REQUEST])
    assert piece.logprob == pytest.approx(-2000)


def make_voter(logprob_of_cup, logprob_of_tray):
    """Make a model that gives the rest of the sentence these log-probabilities after each candidate."""
    after_cup = Continuation("The cup hit the tray because the cup", " slid.")
    after_tray = Continuation("The cup hit the tray because the tray", " slid.")
    pieces_of_cup = (Piece(0, 6, logprob_of_cup),)
    pieces_of_tray = (Piece(0, 6, logprob_of_tray),)
    return FakeModel({after_cup: pieces_of_cup, after_tray: pieces_of_tray})


def predict_by_vote(members):
    """Prediction of an ensemble that votes on the one problem."""
    (prediction,) = score(Dataset([CUP]), EnsembleModel("e", members, "vote"), ScoringPlan("partial"))
    return prediction


LIKES_CUP = make_voter(-1, -9)
LIKES_TRAY = make_voter(-2, -1)


def test_votes_are_counted():
    prediction = predict_by_vote([LIKES_CUP, LIKES_TRAY, LIKES_TRAY])
    assert prediction.scores == (1 / 3, 2 / 3)
    assert prediction.prediction == 1


def test_a_split_vote_is_a_tie():
    prediction = predict_by_vote([LIKES_CUP, LIKES_TRAY])
    assert prediction.prediction is None
    assert prediction.why == "a tie"


def test_members_that_share_nothing_are_refused():
    continuer = FakeModel({REQUEST: WORDS})
    filler = FakeModel({Fill("a", "b", "c"): WORDS})
    with pytest.raises(BadInput, match="no kind of answer in common"):
        EnsembleModel("e", [continuer, filler])


def test_an_ensemble_is_loaded_from_its_spec():
    model = load_model("ensemble:random+random?combine=logprob")
    assert len(model.members) == 2
    assert model.combine == "logprob"
    assert model.spec == "ensemble:random+random?combine=logprob"
    assert model.combine == "logprob"


def test_an_ensemble_has_two_members_at_least():
    with pytest.raises(BadInput, match="two or more models"):
        load_model("ensemble:random")


def test_an_unknown_way_to_combine_is_refused():
    with pytest.raises(UnknownName, match="Known: logprob, probability, vote"):
        load_model("ensemble:random+random?combine=mean")


def test_the_fingerprint_names_every_member():
    by_default = load_model("ensemble:random+random")
    by_logprob = load_model("ensemble:random+random?combine=logprob")
    assert by_default.fingerprint != by_logprob.fingerprint
