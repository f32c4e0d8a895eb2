"""Each scoring against numbers a person can check, and all of them against one table of invariants."""

import json
import math

import numpy as np
import pytest
from support.fake import FakeModel
from support.scoring import score

from winokit.errors import BadInput, UnknownName
from winokit.methods.scoring.base import SCORINGS
from winokit.methods.scoring.scorer import Prediction, ScoringPlan, close_calls, write_predictions
from winokit.models.base import Ask, Attention, Choose, Continuation, Fill, Piece, PseudoLikelihood, Reply, Scores
from winokit.models.random_model import RandomModel
from winokit.problem import Dataset, Problem

CUP = Problem("The cup hit the tray because ", " slid fast.", ("the cup", "the tray"), 0, "it")


def said(*logprobs):
    return tuple(Piece(i, i + 1, value) for i, value in enumerate(logprobs))


def scored(answers, scoring, problem=CUP, kind="causal", **more):
    (made,) = score(Dataset([problem]), FakeModel(answers, kind), ScoringPlan(scoring, **more))
    return made


def test_partial_scores_only_what_follows_the_blank():
    answers = {
        Continuation("The cup hit the tray because the cup", " slid fast."): said(-1, -2),
        Continuation("The cup hit the tray because the tray", " slid fast."): said(-1, -3),
    }
    made = scored(answers, "partial")
    assert (made.scores, made.prediction) == ((-3, -4), 0)


def test_partial_abstains_where_nothing_follows_the_blank():
    made = scored({Continuation("", "x"): said(0)}, "partial", CUP.replace(after=" "))
    assert (made.prediction, made.scores) == (None, None)
    assert "use --scoring full" in made.why


def test_full_scores_the_whole_text():
    answers = {
        Continuation("", "The cup hit the tray because the cup slid fast."): said(-5, -6),
        Continuation("", "The cup hit the tray because the tray slid fast."): said(-4, -6),
    }
    assert scored(answers, "full").scores == (-11, -10)


FILLS = {
    Fill("The cup hit the tray because ", "the cup", " slid fast."): said(-2, -4),
    Fill("The cup hit the tray because ", "the tray", " slid fast."): said(-1, -2, -4),
}


def test_masked_candidate_takes_the_mean_over_pieces_or_the_sum():
    assert scored(FILLS, "masked-candidate", kind="masked").scores == (-3, -7 / 3)
    summed = scored(FILLS, "masked-candidate?reduce=sum", kind="masked")
    assert (summed.scores, summed.scoring) == ((-6, -7), "masked-candidate?reduce=sum")


def test_pseudo_likelihood_sums_over_every_token():
    texts = [f"The cup hit the tray because the {word} slid fast." for word in ("cup", "tray")]
    for words, within in (("whole", False), ("left-to-right", True)):
        answers = {PseudoLikelihood(text, 0, len(text), within): said(-1, -i) for i, text in enumerate(texts)}
        assert scored(answers, f"pseudo-likelihood?words={words}", kind="masked").scores == (-1, -2)


def test_special_word_sets_the_own_word_against_the_twins():
    twin = CUP.replace(after=" slid slowly.", answer=1)
    pair = Dataset([p.replace(group="g") for p in (CUP, twin)])
    before = "The cup hit the tray because the {} slid "
    answers = {
        Fill(before.format("cup"), "fast", "."): said(-1),
        Fill(before.format("cup"), "slowly", "."): said(-2),
        Fill(before.format("tray"), "slowly", "."): said(-4),
        Fill(before.format("tray"), "fast", "."): said(-3),
    }
    made = score(pair, FakeModel(answers, "masked"), ScoringPlan("special-word"))
    assert [(p.scores, p.prediction, p.answer) for p in made] == [((-1, -2), 0, 0), ((-3, -4), 0, 1)]


def test_special_word_abstains_without_a_twin():
    assert "one twin is needed" in scored({Fill("", "x", ""): said(0)}, "special-word", kind="masked").why


def test_attention_shares_out_the_heads_in_which_each_candidate_leads():
    text = "The cup hit the tray because it slid fast."
    request = Attention(text, (29, 31), ((4, 7), (16, 20)))
    assert (text[29:31], text[4:7], text[16:20]) == ("it", "cup", "tray")
    attention = np.array([[[0.5, 0.1]], [[0.2, 0.3]]], dtype=np.float32)
    made = scored({request: attention}, "attention", kind="masked")
    assert made.scores == pytest.approx((0.5 / 0.8, 0.3 / 0.8))
    assert "no pronoun" in scored({request: attention}, "attention", CUP.replace(pronoun=None), "masked").why


def lettered(first, second):
    prompt = (
        "Text: The cup hit the tray because *it* slid fast.\nQuestion: What does the marked word *it* refer to?\n"
        f"A. {first}\nB. {second}\nAnswer with A or B only.\nAnswer:"
    )
    return Ask(prompt, ("A", "B"), ((first,), (second,)))


def test_a_preference_for_a_letter_cancels_out():
    answers = {
        lettered("the cup", "the tray"): Reply((-0.1, -3.0), None, "A"),
        lettered("the tray", "the cup"): Reply((-0.2, -2.0), None, "A"),
    }
    made = scored(answers, "ask", kind="chat")
    assert made.scores == pytest.approx(((-0.1 - 2.0) / 2, (-3.0 - 0.2) / 2))
    assert made.prediction == 0


def test_parsed_answers_count_and_contradictions_are_ties():
    first = lettered("the cup", "the tray")
    second = lettered("the tray", "the cup")
    agree = scored({first: Reply(None, 0, "A"), second: Reply(None, 1, "B")}, "ask", kind="chat")
    assert (agree.scores, agree.prediction) == ((1, 0), 0)
    contradict = scored({first: Reply(None, 0, "A"), second: Reply(None, 0, "A")}, "ask", kind="chat")
    assert (contradict.prediction, contradict.why) == (None, "a tie")


def test_log_probabilities_and_votes_are_never_averaged():
    first = lettered("the cup", "the tray")
    second = lettered("the tray", "the cup")
    mixed = scored({first: Reply((-0.1, -3.0), None, "A"), second: Reply(None, 1, "B")}, "ask", kind="chat")
    assert mixed.scores == (1.0, 0.0)


def test_refusals_are_abstentions_that_keep_the_raw_text():
    first = lettered("the cup", "the tray")
    second = lettered("the tray", "the cup")
    made = scored({first: Reply(None, None, "I'd rather not."), second: Reply(None, None, "No.")}, "ask", kind="chat")
    assert made.prediction is None
    assert "I'd rather not. / No." in made.why
    half = scored({first: Reply(None, None, "no idea"), second: Reply(None, 1, "B")}, "ask", kind="chat")
    assert half.prediction == 0


def test_a_judgement_is_asked_as_yes_or_no():
    judged = CUP.replace(candidates=("no", "yes"), query="the cup", answer=1)
    prompt = (
        "Text: The cup hit the tray because *it* slid fast.\n"
        "Question: Does *it* refer to 'the cup'? Answer yes or no.\nAnswer:"
    )
    assert scored({Ask(prompt, ("no", "yes")): Reply((-3, -1), None, "")}, "ask", judged, "chat").prediction == 1


def test_other_models_are_offered_the_candidates_themselves():
    prompt = (
        "Text: The cup hit the tray because *it* slid fast.\n"
        "Question: What does the marked word *it* refer to?\nAnswer:"
    )
    assert (
        scored({Ask(prompt, ("the cup", "the tray")): Reply((-2, -1), None, "")}, "ask", kind="seq2seq").prediction == 1
    )


def test_pronoun_makes_the_other_candidate_nameless():
    told = Problem("The cook told the baker that ", " was late.", ("the cook", "the baker"), 1, "she")
    answers = {
        Fill("The cook told someone that ", "she", " was late."): said(-3),
        Fill("Someone told the baker that ", "she", " was late."): said(-1),
    }
    assert scored(answers, "pronoun", told, "masked").scores == (-3, -1)


def test_pronoun_counts_only_the_pronoun_of_a_causal_model():
    told = Problem("The cook told the baker that ", " was late.", ("the cook", "the baker"), 1, "she")
    answers = {
        Continuation("The cook told someone that", " she was late."): (Piece(0, 4, -3.0), Piece(4, 8, -9.0)),
        Continuation("Someone told the baker that", " she was late."): (Piece(0, 4, -4.0), Piece(4, 8, -1.0)),
    }
    assert scored(answers, "pronoun", told).scores == (-3, -4)


def test_a_models_own_scores_are_taken_as_they_are():
    request = Choose(CUP.before, CUP.after, CUP.candidates, "it")
    assert scored({request: Scores((0.2, 0.7))}, "own", kind="any").prediction == 1
    assert scored({request: Scores(None)}, "own", kind="any").why == "the model abstained"
    assert "3 scores for 2" in scored({request: Scores((1.0, 2.0, 3.0))}, "own", kind="any").why


def test_equal_scores_are_a_tie_and_not_the_first_candidate():
    made = scored(dict.fromkeys(FILLS, said(-1)), "masked-candidate", kind="masked")
    assert (made.prediction, made.why, made.scores) == (None, "a tie", (-1, -1))


def test_shots_are_solved_and_never_a_twin(twins):
    model = RandomModel()
    asked = []
    original = model.answer
    model.answer = lambda requests: (asked.extend(requests), original(requests))[1]
    score(twins, model, ScoringPlan("partial", shots=2))
    for request in asked:
        *shots, question = request.context.split("\n\n")
        assert len(shots) == 2
        pair = {"jug": "pour", "Nora": "thank", "rope": "rope"}
        own = next(name for word, name in pair.items() if word in question)
        assert all(word not in shot for shot in shots for word, name in pair.items() if name == own)


def test_too_many_shots_are_refused(twins):
    with pytest.raises(BadInput, match="5 shots requested, but only 4 solved problems"):
        score(twins, RandomModel(), ScoringPlan("partial", shots=5))
    with pytest.raises(BadInput, match="no place for solved examples"):
        score(twins, RandomModel(), ScoringPlan("masked-candidate", shots=1))


def test_a_scoring_that_does_not_fit_says_which_do():
    with pytest.raises(BadInput, match=r"'partial' does not fit 'fake', a masked model; these do: masked-candidate"):
        scored(FILLS, "partial", kind="masked")
    with pytest.raises(UnknownName, match=r"Did you mean 'masked-candidate'\?"):
        scored(FILLS, "masked-candidat", kind="masked")
    with pytest.raises(UnknownName, match="No option of scoring 'masked-candidate' named 'mean'"):
        scored(FILLS, "masked-candidate?mean=1", kind="masked")


@pytest.mark.parametrize(
    ("kind", "requests", "default"),
    [
        ("causal", Continuation("a", "b"), "partial"),
        ("masked", Fill("a", "b", "c"), "masked-candidate"),
        ("seq2seq", Ask("a", ("b", "c")), "ask"),
        ("chat", Ask("a", ("b", "c")), "ask"),
        ("any", Choose("a", "b", ("c", "d")), "own"),
    ],
)
def test_each_kind_of_model_has_a_default(kind, requests, default):
    from winokit.methods.scoring.base import default_scoring

    assert default_scoring(FakeModel({requests: said(0)}, kind)) == default


@pytest.mark.parametrize("name", SCORINGS)
def test_the_order_of_problems_does_not_matter(name, twins):
    forward = {p.id: p.scores for p in score(twins, RandomModel(), ScoringPlan(name))}
    backward = {p.id: p.scores for p in score(Dataset(reversed(list(twins))), RandomModel(), ScoringPlan(name))}
    assert forward == backward


@pytest.mark.parametrize("name", [name for name in SCORINGS if name not in ("own", "attention")])
def test_the_order_of_candidates_does_not_matter(name, twins):
    """Own scores are the model's affair, and a random model's attention depends on the order it is asked in."""
    switched = Dataset(p.with_order((1, 0)) for p in twins)
    for one, other in zip(
        score(twins, RandomModel(), ScoringPlan(name)), score(switched, RandomModel(), ScoringPlan(name)), strict=True
    ):
        assert one.scores == pytest.approx(tuple(reversed(other.scores)))


@pytest.mark.parametrize("name", SCORINGS)
def test_a_seed_decides_everything(name, twins):
    once, again = (score(twins, RandomModel(3), ScoringPlan(name)) for _ in range(2))
    other = score(twins, RandomModel(4), ScoringPlan(name))
    assert once == again
    assert [p.scores for p in once] != [p.scores for p in other]


def test_close_calls_are_counted():
    rows = [Prediction("a", "original", "m", "s", (0.0, gap), 1, 1) for gap in (1e-5, 1e-3)]
    assert close_calls(rows) == 1


def test_predictions_are_written_as_the_contract_says(tmp_path, twins):
    predictions = score(twins, RandomModel(), ScoringPlan("own"))
    write_predictions(predictions, tmp_path / "new" / "predictions.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "new" / "predictions.jsonl").read_text().splitlines()]
    assert list(rows[0]) == ["id", "variant", "model", "scoring", "scores", "prediction", "answer"]
    assert rows[0]["id"] == twins[0].id
    assert all(math.isfinite(value) for row in rows for value in row["scores"])


def test_a_score_that_is_no_number_is_an_abstention():
    answers = {
        Continuation("The cup hit the tray because the cup", " slid fast."): said(math.nan),
        Continuation("The cup hit the tray because the tray", " slid fast."): said(-1),
    }
    made = scored(answers, "partial")
    assert (made.prediction, made.scores, made.why) == (None, None, "a score is not a number")


def test_a_tie_is_no_close_call():
    tie, close = (Prediction("x", "original", "m", "s", (0.0, gap), one, 0) for gap, one in ((0.0, None), (1e-6, 1)))
    assert close_calls([tie, close]) == 1


def test_a_substitution_that_is_unknown_or_would_be_passed_over_is_refused():
    with pytest.raises(UnknownName, match="No style of substitution named"):
        score(Dataset([CUP]), RandomModel(), ScoringPlan("own", substitution="litteral"))
    for scoring in ("own", "ask", "attention", "pronoun"):
        with pytest.raises(BadInput, match="--set substitution: scoring"):
            score(Dataset([CUP]), RandomModel(), ScoringPlan(scoring, substitution="literal"))
    literal, natural = (
        score(Dataset([CUP.replace(pronoun="its")]), RandomModel(), ScoringPlan("partial", substitution=style))[
            0
        ].scores
        for style in ("literal", "natural")
    )
    assert literal != natural
