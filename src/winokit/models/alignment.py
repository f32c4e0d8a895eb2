r"""Where a server's tokens stand in the text that it was sent, told from how it writes them.

Servers write tokens in many ways: as they read (" cup"), as their tokenizer spells them ("Ġcup", "▁cup"), without the
space before them, with parts of a character as "\ufffd", "<0xE2>" or "bytes:\xe2", with BOS before them and what was
generated after them. Offsets that they give count these spellings. So tokens are laid along the text, and whoever has
tokens of another text is found out.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple, TypeAlias
from unicodedata import combining, normalize

REACH = 24
"""Bytes that a token of unknown spelling may cover at most."""
FORMS: tuple[Callable[[str], str], ...] = (str, partial(normalize, "NFC"), partial(normalize, "NFKC"))
"""How a tokenizer may write characters before it reads them."""
SPACE_MARKS = ("Ġ", "▁")
"""What GPT-2's tokenizer and sentencepiece write for a space."""
BYTE_MARKS = ("\ufffd", "<0x", "bytes:")
"""What tokens have in them that are no plain text."""
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})|(.)", re.DOTALL)
_SPACES = re.compile(rb"\s*")
_PLAIN = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_OTHERS = [byte for byte in range(256) if byte not in _PLAIN]
ALPHABET = {chr(byte): byte for byte in _PLAIN} | {chr(256 + place): byte for place, byte in enumerate(_OTHERS)}
"""From the character of GPT-2's alphabet to its byte: printable ones stand for themselves, the rest from Ā on."""
Spelling: TypeAlias = bytes | re.Pattern[bytes] | None
"""The bytes of a token; a pattern where some are lost; None where it has no spelling."""


ServedToken: TypeAlias = tuple[str | None, float | None]
"""A token as a server writes it (None where it does not say), and its log-probability, if it has one."""


class PlacedToken(NamedTuple):
    """Where a token stands in the text, in characters, the space before it included, and its log-probability."""

    start: int
    end: int
    logprob: float | None
    least_end: int
    """Where it may end already: another place where some tokens before the next known one are spelt as "\ufffd"."""


# What `_make` does, without a call in Python for each token of thousands of texts.
_placed_token: Callable[[tuple[int, int, float | None, int]], PlacedToken] = partial(tuple.__new__, PlacedToken)


def align(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """The tokens of the text, each in its place; None where these are tokens of something else.

    A token before the text (BOS) has an empty place at its start; those after it, which were generated, are left out.
    Tokens of the text as Unicode's normal forms write it, which some tokenizers read, will do.
    """
    return _aligned_at_once(text, tokens) or _aligned(text, tokens)


def _aligned_at_once(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """What `_aligned` says, in a tenth of its time, of tokens that written one after the other are the text.

    There may be one before them (BOS), one behind them (generated), and a space too many at their start; a space may be
    written as one of `SPACE_MARKS`. None where it is not as simple as that.
    """
    texts, logprobs = zip(*tokens, strict=True) if tokens else ((), ())
    if not text or text[0].isspace() or text[-1].isspace() or None in texts:
        return None
    written = "".join(texts)
    if any(mark in written for mark in BYTE_MARKS):
        return None
    bos = texts[0] if texts else ""
    for mark in SPACE_MARKS if text.isascii() and text.isprintable() and " " not in written else ():
        if mark in written:
            bos = bos.replace(mark, " ")
            written = written.replace(mark, " ")
            break
    special = int(not written.startswith((text, f" {text}")))
    if special and (not bos.strip() or text.startswith(bos.lstrip())):
        return None
    lead = int(written.startswith(" ", special * len(bos)))
    if not written.startswith(text, special * len(bos) + lead):
        return None
    ends = list(accumulate(map(len, texts[special:]), initial=-lead))
    if ends[-1] != len(text):
        ends.pop()  # what was generated
    if len(ends) < 2 or ends[-1] != len(text) or ends[-2] == len(text):
        return None
    if lead:
        ends = [max(end, 0) for end in ends]
    borders = [0] * special + ends
    return list(map(_placed_token, zip(borders, borders[1:], logprobs, borders[1:], strict=False)))


def _aligned(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """As `align`, whatever the tokens are written like."""
    for form in FORMS:
        clusters = list(text) if form is str else _clusters(text)
        written = [form(cluster).encode() for cluster in clusters]
        borders = _best(b"".join(written), tokens)
        if borders is not None:
            starts, ends = _edges(clusters, written)
            return [
                PlacedToken(starts[min(start)], ends[max(end)], logprob, ends[min(end)])
                for (start, end), (_, logprob) in zip(pairwise(borders), tokens, strict=False)
            ]
    return None


def _best(text: bytes, tokens: Sequence[ServedToken]) -> list[Collection[int]] | None:
    """The borders by the spelling that places most tokens: one of unknown spelling may pass for what others cover."""
    best: list[Collection[int]] | None = None
    for spell in (_as_read, _byte_level, lambda token: _as_read(token.replace("▁", " "))):
        borders = _borders(text, [None if token is None else spell(token) for token, _ in tokens])
        if borders is not None and (best is None or len(borders) > len(best)):
            best = borders
        if best is not None and len(best) >= len(tokens):  # all but one, which was generated
            break
    return best


def _borders(text: bytes, spelt: Sequence[Spelling]) -> list[Collection[int]] | None:
    """Where tokens that cover the text may begin and end, in bytes; one more than there are tokens."""
    for special in range(min(3, len(spelt))):  # tokens before the text: BOS, a prefix
        borders = _laid(text, spelt[special:])
        if borders is not None:
            return [(0,)] * special + borders
        if spelt[special] is not None and _ends(text, spelt[special], 0):
            break
    return None


def _laid(text: bytes, spelt: Sequence[Spelling]) -> list[Collection[int]] | None:
    """Borders of tokens laid one after the other; None where they do not fit, or end too early."""
    stop = len(text.rstrip())
    steps = list[dict[int, list[int]]]()
    done = 0
    reached: Collection[int] = (0,)
    for number, token in enumerate(spelt, 1):
        only_spaces = isinstance(token, bytes) and token.isspace() and token in text[stop:]
        steps.append({at: _ends(text, token, at) for at in reached if at < stop or (only_spaces and at < len(text))})
        reached = {end for ends in steps[-1].values() for end in ends}
        if any(end >= stop for end in reached):
            done = number
        if not reached:
            break
    if not done:
        return None
    ways = [{end for ends in steps[done - 1].values() for end in ends if end >= stop}]
    for step in reversed(steps[1:done]):
        ways.append({at for at, ends in step.items() if not ways[-1].isdisjoint(ends)})
    borders: list[Collection[int]] = [(0,)]
    for token, step, way in zip(spelt, steps, reversed(ways), strict=False):
        ends = way.intersection(end for at in borders[-1] for end in step[at])
        borders.append(ends if token is not None else (min(ends),))
    return [*borders[:-1], (len(text),)]


def _ends(text: bytes, token: Spelling, at: int) -> list[int]:
    """Where a token may end that begins at a place, or behind spaces there."""
    if token is None:
        return list(range(at, min(at + REACH, len(text) + 1)))
    if isinstance(token, re.Pattern):
        return [end for end in range(at, min(at + REACH, len(text)) + 1) if token.fullmatch(text, at, end)]
    if text.startswith(token, at):
        return [at + len(token)]
    token, spaces = token.lstrip(), _SPACES.match(text, at)  # a space too many, or one too few
    behind = spaces.end() if spaces else at
    return [behind + len(token)] if text.startswith(token, behind) else []


def _clusters(text: str) -> list[str]:
    """Characters, each with the accents that follow it."""
    clusters: list[str] = []
    for character in text:
        if clusters and combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def _edges(clusters: Sequence[str], written: Sequence[bytes]) -> tuple[list[int], list[int]]:
    """From a byte to the characters that begin and end there, or around it."""
    starts = list[int]()
    ends = list[int]()
    at = 0
    for cluster, raw in zip(clusters, written, strict=True):
        behind = at + len(cluster)
        starts += [at] * len(raw)
        ends += [at, *[behind] * (len(raw) - 1)] if raw else []
        at = behind
    return [*starts, at], [*ends, at]


def _as_read(token: str) -> Spelling:
    """A token that is spelt as it reads, or as bytes; a pattern where part of a character is lost."""
    if "\ufffd" in token:
        known = (re.escape(part.encode(errors="replace")) for part in token.lstrip().split("\ufffd"))
        return re.compile(rb"\s*" + rb"[\x80-\xff]{1,4}".join(known))
    byte = _BYTE.match(token)
    if byte:
        return bytes.fromhex(byte[1])
    if token.startswith("bytes:"):
        parts = _ESCAPED.findall(token.removeprefix("bytes:"))
        return b"".join(bytes.fromhex(code) if code else character.encode() for code, character in parts)
    return token.encode(errors="replace")


def _byte_level(token: str) -> Spelling:
    """A token as GPT-2's tokenizer and its kin spell it, a printable character for each byte; BOS stays as it is."""
    if all(character in ALPHABET for character in token):
        return bytes(ALPHABET[character] for character in token)
    return _as_read(token)
