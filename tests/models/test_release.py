"""A released model leaves the memory, and says so when it is asked again."""

import weakref

import pytest
import torch
from support.tiny import tiny
from support.tiny_causal import tiny_llama

from winokit.errors import BadInput
from winokit.models.base import Ask, Continuation, Fill
from winokit.models.registry import load_model, release

NORA_LEFT = Continuation("Nora", " left.")


@pytest.fixture(scope="module")
def causal(tmp_path_factory):
    return f"hf:{tiny_llama(tmp_path_factory.mktemp('causal'))}"


def weak_references(*networks: torch.nn.Module) -> list[weakref.ref]:
    """Weak references to all modules and parameters of the networks."""
    references = []
    for network in networks:
        references += [weakref.ref(module) for module in network.modules()]
        references += [weakref.ref(parameter) for parameter in network.parameters()]
    return references


def assert_all_gone(references: list[weakref.ref]) -> None:
    assert references
    assert not any(reference() is not None for reference in references)


def test_nothing_keeps_a_causal_model_that_was_let_go(causal):
    model = load_model(causal)
    question = Ask("Nora", ("left", "fell"))
    list(model.answer([NORA_LEFT, question]))
    fingerprint = model.fingerprint
    plan = model.plan
    notes = model.notes
    references = weak_references(model.reader.network)
    release(model)
    assert_all_gone(references)
    assert model.fingerprint == fingerprint
    assert model.plan == plan
    assert model.notes == notes
    with pytest.raises(BadInput, match="was released; load it again"):
        list(model.answer([NORA_LEFT]))


def test_nothing_keeps_a_model_that_was_spread(causal):
    model = load_model(f"{causal}?device_map=auto&max_memory=cpu:1KiB")
    list(model.answer([NORA_LEFT]))
    references = weak_references(model.reader.network)
    release(model)
    assert_all_gone(references)


def test_nothing_keeps_a_masked_model_that_was_let_go(tmp_path):
    model = load_model(f"hf:{tiny('bert', tmp_path)}")
    fill = Fill("", "the book", " was small")
    list(model.answer([fill]))
    references = weak_references(model.model)
    release(model)
    assert_all_gone(references)
    with pytest.raises(BadInput, match="was released"):
        list(model.answer([fill]))


def test_an_ensemble_lets_all_its_members_go(causal):
    model = load_model(f"ensemble:{causal}+{causal}?bos=on")
    networks = [member.reader.network for member in model.members]
    references = weak_references(*networks)
    networks.clear()
    release(model)
    assert_all_gone(references)


def test_a_model_with_nothing_to_free_is_released_all_the_same():
    model = load_model("random")
    release(model)
    answers = list(model.answer([]) or ())
    assert answers == []
