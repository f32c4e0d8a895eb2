"""One text beyond a model's context is an abstention that says so; the others are scored as if it were not there."""

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
TEXTS = [Continuation(f"{CUP.before}{candidate}", " slid.") for candidate in CUP.candidates]


def test_a_long_text_is_an_abstention_and_the_others_are_scored(twins):
    model = load_model("builtin")
    alone = score(twins, model)
    (*beside, refused) = score(twins.with_problems([*twins, LONG]), model)
    assert beside == alone
    assert (refused.scores, refused.prediction) == (None, None)
    assert refused.why == WHY


def test_a_long_text_has_no_vector_and_the_error_names_its_problem(twins):
    with pytest.raises(BadInput, match=rf"^problem {LONG.id} has no vector: 1,212 tokens; the model reads at most 512"):
        embed(twins.with_problems([*twins, LONG]), load_model("builtin"))


def test_a_refusal_is_not_kept_and_is_asked_again(tmp_path):
    pieces = (Piece(0, 6, -1.0),)
    with Cache(tmp_path / "answers.sqlite") as cache:
        model = FakeModel({TEXTS[0]: Refusal(WHY), TEXTS[1]: pieces})
        assert answer_all(model, TEXTS, cache) == {TEXTS[0]: Refusal(WHY), TEXTS[1]: pieces}
        answer_all(model, TEXTS, cache)
    assert model.asked == [*TEXTS, TEXTS[0]]
    with pytest.raises(TypeError):
        encode(Refusal(WHY))


@pytest.mark.parametrize("combine", ["probability", "logprob"])
def test_what_one_member_cannot_read_the_ensemble_cannot(combine):
    reads = FakeModel(dict.fromkeys(TEXTS, (Piece(0, 6, -1.0),)))
    cannot = FakeModel({TEXTS[0]: Refusal(WHY), TEXTS[1]: (Piece(0, 6, -2.0),)})
    (made,) = score(Dataset([CUP]), EnsembleModel("e", [reads, cannot], combine), ScoringPlan("partial"))
    assert (made.prediction, made.why) == (None, WHY)


def test_a_vote_is_counted_without_the_member_that_cannot_read_it():
    reads = FakeModel({TEXTS[0]: (Piece(0, 6, -1.0),), TEXTS[1]: (Piece(0, 6, -9.0),)})
    cannot = FakeModel(dict.fromkeys(TEXTS, Refusal(WHY)))
    (made,) = score(Dataset([CUP]), EnsembleModel("e", [reads, cannot], "vote"), ScoringPlan("partial"))
    assert (made.prediction, made.scores) == (0, (1.0, 0.0))


def test_an_embedding_that_is_refused_stops_before_anything_is_written(twins):
    requests = [Embed(text, "first") for problem in twins for text in (problem.sentence,)]
    model = FakeModel(dict.fromkeys(requests, Refusal(WHY)))
    with pytest.raises(BadInput, match="has no vector"):
        embed(twins, model, features="single")
