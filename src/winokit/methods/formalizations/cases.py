"""Problems as formalizations see them: options that compete for a blank, and which of them are known to be right.

A problem with candidates is its own case. A yes/no judgement (SuperGLUE-WSC) asks about one span, the query; to be
compared with something it needs rivals, which the dataset does not name. Liu et al. mined them: the noun phrases of the
text but for pronouns and whatever overlaps with the query. Ours are found by `text/phrases.py`, so that scores do not
depend on what is installed, or come from a file (`rivals=FILE`, which `tools/mine_rivals.py` writes with a parser).

We compare whole words ("he" does not exclude "the heart") and keep the order of the text, where Liu et al.'s code
changes it from run to run. A judgement without a rival is an abstention; their code answers "yes".
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from winokit.methods.formalizations.base import Formalization
from winokit.methods.transforms.views import siblings
from winokit.problem import Dataset, Problem, folded_text
from winokit.text.language import language_of
from winokit.text.parses import open_parses
from winokit.text.phrases import VERSION, noun_phrases

Rivals: TypeAlias = Callable[[Problem], tuple[str, ...]]
"""From a judgement to the spans its query is compared with."""
YES = 1
PHRASES = "phrases"
"""The rivals that need no file."""


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


def cases(dataset: Iterable[Problem], formalization: Formalization) -> list[Case]:
    """A case for each problem, for scoring: rivals only where the formalization compares."""
    compares = formalization.definition.compares
    rivals = rivals_of(formalization) if compares else lambda problem: ()
    return [_case(problem, rivals) for problem in dataset]


def training_cases(dataset: Dataset, formalization: Formalization) -> tuple[list[Case], list[str]]:
    """The cases that train, every answer known, and notes on how many problems do not and why."""
    if formalization.definition.pointwise:
        one_each = formalization.switches.get("trains") == "groups"
        trained = [members[0] for members in siblings(dataset)] if one_each else list(dataset)
        note = f"{len(trained):,} of {len(dataset):,} problems are trained on: one yes/no judgement per pronoun"
        notes = [note] if len(trained) < len(dataset) else []
        return [_case(problem, lambda _: ()) for problem in trained], notes
    rivals = rivals_of(formalization)
    choices = [_case(problem, rivals) for problem in dataset if problem.query is None]
    judged = [members for members in siblings(dataset) if members[0].query is not None]
    trains = formalization.switches["trains"]
    compared = [case for members in judged for case in _judged(members, rivals, trains)]
    kept = [case for case in compared if case.gold is not None and len(case.options) > 1]
    count = sum(map(len, judged))
    which = "whose query is right" if trains == "right" else "one per pronoun"
    rule = f"those {which}, where there is a rival to compare with"
    notes = [f"{len(kept):,} of {count:,} judgements are trained on ({formalization.name}): {rule}"] if count else []
    return [*choices, *kept], notes


def alone(cases: Iterable[Case]) -> int:
    """How many judgements have no rival to be compared with."""
    return sum(case.is_judgement and len(case.options) == 1 for case in cases)


def guesses(problems: Sequence[Problem], spec: str | None) -> list[float] | None:
    """What guessing among the options that a formalization compares gets of each; None where nothing is a judgement.

    >>> judged = Problem("Jim yelled at Kevin and Ann because ", " was upset.", ("no", "yes"), 1, "he", query="Jim")
    >>> guesses([judged], "mc-sent"), guesses([judged], "p-sent")
    ([0.25], [0.5])
    """
    if spec is None or all(problem.query is None for problem in problems):
        return None
    compared = cases(problems, Formalization.parse(spec))
    hits = [1 / max(len(case.options), 2) for case in compared]
    noes = (case.is_judgement and case.problem.answer != YES for case in compared)
    return [1 - hit if no else hit for hit, no in zip(hits, noes, strict=True)]


def rivals_name(formalization: Formalization) -> str | None:
    """Where rivals come from, with a version or a hash; None for a formalization that compares nothing."""
    source = formalization.switches.get("rivals")
    return source and (f"{PHRASES} {VERSION}" if source == PHRASES else open_parses(Path(source)).name)


def rivals_of(formalization: Formalization) -> Rivals:
    """Where a formalization's rivals come from."""
    source = formalization.switches["rivals"]
    phrases_of = noun_phrases if source == PHRASES else open_parses(Path(source)).phrases

    def of(problem: Problem) -> tuple[str, ...]:
        query, language = problem.query or "", language_of(problem.language)
        if source == PHRASES and language.name != "English":
            return ()
        # Neither may be a part of the other, word by word.
        apart = (
            span
            for span in phrases_of(problem.sentence)
            if not language.occurrences(span, language.core(query))
            and not language.occurrences(query, language.core(span))
        )
        return without(query, apart)

    return of


def without(query: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Spans other than the query, each once, whatever their case."""
    distinct = {folded_text(span): span for span in reversed([*spans])}
    distinct.pop(folded_text(query), None)
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
    right = next((member.query for member in members if member.answer == YES and member.query), None)
    if right is None:
        return []
    if trains == "right":
        return [_case(member, rivals) for member in members if member.answer == YES]
    first = members[0]
    # The right span takes part even where mining did not find it.
    others = without(first.query or "", [right, *rivals(first)])
    options = (first.query or "", *others)
    return [Case(first, options, tuple(option.casefold() == right.casefold() for option in options))]
