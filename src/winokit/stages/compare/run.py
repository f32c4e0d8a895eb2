"""Paired tests between the scorers of several runs, on the problems they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations

import numpy as np

from winokit.data.runs import Run
from winokit.drawing.scorers import scorers
from winokit.errors import BadInput
from winokit.methods.metrics import Comparison, all_right_chance, compare, complete_groups
from winokit.problem import Dataset, Problem

ORIGINAL = "original"


def compare_runs(runs: Mapping[str, Run]) -> dict[tuple[str, str, str], Comparison]:
    """Every pair of scorers on accuracy and, where there are groups, on group accuracy.

    Problems are matched by id, which depends on their text alone: runs over different files of the same problems can be
    compared. Runs that share no problem cannot. Abstentions are settled by guesses, on either side: who answers more
    often is not better for that.
    """
    problems: dict[str, Problem] = {p.id: p for run in runs.values() for p in run.dataset if p.answer is not None}
    right = _right(runs, problems)
    if len(right) < 2:
        raise BadInput("two scorers or more are needed for a comparison: name two runs, or one with two models")
    sizes = Counter(problem.group for problem in problems.values() if problem.group is not None)
    clusters = dict(zip(problems, Dataset(problems.values()).clusters, strict=True))
    found: dict[tuple[str, str, str], Comparison] = {}
    for first, second in combinations(right, 2):
        shared = [key for key in right[first] if key in right[second]]
        if not shared:
            raise BadInput(f"{first} and {second} have no problem in common")
        one, other = (np.array([right[name][key] for key in shared]) for name in (first, second))
        together = np.array([clusters[key] for key in shared])
        found[first, second, "accuracy"] = compare(one, other, together)
        groups = [problems[key].group for key in shared]
        if members := complete_groups(groups, sizes):
            whole = [all_right_chance(values, groups, sizes) for values in (one, other)]
            together = together[[rows[0] for rows in members.values()]]
            found[first, second, "group_accuracy"] = compare(whole[0], whole[1], together)
    return found


def _right(runs: Mapping[str, Run], problems: Mapping[str, Problem]) -> dict[str, dict[str, float]]:
    """For each scorer, under its column's name, what it has of each problem: 1, 0, or a guess's worth if silent."""
    right: dict[str, dict[str, float]] = {}
    for name, run in runs.items():
        known = scorers(run)
        for scorer in known:
            column = name if len(known) == 1 else f"{name} · {scorer.name}"
            right[column] = {
                # A prediction is judged by the answer beside it: another run may list the candidates in another order.
                p.id: 1 / len(problems[p.id].candidates) if p.prediction is None else float(p.prediction == p.answer)
                for p in run.predictions
                if p.variant == ORIGINAL and p.id in problems and p.answer is not None and scorer.made(p)
            }
    return right
