"""The texts that come with the collection app: enough of them, varied, short, and true to the rules they teach."""

import json
import re
import tomllib
from collections import Counter
from importlib.resources import files
from itertools import combinations

import pytest
from rapidfuzz import fuzz, process

from winokit import check, load
from winokit.extend import language_of, local_context, part_sent, switch, twin_rules
from winokit_collect.study.writing import special_words

CONTENT = files("winokit_collect") / "content"
TOPICS = [json.loads(line) for line in (CONTENT / "topics.jsonl").read_text("utf-8").splitlines()]
QUIZ = tomllib.loads((CONTENT / "quiz.toml").read_text("utf-8"))["question"]
GOLD = load(str(CONTENT / "gold.jsonl"))
KINDS = ("write", "validate", "switchable", "associative", "evaluate")
MOST_WORDS = {
    "guidelines.md": 700,
    "guidelines-validate.md": 350,
    "guidelines-switchable.md": 320,
    "guidelines-associative.md": 300,
    "guidelines-evaluate.md": 300,
    "consent.md": 550,
}
FILLERS = frozenset(
    "a an and are be for get good have how in is it make nice of on or thing to use very with you".split()
)


def text_of(name: str) -> str:
    return (CONTENT / name).read_text("utf-8")


def test_there_are_topics_enough_for_both_domains():
    domains = Counter(topic["domain"] for topic in TOPICS)
    assert len(TOPICS) >= 320
    assert set(domains) == {"social", "physical", "either"}
    assert min(domains["social"], domains["physical"]) >= 110
    assert abs(domains["social"] - domains["physical"]) <= 0.05 * len(TOPICS)


def test_a_topic_is_a_short_title_and_its_words():
    for topic in TOPICS:
        assert set(topic) == {"topic", "domain", "words"}
        assert re.fullmatch(r"How to [a-z][A-Za-z' -]+", topic["topic"]), topic["topic"]
        assert len(topic["topic"].split()) <= 12, topic["topic"]


def test_words_of_a_topic_are_ten_to_sixteen_plain_words_each_once():
    for topic in TOPICS:
        words = topic["words"]
        assert 10 <= len(words) <= 16, topic["topic"]
        assert len(set(words)) == len(words), topic["topic"]
        assert all(re.fullmatch(r"[a-z]{2,14}", word) for word in words), topic["topic"]
        assert not FILLERS & set(words), topic["topic"]


def test_no_word_is_everywhere():
    seen = Counter(word for topic in TOPICS for word in topic["words"])
    word, count = seen.most_common(1)[0]
    assert count <= 0.04 * len(TOPICS), word
    assert len(seen) >= 5 * len(TOPICS)


def test_no_two_topics_are_nearly_the_same():
    titles = [topic["topic"].removeprefix("How to ").casefold() for topic in TOPICS]
    alike = process.cdist(titles, titles, scorer=fuzz.token_sort_ratio)
    near = [(titles[i], titles[j]) for i, j in combinations(range(len(titles)), 2) if alike[i, j] >= 80]
    assert near == []


def test_no_two_topics_share_half_of_their_words():
    shared = [
        (one["topic"], other["topic"])
        for one, other in combinations(TOPICS, 2)
        if 2 * len(set(one["words"]) & set(other["words"])) >= min(len(one["words"]), len(other["words"]))
    ]
    assert shared == []


def test_titles_begin_in_many_ways():
    verbs = Counter(topic["topic"].split()[2] for topic in TOPICS)
    assert len(verbs) >= 100
    assert verbs.most_common(1)[0][1] <= 0.05 * len(TOPICS)


@pytest.mark.parametrize(
    ("kind", "fewest"), [("write", 6), ("validate", 6), ("switchable", 4), ("associative", 4), ("evaluate", 4)]
)
def test_the_quiz_prepares_for_every_kind_of_task(kind, fewest):
    assert sum(question["kind"] == kind for question in QUIZ) >= fewest


def test_quiz_answers_are_in_range_and_explained():
    for question in QUIZ:
        assert set(question) == {"kind", "text", "options", "answer", "explanation"}
        assert question["kind"] in KINDS
        assert len(set(question["options"])) == len(question["options"]) >= 2
        assert question["answer"] in range(len(question["options"])), question["text"]
        assert question["text"].strip()
        assert question["explanation"].strip()


@pytest.mark.parametrize("kind", KINDS)
def test_no_place_and_no_length_passes_the_quiz(kind):
    asked = [question for question in QUIZ if question["kind"] == kind]
    places = Counter(question["answer"] for question in asked)
    longest = sum(max(range(len(q["options"])), key=lambda i: len(q["options"][i])) == q["answer"] for q in asked)
    assert places.most_common(1)[0][1] < 0.8 * len(asked)
    assert longest < 0.8 * len(asked)


def test_gold_questions_are_complete_twins_half_social_half_physical():
    assert len(GOLD) >= 40
    assert {len(members) for members in GOLD.groups.values()} == {2}
    assert all(problem.group for problem in GOLD)
    domains = Counter(problem.domain for problem in GOLD)
    assert set(domains) == {"social", "physical"}
    assert domains["social"] == domains["physical"]


def test_gold_questions_keep_the_rules_they_are_mixed_in_to_guard():
    for members in GOLD.groups.values():
        assert twin_rules.broken_rules(members, range(len(members))) == []
        assert {problem.answer for problem in members} == {0, 1}
        assert members[0].labels["anchor"] == members[1].labels["anchor"]


def test_gold_questions_pass_every_check_and_repeat_nothing_of_the_bundled_twins():
    assert [finding.message for finding in check([GOLD, load("open")]) if finding.warns] == []
    assert (
        runs_of_words([problem.text for problem in GOLD], 6) & runs_of_words([p.text for p in load("open")], 6) == set()
    )


def test_gold_special_words_are_what_differs_between_twins():
    for one, other in GOLD.groups.values():
        for problem, differs in zip((one, other), special_words(one.text, other.text), strict=True):
            label = str(problem.labels["special_word"]).casefold()
            assert label in problem.text.casefold()
            pieces = differs.casefold().split(" … ")
            assert all(piece in label or label in piece for piece in pieces)


def test_gold_candidates_are_named_once_in_order_and_no_pronoun_stands_in_the_blank():
    for problem in GOLD:
        places = [language_of("en").mention_places(problem.text, candidate) for candidate in problem.candidates]
        assert [len(found) for found in places] == [1, 1]
        assert places[0] < places[1]
        assert problem.pronoun is None
        assert len({language_of("en").gender_of(candidate) for candidate in problem.candidates} - {None, "either"}) <= 1


@pytest.mark.parametrize("label", ["switchable", "associative"])
def test_who_always_says_the_same_does_not_get_through_the_gold_questions(label):
    told = [problem.labels[label] for problem in GOLD if label in problem.labels]
    assert all(isinstance(value, bool) for value in told)
    assert len(told) >= 40
    assert max(Counter(told).values()) / len(told) < 0.7  # the share below which a study blocks a worker by default


def test_every_labelled_gold_question_can_be_shown():
    for problem in GOLD:
        assert not isinstance(switch(problem), str)
        clauses = [cut(problem) for cut in (part_sent, local_context)]
        assert "associative" not in problem.labels or any(not isinstance(made, str) for made in clauses)


def test_what_has_a_link_to_one_candidate_is_not_called_switchable():
    for problem in GOLD:
        assert not (problem.labels["switchable"] and problem.labels.get("associative"))


def test_gold_questions_are_not_given_away_by_guidelines_or_quiz():
    shown = [text_of(name) for name in MOST_WORDS] + [text_of("quiz.toml")]
    assert runs_of_words([problem.text for problem in GOLD], 5) & runs_of_words(shown, 5) == set()


@pytest.mark.parametrize("name", MOST_WORDS)
def test_people_are_not_asked_to_read_more_than_a_page_or_two(name):
    text = text_of(name)
    assert text.startswith("# ")
    assert len(text.split()) <= MOST_WORDS[name]


@pytest.mark.parametrize("name", MOST_WORDS)
def test_markdown_has_no_raw_html_and_loads_nothing_from_elsewhere(name):
    text = text_of(name)
    assert not re.search(r"<[A-Za-z/!?]|&\w+;|!\[|\]\(|https?:", text)
    assert not re.search(r"(?<![\\`])_", text), "a bare _ may be taken for emphasis"


def test_guidelines_tell_the_numbers_of_the_rules():
    text = text_of("guidelines.md")
    assert f"{twin_rules.WINOGRANDE.fewest_words} to {twin_rules.WINOGRANDE.most_words} words" in text
    assert f"{twin_rules.WINOGRANDE.least_overlap * 100:.0f} %" in text


def test_the_first_example_of_the_guidelines_is_a_pair_of_twins():
    quoted = re.search(r"(?:^>.*\n)+", text_of("guidelines.md"), re.MULTILINE)
    assert quoted is not None
    lines = [line.removeprefix("> ") for line in quoted.group().splitlines() if len(line) > 1]
    told = [re.fullmatch(r"(?P<text>.*) \((?P<answer>\w+)\)", re.sub(r"\*\*|\\", "", line)) for line in lines]
    one, other = [match.group("text", "answer") for match in told if match]
    assert one[1] != other[1]
    assert twin_rules.overlap(one[0], other[0]) is None
    assert [rule(text) for rule in (twin_rules.one_blank, twin_rules.length) for text, _ in (one, other)] == [None] * 4


def test_consent_marks_every_place_the_requester_fills_in():
    text = text_of("consent.md")
    places = re.findall(r"\*\*\[FILL IN: ([^\[\]]+)\]\*\*", text)
    assert len(places) == text.count("FILL IN")
    for needed in ("institution", "contact", "amount", "licence", "date of publication"):
        assert any(needed in place for place in places), needed


@pytest.mark.parametrize("language", ["de"])
def test_content_in_other_languages_keeps_the_same_rules(language):
    own = CONTENT / language
    gold = load(str(own / "gold.jsonl"))
    assert {problem.language for problem in gold} == {language}
    assert {tuple(sorted(p.answer for p in members)) for members in gold.groups.values()} == {(0, 1)}
    assert [twin_rules.broken_rules(members, range(2)) for members in gold.groups.values()] == [[]] * len(gold.groups)
    for label in ("switchable", "associative"):
        told = Counter(problem.labels[label] for problem in gold if label in problem.labels)
        assert max(told.values()) < 0.7 * told.total()
    quiz = tomllib.loads((own / "quiz.toml").read_text("utf-8"))["question"]
    assert [(q["kind"], q["answer"], len(q["options"])) for q in quiz] == [
        (q["kind"], q["answer"], len(q["options"])) for q in QUIZ
    ]
    topics = [json.loads(line) for line in (own / "topics.jsonl").read_text("utf-8").splitlines()]
    assert len({topic["topic"] for topic in topics}) == len(topics) >= 40
    assert {len(set(topic["words"])) for topic in topics} == {10}
    for name in MOST_WORDS:
        text = (own / name).read_text("utf-8")
        assert text.count("FILL IN") == text_of(name).count("FILL IN")
        assert text.count("\n#") == text_of(name).count("\n#")
        assert not re.search(r"<[A-Za-z/!?]|(?<![\\`])_", text)


def runs_of_words(texts: list[str], size: int) -> set[str]:
    found = set()
    for text in texts:
        words = re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.casefold())
        found |= {" ".join(words[i : i + size]) for i in range(len(words) - size + 1)}
    return found
