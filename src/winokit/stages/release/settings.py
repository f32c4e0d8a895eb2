"""Settings of a release: name and licence, sizes of splits, draws, and card."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from winokit.data.loading import DataLike
from winokit.errors import BadInput, UnknownName
from winokit.files import our_toml
from winokit.settings import Help, Settings
from winokit.stages.release.manifest import SIZES

READINGS = {
    "partial": ("log p(text after the blank | text before", "it with a candidate)"),
    "full": ("log p(whole text", "with a candidate)"),
}
"""The formula, on two lines, by which a causal language model that is not fine-tuned scores a candidate.

Partial scoring is that of lm-evaluation-harness on WinoGrande. Full scoring is that on BLiMP, for problems without a
blank or without text after it.
"""
_FACTS = our_toml("assets/release.toml")
FORMALIZATIONS: Mapping[str, str] = _FACTS["formalizations"]
LICENCES: Mapping[str, str] = _FACTS["licences"]
COLUMNS: Mapping[str, str] = _FACTS["columns"]
"""Descriptions of the formalizations, addresses of the hub's licences, and descriptions of the columns of Parquet."""
NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]*")
"""The pattern of a release's name."""
NOT_STATED = "not stated"
"""The licence of a release for which none is given."""
Given = DataLike | None
"""Problems as a user gives them: DATA, a dataset, a data frame, or none."""


@dataclass(frozen=True)
class ReleaseSettings(Settings):
    """Settings that determine a release, together with the problems and the secret.

    `dev`, `test` and `sizes` may be given as users write them: "15%", "1,267", "160,640,2560".
    """

    name: Annotated[str | None, Help("What it is called. Default: the name of the data.")] = None
    version: Annotated[str, Help("Its version.")] = "1.0"
    licence: Annotated[str | None, Help("Its licence. Default: that of the data, if stated.", also="license")] = None
    date: Annotated[str | None, Help("The publication date, for the card.", "YYYY-MM-DD", section="release")] = None
    """It is never set from the clock, since the same input must give the same bytes."""
    dev: Annotated[float, Help("A share of the kept problems, or a number of them.", above=0, typed=str)] = 0.1
    test: Annotated[
        float,
        Help("A share of the kept problems for the hidden test, or a number; 0 for none.", least=0, typed=str),
    ] = 0.15
    sizes: Annotated[
        tuple[int, ...] | None,
        Help(
            "Problems in each training size, the smallest first: 160,640,2560. Default: all, a quarter, and so on.",
            typed=str | None,
        ),
    ] = None
    split: Annotated[
        Literal["random", "knowledge"],
        Help(
            "random, or knowledge: no special word with a candidate in two of train, dev and test.",
            noun="way to split",
            section="release",
        ),
    ] = "random"
    complete: Annotated[
        bool, Help("In dev and test, use only groups of which every problem was kept.", section="release")
    ] = False
    singles: Annotated[bool, Help("Also put problems without a twin into the training sizes.", section="release")] = (
        False
    )
    formalization: Annotated[
        str,
        Help(
            "Formalization for fine-tuned models: mc-mlm, mc-sent, mc-sent-no-softmax, mc-sent-no-pair-loss, p-sent, "
            "p-span or mc-lm. Causal models are scored by partial scoring.",
            "NAME",
            section="release",
        ),
    ] = "mc-mlm"
    seed: Annotated[int, Help("Seed for the public parts: the order of dev and training.")] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dev", _check_amount("dev", self.dev))
        object.__setattr__(self, "test", _check_amount("test", self.test))
        super().__post_init__()
        object.__setattr__(self, "sizes", _check_sizes(self.sizes))
        if self.formalization.partition("?")[0] not in FORMALIZATIONS:
            raise UnknownName("formalization", self.formalization, FORMALIZATIONS)
        if self.name is not None and not NAME.fullmatch(self.name):
            raise BadInput(f"--name {self.name}: expected a letter, then letters, digits, '.', '_' or '-'")
        if not self.version.strip() or not self.version.isprintable():
            raise BadInput("--version: expected a version, such as 1.0")
        if self.date is not None and not _is_iso_date(self.date):
            raise BadInput(f"--set date: expected a date such as 2026-05-01, found {self.date!r}")

    def to_json(self) -> dict[str, Any]:
        """Return the settings of splits and sizes as JSON-ready values.

        The others have keys of their own in the manifest.
        """
        return {key: getattr(self, key) for key in ("dev", "test", "sizes", "split", "complete", "singles")}


@dataclass(frozen=True)
class ReleaseExtras(Settings):
    """Further content for the card, and settings of the hidden labels."""

    audit: Annotated[
        tuple[Path, ...], Help("A run of winokit audit, for the card; repeatable.", "RUN", section="release")
    ] = ()
    collection: Annotated[
        Path | None, Help("An export of winokit collect, for the card.", "DIR", section="release")
    ] = None
    about: Annotated[Path | None, Help("Your own Markdown text, for the card.", "FILE", section="release")] = None
    hidden: Annotated[Path | None, Help("Where to put the test's answers. Default: DIR.hidden.", "PATH")] = None
    secret: Annotated[
        Path | bytes | None,
        Help(
            "64 hexadecimal digits that determine splits and the test's order. Default: DIR.hidden/secret, "
            "or a new one.",
            "FILE",
            typed=Path | None,
            section="release",
        ),
    ] = None
    """A file with the digits, or the 32 bytes themselves. None uses the stored secret, or makes a new one."""
    reveal: Annotated[
        bool,
        Help("Publish problems that other releases of yours keep hidden, and say so in the card.", section="release"),
    ] = False


def _is_iso_date(text: str) -> bool:
    """Whether a text is a date such as 2026-05-01."""
    try:
        return str(date.fromisoformat(text)) == text
    except ValueError:
        return False


def _check_amount(name: str, value: float | str) -> float:
    """Return a share below 1 or a number of problems, parsed from text.

    `name` is the option, for the message. Raises BadInput if the value is neither.

    >>> _check_amount("dev", "0.1"), _check_amount("dev", "15%"), _check_amount("dev", "1,267")
    (0.1, 0.15, 1267.0)
    """
    expected = f"{name}: expected a share below 1 or a whole number of problems, found {value}"
    try:
        if isinstance(value, str):
            value = float(value[:-1]) / 100 if value.endswith("%") else float(value.replace(",", ""))
    except ValueError:
        raise BadInput(expected) from None
    if not isinstance(value, (int, float)):
        return value  # `Settings` refuses it by its type
    has_fraction = abs(value) >= 1 and value % 1 != 0
    if not math.isfinite(value) or has_fraction:
        raise BadInput(expected)
    return value


def _check_sizes(value: tuple[int, ...] | str | None) -> tuple[int, ...] | None:
    """Return the numbers of problems in the training sizes, parsed from text.

    Raises BadInput unless they are rising whole numbers, and no more than there are sizes. None stays None.
    """
    if value is None:
        return None
    if isinstance(value, str):
        parts = [part.strip() for part in value.split(",")]
    else:
        parts = list(map(str, value))
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise BadInput(f"--sizes {value}: expected numbers with commas between, such as 160,640,2560")
    sizes = tuple(map(int, parts))
    if not 1 <= len(sizes) <= len(SIZES):
        raise BadInput(f"--sizes: expected one to {len(SIZES)} numbers, found {len(sizes)}")
    if min(sizes) < 1 or list(sizes) != sorted(set(sizes)):
        raise BadInput(f"--sizes {','.join(map(str, sizes))}: expected rising numbers of problems")
    return sizes


def hub_licence(licence: str) -> str:
    """Return the hub's identifier of a licence.

    It is `unknown` if none is stated, and `other` for a licence that the hub does not have.

    >>> hub_licence("CC BY 4.0"), hub_licence("not stated"), hub_licence("CC BY")
    ('cc-by-4.0', 'unknown', 'other')
    """
    if licence == NOT_STATED:
        return "unknown"
    name = re.sub(r"[\s_]+", "-", licence.strip().casefold())
    return name if name in LICENCES else "other"
