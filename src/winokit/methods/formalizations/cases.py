"""Cases: the options that compete for a blank, and which of them are known to be right.

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
from winokit.text.language import Language, language_of
from winokit.text.parses import open_parses
from winokit.text.phrases import VERSION, noun_phrases

Rivals: TypeAlias = Callable[[Problem], tuple[str, ...]]
"""From a judgement to the spans its query is compared with."""
YES = 1
PHRASES = "phrases"
"""The rivals that need no file."""


@dataclass(frozen=True, slots=True)
class Case:
    """A problem, its competing options, and whether each is right (None: unknown).

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
        """Index of the right option, or None if it is unknown or not an option."""
        return self.right.index(True) if True in self.right else None


def cases(dataset: Iterable[Problem], formalization: Formalization) -> list[Case]:
    """Return one case per problem, for scoring.

    There are rivals only if the formalization compares options.
    """
    compares = formalization.definition.compares
    rivals = rivals_of(formalization) if compares else _no_rivals
    return [_make_case(problem, rivals) for problem in dataset]


def training_cases(dataset: Dataset, formalization: Formalization) -> tuple[list[Case], list[str]]:
    """Return the cases to train on, and notes on problems without one.

    The answers of all these cases are known.
    """
    if formalization.definition.pointwise:
        return _pointwise_cases(dataset, formalization)
    rivals = rivals_of(formalization)
    choices = [_make_case(problem, rivals) for problem in dataset if problem.query is None]
    judgements = [members for members in siblings(dataset) if members[0].query is not None]
    trains = formalization.switches["trains"]
    compared: list[Case] = []
    for members in judgements:
        for case in _cases_of_judgements(members, rivals, trains):
            if case.gold is not None and len(case.options) > 1:
                compared.append(case)
    count = sum(map(len, judgements))
    notes = []
    if count:
        which = "whose query is right" if trains == "right" else "one per pronoun"
        rule = f"those {which}, where there is a rival to compare with"
        notes.append(f"{len(compared):,} of {count:,} judgements are trained on ({formalization.name}): {rule}")
    return [*choices, *compared], notes


def _pointwise_cases(dataset: Dataset, formalization: Formalization) -> tuple[list[Case], list[str]]:
    """The training cases of a formalization that judges each option by itself, and notes."""
    problems = list(dataset)
    notes = []
    if formalization.switches.get("trains") == "groups":
        problems = [members[0] for members in siblings(dataset)]
    if len(problems) < len(dataset):
        notes.append(f"{len(problems):,} of {len(dataset):,} problems are trained on: one yes/no judgement per pronoun")
    return [_make_case(problem, _no_rivals) for problem in problems], notes


def _no_rivals(problem: Problem) -> tuple[str, ...]:
    """No rivals for any problem."""
    return ()


def alone(cases: Iterable[Case]) -> int:
    """Number of judgements without a rival to be compared with."""
    return sum(case.is_judgement and len(case.options) == 1 for case in cases)


def guesses(problems: Sequence[Problem], spec: str | None) -> list[float] | None:
    """Return the chance of a guess per problem, among the options that are compared.

    None if no problem is a yes/no judgement.

    >>> judged = Problem("Jim yelled at Kevin and Ann because ", " was upset.", ("no", "yes"), 1, "he", query="Jim")
    >>> guesses([judged], "mc-sent"), guesses([judged], "p-sent")
    ([0.25], [0.5])
    """
    if spec is None or all(problem.query is None for problem in problems):
        return None
    return [_chance_of_guess(case) for case in cases(problems, Formalization.parse(spec))]


def _chance_of_guess(case: Case) -> float:
    """How likely a guess among the options of a case is right; "no" is right unless the query is hit."""
    hit = 1 / max(len(case.options), 2)
    is_no = case.is_judgement and case.problem.answer != YES
    return 1 - hit if is_no else hit


def rivals_name(formalization: Formalization) -> str | None:
    """Return the source of rivals, with a version or a hash.

    None for a formalization that compares nothing.
    """
    source = formalization.switches.get("rivals")
    if not source:
        return source
    return f"{PHRASES} {VERSION}" if source == PHRASES else open_parses(Path(source)).name


def rivals_of(formalization: Formalization) -> Rivals:
    """Return the function that finds the rivals of a judgement."""
    source = formalization.switches["rivals"]
    phrases_of = noun_phrases if source == PHRASES else open_parses(Path(source)).phrases

    def of(problem: Problem) -> tuple[str, ...]:
        query = problem.query or ""
        language = language_of(problem.language)
        if source == PHRASES and language.name != "English":
            return ()
        spans = [span for span in phrases_of(problem.sentence) if not _overlaps(span, query, language)]
        return without(query, spans)

    return of


def _overlaps(span: str, query: str, language: Language) -> bool:
    """Whether one of two phrases is a part of the other, word by word."""
    return bool(language.occurrences(span, language.core(query)) or language.occurrences(query, language.core(span)))


def without(query: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct spans other than the query, ignoring case."""
    distinct = {folded_text(span): span for span in reversed([*spans])}
    distinct.pop(folded_text(query), None)
    return tuple(reversed(distinct.values()))


def _make_case(problem: Problem, rivals: Rivals) -> Case:
    if problem.query is None:
        return Case(problem, problem.candidates, _right_candidates(problem))
    others = rivals(problem)
    query_right = None if problem.answer is None else problem.answer == YES
    # At most one span is right: if the query is, its rivals are not.
    rival_right = False if query_right else None
    return Case(problem, (problem.query, *others), (query_right, *[rival_right] * len(others)))


def _right_candidates(problem: Problem) -> tuple[bool | None, ...]:
    """Whether each candidate is right; None for all if the answer is hidden."""
    if problem.answer is None:
        return (None,) * len(problem.candidates)
    return tuple(index == problem.answer for index in range(len(problem.candidates)))


def _cases_of_judgements(members: Sequence[Problem], rivals: Rivals, trains: str) -> list[Case]:
    """Return the cases of the judgements about one pronoun.

    There is one per right query, or one in all, as `trains` says.
    """
    right = next((member.query for member in members if member.answer == YES and member.query), None)
    if right is None:
        return []
    if trains == "right":
        return [_make_case(member, rivals) for member in members if member.answer == YES]
    first = members[0]
    # The right span takes part even where mining did not find it.
    others = without(first.query or "", [right, *rivals(first)])
    options = (first.query or "", *others)
    is_right = tuple(option.casefold() == right.casefold() for option in options)
    return [Case(first, options, is_right)]
