"""The candidates change places: switched problems.

After Trichelair et al., "On the Evaluation of Common-Sense Reasoning in Natural Language Understanding" (2018),
https://arxiv.org/abs/1811.01778.

"Emma did not pass the ball to Janie although she saw that she was open" becomes "Janie did not pass the ball to Emma
…". The same *role* is right, so another *candidate* is: candidates keep their order and the answer is flipped. A scorer
that is consistent changes its choice.

Every mention moves, in the case its new place asks for. Articles stay where they are when both candidates have one ("a
gap in the wall", "a wall in the gap"), and travel with their noun when the other is a name or has none ("Sam fooled the
con artist"). What cannot be undone to the letter, or where we are unsure, is refused with a reason.

The authors switched by plain replacement, and their sentences lose the capitals of names ("call paul") and hit parts of
words ("the botray of the stairs"). Where the labels have their sentence, `style="paper"` gives it as released, and
`style="mended"` with the original's capitals and without three slips; where they have none, `mended` gives ours. What
was switched says by whom (`provenance["switched_by"]`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from winokit.errors import check_known
from winokit.methods.transforms.substitute import edited
from winokit.problem import Problem
from winokit.text.english import DETERMINERS, ENGLISH
from winokit.text.language import Mention, language_of

STYLES = ("default", "paper", "mended")
AUTHORS, OURS = "authors", "ours"
# What plain replacement broke in rows 15, 21 and 106 of the released file, as the twin or the original has it.
SLIPS = {"lift his man": "lift the man", "botray": "bottom", "Man was doing": "A man was doing", "a john": "John"}
WORD = re.compile(r"\w+")
VOWEL_SOUND = re.compile(r"(?!uni|use|usu|eu|one|once|u[bst]i)[aeiou]|hour|honest|honou?r|heir", re.IGNORECASE)
TITLE_BEFORE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St)\.?\s+$")
WHOLE_PHRASES = frozenset("someone somebody something everyone everybody everything".split())
PEOPLE = (frozenset("man boy guy gentleman".split()), frozenset("woman girl lady".split()))
"""Words for people of one gender that say nothing else of them: a man may do what a boy does."""


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
    if problem.query is not None:
        return "a yes/no judgement names one candidate only"
    if len(problem.candidates) != 2:
        return "more than two candidates"
    if refusal := language_of(problem.language).refusal("switched"):
        return refusal
    if style == "paper" or (style == "mended" and "switched" in problem.labels):
        return _released(problem, mended=style == "mended")
    made = _switched(problem)
    if isinstance(made, Problem):
        back = _switched(made)
        if isinstance(back, str) or back.text != problem.text:
            return "switching back would not give the same text"
    return made


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
    one, other = (ENGLISH.core(candidate) for candidate in problem.candidates)
    genders = {ENGLISH.gender_of(one), ENGLISH.gender_of(other)}
    if None not in genders:
        return "names of two genders" if {"female", "male"} <= genders else None
    if not genders <= {None}:
        return "a name and something else"
    if ENGLISH.is_proper(one) and ENGLISH.is_proper(other):
        return "names that are on no list of first names"
    if ENGLISH.head(one) == ENGLISH.head(other) or any({one.casefold(), other.casefold()} <= kind for kind in PEOPLE):
        return None
    return "things of different kinds"


@dataclass(frozen=True, slots=True)
class _Naming:
    """How one candidate is named in a text: its form in the middle of a sentence, its mentions, what is before them."""

    form: str
    mentions: tuple[Mention, ...]
    stands: frozenset[str]


def _switched(problem: Problem) -> Problem | str:
    text = problem.text
    words = [ENGLISH.core(candidate) for candidate in problem.candidates]
    if words[0].casefold() == words[1].casefold():
        return "the candidates differ only in their article"
    found = ENGLISH.mentions(text, words)
    if {mention.candidate for mention in found} != {0, 1}:
        words = _difference(*words)
        found = ENGLISH.mentions(text, words)
        if sorted(mention.candidate for mention in found) != [0, 1]:
            return "a candidate is not named in the text"
    elif any(ENGLISH.stands_in_another_form(text, name, found) for name in words):
        return "a candidate may be meant by other words too"
    edits = _edits(text, *(_naming(text, found, index, name) for index, name in enumerate(words)))
    if isinstance(edits, str):
        return edits
    before, after = edited(problem, edits)
    return _flipped(problem, OURS, before=before, after=after)


def _difference(one: str, other: str) -> list[str]:
    """What is left of two candidates without the words they end in alike: "older" and "younger" of two students.

    A text that says "the older students" and "the younger ones" names the second no further than that.
    """
    ones, others = one.split(), other.split()
    while ones and others and ones[-1].casefold() == others[-1].casefold():
        ones, others = ones[:-1], others[:-1]
    return [" ".join(ones), " ".join(others)] if len(ones) < len(one.split()) else ["", ""]


def _naming(text: str, found: list[Mention], index: int, words: str) -> _Naming | str:
    own = tuple(mention for mention in found if mention.candidate == index)
    inside = {text[m.start : m.end] for m in own if not ENGLISH.opens_sentence(text[: m.start])}
    if len(inside) > 1:
        return "a candidate is spelled in more than one way"
    form = inside.pop() if inside else text[own[0].start : own[0].end]
    if all(ENGLISH.opens_sentence(text[: m.start]) for m in own) and not ENGLISH.is_proper(words):
        form = form[:1].lower() + form[1:]
    if form.split()[0].casefold() in DETERMINERS | WHOLE_PHRASES:
        stands = {"bare"}  # "my uncle" is a phrase of its own wherever it stands
    elif form[:1].isupper() and not any(ENGLISH.article_before(text, m.start) for m in own):
        stands = {"name"}
    else:
        stands = {ENGLISH.how_it_stands(text, m.start) for m in own}
    return _Naming(form, own, frozenset(stands))


def _edits(text: str, one: _Naming | str, other: _Naming | str) -> list[tuple[int, int, str]] | str:
    """What to put where, or why not."""
    if isinstance(one, str) or isinstance(other, str):
        return one if isinstance(one, str) else str(other)
    stands = one.stands | other.stands
    if ENGLISH.is_plural(one.form) != ENGLISH.is_plural(other.form) and stands != {"name"}:
        return "one candidate is plural, the other is not"
    if not (_possessives_fit(text, one, other) and _possessives_fit(text, other, one)):
        return "a possessive ending would not fit the other"
    if stands <= {"article", "determined"} or stands <= {"name", "bare", "unsure"}:
        return _in_place(text, one, other) + _in_place(text, other, one)
    for noun, bare in ((one, other), (other, one)):
        if noun.stands == {"article"} and bare.stands in ({"name"}, {"bare"}):
            return _carrying_the_article(text, noun, bare)
    return "a candidate has words before it that may not fit the other"


def _possessives_fit(text: str, leaving: _Naming, coming: _Naming) -> bool:
    """Whether what a candidate has after it would also be right after the other: James' hat, the men's hats."""
    endings = {text[mention.end : mention.end + 2].replace("’", "'") for mention in leaving.mentions}
    only_apostrophe = leaving.form.endswith("s") and any(e[:1] == "'" and e != "'s" for e in endings)
    if only_apostrophe and not coming.form.endswith("s"):
        return False
    return not ("'s" in endings and ENGLISH.is_plural(coming.form) and coming.form.endswith("s"))


def _in_place(text: str, leaving: _Naming, coming: _Naming) -> list[tuple[int, int, str]]:
    """One candidate put where the other is named; a or an changes to fit."""
    edits = []
    for mention in leaving.mentions:
        article = ENGLISH.article_before(text, mention.start)
        start, new = mention.start, coming.form
        if article and article.group(1).casefold() != "the":
            start, new = article.start(), f"{_a_or_an(coming.form)} {coming.form}"
        edits.append((start, mention.end, _cased(text, start, new)))
    return edits


def _carrying_the_article(text: str, noun: _Naming, bare: _Naming) -> list[tuple[int, int, str]] | str:
    """A noun and its article change places with a name, or with a noun that has none."""
    if any(_is_part_of_more(text, mention) for mention in bare.mentions):
        return "a candidate has words before it that may not fit the other"
    articles = [article for mention in noun.mentions if (article := ENGLISH.article_before(text, mention.start))]
    indefinite = articles[0].group(1).casefold() != "the"
    if any((article.group(1).casefold() != "the") != (indefinite and not i) for i, article in enumerate(articles)):
        return "a candidate's articles vary"
    edits = [
        (article.start(), mention.end, _cased(text, article.start(), bare.form))
        for article, mention in zip(articles, noun.mentions, strict=True)
    ]
    for i, mention in enumerate(bare.mentions):
        article_text = _a_or_an(noun.form) if indefinite and not i else "the"
        edits.append((mention.start, mention.end, _cased(text, mention.start, f"{article_text} {noun.form}")))
    return edits


def _is_part_of_more(text: str, mention: Mention) -> bool:
    before = text[: mention.start]
    last = before.split()[-1] if before.strip() else ""
    return (
        bool(TITLE_BEFORE.search(before))
        or last.casefold() in DETERMINERS - {"that"}
        or ENGLISH.gender_of(last) is not None
    )


def _a_or_an(words: str) -> str:
    return "an" if VOWEL_SOUND.match(words) else "a"


def _cased(text: str, start: int, new: str) -> str:
    """New words with a capital at the head of a sentence, unless the text has none there."""
    return new[:1].upper() + new[1:] if text[start].isupper() and ENGLISH.opens_sentence(text[:start]) else new


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
    forms = {
        (ENGLISH.opens_sentence(original[: m.start()]), m.group().casefold()): m.group()
        for m in WORD.finditer(original)
    }
    names = " ".join(name for name in map(ENGLISH.core, problem.candidates) if ENGLISH.is_proper(name))
    forms |= {(False, word.casefold()): word for word in WORD.findall(names)}

    def cased(part: str, lead: str = "") -> str:
        def in_its_place(match: re.Match[str]) -> str:
            word, opens = match.group(), ENGLISH.opens_sentence(lead + part[: match.start()])
            return forms.get((opens, word.casefold()), word[:1].upper() + word[1:] if opens else word)

        return WORD.sub(in_its_place, part)

    before = cased(_without_slips(before))
    return before, cased(_without_slips(after), before + pronoun)


def _without_slips(text: str) -> str:
    for slip, right in SLIPS.items():
        text = re.sub(rf"\b{slip}\b", right, text)
    return re.sub(r"\s+(?=[.,;:?!]|\s)", "", text)
