"""One malformed record is one clear line: file, line, field, what was expected. Lenient reading skips and counts it."""

import json

import pytest

from winokit.errors import BadInput, CannotWrite, UnknownName
from winokit.formats import FORMATS, read, write
from winokit.loading import load

GOOD = {"sentence": "The cup fell off the tray because _ was wet.", "option1": "cup", "option2": "tray", "answer": "1"}


def lines(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{not json", "2: a JSON object expected"),
        ("[1, 2]", "2: a JSON object expected, found list"),
        ({**GOOD, "sentence": "no blank at all"}, "2: field 'sentence': exactly one blank '_' expected, found 0"),
        ({**GOOD, "sentence": "one _ and _ two"}, "2: field 'sentence': exactly one blank '_' expected, found 2"),
        ({**GOOD, "sentence": 7}, "2: field 'sentence': a string expected, found 7"),
        ({**GOOD, "option2": ""}, "2: field 'option2': a string expected, found an empty one"),
        ({**GOOD, "option2": "Cup"}, "2: field 'candidates': candidates must differ"),
        ({**GOOD, "answer": "3"}, "2: field 'answer': 1 or 2 expected, found '3'"),
        ({**GOOD, "answer": True}, "2: field 'answer': 1 or 2 expected, found True"),
        ({"sentence": "a _ b", "option1": "c"}, "2: field 'option2': missing"),
    ],
)
def test_a_malformed_winogrande_row_is_named_and_can_be_skipped(row, says, tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text(lines(GOOD, row, GOOD | {"sentence": "The cup stood on the tray, and _ was dry."}))
    with pytest.raises(BadInput) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}:{says}")
    lenient = read(path, lenient=True)
    assert len(lenient) == 2
    assert "skipped 1 malformed record" in lenient.notes[-1]


WSC = (
    "<collection>\n<schema>\n"
    "<text><txt1>The cup fell off the tray because</txt1><pron>it</pron><txt2>was wet.</txt2></text>\n"
    "<answers><answer>the cup</answer><answer>the tray</answer></answers><correctAnswer>A</correctAnswer>\n"
    "</schema>\n</collection>\n"
)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("wsc", WSC.replace("<answer>the tray</answer>", ""), "2: field 'candidates': two or more candidates"),
        ("wsc", WSC.replace("<correctAnswer>A", "<correctAnswer>C"), "2: field 'correctAnswer': a letter from A to B"),
        ("wsc", WSC.replace("<pron>it</pron>", ""), "2: field 'pron': a pronoun expected"),
        ("wsc", WSC.replace("<answers>", "<x>").replace("</answers>", "</x>"), "2: field 'answers': missing"),
        ("wsc", WSC[:-30], "4: well-formed XML expected (unclosed token; is the file cut off?)"),
        ("dpr", "It was wet.\nit\nthe cup\nthe cup\n", "1: field 'candidates': two candidates with one comma"),
        ("dpr", "It was wet.\nit\na,b\nc\n", "1: field 'answer': one of 'a,b' expected, found 'c'"),
        ("dpr", "It was wet.\nthey\na,b\na\n", "1: field 'pronoun': the pronoun 'they' does not occur"),
        ("dpr", "It was wet.\nit\n", "1: four lines expected"),
        (
            "copa",
            '<copa-corpus><item asks-for="x"><p>P.</p><a1>A</a1><a2>B</a2></item></copa-corpus>',
            "1: field 'question'",
        ),
        ("winogender", "sentid\tsentence\nno id\tHe left.\n", "2: field 'sentid': an id like"),
        (
            "winogender",
            "sentid\tsentence\na.b.1.male.txt\tThe a left the b.\n",
            "2: field 'sentence': exactly one male",
        ),
        (
            "winobias",
            "1 [The cook] met the baker because [they all] waved.\n",
            "1: field 'pronoun': a bracketed pronoun",
        ),
        ("winobias", "1 [The cook] met somebody because [he] waved.\n", "1: field 'candidates': a second occupation"),
        ("knowref", '[{"sentence_with_pronoun": "Ann left."}]', "1: field 'sentence_with_pronoun': one [pronoun]"),
        ("knowref", '[{"sentence_with_pronoun": "A [he] B"', "1: a JSON object expected"),
        ("trichelair", '[{"sentence": "a [it] b", "answer0": "x", "answer1": "y", "correct_answer": "z"}]', "1: field"),
        ("superglue-wsc", '{"text": "a b", "target": 3}\n', "1: field 'target': an object with two spans"),
        (
            "superglue-wsc",
            '{"text": "a b", "target": {"span1_text": "a", "span1_index": 0, "span2_text": "b", "span2_index": 9}}\n',
            "1: field 'span2_index': a word index below 2",
        ),
        (
            "superglue-copa",
            '{"premise": "p", "choice1": "a", "choice2": "b", "question": "why"}\n',
            "1: field 'question'",
        ),
        ("csv", "sentence,option1,option2\nno blank,a,b\n", "2: field 'sentence': exactly one blank"),
        ("csv", "sentence,option1,option2\n_ x,a\n", "2: 3 cells expected, found 2"),
        ("jsonl", '{"text": "a _ b", "candidates": "ab"}\n', "1: field 'candidates': a list of strings"),
        (
            "jsonl",
            '{"text": "a _ b", "candidates": ["a", "b"], "answer": 2}\n',
            "1: field 'answer': the answer must be",
        ),
        ("jsonl", '{"card": {"title": "x"}}\n', "1: field 'card': an object with a name"),
        ("perturbed-wsc", '{"sentence": "a _ b", "option1": "a", "option2": "b", "qID": "x"}\n', "1: field 'qID'"),
        ("lmeval", '{"doc_id": 0, "doc": {"question": "?"}}\n', "1: no known dialect has the fields question"),
    ],
)
def test_every_format_names_what_is_wrong(name, content, says, tmp_path):
    path = tmp_path / "data"
    path.write_text(content)
    with pytest.raises(BadInput) as caught:
        read(path, name)
    assert str(caught.value).startswith(f"{path}:{says}")


def test_wrong_encoding_names_the_line_and_byte(tmp_path):
    path = tmp_path / "data.jsonl"
    row = json.dumps(GOOD).encode()
    path.write_bytes(row + b"\n" + row.replace(b"cup", b"caf\xe9") + b"\n")
    with pytest.raises(BadInput, match=r"data.jsonl:2: UTF-8 text expected, found byte 0xe9"):
        read(path)
    assert len(read(path, lenient=True)) == 1


def test_a_file_with_nothing_in_it_is_said_to_be_empty(tmp_path):
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(BadInput, match="the file is empty"):
        read(tmp_path / "empty")


def test_a_file_with_nothing_but_bad_records_is_an_error_even_when_lenient(tmp_path):
    (tmp_path / "data.jsonl").write_text(lines({**GOOD, "answer": "9"}))
    with pytest.raises(BadInput, match="all 1 records are malformed"):
        read(tmp_path / "data.jsonl", lenient=True)


def test_an_unknown_format_lists_the_known_ones(tmp_path):
    (tmp_path / "data").write_text("nothing that anyone knows")
    with pytest.raises(BadInput, match=r"no known format; name one as FORMAT:data, with FORMAT one of copa, csv"):
        read(tmp_path / "data")
    with pytest.raises(UnknownName, match=r"No format named 'winogrand'. Did you mean 'winogrande'\?"):
        load("winogrand:data")


def test_a_broken_archive_is_said_to_be_broken(tmp_path):
    (tmp_path / "data.gz").write_bytes(b"\x1f\x8b broken")
    with pytest.raises(BadInput, match="cannot be decompressed"):
        read(tmp_path / "data.gz")


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(BadInput, match="no such file"):
        load(tmp_path / "nowhere.jsonl")
    with pytest.raises(BadInput, match="a folder; name a file in it"):
        load(tmp_path)


def test_a_misspelled_bundled_name_is_corrected():
    with pytest.raises(UnknownName, match=r"Did you mean 'open'\?"):
        load("opne")


@pytest.mark.parametrize("to", ["wsc", "dpr", "winobias", "knowref", "trichelair"])
def test_a_format_with_a_pronoun_refuses_a_problem_without_one(to, twins, tmp_path):
    bare = twins.with_problems(problem.replace(pronoun=None) for problem in twins)
    with pytest.raises(CannotWrite, match="no pronoun is known"):
        write(bare, tmp_path / "out", to)
    assert not (tmp_path / "out").exists()


def test_lenient_writing_leaves_out_what_cannot_be_written(twins, tmp_path):
    mixed = twins.with_problems([twins[0].replace(candidates=("a", "b", "c")), *twins[1:]])
    written = write(mixed, tmp_path / "out", "winogrande", lenient=True)
    assert (written.problems, len(written.skipped)) == (5, 1)
    assert "3 candidates" in written.skipped[0]


def test_dpr_refuses_what_it_could_not_read_back(twins, tmp_path):
    comma = twins.with_problems([twins[0].replace(candidates=("the jug, an old one", "the cup"))])
    with pytest.raises(CannotWrite, match="comma"):
        write(comma, tmp_path / "out", "dpr")
    twice = twins.with_problems([twins[0].replace(before="When it rained, the jug hit the cup because it fell and ")])
    with pytest.raises(CannotWrite, match="more than once"):
        write(twice, tmp_path / "out", "dpr")


def test_a_failed_write_leaves_the_old_file(twins, tmp_path):
    path = tmp_path / "out"
    write(twins, path, "jsonl")
    before = path.read_bytes()
    with pytest.raises(CannotWrite):
        write(twins, path, "copa")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.render])
def test_every_written_text_format_survives_odd_characters(name, tmp_path):
    odd = 'He said "5 < 6 & 7" – naïve, tabs\tno, because '
    rows = {
        "winogender": 'sentid\tsentence\ncook.baker.0.male.txt\tThe cook met "a < b & c" the baker because he waved.\n',
        "winogender-templates": (
            "occupation(0)\tother-participant(1)\tanswer\tsentence\n"
            "cook\tbaker\t0\tThe $OCCUPATION met the $PARTICIPANT – & < > because $NOM_PRONOUN waved.\n"
        ),
        "winobias": "1 [The cook] met the baker – & < > because [he] waved.\n",
        "superglue-wsc": json.dumps(
            {
                "text": odd + "it fell.",
                "target": {"span1_text": "5", "span1_index": 2, "span2_text": "it", "span2_index": 11},
                "label": True,
            }
        )
        + "\n",
        "copa": (
            '<copa-corpus><item id="1" asks-for="cause">'
            "<p>5 &lt; 6.</p><a1>A &amp; B.</a1><a2>“C”.</a2></item></copa-corpus>"
        ),
        "superglue-copa": '{"premise": "5 < 6.", "choice1": "A & B.", "choice2": "“C”.", "question": "cause"}\n',
        "perturbed-wsc": (
            '{"sentence": "5 < 6 & – _ .", "option1": "a&b", "option2": "“c”", "answer": "1", '
            '"pair_number": 0, "qID": "q10"}\n'
        ),
    }
    first = tmp_path / "first"
    if name in rows:
        first.write_text(rows[name], "utf-8")
        dataset = read(first, name)
    else:
        text = odd.replace("\t", " ") if name in ("wsc", "wsc273", "pdp") else odd
        problem = {"before": text, "after": " fell.", "candidates": ["a & b", "“c” <d>"], "answer": 1, "pronoun": "it"}
        first.write_text(json.dumps(problem) + "\n", "utf-8")
        dataset = read(first, "jsonl")
    write(dataset, tmp_path / "second", name)
    again = read(tmp_path / "second", name)
    assert [(p.text, p.candidates, p.answer) for p in again] == [(p.text, p.candidates, p.answer) for p in dataset]
