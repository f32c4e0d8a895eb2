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
"""What comes with the collection app, which is another package of this repository."""


def test_there_are_more_than_two_hundred_pairs_half_social_half_physical():
    assert len(OPEN.groups) >= 200
    assert {len(members) for members in OPEN.groups.values()} == {2}
    domains = Counter(problem.domain for problem in OPEN)
    assert set(domains) == {"social", "physical"}
    assert domains["social"] == domains["physical"]


def test_every_check_passes():
    assert [finding.message for finding in check([OPEN]) if finding.warns] == []


def test_every_problem_is_labelled():
    for problem in OPEN:
        assert set(problem.labels) == {"special_word", "anchor", "topic", "switchable", "associative"}
        assert problem.labels["special_word"] in problem.text
        assert problem.pronoun is not None


def test_special_words_are_what_differs_between_twins():
    for one, other in OPEN.groups.values():
        labelled = [re.sub(r"^(a|the) ", "", str(p.labels["special_word"]).casefold()) for p in (one, other)]
        for differs, label in zip(special_words(one.text, other.text), labelled, strict=True):
            assert differs in label or label in differs


def test_about_a_tenth_is_associative():
    share = sum(problem.labels["associative"] for problem in OPEN) / len(OPEN)
    assert 0.05 < share < 0.15


def test_pronouns_fit_both_candidates():
    fits = {"he": "male", "him": "male", "she": "female", "her": "female"}
    for problem in OPEN:
        genders = {ENGLISH.gender_of(candidate) for candidate in problem.candidates} - {None, "either"}
        wanted = fits.get(str(problem.pronoun).casefold())
        assert wanted is None or genders <= {wanted}


def test_candidates_stand_in_order_of_mention_and_once():
    for problem in OPEN:
        places = [ENGLISH.mention_places(problem.text, candidate) for candidate in problem.candidates]
        assert [len(found) for found in places] == [1, 1]
        assert places[0] < places[1]


def test_no_template_feel():
    openings = Counter(" ".join(problem.text.split()[:3]) for problem in OPEN)
    assert openings.most_common(1)[0][1] <= 4  # two pairs
    connectives = Counter(connective(problem) for problem in OPEN)
    assert len(connectives) >= 15
    assert connectives.most_common(1)[0][1] < 0.2 * len(OPEN)
    names = Counter(c for p in OPEN for c in p.candidates if ENGLISH.gender_of(c))
    assert names.most_common(1)[0][1] <= 4  # two pairs


def test_nothing_bundled_is_taken_from_the_public_datasets(real_file):
    """Neither twins nor what comes with the collection app: gold questions, guidelines, the quiz."""
    gold = load(str(CONTENT / "gold.jsonl"))
    names, _ = expand([str(real_file("README.md").parent)])
    sources = [load(name, groups=False) for name in names if "lmeval" not in name and "predictions" not in name]
    others = list(chain(*sources))
    assert len(others) > 70_000
    assert find_matches([others, [*OPEN, *gold]]) == []
    shown = [file.read_text("utf-8") for file in CONTENT.iterdir() if file.name.endswith((".md", "quiz.toml"))]
    ours = [*shown, *(problem.sentence for problem in (*OPEN, *gold))]
    assert eight_words(ours) & eight_words(problem.sentence for problem in others) == set()


def eight_words(texts: Iterable[str]) -> set[str]:
    grams = set()
    for text in texts:
        words = re.findall(r"[\w']+", text.casefold())
        grams.update(" ".join(words[i : i + 8]) for i in range(len(words) - 7))
    return grams


@pytest.mark.parametrize("field", ["name", "licence", "version"])
def test_the_card_says_what_may_be_done(field):
    assert {"name": "open", "licence": "CC0-1.0", "version": "1.0"}[field] == getattr(OPEN.card, field)
