"""Items judged by families: planted swaps lead the queue, families count once, and canaries are exact."""

import numpy as np
import pytest

from winokit.answers import Answers, AskedProblems, Scorer
from winokit.errors import BadInput
from winokit.methods.metrics.families import families_by_agreement, families_by_name
from winokit.methods.metrics.items import correlation
from winokit.methods.metrics.judge_canaries import NEIGHBOURS, judge_canaries
from winokit.methods.metrics.judge_items import BOTH_WRONG, LANGUAGES, NEGATIVE, OTHER_ANSWER, judge_items
from winokit.problem import Dataset, Problem

PAIRS = 20
SINGLES = 20
MODELS = 120


def dataset() -> Dataset:
    """Pairs, and then problems alone."""
    problems = []
    for number in range(PAIRS):
        for answer, end in enumerate((" was helped", " helped")):
            text = f"In case {number} Ana thanked Ruth because "
            problems.append(Problem(text, end, ("Ana", "Ruth"), answer, group=f"pair {number}"))
    for number in range(SINGLES):
        problems.append(
            Problem(f"In story {number} the jug met the cup and ", " broke", ("the jug", "the cup"), number % 2)
        )
    return Dataset(problems)


def answers_of(right: np.ndarray, data: Dataset | None = None) -> Answers:
    """A table of answers, from flags by model and problem."""
    asked = AskedProblems.of(data or dataset())
    choices = np.where(right, asked.answers, 1 - asked.answers)
    models, problems = right.shape
    return Answers(
        asked,
        np.tile(np.arange(problems), models),
        choices.ravel(),
        tuple(Scorer(f"model {number}") for number in range(models)),
        scorer_index=np.repeat(np.arange(models), problems),
    )


def right_flags(seed: int = 0) -> np.ndarray:
    """Models from weak to strong, whose answers follow their strength alone."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.5, 0.95, MODELS)[:, None]
    return rng.random((MODELS, 2 * PAIRS + SINGLES)) < shares


def judged_with(right: np.ndarray):
    return judge_items(answers_of(right), np.arange(len(right)))


def test_swapped_labels_lead_the_queue_with_their_reasons():
    right = right_flags()
    right[:, [6, 7, 2 * PAIRS + 3]] ^= True
    first, second = judged_with(right).suspects[:2]
    assert {first.rows, second.rows} == {(6, 7), (2 * PAIRS + 3,)}
    reasons = {suspect.rows: set(suspect.reasons) for suspect in (first, second)}
    assert reasons[6, 7] == {BOTH_WRONG, NEGATIVE}
    assert reasons[2 * PAIRS + 3,] == {OTHER_ANSWER}


def test_hardly_anything_is_a_suspect_where_nothing_is_planted():
    counts = [len(judged_with(right_flags(seed)).suspects) for seed in range(6)]
    assert np.mean(counts) <= 0.05 * (PAIRS + SINGLES)


def test_copies_of_a_model_in_one_family_make_nothing_surer():
    right = right_flags()
    copies = np.vstack([right, np.repeat(right[:1], 500, axis=0)])
    families = np.concatenate([np.arange(MODELS), np.zeros(500, np.int64)])
    once = judged_with(right).items
    again = judge_items(answers_of(copies), families).items
    for item, other in zip(once, again, strict=True):
        assert (item.right, item.rest, item.strong_right) == (other.right, other.rest, other.strong_right)


def test_a_correlation_has_an_interval_only_over_four_families_that_vary():
    rest = np.array([-1.0, 0.0, 1.0, 2.0])
    assert correlation(np.array([0.0, 0.0, 1.0]), rest[:3]) is None
    assert correlation(np.ones(4), rest) is None
    assert correlation(np.array([0.0, 0.0, 1.0, 1.0]), rest).value == pytest.approx(0.894, abs=1e-3)


def test_the_twin_is_not_among_the_rest():
    right = right_flags()
    right[:, 1] = right[:, 0]
    before = judged_with(right).items[0].rest
    right[:, 1] ^= True
    after = judged_with(right).items[0].rest
    assert after.value == pytest.approx(before.value)


def test_pairs_have_three_numbers_that_belong_together():
    pair = judged_with(right_flags()).pairs[0]
    assert pair.both_wrong.value == pytest.approx(pair.told_apart.value * (1 - pair.right_way_round))
    strong = pair.bands["strong"]
    right_both = strong.told_apart - strong.both_wrong
    assert pair.strong_margin == pytest.approx(right_both - strong.both_wrong)


def test_a_model_that_answers_a_problem_twice_is_refused():
    answers = answers_of(right_flags())
    twice = answers.take([0, *range(len(answers))])
    with pytest.raises(BadInput, match="one answer per scorer and problem"):
        judge_items(twice, np.arange(MODELS))


def test_wrong_in_more_languages_than_a_coin_is_a_reason():
    rng = np.random.default_rng(3)
    right = rng.random((12, 2 * PAIRS + SINGLES)) < 0.7
    right[:, [4, 5]] = False
    right[:4, [4, 5]] = True
    languages = {f"l{number}": np.array([number]) for number in range(12)}
    judged = judge_items(answers_of(right), np.arange(12), languages)
    suspects = {suspect.rows: suspect.reasons for suspect in judged.suspects}
    assert suspects[4, 5][LANGUAGES].startswith("both twins wrong in 8 of 12 languages")
    right[4, 4] = right[5, 4] = True
    less = judge_items(answers_of(right), np.arange(12), languages)
    assert LANGUAGES not in {suspect.rows: suspect.reasons for suspect in less.suspects}.get((4, 5), {})


def test_a_choice_of_the_place_that_a_language_prefers_says_little_of_a_label():
    rng = np.random.default_rng(4)
    answers = AskedProblems.of(dataset()).answers
    right = rng.random((12, len(answers))) < np.where(answers == 1, 0.9, 0.5)
    with_usual_choice = 2 * PAIRS
    with_rare_choice = 2 * PAIRS + 1
    right[:, [with_usual_choice, with_rare_choice]] = False
    languages = {f"l{number}": np.array([number]) for number in range(12)}
    ranked = judge_items(answers_of(right), np.arange(12), languages).ranked
    order = [suspect.rows for suspect in ranked]
    assert order.index((with_rare_choice,)) < order.index((with_usual_choice,))
    evidence = {suspect.rows: suspect.suspicion for suspect in ranked}
    assert evidence[with_rare_choice,] > 1.5 * evidence[with_usual_choice,]


def test_near_copies_are_one_family_and_equally_strong_models_are_not():
    rng = np.random.default_rng(1)
    bases = rng.random((5, 1000)) < 0.85
    tuned = np.repeat(bases, 30, axis=0) ^ (rng.random((150, 1000)) < 0.02)
    families = families_by_agreement(tuned, np.ones_like(tuned))
    truth = np.repeat(np.arange(5), 30)
    assert len(set(zip(families.tolist(), truth.tolist(), strict=True))) == len(set(families.tolist())) == 5


def test_families_by_agreement_do_not_depend_on_the_size_of_a_block(monkeypatch):
    right = right_flags(4) | (np.arange(MODELS) % 3 == 0)[:, None]
    at_once = families_by_agreement(right, np.ones_like(right))
    monkeypatch.setattr("winokit.methods.metrics.families.BLOCK", 3)
    assert (families_by_agreement(right, np.ones_like(right)) == at_once).all()


def test_names_of_one_base_are_a_family():
    names = ["a/OpenHermes-2.5-Mistral-7B", "b/mistral-7b", "c/Llama-2-13b", "d/philosophy-1b"]
    assert families_by_name(names) == ["mistral", "mistral", "llama", "philosophy"]


def test_one_canary_is_an_exact_permutation_test():
    right = np.zeros((MODELS, 2 * PAIRS + SINGLES), np.bool_)
    right[:, :30] = right_flags()[:, :30]
    right[7, 50] = True
    judged = judged_with(right)
    found = judge_canaries(judged.matrix, judged.families, [50])
    assert len(found.singers) == 1
    singer = found.singers[0]
    assert (singer.scorer, singer.given_back) == (7, 1)
    assert singer.p == pytest.approx(1 / (NEIGHBOURS + 1))
    assert singer.p_corrected == 1
    assert found.least_p == 1


def test_several_canaries_given_back_are_shown_and_twins_are_one():
    right = np.zeros((MODELS, 2 * PAIRS + SINGLES), np.bool_)
    right[:, :30] = right_flags()[:, :30]
    right[7, 50:54] = True
    right[7, [32, 33]] = True
    judged = judged_with(right)
    found = judge_canaries(judged.matrix, judged.families, [32, 33, 50, 51, 52, 53])
    assert len(found.canaries) == 5
    singer = found.singers[0]
    assert (singer.given_back, singer.canaries) == (5, 5)
    assert singer.p == pytest.approx((NEIGHBOURS + 1) ** -5)
    assert singer.p_corrected < 0.001
