"""Choices between whole texts: what is asked about them, per text, token or character, and what needs a blank."""

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


def said(*logprobs):
    return tuple(Piece(i, i + 1, value) for i, value in enumerate(logprobs))


ANSWERS = {
    Continuation("", "The cats sleeps."): said(-1, -2, -3),
    Continuation("", "The cats all sleep."): said(-1, -1, -2, -3),
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
    (made,) = score(Dataset([CATS]), FakeModel(ANSWERS), ScoringPlan(scoring))
    assert made.scores == scores
    assert made.scoring == (scoring or "full")


@pytest.mark.parametrize(("scoring", "scores"), [(None, (-6, -7)), ("pseudo-likelihood?per=token", (-2, -1.75))])
def test_a_masked_model_gives_whole_texts_their_pseudo_likelihood(scoring, scores):
    answers = {PseudoLikelihood(asked.text, 0, len(asked.text)): answer for asked, answer in ANSWERS.items()}
    (made,) = score(Dataset([CATS]), FakeModel(answers, "masked"), ScoringPlan(scoring))
    assert made.scores == scores


def test_a_unit_that_nobody_knows_is_refused_before_the_model_is_asked():
    model = FakeModel(ANSWERS)
    with pytest.raises(UnknownName, match="word"):
        score(Dataset([CATS]), model, ScoringPlan("full?per=word"))
    assert not model.asked


def test_a_chat_model_is_asked_which_text_is_acceptable_in_both_orders():
    asked = SCORINGS["ask"].ask(CATS, Setting("chat"))
    assert [request.prompt.split("\n")[1:3] for request in asked] == [
        ["A. The cats sleeps.", "B. The cats all sleep."],
        ["A. The cats all sleep.", "B. The cats sleeps."],
    ]
    assert all("_" not in request.prompt and "Text:" not in request.prompt for request in asked)
    answers = {request: Reply((-1.0, -2.0), None, "A") for request in asked}
    (made,) = score(Dataset([CATS]), FakeModel(answers, "chat"))
    assert made.why == TIE


@pytest.mark.parametrize("name", sorted(name for name in SCORINGS if SCORINGS[name].needs_blank))
def test_scorings_that_need_a_blank_say_so(name):
    with pytest.raises(BadInput, match="needs a blank, and these problems are whole texts"):
        score(Dataset([CATS]), RandomModel("random", 0), ScoringPlan(name))
    mixed = score(Dataset([CATS, BLANK]), RandomModel("random", 0), ScoringPlan(name))
    assert mixed[0].why == NO_BLANK


def test_whole_texts_are_put_into_nothing_and_judged_yes_or_no_by_nobody():
    with pytest.raises(BadInput, match="--set substitution: whole texts"):
        score(Dataset([CATS]), FakeModel(ANSWERS), ScoringPlan(substitution="natural"))
    judged = judgements(Dataset([CATS, BLANK]))
    assert (len(judged), judged.notes) == (2, (f"1 not judged: {NO_BLANK}",))


def test_where_nothing_follows_any_blank_a_causal_model_scores_whole_texts():
    copa = Problem("It rained so ", "", ("we got wet.", "we got dry."), 0)
    texts = ["It rained so we got wet.", "It rained so we got dry."]
    answers = {Continuation("", text): said(-1.0 - at) for at, text in enumerate(texts)}
    (made,) = score(Dataset([copa]), FakeModel(answers))
    assert (made.scoring, made.prediction) == ("full", 0)


def test_every_variant_but_the_reversed_one_leaves_whole_texts_out():
    variants = make_variants(Dataset([CATS, BLANK]))
    assert variants["reversed"].problems[0].candidates == CATS.candidates[::-1]
    others = {name: variant for name, variant in variants.items() if name != "reversed"}
    assert others
    assert all(variant.refused[CATS.id] == NO_BLANK for variant in others.values())
    assert list(make_variants(Dataset([CATS]))) == ["reversed"]
