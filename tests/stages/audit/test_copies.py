"""An audit of problems that are written three times says nothing surer: no interval, no p-value, no word."""

import hashlib
import re

import numpy as np
import pytest
from support.copies import check_not_surer, thrice

from winokit.problem import Card, Dataset, Problem
from winokit.results import ABOVE, AT, BELOW, UNKNOWN
from winokit.stages.audit.run import audit
from winokit.stages.audit.scored_rows import MetricRows
from winokit.stages.audit.verdict import headline_state

NAMES = ("Ana", "Ruth", "Eve", "Ida")
OF_COINS = {"p_chance", "p_best_of_10"}
"""Rows of the paper's lucky draw, a coin for each text that is read; beside them `p_null` counts units."""
COUNTS = {"n_to_beat_chance"}
"""Numbers of problems: of copies three times as many are needed."""


def alone(count: int, candidates: int = 2, **more) -> list[Problem]:
    """Problems without twins; the first candidate is right in two of three, or half as often as the rest."""
    return [
        Problem(f"Text {at} says that ", " did it.", NAMES[:candidates], at % 3 and at % candidates, **more)
        for at in range(count)
    ]


def groups_of(count: int, members: int, template: int = 1) -> list[Problem]:
    """Groups whose members exchange their answers; so many in a row come from one template."""
    return [
        Problem(
            f"Group {group} says that ",
            f" did number {member}.",
            NAMES[:members],
            (group + member) % members,
            group=f"g{group}",
            labels={"template": f"t{group // template}"},
        )
        for group in range(count)
        for member in range(members)
    ]


def questions(texts: int, each: int = 2) -> list[Problem]:
    """Yes/no questions on texts, on every second text one less."""
    return [
        Problem(f"Text {at} asks ", ".", ("no", "yes"), int((at + place) % 3 == 0), "she", query=name)
        for at in range(texts)
        for place, name in enumerate(NAMES[: each - at % 2])
    ]


def linked() -> list[Problem]:
    """Pairs, and single problems of the templates that the pairs are from."""
    singles = [
        Problem(f"Single {at} says that ", " left.", NAMES[:2], at % 3 % 2, labels={"template": f"t{at}"})
        for at in range(0, 24, 2)
    ]
    return groups_of(24, 2) + singles


def unequal() -> list[Problem]:
    """Units of 20, 8, 5 and 3 problems, and of one."""
    sizes = [20, 8, 8, 5, 3, 3, *[1] * 20]
    return [
        Problem(f"Unit {unit} text {at} says ", " ran.", NAMES[:2], (unit + at) % 3 % 2, labels={"template": unit})
        for unit, size in enumerate(sizes)
        for at in range(size)
    ]


SHAPES = {
    "pairs": groups_of(25, 2),
    "pairs of templates": groups_of(24, 2, template=3),
    "groups of three": groups_of(15, 3),
    "alone": alone(40),
    "four candidates": alone(40, 4),
    "questions": questions(24),
    "single questions and blanks": [*questions(20, 1), *alone(20)],
    "pairs and singles linked": linked(),
    "unequal units": unequal(),
}


def luck_of(*parts: object) -> float:
    """A number from 0 to 1 that is always the same for these."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:7], "big") / 2**56


def scorer(problems: list[Problem], share: float, silent: float, seed: int):
    """Who has about this share right, leaves some open, and answers every copy of a problem alike."""
    right_answers = {(problem.before, problem.after): problem.right for problem in problems}

    def score(before, after, candidates, pronoun):
        text = (re.sub(r"^Copy \d: ", "", before), after)
        if luck_of("silent", seed, text) < silent:
            return None
        right = right_answers.get(text)
        if right is None or luck_of("right", seed, text) >= share:
            others = [name for name in candidates if name != right]
            right = others[int(luck_of("other", seed, text) * len(others))]
        return [float(name == right) for name in candidates]

    return score


def is_no_stronger(before: str, after: str) -> bool:
    """Whether a fact says no more: nothing may become known, or be shown, that was not."""
    shown = {ABOVE, BELOW, "falls"}
    return before == after or after not in shown or (before, after) in {(UNKNOWN, AT)}


PROTOCOLS = ("accuracy", "luck", "groups", "dependence", "position", "switching", "strict")
"""Not those that look at words: "Copy 1:" puts some there."""


@pytest.mark.parametrize(("share", "silent"), [(0.5, 0.0), (0.68, 0.1), (0.9, 0.4), (1.0, 0.0)])
@pytest.mark.parametrize("shape", SHAPES)
def test_problems_that_are_written_three_times_make_no_audit_surer(shape, share, silent):
    data = Dataset(SHAPES[shape], Card("made up"))
    for seed in range(2):
        model = scorer(SHAPES[shape], share, silent, seed)
        once, copied = (
            [
                row
                for row in audit(problems, model=model, protocol=PROTOCOLS, out=None, cache="off").metrics
                if row.metric not in OF_COINS | COUNTS
            ]
            for problems in (data, thrice(data))
        )
        lucky = [[row for row in rows if row.metric.startswith("p_null")] for rows in (once, copied)]
        for row, copy in zip(*lucky, strict=True):
            assert copy.value >= row.value - 1e-9
        check_not_surer(*([row for row in rows if not row.metric.startswith("p_null")] for rows in (once, copied)))
        facts, copied_facts = (headline_state(MetricRows(rows)) for rows in (once, copied))
        for fact, said in facts.items():
            assert is_no_stronger(said, copied_facts[fact]), fact


def test_the_shapes_are_what_they_are_said_to_be():
    sizes = {name: Dataset(problems).units.sizes for name, problems in SHAPES.items()}
    assert set(sizes["pairs of templates"]) == {6}
    assert np.unique(sizes["unequal units"]).tolist() == [1, 3, 5, 8, 20]
    assert set(sizes["pairs and singles linked"]) == {2, 3}
