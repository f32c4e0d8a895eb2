"""Short texts that workers read: labels, messages and buttons, in the study's language.

They come from the study's texts.toml, or are built in.

`say` makes a line where something happens, in English. A page then shows it in the words of the study's own file.
So a study in another language needs only its own files.

>>> BUILT_IN("home.to_do", count=3)
Markup('3 available')
>>> BUILT_IN.say(say("refusals.paused"))
'the study is paused; please come back later'
"""

import difflib
import re
import tomllib
from collections.abc import Collection, Iterable
from functools import cache, lru_cache
from pathlib import Path
from string import Formatter

from markupsafe import Markup, escape

from winokit.extend import BadInput, Malformed, Message, read_text
from winokit_collect.study.content import ENGLISH, bundled, is_english

FILE = "texts.toml"
_HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]")
_KEY = re.compile(r"\s*([\w-]+)\s*=")


class StudyTexts:
    """Short texts of a study by key, such as `home.title`.

    Templates call the object to get a text as safe HTML.
    """

    def __init__(self, lines: Iterable[tuple[str, str]], language: str) -> None:
        self.lines = dict(lines)
        self.language = language
        self._html = {key: escape(line) for key, line in self.lines.items()}
        self._fixed = {key: html for key, html in self._html.items() if "{" not in html and "}" not in html}

    def __call__(self, key: str, **values: object) -> Markup:
        """The text with a key, its placeholders filled in, as HTML.

        Values are escaped unless they are HTML already.
        """
        fixed = self._fixed.get(key)
        return self._html[key].format(**values) if fixed is None else fixed

    def say(self, message: str) -> str:
        """Translate a message into the study's texts.

        A plain string, or a message whose key is unknown, is returned as it is.
        """
        if isinstance(message, Message) and message.key in self.lines:
            return self.lines[message.key].format(**message.values)
        return str(message)


def say(key: str, **values: object) -> Message:
    """A built-in English text, as a message that a page can translate.

    `values` fill in its placeholders.
    """
    return Message.of(BUILT_IN.lines[key], key, **values)


def read_texts(path: Path, language: str) -> tuple[StudyTexts, list[str]]:
    """Read a study's texts from its file, completed by the built-in ones.

    Also returns notes on keys that no page uses, keys that are missing, and texts that are still English. Built-in
    texts are English if there are none in the language. Raises Malformed for a text that pages cannot use.
    """
    built_in = _read_built_in(language)
    file = str(path)
    if not path.is_file():
        texts = _make_texts(tuple(built_in.items()), language)
        return texts, [f"{file}: no such file; workers read the built-in texts"]
    content = read_text(path).removeprefix("\ufeff")
    lines = _parse_lines(content, file)
    line_numbers = _find_line_numbers(content)
    notes = []
    for key, line in lines.items():
        number = line_numbers.get(key)
        if key not in built_in:
            hint = _find_similar_key(key, built_in.keys() - lines.keys())
            notes.append(f"{file}:{number or 1}: no page shows a text called {key}{hint}")
            continue
        problem = _find_unfilled(line, BUILT_IN.lines[key]) or _check_format(key, line)
        if problem:
            raise Malformed(problem, field=key, file=file, line=number)
    missing = [key for key in built_in if key not in lines]
    if missing:
        missing_keys = ", ".join(missing)
        notes.append(f"{file}: {len(missing)} missing, so the built-in text is shown: {missing_keys}")
    english = [key for key, line in lines.items() if " " in line and line == BUILT_IN.lines.get(key)]
    if english and not is_english(language):
        number = line_numbers.get(english[0], 1)
        notes.append(f"{file}:{number}: {len(english)} texts are still in English, from {english[0]} on")
    all_lines = built_in | lines
    return _make_texts(tuple(all_lines.items()), language), notes


def _find_similar_key(key: str, others: Collection[str]) -> str:
    """A hint with the most similar key, or an empty text."""
    matches = difflib.get_close_matches(key, others, n=1)
    return f"; did you mean {matches[0]}?" if matches else ""


_make_texts = lru_cache(8)(
    StudyTexts
)  # studies with the same texts share their templates, which take a while to compile


def _parse_lines(content: str, file: str) -> dict[str, str]:
    """Parse a file of texts into texts by section.key.

    Raises BadInput if it is not TOML, or has something other than texts.
    """
    try:
        sections = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{file}: not TOML: {error}") from None
    lines: dict[str, str] = {}
    for section, keys in sections.items():
        section_lines = keys if isinstance(keys, dict) else {"": keys}
        for name, line in section_lines.items():
            key = f"{section}.{name}".strip(".")
            if key == section or not isinstance(line, str):
                expected = f"a text in quotes, in a [section], expected, found {line!r}"
                number = _find_line_numbers(content).get(key)
                raise Malformed(expected, field=key, file=file, line=number)
            lines[key] = line
    return lines


def _find_line_numbers(content: str) -> dict[str, int]:
    """Line number of each key in a file, counted from 1."""
    line_numbers: dict[str, int] = {}
    section = ""
    for number, line in enumerate(content.split("\n"), 1):
        if header := _HEADER.match(line):
            section = f"{header[1]}."
        elif key := _KEY.match(line):
            line_numbers.setdefault(section + key[1], number)
    return line_numbers


def _find_unfilled(line: str, built_in: str) -> str | None:
    """Describe a placeholder that the built-in text does not have.

    Or a brace that is not closed. None if there is neither.
    """
    valid_names = {name for _, name, _, _ in Formatter().parse(built_in) if name}
    try:
        placeholders = list(Formatter().parse(line))
    except ValueError as error:
        return f"to show a brace, write it twice: {{{{ or }}}} ({error})"
    for _, name, spec, conversion in placeholders:
        if name is not None and (name not in valid_names or spec or conversion):
            allowed = ", ".join(f"{{{valid_name}}}" for valid_name in sorted(valid_names)) or "none"
            return f"no page fills in {{{name}}} here; available: {allowed}"
    return None


def _check_format(key: str, line: str) -> str | None:
    """Describe an error in a text that pages interpret, or return None.

    For example, there must be twelve months.
    """
    word_count = len(line.split())
    if key == "formats.months" and word_count != 12:
        return f"twelve months separated by spaces expected, found {word_count}"
    if key == "language.direction" and line not in ("ltr", "rtl"):
        return "ltr or rtl expected"
    return None


@cache
def _read_built_in(language: str) -> dict[str, str]:
    """Built-in texts of a language, in English where there is no translation."""
    lines: dict[str, str] = {}
    for path in dict.fromkeys((bundled(FILE), bundled(FILE, language))):
        lines |= _parse_lines(read_text(path), str(path))
    return lines


BUILT_IN = _make_texts(tuple(_read_built_in(ENGLISH).items()), ENGLISH)
"""Built-in texts in English. Requesters' pages always show these."""
