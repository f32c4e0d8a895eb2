"""XWinograd has six languages in one file, its candidates are found by their tokens and twins without ids."""

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


TOKENS = ["Tom", "rief", "Jan", ",", "weil", "er", "fror", "."]
CANDIDATES = [["Tom", [0, 1], ["Tom"], True], ["Jan", [2, 3], ["Jan"], False]]


def row_line(
    text="Tom rief Jan , weil er fror.", tokens=TOKENS, pronoun=("er", [5, 6]), candidates=CANDIDATES, language="de"
):
    """Line of a file of XWinograd."""
    cells = [language, "mine", "?", text, json.dumps(tokens), json.dumps([*pronoun, []]), json.dumps(candidates)]
    return "\t".join(cells) + "\n"


def test_every_text_is_kept_to_the_letter_with_its_pronoun_and_candidates(xwinograd, real_file):
    lines = real_file(FILE).read_text("utf-8").splitlines()
    for line, problem in zip(lines, xwinograd, strict=True):
        cells = line.split("\t")
        pronoun = json.loads(cells[5])[0]
        candidates = json.loads(cells[6])
        assert problem.sentence == cells[3]
        assert problem.pronoun == pronoun.rstrip(".,")
        names = [name for name, *_ in candidates]
        assert list(problem.candidates) == names
        assert candidates[problem.answer][3]
        places = problem.provenance["places"]
        mentions = [problem.sentence[start:end] for start, end in places]
        assert mentions == names
        assert problem.labels["source"] == cells[1]
    language_counts = Counter(problem.language for problem in xwinograd)
    assert language_counts == LANGUAGES


def test_one_language_is_taken_by_its_code_and_japanese_has_its_own(real_file):
    japanese = load(real_file(FILE), reading=Reading(language="ja"), groups=False)
    assert japanese.card.name == "xwinograd, ja"
    assert japanese.card.language == "ja"
    assert len(japanese) == 959
    with pytest.raises(BadInput, match="no problem in 'jp'; there are en, fr, ja, ru, zh, pt"):
        load(real_file(FILE), reading=Reading(language="jp"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_twins_of_each_language_are_found_by_their_order(xwinograd, language):
    groups = find_groups([problem for problem in xwinograd if problem.language == language])
    sizes = Counter(map(len, groups.groups))
    assert sizes[2] == PAIRS[language]
    assert sizes[3] == TRIPLETS.get(language, 0)


def test_no_group_and_no_unit_joins_two_languages(xwinograd):
    groups = find_groups(xwinograd)
    for rows in groups.groups:
        languages = {xwinograd[row].language for row in rows}
        assert len(languages) == 1
    unit_languages = {}
    units = xwinograd.units.numbers.tolist()
    for problem, unit in zip(xwinograd, units, strict=True):
        assert unit_languages.setdefault(unit, problem.language) == problem.language


def group_sentences(problems):
    """Set of the sentences of each group, by their letters alone."""
    sentences = [letters(problem.sentence) for problem in problems]
    groups = find_groups(problems).groups
    sentence_sets = set()
    for rows in groups:
        sentence_sets.add(frozenset(sentences[row] for row in rows))
    return sentence_sets


def test_its_originals_have_the_groups_that_the_collection_of_wsc_has(xwinograd, real_file):
    originals = []
    for problem in xwinograd:
        if problem.language == "en" and problem.labels["source"] == "original":
            originals.append(problem)
    groups = group_sentences(originals)
    wsc_groups = group_sentences(read(real_file("wsc/WSCollection.xml"), "wsc"))
    assert len(originals) == 273
    assert len(groups) == 136
    assert groups <= wsc_groups


def test_shuffled_chinese_twins_are_found_by_their_content(xwinograd):
    chinese = [problem for problem in xwinograd if problem.language == "zh"]
    shuffled = Dataset([*chinese[::2], *chinese[1::2]])
    groups = find_groups(shuffled)
    assert groups.evidence["content"] == 8
    twin_rows = [(place, place + 8) for place in range(8)]
    assert groups.groups == twin_rows


def test_marks_glued_to_a_pronoun_stay_in_the_text_and_quotes_are_read_as_penn_wrote_them(tmp_path):
    mentions = [["Tom", [0, 1], [], True], ["Jan", [7, 8], [], False]]
    text = 'Tom rief "Jan" , und Jan rief ihn.'
    tokens = ["Tom", "rief", "``", "Jan", "''", ",", "und", "Jan", "rief", "ihn."]
    line = row_line(text, tokens, ("ihn.", [9, 10]), mentions)
    (tmp_path / "a.tsv").write_text(line)
    (problem,) = read(tmp_path / "a.tsv")
    assert problem.pronoun == "ihn"
    assert problem.after == "."
    assert problem.language == "de"
    assert problem.provenance["places"] == [(0, 3), (21, 24)]


def test_a_pronoun_of_marks_alone_is_kept_and_a_code_is_written_in_small_letters(tmp_path):
    glued = row_line(tokens=["Tom", "rief", "Jan", ",", "weil er fror."], pronoun=(",", [3, 4]), language="DE")
    (tmp_path / "a.tsv").write_text(glued)
    (problem,) = read(tmp_path / "a.tsv")
    assert problem.pronoun == ","
    assert problem.language == "de"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (row_line(pronoun=("sie", [5, 6])), "field 'pronoun': 'sie' is not at token 5"),
        (row_line(pronoun=("er", [50, 51])), "field 'pronoun': expected words and the span of their tokens"),
        (row_line(tokens=["Tom", "Jan"]), "field 'tokens': 'Jan' is not at character 5"),
        (row_line(tokens=["Tom", None]), "field 'tokens': None is not at character 5"),
        (
            row_line(candidates=[["Tom", [0, 1], [], True], ["Jan", [2, 3], [], True]]),
            "expected one candidate that is true",
        ),
        (row_line(candidates=["Tom", "Jan"]), "field 'candidates': expected words and the span"),
        (row_line(language="deutsch!"), "field 'language': expected a BCP 47 code"),
        (row_line().replace("\tmine", ""), "expected seven cells with tabs"),
        (row_line().rpartition("]")[0] + "\n", "field 'candidates': expected a JSON list"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_with_its_place(tmp_path, line, said):
    (tmp_path / "a.tsv").write_text(row_line() + line)
    with pytest.raises(Malformed, match=said.replace("(", r"\(")) as error:
        read(tmp_path / "a.tsv")
    message = str(error.value)
    assert "a.tsv:2" in message
