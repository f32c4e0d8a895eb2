"""Readers never end in a traceback, whatever bytes or fields of a file are changed."""

import contextlib
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.json_rows import json_lines

from winokit.data.formats import FORMATS, read, recognise
from winokit.errors import WinokitError

FILES = {
    "winogrande": "winogrande/train_xs.jsonl",
    "wsc": "wsc/WSCollection.xml",
    "pdp": "pdp/PDPChallenge2016.xml",
    "dpr": "dpr/test.c.txt",
    "superglue-wsc": "superglue-wsc/val.jsonl",
    "superglue-copa": "superglue-copa/val.jsonl",
    "copa": "copa/copa-dev.xml",
    "winogender": "winogender/all_sentences.tsv",
    "winogender-templates": "winogender/templates.tsv",
    "winobias": "winobias/pro_stereotyped_type1.txt.dev",
    "knowref": "knowref/knowref_test.json",
    "trichelair": "trichelair/WSC_switched_label.json",
    "perturbed-wsc": "perturbed-wsc/text_voice.jsonl",
    "csv": "predictions/roberta_winogrande_dev.csv",
    "lmeval": "lmeval/samples_winogrande_smollm2.jsonl",
}
READ_BYTES = 6_000  # a whole file would only make each try slower
ODD_BYTES = (b'"', b"_", b"]", b"[", b"<", b"&", b"\t", b"\n", b",", b"\x00", b"null", b"1e9")


def mutate_bytes(data: bytes, seed: int) -> bytes:
    """Return bytes flipped, removed, doubled or exchanged in a few places, sometimes with the end cut off."""
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        start = rng.randrange(len(changed))
        end = start + rng.choice((1, 1, 2, 30))
        match rng.randrange(5):
            case 0:
                changed[start] = rng.randrange(256)
            case 1:
                del changed[start:end]
            case 2:
                changed[start:start] = changed[start:end]
            case 3:
                changed[start:start] = rng.choice(ODD_BYTES)
            case 4:
                other_start = rng.randrange(len(changed))
                other_end = other_start + end - start
                first_bytes = changed[start:end]
                changed[start:end] = changed[other_start:other_end]
                changed[other_start:other_end] = first_bytes
        if not changed:
            break
    is_cut = rng.random() < 0.2
    if is_cut:
        length = rng.randrange(len(changed) + 1)
        return bytes(changed[:length])
    return bytes(changed)


def read_every_way(path: Path, name: str) -> None:
    """Read a file with its format given or recognised, lenient or not, where only our own errors are allowed."""
    for form in (None, name):
        for lenient in (False, True):
            with contextlib.suppress(WinokitError):
                assert len(read(path, form, lenient=lenient)) > 0


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_bytes_never_give_a_traceback(name, tmp_path, real_file, seed):
    path = tmp_path / "mutated"
    content = real_file(FILES[name]).read_bytes()
    path.write_bytes(mutate_bytes(content[:READ_BYTES], seed))
    read_every_way(path, name)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


@pytest.mark.parametrize("name", [name for name in FILES if FORMATS[name].suffix in (".jsonl", ".json")])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_swapped_and_odd_fields_never_give_a_traceback(name, tmp_path, real_file, data):
    text = real_file(FILES[name]).read_text("utf-8")
    is_array = text.startswith("[")
    if is_array:
        rows = json.loads(text)[:3]
    else:
        rows = [json.loads(line) for line in text.splitlines()[:3]]
    target = data.draw(st.sampled_from(rows))
    while inner_objects := [value for value in target.values() if isinstance(value, dict)]:
        if not data.draw(st.booleans()):
            break
        target = data.draw(st.sampled_from(inner_objects))
    key = data.draw(st.sampled_from(sorted(target)))
    other_values = st.sampled_from([target[other_key] for other_key in sorted(target)])
    target[key] = data.draw(VALUES | other_values)
    path = tmp_path / "swapped"
    path.write_text(json.dumps(rows) if is_array else json_lines(rows))
    read_every_way(path, name)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_any_bytes_are_recognised_or_refused(tmp_path, content):
    path = tmp_path / "bytes"
    path.write_bytes(content)
    with contextlib.suppress(WinokitError):
        recognise(path)
    for name in FORMATS:
        with contextlib.suppress(WinokitError):
            read(path, name)
