"""Training steps: gradients summed over batches, clipped, then one optimiser update.

The optimiser is AdamW. The learning rate rises and falls linearly. A GPU that has bfloat16 uses it for matrix products.

A step of an encoder is some thousands of small kernels. At the batch sizes of the papers a fast GPU finishes each
before Python has launched the next. So on a GPU, batches are padded to one of a few shapes, and the step for a shape is
recorded as a CUDA graph. From then on a step is one copy and one launch, and the gradients are not kept. If a step has
several batches, it is one launch for each and one to update the weights. Padding changes only the last bits of the
results, and the random numbers of dropout: no attention is paid to it, and no option is in it.

A recording takes as long as several steps. So a batch is padded to a shape that is recorded already, and gets a
recording of its own once the padding of such batches has cost as much as the recording would.
"""

import gc
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeAlias

import torch
from torch.nn.functional import pad
from torch.nn.utils import clip_grad_norm_
from torch.overrides import TorchFunctionMode

from winokit.errors import BadInput
from winokit.methods.formalizations.batch import NOWHERE, Batch
from winokit.methods.formalizations.network import Network
from winokit.methods.training.settings import TrainSettings
from winokit.models.batching import free_memory, out_of_memory

EPSILON = 1e-8
FUSED = ("cuda", "cpu")
"""Devices on which the optimiser updates all weights in one kernel."""
UNITS = (8, 4, 4, 4)
"""The sizes of a batch are rounded up to multiples of these."""
ROOM = (16, 16, 8, 8)
"""The same for a shape that is to fit later batches too."""
RECORDING = 5
"""Cost of a recording, in replayed steps. A step without recording costs as much again."""
MOST = 64
"""Maximum number of recorded shapes."""

Kind: TypeAlias = tuple[int, ...]
"""Numbers of a batch that padding does not change: options, cases, spans, and the largest number of options."""
Sizes: TypeAlias = tuple[int, ...]
"""Numbers of texts, of tokens of the longest text, of positions of a span, and of tokens of an option."""
Work: TypeAlias = Callable[[Batch, int | torch.Tensor | None], int]
"""A function that processes a batch on the device and returns the number of its losses.

Its second argument is the number of losses in the whole step, one over that number on the device, or None for the
number in the batch."""


class Stepper:
    """Takes training steps with AdamW, one operation at a time."""

    def __init__(self, network: Network, settings: TrainSettings) -> None:
        self.network = network
        self.settings = settings
        weights = [weight for weight in network.parameters() if weight.requires_grad]
        self.optimiser = torch.optim.AdamW(
            weights,
            lr=settings.learning_rate,
            eps=EPSILON,
            weight_decay=settings.weight_decay,
            fused=network.device.type in FUSED,
        )
        self.lower = lower_precision(network.device, settings)
        self.running = torch.zeros((), device=network.device)
        """Sum of the losses since it was set to zero. Reading it waits for the device."""
        self.notes: list[str] = []
        """Reasons why steps are not recorded any more."""
        self.shapes = ShapePlan()
        self._make_ready()

    def working(self) -> AbstractContextManager[object]:
        """Return the context in which all steps must be taken."""
        return nullcontext()

    def load(self, state: dict[str, Any]) -> None:
        """Load the optimiser's state from a checkpoint."""
        self.optimiser.load_state_dict(state)
        self._make_ready()

    def step(self, batches: Sequence[Batch], learning_rate: float) -> int:
        """Take one step by the mean loss over all batches.

        The batches may be on the CPU. Returns the number of losses in that mean.
        """
        step_count = sum(map(self.count, batches)) if len(batches) > 1 else None
        counts = [self.add(batch, step_count) for batch in batches]
        self.move(learning_rate)
        return sum(counts)

    def count(self, batch: Batch) -> int:
        """Number of losses of a batch, without a forward pass."""
        no_numbers = torch.zeros(len(batch.row), device=batch.row.device)
        _, count = self._compute_loss(no_numbers, batch)
        return count

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch's mean loss, and return its number of losses.

        The mean is over `over` losses, those of the whole step; None takes those of the batch, which may be on the CPU.
        """
        return self._run_pass(batch.to(self.network.device), over)

    def move(self, learning_rate: float) -> None:
        """Update the weights, and delete the gradients."""
        self._set_rate(learning_rate)
        self._update_weights(forget=True)

    def _run_pass(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """Run forward and backward, and return the number of losses.

        `over` is as for `add`. For a recorded pass it is one over that number, on the device.
        """
        # Only matrix products are in bfloat16, if at all. Everything else, and all weights, are in float32.
        with torch.autocast(self.network.device.type, dtype=torch.bfloat16, enabled=self.lower):
            numbers = self.network(batch)
        total, count = self._compute_loss(numbers, batch)
        mean = total * over if isinstance(over, torch.Tensor) else total / (over or count)
        mean.backward()  # type: ignore[no-untyped-call]
        self.running += total.detach()
        return count

    def _compute_loss(self, numbers: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        """Return the sum of the losses of a batch, and their number.

        `numbers` has one number per option.
        """
        formalization = self.network.formalization
        return formalization.definition.loss(numbers, batch, formalization.switches)

    def _make_ready(self) -> None:
        """Set the optimiser's options for this device."""
        for group in self.optimiser.param_groups:
            group["capturable"] = False

    def _set_rate(self, learning_rate: float) -> None:
        """Set the learning rate of the next update."""
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate

    def _update_weights(self, *, forget: bool = False) -> None:
        """Clip the gradients, update the weights, and set the gradients to zero.

        With `forget` the gradients are deleted instead.
        """
        if self.settings.clip:
            clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=forget)


class _ConstantsOnDevice(TorchFunctionMode):
    """Context that makes constants on the device, since a copy from the CPU cannot be recorded."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        keywords = keywords or {}
        if function is torch.tensor and isinstance(arguments[0], (bool, int, float)):
            return torch.full((), arguments[0], **keywords)
        return function(*arguments, **keywords)


class RecordedStepper(Stepper):
    """Takes training steps on a GPU by replaying recordings.

    Steps that cannot be recorded are taken one operation at a time.
    """

    def __init__(self, network: Network, settings: TrainSettings) -> None:
        super().__init__(network, settings)
        self.share = torch.ones((), device=network.device)
        self.stream = torch.cuda.Stream(network.device)  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()
        self.passes: dict[tuple[Kind, Sizes], tuple[torch.cuda.CUDAGraph, torch.Tensor, int]] = {}
        """For each shape: a recorded pass, or a whole step of one batch; the tensor from which it reads its batch; and
        the number of its losses."""
        self.moves = 0
        self.recorded_move: torch.cuda.CUDAGraph | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Run all steps in one CUDA stream: gradients belong to the stream that made them."""
        outside = torch.cuda.current_stream(self.network.device)
        self.stream.wait_stream(outside)
        with torch.cuda.stream(self.stream):
            yield
        outside.wait_stream(self.stream)

    def step(self, batches: Sequence[Batch], learning_rate: float) -> int:
        """Take one step by the mean loss over all batches.

        If steps have one batch, pass and update are one recording.
        """
        if self.settings.accumulate > 1:
            return super().step(batches, learning_rate)
        self._set_rate(learning_rate)
        count = self._play_pass(batches[0], None, self._run_and_update)
        self.moves += 1
        return count

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch, which is on the CPU, and return its number of losses."""
        return self._play_pass(batch, over, self._run_pass)

    def _play_pass(self, batch: Batch, over: int | None, work: Work) -> int:
        """Process a batch from the CPU, by the recording for its shape if there is one.

        Otherwise `work` processes it, which is also what is recorded. Returns the number of losses.
        """
        kind, batch_sizes = shape_of(batch)
        chosen_sizes = self.shapes.choose(kind, batch_sizes) if not self.notes else None
        padding = self.network.reader.tokenizer.pad_token_id or 0
        batch = filled_up(batch, padding, chosen_sizes or batch_sizes)
        flat = batch.flat().pin_memory()
        shape = None if chosen_sizes is None else (kind, chosen_sizes)
        # The memory of the optimiser's state, and of summed gradients, is fixed only after its first update.
        if shape is not None and self.moves and shape not in self.passes:
            self._record_pass(batch, flat, shape, work)
        if shape is None or shape not in self.passes:
            flat_on_device = flat.to(self.network.device, non_blocking=True)
            return work(batch.over(flat_on_device), over)
        graph, buffer, count = self.passes[shape]
        buffer.copy_(flat, non_blocking=True)
        self.share.fill_(1 / (over or count))
        graph.replay()
        return count

    def move(self, learning_rate: float) -> None:
        """Update the weights, and set the gradients to zero in place."""
        self._set_rate(learning_rate)
        if self.recorded_move is None and self.moves and not self.notes:
            self.recorded_move = self._record_work(self._update_weights)
        if self.recorded_move is None:
            self._update_weights()
        else:
            self.recorded_move.replay()
        self.moves += 1

    def _run_and_update(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """Take a whole step of one batch, and return the number of losses."""
        self.optimiser.zero_grad(set_to_none=True)  # a recording that failed leaves gradients without values
        count = self._run_pass(batch, over)
        self._update_weights(forget=True)
        return count

    def _make_ready(self) -> None:
        """Put the learning rate on the device, where recorded steps read it."""
        for group in self.optimiser.param_groups:
            group["capturable"] = True
            group["lr"] = torch.tensor(float(group["lr"]), device=self.network.device)

    def _set_rate(self, learning_rate: float) -> None:
        """Set the learning rate of the next update, on the device."""
        for group in self.optimiser.param_groups:
            group["lr"].fill_(learning_rate)

    def _record_pass(self, batch: Batch, flat: torch.Tensor, shape: tuple[Kind, Sizes], work: Work) -> None:
        """Record the work on batches of a shape, if it can be recorded.

        `flat` has the values of the batch in one row.
        """
        buffer = torch.empty_like(flat, device=self.network.device)
        counts = []

        def process_buffer() -> None:
            """Process the batch in the buffer."""
            count = work(batch.over(buffer), self.share)
            counts.append(count)

        graph = self._record_work(process_buffer)
        if graph is not None:
            self.passes[shape] = (graph, buffer, counts[0])

    def _record_work(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
        """Return a recording of a function's operations, without running them.

        None if they cannot be recorded: then all recordings are deleted, and nothing is recorded any more.
        """
        try:
            return self._capture_graph(work)
        except RuntimeError as error:
            error_text = str(error).strip().splitlines()[0]
            is_full = out_of_memory(error)
        reason = "there is no memory for recordings" if is_full else f"this model cannot be recorded ({error_text})"
        self.notes.append(f"steps were launched one operation at a time: {reason}")
        # No recording is replayed from here on, and their memory is needed for ordinary steps.
        self.recorded_move = None
        self.passes.clear()
        free_memory()
        return None

    def _capture_graph(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Return a recording of a function's operations.

        Raises RuntimeError if that fails or memory runs out.
        """
        graph = torch.cuda.CUDAGraph()
        is_collecting = gc.isenabled()
        if not self.passes:
            torch.cuda.empty_cache()  # a recording has memory of its own
        # torch.cuda.graph would collect all garbage every time, which takes longer than the recording.
        # Garbage must wait: if memory were freed meanwhile, the recording would fail.
        gc.disable()
        try:
            with self.network.device, _ConstantsOnDevice():
                graph.capture_begin(pool=self.pool, capture_error_mode="relaxed")
                try:
                    work()
                finally:
                    graph.capture_end()
        except RuntimeError:
            torch.cuda.synchronize(self.network.device)
            # A recording that failed leaves the random generator in recording, and the next dropout would fail.
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
            generator.graphsafe_set_state(generator.clone_state())
            raise
        finally:
            if is_collecting:
                gc.enable()
        return graph


class ShapePlan:
    """Chooses the shape to which each batch is padded, and the shapes to record."""

    def __init__(self) -> None:
        self.recorded: dict[Kind, list[Sizes]] = {}
        self.debts: dict[tuple[Kind, Sizes], float] = {}
        """Cost so far of not recording each shape, in steps."""

    def choose(self, kind: Kind, sizes: Sizes) -> Sizes | None:
        """Return the sizes to which a batch of these sizes is padded.

        None if it is processed without a recording. Sizes that are returned count as recorded from then on, and what
        padding costs is added to the debts.

        >>> plan = ShapePlan()
        >>> [plan.choose((2,), sizes) for sizes in [(8, 20, 0, 0), (8, 16, 0, 0), (8, 36, 0, 0)]]
        [(16, 32, 0, 0), (16, 32, 0, 0), (16, 48, 0, 0)]
        """
        recorded = self.recorded.setdefault(kind, [])
        large_enough = [shape for shape in recorded if all(map(operator.ge, shape, sizes))]
        best = min(large_enough, key=_token_count, default=None)
        shape_count = sum(map(len, self.recorded.values()))
        if best == sizes or shape_count >= MOST:
            return best
        is_first_shape = not any(self.recorded.values())
        if best is None and (recorded or is_first_shape):
            # The batch is larger than all before: a shape with room for them, and for later ones, is recorded.
            largest = map(max, sizes, *recorded, sizes)
            new_shape = _round_up(largest, ROOM)
            recorded.append(new_shape)
            return new_shape
        excess = RECORDING if best is None else _token_count(best) / _token_count(sizes) - 1
        debt = self.debts.get((kind, sizes), 0.0) + excess
        self.debts[kind, sizes] = debt
        if debt <= RECORDING:
            return best
        recorded.append(sizes)
        return sizes


def _token_count(sizes: Sizes) -> int:
    """Number of tokens in a batch of these sizes, with padding."""
    return sizes[0] * sizes[1]


def _round_up(sizes: Iterable[int], units: Sizes) -> Sizes:
    """Return the sizes, each rounded up to a multiple of its unit."""
    return tuple(size + -size % unit for size, unit in zip(sizes, units, strict=True))


def shape_of(batch: Batch) -> tuple[Kind, Sizes]:
    """Return the kind of a batch, and its sizes rounded up.

    Batches of one kind can be padded to the same sizes.
    """
    kind = (len(batch.row), batch.cases, batch.places.shape[1], batch.widest)
    sizes = (*batch.ids.shape, batch.places.shape[-1], batch.tokens.shape[-1])
    return kind, _round_up(sizes, UNITS)


def filled_up(batch: Batch, padding: int, sizes: Sizes) -> Batch:
    """Return the batch padded to larger sizes.

    `padding` is the id of the padding token. Added texts have one token with attention and belong to no option. Added
    tokens of other texts have no attention. Added positions and tokens of options are `NOWHERE`.
    """
    batch_sizes = (*batch.ids.shape, batch.places.shape[-1], batch.tokens.shape[-1])
    more_texts, more_tokens, more_places, more_option_tokens = map(operator.sub, sizes, batch_sizes)
    text_count = batch_sizes[0]
    text_padding = (0, more_tokens, 0, more_texts)
    attention = pad(batch.attention, text_padding)
    attention[text_count:, 0] = 1
    segments = None if batch.segments is None else pad(batch.segments, text_padding)
    return replace(
        batch,
        ids=pad(batch.ids, text_padding, value=padding),
        attention=attention,
        segments=segments,
        places=pad(batch.places, (0, more_places), value=NOWHERE),
        tokens=pad(batch.tokens, (0, more_option_tokens), value=NOWHERE),
    )


def rate(step: int, steps: int, settings: TrainSettings) -> float:
    """Learning rate at a step, from 0: linear warm-up, then linear decay to zero.

    `steps` is the number of all steps.

    >>> [round(rate(step, 10, TrainSettings(learning_rate=1.0, warmup=0.2)), 3) for step in (0, 1, 2, 6, 9)]
    [0.0, 0.5, 1.0, 0.5, 0.125]
    """
    warmup_steps = int(settings.warmup * steps)
    if step < warmup_steps:
        return settings.learning_rate * step / warmup_steps
    decay_steps = max(1, steps - warmup_steps)
    return settings.learning_rate * (steps - step) / decay_steps


def lower_precision(device: torch.device, settings: TrainSettings) -> bool:
    """Whether the encoder trains in bfloat16.

    Raises BadInput if bfloat16 is asked for on a device without it.
    """
    is_fast_on_gpu = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if settings.precision == "auto":
        return is_fast_on_gpu
    if settings.precision != "bfloat16":
        return False
    if not is_fast_on_gpu and device.type != "cpu":
        raise BadInput(f"precision bfloat16: {device} has none; use float32")
    return True
