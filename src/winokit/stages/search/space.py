"""The settings a search draws from, and which of them a trial gets.

Liu et al. (2020) draw learning rate {1e-5, 2e-5, 3e-5}, batch size {8, 16, 32, 64}, epochs {10, 20, 40} and a seed,
60 times; warm-up (0.06 of the steps) and weight decay (0.001) stand still. In their released scripts the seed that is
drawn reaches only the name of the run, so that there are but 36 different ones. Here it reaches the run.

What a trial gets depends on the search's seed and the trial's number, on nothing else: neither on which trials came
before it nor on who runs it. Every formalization has the same trials, so that they are compared on equal terms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np

from winokit.errors import BadInput, UnknownName
from winokit.methods.training.settings import TrainSettings

SAMPLERS = ("random", "grid")
WHOLE = ("batch_size", "epochs")
"""Settings that are counts."""
SEEDS = 1_000_000
BETWEEN = ".."
Number: TypeAlias = float | int


@dataclass(frozen=True)
class SearchValues:
    """A list of values, each as likely as the next."""

    values: tuple[Number, ...]

    def at(self, share: float) -> Number:
        """The value at a share of the list."""
        return self.values[int(share * len(self.values))]

    @property
    def ends(self) -> tuple[Number, ...]:
        """The values that must make sense for all to."""
        return self.values

    def __str__(self) -> str:
        return ",".join(f"{value:g}" for value in self.values)


@dataclass(frozen=True)
class SearchRange:
    """All values from low to high; their logarithms are equally likely."""

    low: Number
    high: Number

    def at(self, share: float) -> Number:
        """The value at a share of the way, in logarithms; whole where the ends are."""
        if isinstance(self.low, int) and isinstance(self.high, int):
            return min(self.high, int(self.low * ((self.high + 1) / self.low) ** share))
        return float(min(self.high, self.low * (self.high / self.low) ** share))

    @property
    def ends(self) -> tuple[Number, ...]:
        """The values that must make sense for all to."""
        return self.low, self.high

    def __str__(self) -> str:
        return f"{self.low:g}{BETWEEN}{self.high:g}"


@dataclass(frozen=True)
class SearchSpace:
    """What is varied, and how trials are drawn: at random, or without repetition until the grid is through."""

    learning_rate: SearchValues | SearchRange = SearchValues((1e-5, 2e-5, 3e-5))
    batch_size: SearchValues | SearchRange = SearchValues((8, 16, 32, 64))
    epochs: SearchValues | SearchRange = SearchValues((10, 20, 40))
    warmup: SearchValues | SearchRange = SearchValues((0.06,))
    weight_decay: SearchValues | SearchRange = SearchValues((0.001,))
    sampler: str = "random"

    def __post_init__(self) -> None:
        if self.sampler not in SAMPLERS:
            raise UnknownName("sampler", self.sampler, SAMPLERS)
        for name, some in self.parts:
            for value in some.ends:
                TrainSettings(**{name: value})  # type: ignore[arg-type]  # it complains of what makes no sense
            if self.sampler == "grid" and isinstance(some, SearchRange):
                raise BadInput(f"{name} {some}: a grid has no end of these; give a list (1e-5,2e-5), or draw at random")

    @classmethod
    def of(cls, sampler: str = "random", **written: str | None) -> SearchSpace:
        """The space as users write it: `1e-5,2e-5` for a list, `1e-6..1e-4` for a range; the paper's by default."""
        return cls(sampler=sampler, **{name: parse(name, text) for name, text in written.items() if text is not None})

    @property
    def parts(self) -> Iterator[tuple[str, SearchValues | SearchRange]]:
        """The settings by name, in an order that decides which random number is whose."""
        for field in fields(self):
            if field.name != "sampler":
                yield field.name, getattr(self, field.name)

    @property
    def varied(self) -> tuple[str, ...]:
        """The settings that are not the same in every trial."""
        return tuple(name for name, some in self.parts if isinstance(some, SearchRange) or len(some.values) > 1)

    @property
    def size(self) -> int | None:
        """How many different settings there are, seeds aside; None for a space without end."""
        sizes = [len(some.values) if isinstance(some, SearchValues) else None for _, some in self.parts]
        return None if None in sizes else math.prod(size for size in sizes if size is not None)

    def draw(self, seed: int, number: int) -> dict[str, Any]:
        """The settings of a trial, its own seed among them.

        One random number for each setting, varied or not: to hold one still leaves the others as they were.
        """
        rng = np.random.default_rng([seed, number])
        drawn: dict[str, Any] = {name: some.at(rng.random()) for name, some in self.parts}
        if self.sampler == "grid":
            drawn = self._of_grid(seed, number)
        return {**drawn, "seed": int(rng.integers(SEEDS))}

    def _of_grid(self, seed: int, number: int) -> dict[str, Any]:
        """The grid in random order, again in another once it is through."""
        size = self.size or 1
        turn, place = divmod(number, size)
        index = int(np.random.default_rng([seed, turn, size]).permutation(size)[place])
        drawn = {}
        for name, some in self.parts:
            assert isinstance(some, SearchValues)
            index, at = divmod(index, len(some.values))
            drawn[name] = some.values[at]
        return drawn

    def told(self) -> dict[str, str]:
        """The space as a user would write it."""
        return {"sampler": self.sampler, **{name: str(some) for name, some in self.parts}}


def parse(name: str, text: str) -> SearchValues | SearchRange:
    """A list or a range from what a user wrote.

    >>> parse("epochs", "10,20"), parse("learning_rate", "1e-6..1e-4")
    (Values(values=(10, 20)), Range(low=1e-06, high=0.0001))
    """
    option = f"--{name.replace('_', '-')} {text}"
    if BETWEEN in text:
        low, high = (_number(name, part, option) for part in text.split(BETWEEN, 1))
        if not 0 < low < high:
            raise BadInput(f"{option}: a range goes up from a number above 0, since it is drawn by logarithms")
        return SearchRange(low, high)
    values = tuple(_number(name, part, option) for part in text.split(","))
    for value in values:
        if values.count(value) > 1:
            raise BadInput(f"{option}: {value:g} stands there twice")
    return SearchValues(values)


def _number(name: str, text: str, option: str) -> Number:
    kind = int if name in WHOLE else float
    try:
        number = kind(text.strip())
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        what = "whole numbers" if kind is int else "numbers"
        example = "8,16" if kind is int else "1e-5,2e-5"
        other = "8..64" if kind is int else "1e-6..1e-4"
        raise BadInput(
            f"{option}: {what} with commas between ({example}) or a range ({other}) expected, found {text.strip()!r}"
        )
    return number
