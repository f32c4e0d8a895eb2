r"""Where a server's tokens stand in the text that it was sent, told from how it writes them.

Servers write tokens in many ways: as they read (" cup"), as their tokenizer spells them ("Ġcup", "▁cup"), without the
space before them, with parts of a character as "\ufffd", "<0xE2>" or "bytes:\xe2", with BOS before them and what was
generated after them. Offsets that they give count these spellings. So tokens are laid along the text, and whoever has
tokens of another text is found out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

REACH = 24
"""Bytes that a token of unknown spelling may cover at most."""
_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")
_ESCAPED = re.compile(r"\\x([0-9a-fA-F]{2})|(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ServedToken:
    """A token as a server writes it (None where it does not say), and its log-probability, if it has one."""

    text: str | None
    logprob: float | None


@dataclass(frozen=True, slots=True)
class PlacedToken:
    """Where a token stands in the text, in characters, the space before it included, and its log-probability."""

    start: int
    end: int
    logprob: float | None


def align(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """The tokens of the text, each in its place; None where these are tokens of something else.

    A token before the text (BOS) has an empty place at its start; those after it, which were generated, are left out.
    """
    laid: list[list[int]] = []
    for spell in (_as_read, _byte_level, _sentencepiece):
        borders = _borders(text.encode(), [None if token.text is None else spell(token.text) for token in tokens])
        laid += [borders] if borders is not None else []
    if not laid:
        return None
    # A token of unknown spelling may pass for what others would cover: the spelling that places most is the right one.
    places = _in_characters(text, max(laid, key=len))
    return [PlacedToken(*place, token.logprob) for place, token in zip(places, tokens[: len(places)], strict=True)]


def _borders(text: bytes, spelt: Sequence[bytes | None]) -> list[int] | None:
    """Byte borders of the tokens that cover the text; one more than there are tokens."""
    for special in range(min(3, len(spelt))):  # tokens before the text: BOS, a prefix
        borders = _laid(text, spelt[special:], 0)
        if borders is not None:
            return [0] * special + borders
        if spelt[special] is not None and text.startswith(spelt[special] or b"\0"):
            break
    return None


def _laid(text: bytes, spelt: Sequence[bytes | None], at: int) -> list[int] | None:
    """Borders of tokens laid one after the other from a place on; None where they do not fit, or end too early."""
    borders = [at]
    for number, token in enumerate(spelt):
        if not text[at:].strip():
            borders[-1] = len(text)
            return borders
        if token is None:
            for reach in range(REACH):
                rest = _laid(text, spelt[number + 1 :], at + reach)
                if rest is not None:
                    return borders + rest
            return None
        if not text.startswith(token, at):  # a space too many, or one too few
            token = token.lstrip()
            at += len(text) - at - len(text[at:].lstrip())
        if not text.startswith(token, at):
            return None
        at += len(token)
        borders.append(at)
    return None if text[at:].strip() else [*borders[:-1], len(text)]


def _in_characters(text: str, borders: Sequence[int]) -> list[tuple[int, int]]:
    """Places in characters; a token that holds part of a character's bytes reaches over all of it."""
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    known = {byte: place for place, byte in enumerate(starts)}

    def place(byte: int, step: int) -> int:
        while byte not in known:
            byte += step
        return known[byte]

    return [(place(start, -1), place(end, 1)) for start, end in pairwise(borders)]


def _as_read(token: str) -> bytes | None:
    """A token that is spelt as it reads, or as bytes; None where part of a character is lost."""
    if "\ufffd" in token:
        return None
    byte = _BYTE.match(token)
    if byte:
        return bytes.fromhex(byte[1])
    if token.startswith("bytes:"):
        parts = _ESCAPED.findall(token.removeprefix("bytes:"))
        return b"".join(bytes.fromhex(code) if code else character.encode() for code, character in parts)
    return token.encode(errors="replace")


def _sentencepiece(token: str) -> bytes | None:
    """A token as sentencepiece spells it, with ▁ for a space."""
    return _as_read(token.replace("▁", " "))


def _byte_level(token: str) -> bytes | None:
    """A token as GPT-2's tokenizer and its kin spell it, a printable character for each byte; BOS stays as it is."""
    alphabet = _alphabet()
    if all(character in alphabet for character in token):
        return bytes(alphabet[character] for character in token)
    return _as_read(token)


@cache
def _alphabet() -> dict[str, int]:
    """From the character of GPT-2's alphabet to its byte: printable ones stand for themselves, the rest from Ā on."""
    plain = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in plain]
    return {chr(byte): byte for byte in plain} | {chr(256 + place): byte for place, byte in enumerate(others)}
