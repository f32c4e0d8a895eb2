"""The bundled twins keep our own rules, are labelled, balanced and new."""

import re
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pytest

from winokit.data.checks.checkup import check
from winokit.data.checks.statistics import connective, special_words
from winokit.data.loading import expand, load
from winokit.methods.overlap import find_matches
from winokit.text.english import ENGLISH

OPEN = load("open")
CONTENT = Path(__file__).parents[2] / "collect" / "src" / "winokit_collect" / "content"
"""Folder of what comes with the collection app, which is another package of this repository."""


def test_there_are_more_than_two_hundred_pairs_half_social_half_physical():
    assert len(OPEN.groups) >= 200
    group_sizes = {len(members) for members in OPEN.groups.values()}
    assert group_sizes == {2}
    domains = Counter(problem.domain for problem in OPEN)
    assert set(domains) == {"social", "physical"}
    assert domains["social"] == domains["physical"]


def test_every_check_passes():
    warnings = [finding.message for finding in check([OPEN]) if finding.warns]
    assert warnings == []


def test_every_problem_is_labelled():
    for problem in OPEN:
        assert set(problem.labels) == {"special_word", "anchor", "topic", "switchable", "associative"}
        assert problem.labels["special_word"] in problem.text
        assert problem.pronoun is not None


def label_without_article(problem):
    """Label of the special word in small letters."""
    label = str(problem.labels["special_word"]).casefold()
    return re.sub(r"^(a|the) ", "", label)


def test_special_words_are_what_differs_between_twins():
    for first, second in OPEN.groups.values():
        labels = [label_without_article(first), label_without_article(second)]
        differences = special_words(first.text, second.text)
        for difference, label in zip(differences, labels, strict=True):
            assert difference in label or label in difference


def test_about_a_tenth_is_associative():
    associative_count = sum(problem.labels["associative"] for problem in OPEN)
    share = associative_count / len(OPEN)
    assert 0.05 < share < 0.15


def test_pronouns_fit_both_candidates():
    genders_of_pronouns = {"he": "male", "him": "male", "she": "female", "her": "female"}
    for problem in OPEN:
        genders = {ENGLISH.gender_of(candidate) for candidate in problem.candidates}
        gendered = genders - {None, "either"}
        gender = genders_of_pronouns.get(str(problem.pronoun).casefold())
        assert gender is None or gendered <= {gender}


def test_candidates_stand_in_order_of_mention_and_once():
    for problem in OPEN:
        first_places, second_places = [ENGLISH.mention_places(problem.text, name) for name in problem.candidates]
        assert len(first_places) == 1
        assert len(second_places) == 1
        assert first_places < second_places


def most_frequent(values):
    """Number of times that the most frequent value occurs."""
    return Counter(values).most_common(1)[0][1]


def test_no_template_feel():
    openings = [" ".join(problem.text.split()[:3]) for problem in OPEN]
    assert most_frequent(openings) <= 4  # two pairs
    connectives = [connective(problem) for problem in OPEN]
    assert len(set(connectives)) >= 15
    assert most_frequent(connectives) < 0.2 * len(OPEN)
    candidates = chain.from_iterable(problem.candidates for problem in OPEN)
    names = [candidate for candidate in candidates if ENGLISH.gender_of(candidate)]
    assert most_frequent(names) <= 4  # two pairs


def test_nothing_bundled_is_taken_from_the_public_datasets(real_file):
    """Neither twins are, nor what comes with the collection app: gold questions, guidelines and the quiz."""
    gold = load(str(CONTENT / "gold.jsonl"))
    bundled = [*OPEN, *gold]
    names, _ = expand([str(real_file("README.md").parent)])
    public_problems = []
    for name in names:
        if "lmeval" not in name and "predictions" not in name:
            public_problems.extend(load(name, groups=False))
    assert len(public_problems) > 70_000
    assert find_matches([public_problems, bundled]) == []
    pages = [file for file in CONTENT.iterdir() if file.name.endswith((".md", "quiz.toml"))]
    texts = [page.read_text("utf-8") for page in pages]
    texts.extend(problem.sentence for problem in bundled)
    public_runs = eight_words(problem.sentence for problem in public_problems)
    assert eight_words(texts).isdisjoint(public_runs)


def eight_words(texts: Iterable[str]) -> set[str]:
    """Runs of eight words in these texts."""
    runs = set()
    for text in texts:
        words = re.findall(r"[\w']+", text.casefold())
        for start in range(len(words) - 7):
            runs.add(" ".join(words[start : start + 8]))
    return runs


@pytest.mark.parametrize(("field", "value"), [("name", "open"), ("licence", "CC0-1.0"), ("version", "1.0")])
def test_the_card_says_what_may_be_done(field, value):
    assert getattr(OPEN.card, field) == value
