"""The papers' Table 2 for any dataset: problems, lengths, vocabulary, groups.

With Penn-Treebank-like tokens, lower-cased for the vocabulary, the published vocabularies come out within 0.5 %.

It also counts predictable structure, Trichelair et al. (2018)'s third limit of WSC: places of special word and blank.
The special word is the last word in 62 of WSC273's 136 groups; a model that reads only the end of a sentence profits.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rapidfuzz.distance import Postfix, Prefix

from winokit.errors import check_known
from winokit.problem import BLANK, Dataset, Problem
from winokit.text.language import Language, language_of
from winokit.text.words import TOKENIZERS

TOKEN = re.compile(r"\w+(?:['’-]\w+)*|[.;:,!?]")
STOPS = frozenset(".;:!?")


@dataclass(frozen=True)
class Statistics:
    """One row of a table with statistics of datasets.

    `groups` counts complete groups, `single` the problems outside them. `candidates` is the mean number of candidates
    of a problem, `first_answers` the share of answers that are the first candidate, and `labels` has for each label
    the number of problems on which it is true.
    """

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
    """Count a dataset's problems, words and groups.

    Lengths are of the text with its pronoun, or with the blank if there is no pronoun.

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
    texts = _pair_texts_with_languages(dataset)
    words = _count_words(texts, tokens)
    word_count = words.total()
    del words[BLANK]
    sizes = Counter(len(members) for members in dataset.groups.values())
    grouped_count = sum(size * count for size, count in sizes.items())
    answers = [problem.answer for problem in dataset if problem.answer is not None]
    candidate_count = sum(len(problem.candidates) for problem in dataset)
    units = {language.unit(text) for text, language in texts}
    return Statistics(
        dataset=dataset.card.name,
        problems=len(dataset),
        groups=sizes.total(),
        single=len(dataset) - grouped_count,
        mean_words=round(word_count / len(texts), 2) if texts else 0.0,
        vocabulary=len(words),
        candidates=round(candidate_count / max(len(dataset), 1), 2),
        distinct_candidates=_count_distinct_candidates(dataset),
        answered=len(answers),
        first_answers=_share_of_first(answers),
        group_sizes=dict(sorted(sizes.items())),
        domains=dict(Counter(problem.domain for problem in dataset if problem.domain is not None)),
        labels=_count_flags(dataset),
        human_accuracy=dataset.card.human_accuracy,
        licence=dataset.card.licence,
        tokens=tokens,
        unit=" or ".join(sorted(units, reverse=True)) or "words",
    )


def _pair_texts_with_languages(dataset: Dataset) -> list[tuple[str, Language]]:
    """The texts of all problems, each with its language."""
    texts: list[tuple[str, Language]] = []
    for problem in dataset:
        language = language_of(problem.language)
        texts += [(text, language) for text in problem.texts]
    return texts


def _count_words(texts: Iterable[tuple[str, Language]], tokens: str) -> Counter[str]:
    """Counts of the lower-cased words in some texts."""
    counts: Counter[str] = Counter()
    for text, language in texts:
        is_split_at_spaces = tokens == "whitespace" and language.spaced
        words = text.split() if is_split_at_spaces else language.tokens(text)
        counts.update(word.lower() for word in words)
    return counts


def _count_distinct_candidates(dataset: Dataset) -> int:
    """Number of different candidates in a dataset."""
    names: set[str] = set()
    for problem in dataset:
        language = language_of(problem.language)
        names.update(map(language.bare, problem.candidates))
    return len(names)


def _count_flags(dataset: Dataset) -> dict[str, int]:
    """For each label, the number of problems on which it is true."""
    counts: Counter[str] = Counter()
    for problem in dataset:
        counts.update(name for name, value in problem.labels.items() if value is True)
    return dict(counts)


def _share_of_first(answers: Sequence[int]) -> float | None:
    """Share of answers that are the first candidate, None without answers."""
    if not answers:
        return None
    first_count = sum(answer == 0 for answer in answers)
    return round(first_count / len(answers), 4)


class Structure:
    """Counts of how texts with a blank are built.

    `special_last` of `groups` groups have their special word last: the one in which twins differ. Connectives and
    clauses are counted only in languages that have rules for them, and last words only in those with spaces between
    words.
    """

    def __init__(self, dataset: Dataset) -> None:
        if any(problem.is_whole for problem in dataset):
            dataset = dataset.filter(lambda problem: not problem.is_whole)
        self.problems = len(dataset)
        groups = dataset.groups.values()
        pairs = [members[:2] for members in groups if len(members) > 1 and is_spaced(members[0])]
        self.special_last = sum(special_is_last(*pair) for pair in pairs)
        self.groups = len(pairs)
        judged_problems = [p for p in dataset if not language_of(p.language).refusal("structure")]
        self.judged = len(judged_problems)
        self.connective = Counter(map(connective, judged_problems))
        self.clauses = Counter(map(clauses, judged_problems))
        self.blank_position = Counter(map(blank_position, dataset))


def is_spaced(problem: Problem) -> bool:
    """Whether the words of a problem's text have spaces between them."""
    return language_of(problem.language).unit(problem.text) == "words"


def tokens(text: str) -> list[str]:
    """The lower-cased words, blanks and clause marks of a text."""
    return TOKEN.findall(text.casefold())


def words(text: str) -> list[str]:
    """The lower-cased words of a text, and its blank."""
    return [token for token in tokens(text) if token[0].isalnum() or token[0] == BLANK]


def special_words(one: str, other: str) -> tuple[str, str]:
    """The words in which two texts differ, for each text.

    They are the words between the common start and the common end. Several have spaces between them.

    >>> special_words("It was too large to fit.", "It was too small to fit.")
    ('large', 'small')
    """
    one_words = words(one)
    other_words = words(other)
    start = Prefix.similarity(one_words, other_words)
    shared_at_end = Postfix.similarity(one_words[start:], other_words[start:])
    one_special = one_words[start : len(one_words) - shared_at_end]
    other_special = other_words[start : len(other_words) - shared_at_end]
    return " ".join(one_special), " ".join(other_special)


def special_is_last(one: Problem, other: Problem) -> bool:
    """Whether two texts differ in their very last word."""
    one_words = _last_words(one.text)
    other_words = _last_words(other.text)
    if not one_words or not other_words:
        return False
    return one_words[-1] != other_words[-1]


def _last_words(text: str) -> list[str]:
    """The words after a text's last space, or else all words."""
    last_part = text.rsplit(None, 1)[-1]
    return words(last_part) or words(text)


def connective(problem: Problem) -> str:
    """The connective that opens the blank's clause.

    It is the last connective before the blank, or a mark (one of . ; : ! ?) if that comes later, or "none".
    """
    connectives = language_of(problem.language).connectives
    for token in reversed(tokens(problem.before)):
        if token in connectives or token in STOPS:
            return token
    return "none"


def clauses(problem: Problem) -> int:
    """Estimated number of clauses, from connectives and punctuation.

    It is good enough to compare datasets.
    """
    language = language_of(problem.language)
    clause_count = 1
    inner_tokens = tokens(problem.text)[:-1]
    for last, token in pairwise(inner_tokens):
        opens_clause = token in language.connectives and token not in language.joining
        if token in STOPS or (opens_clause and last not in STOPS):
            clause_count += 1
    return clause_count


def blank_position(problem: Problem) -> str:
    """The third of the text in which the blank is, in words.

    Positions are counted in words, or in characters if there are no spaces.
    """
    if is_spaced(problem):
        before_count = len(problem.before.split())
        after_count = len(problem.after.split())
    else:
        before_count = len(problem.before)
        after_count = len(problem.after)
    share = before_count / max(before_count + after_count, 1)
    if share < 1 / 3:
        return "first third"
    return "middle third" if share < 2 / 3 else "last third"
