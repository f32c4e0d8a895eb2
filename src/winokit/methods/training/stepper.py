"""What a step does to the weights: gradients of its batches added up, clipped, and one move of the optimiser.

The optimiser is AdamW, under a learning rate that rises and falls in straight lines, in the precision a device is good
at.

A step of an encoder is some thousands of small kernels. At the batch sizes of the papers a fast GPU is done with each
before Python has launched the next. So on a GPU batches are filled up to one of a few shapes; what the GPU is told for
a shape is recorded the second time the shape is seen (a CUDA graph), and from then on a step is one copy and two
launches. Filling up changes nothing that is computed but the last bits: nobody attends to the filling, and no option
is there.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch.nn.functional import pad
from torch.nn.utils import clip_grad_norm_
from torch.overrides import TorchFunctionMode

from winokit.errors import BadInput
from winokit.methods.formalizations.batch import NOWHERE, Batch
from winokit.methods.formalizations.network import Network
from winokit.methods.training.settings import TrainSettings
from winokit.models.hf import out_of_memory

EPSILON = 1e-8
FUSED = ("cuda", "cpu")
"""Devices on which a step of all weights is one kernel."""
ROWS, LENGTH, PIECES = 8, 4, 4
"""Texts, their tokens and the pieces of an option are filled up to multiples of these."""
MOST = 64
"""Shapes that are recorded; rarer ones than these are launched operation by operation."""


class Stepper:
    """A network and its optimiser, launched operation by operation."""

    def __init__(self, network: Network, settings: TrainSettings) -> None:
        self.network, self.settings = network, settings
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
        self._make_ready()

    def working(self) -> AbstractContextManager[object]:
        """Where steps are to be taken."""
        return nullcontext()

    def load(self, state: dict[str, Any]) -> None:
        """Put the optimiser where a checkpoint says it stood."""
        self.optimiser.load_state_dict(state)
        self._make_ready()

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
        self._clip()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)

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

    def _clip(self) -> None:
        if self.settings.clip:
            clip_grad_norm_(self.network.parameters(), self.settings.clip)


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
        self.records = True
        """False once a recording failed."""
        self.seen: dict[tuple[object, ...], int] = {}
        self.passes: dict[tuple[object, ...], tuple[torch.cuda.CUDAGraph, torch.Tensor, int]] = {}
        """By shape a recorded pass, where it reads its batch, and over how many its loss is a mean."""
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

    def add(self, batch: Batch, over: int | None = None) -> int:
        """Add the gradients of a batch on the CPU."""
        batch = filled_up(batch, self.network.reader.tokenizer.pad_token_id or 0)
        shape = batch.shape
        self.seen[shape] = self.seen.get(shape, 0) + 1
        flat = batch.flat().pin_memory()
        # Only once the optimiser has moved do all gradients have the places that a recording adds to.
        if shape not in self.passes and self.moves and self.seen[shape] > 1 and len(self.passes) < MOST:
            self._record_pass(batch, flat)
        if shape not in self.passes:
            return self._read(batch.over(flat.to(self.network.device, non_blocking=True)), over)
        graph, place, count = self.passes[shape]
        place.copy_(flat, non_blocking=True)
        self.share.fill_(1 / (over or count))
        graph.replay()
        return count

    def move(self, learning_rate: float) -> None:
        """Move the weights, and set the gradients to zero where they lie."""
        self._set_rate(learning_rate)
        if self.recorded_move is None and self.moves:
            self.recorded_move = self._recorded(self._move)
        if self.recorded_move is None:
            self._move()
        else:
            self.recorded_move.replay()
        self.moves += 1

    def _move(self) -> None:
        self._clip()
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=False)

    def _make_ready(self) -> None:
        """Put the rate on the device: a recorded step reads it where it lies."""
        for group in self.optimiser.param_groups:
            group["capturable"] = True
            group["lr"] = torch.tensor(float(group["lr"]), device=self.network.device)

    def _set_rate(self, learning_rate: float) -> None:
        for group in self.optimiser.param_groups:
            group["lr"].fill_(learning_rate)

    def _record_pass(self, batch: Batch, flat: torch.Tensor) -> None:
        place = torch.empty_like(flat, device=self.network.device)
        counts = []
        graph = self._recorded(lambda: counts.append(self._read(batch.over(place), self.share)))
        if graph is not None:
            self.passes[batch.shape] = (graph, place, counts[0])

    def _recorded(self, work: Callable[[], None]) -> torch.cuda.CUDAGraph | None:
        """What the device is told to do, written down and not done; None where a model asks the device on the way."""
        if not self.records:
            return None
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self.pool, stream=self.stream), self.network.device, _MadeThere():
                work()
        except RuntimeError as error:
            if out_of_memory(error):
                raise
            self.records = False
            torch.cuda.synchronize(self.network.device)
            # A recording that broke off leaves the generator as if it went on, and the next dropout would fail.
            generator = torch.cuda.default_generators[torch.cuda.current_device()]
            generator.graphsafe_set_state(generator.clone_state())
            said = str(error).strip().splitlines()[0]
            self.notes.append(f"steps were launched one operation at a time: this model cannot be recorded ({said})")
            return None
        return graph


def filled_up(batch: Batch, padding: int) -> Batch:
    """The same batch in one of a few shapes.

    Texts are added that read one token of padding and that no option looks at; tokens that nobody attends to; and
    places of pieces that are nowhere.
    """
    texts, length = batch.ids.shape
    more_texts, more_tokens = -texts % ROWS, -length % LENGTH
    attention = pad(batch.attention, (0, more_tokens, 0, more_texts))
    if more_texts:
        attention[texts:, 0] = 1
    segments = None if batch.segments is None else pad(batch.segments, (0, more_tokens, 0, more_texts))
    return replace(
        batch,
        ids=pad(batch.ids, (0, more_tokens, 0, more_texts), value=padding),
        attention=attention,
        segments=segments,
        places=pad(batch.places, (0, -batch.places.shape[-1] % PIECES), value=NOWHERE),
        tokens=pad(batch.tokens, (0, -batch.tokens.shape[-1] % PIECES), value=NOWHERE),
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
