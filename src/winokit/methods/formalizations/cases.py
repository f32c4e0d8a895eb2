"""Problems as formalizations see them: options that compete for a blank, and which of them are known to be right.

A problem with candidates is its own case. A yes/no judgement (SuperGLUE-WSC) asks about one span, the query; to be
compared with something it needs rivals, which the dataset does not name. They come from its siblings, the judgements
about the same pronoun of the same sentence, or from a spaCy model's noun phrases, as Liu et al. mined them. Labels of
siblings are used in training only.

Noun phrases are noun chunks and runs of nouns or of names, pronouns left out, and whatever overlaps with the query. We
compare whole words ("he" does not exclude "the heart") and keep the order of the text, where Liu et al.'s code changes
it from run to run.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import groupby
from typing import Any, TypeAlias

from winokit.errors import BadInput, MissingExtra
from winokit.methods.formalizations.base import Formalization
from winokit.methods.transforms.views import siblings
from winokit.problem import Dataset, Problem
from winokit.text.language import language_of

Rivals: TypeAlias = Callable[[Problem], tuple[str, ...]]
"""From a judgement to the spans its query is compared with."""
YES = 1
NOUNS = ("NOUN", "PROPN")


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
        trained = [members[0] for members in siblings(dataset)] if one_each else list(dataset)
        note = f"{len(trained):,} of {len(dataset):,} problems train: of yes/no judgements one for each pronoun"
        notes = [note] if len(trained) < len(dataset) else []
        return [_case(problem, lambda one: ()) for problem in trained], notes
    rivals = rivals_of(dataset, formalization)
    choices = [_case(problem, rivals) for problem in dataset if problem.query is None]
    judged = [members for members in siblings(dataset) if members[0].query is not None]
    trains = formalization.switches["trains"]
    compared = [case for members in judged for case in _judged(members, rivals, trains)]
    kept = [case for case in compared if case.gold is not None and len(case.options) > 1]
    count = sum(map(len, judged))
    which = "whose query is right" if trains == "right" else "one for each pronoun"
    rule = f"those {which}, where there is a rival to compare with"
    notes = [f"{len(kept):,} of {count:,} judgements train {formalization.name}: {rule}"] if count else []
    return [*choices, *kept], notes


def alone(found: Iterable[Case]) -> int:
    """How many judgements have no rival to be compared with."""
    return sum(case.is_judgement and len(case.options) == 1 for case in found)


def rivals_of(dataset: Dataset, formalization: Formalization) -> Rivals:
    """Where a formalization's rivals come from."""
    source = formalization.switches["rivals"]
    if source != "siblings":
        return noun_phrases(source)
    asked = {
        (problem.before, problem.pronoun, problem.after): [one.query or "" for one in members]
        for members in siblings(dataset)
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


def noun_phrases(name: str) -> Rivals:
    """The noun phrases a spaCy model finds in a judgement's sentence, its query aside."""
    try:
        language = import_module("spacy").load(name)
    except ImportError:
        raise MissingExtra("rivals from noun phrases", "nlp") from None
    except OSError:
        raise BadInput(
            f"rivals={name}: no such spaCy model is installed; `python -m spacy download en_core_web_sm` gets one, "
            "and rivals=siblings needs none"
        ) from None
    found = cache(lambda text: spans(language(text)))

    def of(problem: Problem) -> tuple[str, ...]:
        query, language = problem.query or "", language_of(problem.language)
        # Neither may be a part of the other, word by word.
        apart = [
            span
            for span in found(problem.sentence)
            if not (
                language.occurrences(span, language.core(query)) or language.occurrences(query, language.core(span))
            )
        ]
        return without(query, apart)

    return of


def spans(doc: Any) -> list[str]:
    """Noun chunks and runs of nouns or names, in order of place, those made of pronouns alone left out."""
    chunks = {(chunk.start, chunk.end) for chunk in doc.noun_chunks}
    for kind, run in groupby(doc, key=lambda token: token.pos_):
        if kind in NOUNS:
            tokens = list(run)
            chunks.add((tokens[0].i, tokens[-1].i + 1))
    return [
        doc[start:end].text
        for start, end in sorted(chunks)
        if not all(token.pos_ == "PRON" for token in doc[start:end])
    ]
