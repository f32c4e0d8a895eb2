"""Every kind of file is recognised or refused in one line, and broken ones never give a traceback."""

import contextlib
import gzip
import json
import random
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from winokit import load
from winokit.data.predictions.read import read_predictions, recognise
from winokit.errors import BadInput, WinokitError

HEAD = 6_000  # a whole file would only make each try slower
ODD = (b'"', b"_", b"]", b"[", b",", b"\x00", b"\n", b"null", b"1e999", b"NaN", b"{", b"\\ud800", b"A", b"3")


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
    assert str(caught.value).startswith(f"{path}: ")
    assert says in str(caught.value)


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
    """They were taken for winokit's own rows, and none of their ids was found."""
    named = twins.with_problems(p.replace(provenance={"id": f"s{i}"}) for i, p in enumerate(twins))
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(f"{json.dumps({'id': f's{i}', 'prediction': c})}\n" for i, c in enumerate(choices)))
    (read,) = read_predictions(path, named)
    assert [made.prediction for made in read.predictions] == [None if choices[0] is None else 0, 1, 0]


def test_a_first_line_longer_than_the_head_is_recognised(twins, tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text(json.dumps({"why": "x" * 100_000, "id": twins[0].id, "prediction": None}) + "\n")
    assert len(read_predictions(path, twins)[0].predictions) == 1


def test_compressed_files_are_read_like_others(twins, tmp_path):
    path = tmp_path / "mine.lst.gz"
    path.write_bytes(gzip.compress(b"1\n" * 6))
    assert len(read_predictions(path, twins)[0].predictions) == 6


def mutated(data: bytes, seed: int) -> bytes:
    """Bytes changed, removed, doubled or put in at a few places, sometimes with the end cut off."""
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not changed:
            break
        at = rng.randrange(len(changed))
        size = rng.choice((1, 1, 2, 30))
        match rng.randrange(4):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size]
            case 3:
                changed[at:at] = rng.choice(ODD)
    return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.2 else changed)


def small_files(twins) -> dict[str, bytes]:
    """A small file of each kind, all about the twins."""
    rows = [
        {"id": p.id, "model": "m", "scoring": "s", "scores": [-1.0, -2.0], "prediction": 0, "answer": p.answer}
        for p in twins
    ]
    samples = [
        {"id": 1, "epoch": 1, "input": p.text, "choices": list(p.candidates), "target": "A"}
        | {"scores": {"choice": {"value": "C", "answer": "A"}}, "output": {"completion": "ANSWER: A"}}
        for p in twins
    ]
    return {
        "winokit": "\n".join(map(json.dumps, rows)).encode(),
        "labels": b"1\n2\n1\n2\n1\n2\n",
        "inspect": json.dumps({"status": "success", "eval": {"model": "m"}, "samples": samples}, indent=1).encode(),
    }


def read_both_ways(path, dataset) -> None:
    ids = {problem.id for problem in dataset}
    for lenient in (False, True):
        with contextlib.suppress(WinokitError):
            for read in read_predictions(path, dataset, lenient=lenient):
                assert all(made.id in ids for made in read.predictions)
                assert all("\n" not in reason for reason in read.unmatched)


@pytest.mark.parametrize("kind", ["winokit", "labels", "inspect"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_small_files_never_give_a_traceback(kind, twins, tmp_path, seed):
    path = tmp_path / "mutated"
    path.write_bytes(mutated(small_files(twins)[kind], seed))
    read_both_ways(path, twins)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_archives_never_give_a_traceback(method, twins, tmp_path, seed):
    log = json.loads(small_files(twins)["inspect"])
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps({"eval": log["eval"]}))
        for number, sample in enumerate(log["samples"]):
            archive.writestr(f"samples/{number}.json", json.dumps(sample))
    path.write_bytes(mutated(path.read_bytes(), seed))
    read_both_ways(path, twins)


@pytest.mark.parametrize("name", ["predictions/roberta_winogrande_dev.csv", "lmeval/samples_winogrande_smollm2.jsonl"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_real_files_never_give_a_traceback(name, real_file, tmp_path, seed):
    dev = _first_of_dev(real_file)
    path = tmp_path / "mutated"
    path.write_bytes(mutated(real_file(name).read_bytes()[:HEAD], seed))
    read_both_ways(path, dev)


_DEV: list = []


def _first_of_dev(real_file):
    """The first problems of dev, loaded once."""
    if not _DEV:
        _DEV.append(load(real_file("winogrande/dev.jsonl"))[:60])
    return _DEV[0]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("kind", ["winokit", "inspect", "lmeval"])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_odd_values_in_any_field_never_give_a_traceback(kind, twins, tmp_path, data):
    whole = _rows(kind, twins)
    target = whole
    while inner := [value for value in _values(target) if isinstance(value, (dict, list)) and value]:
        if not data.draw(st.booleans()):
            break
        target = data.draw(st.sampled_from(inner))
    key = data.draw(st.sampled_from(sorted(target) if isinstance(target, dict) else range(len(target))))
    target[key] = data.draw(VALUES)
    path = tmp_path / "odd"
    path.write_text(json.dumps(whole, indent=1) if kind == "inspect" else "\n".join(map(json.dumps, whole)))
    read_both_ways(path, twins)


def _values(target) -> list:
    return list(target.values() if isinstance(target, dict) else target)


def _rows(kind, twins):
    if kind == "inspect":
        return json.loads(small_files(twins)["inspect"])
    if kind == "winokit":
        return [json.loads(line) for line in small_files(twins)["winokit"].splitlines()]
    return [
        {
            "doc_id": 0,
            "doc": {"text": p.text, "candidates": list(p.candidates), "answer": p.answer},
            "arguments": {
                f"gen_args_{i}": {"arg_0": p.before + c, "arg_1": p.after} for i, c in enumerate(p.candidates)
            },
            "filtered_resps": [["-1.5", "False"], ["-2.5", "False"]],
            "filter": "none",
            "acc": 1.0,
        }
        for p in twins
    ]


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_recognised_or_refused(tmp_path, content):
    path = tmp_path / "bytes"
    path.write_bytes(content)
    with contextlib.suppress(WinokitError):
        recognise(path)
