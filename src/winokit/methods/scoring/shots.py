"""Solved problems before each question (`--shots k`): never the problem itself, never one of its twins.

Filled texts with a blank line between them, as lm-evaluation-harness puts them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from winokit.errors import BadInput
from winokit.methods.transforms.substitute import substitute
from winokit.problem import Problem


def choose_shots(pool: Sequence[Problem], problems: Sequence[Problem], k: int, seed: int) -> list[tuple[Problem, ...]]:
    """For each problem the first `k` of one shuffled pool that are neither it nor in its group.

    One shuffle for all: most problems then share their shots, and a causal model reads them once.
    """
    if not k:
        return [()] * len(problems)
    solved = [problem for problem in pool if problem.answer is not None and problem.query is None]
    order = np.random.default_rng(seed).permutation(len(solved))
    chosen = []
    for problem in problems:
        shots = _first(k, (solved[i] for i in order), problem)
        if len(shots) < k:
            raise BadInput(f"{k} shots asked for, and only {len(shots)} solved problems are not twins of {problem.id}")
        chosen.append(shots)
    return chosen


def _first(k: int, pool: Iterable[Problem], problem: Problem) -> tuple[Problem, ...]:
    shots: list[Problem] = []
    for other in pool:
        same = other.text == problem.text or (other.group is not None and other.group == problem.group)
        if not same:
            shots.append(other)
            if len(shots) == k:
                break
    return tuple(shots)


def shots_text(shots: Sequence[Problem], style: str) -> str:
    """The solved problems as text, to be put before a question; empty without shots."""
    return "".join(f"{substitute(shot, shot.right or '', style).text}\n\n" for shot in shots)
