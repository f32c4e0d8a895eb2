"""Items are judged by families: swapped labels lead the queue, copies of a model count once, canaries are exact."""

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
    for pair in range(PAIRS):
        before = f"In case {pair} Ana thanked Ruth because "
        for answer, end in enumerate((" was helped", " helped")):
            problems.append(Problem(before, end, ("Ana", "Ruth"), answer, group=f"pair {pair}"))
    for index in range(SINGLES):
        before = f"In story {index} the jug met the cup and "
        problems.append(Problem(before, " broke", ("the jug", "the cup"), index % 2))
    return Dataset(problems)


def answers_of(right: np.ndarray, data: Dataset | None = None) -> Answers:
    """A table of answers to `data`, or to `dataset()` if it is None, from flags by model and problem."""
    asked_problems = AskedProblems.of(data or dataset())
    choices = np.where(right, asked_problems.answers, 1 - asked_problems.answers)
    model_count, problem_count = right.shape
    return Answers(
        asked_problems,
        np.tile(np.arange(problem_count), model_count),
        choices.ravel(),
        tuple(Scorer(f"model {index}") for index in range(model_count)),
        scorer_index=np.repeat(np.arange(model_count), problem_count),
    )


def right_flags(seed: int = 0) -> np.ndarray:
    """Models from weak to strong, whose answers follow their strength alone."""
    rng = np.random.default_rng(seed)
    shares = np.linspace(0.5, 0.95, MODELS)[:, None]
    return rng.random((MODELS, 2 * PAIRS + SINGLES)) < shares


def judged_with(right: np.ndarray):
    return judge_items(answers_of(right), np.arange(len(right)))


def reasons_by_rows(suspects) -> dict[tuple[int, ...], dict[str, str]]:
    return {suspect.rows: suspect.reasons for suspect in suspects}


def test_swapped_labels_lead_the_queue_with_their_reasons():
    right = right_flags()
    pair = (6, 7)
    single = (2 * PAIRS + 3,)
    right[:, [*pair, *single]] ^= True
    reasons = reasons_by_rows(judged_with(right).suspects[:2])
    assert set(reasons) == {pair, single}
    assert set(reasons[pair]) == {BOTH_WRONG, NEGATIVE}
    assert set(reasons[single]) == {OTHER_ANSWER}


def test_hardly_anything_is_a_suspect_where_nothing_is_planted():
    counts = [len(judged_with(right_flags(seed)).suspects) for seed in range(6)]
    assert np.mean(counts) <= 0.05 * (PAIRS + SINGLES)


def test_copies_of_a_model_in_one_family_make_nothing_surer():
    right = right_flags()
    copies = np.repeat(right[:1], 500, axis=0)
    families = np.concatenate([np.arange(MODELS), np.zeros(500, np.int64)])
    items = judged_with(right).items
    items_with_copies = judge_items(answers_of(np.vstack([right, copies])), families).items
    for item, item_with_copies in zip(items, items_with_copies, strict=True):
        assert item.right == item_with_copies.right
        assert item.rest == item_with_copies.rest
        assert item.strong_right == item_with_copies.strong_right


def test_a_correlation_has_an_interval_only_over_four_families_that_vary():
    strengths = np.array([-1.0, 0.0, 1.0, 2.0])
    assert correlation(np.array([0.0, 0.0, 1.0]), strengths[:3]) is None
    assert correlation(np.ones(4), strengths) is None
    varied = correlation(np.array([0.0, 0.0, 1.0, 1.0]), strengths)
    assert varied.value == pytest.approx(0.894, abs=1e-3)


def test_the_twin_is_not_among_the_rest():
    right = right_flags()
    right[:, 1] = right[:, 0]
    before = judged_with(right).items[0].rest
    right[:, 1] ^= True
    after = judged_with(right).items[0].rest
    assert after.value == pytest.approx(before.value)


def test_pairs_have_three_numbers_that_belong_together():
    pair = judged_with(right_flags()).pairs[0]
    wrong_way_round = 1 - pair.right_way_round
    assert pair.both_wrong.value == pytest.approx(pair.told_apart.value * wrong_way_round)
    strong = pair.bands["strong"]
    right_both = strong.told_apart - strong.both_wrong
    assert pair.strong_margin == pytest.approx(right_both - strong.both_wrong)


def test_a_model_that_answers_a_problem_twice_is_refused():
    answers = answers_of(right_flags())
    twice = answers.take([0, *range(len(answers))])
    with pytest.raises(BadInput, match="one answer per scorer and problem"):
        judge_items(twice, np.arange(MODELS))


LANGUAGE_FAMILIES = {f"l{index}": np.array([index]) for index in range(12)}
"""Twelve languages with one family of models each."""


def judged_by_language(right: np.ndarray):
    return judge_items(answers_of(right), np.arange(12), LANGUAGE_FAMILIES)


def test_wrong_in_more_languages_than_a_coin_is_a_reason():
    pair = (4, 5)
    rng = np.random.default_rng(3)
    right = rng.random((12, 2 * PAIRS + SINGLES)) < 0.7
    right[:4, pair] = True
    right[4:, pair] = False
    reasons = reasons_by_rows(judged_by_language(right).suspects)
    assert reasons[pair][LANGUAGES].startswith("both twins wrong in 8 of 12 languages")
    right[4:6, 4] = True
    reasons = reasons_by_rows(judged_by_language(right).suspects)
    assert LANGUAGES not in reasons.get(pair, {})


def test_a_choice_of_the_place_that_a_language_prefers_says_little_of_a_label():
    rng = np.random.default_rng(4)
    answers = AskedProblems.of(dataset()).answers
    right = rng.random((12, len(answers))) < np.where(answers == 1, 0.9, 0.5)
    usual_choice_row = 2 * PAIRS
    rare_choice_row = 2 * PAIRS + 1
    right[:, [usual_choice_row, rare_choice_row]] = False
    ranked = judged_by_language(right).ranked
    suspicions = {suspect.rows: suspect.suspicion for suspect in ranked}
    order = list(suspicions)
    assert order.index((rare_choice_row,)) < order.index((usual_choice_row,))
    assert suspicions[rare_choice_row,] > 1.5 * suspicions[usual_choice_row,]


def test_near_copies_are_one_family_and_equally_strong_models_are_not():
    rng = np.random.default_rng(1)
    bases = rng.random((5, 1000)) < 0.85
    is_changed = rng.random((150, 1000)) < 0.02
    tuned = np.repeat(bases, 30, axis=0) ^ is_changed
    families = families_by_agreement(tuned, np.ones_like(tuned))
    true_families = np.repeat(np.arange(5), 30)
    matches = set(zip(families.tolist(), true_families.tolist(), strict=True))
    assert len(matches) == 5
    assert len(set(families.tolist())) == 5


def test_families_by_agreement_do_not_depend_on_the_size_of_a_block(monkeypatch):
    is_every_third = np.arange(MODELS) % 3 == 0
    right = right_flags(4) | is_every_third[:, None]
    at_once = families_by_agreement(right, np.ones_like(right))
    monkeypatch.setattr("winokit.methods.metrics.families.BLOCK", 3)
    in_blocks = families_by_agreement(right, np.ones_like(right))
    assert (in_blocks == at_once).all()


def test_names_of_one_base_are_a_family():
    names = ["a/OpenHermes-2.5-Mistral-7B", "b/mistral-7b", "c/Llama-2-13b", "d/philosophy-1b"]
    assert families_by_name(names) == ["mistral", "mistral", "llama", "philosophy"]


def flags_on_first_problems() -> np.ndarray:
    """Flags of models that have the first 30 problems right or wrong as usual, and all others wrong."""
    right = np.zeros((MODELS, 2 * PAIRS + SINGLES), np.bool_)
    right[:, :30] = right_flags()[:, :30]
    return right


def judge_canary_rows(right: np.ndarray, rows: list[int]):
    judged = judged_with(right)
    return judge_canaries(judged.matrix, judged.families, rows)


def test_one_canary_is_an_exact_permutation_test():
    right = flags_on_first_problems()
    right[7, 50] = True
    verdict = judge_canary_rows(right, [50])
    (singer,) = verdict.singers
    assert singer.scorer == 7
    assert singer.given_back == 1
    assert singer.p == pytest.approx(1 / (NEIGHBOURS + 1))
    assert singer.p_corrected == 1
    assert verdict.least_p == 1


def test_several_canaries_given_back_are_shown_and_twins_are_one():
    canary_rows = [32, 33, 50, 51, 52, 53]
    right = flags_on_first_problems()
    right[7, canary_rows] = True
    verdict = judge_canary_rows(right, canary_rows)
    assert len(verdict.canaries) == 5
    singer = verdict.singers[0]
    assert singer.given_back == 5
    assert singer.canaries == 5
    assert singer.p == pytest.approx((NEIGHBOURS + 1) ** -5)
    assert singer.p_corrected < 0.001
