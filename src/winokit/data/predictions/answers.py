"""An answer as a harness logs it or a table has it, in words, numbers or letters: which of the candidates it means."""

import re
import string
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from winokit.data.formats import fields
from winokit.data.predictions.match import option_behind, which
from winokit.errors import Malformed
from winokit.problem import Problem
from winokit.text.language import language_of

if TYPE_CHECKING:
    from winokit.models.replies import FilledText

UNREAD = "no answer could be read"
SILENT = frozenset(("", "-", "–", "?", "-1", "none", "null", "nan", "na", "n/a", "abstain", "abstained"))
"""What says that nothing is chosen."""
NUMBER = re.compile(r"(\d{1,3})(?:\.0*)?$", re.ASCII)
"""A whole number, also as a float spells it."""
ANY_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?(?P<percent>\s*%)?", re.ASCII | re.IGNORECASE)
TWO_LABELS = re.compile(r"[1-9],[1-9]")
LISTED = r"(?<!\w)(?:[Oo]ption[ _]?|[Cc]hoice[ _]?)?[(\[]?{label}[).:\]]+(?=\s|\W|[A-Za-z])"
"""What stands before an option in a prompt: "A) ", "(1)", "Option2: "."""
VERDICTS = ("C", "I", "P", "N")
ANSWER = re.compile(r"^[^\w\n]*answer[^\w\n]*:[^\w\n]*(\w[^\n]*?)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)


def is_number(text: str) -> bool:
    """Whether a text is a number and nothing else, with a decimal point or comma."""
    return ANY_NUMBER.fullmatch(text) is not None


def is_fraction(text: str) -> bool:
    """Whether a text is a number with a fraction: a score or a probability, never a choice.

    >>> [is_fraction(text) for text in ("0.73", "-2,31", "1e-5", "73 %", "2", "1.0", "1,2", "option 2.5")]
    [True, True, True, True, False, False, False, False]
    """
    match = ANY_NUMBER.fullmatch(text)
    if match is None or TWO_LABELS.fullmatch(text):
        return False
    return match["percent"] is not None or not float(text.replace(",", ".")).is_integer()


class AnswerReading:
    """How an answer becomes the place of one of the candidates."""

    def __init__(self, candidates: Sequence[str], lettered: bool, prompt: str, language: str) -> None:
        self.candidates, self.lettered, self.prompt, self.language = candidates, lettered, prompt, language

    def chosen(self, score: Mapping[str, Any], completion: str, gold: int | None, verdict: bool | None) -> int | None:
        """The choice of a scored sample: what the scorer read, else what its verdict and the completion say."""
        answer, value = score.get("answer"), score.get("value")
        read = self.stated(answer) if isinstance(answer, str) else None
        if read is None and isinstance(value, str) and value not in VERDICTS:
            read = self.exactly(value)
        if read is None and verdict is True:
            return gold
        if read is None and (verdict is False or not score):
            read = self.stated(completion)
        if read is None and (verdict is False or not score):
            said = self.said(completion)
            return said if verdict is not False or said != gold else None
        return read

    def exactly(self, answer: str) -> int | None:
        """A letter, or a candidate's own words."""
        answer = answer.strip()
        if len(answer) == 1 and answer.upper() in string.ascii_uppercase:
            place = string.ascii_uppercase.index(answer.upper())
            if self.lettered:
                return place if place < len(self.candidates) else None
            listed = option_behind(answer, self.prompt)
            return which(listed, self.candidates, self.language) if listed is not None else None
        return which(answer, self.candidates, self.language)

    def stated(self, text: str) -> int | None:
        """An answer by itself, or after the last "ANSWER:"."""
        answers = ANSWER.findall(text)
        return self.exactly(answers[-1] if answers else text)

    def said(self, text: str) -> int | None:
        """The candidate that a text in words chooses; a letter counts if the candidates had letters."""
        names = tuple(self.candidates)
        if self.lettered:
            return named_in(text, names, self.language)
        from winokit.models.replies import choice_in

        return choice_in(text, names, _ways_of(text, names, self.language, numbered=False))


@lru_cache(1 << 15)
def choose(
    text: str, column: str, names: tuple[str, ...], base: int, language: str = "en"
) -> tuple[int | None, str | None]:
    """A candidate's place, from its name, number or letter; or None and why nothing is chosen."""
    named = which(text, names, language) if text else None
    if named is not None:
        return named, None
    if text.casefold() in SILENT:
        return None, f"it says {text!r}" if text else "an empty cell"
    if len(text) == 1 and text in string.ascii_uppercase[: len(names)]:
        return string.ascii_uppercase.index(text), None
    if names == ("no", "yes") and text.casefold() in ("false", "true"):
        return int(text.casefold() == "true"), None
    number = NUMBER.match(text)
    if number and base == 0:
        if int(number[1]) >= len(names):
            expected = " or ".join(map(str, range(len(names))))
            raise Malformed(f"expected {expected}, found {fields.shown(text)}", field=column)
        return int(number[1]), None
    return fields.numbered_answer({column: number[1] if number else text}, column, len(names)), None


def named_in(text: str, names: tuple[str, ...], language: str, filled: "FilledText | None" = None) -> int | None:
    """The candidate that a text in words chooses, as replies of chat models are read.

    Parameters
    ----------
    filled
        The text of the problem around its blank, which the reply may repeat.
    """
    from winokit.models.replies import choice_in

    return choice_in(text, string.ascii_uppercase[: len(names)], _ways_of(text, names, language), filled=filled)


def listed_names(prompt: str, reply: str, names: tuple[str, ...]) -> tuple[str, ...] | None:
    r"""The candidates in the order in which a prompt lists them, behind letters or numbers, whichever the reply has.

    With solved examples before it, the last list counts.

    >>> listed_names("Who is she?\nA) Nora\nB) Ines\nAnswer:", "(B)", ("Ines", "Nora"))
    ('Nora', 'Ines')
    """
    from winokit.models.replies import letters_of

    labels = (string.digits[1:] if re.search(r"\d", reply) else string.ascii_uppercase)[: len(names)]
    starts = [match.end() for match in re.finditer(LISTED.format(label=labels[0]), prompt)]
    known = {letters_of(name): name for name in names}
    for start in reversed(starts):
        order: list[str] = []
        at: int | None = start
        for place in range(len(labels)):
            fitting = [name for name in known if at is not None and letters_of(prompt[at:]).startswith(name)]
            order += [known[max(fitting, key=len)]] if fitting else []
            following = labels[place + 1 : place + 2]
            match = re.compile(LISTED.format(label=following)).search(prompt, at or 0) if following else None
            at = match.end() if match else None
        if sorted(order) == sorted(names):
            return tuple(order)
    return None


def other_readings(text: str, names: tuple[str, ...], about: Problem) -> dict[str, int | None]:
    """The choice of a reply as an exact label, by its beginning, and by its first option."""
    from winokit.models.replies import ReplyReading, option_names, plain_reply

    ways = _ways_of(text, names, about.language)
    reading = ReplyReading(plain_reply(text), option_names(tuple(string.ascii_uppercase[: len(names)]), ways))
    first = reading.mentions[0].option if reading.mentions else None
    return {"exact": reading.exact(), "strict": reading.chosen(only_leading=True), "extractor": first}


def _ways_of(text: str, names: tuple[str, ...], language: str, *, numbered: bool = True) -> tuple[tuple[str, ...], ...]:
    """The ways to say each candidate beside its letter."""
    pack = language_of(language)
    ways = _plain_ways(names, language)
    if not numbered:
        ways = tuple(way[:2] for way in ways)
    if pack.name == "English":
        return ways
    # Names as they are inflected in the text are ways to say them.
    forms = [{text[a:z] for a, z in pack.mention_places(text, name)} for name in names]
    return tuple((*own, *sorted(inflected)) for own, inflected in zip(ways, forms, strict=True))


@lru_cache(1 << 14)
def _plain_ways(names: tuple[str, ...], language: str) -> tuple[tuple[str, ...], ...]:
    bare = language_of(language).bare
    return tuple((name, bare(name), f"option {at}", str(at)) for at, name in enumerate(names, 1))
