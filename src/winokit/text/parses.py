"""Texts parsed elsewhere, in JSON lines that `tools/mine_rivals.py` writes.

A line has words, their grammar and noun phrases.

The first line names the parser. Every other has a `text`, its `phrases` and its `tokens`: word, place, part of speech,
tag, label and number of the word it hangs on, in the scheme of spaCy's English models.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.files import read_text


@dataclass(frozen=True)
class ParseFile:
    """The parses in a file, by the text that was parsed."""

    path: Path
    name: str
    """The parser, and a hash of what it made of the texts."""
    rows: dict[str, Any]

    def phrases(self, text: str) -> tuple[str, ...]:
        """Noun phrases of a text.

        Raises BadInput if the file has no parse of it.
        """
        if text not in self.rows:
            raise BadInput(f"{self.path}: no parse of {text[:40]!r}…; tools/mine_rivals.py writes one for each text")
        return tuple(self.rows[text]["phrases"])


@lru_cache(8)
def open_parses(path: Path) -> ParseFile:
    """Read a file of parses.

    Raises BadInput, with the line, if it is not as `tools/mine_rivals.py` writes it.
    """
    lines = read_text(path).removesuffix("\n").split("\n")
    rows: dict[str, Any] = {}
    parser = ""
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            if number == 1:
                parser = str(row["parser"])
                continue
            tokens = [_convert_token(*token) for token in row["tokens"]]
            noun_phrases = [str(phrase) for phrase in row["phrases"]]
            rows[row["text"]] = {"phrases": noun_phrases, "tokens": tokens}
        except (ValueError, KeyError, TypeError):
            raise BadInput(f"{path}, line {number}: not a parse as tools/mine_rivals.py writes it") from None
    joined = "".join(lines).encode()
    digest = sha256(joined).hexdigest()[:12]
    return ParseFile(path, f"{parser} {digest}", rows)


def _convert_token(
    word: str, place: int, part: str, tag: str, label: str, head: int
) -> tuple[str, int, str, str, str, int]:
    """The parts of a token with their types.

    Raises ValueError for other values.
    """
    return str(word), int(place), str(part), str(tag), str(label), int(head)
