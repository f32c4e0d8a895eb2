"""The texts that come with the collection app are varied, short, and keep the rules that they teach."""

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
TOPIC_LINES = (CONTENT / "topics.jsonl").read_text("utf-8").splitlines()
TOPICS = [json.loads(line) for line in TOPIC_LINES]
QUIZ_FILE = tomllib.loads((CONTENT / "quiz.toml").read_text("utf-8"))
QUIZ = QUIZ_FILE["question"]
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
        title = topic["topic"]
        assert re.fullmatch(r"How to [a-z][A-Za-z' -]+", title), title
        assert len(title.split()) <= 12, title


def test_words_of_a_topic_are_ten_to_sixteen_plain_words_each_once():
    for topic in TOPICS:
        title = topic["topic"]
        words = topic["words"]
        assert 10 <= len(words) <= 16, title
        assert len(set(words)) == len(words), title
        assert all(re.fullmatch(r"[a-z]{2,14}", word) for word in words), title
        assert not FILLERS & set(words), title


def test_no_word_is_everywhere():
    word_counts = Counter()
    for topic in TOPICS:
        word_counts.update(topic["words"])
    ((word, count),) = word_counts.most_common(1)
    assert count <= 0.04 * len(TOPICS), word
    assert len(word_counts) >= 5 * len(TOPICS)


def test_no_two_topics_are_nearly_the_same():
    titles = [topic["topic"].removeprefix("How to ").casefold() for topic in TOPICS]
    similarities = process.cdist(titles, titles, scorer=fuzz.token_sort_ratio)
    index_pairs = combinations(range(len(titles)), 2)
    similar_titles = [(titles[i], titles[j]) for i, j in index_pairs if similarities[i, j] >= 80]
    assert similar_titles == []


def test_no_two_topics_share_half_of_their_words():
    for first, second in combinations(TOPICS, 2):
        first_words = set(first["words"])
        second_words = set(second["words"])
        shared_words = first_words & second_words
        fewest_words = min(len(first_words), len(second_words))
        assert 2 * len(shared_words) < fewest_words, (first["topic"], second["topic"])


def test_titles_begin_in_many_ways():
    verbs = Counter(topic["topic"].split()[2] for topic in TOPICS)
    assert len(verbs) >= 100
    assert max(verbs.values()) <= 0.05 * len(TOPICS)


@pytest.mark.parametrize(
    ("kind", "fewest"), [("write", 6), ("validate", 6), ("switchable", 4), ("associative", 4), ("evaluate", 4)]
)
def test_the_quiz_prepares_for_every_kind_of_task(kind, fewest):
    assert sum(question["kind"] == kind for question in QUIZ) >= fewest


def test_quiz_answers_are_in_range_and_explained():
    for question in QUIZ:
        assert set(question) == {"kind", "text", "options", "answer", "explanation"}
        assert question["kind"] in KINDS
        options = question["options"]
        assert len(set(options)) == len(options) >= 2
        assert question["answer"] in range(len(options)), question["text"]
        assert question["text"].strip()
        assert question["explanation"].strip()


@pytest.mark.parametrize("kind", KINDS)
def test_no_place_and_no_length_passes_the_quiz(kind):
    questions = [question for question in QUIZ if question["kind"] == kind]
    answer_counts = Counter(question["answer"] for question in questions)
    longest_count = 0
    for question in questions:
        lengths = [len(option) for option in question["options"]]
        longest = lengths.index(max(lengths))
        longest_count += longest == question["answer"]
    assert max(answer_counts.values()) < 0.8 * len(questions)
    assert longest_count < 0.8 * len(questions)


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
    bundled_twins = load("open")
    warnings = [finding.message for finding in check([GOLD, bundled_twins]) if finding.warns]
    assert warnings == []
    gold_runs = runs_of_words([problem.text for problem in GOLD], 6)
    bundled_runs = runs_of_words([problem.text for problem in bundled_twins], 6)
    assert gold_runs & bundled_runs == set()


def test_gold_special_words_are_what_differs_between_twins():
    for twins in GOLD.groups.values():
        first, second = twins
        words_that_differ = special_words(first.text, second.text)
        for problem, differing in zip(twins, words_that_differ, strict=True):
            label = str(problem.labels["special_word"]).casefold()
            assert label in problem.text.casefold()
            pieces = differing.casefold().split(" … ")
            assert all(piece in label or label in piece for piece in pieces)


def test_gold_candidates_are_named_once_in_order_and_no_pronoun_stands_in_the_blank():
    english = language_of("en")
    for problem in GOLD:
        mentions = [english.mention_places(problem.text, candidate) for candidate in problem.candidates]
        assert [len(positions) for positions in mentions] == [1, 1]
        assert mentions[0] < mentions[1]
        assert problem.pronoun is None
        genders = {english.gender_of(candidate) for candidate in problem.candidates}
        assert len(genders - {None, "either"}) <= 1


@pytest.mark.parametrize("label", ["switchable", "associative"])
def test_who_always_says_the_same_does_not_get_through_the_gold_questions(label):
    values = [problem.labels[label] for problem in GOLD if label in problem.labels]
    assert all(isinstance(value, bool) for value in values)
    assert len(values) >= 40
    largest_share = max(Counter(values).values()) / len(values)
    assert largest_share < 0.7  # the share below which a study blocks a worker by default


def test_every_labelled_gold_question_can_be_shown():
    for problem in GOLD:
        assert not isinstance(switch(problem), str)
        if "associative" in problem.labels:
            clauses = [part_sent(problem), local_context(problem)]
            assert any(not isinstance(clause, str) for clause in clauses)


def test_what_has_a_link_to_one_candidate_is_not_called_switchable():
    for problem in GOLD:
        assert not (problem.labels["switchable"] and problem.labels.get("associative"))


def test_gold_questions_are_not_given_away_by_guidelines_or_quiz():
    page_texts = [text_of(name) for name in MOST_WORDS] + [text_of("quiz.toml")]
    gold_runs = runs_of_words([problem.text for problem in GOLD], 5)
    assert gold_runs & runs_of_words(page_texts, 5) == set()


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
    rules = twin_rules.WINOGRANDE
    assert f"{rules.fewest_words} to {rules.most_words} words" in text
    assert f"{rules.least_overlap * 100:.0f} %" in text


def test_the_first_example_of_the_guidelines_is_a_pair_of_twins():
    quoted = re.search(r"(?:^>.*\n)+", text_of("guidelines.md"), re.MULTILINE)
    assert quoted is not None
    lines = [line.removeprefix("> ") for line in quoted.group().splitlines() if len(line) > 1]
    plain_lines = [re.sub(r"\*\*|\\", "", line) for line in lines]
    matches = [re.fullmatch(r"(?P<text>.*) \((?P<answer>\w+)\)", line) for line in plain_lines]
    examples = [match.groups() for match in matches if match]
    (first_text, first_answer), (second_text, second_answer) = examples
    assert first_answer != second_answer
    assert twin_rules.overlap(first_text, second_text) is None
    for text in (first_text, second_text):
        assert twin_rules.one_blank(text) is None
        assert twin_rules.length(text) is None


def test_consent_marks_every_place_the_requester_fills_in():
    text = text_of("consent.md")
    gaps = re.findall(r"\*\*\[FILL IN: ([^\[\]]+)\]\*\*", text)
    assert len(gaps) == text.count("FILL IN")
    for subject in ("institution", "contact", "amount", "licence", "date of publication"):
        assert any(subject in gap for gap in gaps), subject


TRANSLATIONS = pytest.mark.parametrize("language", ["de"])


@TRANSLATIONS
def test_gold_questions_in_other_languages_keep_the_same_rules(language):
    gold = load(str(CONTENT / language / "gold.jsonl"))
    assert {problem.language for problem in gold} == {language}
    for members in gold.groups.values():
        assert sorted(problem.answer for problem in members) == [0, 1]
        assert twin_rules.broken_rules(members, range(2)) == []
    for label in ("switchable", "associative"):
        value_counts = Counter(problem.labels[label] for problem in gold if label in problem.labels)
        assert max(value_counts.values()) < 0.7 * value_counts.total()


@TRANSLATIONS
def test_the_quiz_in_other_languages_asks_the_same(language):
    quiz = tomllib.loads((CONTENT / language / "quiz.toml").read_text("utf-8"))["question"]
    for question, original in zip(quiz, QUIZ, strict=True):
        assert question["kind"] == original["kind"]
        assert question["answer"] == original["answer"]
        assert len(question["options"]) == len(original["options"])


@TRANSLATIONS
def test_topics_in_other_languages_differ_and_have_ten_words_each(language):
    lines = (CONTENT / language / "topics.jsonl").read_text("utf-8").splitlines()
    topics = [json.loads(line) for line in lines]
    titles = {topic["topic"] for topic in topics}
    assert len(titles) == len(topics) >= 40
    assert {len(set(topic["words"])) for topic in topics} == {10}


@TRANSLATIONS
@pytest.mark.parametrize("name", MOST_WORDS)
def test_pages_in_other_languages_have_the_same_headings_and_gaps(language, name):
    text = (CONTENT / language / name).read_text("utf-8")
    original = text_of(name)
    assert text.count("FILL IN") == original.count("FILL IN")
    assert text.count("\n#") == original.count("\n#")
    assert not re.search(r"<[A-Za-z/!?]|(?<![\\`])_", text)


def runs_of_words(texts: list[str], size: int) -> set[str]:
    """Every sequence of `size` words that occurs in one of the texts, casefolded."""
    runs = set()
    for text in texts:
        words = re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.casefold())
        for start in range(len(words) - size + 1):
            runs.add(" ".join(words[start : start + size]))
    return runs
