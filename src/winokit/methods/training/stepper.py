"""Training steps: gradients summed over batches, clipped, then one optimiser update.

The optimiser is AdamW, under a learning rate that rises and falls in straight lines, in the precision a device is good
at.

A step of an encoder is some thousands of small kernels. At the batch sizes of the papers a fast GPU is done with each
before Python has launched the next. So on a GPU batches are filled up to one of a few shapes; what the GPU is told for
a shape is recorded (a CUDA graph), and from then on a step is one copy and one launch, of which the gradients do not
outlive the end; where a step has several batches, one launch for each and one to move. Filling up changes nothing that
is computed but the last bits, and what dropout draws: nobody attends to the filling, and no option is there.

Recording takes as long as several steps. So a batch is filled up to a shape that is recorded already, and gets one of
its own once the filling of its like has cost as much as recording would have.
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
"""Devices on which a step of all weights is one kernel."""
UNITS = (8, 4, 4, 4)
ROOM = (16, 16, 8, 8)
"""The sizes of a shape are multiples of these: of one of its own, and of one that is to serve others."""
RECORDING = 5
"""What a recording costs, in steps that are played back; launching a step one by one costs as much again."""
MOST = 64
"""Shapes that are recorded at most."""

Kind: TypeAlias = tuple[int, ...]
Sizes: TypeAlias = tuple[int, ...]
"""Of a batch: texts, tokens of the longest, and the pieces that places and options have room for."""
Work: TypeAlias = Callable[[Batch, int | torch.Tensor | None], int]
"""What is done with a batch on the device, its loss a mean over so many, or a share of it; says over how many it is."""


class Stepper:
    """A network and its optimiser, launched one operation at a time."""

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
        """The loss since it was last set to zero, summed; asking for it waits for the device."""
        self.notes: list[str] = []
        """Why nothing is recorded any more."""
        self.shapes = ShapePlan()
        self._make_ready()

    def working(self) -> AbstractContextManager[object]:
        """Context in which steps are taken."""
        return nullcontext()

    def load(self, state: dict[str, Any]) -> None:
        """Load the optimiser's state from a checkpoint."""
        self.optimiser.load_state_dict(state)
        self._make_ready()

    def step(self, batches: Sequence[Batch], learning_rate: float) -> int:
        """Take one step by the mean loss over all batches, which may be on the CPU.

        Returns the number of terms in that mean.
        """
        whole = sum(map(self.count, batches)) if len(batches) > 1 else None
        counts = [self.add(batch, whole) for batch in batches]
        self.move(learning_rate)
        return sum(counts)

    def count(self, batch: Batch) -> int:
        """Number of terms in the mean loss of a batch, without a forward pass."""
        return self._compute_loss(torch.zeros(len(batch.row), device=batch.row.device), batch)[1]

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch's loss, and return the number of terms in its mean.

        `over` is the number of terms in the whole step, if the batch is part of one.

        The batch may lie on the CPU.
        """
        return self._run_pass(batch.to(self.network.device), over)

    def move(self, learning_rate: float) -> None:
        """Update the weights and drop the gradients."""
        self._set_rate(learning_rate)
        self._update_weights(forget=True)

    def _run_pass(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """Run forward and backward, and return the number of terms in the mean loss.

        `over` may be a share on the device, for a recorded pass.
        """
        # Matrix products in bfloat16 where that is wanted, everything else and all weights in float32.
        with torch.autocast(self.network.device.type, dtype=torch.bfloat16, enabled=self.lower):
            numbers = self.network(batch)
        total, count = self._compute_loss(numbers, batch)
        mean = total * over if isinstance(over, torch.Tensor) else total / (over or count)
        mean.backward()  # type: ignore[no-untyped-call]
        self.running += total.detach()
        return count

    def _compute_loss(self, numbers: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        formalization = self.network.formalization
        return formalization.definition.loss(numbers, batch, formalization.switches)

    def _make_ready(self) -> None:
        """Set the optimiser's options for this device, which may differ from the checkpoint's."""
        for group in self.optimiser.param_groups:
            group["capturable"] = False

    def _set_rate(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate

    def _update_weights(self, *, forget: bool = False) -> None:
        if self.settings.clip:
            clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=forget)


class _ConstantsOnDevice(TorchFunctionMode):
    """Make constants on the device: a copy from the CPU cannot be recorded."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        if function is torch.tensor and isinstance(arguments[0], (bool, int, float)):
            return torch.full((), arguments[0], **named)
        return function(*arguments, **named)


class RecordedStepper(Stepper):
    """Replays recorded passes, and launches operations that cannot be recorded."""

    def __init__(self, network: Network, settings: TrainSettings) -> None:
        super().__init__(network, settings)
        self.share = torch.ones((), device=network.device)
        self.stream = torch.cuda.Stream(network.device)  # type: ignore[no-untyped-call]
        self.pool = torch.cuda.graph_pool_handle()
        self.passes: dict[tuple[Kind, Sizes], tuple[torch.cuda.CUDAGraph, torch.Tensor, int]] = {}
        """By shape a recorded pass (the whole step, where a step has one), where it reads its batch, and over how many
        its loss is a mean."""
        self.moves = 0
        self.recorded_move: torch.cuda.CUDAGraph | None = None

    @contextmanager
    def working(self) -> Iterator[None]:
        """Do all work in one stream: gradients belong to the stream that made them."""
        outside = torch.cuda.current_stream(self.network.device)
        self.stream.wait_stream(outside)
        with torch.cuda.stream(self.stream):
            yield
        outside.wait_stream(self.stream)

    def step(self, batches: Sequence[Batch], learning_rate: float) -> int:
        """Take one step; with one batch per step, pass and update are one recording."""
        if self.settings.accumulate > 1:
            return super().step(batches, learning_rate)
        self._set_rate(learning_rate)
        count = self._play_pass(batches[0], None, self._run_and_update)
        self.moves += 1
        return count

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch on the CPU."""
        return self._play_pass(batch, over, self._run_pass)

    def _play_pass(self, batch: Batch, over: int | None, work: Work) -> int:
        """Process a batch from the CPU, by the recording for its shape if there is one."""
        kind, own_sizes = shape_of(batch)
        chosen = self.shapes.choose(kind, own_sizes) if not self.notes else None
        batch = filled_up(batch, self.network.reader.tokenizer.pad_token_id or 0, chosen or own_sizes)
        flat = batch.flat().pin_memory()
        # Only once the optimiser has moved do its numbers, and gradients that are added up, have their places.
        if chosen is not None and self.moves and (kind, chosen) not in self.passes:
            self._record_pass(batch, flat, (kind, chosen), work)
        if chosen is None or (kind, chosen) not in self.passes:
            return work(batch.over(flat.to(self.network.device, non_blocking=True)), over)
        graph, buffer, count = self.passes[kind, chosen]
        buffer.copy_(flat, non_blocking=True)
        self.share.fill_(1 / (over or count))
        graph.replay()
        return count

    def move(self, learning_rate: float) -> None:
        """Update the weights and set the gradients to zero in place."""
        self._set_rate(learning_rate)
        if self.recorded_move is None and self.moves and not self.notes:
            self.recorded_move = self._record_work(self._update_weights)
        if self.recorded_move is None:
            self._update_weights()
        else:
            self.recorded_move.replay()
        self.moves += 1

    def _run_and_update(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """Take a whole step: gradients are written once, read twice and dropped."""
        self.optimiser.zero_grad(set_to_none=True)  # a recording that broke off leaves some that were never computed
        count = self._run_pass(batch, over)
        self._update_weights(forget=True)
        return count

    def _make_ready(self) -> None:
        """Put the learning rate on the device, where a recorded step reads it."""
        for group in self.optimiser.param_groups:
            group["capturable"] = True
            group["lr"] = torch.tensor(float(group["lr"]), device=self.network.device)

    def _set_rate(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"].fill_(learning_rate)

    def _record_pass(self, batch: Batch, flat: torch.Tensor, shape: tuple[Kind, Sizes], work: Work) -> None:
        buffer = torch.empty_like(flat, device=self.network.device)
        counts = []
        graph = self._record_work(lambda: counts.append(work(batch.over(buffer), self.share)))
        if graph is not None:
            self.passes[shape] = graph, buffer, counts[0]

    def _record_work(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
        """Return a recording of some work, without doing it.

        None if it cannot be recorded. From then on nothing is.
        """
        try:
            return self._capture_graph(work)
        except RuntimeError as error:
            error_text = str(error).strip().splitlines()[0]
            is_full = out_of_memory(error)
        reason = "there is no memory for recordings" if is_full else f"this model cannot be recorded ({error_text})"
        self.notes.append(f"steps were launched one operation at a time: {reason}")
        # No recording is played back from here on: the memory of those there are is for launched steps.
        self.recorded_move = None
        self.passes.clear()
        free_memory()
        return None

    def _capture_graph(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """Return a recording. Raises RuntimeError if it fails or memory runs out."""
        graph = torch.cuda.CUDAGraph()
        collecting = gc.isenabled()
        if not self.passes:
            torch.cuda.empty_cache()  # a recording has memory of its own
        # Not torch.cuda.graph, which collects all garbage every time and takes longer over it than the recording does.
        # Garbage must wait: memory that is let go on the way breaks a recording off.
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
            # A recording that broke off leaves the generator as if it went on, and the next dropout would fail.
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
            generator.graphsafe_set_state(generator.clone_state())
            raise
        finally:
            if collecting:
                gc.enable()
        return graph


class ShapePlan:
    """Shapes that are recorded, and the shape to which each batch is padded."""

    def __init__(self) -> None:
        self.recorded: dict[Kind, list[Sizes]] = {}
        self.debts: dict[tuple[Kind, Sizes], float] = {}
        """By shape, what it has cost that it is not recorded, in steps."""

    def choose(self, kind: Kind, own: Sizes) -> Sizes | None:
        """Return the sizes to pad a batch to; None if it is launched without recording.

        >>> plan = ShapePlan()
        >>> [plan.choose((2,), sizes) for sizes in [(8, 20, 0, 0), (8, 16, 0, 0), (8, 36, 0, 0)]]
        [(16, 32, 0, 0), (16, 32, 0, 0), (16, 48, 0, 0)]
        """
        recorded = self.recorded.setdefault(kind, [])
        serving = [sizes for sizes in recorded if all(map(operator.ge, sizes, own))]
        best = min(serving, key=_token_count, default=None)
        shape_count = sum(map(len, self.recorded.values()))
        if best == own or shape_count >= MOST:
            return best
        if best is None and (recorded or not any(self.recorded.values())):
            # Larger than all before: it is to serve them, and those that come.
            largest = map(max, own, *recorded, own)
            own = _round_up(largest, ROOM)
        else:
            excess = RECORDING if best is None else _token_count(best) / _token_count(own) - 1
            debt = self.debts.get((kind, own), 0.0) + excess
            self.debts[kind, own] = debt
            if debt <= RECORDING:
                return best
        recorded.append(own)
        return own


def _token_count(sizes: Sizes) -> int:
    """Number of tokens of a batch of these sizes, with padding."""
    return sizes[0] * sizes[1]


def _round_up(sizes: Iterable[int], units: Sizes) -> Sizes:
    """The sizes, each rounded up to a multiple of its unit."""
    return tuple(size + -size % unit for size, unit in zip(sizes, units, strict=True))


def shape_of(batch: Batch) -> tuple[Kind, Sizes]:
    """Return the kind of a batch and its sizes, rounded up.

    Batches of one kind can be padded to the same sizes.
    """
    kind = len(batch.row), batch.cases, batch.places.shape[1], batch.widest
    sizes = *batch.ids.shape, batch.places.shape[-1], batch.tokens.shape[-1]
    return kind, _round_up(sizes, UNITS)


def filled_up(batch: Batch, padding: int, sizes: Sizes) -> Batch:
    """Return the batch padded to these numbers of texts, tokens and pieces.

    Added texts have one token of padding and belong to no option. Added tokens get no attention. Added pieces have
    no place.
    """
    own_sizes = (*batch.ids.shape, batch.places.shape[-1], batch.tokens.shape[-1])
    more_texts, more_tokens, more_places, more_pieces = map(operator.sub, sizes, own_sizes)
    texts = own_sizes[0]
    attention = pad(batch.attention, (0, more_tokens, 0, more_texts))
    attention[texts:, 0] = 1
    segments = None if batch.segments is None else pad(batch.segments, (0, more_tokens, 0, more_texts))
    return replace(
        batch,
        ids=pad(batch.ids, (0, more_tokens, 0, more_texts), value=padding),
        attention=attention,
        segments=segments,
        places=pad(batch.places, (0, more_places), value=NOWHERE),
        tokens=pad(batch.tokens, (0, more_pieces), value=NOWHERE),
    )


def rate(step: int, steps: int, settings: TrainSettings) -> float:
    """Learning rate at a step: linear warm-up, then linear decay to zero.

    >>> [round(rate(step, 10, TrainSettings(learning_rate=1.0, warmup=0.2)), 3) for step in (0, 1, 2, 6, 9)]
    [0.0, 0.5, 1.0, 0.5, 0.125]
    """
    rising = int(settings.warmup * steps)
    if step < rising:
        return settings.learning_rate * step / rising
    return settings.learning_rate * (steps - step) / max(1, steps - rising)


def lower_precision(device: torch.device, settings: TrainSettings) -> bool:
    """Whether the encoder trains in bfloat16.

    Raises BadInput if bfloat16 is asked for on a device without it.
    """
    there = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if settings.precision == "bfloat16" and not (there or device.type == "cpu"):
        raise BadInput(f"precision bfloat16: {device} has none; use float32")
    return settings.precision == "bfloat16" or (settings.precision == "auto" and there)
