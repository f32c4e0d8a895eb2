"""The number of tokens in a batch is found by trying, remembered, and halved once when memory runs out."""

import json
from pathlib import Path

import pytest
import torch
from support.tiny_causal import tiny_llama

from winokit.errors import BadInput
from winokit.files import user_cache
from winokit.models.base import Continuation
from winokit.models.batching import MOST, REMEMBERED, BatchBudget, in_batches
from winokit.models.registry import load_model


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "answers.sqlite"))
    return tmp_path


class Memory:
    """Memory for `size` tokens, which lists the counts that it was asked to hold."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.asked = []

    def hold(self, tokens: int) -> None:
        self.asked.append(tokens)
        if tokens > self.size:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

    def run(self, batch: list[int]) -> list[int]:
        self.hold(len(batch) * max(batch))
        return [10 * number for number in batch]


@pytest.mark.parametrize(
    ("size", "found", "asked"),
    [
        (3000, 2048, [4096, 2048]),
        (9000, 8192, [4096, 8192, 16384]),
        (10**9, MOST, [4096, 8192, 16384]),
        (100, 64, [4096, 2048, 1024, 512, 256, 128, 64]),
    ],
)
def test_a_budget_is_found_by_trying_and_remembered(size, found, asked):
    memory = Memory(size)
    for _ in range(2):
        budget = BatchBudget(4096, memory.hold, lambda: "a model on a device")
        budget.settle()
        budget.settle()
        assert budget.tokens == found
    assert memory.asked == asked
    other = BatchBudget(4096, memory.hold, lambda: "a model on another device")
    other.settle()
    assert memory.asked == [*asked, *asked]
    assert json.loads(user_cache(REMEMBERED).read_text()) == {
        "a model on a device": found,
        "a model on another device": found,
    }


def test_memory_that_holds_next_to_nothing_is_said_in_a_line():
    with pytest.raises(BadInput, match="out of memory with 64 tokens per batch: choose load_in=4bit"):
        BatchBudget(4096, Memory(3).hold, lambda: "it").settle()


def test_other_errors_are_not_taken_for_memory():
    def broken(tokens: int) -> None:
        raise RuntimeError("size mismatch")

    with pytest.raises(RuntimeError, match="size mismatch"):
        BatchBudget(4096, broken, lambda: "it").settle()


@pytest.mark.parametrize("content", ["", "[]", '{"it": "many"}', '{"it": 0}', '{"it": null}'])
def test_a_damaged_memory_of_budgets_is_as_good_as_none(content):
    user_cache(REMEMBERED).write_text(content)
    budget = BatchBudget(4096, Memory(5000).hold, lambda: "it")
    budget.settle()
    assert budget.tokens == 4096
    assert json.loads(user_cache(REMEMBERED).read_text()) == {"it": 4096}


def test_a_folder_that_cannot_be_written_costs_a_second_look_only(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WINOKIT_CACHE", str(tmp_path / "file" / "answers.sqlite"))
    budget = BatchBudget(4096, Memory(5000).hold, lambda: "it")
    budget.settle()
    assert budget.tokens == 4096


def test_memory_that_runs_out_halves_all_batches_that_are_left_and_that_is_remembered():
    memory = Memory(30)
    budget = BatchBudget(50, name=lambda: "it")
    items = [9, 3, 8, 7, 5, 6]
    assert sorted(in_batches(memory.run, items, items, budget)) == list(enumerate([90, 30, 80, 70, 50, 60]))
    assert memory.asked[0] == 45
    assert max(memory.asked[1:]) <= budget.tokens == 22
    assert budget.notes == ("memory ran out: batches now have 22 tokens, half as many as before (?budget=)",)
    assert json.loads(user_cache(REMEMBERED).read_text()) == {"it": 22}


def test_a_second_time_is_an_error_that_names_the_way_out():
    memory = Memory(12)
    items = [9, 3, 8, 7, 5, 6]
    with pytest.raises(BadInput, match=r"out of memory with 18 tokens per batch.*\?budget=4 "):
        list(in_batches(memory.run, items, items, BatchBudget(50)))
    assert memory.asked == [45, 18]


def test_one_text_that_does_not_fit_is_an_error_at_once():
    with pytest.raises(BadInput, match="out of memory with a single text: choose load_in=4bit"):
        list(in_batches(Memory(5).run, [9], [9], BatchBudget(50)))


def test_a_model_looks_for_its_budget_when_it_is_first_asked_and_not_when_it_is_told(tmp_path, monkeypatch):
    place = tiny_llama(tmp_path / "model")
    asked = [Continuation("Nora", " left."), Continuation("Nora thanked", " Ines.")]
    monkeypatch.setattr(
        "winokit.models.hf_settings.usable_device", lambda name: "cpu:0"
    )  # a device like any other but in name
    monkeypatch.setattr("winokit.models.hf_causal.GPU_BUDGET", 128)
    for spec, sizes in ((f"hf:{place}", [2, 4]), (f"hf:{place}", []), (f"hf:{place}?budget=64", [])):
        model = load_model(spec)
        read = []
        forward = model.reader.network.forward

        def counting(ids: torch.Tensor, forward=forward, read=read, **options: object) -> object:
            if ids.shape[1] == 64:
                read.append(len(ids))
                if len(ids) > 3:
                    raise torch.OutOfMemoryError("out of memory")
            return forward(ids, **options)

        model.reader.network.forward = counting
        list(model.answer([]))
        assert read == []
        list(model.answer(asked))
        assert read == sizes
        assert model.reader.budget.tokens == (64 if "budget" in spec else 128)
        assert not [note for note in model.notes if "memory" in note]
