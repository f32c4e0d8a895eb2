"""Choices between whole texts are scored per text, token or character, and scorings that need a blank refuse them."""

import pytest
from support.fake import FakeModel
from support.scoring import score

from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import SCORINGS, Setting
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.methods.transforms.variants import make_variants
from winokit.methods.transforms.views import judgements
from winokit.models.base import Continuation, Piece, PseudoLikelihood, Reply
from winokit.models.random_model import RandomModel
from winokit.problem import NO_BLANK, Dataset, Problem
from winokit.results import TIE

CATS = Problem.whole(["The cats sleeps.", "The cats all sleep."], 1)
BLANK = Problem("The cup fell because ", " was wet.", ("the cup", "the tray"), 0)


def pieces_of(*logprobs):
    """Pieces of one character each that have these log-probabilities."""
    return tuple(Piece(index, index + 1, logprob) for index, logprob in enumerate(logprobs))


ANSWERS = {
    Continuation("", "The cats sleeps."): pieces_of(-1, -2, -3),
    Continuation("", "The cats all sleep."): pieces_of(-1, -1, -2, -3),
}


@pytest.mark.parametrize(
    ("scoring", "scores"),
    [
        (None, (-6, -7)),
        ("full", (-6, -7)),
        ("full?per=token", (-2, -1.75)),
        ("full?per=character", (-6 / 16, -7 / 19)),
    ],
)
def test_a_causal_model_reads_whole_texts_to_the_letter(scoring, scores):
    (prediction,) = score(Dataset([CATS]), FakeModel(ANSWERS), ScoringPlan(scoring))
    assert prediction.scores == scores
    assert prediction.scoring == (scoring or "full")


@pytest.mark.parametrize(("scoring", "scores"), [(None, (-6, -7)), ("pseudo-likelihood?per=token", (-2, -1.75))])
def test_a_masked_model_gives_whole_texts_their_pseudo_likelihood(scoring, scores):
    answers = {}
    for request, pieces in ANSWERS.items():
        answers[PseudoLikelihood(request.text, 0, len(request.text))] = pieces
    (prediction,) = score(Dataset([CATS]), FakeModel(answers, "masked"), ScoringPlan(scoring))
    assert prediction.scores == scores


def test_a_unit_that_nobody_knows_is_refused_before_the_model_is_asked():
    model = FakeModel(ANSWERS)
    with pytest.raises(UnknownName, match="word"):
        score(Dataset([CATS]), model, ScoringPlan("full?per=word"))
    assert not model.asked


def test_a_chat_model_is_asked_which_text_is_acceptable_in_both_orders():
    requests = SCORINGS["ask"].ask(CATS, Setting("chat"))
    option_lines = [request.prompt.split("\n")[1:3] for request in requests]
    assert option_lines == [
        ["A. The cats sleeps.", "B. The cats all sleep."],
        ["A. The cats all sleep.", "B. The cats sleeps."],
    ]
    for request in requests:
        assert "_" not in request.prompt
        assert "Text:" not in request.prompt


def test_the_same_letter_for_whole_texts_in_both_orders_is_a_tie():
    requests = SCORINGS["ask"].ask(CATS, Setting("chat"))
    model = FakeModel(dict.fromkeys(requests, Reply((-1.0, -2.0), None, "A")), "chat")
    (prediction,) = score(Dataset([CATS]), model)
    assert prediction.why == TIE


@pytest.mark.parametrize("name", sorted(name for name in SCORINGS if SCORINGS[name].needs_blank))
def test_scorings_that_need_a_blank_say_so(name):
    model = RandomModel("random", 0)
    plan = ScoringPlan(name)
    with pytest.raises(BadInput, match="needs a blank, and these problems are whole texts"):
        score(Dataset([CATS]), model, plan)
    whole_text, _ = score(Dataset([CATS, BLANK]), model, plan)
    assert whole_text.why == NO_BLANK


def test_whole_texts_are_put_into_nothing():
    with pytest.raises(BadInput, match="--set substitution: whole texts"):
        score(Dataset([CATS]), FakeModel(ANSWERS), ScoringPlan(substitution="natural"))


def test_whole_texts_are_judged_yes_or_no_by_nobody():
    questions = judgements(Dataset([CATS, BLANK]))
    assert len(questions) == 2
    assert questions.notes == (f"1 not judged: {NO_BLANK}",)


def test_where_nothing_follows_any_blank_a_causal_model_scores_whole_texts():
    copa = Problem("It rained so ", "", ("we got wet.", "we got dry."), 0)
    answers = {
        Continuation("", "It rained so we got wet."): pieces_of(-1.0),
        Continuation("", "It rained so we got dry."): pieces_of(-2.0),
    }
    (prediction,) = score(Dataset([copa]), FakeModel(answers))
    assert prediction.scoring == "full"
    assert prediction.prediction == 0


def test_every_variant_but_the_reversed_one_leaves_whole_texts_out():
    variants = dict(make_variants(Dataset([CATS, BLANK])))
    reversed_variant = variants.pop("reversed")
    assert reversed_variant.problems[0].candidates == CATS.candidates[::-1]
    assert variants
    for variant in variants.values():
        assert variant.refused[CATS.id] == NO_BLANK
    assert list(make_variants(Dataset([CATS]))) == ["reversed"]
