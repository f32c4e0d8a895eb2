"""Scorings give numbers that can be checked by hand, whatever the order of problems and candidates."""

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


def pieces_of(*logprobs):
    """Pieces of one character each that have these log-probabilities."""
    return tuple(Piece(index, index + 1, logprob) for index, logprob in enumerate(logprobs))


def score_problem(answers, scoring, problem=CUP, kind="causal", **more):
    """Prediction for one problem of a fake model that gives these answers."""
    (prediction,) = score(Dataset([problem]), FakeModel(answers, kind), ScoringPlan(scoring, **more))
    return prediction


BEFORE_CUP = "The cup hit the tray because the cup"
BEFORE_TRAY = "The cup hit the tray because the tray"


def test_partial_scores_only_what_follows_the_blank():
    answers = {
        Continuation(BEFORE_CUP, " slid fast."): pieces_of(-1, -2),
        Continuation(BEFORE_TRAY, " slid fast."): pieces_of(-1, -3),
    }
    prediction = score_problem(answers, "partial")
    assert prediction.scores == (-3, -4)
    assert prediction.prediction == 0


def test_partial_abstains_where_nothing_follows_the_blank():
    prediction = score_problem({Continuation("", "x"): pieces_of(0)}, "partial", CUP.replace(after=" "))
    assert prediction.prediction is None
    assert prediction.scores is None
    assert "use --scoring full" in prediction.why


def test_full_scores_the_whole_text():
    answers = {
        Continuation("", f"{BEFORE_CUP} slid fast."): pieces_of(-5, -6),
        Continuation("", f"{BEFORE_TRAY} slid fast."): pieces_of(-4, -6),
    }
    assert score_problem(answers, "full").scores == (-11, -10)


FILLS = {
    Fill("The cup hit the tray because ", "the cup", " slid fast."): pieces_of(-2, -4),
    Fill("The cup hit the tray because ", "the tray", " slid fast."): pieces_of(-1, -2, -4),
}


def test_masked_candidate_takes_the_mean_over_pieces_or_the_sum():
    mean = score_problem(FILLS, "masked-candidate", kind="masked")
    total = score_problem(FILLS, "masked-candidate?reduce=sum", kind="masked")
    assert mean.scores == (-3, -7 / 3)
    assert total.scores == (-6, -7)
    assert total.scoring == "masked-candidate?reduce=sum"


@pytest.mark.parametrize(("words", "is_within"), [("whole", False), ("left-to-right", True)])
def test_pseudo_likelihood_sums_over_every_token(words, is_within):
    cup = f"{BEFORE_CUP} slid fast."
    tray = f"{BEFORE_TRAY} slid fast."
    answers = {
        PseudoLikelihood(cup, 0, len(cup), is_within): pieces_of(-1, 0),
        PseudoLikelihood(tray, 0, len(tray), is_within): pieces_of(-1, -1),
    }
    prediction = score_problem(answers, f"pseudo-likelihood?words={words}", kind="masked")
    assert prediction.scores == (-1, -2)


def test_special_word_sets_the_own_word_against_the_twins():
    twin = CUP.replace(after=" slid slowly.", answer=1)
    pair = Dataset([problem.replace(group="g") for problem in (CUP, twin)])
    answers = {
        Fill(f"{BEFORE_CUP} slid ", "fast", "."): pieces_of(-1),
        Fill(f"{BEFORE_CUP} slid ", "slowly", "."): pieces_of(-2),
        Fill(f"{BEFORE_TRAY} slid ", "slowly", "."): pieces_of(-4),
        Fill(f"{BEFORE_TRAY} slid ", "fast", "."): pieces_of(-3),
    }
    first, second = score(pair, FakeModel(answers, "masked"), ScoringPlan("special-word"))
    assert (first.scores, first.prediction, first.answer) == ((-1, -2), 0, 0)
    assert (second.scores, second.prediction, second.answer) == ((-3, -4), 0, 1)


def test_special_word_abstains_without_a_twin():
    prediction = score_problem({Fill("", "x", ""): pieces_of(0)}, "special-word", kind="masked")
    assert "one twin is needed" in prediction.why


@pytest.fixture(scope="module")
def attention_answers():
    """Attention from "it" to "cup" and "tray" in one layer of two heads."""
    text = "The cup hit the tray because it slid fast."
    assert text[29:31] == "it"
    assert text[4:7] == "cup"
    assert text[16:20] == "tray"
    request = Attention(text, (29, 31), ((4, 7), (16, 20)))
    return {request: np.array([[[0.5, 0.1]], [[0.2, 0.3]]], dtype=np.float32)}


def test_attention_shares_out_the_heads_in_which_each_candidate_leads(attention_answers):
    prediction = score_problem(attention_answers, "attention", kind="masked")
    assert prediction.scores == pytest.approx((0.5 / 0.8, 0.3 / 0.8))


def test_attention_abstains_without_a_pronoun(attention_answers):
    without_pronoun = CUP.replace(pronoun=None)
    prediction = score_problem(attention_answers, "attention", without_pronoun, "masked")
    assert "no pronoun" in prediction.why


def lettered(first, second):
    """Question about CUP whose options A and B are these candidates."""
    prompt = (
        "Text: The cup hit the tray because *it* slid fast.\nQuestion: What does the marked word *it* refer to?\n"
        f"A. {first}\nB. {second}\nAnswer with A or B only.\nAnswer:"
    )
    return Ask(prompt, ("A", "B"), ((first,), (second,)))


CUP_FIRST = lettered("the cup", "the tray")
TRAY_FIRST = lettered("the tray", "the cup")


def score_replies(cup_first: Reply, tray_first: Reply) -> Prediction:
    """Prediction of a chat model with these replies to the two orders of candidates."""
    return score_problem({CUP_FIRST: cup_first, TRAY_FIRST: tray_first}, "ask", kind="chat")


def test_a_preference_for_a_letter_cancels_out():
    prediction = score_replies(Reply((-0.1, -3.0), None, "A"), Reply((-0.2, -2.0), None, "A"))
    cup_score = (-0.1 - 2.0) / 2
    tray_score = (-3.0 - 0.2) / 2
    assert prediction.scores == pytest.approx((cup_score, tray_score))
    assert prediction.prediction == 0


def test_parsed_answers_count_and_contradictions_are_ties():
    agreement = score_replies(Reply(None, 0, "A"), Reply(None, 1, "B"))
    contradiction = score_replies(Reply(None, 0, "A"), Reply(None, 0, "A"))
    assert agreement.scores == (1, 0)
    assert agreement.prediction == 0
    assert contradiction.prediction is None
    assert contradiction.why == "a tie"


def test_log_probabilities_and_votes_are_never_averaged():
    mixed = score_replies(Reply((-0.1, -3.0), None, "A"), Reply(None, 1, "B"))
    assert mixed.scores == (1.0, 0.0)


def test_refusals_are_abstentions_that_keep_the_raw_text():
    prediction = score_replies(Reply(None, None, "I'd rather not."), Reply(None, None, "No."))
    assert prediction.prediction is None
    assert "I'd rather not. / No." in prediction.why


def test_a_refusal_of_one_order_leaves_the_answer_to_the_other():
    prediction = score_replies(Reply(None, None, "no idea"), Reply(None, 1, "B"))
    assert prediction.prediction == 0


def test_a_judgement_is_asked_as_yes_or_no():
    judgement = CUP.replace(candidates=("no", "yes"), query="the cup", answer=1)
    prompt = (
        "Text: The cup hit the tray because *it* slid fast.\n"
        "Question: Does *it* refer to 'the cup'? Answer yes or no.\nAnswer:"
    )
    answers = {Ask(prompt, ("no", "yes")): Reply((-3, -1), None, "")}
    assert score_problem(answers, "ask", judgement, "chat").prediction == 1


def test_other_models_are_offered_the_candidates_themselves():
    prompt = (
        "Text: The cup hit the tray because *it* slid fast.\n"
        "Question: What does the marked word *it* refer to?\nAnswer:"
    )
    answers = {Ask(prompt, ("the cup", "the tray")): Reply((-2, -1), None, "")}
    assert score_problem(answers, "ask", kind="seq2seq").prediction == 1


COOK = Problem("The cook told the baker that ", " was late.", ("the cook", "the baker"), 1, "she")


def test_pronoun_makes_the_other_candidate_nameless():
    answers = {
        Fill("The cook told someone that ", "she", " was late."): pieces_of(-3),
        Fill("Someone told the baker that ", "she", " was late."): pieces_of(-1),
    }
    assert score_problem(answers, "pronoun", COOK, "masked").scores == (-3, -1)


def test_pronoun_counts_only_the_pronoun_of_a_causal_model():
    answers = {
        Continuation("The cook told someone that", " she was late."): (Piece(0, 4, -3.0), Piece(4, 8, -9.0)),
        Continuation("Someone told the baker that", " she was late."): (Piece(0, 4, -4.0), Piece(4, 8, -1.0)),
    }
    assert score_problem(answers, "pronoun", COOK).scores == (-3, -4)


def score_own(scores: Scores) -> Prediction:
    """Prediction of a model that has these scores of its own."""
    request = Choose(CUP.before, CUP.after, CUP.candidates, "it")
    return score_problem({request: scores}, "own", kind="any")


def test_a_models_own_scores_are_taken_as_they_are():
    assert score_own(Scores((0.2, 0.7))).prediction == 1
    assert score_own(Scores(None)).why == "the model abstained"
    assert "3 scores for 2" in score_own(Scores((1.0, 2.0, 3.0))).why


def test_equal_scores_are_a_tie_and_not_the_first_candidate():
    equal_fills = dict.fromkeys(FILLS, pieces_of(-1))
    prediction = score_problem(equal_fills, "masked-candidate", kind="masked")
    assert prediction.prediction is None
    assert prediction.why == "a tie"
    assert prediction.scores == (-1, -1)


class RecordingModel(RandomModel):
    """A random model that keeps all requests."""

    def __init__(self):
        super().__init__()
        self.requests = []

    def answer(self, requests):
        self.requests.extend(requests)
        return super().answer(requests)


PAIR_WORDS = ("jug", "Nora", "rope")
"""One word for each pair of `twins`, which no other pair has."""


def test_shots_are_solved_and_never_a_twin(twins):
    model = RecordingModel()
    score(twins, model, ScoringPlan("partial", shots=2))
    assert model.requests
    for request in model.requests:
        *shots, question = request.context.split("\n\n")
        assert len(shots) == 2
        (pair_word,) = [word for word in PAIR_WORDS if word in question]
        for shot in shots:
            assert pair_word not in shot


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (ScoringPlan("partial", shots=5), "5 shots requested, but only 4 solved problems"),
        (ScoringPlan("masked-candidate", shots=1), "no place for solved examples"),
    ],
)
def test_too_many_shots_are_refused(twins, plan, message):
    with pytest.raises(BadInput, match=message):
        score(twins, RandomModel(), plan)


@pytest.mark.parametrize(
    ("scoring", "error", "message"),
    [
        ("partial", BadInput, r"'partial' does not fit 'fake', a masked model; these do: masked-candidate, "),
        ("masked-candidat", UnknownName, r"Did you mean 'masked-candidate'\?"),
        ("masked-candidate?mean=1", UnknownName, "No option of scoring 'masked-candidate' named 'mean'"),
    ],
)
def test_a_scoring_that_does_not_fit_says_which_do(scoring, error, message):
    with pytest.raises(error, match=message):
        score_problem(FILLS, scoring, kind="masked")


def test_a_model_of_no_particular_kind_is_not_called_a_any_model():
    message = "'partial' does not fit 'fake', a model of no particular kind; this one does: own$"
    with pytest.raises(BadInput, match=message):
        score_problem({Choose("a", "b", ("c", "d")): 0.0}, "partial", kind="any")


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

    model = FakeModel({requests: pieces_of(0)}, kind)
    assert default_scoring(model) == default


def scores_by_id(dataset, scoring: str) -> dict[str, tuple[float, ...]]:
    predictions = score(dataset, RandomModel(), ScoringPlan(scoring))
    return {prediction.id: prediction.scores for prediction in predictions}


@pytest.mark.parametrize("name", SCORINGS)
def test_the_order_of_problems_does_not_matter(name, twins):
    reversed_twins = Dataset(reversed(list(twins)))
    assert scores_by_id(twins, name) == scores_by_id(reversed_twins, name)


@pytest.mark.parametrize("name", [name for name in SCORINGS if name not in ("own", "attention")])
def test_the_order_of_candidates_does_not_matter(name, twins):
    """Own scores are the model's affair, and a random model's attention depends on the order it is asked in."""
    switched = Dataset(problem.with_order((1, 0)) for problem in twins)
    forward = score(twins, RandomModel(), ScoringPlan(name))
    backward = score(switched, RandomModel(), ScoringPlan(name))
    for prediction, switched_prediction in zip(forward, backward, strict=True):
        assert prediction.scores == pytest.approx(switched_prediction.scores[::-1])


@pytest.mark.parametrize("name", SCORINGS)
def test_a_seed_decides_everything(name, twins):
    plan = ScoringPlan(name)
    first = score(twins, RandomModel(3), plan)
    second = score(twins, RandomModel(3), plan)
    other_seed = score(twins, RandomModel(4), plan)
    assert first == second
    assert [prediction.scores for prediction in first] != [prediction.scores for prediction in other_seed]


def prediction_with(scores: tuple[float, float], choice: int | None, answer: int) -> Prediction:
    return Prediction("a", "original", "m", "s", scores, choice, answer)


def test_close_calls_are_counted():
    close = prediction_with((0.0, 1e-5), 1, 1)
    clear = prediction_with((0.0, 1e-3), 1, 1)
    assert close_calls([close, clear]) == 1


def test_predictions_are_written_as_the_contract_says(tmp_path, twins):
    path = tmp_path / "new" / "predictions.jsonl"
    write_predictions(score(twins, RandomModel(), ScoringPlan("own")), path)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(rows[0]) == ["id", "variant", "model", "scoring", "scores", "prediction", "answer"]
    assert rows[0]["id"] == twins[0].id
    for row in rows:
        assert np.isfinite(row["scores"]).all()


def test_a_score_that_is_no_number_is_an_abstention():
    answers = {
        Continuation(BEFORE_CUP, " slid fast."): pieces_of(math.nan),
        Continuation(BEFORE_TRAY, " slid fast."): pieces_of(-1),
    }
    prediction = score_problem(answers, "partial")
    assert prediction.prediction is None
    assert prediction.scores is None
    assert prediction.why == "a score is not a number"


def test_a_tie_is_no_close_call():
    tie = prediction_with((0.0, 0.0), None, 0)
    close = prediction_with((0.0, 1e-6), 1, 0)
    assert close_calls([tie, close]) == 1


def test_an_unknown_substitution_is_refused():
    with pytest.raises(UnknownName, match="No style of substitution named"):
        score(Dataset([CUP]), RandomModel(), ScoringPlan("own", substitution="litteral"))


@pytest.mark.parametrize("scoring", ["own", "ask", "attention", "pronoun"])
def test_a_substitution_that_would_be_passed_over_is_refused(scoring):
    with pytest.raises(BadInput, match="--set substitution: scoring"):
        score(Dataset([CUP]), RandomModel(), ScoringPlan(scoring, substitution="literal"))


def test_the_substitution_changes_the_scores_of_a_possessive():
    data = Dataset([CUP.replace(pronoun="its")])
    (literal,) = score(data, RandomModel(), ScoringPlan("partial", substitution="literal"))
    (natural,) = score(data, RandomModel(), ScoringPlan("partial", substitution="natural"))
    assert literal.scores != natural.scores
