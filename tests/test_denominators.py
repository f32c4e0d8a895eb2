"""Test sizes that can have produced a table of accuracies."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from runs.__main__ import main
from runs.denominators import (
    Cell,
    PossibleTest,
    Question,
    answer,
    read_cells,
    read_test,
    say_verdicts,
    share_possible,
)
from runs.tables import ROOT

ACCURACIES = ROOT / "runs" / "protocols" / "accuracies"


def run_denominators(capsys, *arguments):
    """Run the command, and return its output."""
    assert main(["denominators", *map(str, arguments)]) == 0
    return capsys.readouterr().out


def table(tmp_path, text):
    """Write a table, and return its path."""
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    return path


def cell(value, kind="single", row="", decimals=2):
    return Cell(row, "", kind, value, decimals)


@pytest.mark.parametrize(
    ("value", "n", "fits", "cut"),
    [(66.67, 3, True, True), (66.66, 3, False, True), (66.68, 3, False, False), (53.12, 288, True, True)],
)
def test_a_cell_fits_where_a_whole_number_of_right_answers_rounds_to_it(value, n, fits, cut):
    assert cell(value).fits(n) == fits
    assert cell(value).fits(n, cut=True) == cut


def test_a_mean_of_runs_has_multiples_of_one_in_as_many_answers():
    assert not cell(16.67).fits(3)
    assert Question(runs=2).fit([cell(16.67)], PossibleTest(3, None)).fitting


def test_the_share_by_accident_counts_the_values_that_are_possible():
    assert share_possible(288, 2) == pytest.approx(289 / 10_001)
    assert share_possible(20_000, 2) == 1
    assert share_possible(288, 2, cut=True) > share_possible(288, 2)


def test_square_ones_tables_say_what_a_person_found(capsys):
    fourth = run_denominators(capsys, ACCURACIES / "square-one-4.csv")
    assert "| single | 288 | 29 of 36 | 1.0 | under 1e-15 |" in fourth
    assert "Row 0 is of another test: 3 of 3 cells are impossible." in fourth
    fifth = run_denominators(capsys, ACCURACIES / "square-one-5.csv")
    assert "| single | 568 | 27 of 36 |" in fifth  # one of them row 0's, by accident
    assert "| group | 568 in 284 pairs | 28 of 36 |" in fifth
    tests = ("--test", "re-split=1938/969", "--test", "one piece=288/144", "--test", "twins=568/284")
    fourth_cut = run_denominators(capsys, ACCURACIES / "square-one-4.csv", *tests, "--cut")
    assert "Best: re-split (1,938 in 969 pairs) (5 of its 6 cells" in fourth_cut
    third = run_denominators(capsys, ACCURACIES / "square-one-3.csv", "--by", "column")
    assert re.findall(r"both \| (\d+) in", third) == ["184", "146", "288"]


def test_the_output_begins_with_a_verdict_in_plain_words(capsys):
    fourth = run_denominators(capsys, ACCURACIES / "square-one-4.csv")
    assert fourth.splitlines()[:4] == [
        "single: comes from 288 problems (29 of its 36 cells are possible; by accident: under 1e-15)",
        "group: no test size can be told: accident fits as well "
        "(best: 1,292 problems in 646 pairs, 8 of its 36 cells; by accident: 1.00)",
        "",
        "| cells | test | possible | by accident | chance of as many | with all tests tried |",
    ]
    third = run_denominators(capsys, ACCURACIES / "square-one-3.csv", "--by", "column")
    assert "WSC, group: comes from 184 problems in 92 pairs (6 of its 6 cells" in third


def test_both_kinds_together_have_a_verdict_only_if_neither_alone_tells():
    cells = [each for each in read_cells(ACCURACIES / "square-one-3.csv") if each.column == "WSC"]
    base_and_large = [each for each in cells if each.row.startswith("BERT")]
    (single, group, both), all_rows = (list(say_verdicts(part, Question())) for part in (base_and_large, cells))
    assert single.startswith("single: no test size can be told")
    assert group.startswith("group: no test size can be told")
    assert both.startswith("both: comes from 184 problems in 92 pairs (4 of its 4 cells")
    assert [line.partition(":")[0] for line in all_rows] == ["single", "group"]


def test_a_test_named_like_a_row_is_asked_of_that_row_alone(tmp_path, capsys):
    path = table(tmp_path, "set,single,group\none,50.00,25.00\nother,33.33,16.67\n")
    text = run_denominators(capsys, path, "--by", "row", "--test", "one=4/2", "--test", "other=12/6")
    assert "one: impossible for 4 in 2 pairs: one 25.00." in text
    assert text.count("other (12 in") == 1
    assert "other: impossible" not in text


def test_too_few_cells_tell_nothing(tmp_path, capsys):
    text = run_denominators(capsys, table(tmp_path, "system,accuracy\na,51.3\nb,62.9\n"))
    assert "Accident fits as well too often to tell a test: single." in text


def test_groups_that_their_singles_rule_out_are_named(tmp_path, capsys):
    path = table(tmp_path, "system,X single,X group\na,50.00,60.00\nb,90.00,70.00\nc,90.00,85.00\n")
    text = run_denominators(capsys, path)
    assert "a X group 60.00 contradicts 50.00 single on complete pairs." in text
    assert "b X group 70.00 contradicts 90.00 single on complete pairs." in text
    _, text_after_table = text.split("\n\n", 1)
    assert "c X" not in text_after_table.replace("c X group 85.00 c", "")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", (), "empty; expected a header and rows"),
        ("a,b\nx,\n", (), "no accuracies"),
        ("a,b\nx,many\n", (), "table.csv:2: 'many' under 'b' is no accuracy in per cent"),
        ("a,b\nx,120\n", (), "'120' under 'b' is no accuracy"),
        ("a,b\nx,1,2\n", (), "3 cells under 2 columns"),
        ("a,b\nx,50.0\n", ("--test", "dev"), "--test dev: NAME=PROBLEMS"),
        ("a,b\nx,50.0\n", ("--test", "dev=0"), "--test dev=0: NAME=PROBLEMS"),
        ("a,b\nx,50.0\n", ("--runs", "0"), "--runs: expected at least 1, found 0"),
        ("a,b\nx,50.0\n", ("--most", "3"), "--most: expected at least 20, found 3"),
    ],
)
def test_what_is_no_table_is_told_in_one_line(tmp_path, capsys, text, options, message):
    path = table(tmp_path, text)
    assert main(["denominators", str(path), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_file_that_is_not_there_is_told_in_one_line(tmp_path, capsys):
    assert main(["denominators", str(tmp_path / "none.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_deviations_in_brackets_and_signs_are_left_out(tmp_path):
    cells = read_cells(table(tmp_path, "a,X single,X group\nr,52.99 (0.75),8.67 %\n"))
    contents = [(cell.column, cell.kind, cell.text) for cell in cells]
    assert contents == [("X", "single", "52.99"), ("X", "group", "8.67")]


def test_named_tests_say_their_pairs():
    assert str(read_test("dev=1267")) == "dev (1,267)"
    assert "dev (1,267) | 1 of 1" in answer([cell(50.04)], Question((read_test("dev=1267"),)))
