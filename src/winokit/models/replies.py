"""Replies in words: which of the options a reply chooses, whoever gave it."""

import re
from collections.abc import Callable, Sequence

from winokit.files import our_toml
from winokit.models.thoughts import answer_in

ORNAMENTS = re.compile(r"\\(?:boxed|text)\{|[*`$}]|<\|\w+\|>|</?(?:answer|final|response)>", re.IGNORECASE)
AROUND = " \t\n.,:;!?()[]\"'“”‘’。、「」『』"
NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
"""Letters and punctuation of full width (Ｂ：), as they are written elsewhere."""
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Kana, Han and Hangul, which stand beside a Latin letter without a space (答えはBです)."""
PROSE = {"yes", "no", "true", "false"}
"""Options that a sentence may hold without meaning them."""
WORDS = our_toml("assets/replies.toml")
NEGATED = re.compile(rf"(?:{'|'.join(WORDS['negated'])})\Z", re.IGNORECASE)
DENIED = re.compile("|".join(WORDS["denied"]))
UNSURE = re.compile(rf"\b(?:{'|'.join(WORDS['unsure'])})\b|{'|'.join(WORDS['unsure_anywhere'])}", re.IGNORECASE)
"""What stands before a name that is denied, what follows it, and what a reply says that does not choose."""
DECLARES = rf"(?i:{'|'.join(WORDS['declares'])})"
OR, AND = (rf"[)\]\"'”’]*\s*(?:{'|'.join(WORDS[word])})\s*[(\[\"'“‘]*" for word in ("or", "and"))


def choice_in(
    text: str, options: Sequence[str], aliases: Sequence[Sequence[str]] = (), *, only_leading: bool = False
) -> int | None:
    """Which option a reply chooses, or None where it chooses none or it is not clear which.

    In this order: the reply is the option; "the answer is B"; it begins with the option and punctuation; one option
    stands in parentheses; it ends with the only option it names; it names the alias of exactly one option, is sure
    of itself, and does not say "not". What it thinks before it answers does not count. With `only_leading` only what
    it is or begins with does.

    >>> choice_in("**B**, since it was full.", ("A", "B"), (("the jug",), ("the cup",)))
    1
    """
    answer = answer_in(text)
    plain = ORNAMENTS.sub("", (answer or "").translate(NARROW)).strip()
    names = _Names(options, aliases)
    exact = names.owners.get(plain.strip(AROUND).lower())
    if exact is not None or not names.owners:
        return exact
    if only_leading:
        chosen = names.declared(plain, at_once=True) or names.leading(plain)
        return chosen.pop() if len(chosen) == 1 else None
    for chosen in (names.declared(plain), names.leading(plain), names.bracketed(plain), names.closing(plain)):
        if chosen:
            return chosen.pop() if len(chosen) == 1 else None
    chosen = names.mentioned(plain)
    return chosen.pop() if len(chosen) == 1 and not UNSURE.search(plain) else None


class _Names:
    """Every way to say each option, and the options that a text says in one place or another.

    Letters count as they are written, other names in any case; of names within names ("the cup", "the cup holder") the
    longest counts. A name that two options share says neither.
    """

    def __init__(self, options: Sequence[str], aliases: Sequence[Sequence[str]]) -> None:
        self.owners: dict[str, int] = {}
        shared, written = set(), set()
        for index, option in enumerate(options):
            for name in (option, *(aliases[index] if index < len(aliases) else ())):
                bare = name.translate(NARROW).strip(AROUND)
                if bare and self.owners.setdefault(bare.lower(), index) != index:
                    shared.add(bare.lower())
                written.add(bare)
        for name in shared:
            del self.owners[name]
        longest_first = sorted((name for name in written if name.lower() in self.owners), key=len, reverse=True)
        self._any = "|".join(map(_as_word, longest_first))

    def declared(self, text: str, *, at_once: bool = False) -> set[int]:
        """Options after "the answer is", "Choice:" and the like; with `at_once` only where a text begins so."""
        lead = rf"{DECLARES}[(\[\"'“‘「]*"
        start, stop = (r"\A(?:\w+\s+){0,3}", r"(?!\?)") if at_once else ("", "")
        no_clause = r"(?!['’]s\b|[\"'”’)]*\s+(?!(?:are|both|because|since)\b)\w)"
        either = self._found(rf"{lead}(?:{self._any})(?:{OR}|{AND}(?=(?:{self._any}){no_clause}))({self._any})", text)
        return self._found(rf"{start}{lead}({self._any}){stop}", text) | either

    def leading(self, text: str) -> set[int]:
        """The option before the first punctuation, and any other that is said right after it or listed below it.

        "B is right" begins with its answer; "the jug was poured out" need not.
        """
        start = r"(?:(?:option|choice)\s+)?[(\[\"'“‘]*"
        stop = r"(?=[)\]\"”.:,;!?。、」\n]|\s*\Z|\s+[-–—(\n]|\s+(?:because|since)\b|(?<=\b\w)\s+(?:is|was)\b)"
        first = re.match(rf"{start}({self._any}){stop}", text, re.IGNORECASE)
        if not first or first[1].lower() not in self.owners:
            return set()
        rest = text[first.end(1) :]
        beside = self._found(rf"\A[\s,/.:()\[\]、]*(?:or\s+|and\s+|&\s*)?({self._any})", rest)
        below = self._found(rf"\n\s*[(\[]?({self._any})[.:)\]](?:\s|\Z)", rest)
        return {self.owners[first[1].lower()]} | beside | below

    def bracketed(self, text: str) -> set[int]:
        """Options in parentheses."""
        return self._found(rf"[(\[「]({self._any})[)\]」]", text)

    def closing(self, text: str) -> set[int]:
        """The option that ends a text, if it is the only one in it and the text is sure of it."""
        last = self._found(rf"({self._any})\W*\Z", text)
        alone = last == self._found(rf"({self._any})", text)
        return last if alone and not UNSURE.search(text) else set()

    def mentioned(self, text: str) -> set[int]:
        """Options that a text names by a word which means nothing else."""
        return self._found(rf"({self._any})", text, lambda name: len(name) > 1 and name not in PROSE)

    def _found(self, pattern: str, text: str, counts: Callable[[str], bool] = bool) -> set[int]:
        """Owners of the names that a pattern finds, unless they are denied.

        A few letters equal a name's to the pattern and not in lower case (ſ and s): such a name is nobody's.
        """
        return {
            self.owners[match[1].lower()]
            for match in re.finditer(pattern, text)
            if match[1].lower() in self.owners
            and counts(match[1].lower())
            and not NEGATED.search(text[: match.start(1)])
            and not DENIED.match(text, match.end(1))
        }


def _as_word(name: str) -> str:
    """A pattern for a name where it is a word of its own; a word of Han is told from its neighbours by nothing.

    One of katakana ends where katakana end (アン is not in アンディ), as does a single character of Han.
    """

    def beyond(edge: str) -> str:
        if re.match(r"[\u30a0-\u30ff]", edge):
            return r"[\u30a0-\u30ff]"
        if re.match(r"[\u3400-\u9fff]", edge):
            return r"[\u3400-\u9fff]" if len(name) == 1 else r"[^\s\S]"
        return rf"[^\W{UNSPACED}]" if edge.isascii() else r"\w"

    said = re.escape(name) if len(name) == 1 else f"(?i:{re.escape(name)})"
    return f"(?<!{beyond(name[0])}){said}(?!{beyond(name[-1])})"
