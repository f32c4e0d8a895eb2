"""What a release is asked to be: its name and licence, how large its splits, how they are drawn."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any

from winokit.errors import BadInput, UnknownName

SPLITS = ("random", "knowledge")
SIZES = ("xs", "s", "m", "l", "xl")
SCORING = "partial"
"""How a causal language model that is not fine-tuned reads a problem: what lm-evaluation-harness does on WinoGrande."""
FORMALIZATIONS = {
    "mc-mlm": "a softmax over how likely each candidate is where the blank is masked",
    "mc-sent": "a softmax over the texts with either candidate in the blank",
    "mc-sent-no-softmax": "the texts with either candidate, each with a loss of its own, compared at the end",
    "mc-sent-no-pair-loss": "the texts with either candidate, judged one by one in training, compared at the end",
    "p-sent": "yes or no: the text with a candidate in the blank",
    "p-span": "yes or no: a candidate's span and the pronoun's",
}
"""Liu et al.'s six, named here because the package that has them needs torch. A test holds the two together."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class ReleaseSettings:
    """Everything a release depends on but the problems themselves."""

    name: str | None = None
    """Default: the name on the kept problems' card."""
    version: str = "1.0"
    licence: str | None = None
    """Default: the licence on the card; where neither says, the card warns."""
    seed: int = 0
    dev: float = 0.1
    """A share of the kept problems, below 1, or a number of problems."""
    test: float = 0.15
    """The same; 0 for no hidden test."""
    sizes: tuple[int, ...] | None = None
    """Problems in each training size, the smallest first. Default: all, a quarter of it, and so on."""
    split: str = "random"
    complete: bool = False
    """Whether dev and test take only groups of which every member is kept."""
    singles: bool = False
    """Whether problems without a twin may stand in train_xs … xl."""
    formalization: str = "mc-mlm"
    date: str | None = None
    """When it is published. Never the clock's: the same input must give the same bytes."""

    def __post_init__(self) -> None:
        if self.split not in SPLITS:
            raise UnknownName("way to split", self.split, SPLITS)
        if self.formalization.partition("?")[0] not in FORMALIZATIONS:
            raise UnknownName("formalization", self.formalization, FORMALIZATIONS)
        if self.name is not None and not NAME.fullmatch(self.name):
            raise BadInput(f"--name {self.name}: a letter, then letters, digits, '.', '_' or '-' expected")
        if not self.version.strip() or not self.version.isprintable():
            raise BadInput("--version: a version expected, such as 1.0")
        if self.date is not None and not _is_date(self.date):
            raise BadInput(f"--date {self.date}: a date such as 2026-05-01 expected")
        for option, amount, least in (("dev", self.dev, 0), ("test", self.test, -1)):
            if not least < amount < math.inf or (amount >= 1 and amount != int(amount)):
                raise BadInput(f"--{option} {amount:g}: a share below 1 or a number of problems expected")
        _check_sizes(self.sizes)

    def to_json(self) -> dict[str, Any]:
        """The settings as JSON-ready values, but those that a manifest names by themselves."""
        apart = ("name", "version", "licence", "seed", "formalization", "date")
        return {key: value for key, value in asdict(self).items() if key not in apart}


def _is_date(text: str) -> bool:
    try:
        return DATE.fullmatch(text) is not None and bool(date.fromisoformat(text))
    except ValueError:
        return False


def _check_sizes(sizes: tuple[int, ...] | None) -> None:
    if sizes is None:
        return
    if not 1 <= len(sizes) <= len(SIZES):
        raise BadInput(f"--sizes: one to {len(SIZES)} numbers expected, found {len(sizes)}")
    if min(sizes) < 1 or list(sizes) != sorted(set(sizes)):
        raise BadInput(f"--sizes {','.join(map(str, sizes))}: rising numbers of problems expected")


def amount_of(text: str, option: str) -> float:
    """A share or a number of problems as users write it.

    >>> amount_of("0.1", "dev"), amount_of("15%", "dev"), amount_of("1,267", "dev")
    (0.1, 0.15, 1267.0)
    """
    try:
        return float(text[:-1]) / 100 if text.endswith("%") else float(text.replace(",", ""))
    except ValueError:
        raise BadInput(f"--{option} {text}: a share such as 0.1 or a number of problems expected") from None


def slug(name: str) -> str:
    """A name as files, tasks and Python modules can bear it.

    >>> slug("Wino-2.1")
    'wino_2_1'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")
