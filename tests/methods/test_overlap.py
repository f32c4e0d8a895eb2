"""Copies of problems are found through changed words, markup and prompts, and other problems are not taken for them."""

from itertools import combinations, product

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from winokit.data.loading import load
from winokit.methods.overlap import NEAR, copy_keys, find_matches, overlap
from winokit.problem import Dataset, Problem

ANN = Problem("When Ann’s sister met Eve at the café, ", " asked for the two keys.", ("Ann", "Eve"), 0, "she")


def kinds(first, second):
    """Kinds of the matches between two problems."""
    return [match.kind for match in find_matches([[first], [second]])]


def without_groups(problems):
    return Dataset([problem.replace(group=None) for problem in problems])


@pytest.mark.parametrize(
    "copy",
    [
        ANN.replace(before="When Ann 's sister met Eve at the café , "),
        ANN.replace(before="WHEN ANN'S SISTER MET EVE AT THE CAFE\u0301 -- "),
        ANN.replace(before="Ｗhen Ann`s sis-ter met  Eve at the café\u00a0", after=" asked for the two keys"),
        ANN.replace(candidates=("Eve", "a stranger"), answer=1),
        ANN.replace(candidates=("no", "yes"), answer=1, query="Ann"),
        ANN.replace(answer=None, pronoun=None),
        ANN.replace(before="<p class='x'>When&nbsp;Ann&#39;s <b>sister</b> met E\u0301ve at the caf&eacute;, "),
    ],
)
def test_spacing_punctuation_markup_accents_case_and_what_is_asked_do_not_hide_the_same_text(copy):
    assert kinds(ANN, copy) == ["same"]


def test_another_place_of_the_blank_or_another_pronoun_is_near():
    moved = Problem("When ", " met Eve at the café, she asked for the two keys.", ("Ann", "Eve"), 0, "Ann’s sister")
    assert kinds(ANN, ANN.replace(pronoun="he")) == ["near"]
    assert kinds(ANN, moved) == ["near"]


def test_a_twin_is_found_in_either_form_and_by_a_hidden_answer():
    twin = ANN.replace(after=" had brought what she wanted to see all along.", answer=1)
    assert kinds(ANN, twin) == ["twin"]
    assert kinds(ANN, twin.replace(answer=None)) == ["twin"]
    assert kinds(ANN, twin.replace(answer=0)) == ["near"]


def test_a_twin_is_found_as_a_judgement_too():
    twin = ANN.replace(after=" had brought what she wanted to see all along.", answer=1)
    judgement = twin.replace(candidates=("no", "yes"), query="Eve")
    assert kinds(ANN, judgement) == ["twin"]
    assert kinds(judgement, ANN) == ["twin"]
    assert kinds(ANN, judgement.replace(answer=0)) == ["near"]


def test_a_twin_may_have_another_pronoun():
    """WinoBias' twins do, and their candidates are as telling: of 198 pairs of a file, 196 are found."""
    driver = Problem("The driver took the nurse home because ", " had a car.", ("The driver", "the nurse"), 0, "he")
    nurse = driver.replace(after=" was tired.", answer=1, pronoun="she")
    assert kinds(driver, nurse) == ["twin"]
    assert kinds(driver, nurse.replace(answer=None)) == ["twin"]


def test_members_of_a_group_are_twins_and_a_group_name_alone_is_none():
    ann = ANN.replace(group="7")
    twin = Problem("Long after that, Eve saw Ann when ", " came home.", ("Ann", "Eve"), 0, group="7")
    assert kinds(ann, twin) == ["twin"]
    assert kinds(ann, twin.replace(candidates=("Bob", "Tom"))) == []
    assert kinds(ANN, twin) == []


def test_a_hundred_paraphrases_of_a_test_problem_do_not_hide_each_other():
    copies = [ANN.replace(before=f"When Ann’s sister met Eve at café {number}, ") for number in range(100)]
    dropped = overlap(Dataset(copies), Dataset([ANN])).dropped
    assert dropped == {"same": 0, "near": 100, "twin": 0}


def draw_texts(rng, words) -> list[list[str]]:
    """Draw sixty texts of one to 23 words."""
    return [list(rng.choice(words, rng.integers(1, 24))) for _ in range(60)]


def change_some_words(rng, text, words) -> list[str]:
    """A copy of the text with a few words changed and perhaps the last one gone."""
    copy = []
    for word in text:
        is_changed = rng.random() < 0.15
        copy.append(str(rng.choice(words)) if is_changed else word)
    return copy[: len(copy) - rng.integers(0, 2)] or copy


def rare_text_and_copy(number: int) -> tuple[list[str], list[str]]:
    """A text of words that no other text has, and a copy with every fifth word another and the last gone.

    All pairs of its words are equally rare, and both texts must choose the same ones.
    """
    text = [f"own{number}x{position}" for position in range(19)]
    copy = list(text)
    for position in range(4, 19, 5):
        copy[position] = f"other{number}x{position + 1}"
    return text, copy[:-1]


def text_index(place: tuple[int, int]) -> int:
    """Index of a text among all, from that of its half of sixty and its row there."""
    half_index, row = place
    return 60 * half_index + row


def pairs_above_near(texts: list[list[str]]) -> set[tuple[int, int]]:
    """Indices of all near texts, found by comparing all with all."""
    pairs = set()
    for first, second in combinations(range(len(texts)), 2):
        similarity = Levenshtein.normalized_similarity(["_", *texts[first]], ["_", *texts[second]])
        if similarity >= NEAR:
            pairs.add((first, second))
    return pairs


def test_every_near_pair_is_found_that_comparing_all_with_all_finds():
    rng = np.random.default_rng(5)
    words = np.array([f"w{number}" for number in range(12)])
    originals = draw_texts(rng, words)
    copies = [change_some_words(rng, text, words) for text in originals]
    for number in range(0, 60, 2):
        originals[number], copies[number] = rare_text_and_copy(number)
    texts = originals + copies
    problems = [Problem("", " " + " ".join(text), ("a", "b"), 0) for text in texts]
    halves = [problems[:60], problems[60:]]
    within = set()
    for match in find_matches(halves, within=True):
        if match.similarity >= NEAR:  # others stand in one another
            within.add((text_index(match.first), text_index(match.second)))
    across = set()
    for match in find_matches(halves):
        if match.similarity >= NEAR:
            across.add((text_index(match.first), text_index(match.second)))
    expected = pairs_above_near(texts)
    assert within == expected
    assert across == expected & set(product(range(60), range(60, 120)))
    assert len(across) > 20


@pytest.mark.parametrize(
    ("spec", "file", "shared"),
    [
        ("wsc273:{}", "wsc/WSCollection.xml", "215 same, 5 near, 9 twin"),
        ("{}", "pdp/PDPChallenge2016.xml", "29 same, 2 near, 0 twin"),
    ],
    ids=["wsc", "pdp"],
)
def test_superglue_wsc_shares_with_its_sources_what_letters_and_digits_tell(real_file, spec, file, shared):
    superglue = load(real_file("superglue-wsc/train.jsonl"))
    source = load(spec.format(real_file(file)))
    assert overlap(superglue, source).said == shared


def test_one_twin_to_train_on_and_the_other_to_test_on_is_found_for_every_pair(real_file):
    pairs = list(load(real_file("winogrande/train_s.jsonl")).groups.values())
    assert len(pairs) == 320
    order = np.random.default_rng(3).permutation(320)
    train = without_groups(pairs[index][0] for index in order)
    test = without_groups(pair[1] for pair in pairs)
    result = overlap(train, test)
    assert len(result.given) == 320
    assert len(result.held) == 320
    unanswered = Dataset([problem.replace(answer=None) for problem in test])
    assert len(overlap(train, unanswered).held) == 320


def test_twins_that_differ_in_a_whole_clause_are_found_nearly_always(real_file):
    train_part = load(real_file("dpr/train.c.txt"))
    test_part = load(real_file("dpr/test.c.txt"))
    pairs = [*train_part.groups.values(), *test_part.groups.values()]
    first_twins = without_groups(pair[0] for pair in pairs)
    second_twins = without_groups(pair[1] for pair in pairs)
    assert len(pairs) == 943
    assert len(overlap(first_twins, second_twins).held) >= 920
    assert overlap(train_part, test_part).said == "0 same, 1 near, 0 twin"


def test_a_short_judgement_is_near_whatever_it_asks_about():
    girl = Problem("Stretching ", " back, the woman smiled.", ("no", "yes"), 0, "her", query="the girl")
    woman = girl.replace(before="Patting ", query="the woman")
    assert kinds(girl, woman) == ["near"]


def test_the_parts_of_copa_have_nothing_in_common(real_file):
    dev = load(real_file("copa/copa-dev.xml"))
    test = load(real_file("copa/copa-test.xml"))
    assert overlap(dev, test).given == {}


def test_short_premises_alike_are_not_near_where_the_alternatives_are_others():
    fainted = Problem("The man fainted because ", "", ("He took a nap.", "He ran a marathon."), 1)
    same_alternatives = fainted.replace(before="The man cursed because ")
    other_alternatives = same_alternatives.replace(candidates=("He clipped his nails.", "He slept."), answer=0)
    assert kinds(fainted, same_alternatives) == ["near"]
    assert kinds(fainted, other_alternatives) == []


INSTRUCTION = "Read the following text carefully and then choose which of the two options given fits best. "
QUESTION = " Question: which of the two options that were given above is meant here? The answer must be "


@pytest.mark.parametrize("candidates", [("Ann", "Eve"), ("the first", "the second")])
def test_a_text_within_a_longer_one_is_near_with_its_blank_kept(candidates):
    prompt = ANN.replace(before=INSTRUCTION + ANN.before, candidates=candidates, pronoun=None)
    assert kinds(prompt, ANN) == ["near"]
    assert kinds(ANN, prompt) == ["near"]
    with_question = prompt.replace(after=ANN.after + QUESTION)
    assert kinds(with_question, ANN) == ["near"]


@pytest.mark.parametrize("fill", ["Ann", "Eve", "she", "____", "[MASK]", ""])
@pytest.mark.parametrize("candidates", [("Ann", "Eve"), ("the first", "the second")])
def test_a_text_within_a_longer_one_is_near_with_its_blank_filled_or_marked(candidates, fill):
    prompt = Problem(INSTRUCTION + ANN.before + fill + ANN.after + QUESTION, ".", candidates, 0)
    assert kinds(prompt, ANN) == ["near"]
    assert kinds(ANN, prompt) == ["near"]


def test_a_short_text_within_a_longer_one_is_near_only_with_a_candidate_in_common():
    short = Problem("Ann paid Eve because ", " sang.", ("Ann", "Eve"), 0)
    longer = short.replace(before=INSTRUCTION + short.before, after=short.after + QUESTION)
    assert kinds(longer, short) == ["near"]
    assert kinds(longer.replace(candidates=("Bob", "Tom")), short) == []
    assert kinds(longer.replace(candidates=("no", "yes"), query="Bob"), short) == []


def test_an_instruction_alone_is_near_nothing():
    instruction = ANN.replace(before=INSTRUCTION, candidates=("Bob", "Tom"))
    assert kinds(instruction, ANN) == []


def test_every_wsc_problem_is_found_within_a_prompt(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    with_blank = []
    with_answer = []
    for problem in wsc:
        after = problem.after + QUESTION
        with_blank.append(Problem(INSTRUCTION + problem.before, after, problem.candidates, problem.answer))
        text = problem.before + problem.right + after
        with_answer.append(Problem(text, ".", problem.candidates, problem.answer))
    assert len(overlap(Dataset(with_blank), wsc).held) == 273
    assert len(overlap(Dataset(with_answer), wsc).held) == 273


@pytest.mark.parametrize(("name", "missed_count"), [("rel_1", 14), ("voice", 53), ("tense", 37)])
def test_reworded_texts_with_the_same_candidates_and_answer_are_near(real_file, name, missed_count):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    reworded = load(real_file(f"perturbed-wsc/text_{name}.jsonl"))
    matches = overlap(reworded, wsc).given
    assert matches[0] == "near"  # "the city councilmen , whom you had seen with the journalists , refused"
    assert len(reworded) - len(matches) == missed_count


def share_a_key(first: Problem, second: Problem) -> bool:
    return not set(copy_keys(first)).isdisjoint(copy_keys(second))


@pytest.mark.parametrize(
    "copy",
    [
        ANN.replace(before="WHEN ANN'S SISTER MET EVE AT THE CAFE\u0301 -- "),
        ANN.replace(before="<p class='x'>When&nbsp;Ann&#39;s <b>sister</b> met E\u0301ve at the caf&eacute;, "),
        ANN.replace(answer=None, pronoun=None, candidates=("Eve", "Ann")),
        ANN.replace(after=" asked for the two coins."),
        ANN.replace(after=" asked Ann for the two keys."),
    ],
)
def test_a_plain_copy_shares_a_key(copy):
    assert share_a_key(ANN, copy)


def test_the_first_key_is_the_text_alone():
    text_key = copy_keys(ANN)[0]
    same_text = ANN.replace(candidates=("Eve", "a stranger"), pronoun="he")
    other_text = ANN.replace(after=" asked for the two coins.")
    assert text_key == copy_keys(same_text)[0]
    assert text_key != copy_keys(other_text)[0]


def test_the_same_short_text_about_others_shares_no_key_but_its_own():
    fainted = Problem("The man fainted because ", "", ("he ran a marathon.", "he slept."), 0)
    cursed = Problem("The man cursed because ", "", ("he cut himself.", "he won."), 0)
    assert not share_a_key(fainted, cursed)


def test_whole_texts_of_a_few_words_share_no_key_unless_they_are_the_same():
    sleep = Problem.whole(["She sleep.", "She sleeps."], 1)
    sleep_reversed = Problem.whole(["she sleeps", "she sleep"], 0)
    sing = Problem.whole(["She sing.", "She sings."], 1)
    assert not share_a_key(sleep, sing)
    assert share_a_key(sleep, sleep_reversed)


def test_problems_that_share_a_key_give_each_other_away():
    problems = list(load("open"))
    matching_pairs = {(match.first[1], match.second[1]) for match in find_matches([problems], within=True)}
    keys = [set(copy_keys(problem)) for problem in problems]
    key_pairs = set()
    for first, second in combinations(range(len(problems)), 2):
        if keys[first] & keys[second]:
            key_pairs.add((first, second))
    assert len(key_pairs) > 50
    assert key_pairs <= matching_pairs
