"""Paired tests between the scorers of several runs, on the problems they share."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from winokit.auditing.run import Run
from winokit.errors import BadInput
from winokit.metrics import Comparison, compare
from winokit.problem import Problem
from winokit.report.scorers import scorers

ORIGINAL = "original"


def compare_runs(
    runs: Mapping[str, Run], *, seed: int = 0, draws: int = 2000
) -> dict[tuple[str, str, str], Comparison]:
    """Every pair of scorers on accuracy and, where there are groups, on group accuracy.

    Problems are matched by id, which depends on their text alone: runs over different files of the same problems can be
    compared. Runs that share no problem cannot.
    """
    problems: dict[str, Problem] = {p.id: p for run in runs.values() for p in run.dataset if p.answer is not None}
    right = _right(runs, problems)
    if len(right) < 2:
        raise BadInput("two scorers or more are needed for a comparison: name two runs, or one with two models")
    found: dict[tuple[str, str, str], Comparison] = {}
    for first, second in combinations(right, 2):
        shared = [key for key in right[first] if key in right[second]]
        if not shared:
            raise BadInput(f"{first} and {second} have no problem in common")
        one, other = [right[first][key] for key in shared], [right[second][key] for key in shared]
        groups = [problems[key].group for key in shared]
        found[first, second, "accuracy"] = compare(one, other, groups, seed, draws=draws)
        whole = _by_group(shared, problems, right[first], right[second])
        if whole:
            one, other = [pair[0] for pair in whole], [pair[1] for pair in whole]
            found[first, second, "group_accuracy"] = compare(one, other, range(len(whole)), seed, draws=draws)
    return found


def _right(runs: Mapping[str, Run], problems: Mapping[str, Problem]) -> dict[str, dict[str, bool]]:
    """For each scorer, under the name its column has, which problems it gets right."""
    right: dict[str, dict[str, bool]] = {}
    for name, run in runs.items():
        known = scorers(run)
        for scorer in known:
            column = name if len(known) == 1 else f"{name} · {scorer.name}"
            right[column] = {
                # A prediction is judged by the answer beside it: another run may list the candidates in another order.
                p.id: p.prediction == p.answer
                for p in run.predictions
                if p.variant == ORIGINAL and p.id in problems and p.answer is not None and scorer.made(p)
            }
    return right


def _by_group(
    shared: list[str], problems: Mapping[str, Problem], first: Mapping[str, bool], second: Mapping[str, bool]
) -> list[tuple[bool, bool]]:
    """Whether each scorer gets every member of a group right, for the groups with more than one shared member."""
    members: dict[str, list[str]] = {}
    for key in shared:
        group = problems[key].group
        if group is not None:
            members.setdefault(group, []).append(key)
    return [
        (all(first[key] for key in keys), all(second[key] for key in keys))
        for keys in members.values()
        if len(keys) > 1
    ]
