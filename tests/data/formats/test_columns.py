"""A table of one's own: blanks, pronouns, candidates and answers in every notation, named on the spot or beside it."""

import csv
import io
import json

import pytest

import winokit
from winokit.data.formats import read
from winokit.data.formats.files import remembered
from winokit.data.loading import Reading, load
from winokit.errors import BadInput
from winokit.stages.stats import stats

COLUMNS = {"text": "satz", "option1": "a", "option2": "b", "answer": "loesung"}
SAID = "text=satz,option1=a,option2=b,answer=loesung"
TEXT = "Der Krug traf die Tasse, weil {} fiel."


def written(path, rows, delimiter=";"):
    """A csv of rows that are lists; the first is the header."""
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(rows)
    path.write_text(out.getvalue(), "utf-8")
    return path


def german(path, answers, text=TEXT.format("_")):
    rows = [[text.replace("fiel", f"fiel{number}"), "der Krug", "die Tasse", a] for number, a in enumerate(answers)]
    return written(path, [["satz", "a", "b", "loesung"], *rows])


@pytest.mark.parametrize(
    ("answers", "places"),
    [
        (["1", "2", ""], [0, 1, None]),
        (["0", "1", "-1"], [0, 1, None]),
        (["1.0", "2.0", "?"], [0, 1, None]),
        (["A", "b"], [0, 1]),
        (["(B)", "A."], [1, 0]),
        (["die  Tasse", "Der Krug"], [1, 0]),
        (["option1", "Option 2"], [0, 1]),
    ],
)
def test_answers_are_read_in_every_notation_that_all_of_them_fit(answers, places, tmp_path):
    if answers[0] == "option1":
        path = written(
            tmp_path / "t",
            [["satz", "option_1", "option_2", "loesung"], *([TEXT.format("_") + a, "x", "y", a] for a in answers)],
        )
        dataset = load(path, columns=COLUMNS | {"option1": "option_1", "option2": "option_2"})
    else:
        dataset = load(german(tmp_path / "t", answers), columns=COLUMNS)
    assert [problem.answer for problem in dataset] == places


@pytest.mark.parametrize(
    ("said", "answers", "places"),
    [
        ("0", ["1", "1"], [1, 1]),
        ("1", ["1", "1"], [0, 0]),
        ("true1", ["true", "FALSE"], [0, 1]),
        ("true2", ["true", "FALSE"], [1, 0]),
    ],
)
def test_what_the_answers_leave_open_is_said_with_the_column(said, answers, places, tmp_path):
    path = german(tmp_path / "t", answers)
    with pytest.raises(BadInput, match=rf"answer=loesung:{said}\).*say which"):
        load(path, columns=SAID)
    assert [problem.answer for problem in load(path, columns=f"{SAID}:{said}")] == places


def test_leaving_out_a_bad_row_decides_nothing_that_the_others_leave_open(tmp_path):
    with pytest.raises(BadInput, match="say which"):
        load(german(tmp_path / "t", ["1", "1", "x"]), columns=SAID, lenient=True)


def test_json_has_answers_as_numbers_and_truth_values(tmp_path):
    rows = [
        {"satz": TEXT.format(mark), "a": "x", "b": "y", "ra": ra, "rb": rb, "n": n}
        for mark, ra, rb, n in (("_", True, False, 0.0), ("[MASK]", False, True, 1.0), ("<blank>", False, False, None))
    ]
    (tmp_path / "t").write_text(json.dumps(rows))
    by_number = load(tmp_path / "t", columns={"text": "satz", "option1": "a", "option2": "b", "answer": "n"})
    assert [problem.answer for problem in by_number] == [0, 1, None]
    flagged = load(tmp_path / "t", columns="text=satz,option1=a,option2=b,answer1=ra,answer2=rb")
    assert [problem.answer for problem in flagged] == [0, 1]
    assert "1 rows whose answer is none of their candidates were skipped" in flagged.notes[0]


@pytest.mark.parametrize(
    "mark", ["_", "____", "[MASK]", "<mask>", "<blank>", "[blank]", "[BLANK]", "[_]", "[...]", "[er]", "*er*"]
)
def test_a_blank_is_read_however_it_is_marked(mark, tmp_path):
    problem = load(german(tmp_path / "t", ["1", "2"], TEXT.format(mark)), columns=COLUMNS)[0]
    assert problem.text == "Der Krug traf die Tasse, weil _ fiel0."
    assert problem.pronoun == ("er" if "er" in mark else None)


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
    path = written(tmp_path / "t", [["satz", "a", "b", "p", "n"], [text, "x", "y", *cells, ""][:5]])
    problem = load(path, columns=f"text=satz,option1=a,option2=b,{more}")[0]
    assert (problem.before, problem.pronoun) == (before, "它" if "它" in text else "er")


@pytest.mark.parametrize("cell", ['["der Krug", "die Tasse"]', "['der Krug', 'die Tasse']", "der Krug | die Tasse"])
def test_candidates_may_stand_in_one_cell(cell, tmp_path):
    path = written(tmp_path / "t", [["satz", "wahl"], [TEXT.format("_"), cell]])
    assert load(path, columns="text=satz,options=wahl")[0].candidates == ("der Krug", "die Tasse")


def test_groups_domain_language_and_ids_come_with_their_columns_and_empty_options_at_the_end_are_none(tmp_path):
    head = ["satz", "a", "b", "c", "paar", "art", "sprache", "nr"]
    rows = [[TEXT.format("_") + word, "x", "y", z, 7, "Haus", "de", word] for word, z in (("1", "z"), ("2", ""))]
    path = written(tmp_path / "t", [head, *rows])
    said = "text=satz,option1=a,option2=b,option3=c,group=paar,domain=art,language=sprache,id=nr"
    one, other = load(path, columns=said)
    assert one.group == other.group == "7"
    assert (one.candidates, other.candidates) == (("x", "y", "z"), ("x", "y"))
    assert (one.domain, one.language, one.provenance) == ("Haus", "de", {"id": "1"})


def test_whole_texts_are_columns_too(tmp_path):
    path = written(
        tmp_path / "t", [["gut", "schlecht", "r"], ["Er geht.", "Er gehen.", "1"], ["Wir geht.", "Wir.", "2"]]
    )
    assert load(path, columns="text1=gut,text2=schlecht,answer=r")[1].right == "Wir."


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
    cells = [TEXT.format("_") if name in guess.split(",")[0].split("=") else "x" for name in header.split(";")]
    path = written(tmp_path / "t.csv", [header.split(";"), cells])
    with pytest.raises(BadInput) as caught:
        load(path)
    assert f"its columns are {header.replace(';', ', ')}; to read them: winokit stats {path} --columns" in str(
        caught.value
    )
    assert guess in str(caught.value)


def test_prose_is_not_taken_for_a_table(tmp_path):
    (tmp_path / "t.txt").write_text("One, two.\nThree, four, five.\nSix.\n")
    with pytest.raises(BadInput, match=r"no known format; name one as FORMAT:t.txt"):
        load(tmp_path / "t.txt")


def test_the_command_shown_for_a_table_reads_it(tmp_path):
    path = german(tmp_path / "t.csv", ["1", "2"])
    with pytest.raises(BadInput) as caught:
        winokit.load(path)
    assert len(winokit.load(path, columns=str(caught.value).rpartition("--columns ")[2])) == 2


def test_columns_are_remembered_beside_the_data_and_the_command_line_wins(tmp_path):
    path = german(tmp_path / "t.csv", ["1", "2"])
    (tmp_path / "other.jsonl").write_text(json.dumps({"text": "a _ b", "candidates": ["x", "y"]}) + "\n")
    (tmp_path / "winokit.toml").write_text("# mine\n")
    stats(path, columns=SAID, language="de", remember=True)
    assert (tmp_path / "winokit.toml").read_text().startswith('language = "de"\n# mine\n\n[columns]\ntext = "satz"\n')
    again = load(path)
    assert (len(again), again.card.language) == (2, "de")
    assert f"columns as in {tmp_path / 'winokit.toml'}: {SAID}" in again.notes[0]
    assert "language de, unless --language says another" in again.notes[1]
    assert not any("columns as in" in note for note in load(path, columns=SAID + ":1").notes)
    assert len(load(tmp_path / "other.jsonl")) == 1
    assert [row.problems for row in stats(tmp_path)] == [1, 2]
    with pytest.raises(BadInput, match=r"winokit.toml: has other columns or another language; edit"):
        stats(path, columns=SAID + ":1", remember=True)
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
    assert str(caught.value).startswith(f"{tmp_path / 'winokit.toml'}: {says}")


def test_a_plus_in_a_path_is_a_path(tmp_path):
    folder = tmp_path / "a+b"
    folder.mkdir()
    path = german(folder / "t+1.csv", ["1", "2"])
    assert len(load(f"{path}+{path}", columns=SAID)) == 4
    assert len(load(f"open+{path}", columns=SAID)) == 430
    (folder / "w.jsonl").write_text(
        json.dumps({"sentence": "a _ b", "option1": "x", "option2": "y", "answer": "1"}) + "\n"
    )
    assert len(load(f"winogrande:{folder}/w.jsonl")) == 1
    assert len(load(f"winogrande:{folder}/w.jsonl+{folder}/w.jsonl")) == 2
    with pytest.raises(BadInput, match=r"a\+b/no.csv: no such file; split at \+: .*/a: no such file"):
        load(folder / "no.csv")


def test_pairs_are_groups_in_the_formats_that_have_options_too(tmp_path):
    rows = [{"sentence": f"a _ b{n}", "option1": "x", "option2": "y", "answer": str(n), "pair_id": 3} for n in (1, 2)]
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    written(tmp_path / "t.csv", [[*rows[0]], *([*row.values()] for row in rows)], "\t")
    for name in ("t.jsonl", "t.csv"):
        assert [problem.group for problem in load(tmp_path / name)] == ["3", "3"]


GAP = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def test_gap_is_read_as_it_is(tmp_path):
    rows = [
        ("t-1", 'Ann met Bea. "Well," she said.', "she", 21, "Ann", 0, "TRUE", "Bea", 8, "FALSE", "u"),
        ("t-2", "Ann met Bea because she was there; she left.", "she", 35, "Ann", 0, "FALSE", "Bea", 8, "FALSE", "u"),
        ("t-3", "Ann met Bea because she was there; she left.", "she", 35, "Ann", 0, "FALSE", "Bea", 8, "TRUE", "u"),
    ]
    (tmp_path / "gap.tsv").write_text(GAP + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    first, second = dataset = load(tmp_path / "gap.tsv")
    assert (first.before, first.right) == ('Ann met Bea. "Well," ', "Ann")
    assert (second.after, second.right) == (" left.", "Bea")
    assert "1 rows whose answer is none of their candidates were skipped" in dataset.notes[0]


def test_balanced_copas_mirrored_items_are_twins(tmp_path):
    items = [
        (1, "The lamp went out.", 1),
        (1001, "The lamp was bright.", 2),
        (2, "It rained.", 1),
        (1002, "It hailed.", 2),
    ]
    others = {1: ("The oil was used up.", "It was new."), 2: ("The street was wet.", "The roof broke.")}
    (tmp_path / "b.xml").write_text(
        '<copa-corpus version="1.0">'
        + "".join(
            f'<item id="{n}" asks-for="cause" most-plausible-alternative="{right}"><p>{p}</p>'
            f"<a1>{others[n % 1000][0]}</a1><a2>{others[n % 1000][1] if n != 1002 else 'The car was hit.'}</a2></item>"
            for n, p, right in items
        )
        + "</copa-corpus>"
    )
    assert [problem.group for problem in read(tmp_path / "b.xml")] == ["copa-1", "copa-1", None, None]


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
    assert load(tmp_path / "t.json", columns=columns)[0].right == right


REWRITTEN = ("semicolon.csv", "utf16.csv", "tabs.tsv", "table.parquet", "array.json", "columns.json", "rows.jsonl")


@pytest.mark.parametrize("name", REWRITTEN)
def test_winogrande_under_foreign_names_is_the_same_dataset(name, real_file, tmp_path):
    original = load(real_file("winogrande/dev.jsonl"))
    names = {"qID": "nr", "sentence": "satz", "option1": "erstes", "option2": "zweites", "answer": "loesung"}
    lines = real_file("winogrande/dev.jsonl").read_text("utf-8").strip().split("\n")
    rows = [{names[key]: value for key, value in json.loads(line).items()} for line in lines]
    path = tmp_path / name
    if name.endswith("parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    elif "json" in name:
        shapes = {"array.json": rows, "columns.json": {key: [row[key] for row in rows] for key in rows[0]}}
        path.write_text("\n".join(map(json.dumps, rows)) if name == "rows.jsonl" else json.dumps(shapes[name]))
    else:
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, rows[0], delimiter="\t" if name.endswith("tsv") else ";")
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(out.getvalue(), "utf-16" if "16" in name else "utf-8-sig", newline="")
    again = load(path, columns="text=satz,option1=erstes,option2=zweites,answer=loesung,group=nr")
    assert again == original
    assert (len(again), len(again.groups), again.card.name) == (1267, 284, "winogrande/dev")


@pytest.fixture
def bilingual(tmp_path):
    """A table in two languages and two splits."""
    path = tmp_path / "both.csv"
    rows = ["English Sentence,English Option 1,English Option 2,Zulu Sentence,Zulu Option 1,Zulu Option 2,Answer,Split"]
    for at in range(6):
        zulu = f"Imoto {at} idlula ibhasi ngoba _ iyashesha.,imoto,ibhasi"
        split = "dev" if at < 2 else "train"
        rows.append(f"Car {at} overtook the bus since the _ is fast.,car,bus,{zulu},{1 + at % 2},{split}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_of_two_languages_in_one_table_both_are_shown_with_what_they_give(bilingual):
    with pytest.raises(BadInput) as caught:
        load(bilingual)
    said = str(caught.value)
    assert "option2=English Option 2,answer=Answer' (reads 6 of 6 rows), or --columns" in said
    assert "text=Zulu Sentence,option1=Zulu Option 1,option2=Zulu Option 2,answer=Answer' (reads 6 of 6 rows)" in said


def test_a_role_selects_rows_of_a_table_of_problems(bilingual):
    columns = "text=Zulu Sentence,option1=Zulu Option 1,option2=Zulu Option 2,answer=Answer,where=Split=dev"
    assert [problem.candidates for problem in load(bilingual, reading=Reading(columns=columns))] == [
        ("imoto", "ibhasi"),
        ("imoto", "ibhasi"),
    ]
