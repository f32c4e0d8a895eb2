"""A model that is let go leaves the memory, and says so to whoever asks it again."""

import weakref

import pytest
import torch
from support.tiny import tiny
from support.tiny_causal import tiny_llama

from winokit.errors import BadInput
from winokit.models.base import Ask, Continuation, Fill
from winokit.models.registry import load_model, release


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return f"hf:{tiny_llama(tmp_path_factory.mktemp('causal'))}"


def weights(network: torch.nn.Module) -> list[weakref.ref]:
    return [weakref.ref(part) for part in (*network.modules(), *network.parameters())]


def test_nothing_keeps_a_causal_model_that_was_let_go(causal):
    model = load_model(causal)
    list(model.answer([Continuation("Nora", " left."), Ask("Nora", ("left", "fell"))]))
    known = (model.fingerprint, model.plan, model.notes)
    held = weights(model.reader.network)
    release(model)
    assert not any(part() is not None for part in held)
    assert (model.fingerprint, model.plan, model.notes) == known
    with pytest.raises(BadInput, match="was released; load it again"):
        list(model.answer([Continuation("Nora", " left.")]))


def test_nothing_keeps_a_model_that_was_spread(causal):
    model = load_model(f"{causal}?device_map=auto&max_memory=cpu:1KiB")
    list(model.answer([Continuation("Nora", " left.")]))
    held = weights(model.reader.network)
    release(model)
    assert not any(part() is not None for part in held)


def test_nothing_keeps_a_masked_model_that_was_let_go(tmp_path):
    model = load_model(f"hf:{tiny('bert', tmp_path)}")
    asked = [Fill("", "the book", " was small")]
    list(model.answer(asked))
    held = weights(model.model)
    release(model)
    assert not any(part() is not None for part in held)
    with pytest.raises(BadInput, match="was released"):
        list(model.answer(asked))


def test_an_ensemble_lets_all_its_members_go(causal):
    model = load_model(f"ensemble:{causal}+{causal}?bos=on")
    held = [part for member in model.members for part in weights(member.reader.network)]
    release(model)
    assert not any(part() is not None for part in held)


def test_a_model_with_nothing_to_free_is_released_all_the_same():
    model = load_model("random")
    release(model)
    assert list(model.answer([]) or ()) == []
