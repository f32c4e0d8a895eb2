"""The attacks that word-wise comparison let through, and what must not be taken for one."""

from itertools import combinations, product

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from winokit.data.loading import load
from winokit.methods.overlap import NEAR, copy_keys, find_matches, overlap
from winokit.problem import Dataset, Problem

ANN = Problem("When Ann’s sister met Eve at the café, ", " asked for the two keys.", ("Ann", "Eve"), 0, "she")


def kinds(one, other):
    return [match.kind for match in find_matches([[one], [other]])]


def alone(problems):
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
    judgement = twin.replace(candidates=("no", "yes"), query="Eve")
    assert kinds(ANN, judgement) == kinds(judgement, ANN) == ["twin"]
    assert kinds(ANN, judgement.replace(answer=0)) == ["near"]


def test_a_twin_may_have_another_pronoun():
    """WinoBias' twins do, and their candidates are as telling: of 198 pairs of a file, 196 are found."""
    driver = Problem("The driver took the nurse home because ", " had a car.", ("The driver", "the nurse"), 0, "he")
    nurse = driver.replace(after=" was tired.", answer=1, pronoun="she")
    assert kinds(driver, nurse) == kinds(driver, nurse.replace(answer=None)) == ["twin"]


def test_members_of_a_group_are_twins_and_a_group_name_alone_is_none():
    other = Problem("Long after that, Eve saw Ann when ", " came home.", ("Ann", "Eve"), 0, group="7")
    assert kinds(ANN.replace(group="7"), other) == ["twin"]
    assert kinds(ANN.replace(group="7"), other.replace(candidates=("Bob", "Tom"))) == []
    assert kinds(ANN, other) == []


def test_a_hundred_paraphrases_of_a_test_problem_do_not_hide_each_other():
    copies = [ANN.replace(before=f"When Ann’s sister met Eve at café {n}, ") for n in range(100)]
    assert overlap(Dataset(copies), Dataset([ANN])).dropped == {"same": 0, "near": 100, "twin": 0}


def test_every_near_pair_is_found_that_comparing_all_with_all_finds():
    rng = np.random.default_rng(5)
    words = np.array([f"w{n}" for n in range(12)])
    texts = [list(rng.choice(words, rng.integers(1, 24))) for _ in range(60)]
    for text in list(texts):  # and copies with a few words changed, so that about half are near
        copy = [str(rng.choice(words)) if rng.random() < 0.15 else word for word in text]
        texts.append(copy[: len(copy) - rng.integers(0, 2)] or copy)
    for n in range(0, 60, 2):  # every fifth word another, the last gone: of equally rare pairs all must choose alike
        texts[n] = [f"own{n}x{at}" for at in range(19)]
        texts[60 + n] = [word if at % 5 else f"other{n}x{at}" for at, word in enumerate(texts[n], 1)][:-1]
    problems = [Problem("", " " + " ".join(text), ("a", "b"), 0) for text in texts]
    split = [problems[:60], problems[60:]]
    near = {
        (i, j)
        for i, j in combinations(range(120), 2)
        if Levenshtein.normalized_similarity(["_", *texts[i]], ["_", *texts[j]]) >= NEAR
    }
    alike = [m for m in find_matches(split, within=True) if m.similarity >= NEAR]  # others stand in one another
    within = {tuple(60 * at + row for at, row in (m.first, m.second)) for m in alike}
    across = {(m.first[1], 60 + m.second[1]) for m in find_matches(split) if m.similarity >= NEAR}
    assert within == near
    assert across == near & set(product(range(60), range(60, 120)))
    assert len(across) > 20


@pytest.mark.parametrize("file", ["wsc/WSCollection.xml", "pdp/PDPChallenge2016.xml"])
def test_superglue_wsc_shares_with_its_sources_what_letters_and_digits_tell(real_file, file):
    spec = f"wsc273:{real_file(file)}" if file.startswith("wsc") else real_file(file)
    found = overlap(load(real_file("superglue-wsc/train.jsonl")), load(spec))
    shared = {
        "wsc/WSCollection.xml": "215 same, 5 near, 9 twin",
        "pdp/PDPChallenge2016.xml": "29 same, 2 near, 0 twin",
    }
    assert found.said == shared[file]


def test_one_twin_to_train_on_and_the_other_to_test_on_is_found_for_every_pair(real_file):
    pairs = list(load(real_file("winogrande/train_s.jsonl")).groups.values())
    assert len(pairs) == 320
    order = np.random.default_rng(3).permutation(320)
    train = alone(pairs[at][0] for at in order)
    test = alone(pair[1] for pair in pairs)
    found = overlap(train, test)
    assert (len(found.given), len(found.held)) == (320, 320)
    hidden = Dataset([problem.replace(answer=None) for problem in test])
    assert len(overlap(train, hidden).held) == 320


def test_twins_that_differ_in_a_whole_clause_are_found_nearly_always(real_file):
    pairs = [pair for part in ("train", "test") for pair in load(real_file(f"dpr/{part}.c.txt")).groups.values()]
    train = alone(pair[0] for pair in pairs)
    test = alone(pair[1] for pair in pairs)
    assert len(overlap(train, test).held) >= 920
    assert len(pairs) == 943
    dpr = [load(real_file(f"dpr/{part}.c.txt")) for part in ("train", "test")]
    assert overlap(*dpr).said == "0 same, 1 near, 0 twin"


def test_a_short_judgement_is_near_whatever_it_asks_about():
    girl = Problem("Stretching ", " back, the woman smiled.", ("no", "yes"), 0, "her", query="the girl")
    assert kinds(girl, girl.replace(before="Patting ", query="the woman")) == ["near"]


def test_short_premises_alike_are_not_near_where_the_alternatives_are_others(real_file):
    dev, test = (load(real_file(f"copa/copa-{part}.xml")) for part in ("dev", "test"))
    assert overlap(dev, test).given == {}
    fainted = Problem("The man fainted because ", "", ("He took a nap.", "He ran a marathon."), 1)
    assert kinds(fainted, fainted.replace(before="The man cursed because ")) == ["near"]
    assert kinds(fainted, Problem("The man cursed because ", "", ("He clipped his nails.", "He slept."), 0)) == []


INSTRUCTION = "Read the following text carefully and then choose which of the two options given fits best. "
QUESTION = " Question: which of the two options that were given above is meant here? The answer must be "


@pytest.mark.parametrize("candidates", [("Ann", "Eve"), ("the first", "the second")])
def test_a_text_within_a_longer_one_is_near_with_its_blank_kept_filled_or_marked(candidates):
    behind = ANN.replace(before=INSTRUCTION + ANN.before, candidates=candidates, pronoun=None)
    assert kinds(behind, ANN) == kinds(ANN, behind) == ["near"]
    assert kinds(behind.replace(after=ANN.after + QUESTION), ANN) == ["near"]
    for fill in ("Ann", "Eve", "she", "____", "[MASK]", ""):
        whole = Problem(INSTRUCTION + ANN.before + fill + ANN.after + QUESTION, ".", candidates, 0)
        assert kinds(whole, ANN) == kinds(ANN, whole) == ["near"]
    assert kinds(ANN.replace(before=INSTRUCTION, candidates=("Bob", "Tom")), ANN) == []


def test_a_short_text_within_a_longer_one_is_near_only_with_a_candidate_in_common():
    short = Problem("Ann paid Eve because ", " sang.", ("Ann", "Eve"), 0)
    longer = short.replace(before=INSTRUCTION + short.before, after=short.after + QUESTION)
    assert kinds(longer, short) == ["near"]
    assert kinds(longer.replace(candidates=("Bob", "Tom")), short) == []
    assert kinds(longer.replace(candidates=("no", "yes"), query="Bob"), short) == []


def test_every_wsc_problem_is_found_within_a_prompt(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    prompts = [
        Dataset([Problem(INSTRUCTION + p.before, p.after + QUESTION, p.candidates, p.answer) for p in wsc]),
        Dataset([Problem(p.before + p.right + p.after + QUESTION, ".", p.candidates, p.answer) for p in wsc]),
    ]
    assert [len(overlap(prompt, wsc).held) for prompt in prompts] == [273, 273]


def test_reworded_texts_with_the_same_candidates_and_answer_are_near(real_file):
    wsc = load(f"wsc273:{real_file('wsc/WSCollection.xml')}")
    passing = {}
    for name in ("rel_1", "voice", "tense"):
        reworded = load(real_file(f"perturbed-wsc/text_{name}.jsonl"))
        found = overlap(reworded, wsc)
        assert found.given[0] == "near"  # "the city councilmen , whom you had seen with the journalists , refused"
        passing[name] = len(reworded) - len(found.given)
    assert passing == {"rel_1": 14, "voice": 53, "tense": 37}


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
    assert set(copy_keys(ANN)) & set(copy_keys(copy))


def test_the_first_key_is_the_text_alone():
    assert copy_keys(ANN)[0] == copy_keys(ANN.replace(candidates=("Eve", "a stranger"), pronoun="he"))[0]
    assert copy_keys(ANN)[0] != copy_keys(ANN.replace(after=" asked for the two coins."))[0]


def test_the_same_short_text_about_others_shares_no_key_but_its_own():
    one = Problem("The man fainted because ", "", ("he ran a marathon.", "he slept."), 0)
    other = Problem("The man cursed because ", "", ("he cut himself.", "he won."), 0)
    assert set(copy_keys(one)).isdisjoint(copy_keys(other))


def test_whole_texts_of_a_few_words_share_no_key_unless_they_are_the_same():
    one = Problem.whole(["She sleep.", "She sleeps."], 1)
    other = Problem.whole(["She sing.", "She sings."], 1)
    assert set(copy_keys(one)).isdisjoint(copy_keys(other))
    assert set(copy_keys(one)) & set(copy_keys(Problem.whole(["she sleeps", "she sleep"], 0)))


def test_problems_that_share_a_key_give_each_other_away():
    problems = list(load("open"))
    matched = {(match.first[1], match.second[1]) for match in find_matches([problems], within=True)}
    keys = [set(copy_keys(problem)) for problem in problems]
    sharing = {(one, other) for one, other in combinations(range(len(problems)), 2) if keys[one] & keys[other]}
    assert len(sharing) > 50
    assert sharing <= matched
