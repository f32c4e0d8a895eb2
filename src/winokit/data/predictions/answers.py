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
    """Whether a text is a number.

    The decimal separator is a point or a comma, and an exponent or a percent sign may follow.
    """
    return ANY_NUMBER.fullmatch(text) is not None


def is_fraction(text: str) -> bool:
    """Whether a text is a percentage, or a number with a fraction.

    Such a number is a score or a probability, never a choice. Two labels with a comma between ("1,2") are no number.

    >>> [is_fraction(text) for text in ("0.73", "-2,31", "1e-5", "73 %", "2", "1.0", "1,2", "option 2.5")]
    [True, True, True, True, False, False, False, False]
    """
    match = ANY_NUMBER.fullmatch(text)
    if match is None or TWO_LABELS.fullmatch(text):
        return False
    return match["percent"] is not None or not float(text.replace(",", ".")).is_integer()


class AnswerReading:
    """Finds the candidate that an answer of a model chooses.

    Every method that reads returns the index of a candidate, or None if no candidate is clearly chosen.

    Parameters
    ----------
    candidates
        The candidates in the order in which the prompt offers them.
    lettered
        Whether the prompt offered them behind the letters A, B, …
    prompt
        The text that the model was asked. It may list options behind letters, in another order.
    language
        BCP 47 code of the language by whose rules names are compared.
    """

    def __init__(self, candidates: Sequence[str], lettered: bool, prompt: str, language: str) -> None:
        self.candidates = candidates
        self.lettered = lettered
        """Whether the candidates were offered behind letters."""
        self.prompt = prompt
        self.language = language

    def choose_answer(
        self, score: Mapping[str, Any], completion: str, gold: int | None, verdict: bool | None
    ) -> int | None:
        """Index of the candidate chosen in a scored sample, or None.

        The answer that the scorer extracted is read first. Without one, a right verdict stands for `gold`. If the
        verdict is wrong, or the sample has no score, the completion is read. A score without answer and verdict gives
        None. If the verdict is wrong, a choice of `gold` in free words is dropped. One after "ANSWER:" stays.

        Parameters
        ----------
        score
            The scorer's output, with `answer` and `value` if it states them. It may be empty.
        completion
            The text that the model wrote.
        gold
            Index of the right candidate, or None if it is not known.
        verdict
            Whether the scorer says that the answer is right. None if it does not say.
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
        """Index of the candidate that a scorer's output names, or None.

        Its `answer` is read first, then its `value`. A value that is only a verdict (C, I, P or N) does not count.
        """
        answer = score.get("answer")
        value = score.get("value")
        choice = None
        if isinstance(answer, str):
            choice = self.read_statement(answer)
        if choice is None and isinstance(value, str) and value not in VERDICTS:
            choice = self.match_label(value)
        return choice

    def match_label(self, answer: str) -> int | None:
        """Index of the candidate that a letter or name means, or None.

        The text must be nothing else. A letter counts in the order of the candidates if they are lettered, otherwise
        it means the option that the prompt lists behind it.
        """
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
        """Index of the candidate after a text's last "ANSWER:", or None.

        Without "ANSWER:" the whole text must be a letter or a candidate's name.
        """
        answers = ANSWER.findall(text)
        answer = answers[-1] if answers else text
        return self.match_label(answer)

    def read_words(self, text: str) -> int | None:
        """Index of the candidate that free text chooses, or None.

        A letter or number counts only if the prompt offered the candidates behind letters.
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
    """Index of the candidate in a cell.

    The cell has its name, number or letter. Returns the index and None, or None and the reason if the cell is empty
    or says that nothing is chosen. Raises Malformed if it says anything else. A letter must be a capital. Candidates
    "no" and "yes" are also chosen by "false" and "true".

    Parameters
    ----------
    column
        Name of the column, for the message.
    names
        The candidates of the problem, in the order in which numbers and letters count them.
    base
        The number of the first candidate, 0 or 1.
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
    """Index of the candidate with the number in a text.

    Raises Malformed if the text is no number, or no candidate has it.

    Parameters
    ----------
    count
        How many candidates there are.
    base
        The number of the first candidate, 0 or 1.
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
    """Index of the candidate that free text chooses, or None.

    The text is read in the same way as replies of chat models. Letters count the candidates in the order of `names`.

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

    They are listed behind numbers if the reply has a digit, otherwise behind letters. If solved examples come first,
    the last list counts. None if no list has exactly these candidates.

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
    """The candidates that a prompt lists behind some labels, in that order.

    An option that is no candidate is left out.

    Parameters
    ----------
    start
        Index of the character after the first label in the prompt.
    labels
        The labels, one character each: "AB" or "12".
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


def other_readings(text: str, names: tuple[str, ...], problem: Problem) -> dict[str, int | None]:
    """The choices that three other ways of reading find in a reply.

    They are by name: `exact` takes a reply that is nothing but an option, `strict` one that begins with its choice,
    and `extractor` the first option that occurs. A choice is the index of a candidate, or None.
    """
    from winokit.models.replies import ReplyReading, option_names, plain_reply

    letters = tuple(string.ascii_uppercase[: len(names)])
    ways = _list_ways_to_say(text, names, problem.language)
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
    """For each candidate, the wordings that a reply may use for it.

    A letter is not among them. Inflected forms that occur in the text are.

    Parameters
    ----------
    numbered
        Whether a candidate's number and "option N" are such wordings.
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
    """For each candidate, the wordings that do not depend on a text.

    They are its name, the name without article, "option N" and its number N, which counts from 1.
    """
    bare = language_of(language).bare
    ways = []
    for number, name in enumerate(names, 1):
        ways.append((name, bare(name), f"option {number}", str(number)))
    return tuple(ways)
