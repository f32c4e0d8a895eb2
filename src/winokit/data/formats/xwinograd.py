"""XWinograd (Tikhonov and Ryabinin, 2021): WSC, DPR and similar sets in six languages.

    language, source, English original or ?, text, tokens, [pronoun, span, …], [[candidate, span, tokens, right], …]

Spans count tokens, which are laid along the text here, so that the text is kept to the letter: some end in spaces, and
Penn's quotes (`` and '') are ". Japanese is `jp` there and `ja` here. The pronoun is what the data says, less the
marks that Russian tokens have glued to them ("его."): in four Chinese texts it is the 为 of 因为, "because", and some
Japanese ones have a particle with it (彼を), which filling puts back. Groups are not named, and twins are neighbours.
"""

from collections.abc import Sequence
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import FileHead, native_format
from winokit.data.formats.source import Source
from winokit.errors import Malformed
from winokit.problem import Problem
from winokit.text.language import CODE, check_code

CELLS = ("language", "source", "original", "text", "tokens", "pronoun", "candidates")
OTHER_CODES = {"jp": "ja"}
MARKS = ".,;:!?"
QUOTES = {"``": '"', "''": '"'}


def parse(line: str) -> Problem:
    """Parse a row of XWinograd into a problem.

    The start and end of each candidate in the sentence are in its provenance. Raises Malformed if a cell is wrong.
    """
    cells = line.split("\t")
    if len(cells) != len(CELLS):
        raise Malformed(f"expected seven cells with tabs ({', '.join(CELLS)}), found {len(cells)}")
    language, source, original, text, *list_cells = cells
    tokens, pronoun, candidates = (
        fields.parsed(cell, list, name) for name, cell in zip(CELLS[4:], list_cells, strict=True)
    )
    if not CODE.fullmatch(language):
        raise Malformed(f"expected a BCP 47 code, found {language[:40]!r}", field="language")
    starts = _find_token_starts(text, tokens)
    start, end = _find_words(text, starts, pronoun, "pronoun")
    without_marks = text[start:end].rstrip(MARKS)
    if without_marks:
        end = start + len(without_marks)
    places = [_find_words(text, starts, candidate, "candidates") for candidate in candidates]
    right_indices = [index for index, candidate in enumerate(candidates) if candidate[3:] == [True]]
    if len(right_indices) != 1:
        raise Malformed(f"expected one candidate that is true, found {len(right_indices)}", field="candidates")
    provenance: dict[str, Any] = {"places": places}
    if original != "?":
        provenance["english"] = original
    return Problem(
        text[:start],
        text[end:],
        tuple(text[first:last] for first, last in places),
        right_indices[0],
        pronoun=text[start:end],
        labels={"source": source},
        provenance=provenance,
        language=check_code(OTHER_CODES.get(language, language)),
    )


def _find_token_starts(text: str, tokens: Sequence[Any]) -> list[int]:
    """Start of each token in a text.

    Raises Malformed if there is anything but white space between tokens.
    """
    starts = []
    at = 0
    for token in tokens:
        space_length = len(text[at:]) - len(text[at:].lstrip())
        at += space_length
        is_verbatim = isinstance(token, str) and text.startswith(token.lstrip(), at)
        spelling = token if is_verbatim else QUOTES.get(str(token))
        if not spelling or not text.startswith(spelling.lstrip(), at):
            raise Malformed(f"{token!r} is not at character {at + 1} of the text", field="tokens")
        starts.append(at)
        at += len(spelling.lstrip())
    return starts


def _find_words(text: str, starts: Sequence[int], named: Any, field: str) -> tuple[int, int]:
    """Start and end of some words in a text.

    Parameters
    ----------
    starts
        The start of each token.
    named
        The words, and the indices of their first and last token.
    field
        The field that an error names.
    """
    match named:
        case [str(words), [int(first), int(_)], *_] if 0 <= first < len(starts) and words.strip():
            start = starts[first]
            if text.startswith(words, start):
                return start, start + len(words)
            raise Malformed(f"{words!r} is not at token {first} of the text", field=field)
    raise Malformed(f"expected words and the span of their tokens, found {str(named)[:40]!r}", field=field)


def _is_xwinograd(head: FileHead) -> bool:
    """Whether a file's first line has seven cells, the last three lists."""
    if not head.lines:
        return False
    cells = head.lines[0].split("\t")
    return len(cells) == len(CELLS) and all(cell.startswith("[") for cell in cells[4:])


native_format(
    "xwinograd",
    "TSV: language, source, original, text, tokens, pronoun and candidates with their spans (read only)",
    ".tsv",
    _is_xwinograd,
    Source.lines,
)(parse)
