"""The settings from which a search draws, and the draw for each trial.

Liu et al. (2020) draw learning rate {1e-5, 2e-5, 3e-5}, batch size {8, 16, 32, 64}, epochs {10, 20, 40} and a seed,
60 times. Warm-up (0.06 of the steps) and weight decay (0.001) are fixed. In their released scripts the drawn seed is
used only in the name of the run, so that there are only 36 different ones. Here the run uses it.

The settings of a trial depend only on the search's seed and the trial's number, not on earlier trials or on the worker.
Every formalization has the same trials, so that they are compared on equal terms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Annotated, Any, Literal, TypeAlias

from winokit.errors import BadInput
from winokit.methods.training.settings import TrainSettings
from winokit.settings import Help, Settings, spelling

Sampler = Literal["random", "grid"]
WHOLE = ("batch_size", "epochs")
"""Settings that are counts."""
SEEDS = 1_000_000
BETWEEN = ".."
Number: TypeAlias = float | int
Values: TypeAlias = str | Number | Sequence[Number]


@dataclass(frozen=True)
class SearchValues:
    """Values of a setting: a list, or the ends of a range.

    Values of a range are drawn on a logarithmic scale.
    """

    values: tuple[Number, ...]
    is_range: bool = False

    def at(self, share: float) -> Number:
        """Return the value at a share, from 0 to 1, of the list or of the range.

        It is an integer if the ends of the range are integers.
        """
        if not self.is_range:
            return self.values[int(share * len(self.values))]
        low, high = self.values
        if isinstance(low, int) and isinstance(high, int):
            return min(high, int(low * ((high + 1) / low) ** share))
        return float(min(high, low * (high / low) ** share))

    def __str__(self) -> str:
        separator = BETWEEN if self.is_range else ","
        return separator.join(f"{value:g}" for value in self.values)


@dataclass(frozen=True)
class SearchSpace(Settings):
    """Values of the settings that a search varies, drawn at random or as a grid.

    Values are texts such as `1e-5,2e-5` for a list and `1e-6..1e-4` for a range. In Python they may also be a number or
    a list of numbers. The defaults are the paper's.
    """

    learning_rate: Annotated[Values, Help("1e-5,2e-5 or 1e-6..1e-4.", "VALUES", above=0, typed=str)] = "1e-5,2e-5,3e-5"
    batch_size: Annotated[Values, Help("Problems per batch.", "VALUES", least=1, typed=str)] = "8,16,32,64"
    epochs: Annotated[Values, Help("Passes over the data.", "VALUES", least=1, typed=str)] = "10,20,40"
    warmup: Annotated[
        Values,
        Help("Shares of the steps used for warm-up.", "VALUES", least=0, below=1, typed=str, section="training"),
    ] = "0.06"
    weight_decay: Annotated[
        Values, Help("Weight decay, on every weight.", "VALUES", least=0, typed=str, section="training")
    ] = "0.001"
    sampler: Annotated[
        Sampler, Help("random, or grid: each combination once, in random order.", section="training")
    ] = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, part in self.parts.items():
            for value in part.values:
                TrainSettings(**{name: value})  # type: ignore[arg-type]  # raises BadInput for a value out of bounds
            if self.sampler == "grid" and part.is_range:
                raise BadInput(f"{name} {part}: a grid needs single values; give a list (1e-5,2e-5), or draw at random")

    @cached_property
    def parts(self) -> dict[str, SearchValues]:
        """Values of each setting, in the order of their random numbers."""
        names = [field.name for field in fields(self) if field.name != "sampler"]
        return {name: parse(name, getattr(self, name)) for name in names}

    @property
    def varied(self) -> tuple[str, ...]:
        """Names of the settings that differ between trials."""
        return tuple(name for name, part in self.parts.items() if len(part.values) > 1)

    @property
    def size(self) -> int | None:
        """Number of different settings, or None if a setting is a range.

        Seeds are not counted.
        """
        parts = self.parts.values()
        if any(part.is_range for part in parts):
            return None
        return math.prod(len(part.values) for part in parts)

    def draw(self, seed: int, number: int) -> dict[str, Any]:
        """Draw the settings of a trial and its seed, by name.

        `seed` is that of the search, and `number` that of the trial, from 0. Each setting has a random number, even if
        it has only one value: fixing one setting does not change the others.
        """
        import numpy as np  # here, so that help does not wait for it

        rng = np.random.default_rng([seed, number])
        trial_settings: dict[str, Any] = {name: part.at(rng.random()) for name, part in self.parts.items()}
        if self.sampler == "grid":  # in random order, and then again in another order
            size = self.size or 1
            round_number, grid_index = divmod(number, size)
            grid_order = np.random.default_rng([seed, round_number, size]).permutation(size)
            remaining_index = int(grid_order[grid_index])
            for name, part in self.parts.items():
                remaining_index, value_index = divmod(remaining_index, len(part.values))
                trial_settings[name] = part.values[value_index]
        return {**trial_settings, "seed": int(rng.integers(SEEDS))}

    def told(self) -> dict[str, str]:
        """Return the sampler and the values of each setting, as texts that a user would write."""
        value_texts = {name: str(part) for name, part in self.parts.items()}
        return {"sampler": self.sampler, **value_texts}


def parse(name: str, values: Values) -> SearchValues:
    """Parse the values of a setting: a list or a range as text, or numbers.

    `name` is the setting. Raises BadInput for other texts, repeated values, and ranges that do not rise from above 0.

    >>> parse("epochs", "10,20") == parse("epochs", [10, 20])
    True
    >>> parse("learning_rate", "1e-6..1e-4")
    SearchValues(values=(1e-06, 0.0001), is_range=True)
    """
    text = ",".join(map(str, values)) if isinstance(values, (list, tuple)) else str(values)
    spelled = spelling(SearchSpace, name)
    option = f"{spelled}={text}" if spelled.startswith("--set ") else f"{spelled} {text}"
    if BETWEEN in text:
        low, high = (_parse_number(name, part, option) for part in text.split(BETWEEN, 1))
        if not 0 < low < high:
            raise BadInput(f"{option}: a range must rise from above 0, since it is drawn on a logarithmic scale")
        return SearchValues((low, high), is_range=True)
    numbers = tuple(_parse_number(name, part, option) for part in text.split(","))
    for number in numbers:
        if numbers.count(number) > 1:
            raise BadInput(f"{option}: {number:g} is given twice")
    return SearchValues(numbers)


def _parse_number(name: str, text: str, option: str) -> Number:
    """Return a value of a setting, as an integer for counts.

    `option` is the option with its text, for messages. Raises BadInput if the text is no such number.
    """
    is_whole = name in WHOLE
    try:
        number = int(text) if is_whole else float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        if is_whole:
            expected = "whole numbers with commas between (8,16) or a range (8..64)"
        else:
            expected = "numbers with commas between (1e-5,2e-5) or a range (1e-6..1e-4)"
        raise BadInput(f"{option}: expected {expected}, found {text.strip()!r}")
    return number
