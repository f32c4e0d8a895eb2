"""Steps recorded on a GPU do what launched ones do, as far as a CPU can tell without one."""

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
    """A network that is evaluated, a batch of its first `count` examples, and all its examples."""
    network = load_network("builtin", Formalization.parse(name), device=device)
    examples, _ = training_examples(load("open")[:40], network)
    batch = network.collated(examples[:count])
    return network.eval(), batch, examples


def gradients(network) -> list[torch.Tensor]:
    return [weight.grad for weight in network.parameters() if weight.grad is not None]


@pytest.mark.parametrize("name", NAMES)
def test_filling_a_batch_up_changes_neither_loss_nor_gradients(name):
    network, batch, _ = network_and_batch(name)
    _, sizes = shape_of(batch)
    larger = filled_up(batch, 0, sizes)
    row_count, length = larger.ids.shape[:2]
    assert row_count % UNITS[0] == 0
    assert length % UNITS[1] == 0
    assert larger.ids.numel() > batch.ids.numel()
    losses = []
    gradients_of = []
    for batch_read in (batch, larger):
        stepper = Stepper(network, TrainSettings(name))
        assert stepper.add(batch_read) == stepper.count(batch)
        losses.append(stepper.running.item())
        gradients_of.append(gradients(network))
        network.zero_grad()
    loss, loss_of_larger = losses
    assert loss == pytest.approx(loss_of_larger, rel=1e-5)
    # Rounding goes with the largest gradients, which the margin loss has ten times as large as others, and differs from
    # processor to processor: up to 5e-6 of the largest was seen.
    largest = max(gradient.abs().max().item() for gradient in gradients_of[0])
    for gradient, gradient_of_larger in zip(*gradients_of, strict=True):
        torch.testing.assert_close(gradient, gradient_of_larger, rtol=1e-3, atol=5e-5 * largest)


def test_a_batch_may_be_filled_up_further_than_to_its_own_shape():
    network, batch, _ = network_and_batch("mc-mlm")
    losses = []
    for more in (0, 8):
        stepper = Stepper(network, TrainSettings("mc-mlm"))
        kind, sizes = shape_of(batch)
        larger_sizes = tuple(size + more for size in sizes)
        larger = filled_up(batch, 0, larger_sizes)
        assert shape_of(larger) == (kind, larger_sizes)
        stepper.add(larger)
        losses.append(stepper.running.item())
    loss, loss_of_larger = losses
    assert loss == pytest.approx(loss_of_larger, rel=1e-5)


KIND = (2,)
LARGE = (16, 48, 8, 8)
SMALL = (16, 24, 8, 8)


def test_a_batch_is_filled_up_to_a_recorded_shape_until_that_has_cost_as_much_as_a_recording():
    plan = ShapePlan()
    assert plan.choose(KIND, LARGE) == LARGE
    shapes = [plan.choose(KIND, SMALL) for _ in range(3 * RECORDING)]  # each filled up to twice its size
    assert shapes[:RECORDING] == [LARGE] * RECORDING
    assert shapes[RECORDING:] == [SMALL] * (2 * RECORDING)


def test_a_batch_larger_than_all_before_gets_a_shape_that_would_have_served_them():
    plan = ShapePlan()
    assert plan.choose(KIND, LARGE) == LARGE
    shape = plan.choose(KIND, (32, 24, 8, 4))
    assert shape == (32, 48, 8, 8)


def test_a_batch_of_another_kind_is_launched_once_and_then_recorded():
    plan = ShapePlan()
    plan.choose(KIND, LARGE)
    other_kind = (3,)
    assert plan.choose(other_kind, SMALL) is None
    assert plan.choose(other_kind, SMALL) == SMALL


def test_no_more_shapes_are_recorded_than_memory_is_meant_for():
    plan = ShapePlan()
    for length in range(1, MOST + 9):
        plan.choose(KIND, (16, ROOM[1] * length, 8, 8))
    assert len(plan.recorded[KIND]) == MOST
    too_long = 2 * ROOM[1] * MOST
    assert plan.choose(KIND, (16, too_long, 8, 8)) is None


def test_a_batch_is_found_again_in_its_row_of_numbers():
    _, batch, _ = network_and_batch("mc-mlm")
    again = batch.over(batch.flat())
    assert again.widest == batch.widest
    names = ("ids", "attention", "row", "places", "tokens", "case", "column", "right", "gold")
    for name in names:
        assert torch.equal(getattr(again, name), getattr(batch, name))


def test_batches_of_other_lengths_have_other_shapes():
    network, _, examples = network_and_batch("mc-sent")
    ordered = sorted(examples, key=lambda example: example.longest)
    shape_of_short = shape_of(network.collated(ordered[:4]))
    shape_of_long = shape_of(network.collated(ordered[-4:]))
    assert shape_of_short != shape_of_long


class OnPaper(RecordedStepper):
    """Stepper that stands for a GPU on a CPU: it writes work down to record it, and does it to play it back."""

    working = Stepper.working
    breaks = ""
    """Reason for which a recording breaks off once gradients were written, or nothing."""

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
    """Make a function that returns the loss after each of some steps, and the stepper that took them."""

    def take_steps(kind, name, batches, *, breaks_at=None, why="", sizes=(8,) * 4):
        network = load_network(bert, Formalization.parse(name), device="cpu").eval()
        examples, _ = training_examples(planted, network)
        stepper = kind(network, TrainSettings(name, precision="float32", accumulate=batches))
        losses = []
        for step, size in enumerate(sizes):
            stepper.breaks = why if step == breaks_at else ""
            batches_of_step = [network.collated(examples[start : start + size]) for start in (0, 8)]
            stepper.step(batches_of_step[:batches], 1e-2)
            losses.append(stepper.running.item())
        return losses, stepper

    return take_steps


@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("name", ["mc-sent", "mc-mlm"])
def test_steps_that_are_played_back_do_what_launched_ones_do(losses_of, name, batches):
    launched, _ = losses_of(Stepper, name, batches)
    played, stepper = losses_of(OnPaper, name, batches)
    assert played == pytest.approx(launched, rel=1e-3)
    assert stepper.passes
    trained_weights = [weight for weight in stepper.network.parameters() if weight.requires_grad]
    has_gradients = any(weight.grad is not None for weight in trained_weights)
    assert has_gradients == (batches > 1)  # what is added up stays in its place, what is used once is forgotten


@pytest.mark.parametrize(
    ("why", "message"),
    [("operation not permitted", "cannot be recorded (operation"), ("CUDA out of memory.", "no memory for recordings")],
)
def test_where_a_recording_breaks_off_steps_are_launched_and_nothing_of_it_stays(losses_of, why, message):
    sizes = (8, 8, 4, 4, 8, 4)  # of the second size the first is launched, the next recorded: that breaks off
    launched, _ = losses_of(Stepper, "mc-sent", 1, sizes=sizes)
    played, stepper = losses_of(OnPaper, "mc-sent", 1, sizes=sizes, breaks_at=3, why=why)
    assert played == pytest.approx(launched, rel=1e-3)
    (note,) = stepper.notes
    assert message in note
    assert stepper.passes == {}  # what the first was recorded in is free again


def killed(step: int, steps: int) -> None:
    if step == 7:
        raise KeyboardInterrupt


@pytest.mark.parametrize(("batches", "why"), [(1, ""), (2, ""), (1, "CUDA out of memory.")])
def test_a_resumed_run_fills_batches_up_to_the_shapes_of_the_run_it_continues(
    bert, planted, no_gpu, monkeypatch, tmp_path, batches, why
):
    shapes = []

    class NotingStepper(OnPaper):
        breaks = why

        def _read(self, batch, over):
            shapes.append(tuple(batch.ids.shape))
            return super()._read(batch, over)

    monkeypatch.setattr(learner, "Stepper", NotingStepper)
    settings = TrainSettings(
        "mc-mlm", learning_rate=3e-3, epochs=3, batch_size=4, accumulate=batches, checkpoint_every=3
    )
    whole = finetune(TrainingData(planted), tmp_path / "whole", bert, settings)
    expected = shapes[6 * batches :]
    with pytest.raises(KeyboardInterrupt):
        finetune(TrainingData(planted), tmp_path / "cut", bert, settings, progress=killed)
    shapes.clear()
    NotingStepper.breaks = ""  # memory that is free again is left alone
    again = finetune(TrainingData(planted), tmp_path / "cut", bert, settings)
    assert again.resumed == 6
    assert shapes == expected
    assert again.notes == whole.notes
    losses = [row["loss"] for row in whole.curve["train"]]
    losses_again = [row["loss"] for row in again.curve["train"]]
    assert losses == pytest.approx(losses_again, rel=1e-4)  # with dropout, which draws by the shapes of batches


@needs_gpu
@pytest.mark.parametrize("batches", [1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_recorded_steps_give_the_losses_of_launched_ones(name, batches):
    losses_by_stepper = []
    for kind in (Stepper, RecordedStepper):
        network, batch, _ = network_and_batch(name, 8, "cuda")
        stepper = kind(network, TrainSettings(name, precision="float32", accumulate=batches))
        losses = []
        with stepper.working():
            for _ in range(8):
                stepper.step([batch] * batches, 1e-4)
                losses.append(stepper.running.item())
        assert not stepper.notes
        losses_by_stepper.append(losses)
    launched, recorded = losses_by_stepper
    last_change = launched[-1] - launched[-2]
    assert launched == pytest.approx(recorded, rel=1e-3)
    assert last_change < launched[0]


@needs_gpu
def test_a_model_that_asks_the_device_on_the_way_is_launched_and_said_so():
    network, batch, _ = network_and_batch("mc-sent", 8, "cuda")
    network.register_forward_pre_hook(lambda module, inputs: inputs[0].ids.sum().item() and None)
    stepper = RecordedStepper(network, TrainSettings("mc-sent"))
    with stepper.working():
        for _ in range(5):
            stepper.step([batch], 1e-4)
    (note,) = stepper.notes
    assert "cannot be recorded" in note
    assert stepper.running.item() > 0
    assert_dropout_works()


def assert_dropout_works() -> None:
    """Assert that the GPU still draws random numbers, as after a broken-off recording that left no trace."""
    dropped = torch.nn.functional.dropout(torch.ones(1000, device="cuda"))
    share_dropped = (dropped == 0).float().mean().item()
    assert 0 < share_dropped < 1


class Crowded(RecordedStepper):
    """Stepper that has no more memory than it holds already while it records, as on a full device."""

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
    (note,) = stepper.notes
    launched_loss, crowded_loss = losses
    assert "no memory for recordings" in note
    assert launched_loss == pytest.approx(crowded_loss, rel=1e-3)
    assert_dropout_works()


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
    losses = [row["loss"] for row in whole.curve["train"]]
    losses_again = [row["loss"] for row in again.curve["train"]]
    assert losses == pytest.approx(losses_again, rel=1e-4)  # with dropout, which draws by the shapes of batches
