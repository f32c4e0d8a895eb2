"""Steps that are recorded on a GPU; what can be told without one is told on the CPU."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from winokit.data.loading import load
from winokit.methods.formalizations.base import Formalization
from winokit.methods.formalizations.network import load_network
from winokit.methods.training import learner
from winokit.methods.training.data import TrainingData
from winokit.methods.training.finetune import finetune, training_examples
from winokit.methods.training.settings import TrainSettings
from winokit.methods.training.stepper import (
    MOST,
    RECORDING,
    ROOM,
    UNITS,
    RecordedStepper,
    ShapePlan,
    Stepper,
    filled_up,
    shape_of,
)

NAMES = ["mc-sent", "mc-mlm", "mc-mlm?loss=margin", "p-span", "mc-sent-no-softmax"]
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def network_and_batch(name: str, count: int = 5, device: str = "cpu"):
    network = load_network("builtin", Formalization.parse(name), device=device)
    examples, _ = training_examples(load("open")[:40], network)
    return network.eval(), network.collated(examples[:count]), examples


def gradients(network) -> list[torch.Tensor]:
    return [weight.grad for weight in network.parameters() if weight.grad is not None]


@pytest.mark.parametrize("name", NAMES)
def test_filling_a_batch_up_changes_neither_loss_nor_gradients(name):
    network, batch, _ = network_and_batch(name)
    larger = filled_up(batch, 0, shape_of(batch)[1])
    assert [size % unit for size, unit in zip(larger.ids.shape, UNITS, strict=False)] == [0, 0]
    assert larger.ids.numel() > batch.ids.numel()
    found = []
    for one in (batch, larger):
        stepper = Stepper(network, TrainSettings(name))
        assert stepper.add(one) == stepper.count(batch)
        found.append((stepper.running.item(), gradients(network)))
        network.zero_grad()
    assert found[0][0] == pytest.approx(found[1][0], rel=1e-5)
    # Rounding goes with the largest gradients, which the margin loss has ten times as large as others, and differs from
    # processor to processor: up to 5e-6 of the largest was seen.
    largest = max(gradient.abs().max().item() for gradient in found[0][1])
    for one, other in zip(found[0][1], found[1][1], strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=5e-5 * largest)


def test_a_batch_may_be_filled_up_further_than_to_its_own_shape():
    network, batch, _ = network_and_batch("mc-mlm")
    losses = []
    for more in (0, 8):
        stepper = Stepper(network, TrainSettings("mc-mlm"))
        kind, sizes = shape_of(batch)
        larger = filled_up(batch, 0, tuple(size + more for size in sizes))
        assert shape_of(larger) == (kind, tuple(size + more for size in sizes))
        stepper.add(larger)
        losses.append(stepper.running.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


KIND = (2,)
LARGE = (16, 48, 8, 8)
SMALL = (16, 24, 8, 8)


def test_a_batch_is_filled_up_to_a_recorded_shape_until_that_has_cost_as_much_as_a_recording():
    plan = ShapePlan()
    assert plan.choose(KIND, LARGE) == LARGE
    chosen = [plan.choose(KIND, SMALL) for _ in range(3 * RECORDING)]  # each filled up to twice its size
    assert chosen == [LARGE] * RECORDING + [SMALL] * (2 * RECORDING)


def test_a_batch_larger_than_all_before_gets_a_shape_that_would_have_served_them():
    plan = ShapePlan()
    assert plan.choose(KIND, LARGE) == LARGE
    assert plan.choose(KIND, (32, 24, 8, 4)) == (32, 48, 8, 8)


def test_a_batch_of_another_kind_is_launched_once_and_then_recorded():
    plan = ShapePlan()
    plan.choose(KIND, LARGE)
    assert [plan.choose((3,), SMALL) for _ in range(2)] == [None, SMALL]


def test_no_more_shapes_are_recorded_than_memory_is_meant_for():
    plan = ShapePlan()
    for length in range(1, MOST + 9):
        plan.choose(KIND, (16, ROOM[1] * length, 8, 8))
    assert len(plan.recorded[KIND]) == MOST
    assert plan.choose(KIND, (16, 2 * ROOM[1] * MOST, 8, 8)) is None


def test_a_batch_is_found_again_in_its_row_of_numbers():
    _, batch, _ = network_and_batch("mc-mlm")
    again = batch.over(batch.flat())
    assert again.widest == batch.widest
    names = ("ids", "attention", "row", "places", "tokens", "case", "column", "right", "gold")
    assert all(torch.equal(getattr(again, name), getattr(batch, name)) for name in names)


def test_batches_of_other_lengths_have_other_shapes():
    network, _, examples = network_and_batch("mc-sent")
    ordered = sorted(examples, key=lambda one: one.longest)
    assert shape_of(network.collated(ordered[:4])) != shape_of(network.collated(ordered[-4:]))


class OnPaper(RecordedStepper):
    """Stands for a GPU on a CPU: to record is to write work down, to play back is to do it."""

    working = Stepper.working
    breaks = ""
    """Why a recording breaks off once gradients were written, as where a model asks the device in its backward."""

    def _record_pass(self, batch, flat, shape, work):
        place = torch.empty_like(flat)
        graph = self._record_work(lambda: work(batch.over(place), self.share))
        if graph is not None:
            self.passes[shape] = graph, place, self.count(batch)

    def _capture_graph(self, work):
        if self.breaks:
            for weight in self.network.parameters():
                weight.grad = torch.full_like(weight, torch.nan)  # memory of a recording that nothing was written to
            raise RuntimeError(self.breaks)
        return SimpleNamespace(replay=work)


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: None)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda self: self)


@pytest.fixture
def losses_of(bert, planted, no_gpu):
    def losses(kind, name, batches, *, breaks_at=None, why="", sizes=(8,) * 4):
        """The loss after each of some steps, and the stepper."""
        network = load_network(bert, Formalization.parse(name), device="cpu").eval()
        examples, _ = training_examples(planted, network)
        stepper = kind(network, TrainSettings(name, precision="float32", accumulate=batches))
        told = []
        for step, size in enumerate(sizes):
            stepper.breaks = why if step == breaks_at else ""
            stepper.step([network.collated(examples[at : at + size]) for at in (0, 8)][:batches], 1e-2)
            told.append(stepper.running.item())
        return told, stepper

    return losses


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("name", ["mc-sent", "mc-mlm"])
def test_steps_that_are_played_back_do_what_launched_ones_do(losses_of, name, batches):
    launched, _ = losses_of(Stepper, name, batches)
    played, stepper = losses_of(OnPaper, name, batches)
    assert played == pytest.approx(launched, rel=1e-3)
    assert stepper.passes
    kept = [weight.grad is not None for weight in stepper.network.parameters() if weight.requires_grad]
    assert any(kept) == (batches > 1)  # what is added up stays in its place, what is used once is forgotten


@pytest.mark.parametrize(
    ("why", "said"),
    [("operation not permitted", "cannot be recorded (operation"), ("CUDA out of memory.", "no memory for recordings")],
)
def test_where_a_recording_breaks_off_steps_are_launched_and_nothing_of_it_stays(losses_of, why, said):
    sizes = (8, 8, 4, 4, 8, 4)  # of the second size the first is launched, the next recorded: that breaks off
    launched, _ = losses_of(Stepper, "mc-sent", 1, sizes=sizes)
    played, stepper = losses_of(OnPaper, "mc-sent", 1, sizes=sizes, breaks_at=3, why=why)
    assert played == pytest.approx(launched, rel=1e-3)
    assert [said in note for note in stepper.notes] == [True]
    assert stepper.passes == {}  # what the first was recorded in is free again


def killed(step: int, steps: int) -> None:
    if step == 7:
        raise KeyboardInterrupt


@pytest.mark.parametrize(("batches", "why"), [(1, ""), (2, ""), (1, "CUDA out of memory.")])
def test_a_resumed_run_fills_batches_up_to_the_shapes_of_the_run_it_continues(
    bert, planted, no_gpu, monkeypatch, tmp_path, batches, why
):
    shapes = []

    class Told(OnPaper):
        breaks = why

        def _read(self, batch, over):
            shapes.append(tuple(batch.ids.shape))
            return super()._read(batch, over)

    monkeypatch.setattr(learner, "Stepper", Told)
    settings = TrainSettings(
        "mc-mlm", learning_rate=3e-3, epochs=3, batch_size=4, accumulate=batches, checkpoint_every=3
    )
    whole = finetune(TrainingData(planted), tmp_path / "whole", bert, settings)
    expected = shapes[6 * batches :]
    with pytest.raises(KeyboardInterrupt):
        finetune(TrainingData(planted), tmp_path / "cut", bert, settings, progress=killed)
    shapes.clear()
    Told.breaks = ""  # memory that is free again is left alone
    again = finetune(TrainingData(planted), tmp_path / "cut", bert, settings)
    assert again.resumed == 6
    assert shapes == expected
    assert again.notes == whole.notes
    losses = [[row["loss"] for row in run.curve["train"]] for run in (whole, again)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)  # with dropout, which draws by the shapes of batches


@needs_gpu
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_steps_give_the_losses_of_launched_ones(name, batches):
    losses = []
    for kind in (Stepper, RecordedStepper):
        network, batch, _ = network_and_batch(name, 8, "cuda")
        stepper = kind(network, TrainSettings(name, precision="float32", accumulate=batches))
        told = []
        with stepper.working():
            for _ in range(8):
                stepper.step([batch] * batches, 1e-4)
                told.append(stepper.running.item())
        assert not stepper.notes
        losses.append(told)
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert losses[0][-1] - losses[0][-2] < losses[0][0]


@needs_gpu
def test_a_model_that_asks_the_device_on_the_way_is_launched_and_said_so():
    network, batch, _ = network_and_batch("mc-sent", 8, "cuda")
    network.register_forward_pre_hook(lambda module, inputs: inputs[0].ids.sum().item() and None)
    stepper = RecordedStepper(network, TrainSettings("mc-sent"))
    with stepper.working():
        for _ in range(5):
            stepper.step([batch], 1e-4)
    assert ["cannot be recorded" in note for note in stepper.notes] == [True]
    assert stepper.running.item() > 0
    dropped = torch.nn.functional.dropout(torch.ones(1000, device="cuda"))  # the broken-off recording left no trace
    assert 0 < (dropped == 0).float().mean().item() < 1


class Crowded(RecordedStepper):
    """Has no more memory than it holds already, as on a device that others have filled, while it records."""

    def _capture_graph(self, work):
        torch.cuda.empty_cache()
        whole = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(torch.cuda.memory_reserved() / whole)
        try:
            return super()._capture_graph(work)
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)


@needs_gpu
@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")
@pytest.mark.parametrize("batches", [1, 2])
def test_where_memory_runs_out_in_a_recording_steps_are_launched_and_said_so(batches):
    losses = []
    for kind in (Stepper, Crowded):
        network, batch, _ = network_and_batch("mc-sent", 8, "cuda")
        stepper = kind(network, TrainSettings("mc-sent", precision="float32", accumulate=batches))
        with stepper.working():
            for _ in range(6):
                stepper.step([batch] * batches, 1e-4)
            losses.append(stepper.running.item())
    assert ["no memory for recordings" in note for note in stepper.notes] == [True]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    dropped = torch.nn.functional.dropout(torch.ones(1000, device="cuda"))  # the broken-off recording left no trace
    assert 0 < (dropped == 0).float().mean().item() < 1


@needs_gpu
def test_a_run_on_a_gpu_goes_on_where_it_was_killed(bert, planted, unseen, tmp_path):
    data = TrainingData(planted, unseen)
    settings = TrainSettings(
        "mc-sent", learning_rate=3e-3, epochs=2, batch_size=8, precision="float32", checkpoint_every=3
    )

    whole = finetune(data, tmp_path / "whole", bert, settings, device="cuda")
    with pytest.raises(KeyboardInterrupt):
        finetune(data, tmp_path / "cut", bert, settings, device="cuda", progress=killed)
    again = finetune(data, tmp_path / "cut", bert, settings, device="cuda")
    assert again.resumed == 6
    losses = [[row["loss"] for row in run.curve["train"]] for run in (whole, again)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)  # with dropout, which draws by the shapes of batches
