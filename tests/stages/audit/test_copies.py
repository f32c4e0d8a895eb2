"""An audit of problems that are written three times says nothing surer: no interval, no p-value, no word."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np
import pytest
from support.copies import check_not_surer, thrice

from winokit.problem import Card, Dataset, Problem
from winokit.results import ABOVE, BELOW, Metric
from winokit.stages.audit.run import audit
from winokit.stages.audit.scored_rows import FALLS, MetricRows
from winokit.stages.audit.verdict import headline_state

NAMES = ("Ana", "Ruth", "Eve", "Ida")
METRICS_OF_COINS = {"p_chance", "p_best_of_10"}
"""Rows of the paper's lucky draw, a coin for each text that is read; beside them `p_null` counts units."""
PROBLEM_COUNTS = {"n_to_beat_chance"}
"""Numbers of problems: of copies three times as many are needed."""


def make_singles(count: int, candidate_count: int = 2) -> list[Problem]:
    """Problems without twins.

    The first candidate is right in two of three, or half as often as the rest.
    """
    problems = []
    for index in range(count):
        answer = index % candidate_count if index % 3 else 0
        problems.append(Problem(f"Text {index} says that ", " did it.", NAMES[:candidate_count], answer))
    return problems


def make_groups(count: int, size: int, groups_per_template: int = 1) -> list[Problem]:
    """Groups whose members exchange their answers, some of them in a row from one template."""
    problems = []
    for group in range(count):
        before = f"Group {group} says that "
        labels = {"template": f"t{group // groups_per_template}"}
        for member in range(size):
            after = f" did number {member}."
            answer = (group + member) % size
            problems.append(Problem(before, after, NAMES[:size], answer, group=f"g{group}", labels=labels))
    return problems


def make_questions(text_count: int, most_questions: int = 2) -> list[Problem]:
    """Yes/no questions on texts, on every second text one less."""
    problems = []
    for text in range(text_count):
        question_count = most_questions - text % 2
        for place, name in enumerate(NAMES[:question_count]):
            answer = int((text + place) % 3 == 0)
            problems.append(Problem(f"Text {text} asks ", ".", ("no", "yes"), answer, "she", query=name))
    return problems


def make_linked_problems() -> list[Problem]:
    """Pairs, and single problems of the templates that the pairs are from."""
    problems = make_groups(24, 2)
    for index in range(0, 24, 2):
        labels = {"template": f"t{index}"}
        problems.append(Problem(f"Single {index} says that ", " left.", NAMES[:2], index % 3 % 2, labels=labels))
    return problems


def make_unequal_units() -> list[Problem]:
    """Units of 20, 8, 5 and 3 problems, and of one."""
    sizes = [20, 8, 8, 5, 3, 3, *[1] * 20]
    problems = []
    for unit, size in enumerate(sizes):
        for index in range(size):
            before = f"Unit {unit} text {index} says "
            answer = (unit + index) % 3 % 2
            problems.append(Problem(before, " ran.", NAMES[:2], answer, labels={"template": unit}))
    return problems


SHAPES = {
    "pairs": make_groups(25, 2),
    "pairs of templates": make_groups(24, 2, groups_per_template=3),
    "groups of three": make_groups(15, 3),
    "alone": make_singles(40),
    "four candidates": make_singles(40, 4),
    "questions": make_questions(24),
    "single questions and blanks": [*make_questions(20, 1), *make_singles(20)],
    "pairs and singles linked": make_linked_problems(),
    "unequal units": make_unequal_units(),
}


def hash_to_unit(*parts: object) -> float:
    """A number from 0 to 1 that is always the same for these parts."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def make_scorer(problems: list[Problem], share: float, silent: float, seed: int):
    """Make a scorer that has about this share right and leaves some open.

    It answers every copy of a problem alike.
    """
    right_answers = {(problem.before, problem.after): problem.right for problem in problems}

    def score(before, after, candidates, pronoun):
        text = (re.sub(r"^Copy \d: ", "", before), after)
        if hash_to_unit("silent", seed, text) < silent:
            return None
        choice = right_answers.get(text)
        if choice is None or hash_to_unit("right", seed, text) >= share:
            wrong_names = [name for name in candidates if name != choice]
            index = int(hash_to_unit("other", seed, text) * len(wrong_names))
            choice = wrong_names[index]
        return [float(name == choice) for name in candidates]

    return score


def is_no_stronger(state_once: str, state_copied: str) -> bool:
    """Whether a fact says no more of copies: nothing may become known, or be shown, that was not."""
    is_shown = state_copied in (ABOVE, BELOW, FALLS)
    return state_once == state_copied or not is_shown


PROTOCOLS = ("accuracy", "luck", "groups", "dependence", "position", "switching", "strict")
"""Not those that look at words: "Copy 1:" puts some there."""


def audit_units(problems: Dataset, model) -> list[Metric]:
    """Rows of an audit that do not count single problems."""
    run = audit(problems, model=model, protocol=PROTOCOLS, out=None, cache="off")
    return [row for row in run.metrics if row.metric not in METRICS_OF_COINS | PROBLEM_COUNTS]


def is_luck(row: Metric) -> bool:
    return row.metric.startswith("p_null")


def check_not_luckier(rows: Sequence[Metric], copied_rows: Sequence[Metric]) -> None:
    """Assert that luck does not become less likely by copies."""
    lucky_rows = filter(is_luck, rows)
    lucky_copies = filter(is_luck, copied_rows)
    for row, copied in zip(lucky_rows, lucky_copies, strict=True):
        assert copied.value >= row.value - 1e-9


def check_state_no_stronger(rows: Sequence[Metric], copied_rows: Sequence[Metric]) -> None:
    """Assert that the verdict on copies says no more of any fact."""
    state = headline_state(MetricRows(rows))
    copied_state = headline_state(MetricRows(copied_rows))
    for fact, value in state.items():
        assert is_no_stronger(value, copied_state[fact]), fact


@pytest.mark.parametrize(("share", "silent"), [(0.5, 0.0), (0.68, 0.1), (0.9, 0.4), (1.0, 0.0)])
@pytest.mark.parametrize("shape", SHAPES)
def test_problems_that_are_written_three_times_make_no_audit_surer(shape, share, silent):
    data = Dataset(SHAPES[shape], Card("made up"))
    copies = thrice(data)
    for seed in range(2):
        model = make_scorer(SHAPES[shape], share, silent, seed)
        rows = audit_units(data, model)
        copied_rows = audit_units(copies, model)
        tested_rows = [row for row in rows if not is_luck(row)]
        tested_copies = [row for row in copied_rows if not is_luck(row)]
        check_not_luckier(rows, copied_rows)
        check_not_surer(tested_rows, tested_copies)
        check_state_no_stronger(rows, copied_rows)


def test_the_shapes_are_what_they_are_said_to_be():
    sizes = {name: Dataset(problems).units.sizes for name, problems in SHAPES.items()}
    assert set(sizes["pairs of templates"]) == {6}
    assert np.unique(sizes["unequal units"]).tolist() == [1, 3, 5, 8, 20]
    assert set(sizes["pairs and singles linked"]) == {2, 3}
