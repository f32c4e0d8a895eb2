"""A row is matched to its problem by its text, its candidates and what it asks."""

import pytest

from winokit.data.predictions.match import Matcher, Unmatched, align, align_difference, option_behind, tokens, which
from winokit.problem import Dataset, Problem

JUG_AND_CUP = ("the jug", "the cup")


def find_only(matcher: Matcher, text: str, candidates=None) -> int:
    """Index of the one problem that matches."""
    (index,) = matcher.find(text, candidates)
    return index


@pytest.mark.parametrize(
    "text",
    [
        "I poured water from the jug into the cup until _ was full.",
        "i poured  water from the jug, into the cup, until ___ was full",
        "I poured water from the jug into the cup until [MASK] was full!",
        "I poured water from the jug into the cup until it was full.",
        "I poured water from the jug into the cup until [it] was full.",
    ],
)
def test_a_text_is_found_whatever_its_case_punctuation_and_blank(twins, text):
    assert find_only(Matcher(twins), text) == 1


def test_a_text_that_differs_in_a_word_is_not_found(twins):
    beginning = "I poured water from the jug into the cup until _ was cold"
    with pytest.raises(Unmatched, match=f"no problem has the text '{beginning}"):
        Matcher(twins).find(f"{beginning}.")


def test_exact_texts_win_over_texts_with_the_same_words():
    exclamation = Problem.from_text("Nora called Ines _!", ("Nora", "Ines"))
    statement = Problem.from_text("Nora called Ines _.", ("Nora", "Ines"))
    matcher = Matcher(Dataset([exclamation, statement]))
    assert find_only(matcher, statement.text) == 1
    with pytest.raises(Unmatched, match="2 problems match it"):
        matcher.find("Nora called Ines _")


def test_one_text_with_two_pairs_of_candidates_is_told_apart_by_them():
    text = "Nora told Ines that Paul met Tom when _ sang."
    women = Problem.from_text(text, ("Nora", "Ines"))
    men = Problem.from_text(text, ("Paul", "Tom"))
    matcher = Matcher(Dataset([women, men]))
    assert find_only(matcher, text, ("Tom", "Paul")) == 1
    with pytest.raises(Unmatched, match="2 problems match it"):
        matcher.find(text)
    with pytest.raises(Unmatched, match="the candidates Nora / Ines, not Nora / Tom"):
        matcher.find(text, ("Nora", "Tom"))


def test_one_blank_with_two_pronouns_is_told_apart_by_the_pronoun():
    text = "The cook thanked the guest because _ was kind."
    candidates = ("the cook", "the guest")
    he = Problem.from_text(text, candidates, answer=1).replace(pronoun="he")
    she = he.replace(pronoun="she")
    matcher = Matcher(Dataset([he, she]))
    assert matcher.find(text, like=he.replace(pronoun="She")) == (1,)
    assert find_only(matcher, "The cook thanked the guest because he was kind.") == 0
    with pytest.raises(Unmatched, match="2 problems match it"):
        matcher.find(text)


def test_exact_repetitions_are_all_given_as_they_are_one_problem(twins):
    dataset = Dataset([twins[0], twins[1], twins[0]])
    matcher = Matcher(dataset)
    assert matcher.find(twins[0].text) == (0, 2)


def test_judgements_of_one_sentence_are_told_apart_by_their_query():
    of_nora = Problem("Nora thanked Ines because ", " had helped.", ("no", "yes"), pronoun="she", query="Nora")
    of_ines = of_nora.replace(query="Ines")
    matcher = Matcher(Dataset([of_nora, of_ines]))
    assert matcher.find(of_ines.text, like=of_ines) == (1,)


def test_a_problem_is_found_inside_a_longer_text(twins):
    matcher = Matcher(twins)
    prompt = f"Fill in the blank.\nSentence: {twins[4].text}\nOptions: the rope, the crate"
    assert matcher.find_inside(prompt) == (4,)
    assert matcher.find_inside(prompt, ("the crate", "the rope")) == (4,)
    question = f"Who is meant by 'she'? {twins[2].sentence} Answer:"
    assert matcher.find_inside(question) == (2,)


def test_two_problems_inside_one_text_are_refused(twins):
    text = f"{twins[0].text} The jug. {twins[1].text}"
    with pytest.raises(Unmatched, match="2 problems match it"):
        Matcher(twins).find_inside(text)


def test_half_a_problem_inside_a_text_is_not_enough(twins):
    with pytest.raises(Unmatched, match="no problem's text occurs in"):
        Matcher(twins).find_inside("Nora thanked Ines because _ had been")


def test_a_problem_that_is_part_of_another_is_not_meant_where_the_longer_one_stands():
    short = Problem.from_text("Nora thanked Ines because _ had helped", ("Nora", "Ines"))
    long = Problem.from_text("Nora thanked Ines because _ had helped a lot", ("Nora", "Ines"))
    matcher = Matcher(Dataset([short, long]))
    assert matcher.find_inside(f"Q: {long.text}?") == (1,)
    assert matcher.find_inside(f"Q: {short.text}?") == (0,)


def test_a_text_shorter_than_the_words_looked_for_is_found_inside_another():
    dataset = Dataset([Problem.from_text("_ won", ("Nora", "Ines"))])
    matcher = Matcher(dataset)
    assert matcher.find_inside("Say who: _ won.") == (0,)


@pytest.mark.parametrize(
    ("offered", "order"),
    [
        (("the jug", "the cup"), (0, 1)),
        (("The Cup", "JUG"), (1, 0)),
        (("a cup.", "a jug."), (1, 0)),
        (("the jug's", "the cup’s"), (0, 1)),
        (("the jug", "the jug"), None),
        (("the jug", "the tray"), None),
        (("the jug",), None),
        (("the jug", "the cup", "the tray"), None),
    ],
)
def test_candidates_are_aligned_whatever_their_order_case_article_and_possessive(offered, order):
    assert align(offered, JUG_AND_CUP) == order


def test_candidates_that_differ_only_in_their_article_are_told_apart_by_it():
    assert align(("a cup", "the cup"), ("the cup", "a cup")) == (1, 0)
    assert which("cup", ("the cup", "a cup")) is None


@pytest.mark.parametrize(
    ("texts", "candidates", "order"),
    [
        (("so Maria", "so Sarah"), ("Sarah", "Maria"), (1, 0)),
        (("the green car", "the black car"), ("black car", "green car"), (1, 0)),
        (("hid the car", "hid the car park"), ("car park", "car"), (1, 0)),
        (("because the jug's", "because the cup's"), ("the cup", "the jug"), (1, 0)),
        (("<user> hid a dog <end>", "<user> hid the cat <end>"), ("cat", "dog"), (1, 0)),
        (("x so A", "x so B"), ("Sarah", "Maria"), None),
        (("so Maria", "so Maria"), ("Sarah", "Maria"), None),
        (("so Maria",), ("Sarah", "Maria"), None),
    ],
)
def test_the_candidate_of_a_text_is_what_the_other_texts_have_not(texts, candidates, order):
    assert align_difference(texts, candidates) == order


def test_a_letter_stands_for_what_the_last_list_of_the_prompt_has_behind_it():
    prompt = "Example:\nA) Paul\nB) Tom\nAnswer: A\n\nNow you:\n (A) Nora \n (B) Ines\nAnswer:"
    assert option_behind(" A", prompt) == "Nora"
    assert option_behind("b", prompt) == "Ines"
    assert option_behind("C", prompt) is None
    assert option_behind(" ", prompt) is None


def test_decomposed_letters_are_the_same_words():
    assert tokens("Zoe\u0308 left") == tokens("Zoë left")
