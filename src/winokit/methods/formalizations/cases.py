"""Problems as formalizations see them: options that compete for a blank, and which of them are known to be right.

A problem with candidates is its own case. A yes/no judgement (SuperGLUE-WSC) asks about one span, the query; to be
compared with something it needs rivals, which the dataset does not name. They come from its siblings, the judgements
about the same pronoun of the same sentence, or from a spaCy model's noun phrases (`noun_chunks.py`), as Liu et al.
mined them. Labels of siblings are used in training only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from winokit.methods.formalizations.base import Formalization
from winokit.problem import Dataset, Problem

Rivals: TypeAlias = Callable[[Problem], tuple[str, ...]]
"""From a judgement to the spans its query is compared with."""
YES = 1


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, the options that compete for its blank, and of each whether it is right, where that is known.

    The options of a judgement are its query and then the rivals.
    """

    problem: Problem
    options: tuple[str, ...]
    right: tuple[bool | None, ...]

    @property
    def is_judgement(self) -> bool:
        """Whether the question is yes or no."""
        return self.problem.query is not None

    @property
    def gold(self) -> int | None:
        """The index of the right option, where it is known and among them."""
        return self.right.index(True) if True in self.right else None


def cases(dataset: Dataset, formalization: Formalization) -> list[Case]:
    """A case for each problem, for scoring: rivals only where the formalization compares."""
    compares = formalization.definition.compares
    rivals = rivals_of(dataset, formalization) if compares else lambda problem: ()
    return [_case(problem, rivals) for problem in dataset]


def training_cases(dataset: Dataset, formalization: Formalization) -> tuple[list[Case], list[str]]:
    """The cases that train, every answer known, and notes on how many problems do not and why."""
    if formalization.definition.pointwise:
        one_each = formalization.switches.get("trains") == "groups"
        trained = [members[0] for members in siblings(dataset).values()] if one_each else list(dataset)
        return [_case(problem, lambda one: ()) for problem in trained], _left_out(dataset, trained)
    rivals = rivals_of(dataset, formalization)
    choices = [_case(problem, rivals) for problem in dataset if problem.query is None]
    judged = [members for members in siblings(dataset).values() if members[0].query is not None]
    found = [_judged(members, rivals, formalization.switches["trains"]) for members in judged]
    kept = [case for some in found for case in some if case.gold is not None and len(case.options) > 1]
    count = sum(map(len, judged))
    notes = [f"{len(kept):,} of {count:,} judgements train {formalization.name}: {_rule(formalization)}"] * bool(count)
    return [*choices, *kept], notes


def alone(found: Iterable[Case]) -> int:
    """How many judgements have no rival to be compared with."""
    return sum(case.is_judgement and len(case.options) == 1 for case in found)


def siblings(dataset: Iterable[Problem]) -> dict[tuple[object, ...], list[Problem]]:
    """Judgements about the same pronoun of the same sentence, together; problems with candidates by themselves."""
    found: dict[tuple[object, ...], list[Problem]] = defaultdict(list)
    for problem in dataset:
        found[problem.before, problem.pronoun, problem.after, problem.id if problem.query is None else None].append(
            problem
        )
    return found


def rivals_of(dataset: Dataset, formalization: Formalization) -> Rivals:
    """Where a formalization's rivals come from."""
    source = formalization.switches["rivals"]
    if source != "siblings":
        from winokit.methods.formalizations.noun_chunks import noun_phrases

        return noun_phrases(source)
    asked = {
        (problem.before, problem.pronoun, problem.after): [one.query or "" for one in members]
        for members in siblings(dataset).values()
        for problem in members[:1]
    }

    def of(problem: Problem) -> tuple[str, ...]:
        return without(problem.query or "", asked.get((problem.before, problem.pronoun, problem.after), ()))

    return of


def without(query: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Spans other than the query, each once, whatever their case."""
    distinct = {" ".join(span.split()).casefold(): span for span in reversed([*spans])}
    distinct.pop(" ".join(query.split()).casefold(), None)
    return tuple(reversed(distinct.values()))


def _case(problem: Problem, rivals: Rivals) -> Case:
    if problem.query is None:
        hidden = problem.answer is None
        known = (None if hidden else index == problem.answer for index in range(len(problem.candidates)))
        return Case(problem, problem.candidates, tuple(known))
    others = rivals(problem)
    yes = None if problem.answer is None else problem.answer == YES
    # One span is right at most: where the query is, its rivals are not.
    return Case(problem, (problem.query, *others), (yes, *[False if yes else None] * len(others)))


def _judged(members: Sequence[Problem], rivals: Rivals, trains: str) -> list[Case]:
    """The cases that judgements about one pronoun give: one a right query, or one in all."""
    right = next((one.query for one in members if one.answer == YES and one.query), None)
    if right is None:
        return []
    if trains == "right":
        return [_case(one, rivals) for one in members if one.answer == YES]
    first = members[0]
    # The right span takes part even where mining did not find it.
    others = without(first.query or "", [right, *rivals(first)])
    options = (first.query or "", *others)
    return [Case(first, options, tuple(option.casefold() == right.casefold() for option in options))]


def _left_out(dataset: Dataset, trained: Sequence[Problem]) -> list[str]:
    if len(trained) == len(dataset):
        return []
    return [f"{len(trained):,} of {len(dataset):,} problems train: of yes/no judgements one for each pronoun"]


def _rule(formalization: Formalization) -> str:
    what = "whose query is right" if formalization.switches["trains"] == "right" else "one for each pronoun"
    return f"those {what}, where there is a rival to compare with"
