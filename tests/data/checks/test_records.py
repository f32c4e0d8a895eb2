"""A check lists every record that is malformed, unanswered or doubled, with its line, and reads on."""

import json

import pytest
from support.json_rows import json_lines, text_or_json_lines

import winokit
from winokit.data.checks.checkup import check, find_duplicates
from winokit.data.loading import load_with_records
from winokit.errors import BadInput
from winokit.stages.check import code, lines


def winogrande_row(problem):
    """Problem as a row of WinoGrande."""
    first, second = problem.candidates
    answer = str(problem.answer + 1)
    return {"sentence": problem.text, "option1": first, "option2": second, "answer": answer}


def hidden_row(problem):
    """Problem as a row of WinoGrande without its answer."""
    row = winogrande_row(problem)
    del row["answer"]
    return row


@pytest.fixture(scope="module")
def problems():
    return winokit.load("open")[:12]


@pytest.fixture
def write_rows(tmp_path):
    def write(*rows, name="data.jsonl"):
        """Write lines that are text as they are, and others as JSON."""
        path = tmp_path / name
        path.write_text(text_or_json_lines(rows))
        return path

    return write


def page_lines(findings):
    """Lines that the command prints, as plain text."""
    page = []
    for line in lines(findings):
        text = line if isinstance(line, str) else line.plain.strip()
        page.append(text)
    return page


def test_every_malformed_record_is_listed_with_its_line_and_the_rest_is_checked(problems, write_rows):
    rows = [winogrande_row(problem) for problem in problems]
    rows[2] = "{broken"
    rows[5] = {**rows[5], "answer": "7"}
    rows[8] = {**rows[8], "sentence": "no blank at all"}
    path = write_rows(*rows)
    findings = winokit.check(path, examples=0)
    (finding,) = [finding for finding in findings if finding.check == "records"]
    assert finding.message == "3 records are malformed"
    assert finding.warns is True
    assert finding.count == 3
    places = [example.partition(":")[0] for example in finding.examples]
    assert places == ["line 3", "line 6", "line 9"]
    assert finding.examples[1] == "line 6: field 'answer': expected 1 or 2, found '7'"
    assert finding.details["records"][2]["line"] == 9
    duplicate_lines = [line for line in page_lines(findings) if line.startswith("line ")]
    assert duplicate_lines == [*finding.examples]
    assert any(finding.check == "groups" for finding in findings)
    assert code(findings) == 1


def test_an_unanswered_record_among_answered_ones_is_listed_with_its_line(problems, write_rows):
    rows = [winogrande_row(problem) for problem in problems]
    del rows[3]["answer"]
    del rows[7]["answer"]
    path = write_rows("", *rows)
    findings = winokit.check(path, only="records")
    messages = [finding.message for finding in findings]
    assert messages == ["2 problems have no answer, and 10 have one"]
    first, second = findings[0].examples
    assert first == f"line 5: {problems[3].text}"
    assert second == f"line 9: {problems[7].text}"
    assert code(findings) == 1


def test_a_hidden_test_is_no_finding(problems, write_rows):
    rows = [hidden_row(problem) for problem in problems]
    path = write_rows(*rows)
    findings = winokit.check(path, only="records")
    assert findings == []


def test_doubled_records_are_all_listed_with_both_lines(problems, write_rows):
    rows = [winogrande_row(problem) for problem in problems]
    other_answer = "1" if rows[6]["answer"] == "2" else "2"
    contradiction = {**rows[6], "answer": other_answer}
    path = write_rows(*rows, rows[0], rows[4], contradiction)
    findings = winokit.check(path, only="duplicates", examples=0)
    duplicate_lines = [line for line in page_lines(findings) if line.startswith("lines ")]
    places = [line.partition(":")[0] for line in duplicate_lines]
    assert places == ["lines 1 and 13", "lines 5 and 14", "lines 7 and 15"]


def test_lines_count_in_the_file_and_not_among_those_that_could_be_read(problems, write_rows):
    rows = [winogrande_row(problem) for problem in problems]
    path = write_rows("{broken", "", *rows, rows[0])
    findings = winokit.check(path, only="duplicates")
    (same,) = [finding for finding in findings if finding.details["kind"] == "same"]
    assert same.examples[0].startswith("lines 3 and 15: ")


def test_broken_rules_and_possible_twins_are_named_by_their_lines_too(problems, write_rows):
    """A record that cannot be read moves the rows below it, and not their lines."""
    rows = [winogrande_row(problem) for problem in problems]
    twin = {**rows[0], "qID": "x-1"}
    path = write_rows("{broken", "", *rows, {**twin, "qID": "x-2"}, twin)
    findings = winokit.check(path, only="rules")
    (same,) = [finding for finding in findings if finding.message.startswith("rule texts_differ")]
    assert same.examples[0].startswith("line 16: ")


def test_a_file_of_nothing_but_malformed_records_is_listed_too(write_rows):
    path = write_rows('{"sentence": "a", "option1": "b", "option2": "c"}', "[1]")
    findings = winokit.check(path, only="records")
    assert findings[0].examples[1] == "line 2: expected a JSON object, found list"
    assert code(findings) == 1
    path = write_rows('{"card": {"name": "empty"}}', name="empty.jsonl")
    with pytest.raises(BadInput, match=r"no problems in it$"):
        winokit.check(path)


def knowref_element(problem):
    """Problem as an element of KnowRef's array."""
    first, second = problem.candidates
    text = f"{problem.before}[it]{problem.after}"
    right = problem.right
    return {"sentence_with_pronoun": text, "candidate0": first, "candidate1": second, "correct_candidate": right}


def test_elements_of_a_json_array_go_by_their_number(problems, write_rows):
    elements = [knowref_element(problem) for problem in problems]
    elements[1] = {**elements[1], "correct_candidate": "the moon"}
    elements.append(elements[0])
    path = write_rows(json.dumps(elements))
    findings = winokit.check(path, only=["records", "duplicates"])
    assert findings[0].examples[0].startswith("element 2: field 'correct_candidate': expected one of ")
    assert findings[1].examples[0].startswith("elements 1 and 13: ")
    path = write_rows(json.dumps(elements, indent=1), name="lines.json")
    findings = winokit.check(path, only="records")
    assert findings[0].examples[0].startswith("element 2 (line 8): ")


def test_several_files_in_one_dataset_name_the_file_with_the_line(problems, write_rows):
    first_rows = [winogrande_row(problem) for problem in problems[:6]]
    other_rows = [winogrande_row(problem) for problem in problems[6:]]
    first = write_rows(*first_rows, name="a.jsonl")
    wrong_row = {**winogrande_row(problems[0]), "answer": "7"}
    second = write_rows(wrong_row, *other_rows, name="b.jsonl")
    (loaded,) = load_with_records(f"{first}+{second}", lenient=True)
    findings = check([loaded.dataset], ["records"], files=[loaded.files])
    assert findings[0].examples == ("line 1: field 'answer': expected 1 or 2, found '7'",)
    second = write_rows(hidden_row(problems[0]), *other_rows, name="b.jsonl")
    (finding,) = winokit.check(f"{first}+{second}", only="records")
    assert finding.examples[0].startswith(f"{second}:1: ")


def test_a_dataset_in_memory_goes_by_its_rows(problems):
    data = problems.with_problems([*problems, problems[0]])
    findings = winokit.check(data, only="duplicates")
    assert findings[0].examples[0].startswith("rows 1 and 13: ")
    assert len(find_duplicates([data])) == 1


def test_a_byte_that_is_no_utf8_costs_its_row_and_no_other(problems, tmp_path):
    path = tmp_path / "data.csv"
    rows = ["sentence,option1,option2,answer"]
    for problem in problems:
        candidates = ",".join(problem.candidates)
        rows.append(f'"{problem.text}",{candidates},{problem.answer + 1}')
    content = "\n".join(rows).encode()
    beginning = problems[4].before[:3].encode()
    path.write_bytes(content.replace(beginning, b"\xff\xfe\xe9", 1))
    findings = winokit.check(path, only="records")
    assert findings[0].count == 1
    assert findings[0].examples[0].endswith("save the file as UTF-8")


def test_malformed_labels_beside_a_file_are_named_by_their_own_lines(problems, tmp_path):
    hidden = [hidden_row(problem) for problem in problems]
    hidden[2]["sentence"] = "no blank at all"
    (tmp_path / "dev.jsonl").write_text(json_lines(hidden))
    labels = [str(problem.answer + 1) for problem in problems]
    labels[5] = "9"
    (tmp_path / "dev-labels.lst").write_text("\n".join(labels) + "\n")
    findings = winokit.check(tmp_path / "dev.jsonl", only="records")
    places_and_reasons = [example.rpartition("/")[2] for example in findings[0].examples]
    assert places_and_reasons == [
        "dev.jsonl:3: field 'sentence': expected exactly one blank '_', found 0",
        "dev-labels.lst:6: field 'label': expected 1 or 2, found '9'",
    ]
    assert findings[1].message == "1 problem has no answer, and 10 have one"
    dataset = winokit.load(tmp_path / "dev.jsonl", lenient=True)
    answers = [problem.answer for problem in dataset]
    true_answers = [problem.answer for problem in problems]
    assert answers[-3:] == true_answers[-3:]


def test_what_is_clean_is_not_spoken_of(real_file):
    assert winokit.check(real_file("winogrande/dev.jsonl"), only="records") == []
