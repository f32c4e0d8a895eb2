"""XWinograd (Tikhonov and Ryabinin, 2021): WSC, DPR and their kin in six languages, a row of seven cells with tabs.

    language, source, English original or ?, text, tokens, [pronoun, span, …], [[candidate, span, tokens, right], …]

Spans count tokens, which are laid along the text here, so that the text is kept to the letter: some end in spaces, and
Penn's quotes (`` and '') stand for ". Japanese is `jp` there and `ja` here. The pronoun is what the data says, less the
marks that Russian tokens have glued to them ("его."): in four Chinese texts it is the 为 of 因为, "because", and some
Japanese ones have a particle with it (彼を), which filling puts back. Groups are not named; twins stand side by side.
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
    """A problem from a row; where each candidate stands in the sentence is kept in its provenance."""
    cells = line.split("\t")
    if len(cells) != len(CELLS):
        raise Malformed(f"expected seven cells with tabs ({', '.join(CELLS)}), found {len(cells)}")
    language, source, original, text, *lists = cells
    tokens, pronoun, candidates = (fields.parsed(cell, list, name) for name, cell in zip(CELLS[4:], lists, strict=True))
    if not CODE.fullmatch(language):
        raise Malformed(f"expected a BCP 47 code, found {language[:40]!r}", field="language")
    starts = _laid(text, tokens)
    start, end = _place(text, starts, pronoun, "pronoun")
    end = start + len(text[start:end].rstrip(MARKS) or text[start:end])
    places = [_place(text, starts, candidate, "candidates") for candidate in candidates]
    right = [index for index, candidate in enumerate(candidates) if candidate[3:] == [True]]
    if len(right) != 1:
        raise Malformed(f"expected one candidate that is true, found {len(right)}", field="candidates")
    translated = {} if original == "?" else {"english": original}
    return Problem(
        text[:start],
        text[end:],
        tuple(text[first:last] for first, last in places),
        right[0],
        pronoun=text[start:end],
        labels={"source": source},
        provenance={"places": places, **translated},
        language=check_code(OTHER_CODES.get(language, language)),
    )


def _laid(text: str, tokens: Sequence[Any]) -> list[int]:
    """Where each token begins in the text, which has nothing but white space between them."""
    starts = []
    at = 0
    for token in tokens:
        at += len(text[at:]) - len(text[at:].lstrip())
        written = token if isinstance(token, str) and text.startswith(token.lstrip(), at) else QUOTES.get(str(token))
        if not written or not text.startswith(written.lstrip(), at):
            raise Malformed(f"{token!r} is not at character {at + 1} of the text", field="tokens")
        starts.append(at)
        at += len(written.lstrip())
    return starts


def _place(text: str, starts: Sequence[int], named: Any, field: str) -> tuple[int, int]:
    """Where words stand that begin with a token."""
    match named:
        case [str(words), [int(first), int(_)], *_] if 0 <= first < len(starts) and words.strip():
            start = starts[first]
            if text.startswith(words, start):
                return start, start + len(words)
            raise Malformed(f"{words!r} is not at token {first} of the text", field=field)
    raise Malformed(f"expected words and the span of their tokens, found {str(named)[:40]!r}", field=field)


def _recognise(head: FileHead) -> bool:
    cells = head.lines[0].split("\t") if head.lines else []
    return len(cells) == len(CELLS) and all(cell.startswith("[") for cell in cells[4:])


native_format(
    "xwinograd",
    "TSV: language, source, original, text, tokens, pronoun and candidates with their spans (read only)",
    ".tsv",
    _recognise,
    Source.lines,
)(parse)
