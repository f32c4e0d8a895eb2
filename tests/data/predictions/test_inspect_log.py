import json
import struct
import sys
import zipfile

import pytest

from winokit.data.predictions.inspect_log import ZSTD
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed
from winokit.problem import Dataset, Problem


def sample(problem, answer="A", order=(0, 1), number=1, **more) -> dict:
    """A sample as the multiple_choice solver and the choice scorer leave it, its choices in some order."""
    target = "AB"[order.index(problem.answer)]
    completion = f"ANSWER: {answer}"
    base = {"id": number, "epoch": 1, "input": problem.text, "target": target} | {
        "choices": [problem.candidates[place] for place in order],
        "output": {"model": "mockllm/model", "completion": completion},
        "scores": {"choice": {"value": "C" if answer == target else "I", "answer": answer, "explanation": completion}},
    }
    return base | more


def asked(problem, completion: str, value=None, **more) -> dict:
    """A sample as generate leaves it: no choices, a target in words."""
    text = f"Fill in the blank.\nSentence: {problem.text}\nOptions: {' or '.join(problem.candidates)}"
    base = {"id": 1, "epoch": 1, "input": text, "target": problem.right, "output": {"completion": completion}}
    scores = {} if value is None else {"includes": {"value": value, "answer": completion}}
    return base | {"scores": scores} | more


def header(status="success") -> dict:
    return {"version": 2, "status": status, "eval": {"task": "twins", "model": "mockllm/model"}}


@pytest.fixture
def written(tmp_path):
    def write(*samples, indent=2, **more):
        path = tmp_path / "log.json"
        path.write_text(json.dumps(header() | {"samples": list(samples)} | more, indent=indent))
        return path

    return write


@pytest.fixture
def archived(tmp_path):
    def write(*samples, name="header.json", method=zipfile.ZIP_DEFLATED):
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", method) as archive:
            archive.writestr("_journal/other.json", "{}")
            for number, one in enumerate(samples, 1):
                archive.writestr(f"samples/{number}_epoch_1.json", one if isinstance(one, str) else json.dumps(one))
            archive.writestr(name, json.dumps(header()))
        return path

    return write


def predictions(read) -> list[int | None]:
    return [made.prediction for made in read.predictions]


@pytest.mark.parametrize("indent", [None, 2])
def test_letters_are_choices_and_choices_are_candidates_by_their_text(twins, written, indent):
    path = written(sample(twins[0], "A"), sample(twins[1], "A", order=(1, 0)), sample(twins[2], "B"), indent=indent)
    (read,) = read_predictions(path, twins)
    assert (read.model, read.scoring) == ("mockllm/model", "inspect:choice")
    assert (predictions(read), read.unmatched, read.notes) == ([0, 1, 1], [], [])


def test_an_archive_says_the_same_as_one_object(twins, written, archived):
    samples = [sample(problem, "A", order=(place % 2, 1 - place % 2)) for place, problem in enumerate(twins)]
    (one,) = read_predictions(written(*samples), twins)
    (other,) = read_predictions(archived(*samples), twins)
    assert one.predictions == other.predictions
    assert predictions(one) == [0, 1, 0, 1, 0, 1]


def test_an_archive_of_a_run_cut_short_is_read_through_its_journal(twins, archived):
    (read,) = read_predictions(archived(sample(twins[0]), name="_journal/start.json"), twins)
    assert (read.model, len(read.predictions)) == ("mockllm/model", 1)


def packed_as_zstd(path, compress=lambda data: data) -> None:
    """Turn a stored archive into one whose files say that they are packed with zstd."""
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: compress(archive.read(info)) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        places = [(info.header_offset, info.filename) for info in archive.infolist()]
        start = archive.fp.tell()
    data = bytearray(path.read_bytes())
    for place, _ in places:
        struct.pack_into("<H", data, place + 8, ZSTD)
    at = start
    for _ in places:
        struct.pack_into("<H", data, at + 10, ZSTD)
        name, extra, comment = struct.unpack_from("<HHH", data, at + 28)
        at += 46 + name + extra + comment
    path.write_bytes(data)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="zipfile itself unpacks zstd since Python 3.14")
def test_zstd_without_its_package_says_what_to_install(twins, archived, monkeypatch):
    path = archived(sample(twins[0]))
    packed_as_zstd(path)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(BadInput, match="packed with zstd: pip install zstandard, or rewrite it with: inspect log"):
        read_predictions(path, twins)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="zipfile itself unpacks zstd since Python 3.14")
def test_zstd_is_unpacked_where_its_package_is_installed(twins, archived):
    zstandard = pytest.importorskip("zstandard", reason="needs zstandard, which newer .eval logs are packed with")
    path = archived(sample(twins[0]), sample(twins[1], "B"))
    packed_as_zstd(path, zstandard.ZstdCompressor().compress)
    (read,) = read_predictions(path, twins)
    assert predictions(read) == [0, 1]


def test_epochs_are_samples_of_one_scoring(twins, written):
    (read,) = read_predictions(written(sample(twins[0], "A"), sample(twins[0], "B", epoch=2)), twins)
    assert read.scoring == "inspect:choice"
    assert [(made.sample, made.prediction) for made in read.predictions] == [(0, 0), (1, 1)]


def test_a_log_of_one_epoch_has_no_samples(twins, written):
    (read,) = read_predictions(written(sample(twins[0], "A", epoch=2)), twins)
    assert [made.sample for made in read.predictions] == [None]


def test_scorers_are_scorings_of_their_own_and_one_that_tells_no_answer_is_noted(twins, written):
    more = {"graded": {"value": "C"}, "length": {"value": 35}}
    reads = read_predictions(written(sample(twins[0], "B", scores=sample(twins[0], "B")["scores"] | more)), twins)
    assert [(read.scoring, predictions(read)) for read in reads] == [("inspect:choice", [1]), ("inspect:graded", [0])]
    assert "nothing by mockllm/model (inspect:length) could be used: sample 1: length gives no" in reads[0].notes[0]


def test_a_right_answer_without_a_target_among_the_candidates_is_not_taken_for_an_abstention(twins, written):
    odd = asked(twins[1], "As you say.", "C", target="a yes")
    (read,) = read_predictions(written(asked(twins[0], "the cup", "I"), odd), twins)
    assert (len(read.predictions), read.unmatched) == (1, ["sample 2: includes gives no answer: its value is 'C'"])


def test_the_sentence_is_found_in_messages_too(twins, written):
    messages = [
        {"role": "system", "content": twins[0].text},
        {"role": "user", "content": [{"type": "text", "text": f"Read: {twins[1].text}"}]},
    ]
    (read,) = read_predictions(written(sample(twins[1], "B", input=messages)), twins)
    assert [(made.id, made.prediction) for made in read.predictions] == [(twins[1].id, 1)]


@pytest.mark.parametrize(
    ("completion", "value", "expected"),
    [
        ("The cup", "I", 1),
        ("jug.", "C", 0),
        ("It must be the jug.", "C", 0),  # the scorer says it is right, and the log which one that is
        ("It must be the cup.", "I", 1),  # wrong, and no other candidate is named
        ("Not the jug but the cup.", "I", 1),
        ("I cannot say.", "I", None),
        ("It must be the jug.", "I", None),  # the verdict contradicts the only name
        ("It must be the cup.", None, 1),
        ("Let me think.\nANSWER: the cup", None, 1),
        ("the cup", 0, 1),
        ("A", "I", None),  # a letter, and no list to look it up
    ],
)
def test_answers_in_words_are_read_or_left_open(twins, written, completion, value, expected):
    (read,) = read_predictions(written(asked(twins[0], completion, value)), twins)
    assert predictions(read) == [expected]
    assert read.predictions[0].why == (None if expected is not None else "no answer could be read")
    assert [("they are abstentions" in note) for note in read.notes] == ([] if expected is not None else [True])


def test_a_letter_is_looked_up_in_the_list_of_the_prompt(twins, written):
    text = f"{twins[0].text}\nA) the cup\nB) the jug"
    (read,) = read_predictions(written(asked(twins[0], "A", "I", input=text, target="B")), twins)
    assert (predictions(read), read.notes) == ([1], [])


def test_a_letter_as_value_is_an_answer_and_c_is_a_verdict(twins, written):
    scores = {"letter": {"value": "B"}}, {"letter": {"value": "C"}}
    path = written(sample(twins[0], scores=scores[0]), sample(twins[1], scores=scores[1]))
    (read,) = read_predictions(path, twins)
    assert predictions(read) == [1, 1]


def test_c_is_a_verdict_even_where_there_is_a_third_choice(written):
    problem = Problem.from_text("Nora told Ines that Mia knew when _ sang.", ("Nora", "Ines", "Mia"), answer=0)
    three = {"id": 1, "input": problem.text, "choices": list(problem.candidates), "target": "A"}
    path = written(three | {"scores": {"letter": {"value": "C"}}})
    assert predictions(read_predictions(path, Dataset([problem]))[0]) == [0]


def test_a_value_that_says_no_answer_is_an_abstention(twins, written):
    (read,) = read_predictions(written(sample(twins[0], scores={"choice": {"value": "N", "answer": ""}})), twins)
    assert predictions(read) == [None]


def test_choices_tell_problems_with_one_text_apart_and_must_be_candidates(written):
    text = "Nora told Ines that Paul met Tom when _ sang."
    both = Dataset([Problem.from_text(text, pair, answer=0) for pair in (("Nora", "Ines"), ("Paul", "Tom"))])
    strange = sample(both[0], "A", choices=["Nora", "Tom"])
    (read,) = read_predictions(written(sample(both[1], "A", order=(1, 0)), strange), both)
    assert [(made.id, made.prediction) for made in read.predictions] == [(both[1].id, 1)]
    assert read.unmatched == ["sample 2: a problem has its text, and the candidates Nora / Ines, not Nora / Tom"]


def test_more_letters_than_one_are_no_answer(twins, written):
    (read,) = read_predictions(written(sample(twins[0], "A,B")), twins)
    assert predictions(read) == [None]


def test_a_sample_that_failed_says_nothing(twins, written):
    failed = sample(twins[1], scores={}, error={"message": "no connection"})
    (read,) = read_predictions(written(sample(twins[0]), failed, status="error"), twins)
    assert len(read.predictions) == 1
    assert read.unmatched == ["sample 2: the sample ended in an error"]
    assert read.notes[0].endswith("log.json: the run ended with status 'error'")


def test_a_verdict_against_the_answer_is_noted(twins, written):
    odd = sample(twins[0], "A", scores={"choice": {"value": "I", "answer": "A"}})
    (read,) = read_predictions(written(odd), twins)
    assert predictions(read) == [0]
    assert "right, the file says" in read.notes[0]


def test_inputs_with_no_problem_or_two_are_unmatched(twins, written):
    both = sample(twins[0], input=f"{twins[0].text}\n{twins[1].text}")
    other = sample(twins[0], input="Who wrote it?")
    (read,) = read_predictions(written(sample(twins[2]), both, other), twins)
    assert read.unmatched[0].startswith("sample 2: 2 problems match it, among them ")
    assert read.unmatched[1] == "sample 3: no problem's text occurs in 'Who wrote it?'"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"input": 3}, "field 'sample 2: input': expected a text or a list of messages, found 3"),
        ({"choices": [1, 2]}, "field 'sample 2: choices': expected a list of strings, found [1, 2]"),
    ],
)
def test_a_malformed_sample_is_named_or_skipped_when_lenient(twins, written, change, says):
    path = written(sample(twins[0]), sample(twins[1]) | change)
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    assert str(caught.value) == f"{path}: {says}"
    assert len(read_predictions(path, twins, lenient=True)[0].predictions) == 1


def test_a_sample_that_is_no_json_is_named_with_its_file_in_the_archive(twins, archived):
    with pytest.raises(Malformed, match=r"log\.eval: field 'samples/2_epoch_1\.json': expected JSON"):
        read_predictions(archived(sample(twins[0]), "{"), twins)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PK\x03\x04 and no more", "not a complete .eval archive"),
        (b'{\n"version": 2, "eval": {},\n"samples": [}', ":3: expected a JSON object"),
        (b'{"version": 2, "eval": {"model": "m"}}', "field 'samples': expected the list of samples"),
        (b'{"eval": 3, "samples": []}', "field 'eval': expected an object, found 3"),
        (b'{"eval": {}, "samples": []}', "nothing in it matches a problem of unnamed; the first: it has no rows"),
    ],
)
def test_a_broken_log_is_one_line(twins, tmp_path, content, says):
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_predictions(path, twins)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_another_zip_is_refused(twins, archived):
    with pytest.raises(BadInput, match=r"not an Inspect log: the archive has no header\.json"):
        read_predictions(archived(name="readme.json"), twins)
