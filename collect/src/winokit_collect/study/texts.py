"""Every line that a worker reads beside the longer texts: from the study's texts.toml, or as it is built in.

`say` makes a line where something happens, in English; a page says it again from the study's own file. So a study in
another language is a matter of its files.

>>> BUILT_IN("home.to_do", count=3)
Markup('3 available')
>>> BUILT_IN.say(say("refusals.paused"))
'the study is paused; please come back later'
"""

import difflib
import re
import tomllib
from collections.abc import Iterable
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
    """The lines of a study by key, such as `home.title`; called by a template, one is safe to stand in HTML."""

    def __init__(self, lines: Iterable[tuple[str, str]], language: str) -> None:
        self.lines = dict(lines)
        self.language = language
        self._html = {key: escape(line) for key, line in self.lines.items()}
        self._fixed = {key: html for key, html in self._html.items() if not set("{}") & set(html)}

    def __call__(self, key: str, **values: object) -> Markup:
        """A line with its values, as HTML: values are escaped unless they are HTML already."""
        fixed = self._fixed.get(key)
        return self._html[key].format(**values) if fixed is None else fixed

    def say(self, message: str) -> str:
        """A message in the study's words; what is no Message, or one that no file names, stays as it is."""
        if isinstance(message, Message) and message.key in self.lines:
            return self.lines[message.key].format(**message.values)
        return str(message)


def say(key: str, **values: object) -> Message:
    """A line of the built-in texts that a page can say in the study's own words."""
    return Message.of(BUILT_IN.lines[key], key, **values)


def read_texts(path: Path, language: str) -> tuple[StudyTexts, list[str]]:
    """The texts of a file over those that are built in for a language (in English where there are none for it).

    And notes: what stands in the file and is never shown, what does not and is shown as built in, what is not in the
    study's language.
    """
    built_in = _built_in(language)
    file = str(path)
    if not path.is_file():
        return _made(tuple(built_in.items()), language), [f"{file}: no such file; workers read the built-in texts"]
    content = read_text(path).removeprefix("\ufeff")
    notes = []
    own = _parsed(content, file)
    places = _places(content)
    for key, line in own.items():
        if key in built_in:
            wrong = _unfilled(line, BUILT_IN.lines[key]) or _unfit(key, line)
            if wrong:
                raise Malformed(wrong, field=key, file=file, line=places.get(key))
        else:
            meant = difflib.get_close_matches(key, built_in.keys() - own.keys(), n=1)
            hint = f"; did you mean {meant[0]}?" if meant else ""
            notes.append(f"{file}:{places.get(key, 1)}: no page shows a text called {key}{hint}")
    missing = [key for key in built_in if key not in own]
    if missing:
        notes.append(f"{file}: {len(missing)} missing, so the built-in text is shown: {', '.join(missing)}")
    same = [key for key, line in own.items() if " " in line and line == BUILT_IN.lines.get(key)]
    if same and not is_english(language):
        notes.append(f"{file}:{places.get(same[0], 1)}: {len(same)} texts are still in English, from {same[0]} on")
    return _made(tuple({**built_in, **own}.items()), language), notes


_made = lru_cache(8)(StudyTexts)  # studies with the same texts share their templates, which take a while to compile


def _parsed(content: str, file: str) -> dict[str, str]:
    """What a file says, by section.key."""
    try:
        sections = tomllib.loads(content)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{file}: not TOML: {error}") from None
    lines: dict[str, str] = {}
    for section, keys in sections.items():
        named = keys if isinstance(keys, dict) else {"": keys}
        for key, line in ((f"{section}.{name}".strip("."), line) for name, line in named.items()):
            if key == section or not isinstance(line, str):
                expected = f"a text in quotes, in a [section], expected, found {line!r}"
                raise Malformed(expected, field=key, file=file, line=_places(content).get(key))
            lines[key] = line
    return lines


def _places(content: str) -> dict[str, int]:
    """The line in which each key stands, counted from 1."""
    places: dict[str, int] = {}
    section = ""
    for number, line in enumerate(content.split("\n"), 1):
        if header := _HEADER.match(line):
            section = f"{header[1]}."
        elif key := _KEY.match(line):
            places.setdefault(section + key[1], number)
    return places


def _unfilled(line: str, built_in: str) -> str | None:
    """What a text asks for that no page fills in, if anything."""
    known = {name for _, name, _, _ in Formatter().parse(built_in) if name}
    try:
        asked = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(line) if name is not None]
    except ValueError as error:
        return f"to show a brace, write it twice: {{{{ or }}}} ({error})"
    wrong = next((name for name, spec, conversion in asked if name not in known or spec or conversion), None)
    allowed = ", ".join(f"{{{name}}}" for name in sorted(known)) or "none"
    return None if wrong is None else f"no page fills in {{{wrong}}} here; available: {allowed}"


def _unfit(key: str, line: str) -> str | None:
    """Why a line that pages do not show but go by cannot be gone by, if so."""
    if key == "formats.months" and len(line.split()) != 12:
        return f"twelve months separated by spaces expected, found {len(line.split())}"
    return "ltr or rtl expected" if key == "language.direction" and line not in ("ltr", "rtl") else None


@cache
def _built_in(language: str) -> dict[str, str]:
    places = {bundled(FILE): None, bundled(FILE, language): None}
    return {key: line for place in places for key, line in _parsed(read_text(place), str(place)).items()}


BUILT_IN = _made(tuple(_built_in(ENGLISH).items()), ENGLISH)
"""The built-in texts in English, which requesters' pages show, too."""
