"""XWinograd: six languages in one file, blanks and candidates found by their tokens, twins found without ids."""

import json
from collections import Counter

import pytest

from winokit.data.checks.groups import find_groups
from winokit.data.formats import read
from winokit.data.loading import Reading, load
from winokit.errors import BadInput, Malformed
from winokit.problem import Dataset
from winokit.text.words import letters

FILE = "xwinograd/dataset.tsv"
LANGUAGES = {"en": 2325, "ja": 959, "ru": 315, "pt": 263, "fr": 83, "zh": 16}
PAIRS = {"en": 1102, "ja": 397, "ru": 109, "pt": 129, "fr": 40, "zh": 8}
TRIPLETS = {"en": 1, "pt": 1}


@pytest.fixture(scope="module")
def xwinograd():
    from support.fixtures import real

    return read(real(FILE))


def row(text="Tom rief Jan , weil er fror.", tokens=None, pronoun=("er", [5, 6]), candidates=None, language="de"):
    tokens = tokens or text.replace("fror.", "fror .").split()
    candidates = candidates or [["Tom", [0, 1], ["Tom"], True], ["Jan", [2, 3], ["Jan"], False]]
    return "\t".join([language, "mine", "?", text, *map(json.dumps, (tokens, [*pronoun, []], candidates))]) + "\n"


def test_every_text_is_kept_to_the_letter_with_its_pronoun_and_candidates(xwinograd, real_file):
    lines = real_file(FILE).read_text("utf-8").splitlines()
    for line, problem in zip(lines, xwinograd, strict=True):
        cells = line.split("\t")
        pronoun = json.loads(cells[5])[0]
        candidates = json.loads(cells[6])
        assert problem.sentence == cells[3]
        assert problem.pronoun == pronoun.rstrip(".,")
        assert problem.candidates == tuple(candidate[0] for candidate in candidates)
        assert candidates[problem.answer][3]
        assert [problem.sentence[a:b] for a, b in problem.provenance["places"]] == list(problem.candidates)
        assert problem.labels["source"] == cells[1]
    assert Counter(problem.language for problem in xwinograd) == LANGUAGES


def test_one_language_is_taken_by_its_code_and_japanese_has_its_own(real_file):
    japanese = load(real_file(FILE), reading=Reading(language="ja"), groups=False)
    assert (japanese.card.name, japanese.card.language, len(japanese)) == ("xwinograd, ja", "ja", 959)
    with pytest.raises(BadInput, match="no problem in 'jp'; there are en, fr, ja, ru, zh, pt"):
        load(real_file(FILE), reading=Reading(language="jp"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_twins_of_each_language_are_found_by_their_order(xwinograd, language):
    found = find_groups([problem for problem in xwinograd if problem.language == language])
    sizes = Counter(map(len, found.groups))
    assert (sizes[2], sizes[3]) == (PAIRS[language], TRIPLETS.get(language, 0))


def test_no_group_and_no_unit_joins_two_languages(xwinograd):
    found = find_groups(xwinograd)
    assert all(len({xwinograd[row].language for row in rows}) == 1 for rows in found.groups)
    languages = {}
    for problem, unit in zip(xwinograd, xwinograd.units.numbers.tolist(), strict=True):
        assert languages.setdefault(unit, problem.language) == problem.language


def test_its_originals_have_the_groups_that_the_collection_of_wsc_has(xwinograd, real_file):
    def named(problems):
        groups = find_groups(problems).groups
        return {frozenset(letters(problems[row].sentence) for row in rows) for rows in groups}

    originals = [p for p in xwinograd if p.language == "en" and p.labels["source"] == "original"]
    own = named(originals)
    known = named(read(real_file("wsc/WSCollection.xml"), "wsc"))
    assert len(originals) == 273
    assert len(own) == 136
    assert own <= known


def test_shuffled_chinese_twins_are_found_by_their_content(xwinograd):
    chinese = [problem for problem in xwinograd if problem.language == "zh"]
    apart = Dataset([*chinese[::2], *chinese[1::2]])
    found = find_groups(apart)
    assert found.evidence["content"] == 8
    assert found.groups == [(place, place + 8) for place in range(8)]


def test_marks_glued_to_a_pronoun_stay_in_the_text_and_quotes_are_read_as_penn_wrote_them(tmp_path):
    (tmp_path / "a.tsv").write_text(
        row('Tom rief "Jan" , und Jan rief ihn.', ["Tom", "rief", "``", "Jan", "''", ",", "und", "Jan", "rief", "ihn."],
            ("ihn.", [9, 10]), [["Tom", [0, 1], [], True], ["Jan", [7, 8], [], False]])
    )  # fmt: skip
    (problem,) = read(tmp_path / "a.tsv")
    assert (problem.pronoun, problem.after, problem.language) == ("ihn", ".", "de")
    assert problem.provenance["places"] == [(0, 3), (21, 24)]


def test_a_pronoun_of_marks_alone_is_kept_and_a_code_is_written_in_small_letters(tmp_path):
    (tmp_path / "a.tsv").write_text(
        row(tokens=["Tom", "rief", "Jan", ",", "weil er fror."], pronoun=(",", [3, 4]), language="DE")
    )
    (problem,) = read(tmp_path / "a.tsv")
    assert (problem.pronoun, problem.language) == (",", "de")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (row(pronoun=("sie", [5, 6])), "field 'pronoun': 'sie' is not at token 5"),
        (row(pronoun=("er", [50, 51])), "field 'pronoun': expected words and the span of their tokens"),
        (row(tokens=["Tom", "Jan"]), "field 'tokens': 'Jan' is not at character 5"),
        (row(tokens=["Tom", None]), "field 'tokens': None is not at character 5"),
        (row(candidates=[["Tom", [0, 1], [], True], ["Jan", [2, 3], [], True]]), "expected one candidate that is true"),
        (row(candidates=["Tom", "Jan"]), "field 'candidates': expected words and the span"),
        (row(language="deutsch!"), "field 'language': expected a BCP 47 code"),
        (row().replace("\tmine", ""), "expected seven cells with tabs"),
        (row().rpartition("]")[0] + "\n", "field 'candidates': expected a JSON list"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_with_its_place(tmp_path, line, said):
    (tmp_path / "a.tsv").write_text(row() + line)
    with pytest.raises(Malformed, match=said.replace("(", r"\(")) as error:
        read(tmp_path / "a.tsv")
    assert "a.tsv:2" in str(error.value)
