"""The special word as the blank, and twins in pairs.

After Elazar et al., "Back to Square One" (2021), who count twins in this way.

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
    """The special-word problem of a problem and its twin, or why none exists.

    >>> problem = Problem("The cup hit the tray because ", " was loose.", ("the cup", "the tray"), 0, "it")
    >>> made = special_word_problem(problem, problem.replace(after=" was tilted.", answer=1))
    >>> made.text, made.candidates, made.answer
    ('The cup hit the tray because the cup was _.', ('loose', 'tilted'), 0)
    """
    if problem.answer is None:
        return "the answer is hidden, and the question is made from it"
    difference = _find_difference(problem.text, twin.text, language_of(problem.language).piece)
    if difference is None:
        return "the twins do not differ in one place, away from the blank"
    start, end, special_word, other_word = difference
    if not special_word or not other_word:
        return "one twin has a word more than the other, so there is no word to mask"
    filled = substitute(problem, problem.candidates[problem.answer])
    blank = len(problem.before)
    if end > blank and not filled.after.endswith(problem.text[start:]):
        return "the special word moves or changes with the candidate"
    if end <= blank:
        before = filled.before[:start]
        after = filled.before[end:] + filled.candidate + filled.after
    else:
        # The place of a word after the blank is counted from the end of the text.
        from_end = len(problem.text) - end
        tail_start = len(filled.after) - from_end
        word_start = tail_start - len(special_word)
        before = filled.before + filled.candidate + filled.after[:word_start]
        after = filled.after[tail_start:]
    return Problem(
        before,
        after,
        (special_word, other_word),
        0,
        group=problem.group,
        domain=problem.domain,
        labels={"substitution": "natural"},
        provenance={"of": problem.id},
        language=problem.language,
    )


def _find_difference(one: str, other: str, piece: re.Pattern[str]) -> tuple[int, int, str, str] | None:
    """Place in `one` where two texts differ, and the differing words.

    They are start, end, own words and other words. None if the blank is among the words.
    """
    one_pieces = list(piece.finditer(one))
    other_pieces = list(piece.finditer(other))
    one_words = [match.group() for match in one_pieces]
    other_words = [match.group() for match in other_pieces]
    start = Prefix.similarity(one_words, other_words)
    shared_at_end = Postfix.similarity(one_words[start:], other_words[start:])
    one_end = len(one_pieces) - shared_at_end
    other_end = len(other_pieces) - shared_at_end
    differing_words = one_words[start:one_end] + other_words[start:other_end]
    if not differing_words or "_" in differing_words:
        return None
    one_span = one_pieces[start:one_end]
    other_span = other_pieces[start:other_end]
    place = one_pieces[start].start() if start < len(one_pieces) else len(one)
    end = one_span[-1].end() if one_span else place
    return place, end, _span_of(one, one_span), _span_of(other, other_span)


def _span_of(text: str, pieces: list[re.Match[str]]) -> str:
    """The text from the first piece to the last."""
    if not pieces:
        return ""
    start = pieces[0].start()
    end = pieces[-1].end()
    return text[start:end]


def twin_pairs(dataset: Dataset) -> list[Pair]:
    """The first two members of each group.

    On WSC273 they are the rows two by two, after row 254 is left out.
    """
    groups = dataset.groups.values()
    return [(members[0], members[1]) for members in groups if len(members) > 1]


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
    problems: list[Problem] = []
    for pair in twin_pairs(dataset):
        if not any(member.labels["associative"] for member in pair):
            problems += pair
    return dataset.with_problems(problems)


def special_word_pairs(dataset: Dataset, *, style: str = "code") -> list[Pair]:
    """All pairs of special-word problems that a dataset yields.

    The problem whose answer is its first option is first.

    `code` is the released script: words stand between spaces and are compared one by one, up to the end of the shorter
    text; exactly one may differ; it is masked wherever its letters occur, and a pair with two masks in a text is left
    out; options go into the blank as they are; a full stop is added or taken off. `default` is `special_word_problem`
    for both twins.
    """
    check_known("style of special-word pairs", style, STYLES)
    made_pairs: list[Pair] = []
    for first, second in twin_pairs(dataset):
        one, other = (first, second) if first.answer == 0 else (second, first)
        made_pair = _make_released_pair(one, other) if style == "code" else _make_pair(one, other)
        if made_pair is not None:
            made_pairs.append(made_pair)
    return made_pairs


def _make_pair(one: Problem, other: Problem) -> Pair | None:
    """The special-word problems of two twins, or None if one of them has none."""
    one_problem = special_word_problem(one, other)
    other_problem = special_word_problem(other, one)
    if isinstance(one_problem, str) or isinstance(other_problem, str):
        return None
    return one_problem, other_problem


def _make_released_pair(one: Problem, other: Problem) -> Pair | None:
    """The pair that the released script makes of two twins, or None."""
    one_text = _separate_blank(one)
    other_text = _separate_blank(other)
    # The script compares words up to the end of the shorter text.
    word_pairs = zip(one_text.split(), other_text.split(), strict=False)
    differing_words = [words for words in word_pairs if words[0] != words[1]]
    if len(differing_words) != 1:
        return None
    one_word, other_word = differing_words[0]
    one_masked = one_text.replace(one_word, MASK).replace(BLANK, one.candidates[0])
    other_masked = other_text.replace(other_word, MASK).replace(BLANK, other.candidates[1])
    if one_masked.count(MASK) != 1 or other_masked.count(MASK) != 1:
        return None
    options = (one_word.removesuffix("."), other_word.removesuffix("."))
    if options[0].casefold() == options[1].casefold():
        return None
    return _make_problem(one_masked, options, 0, one), _make_problem(other_masked, options, 1, other)


def _separate_blank(problem: Problem) -> str:
    """The text with spaces around its blank, as in the script's files."""
    last = problem.before[-1:]
    first = problem.after[:1]
    space_before = " " if last and not last.isspace() else ""
    space_after = " " if first and not first.isspace() else ""
    return f"{problem.before}{space_before}{BLANK}{space_after}{problem.after}"


def _make_problem(text: str, words: tuple[str, ...], answer: int, source: Problem) -> Problem:
    """The problem of a masked text, with a full stop at its end."""
    sentence = text if text.endswith(".") else f"{text}."
    before, after = sentence.split(MASK)
    return Problem(
        before,
        after,
        words,
        answer,
        group=source.group,
        domain=source.domain,
        provenance={"of": source.id},
        language=source.language,
    )


@TRANSFORMS.register("special-word")
def special_word(problems: Dataset) -> Variant:
    """Ask which special word fits the right candidate, given one twin."""

    def make(problem: Problem) -> Problem | str:
        if problem.group is None:
            return "no twin"
        members = problems.groups[problem.group]
        twins = [member for member in members if member is not problem]
        if len(twins) != 1:
            return "no twin" if not twins else "more than one twin"
        return special_word_problem(problem, twins[0])

    return one_by_one(make)(problems)


@PUBLISHED["code"].register("special-word")
def special_word_of_the_script(problems: Dataset) -> Variant:
    """The pairs that the released script makes."""
    made_by_id: dict[str, Problem] = {}
    for pair in special_word_pairs(problems, style="code"):
        for made_problem in pair:
            made_by_id[str(made_problem.provenance["of"])] = made_problem

    def make(problem: Problem) -> Problem | str:
        return made_by_id.get(problem.id, "the script makes no pair of it")

    return one_by_one(make)(problems)
