"""The rewritings a dataset is audited on: which problems each could be made for, and why others were left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from winokit.methods.transforms import by_label_or_rule, local_context, no_cands, part_sent, special_word_problem
from winokit.methods.transforms.switch import AUTHORS, OURS
from winokit.problem import Dataset, Problem

ARTIFACTS = ("no-cands", "part-sent", "local-context")
LABELLED, JUDGED = "labels", "judged automatically"


@dataclass
class Variant:
    """The problems of one variant, and for each problem without one the reason."""

    name: str
    problems: Dataset
    refused: dict[str, str] = field(default_factory=dict)
    note: str | None = None


def make_variants(dataset: Dataset, only: Collection[str] | None = None) -> dict[str, Variant]:
    """Every variant, or those named, that can be made of at least one problem."""
    choices = dataset.filter(lambda problem: problem.query is None)
    makers: Mapping[str, Callable[[Problem], Problem | str]] = {
        "no-cands": no_cands,
        "part-sent": part_sent,
        "local-context": local_context,
        "special-word": _special_word_of(choices),
        "reversed": _backwards,
    }
    variants = (
        _switched(choices) if name == "switched" else _made(name, choices, makers[name])
        for name in (*makers, "switched")
        if only is None or name in only
    )
    return {variant.name: variant for variant in variants if len(variant.problems)}


def _made(name: str, problems: Iterable[Problem], make: Callable[[Problem], Problem | str]) -> Variant:
    made: list[Problem] = []
    refused: dict[str, str] = {}
    for problem in problems:
        outcome = make(problem)
        if isinstance(outcome, str):
            refused[problem.id] = outcome
        else:
            made.append(outcome.replace(provenance={**outcome.provenance, "of": problem.id}))
    return Variant(name, Dataset(made), refused)


def _switched(problems: Dataset) -> Variant:
    """Candidates changed places, where that makes sense: by label where there is one, else by a careful judgement."""
    variant = _made("switched", problems, by_label_or_rule(problems))
    variant.note = f"switchable: {LABELLED if any('switchable' in one.labels for one in problems) else JUDGED}"
    by = Counter(one.provenance["switched_by"] for one in variant.problems)
    if by[AUTHORS]:
        variant.note += f"; sentences: the authors' {by[AUTHORS]}, ours {by[OURS]}"
    return variant


def _special_word_of(dataset: Dataset) -> Callable[[Problem], Problem | str]:
    def make(problem: Problem) -> Problem | str:
        twins = [] if problem.group is None else [p for p in dataset.groups[problem.group] if p is not problem]
        if len(twins) != 1:
            return "no twin" if not twins else "more than one twin"
        return special_word_problem(problem, twins[0])

    return make


def _backwards(problem: Problem) -> Problem:
    """The candidates offered in the opposite order."""
    return problem.with_order(tuple(reversed(range(len(problem.candidates)))))
