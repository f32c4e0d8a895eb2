"""The candidates change places: switched problems.

After Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding" (2018),
https://arxiv.org/abs/1811.01778.

"Emma did not pass the ball to Janie although she saw that she was open" becomes "Janie did not pass the ball to Emma
…". The same *role* is right, so another *candidate* is: candidates keep their order and the answer is flipped. A scorer
that is consistent changes its choice.

Every mention moves, in the form its new place asks for: how is for the language's pack to say (`Language.exchange`).
What cannot be undone to the letter, or where we are unsure, is refused with a reason.

The authors switched by plain replacement, and their sentences lose the capitals of names ("call paul") and hit parts of
words ("the botray of the stairs"). Where the labels have their sentence, `style="paper"` gives it as released, and
`style="mended"` with the original's capitals and without three slips; where they have none, `mended` gives ours. What
was switched says by whom (`provenance["switched_by"]`).
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
# What plain replacement broke in rows 15, 21 and 106 of the released file, as the twin or the original has it.
SLIPS = {"lift his man": "lift the man", "botray": "bottom", "Man was doing": "A man was doing", "a john": "John"}
WORD = re.compile(r"\w+")


def switch(problem: Problem, *, style: str = "default") -> Problem | str:
    """The problem with its candidates in each other's places and the answer flipped, or why not.

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
    if style == "paper" or (style == "mended" and "switched" in problem.labels):
        return _released(problem, mended=style == "mended")
    plain = language.plain_exchange(problem.text, problem.candidates)
    parts = _switched_parts(problem) if plain is None else edited(problem, plain)
    if isinstance(parts, str):
        return parts
    made = _flipped(problem, OURS, before=parts[0], after=parts[1])
    if plain is not None:
        return made
    back = _switched_parts(made)
    lost = language.undone_by_itself if isinstance(back, str) else back != (problem.before, problem.after)
    return "switching back would not give the same text" if lost else made


def by_label_or_rule(problems: Iterable[Problem]) -> Callable[[Problem], Problem | str]:
    """How some problems are switched: where they have labels, those labelled switchable, else by a careful rule."""
    labelled = any("switchable" in problem.labels for problem in problems)

    def make(problem: Problem) -> Problem | str:
        if labelled and not problem.labels.get("switchable"):
            return "labelled not switchable" if "switchable" in problem.labels else "no label"
        made = switch(problem, style="mended")
        return made if labelled or isinstance(made, str) else differ_in_kind(problem) or made

    return make


def looks_switchable(problem: Problem) -> str | None:
    """Why the meaning may not survive a switch, or None if it should: a judgement by rule, careful before complete.

    Two first names of one gender are switchable, and so are things of one kind ("the oatmeal cookies", "the chocolate
    chip cookies") and a man and a boy. Whether a bottle can do what a cup does is for people to say.
    """
    made = switch(problem)
    return made if isinstance(made, str) else differ_in_kind(problem)


def differ_in_kind(problem: Problem) -> str | None:
    """Why the two candidates of a problem are not of one kind, or None if they are."""
    return _differ_in_kind(problem.language, tuple(problem.candidates))


@lru_cache(1 << 16)  # twins have the same
def _differ_in_kind(code: str, candidates: tuple[str, ...]) -> str | None:
    language = language_of(code)
    one, other = (language.core(candidate) for candidate in candidates)
    genders = {language.gender_of(one), language.gender_of(other)}
    if None not in genders:
        return "names of two genders" if {"female", "male"} <= genders else None
    if not genders <= {None}:
        return "a name and something else"
    if language.is_proper(one) and language.is_proper(other):
        return "names that are on no list of first names"
    alike = any({one.casefold(), other.casefold()} <= kind for kind in language.people)
    return None if alike or language.head(one) == language.head(other) else "things of different kinds"


def _switched_parts(problem: Problem) -> tuple[str, str] | str:
    """What stands before and after the blank once the candidates have changed places, or why they cannot."""
    edits = language_of(problem.language).exchange(problem.text, problem.candidates, problem.pronoun)
    return edits if isinstance(edits, str) else edited(problem, edits)


def _flipped(problem: Problem, by: str, **changed: str) -> Problem:
    answer = None if problem.answer is None else 1 - problem.answer
    return problem.replace(answer=answer, provenance={"of": problem.id, "switched_by": by}, **changed)


def _released(problem: Problem, *, mended: bool) -> Problem | str:
    """The sentence the authors released, which has its pronoun in brackets."""
    parts = re.split(r"\[([^\[\]]+)\]", str(problem.labels.get("switched", "")))
    if len(parts) != 3:
        return "no switched sentence was released for it"
    before, pronoun, after = parts
    if mended:
        pronoun = problem.pronoun or pronoun
        before, after = _mended(problem, before, pronoun, after)
    return _flipped(problem, AUTHORS, before=before, pronoun=pronoun, after=after)


def _mended(problem: Problem, before: str, pronoun: str, after: str) -> tuple[str, str]:
    """A released sentence's two parts, every word in the case that the original gives it in such a place."""
    original = problem.sentence
    language = language_of(problem.language)
    forms = {
        (language.opens_sentence(original[: m.start()]), m.group().casefold()): m.group()
        for m in WORD.finditer(original)
    }
    names = " ".join(name for name in map(language.core, problem.candidates) if language.is_proper(name))
    forms |= {(False, word.casefold()): word for word in WORD.findall(names)}

    def cased(part: str, lead: str = "") -> str:
        def in_its_place(match: re.Match[str]) -> str:
            word, opens = match.group(), language.opens_sentence(lead + part[: match.start()])
            return forms.get((opens, word.casefold()), word[:1].upper() + word[1:] if opens else word)

        return WORD.sub(in_its_place, part)

    before = cased(_without_slips(before))
    return before, cased(_without_slips(after), before + pronoun)


def _without_slips(text: str) -> str:
    for slip, right in SLIPS.items():
        text = re.sub(rf"\b{slip}\b", right, text)
    return re.sub(r"\s+(?=[.,;:?!]|\s)", "", text)


@TRANSFORMS.register("switched")
def switched(problems: Dataset) -> Variant:
    """Candidates changed places, where that makes sense: by label where there is one, else by a careful judgement."""
    variant = one_by_one(by_label_or_rule(problems))(problems)
    labelled = any("switchable" in problem.labels for problem in problems)
    variant.note = f"switchable: {'labels' if labelled else 'judged automatically'}"
    by = Counter(problem.provenance["switched_by"] for problem in variant.problems)
    if by[AUTHORS]:
        variant.note += f"; sentences: the authors' {by[AUTHORS]}, ours {by[OURS]}"
    return variant


def _switched_by_authors(problem: Problem) -> Problem | str:
    """The released sentence of a problem that is labelled switchable; there is one for others too."""
    return "labelled not switchable" if problem.labels.get("switchable") is False else switch(problem, style="paper")


PUBLISHED["paper"].register("switched")(one_by_one(_switched_by_authors))
