"""The special word as the blank, and twins in pairs, as Elazar et al., "Back to Square One" (2021), count them.

The right candidate goes into the old blank, and the twins' special words become the candidates. Their WSC has 136 pairs
(the third of the one triplet is left out), their WSC-na the 110 of which neither member is associative, and their
zero-shot task is made of the pairs that differ in one word. https://arxiv.org/abs/2104.08161
"""

import re

from rapidfuzz.distance import Postfix, Prefix

from winokit.errors import BadInput, check_known
from winokit.methods.transforms.substitute import substitute
from winokit.methods.transforms.variants import PUBLISHED, TRANSFORMS, Variant, one_by_one
from winokit.problem import BLANK, Dataset, Problem
from winokit.text.language import language_of

NON_ASSOCIATIVE = ("trichelair", "elazar")
STYLES = ("default", "code")
MASK = "\ufffc"

Pair = tuple[Problem, Problem]


def special_word_problem(problem: Problem, twin: Problem) -> Problem | str:
    """The special-word problem of a problem and its twin, or why there is none.

    >>> problem = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    >>> made = special_word_problem(problem, problem.replace(after=" was tilted.", answer=1))
    >>> made.text, made.candidates, made.answer
    ('The cup hit the tray because the cup was _.', ('loose', 'tilted'), 0)
    """
    if problem.answer is None:
        return "the answer is hidden, and the question is made from it"
    difference = _difference(problem.text, twin.text, language_of(problem.language).piece)
    if difference is None:
        return "the twins do not differ in one place, away from the blank"
    start, end, own, other = difference
    if not own or not other:
        return "one twin has a word more than the other, so there is no word to mask"
    filled = substitute(problem, problem.candidates[problem.answer])
    # The special word stands before the blank or after it; its place is counted from that side.
    blank = len(problem.before)
    if end > blank and not filled.after.endswith(problem.text[start:]):
        return "the special word moves or changes with the candidate"
    if end <= blank:
        before, after = filled.before[:start], filled.before[end:] + filled.candidate + filled.after
    else:
        from_end = len(problem.text) - end
        tail = filled.after[len(filled.after) - from_end :] if from_end else ""
        head = filled.after[: len(filled.after) - from_end - len(own)]
        before = filled.before + filled.candidate + head
        after = tail
    return Problem(
        before,
        after,
        (own, other),
        0,
        group=problem.group,
        domain=problem.domain,
        labels={"substitution": "natural"},
        provenance={"of": problem.id},
        language=problem.language,
    )


def _difference(one: str, other: str, piece: re.Pattern[str]) -> tuple[int, int, str, str] | None:
    """Where in `one` two texts differ (start, end) and in which words; None if the blank is among them."""
    a = list(piece.finditer(one))
    b = list(piece.finditer(other))
    words = [m.group() for m in a]
    others = [m.group() for m in b]
    start = Prefix.similarity(words, others)
    end = Postfix.similarity(words[start:], others[start:])
    mine = a[start : len(a) - end]
    theirs = b[start : len(b) - end]
    if not (mine or theirs) or "_" in (m.group() for m in (*mine, *theirs)):
        return None
    place = a[start].start() if start < len(a) else len(one)
    return place, mine[-1].end() if mine else place, _span(one, mine), _span(other, theirs)


def _span(text: str, tokens: list[re.Match[str]]) -> str:
    return text[tokens[0].start() : tokens[-1].end()] if tokens else ""


def twin_pairs(dataset: Dataset) -> list[Pair]:
    """The first two members of each group: on WSC273 the rows two by two, once row 254 is left out."""
    return [(members[0], members[1]) for members in dataset.groups.values() if len(members) > 1]


def non_associative(dataset: Dataset, *, style: str = "trichelair") -> Dataset:
    """WSC-na by either definition.

    `trichelair`: the problems that are not associative (236 of WSC273). `elazar`: the twin pairs of which neither is
    (220 problems); 15 pairs have one associative member, and their other one goes too.
    """
    check_known("definition of WSC-na", style, NON_ASSOCIATIVE)
    if not all("associative" in problem.labels for problem in dataset):
        raise BadInput(f"{dataset.card.name}: not every problem says whether it is associative; give label files")
    if style == "trichelair":
        return dataset.filter(lambda problem: not problem.labels["associative"])
    return dataset.with_problems(
        problem
        for pair in twin_pairs(dataset)
        if not any(member.labels["associative"] for member in pair)
        for problem in pair
    )


def special_word_pairs(dataset: Dataset, *, style: str = "code") -> list[Pair]:
    """The pairs of special-word problems that can be made of a dataset, the one whose answer is its first option first.

    `code` is the released script: words stand between spaces and are compared one by one, up to the end of the shorter
    text; exactly one may differ; it is masked wherever its letters occur, and a pair with two masks in a text is left
    out; options go into the blank as they are; a full stop is added or taken off. `default` is `special_word_problem`
    for both twins.
    """
    check_known("style of special-word pairs", style, STYLES)
    pairs = [(one, other) if one.answer == 0 else (other, one) for one, other in twin_pairs(dataset)]
    if style == "code":
        return [made for pair in pairs if (made := _as_released(*pair)) is not None]
    both_ways = [(special_word_problem(one, other), special_word_problem(other, one)) for one, other in pairs]
    return [(one, other) for one, other in both_ways if not isinstance(one, str) and not isinstance(other, str)]


def _as_released(one: Problem, other: Problem) -> Pair | None:
    texts = _spaced(one), _spaced(other)
    differing = [(a, b) for a, b in zip(texts[0].split(), texts[1].split(), strict=False) if a != b]
    if len(differing) != 1:
        return None
    masked = [
        text.replace(word, MASK).replace(BLANK, problem.candidates[index])
        for index, (text, word, problem) in enumerate(zip(texts, differing[0], (one, other), strict=True))
    ]
    words = tuple(word.removesuffix(".") for word in differing[0])
    if any(text.count(MASK) != 1 for text in masked) or words[0].casefold() == words[1].casefold():
        return None
    first, second = (
        _problem(text, words, index, problem)
        for index, (text, problem) in enumerate(zip(masked, (one, other), strict=True))
    )
    return first, second


def _spaced(problem: Problem) -> str:
    """The text with its blank as a word of its own, as the script's files have it."""
    gaps = [" " if part and not part.isspace() else "" for part in (problem.before[-1:], problem.after[:1])]
    return f"{problem.before}{gaps[0]}{BLANK}{gaps[1]}{problem.after}"


def _problem(text: str, words: tuple[str, ...], answer: int, source: Problem) -> Problem:
    before, after = (text if text.endswith(".") else f"{text}.").split(MASK)
    made = Problem(before, after, words, answer, group=source.group, domain=source.domain, provenance={"of": source.id})
    return made.replace(language=source.language)


@TRANSFORMS.register("special-word")
def special_word(problems: Dataset) -> Variant:
    """Which special word fits the right candidate, where a problem has one twin."""

    def make(problem: Problem) -> Problem | str:
        twins = [] if problem.group is None else [p for p in problems.groups[problem.group] if p is not problem]
        if len(twins) != 1:
            return "no twin" if not twins else "more than one twin"
        return special_word_problem(problem, twins[0])

    return one_by_one(make)(problems)


@PUBLISHED["code"].register("special-word")
def special_word_of_the_script(problems: Dataset) -> Variant:
    """The pairs of the released script."""
    made = {str(p.provenance["of"]): p for pair in special_word_pairs(problems, style="code") for p in pair}
    return one_by_one(lambda problem: made.get(problem.id, "the script makes no pair of it"))(problems)
