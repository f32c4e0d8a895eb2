"""Every kind of file is recognised or refused in one line, and broken ones never give a traceback."""

import contextlib
import gzip
import json
import random
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.fixtures import real
from support.json_rows import json_lines
from support.reading import choices_of, read_only_part, with_source_ids

from winokit import load
from winokit.data.predictions.read import read_predictions, recognise
from winokit.errors import BadInput, WinokitError

READ_BYTES = 6_000  # a whole file would only make each try slower
ODD_BYTES = (b'"', b"_", b"]", b"[", b",", b"\x00", b"\n", b"null", b"1e999", b"NaN", b"{", b"\\ud800", b"A", b"3")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "the file is empty"),
        (b" \n\n ", "the file is empty"),
        (b"hello", "no predictions of a known kind"),
        (b'{"sentence": "a _", "option1": "b", "option2": "c"}', "no predictions of a known kind"),
        (b'{"results": {}, "configs": {}}', "run it with --log_samples"),
        (b"[1, 2]", "2 labels for the 6 problems of unnamed"),
    ],
)
def test_what_is_no_prediction_is_refused_in_one_line(twins, tmp_path, content, says):
    path = tmp_path / "file"
    path.write_bytes(content)
    with pytest.raises(BadInput) as caught:
        read_predictions(path, twins)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert says in message


def test_a_folder_and_a_file_that_is_not_there_are_refused(twins, tmp_path):
    with pytest.raises(BadInput, match="a folder; name a file in it"):
        read_predictions(tmp_path, twins)
    with pytest.raises(BadInput, match="no such file"):
        read_predictions(tmp_path / "nowhere.jsonl", twins)


def test_a_file_of_which_nothing_matches_is_an_error_with_the_first_reason(twins, tmp_path):
    path = tmp_path / "other.jsonl"
    path.write_text('{"id": "x", "prediction": 0}\n{"id": "y", "prediction": 0}\n')
    with pytest.raises(BadInput, match=r"matches a problem of unnamed; the first: line 1: no problem with .*order="):
        read_predictions(path, twins)


@pytest.mark.parametrize("choices", [[1, 2, 1], [1.0, 2.0, 1.0], [None, 2, 1], [None, "B", "A"]])
def test_json_lines_with_the_ids_of_the_source_are_a_table_whatever_they_choose(twins, tmp_path, choices):
    """A regression: they were taken for winokit's own rows, and none of their ids was found."""
    with_ids = with_source_ids(twins, "id", "s")
    path = tmp_path / "mine.jsonl"
    rows = [{"id": f"s{index}", "prediction": choice} for index, choice in enumerate(choices)]
    path.write_text(json_lines(rows))
    part = read_only_part(path, with_ids)
    first_choice = None if choices[0] is None else 0
    assert choices_of(part) == [first_choice, 1, 0]


def test_a_first_line_longer_than_the_head_is_recognised(twins, tmp_path):
    path = tmp_path / "long.jsonl"
    row = {"why": "x" * 100_000, "id": twins[0].id, "prediction": None}
    path.write_text(json.dumps(row) + "\n")
    (part,) = read_predictions(path, twins)
    assert len(part.predictions) == 1


def test_compressed_files_are_read_like_others(twins, tmp_path):
    path = tmp_path / "mine.lst.gz"
    path.write_bytes(gzip.compress(b"1\n" * 6))
    (part,) = read_predictions(path, twins)
    assert len(part.predictions) == 6


def mutate_bytes(data: bytes, seed: int) -> bytes:
    """Return bytes changed, removed, doubled or put in at a few places, sometimes with the end cut off."""
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not changed:
            break
        start = rng.randrange(len(changed))
        end = start + rng.choice((1, 1, 2, 30))
        match rng.randrange(4):
            case 0:
                changed[start] = rng.randrange(256)
            case 1:
                del changed[start:end]
            case 2:
                changed[start:start] = changed[start:end]
            case 3:
                changed[start:start] = rng.choice(ODD_BYTES)
    is_cut = rng.random() < 0.2
    if is_cut:
        length = rng.randrange(len(changed) + 1)
        return bytes(changed[:length])
    return bytes(changed)


def winokit_rows(problems) -> list[dict]:
    rows = []
    for problem in problems:
        row = {"id": problem.id, "model": "m", "scoring": "s", "scores": [-1.0, -2.0]}
        rows.append(row | {"prediction": 0, "answer": problem.answer})
    return rows


def inspect_log(problems) -> dict:
    """Log of Inspect in which A is chosen and right in every sample."""
    scores = {"choice": {"value": "C", "answer": "A"}}
    output = {"completion": "ANSWER: A"}
    samples = []
    for problem in problems:
        sample = {"id": 1, "epoch": 1, "input": problem.text, "choices": list(problem.candidates), "target": "A"}
        samples.append(sample | {"scores": scores, "output": output})
    return {"status": "success", "eval": {"model": "m"}, "samples": samples}


def harness_rows(problems) -> list[dict]:
    rows = []
    for problem in problems:
        requests = {}
        for index, candidate in enumerate(problem.candidates):
            requests[f"gen_args_{index}"] = {"arg_0": problem.before + candidate, "arg_1": problem.after}
        document = {"text": problem.text, "candidates": list(problem.candidates), "answer": problem.answer}
        row = {"doc_id": 0, "doc": document, "arguments": requests, "filter": "none", "acc": 1.0}
        rows.append(row | {"filtered_resps": [["-1.5", "False"], ["-2.5", "False"]]})
    return rows


DOCUMENTS = {"winokit": winokit_rows, "inspect": inspect_log, "lmeval": harness_rows}


def as_text(document) -> str:
    """Rows as JSON lines, an object as indented JSON."""
    if isinstance(document, dict):
        return json.dumps(document, indent=1)
    return json_lines(document)


def small_file(kind, problems) -> bytes:
    """Content of a small file of predictions of these problems."""
    if kind == "labels":
        return b"1\n2\n1\n2\n1\n2\n"
    document = DOCUMENTS[kind](problems)
    return as_text(document).encode()


def read_both_ways(path, dataset) -> None:
    """Read a file strictly and leniently, where only our own errors and rows of the dataset are allowed."""
    ids = {problem.id for problem in dataset}
    for lenient in (False, True):
        with contextlib.suppress(WinokitError):
            for part in read_predictions(path, dataset, lenient=lenient):
                assert ids.issuperset(row.id for row in part.predictions)
                assert all("\n" not in reason for reason in part.unmatched)


@pytest.mark.parametrize("kind", ["winokit", "labels", "inspect"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_small_files_never_give_a_traceback(kind, twins, tmp_path, seed):
    path = tmp_path / "mutated"
    content = small_file(kind, twins)
    path.write_bytes(mutate_bytes(content, seed))
    read_both_ways(path, twins)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_archives_never_give_a_traceback(method, twins, tmp_path, seed):
    log = inspect_log(twins)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps({"eval": log["eval"]}))
        for number, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{number}.json", json.dumps(sample))
    path.write_bytes(mutate_bytes(path.read_bytes(), seed))
    read_both_ways(path, twins)


@pytest.fixture(scope="module")
def first_of_dev():
    """First sixty problems of WinoGrande's dev set."""
    return load(real("winogrande/dev.jsonl"))[:60]


@pytest.mark.parametrize("name", ["predictions/roberta_winogrande_dev.csv", "lmeval/samples_winogrande_smollm2.jsonl"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_real_files_never_give_a_traceback(name, real_file, first_of_dev, tmp_path, seed):
    path = tmp_path / "mutated"
    content = real_file(name).read_bytes()
    path.write_bytes(mutate_bytes(content[:READ_BYTES], seed))
    read_both_ways(path, first_of_dev)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("kind", ["winokit", "inspect", "lmeval"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_in_any_field_never_give_a_traceback(kind, twins, tmp_path, data):
    document = DOCUMENTS[kind](twins)
    target = document
    while inner_values := [value for value in values_of(target) if isinstance(value, (dict, list)) and value]:
        if not data.draw(st.booleans()):
            break
        target = data.draw(st.sampled_from(inner_values))
    keys = sorted(target) if isinstance(target, dict) else range(len(target))
    key = data.draw(st.sampled_from(keys))
    target[key] = data.draw(VALUES)
    path = tmp_path / "odd"
    path.write_text(as_text(document))
    read_both_ways(path, twins)


def values_of(target) -> list:
    """Values of an object or of a list."""
    return list(target.values() if isinstance(target, dict) else target)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_recognised_or_refused(tmp_path, content):
    path = tmp_path / "bytes"
    path.write_bytes(content)
    with contextlib.suppress(WinokitError):
        recognise(path)
