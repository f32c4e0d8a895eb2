"""A check lists every record that is malformed, unanswered or doubled, with its line, and reads on."""

import json

import pytest

import winokit
from winokit.data.checks.checkup import check, find_duplicates
from winokit.data.loading import load_with_records
from winokit.errors import BadInput
from winokit.stages.check import code, lines


def row(problem, **changes):
    """A problem as WinoGrande's rows have it."""
    first, second = problem.candidates
    return {"sentence": problem.text, "option1": first, "option2": second, "answer": str(problem.answer + 1), **changes}


@pytest.fixture(scope="module")
def problems():
    return winokit.load("open")[:12]


@pytest.fixture
def written(tmp_path):
    def write(*rows, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows))
        return path

    return write


def shown(findings):
    return [line if isinstance(line, str) else line.plain.strip() for line in lines(findings)]


def test_every_malformed_record_is_listed_with_its_line_and_the_rest_is_checked(problems, written):
    rows = [row(problem) for problem in problems]
    rows[2] = "{broken"
    rows[5] = {**rows[5], "answer": "7"}
    rows[8] = {**rows[8], "sentence": "no blank at all"}
    findings = winokit.check(written(*rows), examples=0)
    (finding,) = [each for each in findings if each.check == "records"]
    assert (finding.message, finding.warns, finding.count) == ("3 records are malformed", True, 3)
    assert [example.partition(":")[0] for example in finding.examples] == ["line 3", "line 6", "line 9"]
    assert finding.examples[1] == "line 6: field 'answer': expected 1 or 2, found '7'"
    assert finding.details["records"][2]["line"] == 9
    assert [line for line in shown(findings) if line.startswith("line ")] == [*finding.examples]
    assert any(each.check == "groups" for each in findings)
    assert code(findings) == 1


def test_an_unanswered_record_among_answered_ones_is_listed_with_its_line(problems, written):
    rows = [row(problem) for problem in problems]
    del rows[3]["answer"], rows[7]["answer"]
    findings = winokit.check(written("", *rows), only="records")
    assert [each.message for each in findings] == ["2 problems have no answer, and 10 have one"]
    assert findings[0].examples == (f"line 5: {problems[3].text}", f"line 9: {problems[7].text}")
    assert code(findings) == 1


def test_a_hidden_test_is_no_finding(problems, written):
    hidden = [{key: value for key, value in row(problem).items() if key != "answer"} for problem in problems]
    assert winokit.check(written(*hidden), only="records") == []


def test_doubled_records_are_all_listed_with_both_lines(problems, written):
    rows = [row(problem) for problem in problems]
    doubled = [*rows, rows[0], rows[4], {**rows[6], "answer": "1" if rows[6]["answer"] == "2" else "2"}]
    findings = winokit.check(written(*doubled), only="duplicates", examples=0)
    listed = [line for line in shown(findings) if line.startswith("lines ")]
    assert [line.partition(":")[0] for line in listed] == ["lines 1 and 13", "lines 5 and 14", "lines 7 and 15"]


def test_lines_count_in_the_file_and_not_among_those_that_could_be_read(problems, written):
    rows = [row(problem) for problem in problems]
    findings = winokit.check(written("{broken", "", *rows, rows[0]), only="duplicates")
    (same,) = [each for each in findings if each.details["kind"] == "same"]
    assert same.examples[0].startswith("lines 3 and 15: ")


def test_broken_rules_and_possible_twins_are_named_by_their_lines_too(problems, written):
    """A record that cannot be read moves the rows below it, and not their lines."""
    rows = [row(problem) for problem in problems]
    twin = {**rows[0], "qID": "x-1"}
    findings = winokit.check(written("{broken", "", *rows, {**twin, "qID": "x-2"}, twin), only="rules")
    (same,) = [each for each in findings if each.message.startswith("rule texts_differ")]
    assert same.examples[0].startswith("line 16: ")


def test_a_file_of_nothing_but_malformed_records_is_listed_too(written):
    findings = winokit.check(written('{"sentence": "a", "option1": "b", "option2": "c"}', "[1]"), only="records")
    assert findings[0].examples[1] == "line 2: expected a JSON object, found list"
    assert code(findings) == 1
    with pytest.raises(BadInput, match=r"no problems in it$"):
        winokit.check(written('{"card": {"name": "empty"}}', name="empty.jsonl"))


def test_elements_of_a_json_array_go_by_their_number(problems, written):
    def element(problem):
        first, second = problem.candidates
        text = f"{problem.before}[it]{problem.after}"
        right = problem.right
        return {"sentence_with_pronoun": text, "candidate0": first, "candidate1": second, "correct_candidate": right}

    elements = [element(problem) for problem in problems]
    elements[1] = {**elements[1], "correct_candidate": "the moon"}
    elements.append(elements[0])
    findings = winokit.check(written(json.dumps(elements)), only=["records", "duplicates"])
    assert findings[0].examples[0].startswith("element 2: field 'correct_candidate': expected one of ")
    assert findings[1].examples[0].startswith("elements 1 and 13: ")
    findings = winokit.check(written(json.dumps(elements, indent=1), name="lines.json"), only="records")
    assert findings[0].examples[0].startswith("element 2 (line 8): ")


def test_several_files_in_one_dataset_name_the_file_with_the_line(problems, written):
    first = written(*(row(problem) for problem in problems[:6]), name="a.jsonl")
    second = written({**row(problems[0]), "answer": "7"}, *(row(problem) for problem in problems[6:]), name="b.jsonl")
    (loaded,) = load_with_records(f"{first}+{second}", lenient=True)
    findings = check([loaded.dataset], ["records"], files=[loaded.files])
    assert findings[0].examples == ("line 1: field 'answer': expected 1 or 2, found '7'",)
    hidden = {key: value for key, value in row(problems[0]).items() if key != "answer"}
    second = written(hidden, *(row(problem) for problem in problems[6:]), name="b.jsonl")
    (finding,) = winokit.check(f"{first}+{second}", only="records")
    assert finding.examples[0].startswith(f"{second}:1: ")


def test_a_dataset_in_memory_goes_by_its_rows(problems):
    data = problems.with_problems([*problems, problems[0]])
    findings = winokit.check(data, only="duplicates")
    assert findings[0].examples[0].startswith("rows 1 and 13: ")
    assert len(find_duplicates([data])) == 1


def test_a_byte_that_is_no_utf8_costs_its_row_and_no_other(problems, tmp_path):
    path = tmp_path / "data.csv"
    rows = [
        "sentence,option1,option2,answer",
        *(f'"{p.text}",{",".join(p.candidates)},{p.answer + 1}' for p in problems),
    ]
    path.write_bytes("\n".join(rows).encode().replace(problems[4].before[:3].encode(), b"\xff\xfe\xe9", 1))
    findings = winokit.check(path, only="records")
    assert findings[0].count == 1
    assert findings[0].examples[0].endswith("save the file as UTF-8")


def test_malformed_labels_beside_a_file_are_named_by_their_own_lines(problems, tmp_path):
    hidden = [{key: value for key, value in row(problem).items() if key != "answer"} for problem in problems]
    hidden[2]["sentence"] = "no blank at all"
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(each) + "\n" for each in hidden))
    labels = [str(problem.answer + 1) for problem in problems]
    labels[5] = "9"
    (tmp_path / "dev-labels.lst").write_text("\n".join(labels) + "\n")
    findings = winokit.check(tmp_path / "dev.jsonl", only="records")
    assert [example.rpartition("/")[2] for example in findings[0].examples] == [
        "dev.jsonl:3: field 'sentence': expected exactly one blank '_', found 0",
        "dev-labels.lst:6: field 'label': expected 1 or 2, found '9'",
    ]
    assert findings[1].message == "1 problem has no answer, and 10 have one"
    kept = winokit.load(tmp_path / "dev.jsonl", lenient=True)
    assert [p.answer for p in kept][-3:] == [problem.answer for problem in problems][-3:]


def test_what_is_clean_is_not_spoken_of(real_file):
    assert winokit.check(real_file("winogrande/dev.jsonl"), only="records") == []
