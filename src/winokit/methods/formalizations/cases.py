"""Cases: the options that compete for a blank, and whether each is right.

A problem with candidates is its own case. A yes/no judgement (SuperGLUE-WSC) asks about one span, the query. To compare
the query with something, it needs rivals, which the dataset does not name. Liu et al. mined them: the noun phrases of
the text, except pronouns and phrases that overlap with the query. Ours are found by `text/phrases.py`, so that scores
do not depend on installed packages, or come from a file (`rivals=FILE`, which `tools/mine_rivals.py` writes with a
parser).

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
"""A function from a judgement to the phrases that compete with its query."""
YES = 1
PHRASES = "phrases"
"""Name of the rivals that need no file: noun phrases of the text."""


@dataclass(frozen=True, slots=True)
class Case:
    """A problem with its competing options."""

    problem: Problem
    options: tuple[str, ...]
    """The candidates, or the query of a yes/no judgement followed by its rivals."""
    right: tuple[bool | None, ...]
    """Whether each option is right; None if that is unknown."""

    @property
    def is_judgement(self) -> bool:
        """Whether the problem is a yes/no judgement."""
        return self.problem.query is not None

    @property
    def gold(self) -> int | None:
        """Index of the right option.

        None if it is unknown, or not among the options.
        """
        return self.right.index(True) if True in self.right else None


def cases(dataset: Iterable[Problem], formalization: Formalization) -> list[Case]:
    """Return one case per problem, for scoring.

    Judgements have rivals only if the formalization compares options.
    """
    compares = formalization.definition.compares
    rivals = rivals_of(formalization) if compares else _no_rivals
    return [_make_case(problem, rivals) for problem in dataset]


def training_cases(dataset: Dataset, formalization: Formalization) -> tuple[list[Case], list[str]]:
    """Return the cases to train on, and notes on problems that are not used.

    `dataset` has answers. A case that compares options has a right one, and at least one wrong one.
    """
    if formalization.definition.pointwise:
        return _pointwise_cases(dataset, formalization)
    rivals = rivals_of(formalization)
    choices = [_make_case(problem, rivals) for problem in dataset if problem.query is None]
    judgements = [members for members in siblings(dataset) if members[0].query is not None]
    trains = formalization.switches["trains"]
    comparisons: list[Case] = []
    for members in judgements:
        for case in _cases_of_judgements(members, rivals, trains):
            has_rival = len(case.options) > 1
            if case.gold is not None and has_rival:
                comparisons.append(case)
    judgement_count = sum(map(len, judgements))
    notes = []
    if judgement_count:
        selection = "whose query is right" if trains == "right" else "one per pronoun"
        notes.append(
            f"{len(comparisons):,} of {judgement_count:,} judgements are trained on ({formalization.name}): "
            f"those {selection}, where there is a rival to compare with"
        )
    return [*choices, *comparisons], notes


def _pointwise_cases(dataset: Dataset, formalization: Formalization) -> tuple[list[Case], list[str]]:
    """Return the training cases of a formalization that judges options one by one, and notes."""
    problems = list(dataset)
    notes = []
    if formalization.switches.get("trains") == "groups":
        problems = [members[0] for members in siblings(dataset)]
    if len(problems) < len(dataset):
        notes.append(f"{len(problems):,} of {len(dataset):,} problems are trained on: one yes/no judgement per pronoun")
    return [_make_case(problem, _no_rivals) for problem in problems], notes


def _no_rivals(problem: Problem) -> tuple[str, ...]:
    """Return no rivals, for formalizations that compare nothing."""
    return ()


def alone(cases: Iterable[Case]) -> int:
    """Number of judgements without a rival to compare with."""
    judgements = [case for case in cases if case.is_judgement]
    return sum(len(case.options) == 1 for case in judgements)


def guesses(problems: Sequence[Problem], spec: str | None) -> list[float] | None:
    """Return for each problem the probability that a random guess is right.

    A formalization that compares options guesses among the query and its rivals. `spec` names the formalization. None
    if no problem is a yes/no judgement, or if there is no formalization: then a guess is among the candidates.

    >>> judged = Problem("Jim yelled at Kevin and Ann because ", " was upset.", ("no", "yes"), 1, "he", query="Jim")
    >>> guesses([judged], "mc-sent"), guesses([judged], "p-sent")
    ([0.25], [0.5])
    """
    if spec is None or all(problem.query is None for problem in problems):
        return None
    return [_chance_of_guess(case) for case in cases(problems, Formalization.parse(spec))]


def _chance_of_guess(case: Case) -> float:
    """Probability that a random guess among the options of a case is right.

    If the answer of a judgement is "no", every option except the query is right.
    """
    option_chance = 1 / max(len(case.options), 2)
    is_no = case.is_judgement and case.problem.answer != YES
    return 1 - option_chance if is_no else option_chance


def rivals_name(formalization: Formalization) -> str | None:
    """Return the source of rivals, with its version or a hash.

    None for a formalization that compares nothing.
    """
    source = formalization.switches.get("rivals")
    if not source:
        return source
    if source == PHRASES:
        return f"{PHRASES} {VERSION}"
    return open_parses(Path(source)).name


def rivals_of(formalization: Formalization) -> Rivals:
    """Return the function that finds the rivals of a judgement.

    Its switch `rivals` says where they come from. Without a file, only English judgements have rivals.
    """
    source = formalization.switches["rivals"]
    phrases_of = noun_phrases if source == PHRASES else open_parses(Path(source)).phrases

    def find_rivals(problem: Problem) -> tuple[str, ...]:
        """Return the phrases of a text that do not overlap with the query."""
        query = problem.query or ""
        language = language_of(problem.language)
        if source == PHRASES and language.name != "English":
            return ()
        phrases = phrases_of(problem.sentence)
        other_phrases = [phrase for phrase in phrases if not _overlaps(phrase, query, language)]
        return without(query, other_phrases)

    return find_rivals


def _overlaps(phrase: str, query: str, language: Language) -> bool:
    """Whether one of two phrases is a part of the other, word by word."""
    if language.occurrences(phrase, language.core(query)):
        return True
    return bool(language.occurrences(query, language.core(phrase)))


def without(query: str, spans: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct spans other than the query, in their order.

    Case is ignored, and of equal spans the first is returned.
    """
    distinct = {folded_text(span): span for span in reversed([*spans])}
    distinct.pop(folded_text(query), None)
    return tuple(reversed(distinct.values()))


def _make_case(problem: Problem, rivals: Rivals) -> Case:
    """Return the case of a problem, with the rivals of a judgement as options."""
    if problem.query is None:
        return Case(problem, problem.candidates, _right_candidates(problem))
    options = (problem.query, *rivals(problem))
    query_right = None if problem.answer is None else problem.answer == YES
    # At most one option is right: if the query is, its rivals are not.
    rival_right = False if query_right else None
    rivals_right = [rival_right] * (len(options) - 1)
    return Case(problem, options, (query_right, *rivals_right))


def _right_candidates(problem: Problem) -> tuple[bool | None, ...]:
    """Whether each candidate is right.

    None for every candidate if the answer is hidden.
    """
    if problem.answer is None:
        return (None,) * len(problem.candidates)
    return tuple(index == problem.answer for index in range(len(problem.candidates)))


def _cases_of_judgements(members: Sequence[Problem], rivals: Rivals, trains: str) -> list[Case]:
    """Return the training cases of the judgements about one pronoun.

    With `trains="right"` there is one for each right query, otherwise one in all. None of the queries may be right:
    then there is no case.
    """
    right_members = [member for member in members if member.answer == YES]
    right_query = next((member.query for member in right_members if member.query), None)
    if right_query is None:
        return []
    if trains == "right":
        return [_make_case(member, rivals) for member in right_members]
    first = members[0]
    first_query = first.query or ""
    # The right phrase is an option even if it is not among the rivals that were found.
    others = without(first_query, [right_query, *rivals(first)])
    options = (first_query, *others)
    is_right = tuple(option.casefold() == right_query.casefold() for option in options)
    return [Case(first, options, is_right)]
