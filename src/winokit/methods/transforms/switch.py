"""Switched problems: the two candidates exchange places.

After Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding" (2018),
https://arxiv.org/abs/1811.01778.

"Emma did not pass the ball to Janie although she saw that she was open" becomes "Janie did not pass the ball to Emma
…". The same *role* is right, so another *candidate* is: candidates keep their order and the answer is flipped. A scorer
that is consistent changes its choice.

Every mention moves, in the form that its new place requires, by the language's pack (`Language.exchange`). A switch
that cannot be undone to the letter, or that is not certain, is refused with a reason.

The authors switched by plain replacement: their sentences lose the capitals of names ("call paul"), and parts of words
are replaced ("the botray of the stairs"). If the labels have their sentence, `style="paper"` returns it as released,
and `style="mended"` corrects the capitals and three slips. If they have none, `mended` returns ours. Each switched
problem names who made it (`provenance["switched_by"]`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from functools import lru_cache

from winokit.errors import check_known
from winokit.methods.transforms.substitute import edited
from winokit.methods.transforms.variants import PUBLISHED, TRANSFORMS, Variant, one_by_one
from winokit.problem import NO_BLANK, Dataset, Problem
from winokit.text.language import language_of

STYLES = ("default", "paper", "mended")
AUTHORS = "authors"
OURS = "ours"
# Words that plain replacement broke in rows 15, 21 and 106 of the released file, as the twin or the original has them.
SLIPS = {"lift his man": "lift the man", "botray": "bottom", "Man was doing": "A man was doing", "a john": "John"}
WORD = re.compile(r"\w+")


def switch(problem: Problem, *, style: str = "default") -> Problem | str:
    """Exchange the two candidates in a problem's text, and flip its answer.

    Returns the reason instead if that is not possible. The style is `default`, `paper` or `mended`.

    >>> ball = Problem("Emma threw Janie's ball to Ruth because ", " was tired.", ("Emma", "Janie"), 0, "she")
    >>> made = switch(ball)
    >>> made.text, made.candidates, made.right
    ("Janie threw Emma's ball to Ruth because _ was tired.", ('Emma', 'Janie'), 'Janie')
    >>> switch(made) == ball
    True
    """
    check_known("style of switching", style, STYLES)
    if problem.is_whole:
        return NO_BLANK
    if problem.query is not None:
        return "a yes/no judgement names one candidate only"
    if len(problem.candidates) != 2:
        return "more than two candidates"
    language = language_of(problem.language)
    if refusal := language.refusal("switched"):
        return refusal
    is_mended = style == "mended"
    if style == "paper" or (is_mended and "switched" in problem.labels):
        return _make_released(problem, mended=is_mended)
    plain_edits = language.plain_exchange(problem.text, problem.candidates)
    if plain_edits is not None:
        before, after = edited(problem, plain_edits)
        return _flip_answer(problem, OURS, before=before, after=after)
    parts = _switch_parts(problem)
    if isinstance(parts, str):
        return parts
    switched_problem = _flip_answer(problem, OURS, before=parts[0], after=parts[1])
    parts_back = _switch_parts(switched_problem)
    if isinstance(parts_back, str):
        is_lost = language.undone_by_itself
    else:
        is_lost = parts_back != (problem.before, problem.after)
    return "switching back would not give the same text" if is_lost else switched_problem


def by_label_or_rule(problems: Iterable[Problem]) -> Callable[[Problem], Problem | str]:
    """Return the function that switches problems of a dataset.

    If any problem has the label `switchable`, the function switches those that are labelled so. Otherwise it switches
    problems whose candidates are of one kind by `differ_in_kind`. It returns the new problem, or the reason why not.
    """
    has_labels = any("switchable" in problem.labels for problem in problems)

    def make_by_label(problem: Problem) -> Problem | str:
        """Switch a problem that is labelled switchable."""
        if "switchable" not in problem.labels:
            return "no label"
        if not problem.labels["switchable"]:
            return "labelled not switchable"
        return switch(problem, style="mended")

    def make_by_rule(problem: Problem) -> Problem | str:
        """Switch a problem whose candidates are of one kind."""
        switched_problem = switch(problem, style="mended")
        if isinstance(switched_problem, str):
            return switched_problem
        return differ_in_kind(problem) or switched_problem

    return make_by_label if has_labels else make_by_rule


def looks_switchable(problem: Problem) -> str | None:
    """Return the reason why a problem may not be switchable, or None.

    Problems are switchable if the candidates can be exchanged, and are of one kind by `differ_in_kind`.
    """
    switched_problem = switch(problem)
    if isinstance(switched_problem, str):
        return switched_problem
    return differ_in_kind(problem)


def differ_in_kind(problem: Problem) -> str | None:
    """Return the reason why the candidates may not be of one kind, or None.

    Two first names of one gender are of one kind, and so are a man and a boy, and things with the same noun ("the
    oatmeal cookies", "the chocolate chip cookies"). If in doubt, there is a reason: only people can say whether a
    bottle can do what a cup does.
    """
    return _find_difference_in_kind(problem.language, tuple(problem.candidates))


@lru_cache(1 << 16)  # twins have the same candidates
def _find_difference_in_kind(code: str, candidates: tuple[str, ...]) -> str | None:
    """Return the reason why two candidates differ in kind, or None.

    `code` is that of their language.
    """
    language = language_of(code)
    first, second = (language.core(candidate) for candidate in candidates)
    genders = {language.gender_of(first), language.gender_of(second)}
    if None not in genders:
        return "names of two genders" if {"female", "male"} <= genders else None
    if genders != {None}:
        return "a name and something else"
    if language.is_proper(first) and language.is_proper(second):
        return "names that are on no list of first names"
    names = {first.casefold(), second.casefold()}
    if any(names <= people for people in language.people):
        return None
    has_same_noun = language.head(first) == language.head(second)
    return None if has_same_noun else "things of different kinds"


def _switch_parts(problem: Problem) -> tuple[str, str] | str:
    """Return the text before and after the blank with exchanged candidates.

    Returns the reason instead if the exchange is not certain.
    """
    language = language_of(problem.language)
    edits = language.exchange(problem.text, problem.candidates, problem.pronoun)
    return edits if isinstance(edits, str) else edited(problem, edits)


def _flip_answer(problem: Problem, author: str, **changed: str) -> Problem:
    """Return a problem with changed fields and the other answer.

    `author` is recorded as the one who switched it. A hidden answer stays hidden.
    """
    answer = None if problem.answer is None else 1 - problem.answer
    provenance = {"of": problem.id, "switched_by": author}
    return problem.replace(answer=answer, provenance=provenance, **changed)


def _make_released(problem: Problem, *, mended: bool) -> Problem | str:
    """Return the problem with the switched sentence that the authors released.

    It is in the label `switched`, with the pronoun in brackets. Returns the reason instead if there is none. With
    `mended`, its capitals and slips are corrected.
    """
    sentence = str(problem.labels.get("switched", ""))
    parts = re.split(r"\[([^\[\]]+)\]", sentence)
    if len(parts) != 3:
        return "no switched sentence was released for it"
    before, pronoun, after = parts
    if mended:
        pronoun = problem.pronoun or pronoun
        before, after = _restore_capitals(problem, before, pronoun, after)
    return _flip_answer(problem, AUTHORS, before=before, pronoun=pronoun, after=after)


def _restore_capitals(problem: Problem, before: str, pronoun: str, after: str) -> tuple[str, str]:
    """Return the parts of a released sentence with the original's capitals.

    Slips are corrected too.
    """
    spellings = _find_spellings(problem)
    language = language_of(problem.language)

    def restore(part: str, text_before: str = "") -> str:
        """Respell the words of a part, which follows `text_before`."""

        def respell(match: re.Match[str]) -> str:
            """Return the original's spelling of a word, or the word itself."""
            word = match.group()
            opens_sentence = language.opens_sentence(text_before + part[: match.start()])
            spelling = spellings.get((opens_sentence, word.casefold()))
            if spelling is not None:
                return spelling
            return word[:1].upper() + word[1:] if opens_sentence else word

        return WORD.sub(respell, part)

    before = restore(_correct_slips(before))
    return before, restore(_correct_slips(after), before + pronoun)


def _find_spellings(problem: Problem) -> dict[tuple[bool, str], str]:
    """Return the spelling of each word of a problem's text.

    The key has whether the word opens a sentence, and the word in lower case.
    """
    original = problem.sentence
    language = language_of(problem.language)
    spellings = {}
    for match in WORD.finditer(original):
        word = match.group()
        opens_sentence = language.opens_sentence(original[: match.start()])
        spellings[opens_sentence, word.casefold()] = word
    for candidate in problem.candidates:
        name = language.core(candidate)
        if language.is_proper(name):
            for word in WORD.findall(name):
                spellings[False, word.casefold()] = word
    return spellings


def _correct_slips(text: str) -> str:
    """Correct words that plain replacement broke, and superfluous spaces."""
    for slip, right in SLIPS.items():
        text = re.sub(rf"\b{slip}\b", right, text)
    return re.sub(r"\s+(?=[.,;:?!]|\s)", "", text)


@TRANSFORMS.register("switched")
def switched(problems: Dataset) -> Variant:
    """Exchange the candidates of every problem for which that makes sense.

    Labels say for which if there are any, else `differ_in_kind`. A note says which of them, and who made the sentences.
    """
    switch_one = by_label_or_rule(problems)
    variant = one_by_one(switch_one)(problems)
    has_labels = any("switchable" in problem.labels for problem in problems)
    variant.note = "switchable: labels" if has_labels else "switchable: judged automatically"
    counts = Counter(problem.provenance["switched_by"] for problem in variant.problems)
    if counts[AUTHORS]:
        variant.note += f"; sentences: the authors' {counts[AUTHORS]}, ours {counts[OURS]}"
    return variant


def _switch_as_released(problem: Problem) -> Problem | str:
    """Return the problem with its released sentence, or the reason why not.

    A problem labelled not switchable is refused, although some of them have a released sentence.
    """
    if problem.labels.get("switchable") is False:
        return "labelled not switchable"
    return switch(problem, style="paper")


PUBLISHED["paper"].register("switched")(one_by_one(_switch_as_released))
