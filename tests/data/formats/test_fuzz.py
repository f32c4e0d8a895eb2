"""Readers never end in a traceback: files with flipped bytes, cut ends, swapped fields give problems or one line."""

import contextlib
import json
import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

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
HEAD = 6_000  # a whole file would only make each try slower


def mutated(data: bytes, seed: int) -> bytes:
    """Bytes flipped, removed, doubled or exchanged in a few places, sometimes with the end cut off."""
    rng = random.Random(seed)
    changed = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(changed))
        size = rng.choice((1, 1, 2, 30))
        match rng.randrange(5):
            case 0:
                changed[at] = rng.randrange(256)
            case 1:
                del changed[at : at + size]
            case 2:
                changed[at:at] = changed[at : at + size]
            case 3:
                changed[at:at] = rng.choice(
                    (b'"', b"_", b"]", b"[", b"<", b"&", b"\t", b"\n", b",", b"\x00", b"null", b"1e9")
                )
            case 4:
                other = rng.randrange(len(changed))
                changed[at : at + size], changed[other : other + size] = (
                    changed[other : other + size],
                    changed[at : at + size],
                )
        if not changed:
            break
    return bytes(changed[: rng.randrange(len(changed) + 1)] if rng.random() < 0.2 else changed)


def read_every_way(path: Path, name: str) -> None:
    for form in (None, name):
        for lenient in (False, True):
            with contextlib.suppress(WinokitError):
                assert len(read(path, form, lenient=lenient)) > 0


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mutated_bytes_never_give_a_traceback(name, tmp_path, real_file, seed):
    path = tmp_path / "mutated"
    path.write_bytes(mutated(real_file(FILES[name]).read_bytes()[:HEAD], seed))
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
    rows = json.loads(text)[:3] if text.startswith("[") else [json.loads(line) for line in text.splitlines()[:3]]
    row = data.draw(st.sampled_from(rows))
    target = row
    while (inner := [v for v in target.values() if isinstance(v, dict)]) and data.draw(st.booleans()):
        target = data.draw(st.sampled_from(inner))
    key = data.draw(st.sampled_from(sorted(target)))
    target[key] = data.draw(VALUES | st.sampled_from([target[other] for other in sorted(target)]))
    path = tmp_path / "swapped"
    path.write_text(json.dumps(rows) if text.startswith("[") else "\n".join(map(json.dumps, rows)))
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
