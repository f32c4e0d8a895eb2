"""A table of one's own is read with blanks, pronouns, candidates and answers in every notation."""

import csv
import io
import json

import pytest
from support.json_rows import json_lines

import winokit
from winokit.data.formats import read
from winokit.data.formats.files import remembered
from winokit.data.loading import Reading, load
from winokit.errors import BadInput
from winokit.stages.stats import stats

COLUMNS = {"text": "satz", "option1": "a", "option2": "b", "answer": "loesung"}
COLUMNS_OPTION = "text=satz,option1=a,option2=b,answer=loesung"
TEXT = "Der Krug traf die Tasse, weil {} fiel."


def write_table(path, rows, delimiter=";"):
    """Write a csv of rows that are lists, the first being the header, and return its path."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    path.write_text(out.getvalue(), "utf-8")
    return path


def write_german(path, answers, text=TEXT.format("_")):
    """Write a German table with a problem for each answer, and return its path."""
    rows = [["satz", "a", "b", "loesung"]]
    for number, answer in enumerate(answers):
        rows.append([text.replace("fiel", f"fiel{number}"), "der Krug", "die Tasse", answer])
    return write_table(path, rows)


def answers_of(dataset):
    return [problem.answer for problem in dataset]


@pytest.mark.parametrize(
    ("answers", "places"),
    [
        (["1", "2", ""], [0, 1, None]),
        (["0", "1", "-1"], [0, 1, None]),
        (["1.0", "2.0", "?"], [0, 1, None]),
        (["A", "b"], [0, 1]),
        (["(B)", "A."], [1, 0]),
        (["die  Tasse", "Der Krug"], [1, 0]),
    ],
)
def test_answers_are_read_in_every_notation_that_all_of_them_fit(answers, places, tmp_path):
    path = write_german(tmp_path / "t", answers)
    dataset = load(path, columns=COLUMNS)
    assert answers_of(dataset) == places


def test_answers_may_be_called_after_the_columns_of_candidates(tmp_path):
    header = ["satz", "option_1", "option_2", "loesung"]
    rows = [[TEXT.format("_") + answer, "x", "y", answer] for answer in ("option1", "Option 2")]
    path = write_table(tmp_path / "t", [header, *rows])
    dataset = load(path, columns=COLUMNS | {"option1": "option_1", "option2": "option_2"})
    assert answers_of(dataset) == [0, 1]


@pytest.mark.parametrize(
    ("notation", "answers", "places"),
    [
        ("0", ["1", "1"], [1, 1]),
        ("1", ["1", "1"], [0, 0]),
        ("true1", ["true", "FALSE"], [0, 1]),
        ("true2", ["true", "FALSE"], [1, 0]),
    ],
)
def test_what_the_answers_leave_open_is_said_with_the_column(notation, answers, places, tmp_path):
    path = write_german(tmp_path / "t", answers)
    with pytest.raises(BadInput, match=rf"answer=loesung:{notation}\).*say which"):
        load(path, columns=COLUMNS_OPTION)
    dataset = load(path, columns=f"{COLUMNS_OPTION}:{notation}")
    assert answers_of(dataset) == places


def test_leaving_out_a_bad_row_decides_nothing_that_the_others_leave_open(tmp_path):
    table = write_german(tmp_path / "t", ["1", "1", "x"])
    with pytest.raises(BadInput, match="say which"):
        load(table, columns=COLUMNS_OPTION, lenient=True)


def test_json_has_answers_as_numbers_and_truth_values(tmp_path):
    rows = [
        {"satz": TEXT.format("_"), "a": "x", "b": "y", "ra": True, "rb": False, "n": 0.0},
        {"satz": TEXT.format("[MASK]"), "a": "x", "b": "y", "ra": False, "rb": True, "n": 1.0},
        {"satz": TEXT.format("<blank>"), "a": "x", "b": "y", "ra": False, "rb": False, "n": None},
    ]
    (tmp_path / "t").write_text(json.dumps(rows))
    columns = {"text": "satz", "option1": "a", "option2": "b", "answer": "n"}
    by_number = load(tmp_path / "t", columns=columns)
    assert answers_of(by_number) == [0, 1, None]
    by_truth = load(tmp_path / "t", columns="text=satz,option1=a,option2=b,answer1=ra,answer2=rb")
    assert answers_of(by_truth) == [0, 1]
    assert "1 rows whose answer is none of their candidates were skipped" in by_truth.notes[0]


@pytest.mark.parametrize(
    "mark", ["_", "____", "[MASK]", "<mask>", "<blank>", "[blank]", "[BLANK]", "[_]", "[...]", "[er]", "*er*"]
)
def test_a_blank_is_read_however_it_is_marked(mark, tmp_path):
    table = write_german(tmp_path / "t", ["1", "2"], TEXT.format(mark))
    problem = load(table, columns=COLUMNS)[0]
    assert problem.text == "Der Krug traf die Tasse, weil _ fiel0."
    pronoun = "er" if "er" in mark else None
    assert problem.pronoun == pronoun


@pytest.mark.parametrize(
    ("text", "more", "cells", "before"),
    [
        ("Er kam, weil er fiel.", "pronoun=p", ["er"], "Er kam, weil "),
        ("er kam, weil er fiel.", "pronoun=p,start=n", ["er", "13"], "er kam, weil "),
        ("er kam, weil er fiel.", "start=p,end=n", ["13", "15"], "er kam, weil "),
        ("因为它太大了。", "pronoun=p", ["它"], "因为"),
        ("Er kam, weil _ fiel.", "pronoun=p", ["er"], "Er kam, weil "),
    ],
)
def test_a_pronoun_is_found_by_its_name_or_its_place(text, more, cells, before, tmp_path):
    header = ["satz", "a", "b", "p", "n"]
    row = [text, "x", "y", *cells, ""]
    path = write_table(tmp_path / "t", [header, row[:5]])
    problem = load(path, columns=f"text=satz,option1=a,option2=b,{more}")[0]
    pronoun = "它" if "它" in text else "er"
    assert problem.before == before
    assert problem.pronoun == pronoun


@pytest.mark.parametrize("cell", ['["der Krug", "die Tasse"]', "['der Krug', 'die Tasse']", "der Krug | die Tasse"])
def test_candidates_may_stand_in_one_cell(cell, tmp_path):
    rows = [["satz", "wahl"], [TEXT.format("_"), cell]]
    path = write_table(tmp_path / "t", rows)
    dataset = load(path, columns="text=satz,options=wahl")
    assert dataset[0].candidates == ("der Krug", "die Tasse")


def test_groups_domain_language_and_ids_come_with_their_columns_and_empty_options_at_the_end_are_none(tmp_path):
    rows = [
        ["satz", "a", "b", "c", "paar", "art", "sprache", "nr"],
        [TEXT.format("_") + "1", "x", "y", "z", 7, "Haus", "de", "1"],
        [TEXT.format("_") + "2", "x", "y", "", 7, "Haus", "de", "2"],
    ]
    path = write_table(tmp_path / "t", rows)
    columns = "text=satz,option1=a,option2=b,option3=c,group=paar,domain=art,language=sprache,id=nr"
    first, second = load(path, columns=columns)
    assert first.group == "7"
    assert second.group == "7"
    assert first.candidates == ("x", "y", "z")
    assert second.candidates == ("x", "y")
    assert first.domain == "Haus"
    assert first.language == "de"
    assert first.provenance == {"id": "1"}


def test_whole_texts_are_columns_too(tmp_path):
    rows = [["gut", "schlecht", "r"], ["Er geht.", "Er gehen.", "1"], ["Wir geht.", "Wir.", "2"]]
    path = write_table(tmp_path / "t", rows)
    dataset = load(path, columns="text1=gut,text2=schlecht,answer=r")
    assert dataset[1].right == "Wir."


def test_wrong_columns_are_refused_with_what_is_missing():
    with pytest.raises(BadInput, match="'text' is missing"):
        load("open", columns="option1=a,option2=b")
    with pytest.raises(BadInput, match="'option1' and 'option2' are missing, or 'options'"):
        load("open", columns={"text": "a"})


@pytest.mark.parametrize(
    ("header", "guess"),
    [
        ("Satz;Kandidat 1;Kandidat 2;Lösung", "text=Satz,option1=Kandidat 1,option2=Kandidat 2,answer=Lösung"),
        ("id;phrase;a;b;réponse", "text=phrase,option1=a,option2=b,answer=réponse,id=id"),
        ("was auch immer;x1;x2;qID", "text=was auch immer,option1=x1,option2=x2,group=qID"),
        ("premise;choices;label;fold", "text=premise,options=choices,answer=label"),
        ("one;two;three;four", "text=one,option1=?,option2=?"),
    ],
)
def test_a_table_that_is_not_understood_is_answered_with_the_command_that_would_read_it(header, guess, tmp_path):
    names = header.split(";")
    text_column = guess.split(",")[0].removeprefix("text=")
    cells = ["x"] * len(names)
    cells[names.index(text_column)] = TEXT.format("_")
    path = write_table(tmp_path / "t.csv", [names, cells])
    with pytest.raises(BadInput) as caught:
        load(path)
    message = str(caught.value)
    assert f"its columns are {', '.join(names)}; to read them: winokit stats {path} --columns" in message
    assert guess in message


def test_prose_is_not_taken_for_a_table(tmp_path):
    (tmp_path / "t.txt").write_text("One, two.\nThree, four, five.\nSix.\n")
    with pytest.raises(BadInput, match=r"no known format; name one as FORMAT:t.txt"):
        load(tmp_path / "t.txt")


def test_the_command_shown_for_a_table_reads_it(tmp_path):
    path = write_german(tmp_path / "t.csv", ["1", "2"])
    with pytest.raises(BadInput) as caught:
        winokit.load(path)
    message = str(caught.value)
    columns = message.rpartition("--columns ")[2]
    dataset = winokit.load(path, columns=columns)
    assert len(dataset) == 2


@pytest.fixture
def with_remembered_columns(tmp_path):
    """Path of a table beside a dataset in another format and a configuration that remembers the table's columns."""
    path = write_german(tmp_path / "t.csv", ["1", "2"])
    other_problem = json.dumps({"text": "a _ b", "candidates": ["x", "y"]})
    (tmp_path / "other.jsonl").write_text(other_problem + "\n")
    (tmp_path / "winokit.toml").write_text("# mine\n")
    stats(path, columns=COLUMNS_OPTION, language="de", remember=True)
    return path


def test_columns_are_remembered_beside_the_data(with_remembered_columns, tmp_path):
    configuration = tmp_path / "winokit.toml"
    beginning = 'language = "de"\n# mine\n\n[columns]\ntext = "satz"\n'
    assert configuration.read_text().startswith(beginning)
    dataset = load(with_remembered_columns)
    assert len(dataset) == 2
    assert dataset.card.language == "de"
    assert f"columns as in {configuration}: {COLUMNS_OPTION}" in dataset.notes[0]
    assert "language de, unless --language says another" in dataset.notes[1]


def test_the_command_line_wins_over_remembered_columns(with_remembered_columns):
    dataset = load(with_remembered_columns, columns=f"{COLUMNS_OPTION}:1")
    assert not any("columns as in" in note for note in dataset.notes)


def test_remembered_columns_are_none_of_another_format_s(with_remembered_columns, tmp_path):
    assert len(load(tmp_path / "other.jsonl")) == 1
    problem_counts = [row.problems for row in stats(tmp_path)]
    assert problem_counts == [1, 2]


def test_other_columns_are_not_remembered_over_the_first(with_remembered_columns):
    with pytest.raises(BadInput, match=r"winokit.toml: has other columns or another language; edit"):
        stats(with_remembered_columns, columns=f"{COLUMNS_OPTION}:1", remember=True)


def test_columns_are_remembered_only_next_to_files():
    with pytest.raises(BadInput, match=r"--remember stores --columns next to files"):
        stats("open", remember=True)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[columns\n", "cannot be read (Expected"),
        ("[columns]\nsatz = 'a'\n", "No role of a column named 'satz'"),
        ("[columns]\ntext = 'a'\n", "'option1' and 'option2' are missing"),
        ("language = 3\n", 'expected language = "…" and a table [columns]'),
        ("colums = {}\n", 'expected language = "…", as = "…", [columns] or ['),
        ("language = 'german'\n", "language 'german': expected a BCP 47 code"),
    ],
)
def test_a_winokit_toml_that_cannot_be_understood_is_an_error(content, says, tmp_path):
    (tmp_path / "winokit.toml").write_text(content)
    with pytest.raises(BadInput) as caught:
        remembered(tmp_path)
    message = str(caught.value)
    path = tmp_path / "winokit.toml"
    assert message.startswith(f"{path}: {says}")


def test_a_plus_in_a_path_is_a_path(tmp_path):
    folder = tmp_path / "a+b"
    folder.mkdir()
    path = write_german(folder / "t+1.csv", ["1", "2"])
    both_paths = f"{path}+{path}"
    assert len(load(both_paths, columns=COLUMNS_OPTION)) == 4
    assert len(load(f"open+{path}", columns=COLUMNS_OPTION)) == 430
    row = {"sentence": "a _ b", "option1": "x", "option2": "y", "answer": "1"}
    (folder / "w.jsonl").write_text(json.dumps(row) + "\n")
    winogrande_path = f"winogrande:{folder}/w.jsonl"
    assert len(load(winogrande_path)) == 1
    assert len(load(f"{winogrande_path}+{folder}/w.jsonl")) == 2
    with pytest.raises(BadInput, match=r"a\+b/no.csv: no such file; split at \+: .*/a: no such file"):
        load(folder / "no.csv")


def test_pairs_are_groups_in_the_formats_that_have_options_too(tmp_path):
    row = {"option1": "x", "option2": "y", "pair_id": 3}
    rows = [{"sentence": f"a _ b{number}", "answer": str(number), **row} for number in (1, 2)]
    (tmp_path / "t.jsonl").write_text(json_lines(rows))
    cells = [list(row.values()) for row in rows]
    write_table(tmp_path / "t.csv", [list(rows[0]), *cells], "\t")
    for name in ("t.jsonl", "t.csv"):
        groups = [problem.group for problem in load(tmp_path / name)]
        assert groups == ["3", "3"]


GAP_HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap_is_read_as_it_is(tmp_path):
    rows = [
        ("t-1", 'Ann met Bea. "Well," she said.', "she", 21, "Ann", 0, "TRUE", "Bea", 8, "FALSE", "u"),
        ("t-2", "Ann met Bea because she was there; she left.", "she", 35, "Ann", 0, "FALSE", "Bea", 8, "FALSE", "u"),
        ("t-3", "Ann met Bea because she was there; she left.", "she", 35, "Ann", 0, "FALSE", "Bea", 8, "TRUE", "u"),
    ]
    lines = ["\t".join(map(str, row)) + "\n" for row in rows]
    (tmp_path / "gap.tsv").write_text(GAP_HEADER + "".join(lines))
    first, second = dataset = load(tmp_path / "gap.tsv")
    assert first.before == 'Ann met Bea. "Well," '
    assert first.right == "Ann"
    assert second.after == " left."
    assert second.right == "Bea"
    assert "1 rows whose answer is none of their candidates were skipped" in dataset.notes[0]


COPA_ITEM = '<item id="{0}" asks-for="cause" most-plausible-alternative="{1}"><p>{2}</p><a1>{3}</a1><a2>{4}</a2></item>'


def test_balanced_copas_mirrored_items_are_twins(tmp_path):
    items = [
        (1, 1, "The lamp went out.", "The oil was used up.", "It was new."),
        (1001, 2, "The lamp was bright.", "The oil was used up.", "It was new."),
        (2, 1, "It rained.", "The street was wet.", "The roof broke."),
        (1002, 2, "It hailed.", "The street was wet.", "The car was hit."),
    ]
    elements = [COPA_ITEM.format(*item) for item in items]
    (tmp_path / "b.xml").write_text(f'<copa-corpus version="1.0">{"".join(elements)}</copa-corpus>')
    groups = [problem.group for problem in read(tmp_path / "b.xml")]
    assert groups == ["copa-1", "copa-1", None, None]


RECIPES = {
    "KnowRef-60K": (
        "text=swapped_sentence,option1=candidate_0,option2=candidate_1,answer=correct_candidate",
        {
            "swapped_sentence": "Ann thanked Bea because [she] had helped .",
            "candidate_0": "Ann",
            "candidate_1": "Bea",
            "correct_candidate": "candidate_1",
        },
        "Bea",
    ),
    "LM-Wino-X": (
        "text=context_de,option1=option1_de,option2=option2_de,answer=answer:1,group=qID",
        {
            "qID": "x-1",
            "context_de": TEXT.format("_"),
            "option1_de": "der Krug",
            "option2_de": "die Tasse",
            "answer": 2,
        },
        "die Tasse",
    ),
    "MT-Wino-X": (
        "text1=translation1,text2=translation2,answer=answer:1,group=qID",
        {"qID": "x-1", "sentence": "It fell.", "translation1": "Er fiel.", "translation2": "Sie fiel.", "answer": 2},
        "Sie fiel.",
    ),
    "WinoWhy": (
        "text=text,options=answers,answer=correctAnswer",
        {
            "text": {"txt1": "The jug hit the cup because", "pron": "it", "txt2": "fell."},
            "answers": ["The jug", "The cup"],
            "correctAnswer": "B",
            "reasons": [],
        },
        "The cup",
    ),
    "a COPA table": (
        "text=premise,question=question,option1=choice1,option2=choice2,answer=label:0,group=pair",
        {
            "premise": "It fell.",
            "question": "cause",
            "choice1": "It slid.",
            "choice2": "It stood.",
            "label": 0,
            "pair": 1,
        },
        "It slid.",
    ),
}


@pytest.mark.parametrize("name", RECIPES)
def test_the_recipes_of_the_docs_read_rows_in_these_formats(name, tmp_path):
    columns, row, right = RECIPES[name]
    (tmp_path / "t.json").write_text(json.dumps([row]))
    dataset = load(tmp_path / "t.json", columns=columns)
    assert dataset[0].right == right


def write_as_json(path, rows):
    """Write rows as lines, as an array or as an object of columns, by the name of the file."""
    if path.name == "rows.jsonl":
        path.write_text(json_lines(rows))
    elif path.name == "array.json":
        path.write_text(json.dumps(rows))
    else:
        values_by_column = {}
        for column in rows[0]:
            values_by_column[column] = [row[column] for row in rows]
        path.write_text(json.dumps(values_by_column))


def write_as_text(path, rows):
    """Write rows with semicolons or tabs between their cells, by the name of the file."""
    out = io.StringIO(newline="")
    delimiter = "\t" if path.name.endswith("tsv") else ";"
    writer = csv.DictWriter(out, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    encoding = "utf-16" if "16" in path.name else "utf-8-sig"
    path.write_text(out.getvalue(), encoding, newline="")


REWRITTEN = ("semicolon.csv", "utf16.csv", "tabs.tsv", "table.parquet", "array.json", "columns.json", "rows.jsonl")


@pytest.mark.parametrize("name", REWRITTEN)
def test_winogrande_under_foreign_names_is_the_same_dataset(name, real_file, tmp_path):
    original = load(real_file("winogrande/dev.jsonl"))
    names = {"qID": "nr", "sentence": "satz", "option1": "erstes", "option2": "zweites", "answer": "loesung"}
    rows = []
    for line in real_file("winogrande/dev.jsonl").read_text("utf-8").strip().split("\n"):
        row = json.loads(line)
        rows.append({names[key]: value for key, value in row.items()})
    path = tmp_path / name
    if name.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif "json" in name:
        write_as_json(path, rows)
    else:
        write_as_text(path, rows)
    again = load(path, columns="text=satz,option1=erstes,option2=zweites,answer=loesung,group=nr")
    assert again == original
    assert len(again) == 1267
    assert len(again.groups) == 284
    assert again.card.name == "winogrande/dev"


@pytest.fixture
def bilingual(tmp_path):
    """A table in two languages and two splits."""
    rows = ["English Sentence,English Option 1,English Option 2,Zulu Sentence,Zulu Option 1,Zulu Option 2,Answer,Split"]
    for index in range(6):
        english_cells = f"Car {index} overtook the bus since the _ is fast.,car,bus"
        zulu_cells = f"Imoto {index} idlula ibhasi ngoba _ iyashesha.,imoto,ibhasi"
        answer = 1 + index % 2
        split = "dev" if index < 2 else "train"
        rows.append(f"{english_cells},{zulu_cells},{answer},{split}")
    path = tmp_path / "both.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_of_two_languages_in_one_table_both_are_shown_with_what_they_give(bilingual):
    with pytest.raises(BadInput) as caught:
        load(bilingual)
    message = str(caught.value)
    assert "option2=English Option 2,answer=Answer' (reads 6 of 6 rows), or --columns" in message
    columns = "text=Zulu Sentence,option1=Zulu Option 1,option2=Zulu Option 2,answer=Answer"
    assert f"{columns}' (reads 6 of 6 rows)" in message


def test_a_role_selects_rows_of_a_table_of_problems(bilingual):
    columns = "text=Zulu Sentence,option1=Zulu Option 1,option2=Zulu Option 2,answer=Answer,where=Split=dev"
    dataset = load(bilingual, reading=Reading(columns=columns))
    candidates = [problem.candidates for problem in dataset]
    assert candidates == [("imoto", "ibhasi")] * 2
