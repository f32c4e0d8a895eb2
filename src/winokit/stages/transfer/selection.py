"""What is chosen on what: the papers' rules, and what they forbid.

Sakaguchi et al. (2019) choose hyper-parameters for WSC on PDP and the other way round, for DPR and COPA on their
training sets, and for Winogender, which has a test set alone, on WinoGrande's dev set. Never on the evaluated set, nor
on one that overlaps it (`methods.overlap`): SuperGLUE-WSC's training set has 215 of WSC273's problems. With nothing to
choose on, nothing is chosen: one setting, its last weights.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from winokit.errors import BadInput
from winokit.methods.training.data import apart
from winokit.problem import Dataset

RULES: tuple[tuple[str, str, str], ...] = (
    (r"wsc(273)?", r"pdp", "PDP"),
    (r"pdp", r"wsc(273)?", "WSC"),
    (r"dpr/test.*", r"dpr/train.*", "DPR's training set"),
    (r"copa/.*test.*", r"copa/.*dev.*|superglue-copa/train.*", "COPA's dev set, which is its training set"),
    (r"superglue-copa/.*", r"superglue-copa/train.*", "SuperGLUE-COPA's training set"),
    (r"superglue-wsc/.*", r"superglue-wsc/train.*", "SuperGLUE-WSC's training set"),
    (r"(winogender|winobias|knowref)/.*", r"winogrande/dev.*", "WinoGrande's dev set"),
)
"""A test set's name, the name of what is chosen on for it, and what that is. KnowRef's follows Winogender's: the public
file is a test set alone."""


@dataclass(frozen=True)
class NamedData:
    """A dataset under the name it has in tables."""

    name: str
    data: Dataset


@dataclass(frozen=True)
class TransferTarget:
    """A test set and what is chosen on for it; None for nothing."""

    name: str
    data: Dataset
    chosen_on: NamedData | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    """How many problems were left out of what is chosen on, by kind of overlap with the test set."""


def with_choices(
    tests: Sequence[NamedData],
    *,
    own: Mapping[str, NamedData],
    pool: Sequence[NamedData] = (),
    by_rule: bool = False,
    drop_overlap: bool = False,
) -> tuple[TransferTarget, ...]:
    """Each test set with what is chosen on for it, after a look for what would be cheating.

    Parameters
    ----------
    own
        By a test set's name, what was given for it.
    pool
        What may be chosen on for any: one set, or by the papers' rules several, test sets among them.
    drop_overlap
        Leave what overlaps a test set out of what is chosen on for it, under a name that says so.
    """
    for name in own:
        if name not in {test.name for test in tests}:
            raise BadInput(f"--choose {name}=…: no test set of that name; known: {', '.join(t.name for t in tests)}")
    if len(pool) > 1 and not by_rule:
        told = ", ".join(one.name for one in pool)
        raise BadInput(
            f"several sets to choose on ({told}): say which test set each is for, TEST=DATA, or add --choose papers"
        )
    found = []
    for test in tests:
        dropped: Mapping[str, int] = {}
        chosen_on = own.get(test.name)
        if chosen_on is None and by_rule:
            chosen_on = _by_rule(test, [*pool, *tests])
        elif chosen_on is None and pool:
            chosen_on = pool[0]
        if chosen_on is not None:
            chosen_on, dropped = _choice(chosen_on, test, drop_overlap)
        found.append(TransferTarget(test.name, test.data, chosen_on, dropped))
    return tuple(found)


def _by_rule(test: NamedData, known: Sequence[NamedData]) -> NamedData:
    card = test.data.card.name.casefold()
    for pattern, wanted, told in RULES:
        if re.fullmatch(pattern, card):
            for one in known:
                if re.fullmatch(wanted, one.data.card.name.casefold()):
                    return one
            raise BadInput(f"{test.name}: the papers choose on {told}: give it with --choose DATA, or {test.name}=DATA")
    raise BadInput(f"{test.name}: the papers have no rule for {test.data.card.name}; say --choose {test.name}=DATA")


def _choice(chosen_on: NamedData, test: NamedData, drop_overlap: bool) -> tuple[NamedData, Mapping[str, int]]:
    """What is chosen on for a test set, apart from it, and what was left out; choosing on what is tested is refused."""
    hidden = sum(problem.answer is None for problem in chosen_on.data)
    if hidden:
        raise BadInput(f"{chosen_on.name}: {hidden:,} of {len(chosen_on.data):,} problems have no answer to choose on")
    kept, counts = apart(chosen_on.data, test.data, "choose on", drop_overlap)
    return (NamedData(f"{chosen_on.name} without {test.name}", kept) if counts else chosen_on), counts
