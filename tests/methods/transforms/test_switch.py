"""Candidates change places as in the sentences that the authors of the protocol released."""

from collections import Counter
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winokit.data.loading import load
from winokit.errors import UnknownName
from winokit.methods.transforms.no_cands import no_cands
from winokit.methods.transforms.switch import by_label_or_rule, looks_switchable, switch
from winokit.problem import NO_BLANK, Problem
from winokit.text.english import ENGLISH, English

NOT_NAMED = "a candidate is not named in the text"
WORDS_BEFORE = "a candidate has words before it that may not fit the other"
PLURAL = "one candidate is plural, the other is not"
NOT_BACK = "switching back would not give the same text"
OTHER_WORDS = "a candidate may be meant by other words too"


def problem(text, one, other, **fields):
    """Problem of a text with a blank, answered by the first of two candidates."""
    return Problem.from_text(text, (one, other), answer=0, **fields)


def text_or_reason(variant):
    """Text of a variant, or the reason for which there is none."""
    return variant if isinstance(variant, str) else variant.text


@pytest.mark.parametrize(
    ("text", "one", "other", "switched"),
    [
        ("Tom ran to Ray, but _ fell.", "Tom", "Ray", "Ray ran to Tom, but _ fell."),
        ("Tom saw the bottom before Ray, so _ fell.", "Tom", "Ray", "Ray saw the bottom before Tom, so _ fell."),
        ("Ann read Eve's book, as Ann likes _.", "Ann", "Eve", "Eve read Ann's book, as Eve likes _."),
        ("Will will call Mark and mark _.", "Will", "Mark", "Mark will call Will and mark _."),
        ("The cup hit the tray because _ fell.", "the cup", "the tray", "The tray hit the cup because _ fell."),
        ("The cup hit the tray because the _ fell.", "tray", "cup", "The tray hit the cup because the _ fell."),
        ("A cup hit an oar, so the _ fell.", "the oar", "The cup", "An oar hit a cup, so the _ fell."),
        ("There is a gap in the wall by _.", "The gap", "The wall", "There is a wall in the gap by _."),
        ("I stuck a pin in a bun. The pin and _ fell.", "pin", "bun", "I stuck a bun in a pin. The bun and _ fell."),
        ("If the thief fools Sam, _ wins.", "The thief", "Sam", "If Sam fools the thief, _ wins."),
        ("I know that Sam saw the thief hide _.", "Sam", "the thief", "I know that the thief saw Sam hide _."),
        (
            "He had 80 plates near the bowls, so _ broke.",
            "plates",
            "bowls",
            "He had 80 bowls near the plates, so _ broke.",
        ),
        ("The cup hit a cup-like bin, so _ fell.", "the cup", "the bin", "The bin hit a cup-like cup, so _ fell."),
        ("Sam heard a man hum, so _ left.", "Sam", "The man", "A man heard Sam hum, so _ left."),
        ("Sam met a man. Sam saw _.", "Sam", "the man", "A man met Sam. The man saw _."),
        ("Someone told the nurse that _ left.", "the nurse", "someone", "The nurse told someone that _ left."),
        ("My uncle beat the boy, but _ won.", "my uncle", "the boy", "The boy beat my uncle, but _ won."),
        ("She gave her hat for my coat; _ fits.", "The hat", "The coat", "She gave her coat for my hat; _ fits."),
        ("The cup fits the cup holder, as _ is big.", "cup", "cup holder", "The cup holder fits the cup, as _ is big."),
        ("Patting _ back, the aunt left the girl.", "The girl", "The aunt", "Patting _ back, the girl left the aunt."),
        ("Lemons cost less than pears, so _ sold.", "lemons", "pears", "Pears cost less than lemons, so _ sold."),
        ("He washed with soap, not oil, as _ hurt.", "soap", "oil", "He washed with oil, not soap, as _ hurt."),
        (
            "The older students hit the younger ones, so we hid _.",
            "The older students",
            "The younger students",
            "The younger students hit the older ones, so we hid _.",
        ),
        ("Bo's hat hung above Al's, so _ fell.", "Bo's hat", "Al's hat", "Al's hat hung above Bo's, so _ fell."),
        ("Ann Hill met Eve Hill, but _ left.", "Ann Hill", "Eve Hill", "Eve Hill met Ann Hill, but _ left."),
        ("tom ran to ray, but _ fell.", "tom", "ray", "ray ran to tom, but _ fell."),
        ("As the TV hid the cat, _ fell. The cat cried.", "TV", "cat", "As the cat hid the TV, _ fell. The TV cried."),
    ],
)
def test_every_mention_moves_in_the_case_and_with_the_article_of_its_new_place(text, one, other, switched):
    variant = switch(problem(text, one, other))
    assert text_or_reason(variant) == switched


@pytest.mark.parametrize(
    ("text", "one", "other", "why"),
    [
        ("Joe's uncle beat him, though _ is old.", "Joe", "Joe's uncle", NOT_NAMED),
        ("A customer stabbed one of the tellers; _ fled.", "the customer", "the teller", NOT_NAMED),
        ("The school bus passed a van. The bus was slow, so _ won.", "the school bus", "the van", OTHER_WORDS),
        ("The cup hit one of the cups in the box, so _ fell.", "the cup", "the box", OTHER_WORDS),
        ("The box hit one of the boxes in the car, so _ fell.", "the box", "the car", OTHER_WORDS),
        ("The boy hid the coats, as _ were wet.", "the boy", "the coats", PLURAL),
        ("Madonna fired her trainer because _ lied.", "Madonna", "The trainer", WORDS_BEFORE),
        ("Mr. Hill paid the plumber, so _ left.", "Hill", "the plumber", WORDS_BEFORE),
        ("Sam Hill paid the plumber, so _ left.", "Hill", "the plumber", WORDS_BEFORE),
        ("He used the card rather than take cash, as _ was late.", "the card", "cash", WORDS_BEFORE),
        ("The man saw Sam. A man fled, so _ left.", "the man", "Sam", "a candidate's articles vary"),
        ("An historian met a poet, so _ left.", "the historian", "the poet", NOT_BACK),
        ("James' hat hid Ann's bag, so _ left.", "James", "Ann", "a possessive ending would not fit"),
        ("The men's hats hid the boys, so _ left.", "the men", "the boys", "a possessive ending would not fit"),
        ("A cup and the cup fell, so _ broke.", "a cup", "the cup", "the candidates differ only in their article"),
        ("The tea and the iPod, or the Ipod, and the iPod fell on _.", "tea", "iPod", "a candidate is spelled"),
    ],
)
def test_what_is_not_sure_is_refused_with_a_reason(text, one, other, why):
    reason = switch(problem(text, one, other))
    assert isinstance(reason, str), reason.text
    assert reason.startswith(why)


def test_only_choices_between_two_are_switched():
    three = Problem("Tom, Ray and Max met, and ", " spoke.", ("Tom", "Ray", "Max"), 1)
    assert switch(three) == "more than two candidates"
    question = Problem("Tom met Ray and ", " spoke.", ("no", "yes"), 1, "he", query="Tom")
    assert switch(question) == "a yes/no judgement names one candidate only"


def test_the_answer_is_flipped_and_all_else_is_kept():
    ball = problem("Tom ran to Ray, but _ fell.", "Tom", "Ray", group="g", domain="social", pronoun="he")
    variant = switch(ball)
    assert variant.candidates == ("Tom", "Ray")
    assert variant.right == "Ray"
    assert variant.provenance == {"of": ball.id, "switched_by": "ours"}
    assert variant.group == "g"
    assert variant.domain == "social"
    assert variant.pronoun == "he"
    unanswered = switch(ball.replace(answer=None))
    assert unanswered.answer is None


def test_the_papers_style_is_the_released_sentence():
    call = problem("Paul called Ray. _ slept.", "Paul", "Ray", labels={"switched": "Ray called paul. [he] slept."})
    variant = switch(call, style="paper")
    assert variant.before == "Ray called paul. "
    assert variant.pronoun == "he"
    assert variant.after == " slept."
    assert variant.right == "Ray"
    without_sentence = call.replace(labels={})
    assert switch(without_sentence, style="paper") == "no switched sentence was released for it"
    with pytest.raises(UnknownName, match="Known: default, mended, paper"):
        switch(call, style="code")


@pytest.mark.parametrize(
    ("text", "pronoun", "released", "mended"),
    [
        ("Paul called Ray. _ slept.", "He", "Ray called paul. [he] slept.", "Ray called Paul. He slept."),
        ("As Paul fed Ray, _ slept.", "he", "As ray fed paul, [he]  slept .", "As Ray fed Paul, he slept."),
        ('Paul beat Ray, as _ "Hi!" won.', "his", 'Ray beat paul, as [his] "Hi!" won.', 'his "Hi!" won.'),
        ("Paul saw Ray. I know _ fed.", "he", "Ray saw paul. i know [he] fed.", "Ray saw Paul. I know he fed."),
    ],
)
def test_a_released_sentence_is_mended_by_the_capitals_of_the_original(text, pronoun, released, mended):
    original = problem(text, "Paul", "Ray", pronoun=pronoun, labels={"switched": released})
    variant = switch(original, style="mended")
    assert variant.sentence.endswith(mended)
    assert variant.right == "Ray"
    assert variant.provenance["switched_by"] == "authors"


def test_without_a_released_sentence_the_mended_one_is_ours():
    call = problem("Paul called Ray. _ slept.", "Paul", "Ray")
    variant = switch(call, style="mended")
    assert variant == switch(call)
    assert variant.provenance["switched_by"] == "ours"


def words_without_articles(text):
    words = text.casefold().split()
    return Counter(word for word in words if word not in ("the", "a", "an"))


BEFORE_THING = st.sampled_from(["", "the ", "The ", "a ", "an ", "my ", "the red ", "with ", "Mr. ", "that ", "'", '"'])
AFTER_THING = st.sampled_from(["", "'s hat", ",", ".", ". And", "’s", "-like", " of tin", "'", " ", "s"])
BETWEEN_THINGS = st.sampled_from(["hit", "and", "saw", "because"])


@st.composite
def described(draw):
    """Draw a problem whose text names two things in all the ways a text may, some of them impossible."""
    things = ["Ann", "Eve", "James", "cup", "apple", "cup holder", "cups", "school bus", "TV", "uncle", "Uncle", "men"]
    pair = draw(st.lists(st.sampled_from(things), min_size=2, max_size=2, unique_by=str.casefold))
    parts = []
    for which in draw(st.lists(st.sampled_from([0, 1]), min_size=1, max_size=5)):
        mention = draw(BEFORE_THING) + pair[which] + draw(AFTER_THING)
        parts += [mention, draw(BETWEEN_THINGS)]
    blank = draw(st.integers(0, len(parts)))
    article = draw(st.sampled_from(["", "the ", "The "]))
    parts.insert(blank, "_")
    candidates = [article + thing for thing in pair]
    return Problem.from_text(" ".join(parts), candidates)


@settings(max_examples=1500, deadline=None)
@given(described())
def test_switching_twice_gives_the_same_problem_and_loses_no_word(given_problem):
    variant = switch(given_problem)
    if isinstance(variant, Problem):
        assert switch(variant) == given_problem
        assert variant.text != given_problem.text
        mentions = ENGLISH.mentions(given_problem.text, given_problem.candidates)
        mentions_of_variant = ENGLISH.mentions(variant.text, variant.candidates)
        opposite_candidates = [1 - mention.candidate for mention in mentions]
        assert [mention.candidate for mention in mentions_of_variant] == opposite_candidates
        is_short = all(len(candidate.split()) == 1 for candidate in variant.candidates)
        has_marks = not set(",.'’\"-").isdisjoint(variant.text)
        if is_short and not has_marks:
            words = words_without_articles(given_problem.text)
            words_of_variant = words_without_articles(variant.text)
            assert words_of_variant.total() == words.total()


def test_a_candidate_that_is_an_ending_alone_is_no_failure():
    ending = Problem("The 0 and the s met, but _ left.", "", ("0", "s"), 0)
    assert switch(ending) is not None


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40), st.text(min_size=1, max_size=6), st.text(min_size=1, max_size=6))
def test_no_text_makes_it_fail(before, after, one, other):
    first_words = one.casefold().split()
    other_words = other.casefold().split()
    names_two = first_words and other_words and first_words != other_words
    if not before.strip() or not names_two:
        return
    context = f"{before} {one} {other} "
    variant = switch(Problem(context, after, (one, other), 0))
    if isinstance(variant, Problem):
        assert switch(variant).text == f"{context}_{after}"


def labelled_wsc(real_file):
    """WSC273 with the labels and the switched sentences of its authors."""
    path = real_file("wsc/WSCollection.xml")
    labels = real_file("trichelair/WSC_switched_label.json")
    return load(f"wsc273:{path}", labels=[labels])


def outcomes(dataset):
    """Number of problems that are switched, and back, and of those refused for each reason."""
    counts = Counter()
    for original in dataset:
        variant = switch(original)
        if isinstance(variant, str):
            counts[variant] += 1
        else:
            assert switch(variant) == original
            counts["switched"] += 1
    return counts


def test_wsc_is_switched_back_and_forth(real_file):
    expected = {
        "switched": 230,
        NOT_NAMED: 28,
        WORDS_BEFORE: 7,
        PLURAL: 6,
        NOT_BACK: 2,
    }
    assert outcomes(labelled_wsc(real_file)) == expected


def test_winogrande_dev_is_switched_back_and_forth(real_file):
    expected = {
        "switched": 1164,
        WORDS_BEFORE: 58,
        NOT_NAMED: 17,
        NOT_BACK: 14,
        PLURAL: 11,
        OTHER_WORDS: 3,
    }
    assert outcomes(load(real_file("winogrande/dev.jsonl"))) == expected


def test_open_is_switched_back_and_forth():
    expected = {"switched": 420, WORDS_BEFORE: 4, NOT_BACK: 2, PLURAL: 2}
    assert outcomes(load("open")) == expected


def test_124_of_the_131_released_sentences_are_ours_up_to_case(real_file):
    """Seven released sentences are not what switching yields.

    Row 14 has "the man" for our "his man", row 21 "the botray", row 106 "a john". The others are rewritten by hand
    (94, 95) or name a place that the text spells otherwise (170, 171).
    """
    wsc = labelled_wsc(real_file)
    switchable = [row for row, original in enumerate(wsc) if original.labels["switchable"]]
    different = []
    for row in switchable:
        ours = switch(wsc[row])
        released = switch(wsc[row], style="paper")
        if letters_of(ours) != letters_of(released):
            different.append(row)
    assert len(switchable) == 131
    assert different == [14, 21, 94, 95, 106, 170, 171]


def test_all_131_switchable_problems_of_wsc_are_switched_and_all_but_six_as_we_do_it(real_file):
    """Six differ: the authors' 14 and 15 say "the man" for "his man", and four are refused by our rules."""
    wsc = labelled_wsc(real_file)
    make_variant = by_label_or_rule(wsc)
    outcomes_by_row = {row: make_variant(original) for row, original in enumerate(wsc)}
    variants = {row: variant for row, variant in outcomes_by_row.items() if isinstance(variant, Problem)}
    makers = {variant.provenance["switched_by"] for variant in variants.values()}
    ours = {row: switch(wsc[row]) for row in variants}
    different = [row for row, variant in variants.items() if ours[row] != variant]
    refused = [row for row in variants if isinstance(ours[row], str)]
    assert len(variants) == 131
    assert makers == {"authors"}
    assert different == [14, 15, 94, 95, 170, 171]
    assert refused == [94, 95, 170, 171]
    assert variants[14].text == "The son couldn't lift the man because _ was so weak."
    assert variants[170].before.startswith(
        "In July, Yakutsk declared war on Kamchatka. Since Kamchatka's army was much "
    )


def letters_of(variant):
    """Sentence of a variant without spaces and capitals, or the reason for which there is none."""
    return variant if isinstance(variant, str) else "".join(variant.sentence.casefold().split())


@pytest.mark.parametrize(
    ("text", "one", "other", "why"),
    [
        ("Tom ran to Ray, but _ fell.", "Tom", "Ray", None),
        ("Robin ran to Ray, but _ fell.", "Robin", "Ray", None),
        ("The man lifted the boy onto _.", "The man", "The boy", None),
        ("I like the oat cookies, not the nut cookies; make _.", "the oat cookies", "the nut cookies", None),
        ("Tom ran to Mary, but _ fell.", "Tom", "Mary", "names of two genders"),
        ("Tom ran to the lake, but _ fell.", "Tom", "the lake", "a name and something else"),
        ("Kirilov wrote to Shatov, but _ fell.", "Kirilov", "Shatov", "names that are on no list of first names"),
        ("The cat ate the mouse, as _ was hungry.", "the cat", "the mouse", "things of different kinds"),
        ("The boy led the old man, as _ was weak.", "the boy", "the old man", "things of different kinds"),
        ("Joe's uncle beat him, though _ is old.", "Joe", "Joe's uncle", NOT_NAMED),
    ],
)
def test_switchability_is_judged_by_names_and_kinds(text, one, other, why):
    assert looks_switchable(problem(text, one, other)) == why


def judged(dataset):
    """Number of problems called switchable and labelled so, only called so, and only labelled so."""
    counts = Counter()
    for original in dataset:
        is_called_so = looks_switchable(original) is None
        counts[is_called_so, original.labels["switchable"]] += 1
    return counts[True, True], counts[True, False], counts[False, True]


def test_the_judgement_agrees_with_the_annotators_of_wsc(real_file):
    assert judged(labelled_wsc(real_file)) == (103, 0, 28)


def test_the_judgement_agrees_with_the_labels_of_open():
    assert judged(load("open")) == (228, 2, 86)


PLACES = "Ann Bo An St ann BO Ann's Bo’s Ann, Bo. (Ann) Ann-Bo Anna the a The Mr. hit".split()


@given(
    st.lists(st.sampled_from(PLACES), min_size=2, max_size=8),
    st.sampled_from([("Ann", "Bo"), ("An", "Bo"), ("St", "Ann"), ("the Ann", "Bo"), ("Bo", "ann")]),
)
@settings(max_examples=300, deadline=None)
def test_names_that_stand_by_themselves_are_treated_as_all_the_rules_would_have_it(words, candidates):
    beginning = " ".join(words)
    assert_same_without_shortcut(problem(f"{beginning} and _ left.", *candidates))


def assert_same_without_shortcut(original):
    """Assert that variants are the same if no exchange is taken for a plain one."""
    switched = switch(original)
    without_candidates = no_cands(original)
    with patch.object(English, "plain_exchange", return_value=None):
        assert switch(original) == switched
        assert no_cands(original) == without_candidates


NOUNS = "the The a his cup jug cups jugs Cup tea pot cup's jug, pot. cup-jug potter mug".split()
PAIRS = [("the cup", "the jug"), ("tea pot", "mug"), ("cup", "tea cup"), ("the cups", "jugs"), ("cup", "jugs")]


@given(st.lists(st.sampled_from(NOUNS), min_size=2, max_size=8), st.sampled_from(PAIRS))
@settings(max_examples=300, deadline=None)
def test_nouns_after_the_are_treated_as_all_the_rules_would_have_it(words, candidates):
    first_noun, second_noun = (candidate.removeprefix("the ") for candidate in candidates)
    middle = " ".join(words)
    text = f"The {first_noun} {middle} the {second_noun} and _ broke."
    assert_same_without_shortcut(problem(text, *candidates))


@pytest.mark.parametrize(
    ("text", "one", "other", "is_plain"),
    [
        ("The cup hit the jug, and the cup broke the _ .", "cup", "the jug", True),
        ("The tea pot hit the mug because the _ fell.", "tea pot", "mug", True),
        ("A cup hit the jug because the _ fell.", "cup", "jug", False),
        ("The cup hit the jug among cups because the _ fell.", "cup", "jug", False),
        ("The cup hit the jug's lid because the _ fell.", "cup", "jug", False),
        ("The cups hit the jug because the _ fell.", "cups", "jug", False),
        ("The tea pot hit the flower pot because the _ fell.", "tea pot", "flower pot", False),
    ],
)
def test_nouns_are_plain_where_the_stands_before_each_and_no_other_form_is_there(text, one, other, is_plain):
    exchange = ENGLISH.plain_exchange(text, (one, other))
    assert (exchange is not None) is is_plain


def test_whole_texts_have_no_candidates_to_switch():
    whole_texts = Problem.whole(["Anna", "Will"], 0)
    assert switch(whole_texts) == NO_BLANK
