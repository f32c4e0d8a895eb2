"""The papers' Table 2 for any dataset: how many problems, how long, how large a vocabulary, how many groups.

With Penn-Treebank-like tokens, lower-cased for the vocabulary, the published vocabularies come out within 0.5 %.

And predictable structure, Trichelair et al. (2018)'s third limit of WSC: where the special word and the blank stand.
The special word is the last word in 62 of WSC273's 136 groups; a model that reads only the end of a sentence profits.
"""

import re
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Postfix, Prefix

from winokit.errors import check_known
from winokit.problem import BLANK, Dataset, Problem
from winokit.text.language import language_of
from winokit.text.words import TOKENIZERS

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[.;:,!?]")
STOPS = frozenset(".;:!?")


@dataclass(frozen=True)
class Statistics:
    """One row of the table. `groups` counts complete groups, `single` the problems outside them."""

    dataset: str
    problems: int
    groups: int
    single: int
    mean_words: float
    vocabulary: int
    candidates: float
    distinct_candidates: int
    answered: int
    first_answers: float | None
    group_sizes: dict[int, int]
    domains: dict[str, int]
    labels: dict[str, int]
    human_accuracy: float | None
    licence: str
    tokens: str
    unit: str = "words"
    """What lengths and vocabulary are counted in: words, characters, or "words or characters" of several languages."""


def statistics(dataset: Dataset, tokens: str = "ptb") -> Statistics:
    """Count a dataset. Lengths are of the text with its pronoun, or with the blank where there is none.

    Of a choice between whole texts each counts as one.

    Parameters
    ----------
    tokens
        `ptb` or `whitespace`: how words are counted.

    Returns
    -------
    Statistics
        One row of the papers' Table 2.

    Raises
    ------
    UnknownName
        There is no such way to count.
    """
    check_known("way to count tokens", tokens, TOKENIZERS)
    texts = [(text, language_of(problem.language)) for problem in dataset for text in problem.texts]
    words: Counter[str] = Counter()
    for text, language in texts:
        cut = str.split if tokens == "whitespace" and language.spaced else language.tokens
        words.update(word.lower() for word in cut(text))
    total = words.total()
    del words[BLANK]
    sizes = Counter(len(members) for members in dataset.groups.values())
    grouped = sum(size * count for size, count in sizes.items())
    answers = [problem.answer for problem in dataset if problem.answer is not None]
    flags = Counter(name for problem in dataset for name, value in problem.labels.items() if value is True)
    return Statistics(
        dataset=dataset.card.name,
        problems=len(dataset),
        groups=sizes.total(),
        single=len(dataset) - grouped,
        mean_words=round(total / len(texts), 2) if texts else 0.0,
        vocabulary=len(words),
        candidates=round(sum(len(p.candidates) for p in dataset) / max(len(dataset), 1), 2),
        distinct_candidates=len({language_of(p.language).bare(name) for p in dataset for name in p.candidates}),
        answered=len(answers),
        first_answers=round(sum(answer == 0 for answer in answers) / len(answers), 4) if answers else None,
        group_sizes=dict(sorted(sizes.items())),
        domains=dict(Counter(p.domain for p in dataset if p.domain is not None)),
        labels=dict(flags),
        human_accuracy=dataset.card.human_accuracy,
        licence=dataset.card.licence,
        tokens=tokens,
        unit=" or ".join(sorted({language.unit(text) for text, language in texts}, reverse=True)) or "words",
    )


class Structure:
    """How the texts of a dataset that have a blank are built, counted; `special_last` over groups.

    Connectives and clauses are counted in languages whose pack knows them, last words where words stand between spaces.
    """

    def __init__(self, dataset: Dataset) -> None:
        if any(problem.is_whole for problem in dataset):
            dataset = dataset.filter(lambda problem: not problem.is_whole)
        self.problems = len(dataset)
        pairs = [members[:2] for members in dataset.groups.values() if len(members) > 1 and is_spaced(members[0])]
        self.special_last = sum(special_is_last(*pair) for pair in pairs)
        self.groups = len(pairs)
        known = [problem for problem in dataset if not language_of(problem.language).refusal("structure")]
        self.judged = len(known)
        self.connective = Counter(map(connective, known))
        self.clauses = Counter(map(clauses, known))
        self.blank_position = Counter(map(blank_position, dataset))


def is_spaced(problem: Problem) -> bool:
    """Whether words stand between spaces, so that there is a last one."""
    return language_of(problem.language).unit(problem.text) == "words"


def tokens(text: str) -> list[str]:
    """Lower-cased words and the punctuation between clauses; the blank is a word."""
    return TOKEN.findall(text.casefold())


def words(text: str) -> list[str]:
    """Lower-cased words alone."""
    return [token for token in tokens(text) if token[0].isalnum() or token[0] == BLANK]


def special_words(one: str, other: str) -> tuple[str, str]:
    """What differs between two texts: the words left when their common start and end are taken away.

    >>> special_words("It was too large to fit.", "It was too small to fit.")
    ('large', 'small')
    """
    a = words(one)
    b = words(other)
    start = Prefix.similarity(a, b)
    end = Postfix.similarity(a[start:], b[start:])
    return " ".join(a[start : len(a) - end]), " ".join(b[start : len(b) - end])


def special_is_last(one: Problem, other: Problem) -> bool:
    """Whether two texts differ in their very last word."""
    a, b = (words(problem.text.rsplit(None, 1)[-1]) or words(problem.text) for problem in (one, other))
    return bool(a and b) and a[-1] != b[-1]


def connective(problem: Problem) -> str:
    """The connective that opens the blank's clause: the last one before the blank, a full stop, or none."""
    opening = language_of(problem.language).connectives
    return next((token for token in reversed(tokens(problem.before)) if token in opening or token in STOPS), "none")


def clauses(problem: Problem) -> int:
    """How many clauses, told by connectives and punctuation: an estimate, good enough to compare datasets."""
    breaks = 0
    language = language_of(problem.language)
    for last, token in pairwise(tokens(problem.text)[:-1]):
        opens = token in language.connectives and token not in language.joining
        breaks += token in STOPS or (opens and last not in STOPS)
    return 1 + breaks


def blank_position(problem: Problem) -> str:
    """In which third of the text the blank stands, by words, or by characters where there are no spaces."""
    sides = (problem.before.split(), problem.after.split()) if is_spaced(problem) else (problem.before, problem.after)
    before, after = map(len, sides)
    share = before / max(before + after, 1)
    return "first third" if share < 1 / 3 else "middle third" if share < 2 / 3 else "last third"
