"""The special word as the blank, and the pairs of twins.

After Elazar et al., "Back to Square One" (2021), who pair twins in this way.

The special word is the word, or the few words, in which twins differ. In a special-word problem the right candidate
goes into the old blank, the special word becomes the blank, and the twins' special words become the candidates. Their
WSC has 136 pairs (the third of the one triplet is left out), their WSC-na the 110 of which neither member is
associative, and their zero-shot task is made of the pairs that differ in one word. https://arxiv.org/abs/2104.08161
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
    """Make a problem that asks for the special word of a problem.

    The right candidate fills the old blank, and the special word becomes the new one. Candidates are this word, which
    is the answer, and the twin's. Returns the reason instead if that is not possible.

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
        # The position of a word after the blank is counted from the end of the text.
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


def _find_difference(text: str, twin_text: str, piece: re.Pattern[str]) -> tuple[int, int, str, str] | None:
    """Return the only part in which two texts differ.

    None if it has the blank. The part is given by its start and end in the first text, and its words in the first and
    in the second text. `piece` is the pattern of a word. Equal texts have no such part.
    """
    pieces = list(piece.finditer(text))
    twin_pieces = list(piece.finditer(twin_text))
    words = [match.group() for match in pieces]
    twin_words = [match.group() for match in twin_pieces]
    first = Prefix.similarity(words, twin_words)
    shared_at_end = Postfix.similarity(words[first:], twin_words[first:])
    last = len(pieces) - shared_at_end
    twin_last = len(twin_pieces) - shared_at_end
    differing_words = words[first:last] + twin_words[first:twin_last]
    if not differing_words or "_" in differing_words:
        return None
    differing_pieces = pieces[first:last]
    twin_differing_pieces = twin_pieces[first:twin_last]
    start = pieces[first].start() if first < len(pieces) else len(text)
    end = differing_pieces[-1].end() if differing_pieces else start
    return start, end, _span_of(text, differing_pieces), _span_of(twin_text, twin_differing_pieces)


def _span_of(text: str, pieces: list[re.Match[str]]) -> str:
    """Text from the first to the last match, or empty."""
    if not pieces:
        return ""
    start = pieces[0].start()
    end = pieces[-1].end()
    return text[start:end]


def twin_pairs(dataset: Dataset) -> list[Pair]:
    """Return the first two members of each group.

    Groups with one member are left out. In WSC273 these are neighbouring rows, after row 254 is left out.
    """
    groups = dataset.groups.values()
    return [(members[0], members[1]) for members in groups if len(members) > 1]


def non_associative(dataset: Dataset, *, style: str = "trichelair") -> Dataset:
    """Return the problems that are not associative (WSC-na).

    `trichelair`: all problems that are labelled so (236 of WSC273). `elazar`: the twin pairs in which both members are
    (220 problems). Raises BadInput if a problem has no label `associative`.
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
    """Return the special-word problems of all pairs of twins that have them.

    In each pair, the problem made from the twin with answer 0 is first.

    `code` is the released script: words are separated by spaces and compared one by one, up to the end of the shorter
    text. Exactly one may differ. It is masked wherever its letters occur, and a pair with two masks in a text is left
    out. Options go into the blank unchanged. A full stop is added or removed. `default` is `special_word_problem` for
    both twins.
    """
    check_known("style of special-word pairs", style, STYLES)
    make_pair = _make_released_pair if style == "code" else _make_pair
    special_pairs: list[Pair] = []
    for first, second in twin_pairs(dataset):
        if first.answer == 0:
            special_pair = make_pair(first, second)
        else:
            special_pair = make_pair(second, first)
        if special_pair is not None:
            special_pairs.append(special_pair)
    return special_pairs


def _make_pair(first: Problem, second: Problem) -> Pair | None:
    """Return two twins' special-word problems, or None if one has none."""
    first_problem = special_word_problem(first, second)
    second_problem = special_word_problem(second, first)
    if isinstance(first_problem, str) or isinstance(second_problem, str):
        return None
    return first_problem, second_problem


def _make_released_pair(first: Problem, second: Problem) -> Pair | None:
    """Return two twins' special-word problems, as the script makes them.

    None if it makes none. The script takes the first candidate of the first twin for right, and the second one of the
    second.
    """
    first_text = _separate_blank(first)
    second_text = _separate_blank(second)
    # The script compares words up to the end of the shorter text.
    word_pairs = zip(first_text.split(), second_text.split(), strict=False)
    differing_words = [words for words in word_pairs if words[0] != words[1]]
    if len(differing_words) != 1:
        return None
    first_word, second_word = differing_words[0]
    first_masked = first_text.replace(first_word, MASK).replace(BLANK, first.candidates[0])
    second_masked = second_text.replace(second_word, MASK).replace(BLANK, second.candidates[1])
    if first_masked.count(MASK) != 1 or second_masked.count(MASK) != 1:
        return None
    options = (first_word.removesuffix("."), second_word.removesuffix("."))
    if options[0].casefold() == options[1].casefold():
        return None
    first_problem = _make_problem(first_masked, options, 0, first)
    second_problem = _make_problem(second_masked, options, 1, second)
    return first_problem, second_problem


def _separate_blank(problem: Problem) -> str:
    """Return the text with spaces around its blank."""
    last = problem.before[-1:]
    first = problem.after[:1]
    space_before = " " if last and not last.isspace() else ""
    space_after = " " if first and not first.isspace() else ""
    return f"{problem.before}{space_before}{BLANK}{space_after}{problem.after}"


def _make_problem(text: str, words: tuple[str, ...], answer: int, source: Problem) -> Problem:
    """Return the problem whose blank is the mask in a text.

    A full stop is added to the text if it has none. `words` are the candidates. Group, domain and language are those of
    `source`.
    """
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
    """Make the special-word problem of every problem that has exactly one twin.

    Problems without one twin, or whose twin differs in more than one place, are refused.
    """

    def make_problem(problem: Problem) -> Problem | str:
        """Return the special-word problem, or the reason why there is none."""
        if problem.group is None:
            return "no twin"
        members = problems.groups[problem.group]
        twins = [member for member in members if member is not problem]
        if len(twins) != 1:
            return "no twin" if not twins else "more than one twin"
        return special_word_problem(problem, twins[0])

    return one_by_one(make_problem)(problems)


@PUBLISHED["code"].register("special-word")
def special_word_of_the_script(problems: Dataset) -> Variant:
    """Make the special-word problems that the released script makes."""
    special_problems: dict[str, Problem] = {}
    for pair in special_word_pairs(problems, style="code"):
        for special_problem in pair:
            original_id = str(special_problem.provenance["of"])
            special_problems[original_id] = special_problem

    def find_problem(problem: Problem) -> Problem | str:
        """Return the script's problem, or the reason why there is none."""
        return special_problems.get(problem.id, "the script makes no pair of it")

    return one_by_one(find_problem)(problems)
