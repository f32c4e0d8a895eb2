import pytest

from winokit.errors import BadInput, Malformed
from winokit.methods.hunting.queries import SETS, load_synonyms, parse_synonyms, query_sets
from winokit.methods.hunting.reading import read
from winokit.methods.hunting.search import AllOf, Near, any_of
from winokit.problem import Problem
from winokit.text.grammar import forms, tokenise

PLAIN = read(Problem("Ann couldn't lift Eve because ", " was weak.", ("Ann", "Eve"), 0, "she"))
LONG = read(Problem("Ann passed Eve because ", " was going so fast.", ("Ann", "Eve"), 0, "she"))


def pairs_by_set(reading, synonyms=None):
    """Pairs of queries by the name of their set, with the given synonyms or none."""
    return {pair.set: pair for pair in query_sets(reading, synonyms or {}, SETS)}


def test_sets_go_from_strict_to_loose():
    pairs = pairs_by_set(LONG, {"fast": ["quick"], "passed": ["overtook"]})
    assert list(pairs) == ["whole", "heads", "synonyms", "without"]
    assert pairs["whole"].corpus_query == AllOf(("passed", "was going so fast"))
    any_passed = any_of(forms("passed"))
    going_near_fast = Near(any_of(forms("going")), any_of(forms("fast")), 5)
    assert pairs["heads"].corpus_query == AllOf((any_passed, going_near_fast))
    assert str(pairs["synonyms"]) == "passed or overtook (any form), and going (any form) near fast or quick (any form)"
    assert str(pairs["without"].query) == "going (any form)"


def test_a_set_with_nothing_of_its_own_is_left_out():
    without_synonyms = pairs_by_set(PLAIN)
    with_synonyms = pairs_by_set(PLAIN, {"weak": ["frail"]})
    assert list(without_synonyms) == ["whole", "heads"]
    assert list(with_synonyms) == ["whole", "heads", "synonyms"]


def test_by_default_every_query_has_the_special_word():
    set_names = [pair.set for pair in query_sets(LONG, {})]
    assert "without" not in set_names


@pytest.mark.parametrize(
    ("name", "text", "heads"),
    [
        ("whole", "She was going so fast, he was going so fast", [2, 8]),
        ("whole", "They were going so fast", []),
        ("whole", "It passed because it was going so fast", [5]),
        ("heads", "It goes very fast and goes away", [1, 5]),
        ("heads", "It goes where nobody ever would have been fast", []),
        ("without", "He went", [1]),
    ],
)
def test_what_is_sought_is_found_by_its_head(name, text, heads):
    matches = pairs_by_set(LONG)[name].query.find(tokenise(text))
    assert [match[0] for match in matches] == heads


def test_the_list_of_synonyms_is_symmetric_and_has_no_word_of_its_own():
    synonyms = load_synonyms(None)
    assert len(synonyms) > 150
    for word, words_alike in synonyms.items():
        assert word not in words_alike
        for word_alike in words_alike:
            assert word in synonyms[word_alike]


def test_synonyms_of_ones_own(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# mine\nweak, puny\n")
    assert load_synonyms(str(path)) == {"weak": ["puny"], "puny": ["weak"]}
    assert load_synonyms("off") == {}


@pytest.mark.parametrize(
    ("word", "some"),
    [
        ("threw", {"throw", "throws", "throwing", "thrown"}),
        ("stopping", {"stop", "stopped", "stops"}),
        ("carries", {"carry", "carried", "carrying"}),
        ("making", {"make", "made", "makes"}),
        ("fit", {"fits", "fitted", "fitting"}),
        ("boxes", {"box"}),
        ("refuse", {"refused", "refusing", "refuses"}),
    ],
)
def test_forms_of_a_word(word, some):
    assert forms(word)[0] == word
    assert some <= set(forms(word))


def test_a_bad_list_of_synonyms_is_refused(tmp_path):
    with pytest.raises(Malformed, match="list:2: expected two or more words"):
        parse_synonyms(["big, large", "alone"], "list")
    with pytest.raises(BadInput, match="cannot be read as a list of synonyms"):
        load_synonyms(str(tmp_path / "nowhere.txt"))
