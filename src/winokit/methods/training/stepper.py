"""What a step does to the weights: gradients of its batches added up, clipped, and one move of the optimiser.

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
from collections.abc import Callable, Iterator, Sequence
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
    """A network and its optimiser, launched operation by operation."""

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
        """The context in which steps are taken."""
        return nullcontext()

    def load(self, state: dict[str, Any]) -> None:
        """Put the optimiser where a checkpoint says it stood."""
        self.optimiser.load_state_dict(state)
        self._make_ready()

    def step(self, batches: Sequence[Batch], learning_rate: float) -> int:
        """One step by the mean loss over all its batches, which may lie on the CPU; says over how many it is."""
        whole = sum(map(self.count, batches)) if len(batches) > 1 else None
        counts = [self.add(batch, whole) for batch in batches]
        self.move(learning_rate)
        return sum(counts)

    def count(self, batch: Batch) -> int:
        """Over how many a batch's loss is a mean, told before anything is read."""
        return self._loss(torch.zeros(len(batch.row), device=batch.row.device), batch)[1]

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch's loss, a mean over `over` if it is part of a step; says over how many it is.

        The batch may lie on the CPU.
        """
        return self._read(batch.to(self.network.device), over)

    def move(self, learning_rate: float) -> None:
        """Move the weights, and forget the gradients."""
        self._set_rate(learning_rate)
        self._move(forget=True)

    def _read(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """Forward and backward; `over` may be a share on the device, for a pass that is used again and again."""
        # Matrix products in bfloat16 where that is wanted, everything else and all weights in float32.
        with torch.autocast(self.network.device.type, dtype=torch.bfloat16, enabled=self.lower):
            numbers = self.network(batch)
        total, count = self._loss(numbers, batch)
        mean = total * over if isinstance(over, torch.Tensor) else total / (over or count)
        mean.backward()  # type: ignore[no-untyped-call]
        self.running += total.detach()
        return count

    def _loss(self, numbers: torch.Tensor, batch: Batch) -> tuple[torch.Tensor, int]:
        formalization = self.network.formalization
        return formalization.definition.loss(numbers, batch, formalization.switches)

    def _make_ready(self) -> None:
        """Set what is a matter of the device, which need not be the one a checkpoint was written on."""
        for group in self.optimiser.param_groups:
            group["capturable"] = False

    def _set_rate(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate

    def _move(self, *, forget: bool = False) -> None:
        if self.settings.clip:
            clip_grad_norm_(self.network.parameters(), self.settings.clip)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=forget)


class _MadeThere(TorchFunctionMode):
    """Meanwhile the device makes constants by itself: a copy from the CPU, as many models make, cannot be recorded."""

    def __torch_function__(self, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        named = named or {}
        if function is torch.tensor and isinstance(arguments[0], (bool, int, float)):
            return torch.full((), arguments[0], **named)
        return function(*arguments, **named)


class RecordedStepper(Stepper):
    """Plays back what it has recorded; what cannot be recorded it does as `Stepper` does, and says so."""

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
        """All work goes into one stream, since gradients stay with the stream that first made them."""
        outside = torch.cuda.current_stream(self.network.device)
        self.stream.wait_stream(outside)
        with torch.cuda.stream(self.stream):
            yield
        outside.wait_stream(self.stream)

    def step(self, batches: Sequence[Batch], learning_rate: float) -> int:
        """One step; where steps have one batch, moving is recorded with the pass, and gradients are not added up."""
        if self.settings.accumulate > 1:
            return super().step(batches, learning_rate)
        self._set_rate(learning_rate)
        count = self._play(batches[0], None, self._read_and_move)
        self.moves += 1
        return count

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch on the CPU."""
        return self._play(batch, over, self._read)

    def _play(self, batch: Batch, over: int | None, work: Work) -> int:
        """Do some work with a batch on the CPU: play back its recording where there is one for its shape."""
        kind, own = shape_of(batch)
        chosen = self.shapes.choose(kind, own) if not self.notes else None
        batch = filled_up(batch, self.network.reader.tokenizer.pad_token_id or 0, chosen or own)
        flat = batch.flat().pin_memory()
        # Only once the optimiser has moved do its numbers, and gradients that are added up, have their places.
        if chosen is not None and self.moves and (kind, chosen) not in self.passes:
            self._record_pass(batch, flat, (kind, chosen), work)
        if chosen is None or (kind, chosen) not in self.passes:
            return work(batch.over(flat.to(self.network.device, non_blocking=True)), over)
        graph, place, count = self.passes[kind, chosen]
        place.copy_(flat, non_blocking=True)
        self.share.fill_(1 / (over or count))
        graph.replay()
        return count

    def move(self, learning_rate: float) -> None:
        """Move the weights, and set the gradients to zero where they lie."""
        self._set_rate(learning_rate)
        if self.recorded_move is None and self.moves and not self.notes:
            self.recorded_move = self._recorded(self._move)
        (self._move if self.recorded_move is None else self.recorded_move.replay)()
        self.moves += 1

    def _read_and_move(self, batch: Batch, over: int | torch.Tensor | None) -> int:
        """A whole step: gradients are written once, read twice and forgotten."""
        self.optimiser.zero_grad(set_to_none=True)  # a recording that broke off leaves some that were never computed
        count = self._read(batch, over)
        self._move(forget=True)
        return count

    def _make_ready(self) -> None:
        """Put the rate on the device: a recorded step reads it where it lies."""
        for group in self.optimiser.param_groups:
            group["capturable"] = True
            group["lr"] = torch.tensor(float(group["lr"]), device=self.network.device)

    def _set_rate(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"].fill_(learning_rate)

    def _record_pass(self, batch: Batch, flat: torch.Tensor, shape: tuple[Kind, Sizes], work: Work) -> None:
        place = torch.empty_like(flat, device=self.network.device)
        counts = []
        graph = self._recorded(lambda: counts.append(work(batch.over(place), self.share)))
        if graph is not None:
            self.passes[shape] = graph, place, counts[0]

    def _recorded(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
        """What the device is told to do, written down and not done; None where that cannot be, from then on."""
        try:
            return self._captured(work)
        except RuntimeError as error:
            said = str(error).strip().splitlines()[0]
            full = out_of_memory(error)
        why = "there is no memory for recordings" if full else f"this model cannot be recorded ({said})"
        self.notes.append(f"steps were launched one operation at a time: {why}")
        # No recording is played back from here on: the memory of those there are is for launched steps.
        self.recorded_move = None
        self.passes.clear()
        free_memory()
        return None

    def _captured(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph:
        """A recording; an error where a model asks the device on the way, or memory runs out."""
        graph = torch.cuda.CUDAGraph()
        collecting = gc.isenabled()
        if not self.passes:
            torch.cuda.empty_cache()  # a recording has memory of its own
        # Not torch.cuda.graph, which collects all garbage every time and takes longer over it than the recording does.
        # Garbage must wait: memory that is let go on the way breaks a recording off.
        gc.disable()
        try:
            with self.network.device, _MadeThere():
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
    """Which shapes are recorded, and to which one a batch is filled up."""

    def __init__(self) -> None:
        self.recorded: dict[Kind, list[Sizes]] = {}
        self.debts: dict[tuple[Kind, Sizes], float] = {}
        """By shape, what it has cost that it is not recorded, in steps."""

    def choose(self, kind: Kind, own: Sizes) -> Sizes | None:
        """The sizes a batch is filled up to, recorded from now on; None where it is to be launched one by one.

        >>> plan = ShapePlan()
        >>> [plan.choose((2,), sizes) for sizes in [(8, 20, 0, 0), (8, 16, 0, 0), (8, 36, 0, 0)]]
        [(16, 32, 0, 0), (16, 32, 0, 0), (16, 48, 0, 0)]
        """
        recorded = self.recorded.setdefault(kind, [])
        serving = [sizes for sizes in recorded if all(map(operator.ge, sizes, own))]
        best = min(serving, key=lambda sizes: sizes[0] * sizes[1], default=None)
        if best == own or sum(map(len, self.recorded.values())) >= MOST:
            return best
        if best is None and (recorded or not any(self.recorded.values())):
            # Larger than all before: it is to serve them, and those that come.
            own = tuple(size + -size % unit for size, unit in zip(map(max, own, *recorded, own), ROOM, strict=True))
        else:
            more = RECORDING if best is None else best[0] * best[1] / (own[0] * own[1]) - 1
            debt = self.debts[kind, own] = self.debts.get((kind, own), 0.0) + more
            if debt <= RECORDING:
                return best
        recorded.append(own)
        return own


def shape_of(batch: Batch) -> tuple[Kind, Sizes]:
    """What batches must have in common to be filled up alike, and the sizes to fill up to at least."""
    kind = len(batch.row), batch.cases, batch.places.shape[1], batch.widest
    sizes = *batch.ids.shape, batch.places.shape[-1], batch.tokens.shape[-1]
    return kind, tuple(size + -size % unit for size, unit in zip(sizes, UNITS, strict=True))


def filled_up(batch: Batch, padding: int, sizes: Sizes) -> Batch:
    """The same batch with so many texts, tokens of each, pieces of a place and pieces of an option.

    Texts are added that read one token of padding and that no option looks at; tokens that nobody attends to; and
    places of pieces that are nowhere.
    """
    own = *batch.ids.shape, batch.places.shape[-1], batch.tokens.shape[-1]
    texts, (more_texts, more_tokens, more_places, more_pieces) = own[0], map(operator.sub, sizes, own)
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
    """The learning rate of a step: up from zero over the warm-up, then down to zero at the last.

    >>> [round(rate(step, 10, TrainSettings(learning_rate=1.0, warmup=0.2)), 3) for step in (0, 1, 2, 6, 9)]
    [0.0, 0.5, 1.0, 0.5, 0.125]
    """
    rising = int(settings.warmup * steps)
    if step < rising:
        return settings.learning_rate * step / rising
    return settings.learning_rate * (steps - step) / max(1, steps - rising)


def lower_precision(device: torch.device, settings: TrainSettings) -> bool:
    """Whether the encoder trains in bfloat16; asked for where the device has none, that is said."""
    there = device.type == "cuda" and torch.cuda.is_bf16_supported()
    if settings.precision == "bfloat16" and not (there or device.type == "cpu"):
        raise BadInput(f"precision bfloat16: {device} has none; use float32")
    return settings.precision == "bfloat16" or (settings.precision == "auto" and there)
