"""Read which option a reply chooses, for chat models, tables and logs.

Names are compared by their letters and digits, as the overlap guard compares texts. Case, accents, apostrophes,
hyphens and other marks do not count, so "joes uncle" is "Joe's uncle". Each name in a reply is replaced by one
character that stands for its option. All patterns are written with these characters, so they are compiled once,
whatever the candidates are.
"""

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from winokit.files import our_toml
from winokit.models.thoughts import answer_in

ORNAMENTS = re.compile(r"\\(?:boxed|text|textbf|mathrm)\{|[*`$}]|<\|\w+\|>")
ORNAMENTAL = frozenset("\\*`$}<")
TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
BULLETS = re.compile(r"(?:[#>•\s]|-(?!\d))+")
AROUND = " \t\n.,:;!?()[]\"'“”‘’。、「」『』_"
NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
"""Map from full-width letters and punctuation (Ｂ：) to the usual ones."""
PROSE = frozenset(("yes", "no", "true", "false"))
"""Options that a sentence may contain without choosing them."""

_UNSPACED = "[\u3040-\u309f\u3400-\u9fff\uf900-\ufaff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]"
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0980-\u0dff\u200c\u200d"
"""Characters of scripts in which each one is a word, and marks that belong to a letter."""
_KANA = "\u30a0-\u30ff"
_HAN = "\u3400-\u9fff"
_HANGUL = "\uac00-\ud7a3"
_PLAIN_WORD = re.compile(r"[a-z0-9]+")
_WORD = re.compile(
    rf"{_UNSPACED}|[{_KANA}]+|[{_HANGUL}]+|[a-zA-Z0-9]+"
    rf"|(?:(?!{_UNSPACED})[^\W_a-zA-Z0-9{_KANA}{_HANGUL}]|[a-zA-Z0-9{_MARKS}])+"
)
"""Pattern of a word. Text without spaces may stand next to Latin letters (答えはBです)."""
IS_KATAKANA = re.compile(f"[{_KANA}]")
IS_HAN = re.compile(f"[{_HAN}]")

SAID_ONCE = 0xE000
IN_PROSE = 0xE400
IN_WORDS = 0xE800
"""First of the characters that stand for options: for names of one character, for `PROSE`, and for all other names."""
LETTER = r"[\ue000-\ue3ff]"
NAME = r"[\ue000-\uebff]"
PRIVATE = re.compile(NAME)

REPLIES = our_toml("assets/replies.toml")
NEGATED = re.compile(rf"(?:{'|'.join(REPLIES['negated'])})\Z", re.IGNORECASE)
DENIED = re.compile("|".join(REPLIES["denied"]))
UNSURE = re.compile(rf"\b(?:{'|'.join(REPLIES['unsure'])})\b|{'|'.join(REPLIES['unsure_anywhere'])}", re.IGNORECASE)
"""Patterns of a negation before a name, of one after it, and of a reply that does not choose."""
NEGATING = frozenset(REPLIES["telling"]["negated"].split())
DECLARING = frozenset(REPLIES["telling"]["declares"].split())
DOUBTING = frozenset(REPLIES["telling"]["unsure"].split())
"""Words without which an ASCII reply cannot match those patterns."""
LONGEST_NEGATION = 40
"""Number of characters before a name that are searched for a negation."""
LEAST_BEGINNING = 12
"""Fewest letters before the blank that show that a reply repeats them."""
LEAST_ENDING = 6
"""Fewest letters after the blank that show that a reply repeats them."""
OR, AND = (rf"[)\]\"'”’]*\s*(?:{'|'.join(REPLIES[word])})\s*[(\[\"'“‘]*" for word in ("or", "and"))
_LEAD = rf"(?i:{'|'.join(REPLIES['declares'])})[(\[\"'“‘「]*"
_NO_CLAUSE = rf"(?!['’]s\b|[\"'”’)]*\s+(?!(?:are|both|because|since)\b)(?:\w|{NAME}))"
DECLARED = re.compile(rf"{_LEAD}({NAME})")
DECLARED_BOTH = re.compile(rf"{_LEAD}{NAME}(?:{OR}|{AND}(?={NAME}{_NO_CLAUSE}))({NAME})")
DECLARING_WORD = re.compile("|".join(sorted(DECLARING, key=len, reverse=True)))
"""Pattern of the first words of a declaration, in lower case."""
DECLARED_AT_ONCE = re.compile(rf"\A(?:\w+\s+){{0,3}}{_LEAD}({NAME})(?!\?)")
OPENING = re.compile(r"(?i:(?:option|choice)\s+)?[(\[\"'“‘]*")
_STOP = r"[)\]\"”.:,;!?。、」\n]|\s+:|\s*\Z|\s+[-–—(\n]|\s+(?:because|since)\b"
STOP_OF_LETTER = re.compile(rf"{_STOP}|\s+(?:is|was)\b", re.IGNORECASE)
LEADING = re.compile(rf"{OPENING.pattern}(?:({LETTER})(?={STOP_OF_LETTER.pattern})|({NAME})(?={_STOP}))", re.IGNORECASE)
BESIDE = re.compile(rf"[\s,/.:()\[\]、]*(?:or\s+|and\s+|&\s*)?({NAME})")
BELOW = re.compile(rf"\n\s*[(\[]?({NAME})[.:)\]](?:\s|\Z)")
BRACKETED = re.compile(rf"[(\[「]({NAME})[)\]」]")
MOST_LISTED = 4
"""Most words of a list of two names that belong to no name, such as numbers and articles."""
NUMBERED_FIRST = re.compile(r"\s*\(?1\s*[).:]\s")
NUMBERED_SECOND = re.compile(r"(?:\s|,|;)\(?2\s*[).:]\s")


class NamedPlace(NamedTuple):
    """A name in a reply: its span and its option.

    `mark` is the character that stands for the name.
    """

    start: int
    end: int
    option: int
    mark: str


@dataclass(frozen=True, slots=True)
class FilledText:
    """Letters of a text before and after its blank.

    A reply may repeat them with the blank filled in.
    """

    before: str
    after: str

    @classmethod
    def of(cls, before: str, after: str) -> "FilledText":
        """Take the letters of the text before and after a blank."""
        return _build_filled_text(before, after)


@dataclass(frozen=True, slots=True)
class OptionNames:
    """Names of the options, by several ways of comparing them.

    Names that two options share are left out.
    """

    spelled: dict[str, int]
    """Options by their names in lower case, as they are spelled."""
    lettered: dict[str, int]
    """Options by the letters and digits of their names, the longest first."""
    single: frozenset[str]
    """Names of one character in lower case."""
    written: frozenset[str]
    """Names of one character as they are written, since the case of letters matters."""


def choice_in(
    text: str,
    options: Sequence[str],
    aliases: Sequence[Sequence[str]] = (),
    *,
    filled: FilledText | None = None,
    only_leading: bool = False,
) -> int | None:
    """Index of the option that a reply chooses.

    None if that is not clear. The first of these that applies: the reply is the option; it is the text with its blank
    filled; it is a numbered list, whose first item counts; "the answer is B"; it begins with the option and
    punctuation; one option is in parentheses; it puts one option before the end of the text; it ends with the only
    option it names; it names exactly one option by an alias, without doubt or negation. Thoughts before the answer do
    not count.

    Parameters
    ----------
    filled
        The text around the blank, which a reply may repeat with an option in it. None if there is none.
    only_leading
        Whether only an option that is the reply, or begins it, counts.

    >>> choice_in("**B**, since it was full.", ("A", "B"), (("the jug",), ("the cup",)))
    1
    >>> choice_in("joes uncle", ("A", "B"), (("Joe",), ("Joe's uncle",)))
    1
    """
    names = option_names(tuple(options), tuple(map(tuple, aliases)))
    exact = names.spelled.get(text.strip(AROUND).lower())  # most replies are no more than that
    if exact is not None or not names.spelled:
        return exact
    reading = ReplyReading(plain_reply(text), names)
    return reading.chosen(filled, only_leading=only_leading)


def plain_reply(text: str) -> str:
    """A reply without thought, Markdown, tags and bullets."""
    answer = answer_in(text) or ""
    if not answer.isascii():
        answer = PRIVATE.sub(" ", unicodedata.normalize("NFC", answer.translate(NARROW)))
    if "&" in answer:
        answer = html.unescape(answer)
    if not ORNAMENTAL.isdisjoint(answer):
        answer = TAG.sub(" ", ORNAMENTS.sub("", answer))
    if answer[:1] in "#>•-\n\t ":
        bullets = BULLETS.match(answer)
        answer = answer[bullets.end() :] if bullets else answer
    return answer.strip()


def letters_of(text: str) -> str:
    """Letters and digits of a text, without case, width, accents and other marks.

    >>> letters_of("Joe’s t-shirt, naïve") == letters_of("JOES T SHIRT naive")
    True
    """
    if text.isascii():
        return "".join(_PLAIN_WORD.findall(text.lower()))
    if "_" in text:
        text = text.replace("_", " ")
    normalized = unicodedata.normalize("NFC", text.translate(NARROW))
    return "".join([_fold_word(word) for word in _WORD.findall(normalized)])


@lru_cache(1 << 12)
def _fold_word(word: str) -> str:
    """A word without accents and case, for comparison."""
    if not word.isascii():
        parts = unicodedata.normalize("NFKD", word)
        word = "".join([part for part in parts if unicodedata.category(part) != "Mn"])
    return word.casefold()


@lru_cache(1 << 12)
def _build_filled_text(before: str, after: str) -> FilledText:
    """Take the letters around a blank, once for each text."""
    return FilledText(letters_of(before), letters_of(after))


@lru_cache(1 << 12)
def option_names(options: tuple[str, ...], aliases: tuple[tuple[str, ...], ...]) -> OptionNames:
    """Collect the names of options, given aliases for each."""
    names: list[tuple[str, int]] = []
    for index, option in enumerate(options):
        ways = (option, *aliases[index]) if index < len(aliases) else (option,)
        names += [(bare, index) for bare in map(_strip_name, ways) if bare]
    single_names = {name for name, _ in names if len(name) == 1}
    spelled = _drop_shared_names([(name.lower(), index) for name, index in names])
    lettered = _drop_shared_names([(letters_of(name), index) for name, index in names])
    lettered.pop("", None)
    single_letters = frozenset(name for name in lettered if len(name) == 1)
    return OptionNames(spelled, lettered, single_letters, frozenset(single_names))


def _strip_name(name: str) -> str:
    """A name without punctuation around it."""
    return (name if name.isascii() else name.translate(NARROW)).strip(AROUND)


def _drop_shared_names(names: Sequence[tuple[str, int]]) -> dict[str, int]:
    """Map names to option indices, without names that several options share."""
    owners: dict[str, int] = {}
    shared = {name for name, index in names if owners.setdefault(name, index) != index}
    for name in shared:
        del owners[name]
    return owners


class ReplyReading:
    """A reply, searched for the options that it names.

    Methods return option indices. None or an empty set means that the rule does not apply.
    """

    def __init__(self, text: str, names: OptionNames) -> None:
        self.text = text
        self.names = names
        self.is_ascii = text.isascii()
        if self.is_ascii:
            self.words = _PLAIN_WORD.findall(text.lower())
        else:
            self.words = list(map(_fold_word, _WORD.findall(text)))
        self.letters = "".join(self.words)

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Span of each word in the text."""
        matches = _PLAIN_WORD.finditer(self.text.lower()) if self.is_ascii else _WORD.finditer(self.text)
        return [match.span() for match in matches]

    @cached_property
    def edges(self) -> dict[int, int]:
        """Index of the word that begins at each position among the letters.

        The end of the letters is included.
        """
        edges = accumulate(map(len, self.words), initial=0)
        return {edge: index for index, edge in enumerate(edges)}

    def chosen(self, filled: FilledText | None = None, *, only_leading: bool = False) -> int | None:
        """The option that the reply chooses, by the rules of `choice_in`."""
        exact = self.exact()
        if exact is not None:
            return exact
        if only_leading:
            return _get_only(self.declared(at_once=True) or self.leading())
        solved = self.solved(filled)
        if solved is not None:
            return solved
        options = self.listed() or self.declared() or self.leading() or self.bracketed()
        if not options:
            end = self.ended(filled)
            options = {end} if end is not None else set()
        if not options and not self.is_unsure():
            options = self.closing() or self.mentioned()
        return _get_only(options)

    def exact(self) -> int | None:
        """The option whose name is the whole reply."""
        option = self.names.spelled.get(self.text.strip(AROUND).lower())
        return self.names.lettered.get(self.letters) if option is None else option

    def solved(self, filled: FilledText | None) -> int | None:
        """The option with which the reply repeats the text.

        The reply may be the whole text, its end from the option on, or its beginning up to the option.
        """
        if filled is None or len(self.words) < 2:
            return None
        names = [name for name in self.names.lettered if len(name) > 1]
        repeating = [name for name in names if self._repeats_text(name + filled.after, filled.before)]
        options = {self.names.lettered[name] for name in repeating}
        if options or len(filled.before) < LEAST_BEGINNING or not self.letters.startswith(filled.before):
            return _get_only(options)
        after = self.letters[len(filled.before) :].removeprefix("the")
        fitting = [name for name in names if after.startswith(name.removeprefix("the"))]
        return self.names.lettered[max(fitting, key=len)] if fitting else None

    def _repeats_text(self, end: str, before: str) -> bool:
        """Whether the reply ends with `end`, after nothing but an end of `before`."""
        if not self.letters.endswith(end):
            return False
        start = self.letters.removesuffix(end)
        return before.endswith((start, start.removesuffix("the")))

    def ended(self, filled: FilledText | None) -> int | None:
        """The only option that the reply puts before the blank's following text.

        None if that text is too short to tell, and for an option that is negated.
        """
        if filled is None or len(filled.after) < LEAST_ENDING:
            return None
        options = set()
        for name, option in self.names.lettered.items():
            at = self.letters.find(name + filled.after) if len(name) > 1 else -1
            if at >= 0 and at in self.edges and not self._is_negated(self.edges[at]):
                options.add(option)
        return _get_only(options)

    def listed(self) -> set[int]:
        """First option of a numbered list: "1) the trophy 2) the suitcase".

        Empty unless the reply is hardly more than a list of two different options.
        """
        first = NUMBERED_FIRST.match(self.text)
        second = NUMBERED_SECOND.search(self.text, first.end()) if first else None
        if first is None or second is None:
            return set()
        full_names = [mention for mention in self.mentions if ord(mention.mark) >= IN_WORDS]
        name_length = sum(len(self._list_name_words(place)) for place in full_names)
        if len(full_names) != 2 or len(self.words) > MOST_LISTED + name_length:
            return set()
        first_items = {mention.option for mention in full_names if first.end() <= mention.start < second.start()}
        second_items = {mention.option for mention in full_names if mention.start >= second.end()}
        are_single = len(first_items) == 1 and len(second_items) == 1
        return first_items if are_single and first_items != second_items else set()

    def _list_name_words(self, place: NamedPlace) -> list[str]:
        """Words of a name in the reply."""
        return _PLAIN_WORD.findall(self.text[place.start : place.end].lower())

    def declared(self, *, at_once: bool = False) -> set[int]:
        """Options after "the answer is", "Choice:" and similar words.

        With `at_once`, only at the beginning of the reply.
        """
        if not self.mentions or (self.is_ascii and DECLARING.isdisjoint(self.words)):
            return set()
        marked = self.marked
        if at_once:
            return _decode_options(DECLARED_AT_ONCE.findall(marked))
        if not self.is_ascii:
            return _decode_options(DECLARED.findall(marked)) | _decode_options(DECLARED_BOTH.findall(marked))
        marks: list[str] = []
        for lead in DECLARING_WORD.finditer(marked.lower()):
            for pattern in (DECLARED, DECLARED_BOTH):
                match = pattern.match(marked, lead.start())
                if match:
                    marks.append(match[1])
        return _decode_options(marks)

    def leading(self) -> set[int]:
        """Options at the beginning of the reply, before punctuation.

        Includes an option right after it, and options listed below. "B is right" begins with its answer, "the jug was
        poured out" need not.
        """
        marked = self.marked
        first = LEADING.match(marked) if self.mentions else None
        if first is None or (NUMBERED_FIRST.match(self.text) and NUMBERED_SECOND.search(self.text)):
            return set()
        end = first.end(1) if first[1] else first.end(2)
        next_match = BESIDE.match(marked, end)
        near = [next_match[1]] if next_match else []
        below = BELOW.findall(marked, end) if "\n" in marked else []
        return _decode_options([first[1] or first[2], *near, *below])

    def bracketed(self) -> set[int]:
        """Options in parentheses or brackets."""
        marked = self.marked
        if "(" in marked or "[" in marked or "「" in marked:
            return _decode_options(BRACKETED.findall(marked))
        return set()

    def closing(self) -> set[int]:
        """The option at the reply's end, if no other is named."""
        mentions = self.mentions
        if not mentions:
            return set()
        _, last_end = self.places[-1]
        options = {mention.option for mention in mentions}
        is_last = mentions[-1].end >= last_end
        return options if is_last and len(options) == 1 else set()

    def mentioned(self) -> set[int]:
        """Options named anywhere in the reply, by names that mean nothing else.

        Names of one letter, "yes", "no", "true" and "false" do not count, since a sentence may have them anyway.
        """
        return {mention.option for mention in self.mentions if ord(mention.mark) >= IN_WORDS}

    def is_unsure(self) -> bool:
        """Whether the reply says that it does not choose."""
        if self.is_ascii and DOUBTING.isdisjoint(self.words):
            return False
        return UNSURE.search(self.text) is not None

    @cached_property
    def marked(self) -> str:
        """The reply, with one character of its option in place of each name."""
        parts: list[str] = []
        at = 0
        for mention in self.mentions:
            parts += [self.text[at : mention.start], mention.mark]
            at = mention.end
        return "".join([*parts, self.text[at:]])

    @cached_property
    def mentions(self) -> list[NamedPlace]:
        """Names in the reply that are not negated, in order.

        If one name contains another, the longer one counts.
        """
        mentions: list[NamedPlace] = []
        reached = 0
        for first, last in sorted(self._find_spans(), key=lambda span: (span[0], -span[1])):
            name = "".join(self.words[first:last])
            if first >= reached and self._is_name_said(name, first, last - 1):
                reached = last
                if not self._is_denied(first, last):
                    mentions.append(self._make_named_place(name, first, last))
        return mentions

    def _find_spans(self) -> list[tuple[int, int]]:
        """Spans of words that make up a name.

        As (index of the first word, index after the last).
        """
        spans: list[tuple[int, int]] = []
        if not self.names.single.isdisjoint(self.words):
            spans += [(at, at + 1) for at, word in enumerate(self.words) if word in self.names.single]
        for name in self.names.lettered:
            at = self.letters.find(name) if len(name) > 1 else -1
            while at >= 0:
                if at in self.edges and at + len(name) in self.edges:
                    spans.append((self.edges[at], self.edges[at + len(name)]))
                at = self.letters.find(name, at + 1)
        return spans

    def _make_named_place(self, name: str, first: int, last: int) -> NamedPlace:
        """Describe the place of a name that spans some words."""
        kind = IN_WORDS
        if len(name) == 1:
            kind = SAID_ONCE
        elif name in PROSE:
            kind = IN_PROSE
        option = self.names.lettered[name]
        start, _ = self.places[first]
        _, end = self.places[last - 1]
        return NamedPlace(start, end, option, chr(kind + option))

    def _is_denied(self, first: int, last: int) -> bool:
        """Whether the text before or after a span of words negates it."""
        _, end = self.places[last - 1]
        if not self.is_ascii and DENIED.match(self.text, end):
            return True
        return self._is_negated(first)

    def _is_name_said(self, name: str, first: int, last: int) -> bool:
        """Whether words are an option's name, and not part of something else.

        That could be another word or a number. `first` and `last` are indices of words, both included.
        """
        start = self.places[first][0]
        end = self.places[last][1]
        before = self.text[start - 1 : start]
        after = self.text[end : end + 1]
        if len(name) == 1 and end - start == 1:
            character = self.text[start]
            if character.isdigit():
                has_decimals = after in (".", ",") and self.text[end + 1 : end + 2].isdigit()
                return not has_decimals and before not in (".", ",")
            if character not in self.names.written and not self._leads_reply(start, end):
                return False
        if self.is_ascii:
            return True
        if _continues_beyond(name, self.text[start], before):
            return False
        return not _continues_beyond(name, self.text[end - 1], after)

    def _leads_reply(self, start: int, end: int) -> bool:
        """Whether a letter begins the reply and is followed by a stop.

        Its case does not matter then. A stop is a punctuation mark, a dash, the end of a line, or a word such as
        "because" or "is".
        """
        opening = OPENING.match(self.text)
        return opening is not None and opening.end() == start and STOP_OF_LETTER.match(self.text, end) is not None

    def _is_negated(self, word: int) -> bool:
        """Whether the text before a word negates it.

        `word` is the word's index in the reply.
        """
        if self.is_ascii and NEGATING.isdisjoint(self.words[max(0, word - 5) : word]):
            return False
        start = self.places[word][0]
        return NEGATED.search(self.text[max(0, start - LONGEST_NEGATION) : start]) is not None


def _continues_beyond(name: str, edge: str, beyond: str) -> bool:
    """Whether the character next to a name belongs to the same word.

    This matters in scripts without spaces between words. Katakana continue a katakana word (アン is not in アンディ). A
    character of Han continues a name of one character.
    """
    if not beyond or edge.isascii():
        return False
    if IS_KATAKANA.match(edge):
        return IS_KATAKANA.match(beyond) is not None
    if IS_HAN.match(edge):
        return len(name) == 1 and IS_HAN.match(beyond) is not None
    return beyond.isalnum()


def _get_only(options: set[int]) -> int | None:
    """The only member of a set of options, or None."""
    return next(iter(options)) if len(options) == 1 else None


def _decode_options(marks: Sequence[str]) -> set[int]:
    """Options of the characters that stand for names."""
    return {ord(mark) & 0x3FF for mark in marks}
