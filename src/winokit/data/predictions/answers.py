"""The candidate that an answer in words, numbers or letters means.

Answers come from the logs of harnesses and from tables.
"""

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
"""Texts that say that nothing is chosen."""
NUMBER = re.compile(r"(\d{1,3})(?:\.0*)?$", re.ASCII)
"""A whole number, also as a float spells it."""
ANY_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?(?P<percent>\s*%)?", re.ASCII | re.IGNORECASE)
TWO_LABELS = re.compile(r"[1-9],[1-9]")
LISTED = r"(?<!\w)(?:[Oo]ption[ _]?|[Cc]hoice[ _]?)?[(\[]?{label}[).:\]]+(?=\s|\W|[A-Za-z])"
"""The label before an option in a prompt: "A) ", "(1)", "Option2: "."""
VERDICTS = ("C", "I", "P", "N")
ANSWER = re.compile(r"^[^\w\n]*answer[^\w\n]*:[^\w\n]*(\w[^\n]*?)[^\w\n]*$", re.IGNORECASE | re.MULTILINE)


def is_number(text: str) -> bool:
    """Whether a text is a number, with a decimal point or comma."""
    return ANY_NUMBER.fullmatch(text) is not None


def is_fraction(text: str) -> bool:
    """Whether a text is a number with a fraction.

    Such a number is a score or a probability, never a choice.

    >>> [is_fraction(text) for text in ("0.73", "-2,31", "1e-5", "73 %", "2", "1.0", "1,2", "option 2.5")]
    [True, True, True, True, False, False, False, False]
    """
    match = ANY_NUMBER.fullmatch(text)
    if match is None or TWO_LABELS.fullmatch(text):
        return False
    return match["percent"] is not None or not float(text.replace(",", ".")).is_integer()


class AnswerReading:
    """Turns an answer into the index of one of the candidates."""

    def __init__(self, candidates: Sequence[str], lettered: bool, prompt: str, language: str) -> None:
        self.candidates = candidates
        self.lettered = lettered
        """Whether the candidates were offered behind letters."""
        self.prompt = prompt
        self.language = language

    def choose_answer(
        self, score: Mapping[str, Any], completion: str, gold: int | None, verdict: bool | None
    ) -> int | None:
        """The choice of a scored sample, or None.

        What the scorer read counts first, then what its verdict and the completion say.
        """
        choice = self._read_score(score)
        if choice is not None:
            return choice
        if verdict is True:
            return gold
        if verdict is None and score:
            return None
        choice = self.read_statement(completion)
        if choice is not None:
            return choice
        choice = self.read_words(completion)
        is_contradiction = verdict is False and choice == gold
        return None if is_contradiction else choice

    def _read_score(self, score: Mapping[str, Any]) -> int | None:
        """The candidate that a score names, or None."""
        answer = score.get("answer")
        value = score.get("value")
        choice = None
        if isinstance(answer, str):
            choice = self.read_statement(answer)
        if choice is None and isinstance(value, str) and value not in VERDICTS:
            choice = self.match_label(value)
        return choice

    def match_label(self, answer: str) -> int | None:
        """The candidate that a letter, or a candidate's own words, name."""
        answer = answer.strip()
        letter = answer.upper()
        if len(answer) != 1 or letter not in string.ascii_uppercase:
            return which(answer, self.candidates, self.language)
        if self.lettered:
            index = string.ascii_uppercase.index(letter)
            return index if index < len(self.candidates) else None
        option = option_behind(answer, self.prompt)
        if option is None:
            return None
        return which(option, self.candidates, self.language)

    def read_statement(self, text: str) -> int | None:
        """The candidate of an answer by itself, or after the last "ANSWER:"."""
        answers = ANSWER.findall(text)
        answer = answers[-1] if answers else text
        return self.match_label(answer)

    def read_words(self, text: str) -> int | None:
        """The candidate that a text in words chooses.

        A letter counts if the candidates had letters.
        """
        names = tuple(self.candidates)
        if self.lettered:
            return named_in(text, names, self.language)
        from winokit.models.replies import choice_in

        ways = _list_ways_to_say(text, names, self.language, numbered=False)
        return choice_in(text, names, ways)


@lru_cache(1 << 15)
def choose(
    text: str, column: str, names: tuple[str, ...], base: int, language: str = "en"
) -> tuple[int | None, str | None]:
    """A candidate's index, from its name, number or letter.

    None, and the reason, if nothing is chosen.
    """
    index = which(text, names, language) if text else None
    if index is not None:
        return index, None
    folded = text.casefold()
    if folded in SILENT:
        why = f"it says {text!r}" if text else "an empty cell"
        return None, why
    letters = string.ascii_uppercase[: len(names)]
    if len(text) == 1 and text in letters:
        return letters.index(text), None
    if names == ("no", "yes") and folded in ("false", "true"):
        return int(folded == "true"), None
    return _choose_by_number(text, column, len(names), base), None


def _choose_by_number(text: str, column: str, count: int, base: int) -> int | None:
    """The index of the candidate with a number.

    Raises Malformed if a text is no number, or no candidate has it.
    """
    match = NUMBER.match(text)
    if match is None:
        return fields.numbered_answer({column: text}, column, count)
    if base != 0:
        return fields.numbered_answer({column: match[1]}, column, count)
    index = int(match[1])
    if index >= count:
        expected = " or ".join(map(str, range(count)))
        raise Malformed(f"expected {expected}, found {fields.shown(text)}", field=column)
    return index


def named_in(text: str, names: tuple[str, ...], language: str, filled: "FilledText | None" = None) -> int | None:
    """The candidate that a text in words chooses.

    The text is read as replies of chat models are.

    Parameters
    ----------
    filled
        The text of the problem around its blank, which the reply may repeat.
    """
    from winokit.models.replies import choice_in

    letters = string.ascii_uppercase[: len(names)]
    ways = _list_ways_to_say(text, names, language)
    return choice_in(text, letters, ways, filled=filled)


def listed_names(prompt: str, reply: str, names: tuple[str, ...]) -> tuple[str, ...] | None:
    r"""The candidates in the order in which a prompt lists them.

    They are listed behind letters or numbers, whichever the reply has.

    With solved examples before it, the last list counts.

    >>> listed_names("Who is she?\nA) Nora\nB) Ines\nAnswer:", "(B)", ("Ines", "Nora"))
    ('Nora', 'Ines')
    """
    has_digit = re.search(r"\d", reply) is not None
    symbols = string.digits[1:] if has_digit else string.ascii_uppercase
    labels = symbols[: len(names)]
    first_label = re.compile(LISTED.format(label=labels[0]))
    starts = [match.end() for match in first_label.finditer(prompt)]
    for start in reversed(starts):
        order = _read_list(prompt, start, labels, names)
        if sorted(order) == sorted(names):
            return tuple(order)
    return None


def _read_list(prompt: str, start: int, labels: str, names: tuple[str, ...]) -> list[str]:
    """The candidates behind some labels in a prompt.

    Parameters
    ----------
    start
        The end of the first label in the prompt.
    """
    from winokit.models.replies import letters_of

    name_by_letters = {letters_of(name): name for name in names}
    order: list[str] = []
    option_start = start
    for number in range(len(labels)):
        option = letters_of(prompt[option_start:])
        fitting = [letters for letters in name_by_letters if option.startswith(letters)]
        if fitting:
            longest = max(fitting, key=len)
            order.append(name_by_letters[longest])
        if number + 1 == len(labels):
            break
        next_label = re.compile(LISTED.format(label=labels[number + 1]))
        match = next_label.search(prompt, option_start)
        if match is None:
            break
        option_start = match.end()
    return order


def other_readings(text: str, names: tuple[str, ...], about: Problem) -> dict[str, int | None]:
    """The choice of a reply, read in three other ways.

    They are: as an exact label, by its beginning, and by its first option.
    """
    from winokit.models.replies import ReplyReading, option_names, plain_reply

    letters = tuple(string.ascii_uppercase[: len(names)])
    ways = _list_ways_to_say(text, names, about.language)
    reading = ReplyReading(plain_reply(text), option_names(letters, ways))
    first_option = reading.mentions[0].option if reading.mentions else None
    return {
        "exact": reading.exact(),
        "strict": reading.chosen(only_leading=True),
        "extractor": first_option,
    }


def _list_ways_to_say(
    text: str, names: tuple[str, ...], language: str, *, numbered: bool = True
) -> tuple[tuple[str, ...], ...]:
    """The ways to say each candidate beside its letter.

    Parameters
    ----------
    numbered
        Whether a candidate's number is a way to say it.
    """
    pack = language_of(language)
    ways = _list_plain_ways(names, language)
    if not numbered:
        ways = tuple(candidate_ways[:2] for candidate_ways in ways)
    if pack.name == "English":
        return ways
    # Names as they are inflected in the text are ways to say them.
    inflected_ways = []
    for name, candidate_ways in zip(names, ways, strict=True):
        mentions = pack.mention_places(text, name)
        forms = {text[start:end] for start, end in mentions}
        inflected_ways.append((*candidate_ways, *sorted(forms)))
    return tuple(inflected_ways)


@lru_cache(1 << 14)
def _list_plain_ways(names: tuple[str, ...], language: str) -> tuple[tuple[str, ...], ...]:
    """The ways to say each candidate by its name and its number."""
    bare = language_of(language).bare
    ways = []
    for number, name in enumerate(names, 1):
        ways.append((name, bare(name), f"option {number}", str(number)))
    return tuple(ways)
