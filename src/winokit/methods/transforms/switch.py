"""Switched problems: the two candidates exchange places.

After Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding" (2018),
https://arxiv.org/abs/1811.01778.

"Emma did not pass the ball to Janie although she saw that she was open" becomes "Janie did not pass the ball to Emma
…". The same *role* is right, so another *candidate* is: candidates keep their order and the answer is flipped. A scorer
that is consistent changes its choice.

Every mention moves, in the form that its new place requires, by the language's pack (`Language.exchange`). A switch
that cannot be undone to the letter, or that is not certain, is refused with a reason.

The authors switched by plain replacement, and their sentences lose the capitals of names ("call paul") and hit parts of
words ("the botray of the stairs"). If the labels have their sentence, `style="paper"` gives it as released, and
`style="mended"` with the original's capitals and without three slips. If they have none, `mended` gives ours. Each
switched problem names who made it (`provenance["switched_by"]`).
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
    """The problem with exchanged candidates and the other answer, or why not.

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
    plain = language.plain_exchange(problem.text, problem.candidates)
    if plain is not None:
        before, after = edited(problem, plain)
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
    """The function that switches the problems of a dataset.

    With labels, it switches the problems labelled switchable. Without labels, it follows a careful rule.
    """
    has_labels = any("switchable" in problem.labels for problem in problems)

    def make_by_label(problem: Problem) -> Problem | str:
        if "switchable" not in problem.labels:
            return "no label"
        if not problem.labels["switchable"]:
            return "labelled not switchable"
        return switch(problem, style="mended")

    def make_by_rule(problem: Problem) -> Problem | str:
        switched_problem = switch(problem, style="mended")
        if isinstance(switched_problem, str):
            return switched_problem
        return differ_in_kind(problem) or switched_problem

    return make_by_label if has_labels else make_by_rule


def looks_switchable(problem: Problem) -> str | None:
    """Reason why a switch may change the meaning, or None.

    It is a judgement by rule, which refuses when it is not sure.

    Two first names of one gender are switchable, and so are things of one kind ("the oatmeal cookies", "the chocolate
    chip cookies") and a man and a boy. Only people can say whether a bottle can do what a cup does.
    """
    switched_problem = switch(problem)
    if isinstance(switched_problem, str):
        return switched_problem
    return differ_in_kind(problem)


def differ_in_kind(problem: Problem) -> str | None:
    """Reason why the two candidates are not of one kind, or None."""
    return _find_difference_in_kind(problem.language, tuple(problem.candidates))


@lru_cache(1 << 16)  # twins have the same
def _find_difference_in_kind(code: str, candidates: tuple[str, ...]) -> str | None:
    language = language_of(code)
    one, other = (language.core(candidate) for candidate in candidates)
    genders = {language.gender_of(one), language.gender_of(other)}
    if None not in genders:
        return "names of two genders" if {"female", "male"} <= genders else None
    if genders != {None}:
        return "a name and something else"
    if language.is_proper(one) and language.is_proper(other):
        return "names that are on no list of first names"
    names = {one.casefold(), other.casefold()}
    if any(names <= people for people in language.people):
        return None
    return None if language.head(one) == language.head(other) else "things of different kinds"


def _switch_parts(problem: Problem) -> tuple[str, str] | str:
    """Text before and after the blank with exchanged candidates, or why not."""
    language = language_of(problem.language)
    edits = language.exchange(problem.text, problem.candidates, problem.pronoun)
    return edits if isinstance(edits, str) else edited(problem, edits)


def _flip_answer(problem: Problem, author: str, **changed: str) -> Problem:
    """The problem with changed fields and the other answer."""
    answer = None if problem.answer is None else 1 - problem.answer
    provenance = {"of": problem.id, "switched_by": author}
    return problem.replace(answer=answer, provenance=provenance, **changed)


def _make_released(problem: Problem, *, mended: bool) -> Problem | str:
    """The sentence that the authors released, with its pronoun in brackets."""
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
    """The two parts of a released sentence with the original's capitals."""
    spellings = _find_spellings(problem)
    language = language_of(problem.language)

    def restore(part: str, text_before: str = "") -> str:
        def respell(match: re.Match[str]) -> str:
            word = match.group()
            opens = language.opens_sentence(text_before + part[: match.start()])
            spelling = spellings.get((opens, word.casefold()))
            if spelling is None:
                return word[:1].upper() + word[1:] if opens else word
            return spelling

        return WORD.sub(respell, part)

    before = restore(_correct_slips(before))
    return before, restore(_correct_slips(after), before + pronoun)


def _find_spellings(problem: Problem) -> dict[tuple[bool, str], str]:
    """The original's spelling of each word, by place in a sentence and folded word."""
    original = problem.sentence
    language = language_of(problem.language)
    spellings = {}
    for match in WORD.finditer(original):
        opens = language.opens_sentence(original[: match.start()])
        spellings[opens, match.group().casefold()] = match.group()
    for candidate in problem.candidates:
        name = language.core(candidate)
        if language.is_proper(name):
            for word in WORD.findall(name):
                spellings[False, word.casefold()] = word
    return spellings


def _correct_slips(text: str) -> str:
    """Correct the words that plain replacement broke, and the spaces it left."""
    for slip, right in SLIPS.items():
        text = re.sub(rf"\b{slip}\b", right, text)
    return re.sub(r"\s+(?=[.,;:?!]|\s)", "", text)


@TRANSFORMS.register("switched")
def switched(problems: Dataset) -> Variant:
    """Exchange the candidates if that makes sense.

    Labels decide if there are any, else a careful rule.
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
    """The released sentence of a problem that is labelled switchable.

    There are released sentences for other problems too.
    """
    if problem.labels.get("switchable") is False:
        return "labelled not switchable"
    return switch(problem, style="paper")


PUBLISHED["paper"].register("switched")(one_by_one(_switch_as_released))
