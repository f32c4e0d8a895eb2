"""Words that may stand for each other: a short list of our own, or a file of the user's."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from winokit.errors import BadInput, Malformed
from winokit.methods.hunting.queries import Synonyms


def load_synonyms(where: str | None) -> Synonyms:
    """The synonyms of a file (one set a line, words with commas between), of the built-in list, or none (`off`)."""
    if where == "off":
        return {}
    if where is None:
        return parse((files("winokit") / "assets" / "synonyms.txt").read_text("utf-8").splitlines(), "synonyms.txt")
    try:
        return parse(Path(where).read_text("utf-8").splitlines(), where)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{where}: cannot be read as a list of synonyms ({error})") from None


def parse(lines: Iterable[str], name: str) -> Synonyms:
    """Each word to the others of its set; a word may be in several.

    >>> parse(["big, large", "# a remark", "large, roomy"], "list")["large"]
    ['big', 'roomy']
    """
    found: dict[str, list[str]] = {}
    for number, line in enumerate(lines, 1):
        words = [word.strip().casefold() for word in line.split("#")[0].split(",") if word.strip()]
        if len(words) == 1:
            raise Malformed("two or more words with commas between expected", file=name, line=number)
        for word in words:
            found.setdefault(word, []).extend(other for other in words if other != word)
    return found
