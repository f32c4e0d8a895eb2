"""A malformed record is one line with file, line, field and what was expected, and lenient reading skips it."""

import json
import re

import pytest
from support.json_rows import text_or_json_lines

from winokit.data.formats import FORMATS, WriteOptions, read, write
from winokit.data.formats.source import _load_json
from winokit.data.loading import expand, load
from winokit.errors import BadInput, CannotWrite, UnknownName, WinokitError
from winokit.problem import Dataset, Problem
from winokit.stages.audit.run import audit

GOOD_ROW = {"option1": "cup", "option2": "tray", "answer": "1"}
GOOD_ROW["sentence"] = "The cup fell off the tray because _ was wet."


def write_lines(path, *rows):
    """Write lines that are text as they are, and others as JSON."""
    path.write_text(text_or_json_lines(rows))


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("{not json", "2: expected a JSON object"),
        ("[1, 2]", "2: expected a JSON object, found list"),
        ({**GOOD_ROW, "sentence": "no blank at all"}, "2: field 'sentence': expected exactly one blank '_', found 0"),
        ({**GOOD_ROW, "sentence": "one _ and _ two"}, "2: field 'sentence': expected exactly one blank '_', found 2"),
        ({**GOOD_ROW, "sentence": 7}, "2: field 'sentence': expected a string, found 7"),
        ({**GOOD_ROW, "option2": ""}, "2: field 'option2': expected a string, found an empty one"),
        ({**GOOD_ROW, "option2": "Cup"}, "2: field 'candidates': candidates must differ"),
        ({**GOOD_ROW, "answer": "3"}, "2: field 'answer': expected 1 or 2, found '3'"),
        ({**GOOD_ROW, "answer": True}, "2: field 'answer': expected 1 or 2, found True"),
        ({"sentence": "a _ b", "option1": "c"}, "2: field 'option2': missing"),
    ],
)
def test_a_malformed_winogrande_row_is_named_and_can_be_skipped(row, says, tmp_path):
    path = tmp_path / "data.jsonl"
    write_lines(path, GOOD_ROW, row, GOOD_ROW | {"sentence": "The cup stood on the tray, and _ was dry."})
    with pytest.raises(BadInput) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path}:{says}")
    lenient = read(path, lenient=True)
    assert len(lenient) == 2
    assert "skipped 1 malformed record" in lenient.notes[-1]


WSC = (
    "<collection>\n<schema>\n"
    "<text><txt1>The cup fell off the tray because</txt1><pron>it</pron><txt2>was wet.</txt2></text>\n"
    "<answers><answer>the cup</answer><answer>the tray</answer></answers><correctAnswer>A</correctAnswer>\n"
    "</schema>\n</collection>\n"
)


def test_marks_within_a_text_of_xml_do_not_cost_its_words(tmp_path):
    path = tmp_path / "wsc.xml"
    with_italics = WSC.replace("fell off", "<i>fell</i> off")
    path.write_text(with_italics.replace("the tray</", "the <b>tray</b></"))
    (problem,) = read(path)
    assert problem.text == "The cup fell off the tray because _ was wet."
    assert problem.candidates == ("the cup", "the tray")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("wsc", WSC.replace("<answer>the tray</answer>", ""), "2: field 'candidates': expected two or more candidates"),
        (
            "wsc",
            WSC.replace("<correctAnswer>A", "<correctAnswer>C"),
            "2: field 'correctAnswer': expected a letter from A to B",
        ),
        ("wsc", WSC.replace("<pron>it</pron>", ""), "2: field 'pron': expected a pronoun"),
        ("wsc", WSC.replace("<answers>", "<x>").replace("</answers>", "</x>"), "2: field 'answers': missing"),
        ("wsc", WSC[:-30], "4: expected well-formed XML (unclosed token; is the file cut off?)"),
        ("dpr", "It was wet.\nit\nthe cup\nthe cup\n", "1: field 'candidates': expected two candidates with one comma"),
        ("dpr", "It was wet.\nit\na,b\nc\n", "1: field 'answer': expected one of 'a,b', found 'c'"),
        ("dpr", "It was wet.\nthey\na,b\na\n", "1: field 'pronoun': the pronoun 'they' does not occur"),
        ("dpr", "It was wet.\nit\n", "1: expected four lines"),
        (
            "copa",
            '<copa-corpus><item asks-for="x"><p>P.</p><a1>A</a1><a2>B</a2></item></copa-corpus>',
            "1: field 'question'",
        ),
        ("winogender", "sentid\tsentence\nno id\tHe left.\n", "2: field 'sentid': expected an id like"),
        (
            "winogender",
            "sentid\tsentence\na.b.1.male.txt\tThe a left the b.\n",
            "2: field 'sentence': expected exactly one male",
        ),
        (
            "winobias",
            "1 [The cook] met the baker because [they all] waved.\n",
            "1: field 'pronoun': expected a bracketed pronoun",
        ),
        (
            "winobias",
            "1 [The cook] met somebody because [he] waved.\n",
            "1: field 'candidates': expected a second",
        ),
        (
            "knowref",
            '[{"sentence_with_pronoun": "Ann left."}]',
            "element 1: field 'sentence_with_pronoun': expected one [pronoun]",
        ),
        ("knowref", '[{"sentence_with_pronoun": "A [he] B"', "element 1: expected a JSON object"),
        (
            "trichelair",
            '[{"sentence": "a [it] b", "answer0": "x", "answer1": "y", "correct_answer": "z"}]',
            "element 1:",
        ),
        ("superglue-wsc", '{"text": "a b", "target": 3}\n', "1: field 'target': expected an object with two spans"),
        (
            "superglue-wsc",
            '{"text": "a b", "target": {"span1_text": "a", "span1_index": 0, "span2_text": "b", "span2_index": 9}}\n',
            "1: field 'span2_index': expected a word index below 2",
        ),
        (
            "superglue-copa",
            '{"premise": "p", "choice1": "a", "choice2": "b", "question": "why"}\n',
            "1: field 'question'",
        ),
        ("csv", "sentence,option1,option2\nno blank,a,b\n", "2: field 'sentence': expected exactly one blank"),
        ("csv", "sentence,option1,option2\n_ x,a\n", "2: expected 3 cells, found 2"),
        ("jsonl", '{"text": "a _ b", "candidates": "ab"}\n', "1: field 'candidates': expected a list of strings"),
        (
            "jsonl",
            '{"text": "a _ b", "candidates": ["a", "b"], "answer": 2}\n',
            "1: field 'answer': the answer must be",
        ),
        ("jsonl", '{"card": {"title": "x"}}\n', "1: field 'card': expected an object with a name"),
        (
            "jsonl",
            '{"card": {"name": "x", "human_accuracy": 94}}\n',
            "1: field 'human_accuracy': expected a share from 0 to 1",
        ),
        ("perturbed-wsc", '{"sentence": "a _ b", "option1": "a", "option2": "b", "qID": "x"}\n', "1: field 'qID'"),
        ("lmeval", '{"doc_id": 0, "doc": {"question": "?"}}\n', "1: no known dialect has the fields question"),
    ],
)
def test_every_format_names_what_is_wrong(name, content, says, tmp_path):
    path = tmp_path / "data"
    path.write_text(content)
    with pytest.raises(BadInput) as caught:
        read(path, name)
    message = str(caught.value)
    assert message.startswith(f"{path}:{says}")


def test_wrong_encoding_names_the_line_and_byte(tmp_path):
    path = tmp_path / "data.jsonl"
    row = json.dumps(GOOD_ROW).encode()
    latin_row = row.replace(b"cup", b"caf\xe9")
    path.write_bytes(row + b"\n" + latin_row + b"\n")
    with pytest.raises(BadInput, match=r"data.jsonl:2: expected UTF-8 text, found byte 0xe9"):
        read(path)
    assert len(read(path, lenient=True)) == 1


def test_a_table_in_another_encoding_says_so_where_its_columns_are_not_known(tmp_path):
    (tmp_path / "data.csv").write_bytes("satz;x;y;gold\nDer Krüg _;a;b;1\n".encode("latin-1"))
    with pytest.raises(BadInput, match=r"data.csv:2: expected UTF-8 text, found byte 0xfc; save the file as UTF-8"):
        read(tmp_path / "data.csv")


def test_a_file_with_nothing_in_it_is_said_to_be_empty(tmp_path):
    (tmp_path / "empty").write_text(" \n")
    with pytest.raises(BadInput, match="the file is empty"):
        read(tmp_path / "empty")


def test_a_file_with_nothing_but_bad_records_is_an_error_even_when_lenient(tmp_path):
    write_lines(tmp_path / "data.jsonl", {**GOOD_ROW, "answer": "9"})
    with pytest.raises(BadInput, match="all 1 records are malformed"):
        read(tmp_path / "data.jsonl", lenient=True)


def test_a_file_with_a_card_and_nothing_else_has_no_problems(tmp_path):
    (tmp_path / "data.jsonl").write_text('{"card": {"name": "twins"}}\n')
    with pytest.raises(BadInput, match=r"data.jsonl: no problems in it$"):
        read(tmp_path / "data.jsonl")


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


def test_the_folder_of_a_run_is_sent_to_the_verbs_that_read_runs(twins, tmp_path):
    audit(twins, "random", protocol="accuracy", out=tmp_path / "run")
    way_on = "the folder of a run; read it with winokit report .*run, or with winokit compare"
    with pytest.raises(BadInput, match=way_on):
        load(tmp_path / "run")


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_a_file_that_is_missing_is_said_to_be_missing_in_every_format(name, tmp_path):
    path = tmp_path / "nowhere.txt"
    with pytest.raises(BadInput) as failure:
        load(f"{name}:{path}")
    message = str(failure.value)
    assert message == f"{path}: no such file"


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
    three_candidates = twins[0].replace(candidates=("a", "b", "c"))
    mixed = twins.with_problems([three_candidates, *twins[1:]])
    summary = write(mixed, tmp_path / "out", "winogrande", lenient=True)
    assert summary.problems == 5
    assert len(summary.skipped) == 1
    assert "3 candidates" in summary.skipped[0]


def test_dpr_refuses_what_it_could_not_read_back(twins, tmp_path):
    with_comma = twins[0].replace(candidates=("the jug, an old one", "the cup"))
    with_comma = twins[0].replace(candidates=("the jug, an old one", "the cup"))
    with pytest.raises(CannotWrite, match="comma"):
        write(Dataset([with_comma]), tmp_path / "out", "dpr")
    with_it_twice = twins[0].replace(before="When it rained, the jug hit the cup because it fell and ")
    with pytest.raises(CannotWrite, match="more than once"):
        write(Dataset([with_it_twice]), tmp_path / "out", "dpr")


def test_a_failed_write_leaves_the_old_file(twins, tmp_path):
    path = tmp_path / "out"
    write(twins, path, "jsonl")
    before = path.read_bytes()
    with pytest.raises(CannotWrite):
        write(twins, path, "copa")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


ODD_TEXT = 'He said "5 < 6 & 7" – naïve, tabs\tno, because '
ODD_TARGET = {"span1_text": "5", "span1_index": 2, "span2_text": "it", "span2_index": 11}
ODD_FILES = {
    "winogender": 'sentid\tsentence\ncook.baker.0.male.txt\tThe cook met "a < b & c" the baker because he waved.\n',
    "winogender-templates": (
        "occupation(0)\tother-participant(1)\tanswer\tsentence\n"
        "cook\tbaker\t0\tThe $OCCUPATION met the $PARTICIPANT – & < > because $NOM_PRONOUN waved.\n"
    ),
    "winobias": "1 [The cook] met the baker – & < > because [he] waved.\n",
    "minimal-pairs": json.dumps({"good": ODD_TEXT + "it fell.", "bad": ODD_TEXT + "it fall_."}) + "\n",
    "superglue-wsc": json.dumps({"text": ODD_TEXT + "it fell.", "target": ODD_TARGET, "label": True}) + "\n",
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
"""Files with odd characters in the formats that cannot write a problem of another."""


def read_odd_problem(path, name):
    """Dataset with odd characters that a format can write."""
    if name in ODD_FILES:
        path.write_text(ODD_FILES[name], "utf-8")
        return read(path, name)
    has_no_tabs = name in ("wsc", "wsc273", "pdp")
    before = ODD_TEXT.replace("\t", " ") if has_no_tabs else ODD_TEXT
    row = {"before": before, "after": " fell.", "candidates": ["a & b", "“c” <d>"], "answer": 1, "pronoun": "it"}
    path.write_text(json.dumps(row) + "\n", "utf-8")
    return read(path, "jsonl")


@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.render])
def test_every_written_text_format_survives_odd_characters(name, tmp_path):
    dataset = read_odd_problem(tmp_path / "first", name)
    write(dataset, tmp_path / "second", name)
    again = read(tmp_path / "second", name)
    problems = [(problem.text, problem.candidates, problem.answer) for problem in dataset]
    problems_again = [(problem.text, problem.candidates, problem.answer) for problem in again]
    assert problems_again == problems


def single_problem(**changes):
    """Dataset of one problem that every format with a pronoun can write."""
    cup = Problem("The jug hit the cup because ", " fell.", ("the jug", "the cup"), 1, "it")
    return Dataset([cup.replace(**changes)])


@pytest.mark.parametrize(
    ("to", "changes", "why"),
    [
        ("winogrande", {"before": "The jug_1 hit the cup because "}, "has a '_' besides the blank"),
        ("csv", {"before": "The jug_1 hit the cup because "}, "has a '_' besides the blank"),
        ("knowref", {"before": "The jug [old] hit the cup because "}, "besides those that knowref"),
        ("trichelair", {"before": "The jug [old] hit the cup because "}, "besides those that trichelair"),
        ("trichelair", {"labels": {"switchable": "perhaps"}}, "field 'switchable': expected true or false"),
        ("wsc", {"before": "The jug \x01 hit the cup because "}, "a control character"),
        ("dpr", {"candidates": ("the\njug", "the cup")}, "on one line each"),
        ("dpr", {"candidates": (" the jug", "the cup")}, "with no space around them"),
        ("winobias", {"pronoun": "he", "labels": {"mentions": 3}}, "pairs of places in the label 'mentions'"),
        ("superglue-wsc", {"before": "The non-", "candidates": ("no", "yes"), "query": "a"}, "is not at word"),
    ],
)
def test_what_could_not_be_read_back_is_refused_or_left_out(to, changes, why, tmp_path):
    with pytest.raises(CannotWrite, match=f"{why}.*lenient leaves such problems out"):
        write(single_problem(**changes), tmp_path / "out", to)
    assert not (tmp_path / "out").exists()
    with pytest.raises(CannotWrite, match=f"^none of 1 problems can be written as {to}; the first: .*{why}"):
        write(single_problem(**changes), tmp_path / "out", to, lenient=True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("to", "options", "why"),
    [
        ("csv", WriteOptions(labels_apart=True), "only the winogrande format has separate label lists"),
        (
            "csv",
            WriteOptions(source_ids=True),
            "csv has no place for the ids of the source; jsonl, knowref, winogrande",
        ),
    ],
)
def test_an_option_the_format_has_no_place_for_is_refused_before_anything_is_written(to, options, why, tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("mine")
    with pytest.raises(BadInput, match=why):
        write(single_problem(), path, to, options)
    assert path.read_text() == "mine"


def test_hidden_answers_have_no_label_list(tmp_path):
    with pytest.raises(CannotWrite, match="the answer is hidden, and a label list"):
        write(single_problem(answer=None), tmp_path / "out.jsonl", "winogrande", WriteOptions(labels_apart=True))
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_named_on_reading_and_a_whole_one_is_read(tmp_path):
    path = tmp_path / "data.jsonl"
    write_lines(path, GOOD_ROW | {"sentence": "The \U0001f600 cup fell off the tray because _ was wet."})
    assert "\U0001f600" in read(path)[0].before
    write_lines(path, GOOD_ROW | {"sentence": "The \ud83d cup fell off the tray because _ was wet."})
    with pytest.raises(BadInput, match=r"data.jsonl:1: expected whole characters, found \\ud83d, which is half of one"):
        read(path)


def test_what_follows_a_json_array_is_not_passed_over_in_silence(tmp_path):
    row = '{"sentence": "a b [it] c", "answer0": "a", "answer1": "b", "correct_answer": "a"}'
    (tmp_path / "two.json").write_text(f"[{row}]\n[{row}]\n")
    with pytest.raises(BadInput, match=r"two.json:2: expected the end of the file after the array's '\]'"):
        read(tmp_path / "two.json")
    dataset = read(tmp_path / "two.json", lenient=True)
    assert "skipped 1" in dataset.notes[-1]


def test_an_empty_option_between_others_does_not_move_the_answer(tmp_path):
    (tmp_path / "gap.csv").write_text("sentence,option1,option2,option3,answer\nthe _ is x,,b,c,2\n")
    with pytest.raises(BadInput, match=r"gap.csv:2: field 'candidates': an empty candidate"):
        read(tmp_path / "gap.csv")


def test_the_first_sentence_of_a_headless_winogender_file_is_read(tmp_path):
    lines = [
        "cook.baker.0.male.txt\tThe cook met the baker 0 times because he waved.",
        "cook.baker.1.male.txt\tThe cook met the baker 1 times because he waved.",
    ]
    write_lines(tmp_path / "rows.tsv", *lines)
    dataset = read(tmp_path / "rows.tsv", "winogender")
    assert len(dataset) == 2


def test_a_byte_order_mark_is_no_part_of_a_dpr_sentence(tmp_path):
    (tmp_path / "dpr.txt").write_text(
        "The jug hit the cup because it fell.\nit\nthe jug,the cup\nthe cup\n", "utf-8-sig"
    )
    dataset = read(tmp_path / "dpr.txt")
    assert dataset[0].before == "The jug hit the cup because "


def test_qids_that_number_the_rows_name_no_twins(tmp_path):
    path = tmp_path / "data.jsonl"
    rows = []
    for number in range(5):
        sentence = f"The cup{number} fell off the tray because _ was wet."
        rows.append(GOOD_ROW | {"sentence": sentence, "qID": f"my-set-{number}"})
    write_lines(path, *rows)
    dataset = read(path)
    assert not dataset.groups
    assert "qIDs like 'my-set-…' number the rows" in dataset.notes[0]


def test_a_large_group_that_winokit_wrote_comes_back_whole(tmp_path):
    problems = [single_problem(after=f" fell {number} times.", pronoun=None, group="g-1")[0] for number in range(5)]
    write(Dataset(problems), tmp_path / "out.jsonl", "winogrande")
    groups = read(tmp_path / "out.jsonl").groups
    group_sizes = [len(members) for members in groups.values()]
    assert group_sizes == [5]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "No dataset or file named"),
        ("+", "No dataset or file named"),
        ("open+", "Did you mean 'open'"),
        ("synthetic-²", "No dataset or file named"),
        ("synthetic-0", "from 1 to 1,000,000 pairs"),
        ("synthetic-99999999999", "from 1 to 1,000,000 pairs"),
        ("a" * 300, "No dataset or file named"),
    ],
)
def test_odd_names_are_refused_in_one_line(name, says):
    with pytest.raises(WinokitError, match=re.escape(says)):
        load(name)
    assert expand([name]) == ([name], [])


def test_a_folder_without_datasets_is_told(tmp_path):
    datasets, notes = expand(["open", str(tmp_path)])
    assert datasets == ["open"]
    assert notes == [f"{tmp_path}: 0 datasets; 0 other files skipped"]


def test_labels_that_fit_nothing_are_one_note(twins, tmp_path):
    write(twins, tmp_path / "labels.json", "trichelair")
    (note,) = load("open", labels=[tmp_path / "labels.json"]).notes
    assert f"6 of the 6 labels of {tmp_path.name}/labels were not used" in note


def test_a_bad_row_of_a_table_costs_no_other_row(tmp_path):
    lines = ["sentence,option1,option2,answer", "the _ is x,a,b,1", 'the _ is y,"a"z,b,1', "the _ is z,a,b,2"]
    write_lines(tmp_path / "data.csv", *lines)
    with pytest.raises(BadInput, match=r"data.csv:3: expected a well-formed row"):
        read(tmp_path / "data.csv")
    endings = [problem.after for problem in read(tmp_path / "data.csv", lenient=True)]
    assert endings == [" is x", " is z"]


def test_what_is_lost_with_a_broken_array_is_told(tmp_path):
    row = '{"sentence": "a b [it] c", "answer0": "a", "answer1": "b", "correct_answer": "a"}'
    (tmp_path / "cut.json").write_text(f"[{row},\n {{broken}},\n {row}]\n")
    dataset = read(tmp_path / "cut.json", lenient=True)
    assert len(dataset) == 1
    assert "nothing from there on is read" in dataset.notes[-1]


def test_files_that_share_the_start_of_their_name_have_a_label_list_each(tmp_path):
    with_labels = WriteOptions(labels_apart=True)
    write(single_problem(answer=0), tmp_path / "my.train.jsonl", "winogrande", with_labels)
    write(single_problem(answer=1), tmp_path / "my.dev.jsonl.gz", "winogrande", with_labels)
    file_names = {path.name for path in tmp_path.glob("*.lst")}
    assert file_names == {"my.train-labels.lst", "my.dev-labels.lst"}
    (train_problem,) = read(tmp_path / "my.train.jsonl")
    (dev_problem,) = read(tmp_path / "my.dev.jsonl.gz")
    assert train_problem.answer == 0
    assert dev_problem.answer == 1


@pytest.mark.parametrize(
    "line", ['{"a": 1}', ' {"a": [1.5, NaN]}\t', '{"a": 1} x', '{"a": 1', "", "\ufeff{}", "7 8", '"\\ud800"']
)
def test_a_line_is_read_as_the_json_module_reads_it(line):
    def value_or_message(loads):
        try:
            return repr(loads(line))
        except ValueError as error:
            return str(error)

    assert value_or_message(_load_json) == value_or_message(json.loads)
