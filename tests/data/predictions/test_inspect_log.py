"""A log of Inspect is read from its object or its archive, whichever solver and scorer wrote it."""

import json
import struct
import sys
import zipfile

import pytest
from support.reading import choices_of, read_only_part

from winokit.data.predictions.inspect_log import ZSTD
from winokit.data.predictions.read import read_predictions
from winokit.errors import BadInput, Malformed
from winokit.problem import Dataset, Problem


def choice_sample(problem, answer="A", order=(0, 1), **more) -> dict:
    """Sample as the multiple_choice solver and the choice scorer leave it, with the choices in this order."""
    target = "AB"[order.index(problem.answer)]
    completion = f"ANSWER: {answer}"
    value = "C" if answer == target else "I"
    sample = {"id": 1, "epoch": 1, "input": problem.text, "target": target}
    sample["choices"] = [problem.candidates[index] for index in order]
    sample["output"] = {"model": "mockllm/model", "completion": completion}
    sample["scores"] = {"choice": {"value": value, "answer": answer, "explanation": completion}}
    return sample | more


def generate_sample(problem, completion: str, value=None, **more) -> dict:
    """Sample as the generate solver leaves it, with no choices and a target in words.

    There are no scores if `value` is None.
    """
    text = f"Fill in the blank.\nSentence: {problem.text}\nOptions: {' or '.join(problem.candidates)}"
    sample = {"id": 1, "epoch": 1, "input": text, "target": problem.right, "output": {"completion": completion}}
    scores = {} if value is None else {"includes": {"value": value, "answer": completion}}
    return sample | {"scores": scores} | more


def log_header(status="success") -> dict:
    return {"version": 2, "status": status, "eval": {"task": "twins", "model": "mockllm/model"}}


@pytest.fixture
def write_log(tmp_path):
    def write(*samples, indent=2, **more):
        path = tmp_path / "log.json"
        log = log_header() | {"samples": list(samples)} | more
        path.write_text(json.dumps(log, indent=indent))
        return path

    return write


@pytest.fixture
def write_archive(tmp_path):
    def write(*samples, name="header.json"):
        """Write an archive of samples, of which those that are text are written as they are."""
        path = tmp_path / "log.eval"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("_journal/other.json", "{}")
            for number, sample in enumerate(samples, 1):
                content = sample if isinstance(sample, str) else json.dumps(sample)
                archive.writestr(f"samples/{number}_epoch_1.json", content)
            archive.writestr(name, json.dumps(log_header()))
        return path

    return write


@pytest.mark.parametrize("indent", [None, 2])
def test_letters_are_choices_and_choices_are_candidates_by_their_text(twins, write_log, indent):
    turned_sample = choice_sample(twins[1], "A", order=(1, 0))
    path = write_log(choice_sample(twins[0], "A"), turned_sample, choice_sample(twins[2], "B"), indent=indent)
    part = read_only_part(path, twins)
    assert part.model == "mockllm/model"
    assert part.scoring == "inspect:choice"
    assert choices_of(part) == [0, 1, 1]
    assert part.unmatched == []
    assert part.notes == []


def test_an_archive_says_the_same_as_one_object(twins, write_log, write_archive):
    samples = []
    for index, problem in enumerate(twins):
        order = (1, 0) if index % 2 else (0, 1)
        samples.append(choice_sample(problem, "A", order=order))
    from_object = read_only_part(write_log(*samples), twins)
    from_archive = read_only_part(write_archive(*samples), twins)
    assert from_object.predictions == from_archive.predictions
    assert choices_of(from_object) == [0, 1, 0, 1, 0, 1]


def test_an_archive_of_a_run_cut_short_is_read_through_its_journal(twins, write_archive):
    path = write_archive(choice_sample(twins[0]), name="_journal/start.json")
    part = read_only_part(path, twins)
    assert part.model == "mockllm/model"
    assert len(part.predictions) == 1


def mark_as_zstd(path, compress=lambda data: data) -> None:
    """Turn an archive into one whose files say that they are packed with zstd."""
    with zipfile.ZipFile(path) as archive:
        files = {info.filename: compress(archive.read(info)) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        header_offsets = [info.header_offset for info in archive.infolist()]
        directory_offset = archive.fp.tell()
    data = bytearray(path.read_bytes())
    for offset in header_offsets:
        struct.pack_into("<H", data, offset + 8, ZSTD)
    offset = directory_offset
    for _ in header_offsets:
        struct.pack_into("<H", data, offset + 10, ZSTD)
        name_size, extra_size, comment_size = struct.unpack_from("<HHH", data, offset + 28)
        offset += 46 + name_size + extra_size + comment_size
    path.write_bytes(data)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="zipfile itself unpacks zstd since Python 3.14")
def test_zstd_without_its_package_says_what_to_install(twins, write_archive, monkeypatch):
    path = write_archive(choice_sample(twins[0]))
    mark_as_zstd(path)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(BadInput, match="packed with zstd: pip install zstandard, or rewrite it with: inspect log"):
        read_predictions(path, twins)


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="zipfile itself unpacks zstd since Python 3.14")
def test_zstd_is_unpacked_where_its_package_is_installed(twins, write_archive):
    zstandard = pytest.importorskip("zstandard", reason="needs zstandard, which newer .eval logs are packed with")
    second_sample = choice_sample(twins[1], "B")
    path = write_archive(choice_sample(twins[0]), second_sample)
    mark_as_zstd(path, zstandard.ZstdCompressor().compress)
    part = read_only_part(path, twins)
    assert choices_of(part) == [0, 1]


def test_epochs_are_samples_of_one_scoring(twins, write_log):
    second_epoch = choice_sample(twins[0], "B", epoch=2)
    path = write_log(choice_sample(twins[0], "A"), second_epoch)
    part = read_only_part(path, twins)
    assert part.scoring == "inspect:choice"
    choices_by_sample = [(row.sample, row.prediction) for row in part.predictions]
    assert choices_by_sample == [(0, 0), (1, 1)]


def test_a_log_of_one_epoch_has_no_samples(twins, write_log):
    path = write_log(choice_sample(twins[0], "A", epoch=2))
    part = read_only_part(path, twins)
    samples = [row.sample for row in part.predictions]
    assert samples == [None]


def test_scorers_are_scorings_of_their_own_and_one_that_tells_no_answer_is_noted(twins, write_log):
    scores = {"graded": {"value": "C"}, "length": {"value": 35}}
    all_scores = choice_sample(twins[0], "B")["scores"] | scores
    path = write_log(choice_sample(twins[0], "B", scores=all_scores))
    reads = read_predictions(path, twins)
    choices_by_scorer = [(part.scoring, choices_of(part)) for part in reads]
    assert choices_by_scorer == [("inspect:choice", [1]), ("inspect:graded", [0])]
    assert "nothing by mockllm/model (inspect:length) could be used: sample 1: length gives no" in reads[0].notes[0]


def test_a_right_answer_without_a_target_among_the_candidates_is_not_taken_for_an_abstention(twins, write_log):
    strange_target = generate_sample(twins[1], "As you say.", "C", target="a yes")
    path = write_log(generate_sample(twins[0], "the cup", "I"), strange_target)
    part = read_only_part(path, twins)
    assert len(part.predictions) == 1
    assert part.unmatched == ["sample 2: includes gives no answer: its value is 'C'"]


def test_the_sentence_is_found_in_messages_too(twins, write_log):
    parts = [{"type": "text", "text": f"Read: {twins[1].text}"}]
    messages = [{"role": "system", "content": twins[0].text}, {"role": "user", "content": parts}]
    path = write_log(choice_sample(twins[1], "B", input=messages))
    part = read_only_part(path, twins)
    choices_by_id = [(row.id, row.prediction) for row in part.predictions]
    assert choices_by_id == [(twins[1].id, 1)]


@pytest.mark.parametrize(
    ("completion", "value", "expected"),
    [
        ("The cup", "I", 1),
        ("jug.", "C", 0),
        ("It must be the jug.", "C", 0),  # the scorer says it is right, and the log which one that is
        ("It must be the cup.", "I", 1),  # wrong, and no other candidate is named
        ("Not the jug but the cup.", "I", 1),
        ("It must be the cup.", None, 1),
        ("Let me think.\nANSWER: the cup", None, 1),
        ("the cup", 0, 1),
    ],
)
def test_answers_in_words_are_read(twins, write_log, completion, value, expected):
    path = write_log(generate_sample(twins[0], completion, value))
    part = read_only_part(path, twins)
    assert choices_of(part) == [expected]
    assert part.predictions[0].why is None
    assert part.notes == []


@pytest.mark.parametrize(
    "completion",
    [
        "I cannot say.",
        "It must be the jug.",  # the verdict contradicts the only name
        "A",  # a letter, and no list to look it up
    ],
)
def test_answers_in_words_that_name_nobody_are_left_open(twins, write_log, completion):
    path = write_log(generate_sample(twins[0], completion, "I"))
    part = read_only_part(path, twins)
    assert choices_of(part) == [None]
    assert part.predictions[0].why == "no answer could be read"
    (note,) = part.notes
    assert "they are abstentions" in note


def test_a_letter_is_looked_up_in_the_list_of_the_prompt(twins, write_log):
    text = f"{twins[0].text}\nA) the cup\nB) the jug"
    lettered = generate_sample(twins[0], "A", "I", input=text, target="B")
    path = write_log(lettered)
    part = read_only_part(path, twins)
    assert choices_of(part) == [1]
    assert part.notes == []


def test_a_letter_as_value_is_an_answer_and_c_is_a_verdict(twins, write_log):
    answer = {"letter": {"value": "B"}}
    verdict = {"letter": {"value": "C"}}
    path = write_log(choice_sample(twins[0], scores=answer), choice_sample(twins[1], scores=verdict))
    part = read_only_part(path, twins)
    assert choices_of(part) == [1, 1]


def test_c_is_a_verdict_even_where_there_is_a_third_choice(write_log):
    problem = Problem.from_text("Nora told Ines that Mia knew when _ sang.", ("Nora", "Ines", "Mia"), answer=0)
    letter_sample = {"id": 1, "input": problem.text, "choices": list(problem.candidates), "target": "A"}
    letter_sample["scores"] = {"letter": {"value": "C"}}
    path = write_log(letter_sample)
    part = read_only_part(path, Dataset([problem]))
    assert choices_of(part) == [0]


def test_a_value_that_says_no_answer_is_an_abstention(twins, write_log):
    no_answer = {"choice": {"value": "N", "answer": ""}}
    path = write_log(choice_sample(twins[0], scores=no_answer))
    part = read_only_part(path, twins)
    assert choices_of(part) == [None]


def test_choices_tell_problems_with_one_text_apart_and_must_be_candidates(write_log):
    text = "Nora told Ines that Paul met Tom when _ sang."
    women = Problem.from_text(text, ("Nora", "Ines"), answer=0)
    men = Problem.from_text(text, ("Paul", "Tom"), answer=0)
    dataset = Dataset([women, men])
    mixed_sample = choice_sample(dataset[0], "A", choices=["Nora", "Tom"])
    turned_sample = choice_sample(dataset[1], "A", order=(1, 0))
    path = write_log(turned_sample, mixed_sample)
    part = read_only_part(path, dataset)
    choices_by_id = [(row.id, row.prediction) for row in part.predictions]
    assert choices_by_id == [(dataset[1].id, 1)]
    assert part.unmatched == ["sample 2: a problem has its text, and the candidates Nora / Ines, not Nora / Tom"]


def test_more_letters_than_one_are_no_answer(twins, write_log):
    path = write_log(choice_sample(twins[0], "A,B"))
    part = read_only_part(path, twins)
    assert choices_of(part) == [None]


def test_a_sample_that_failed_says_nothing(twins, write_log):
    failed_sample = choice_sample(twins[1], scores={}, error={"message": "no connection"})
    path = write_log(choice_sample(twins[0]), failed_sample, status="error")
    part = read_only_part(path, twins)
    assert len(part.predictions) == 1
    assert part.unmatched == ["sample 2: the sample ended in an error"]
    assert part.notes[0].endswith("log.json: the run ended with status 'error'")


def test_a_verdict_against_the_answer_is_noted(twins, write_log):
    verdict = {"choice": {"value": "I", "answer": "A"}}
    contradiction = choice_sample(twins[0], "A", scores=verdict)
    path = write_log(contradiction)
    part = read_only_part(path, twins)
    assert choices_of(part) == [0]
    assert "right, the file says" in part.notes[0]


def test_inputs_with_no_problem_or_two_are_unmatched(twins, write_log):
    two_texts = f"{twins[0].text}\n{twins[1].text}"
    sample_of_two = choice_sample(twins[0], input=two_texts)
    sample_of_none = choice_sample(twins[0], input="Who wrote it?")
    path = write_log(choice_sample(twins[2]), sample_of_two, sample_of_none)
    part = read_only_part(path, twins)
    assert part.unmatched[0].startswith("sample 2: 2 problems match it, among them ")
    assert part.unmatched[1] == "sample 3: no problem's text occurs in 'Who wrote it?'"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"input": 3}, "field 'sample 2: input': expected a text or a list of messages, found 3"),
        ({"choices": [1, 2]}, "field 'sample 2: choices': expected a list of strings, found [1, 2]"),
    ],
)
def test_a_malformed_sample_is_named_or_skipped_when_lenient(twins, write_log, change, says):
    changed_sample = choice_sample(twins[1]) | change
    path = write_log(choice_sample(twins[0]), changed_sample)
    with pytest.raises(Malformed) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message == f"{path}: {says}"
    part = read_only_part(path, twins, lenient=True)
    assert len(part.predictions) == 1


def test_a_sample_that_is_no_json_is_named_with_its_file_in_the_archive(twins, write_archive):
    path = write_archive(choice_sample(twins[0]), "{")
    with pytest.raises(Malformed, match=r"log\.eval: field 'samples/2_epoch_1\.json': expected JSON"):
        read_predictions(path, twins)


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
    message = str(caught.value)
    assert says in message
    assert "\n" not in message


def test_another_zip_is_refused(twins, write_archive):
    path = write_archive(name="readme.json")
    with pytest.raises(BadInput, match=r"not an Inspect log: the archive has no header\.json"):
        read_predictions(path, twins)
