r"""Find the places of a server's tokens in the text that it was sent.

Servers write tokens in many ways: as text (" cup"), as their tokenizer spells them ("Ġcup", "▁cup"), without the
space before them, or with parts of a character as "\ufffd", "<0xE2>" or "bytes:\xe2". BOS may come before the text,
and generated tokens after it. The offsets that servers give count these spellings, so they are of no use. Instead
the tokens are placed one after the other along the text. Tokens that belong to another text do not fit.
"""

import re
from collections.abc import Callable, Collection, Sequence
from functools import partial
from itertools import accumulate, chain, pairwise, starmap
from typing import NamedTuple, TypeAlias
from unicodedata import combining, normalize

REACH = 24
"""Bytes that a token of unknown spelling may cover at most."""
FORMS: tuple[Callable[[str], str], ...] = (str, partial(normalize, "NFC"), partial(normalize, "NFKC"))
"""Unicode normal forms in which a tokenizer may read a text."""
SPACE_MARKS = ("Ġ", "▁")
"""Characters that GPT-2's tokenizer and sentencepiece write for a space."""
BYTE_MARKS = ("\ufffd", "<0x", "bytes:")
"""Parts of tokens that are not plain text."""
_BYTE_PATTERN = re.compile(r"<0x([0-9A-Fa-f]{2})>\Z")
_ESCAPE_PATTERN = re.compile(r"\\x([0-9a-fA-F]{2})|(.)", re.DOTALL)
_SPACE_PATTERN = re.compile(rb"\s*")
_PRINTABLE_BYTES = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
_OTHER_BYTES = [byte for byte in range(256) if byte not in _PRINTABLE_BYTES]
ALPHABET = {chr(byte): byte for byte in _PRINTABLE_BYTES} | {
    chr(256 + place): byte for place, byte in enumerate(_OTHER_BYTES)
}
"""Byte of each character of GPT-2's alphabet. Printable bytes stand for themselves, the others begin at Ā."""
Spelling: TypeAlias = bytes | re.Pattern[bytes] | None
"""Bytes of a token, a pattern if some are lost, or None if the server does not spell it."""


ServedToken: TypeAlias = tuple[str | None, float | None]
"""A token as a server spells it, and its log-probability. Either may be None."""


class PlacedToken(NamedTuple):
    """Place of a token in a text, and its log-probability.

    `start` and `end` count characters. The space before a token belongs to it.
    """

    start: int
    end: int
    logprob: float | None
    least_end: int
    """Smallest position at which it may end. It is below `end` only if lost parts of characters leave that open."""


# What `_make` does, without a call in Python for each token of thousands of texts.
_make_placed_token: Callable[[tuple[int, int, float | None, int]], PlacedToken] = partial(tuple.__new__, PlacedToken)


def align(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """Find the place of each of a server's tokens in a text.

    None if the tokens are not those of the text. A token before the text (BOS) gets an empty place at its start.
    Generated tokens after it are left out. Tokens may spell a Unicode normal form of the text (NFC or NFKC), which some
    tokenizers read.
    """
    return _align_plain_tokens(text, tokens) or _align_any_spelling(text, tokens)


def _align_plain_tokens(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """Align tokens that, joined together, are the text.

    Gives what `_align_any_spelling` gives, ten times faster. One BOS token before the text, one generated token after
    it, and one extra space at the start are allowed, and spaces may be written as one of `SPACE_MARKS`. None for
    anything less simple.
    """
    texts, logprobs = zip(*tokens, strict=True) if tokens else ((), ())
    if not text or text[0].isspace() or text[-1].isspace() or None in texts:
        return None
    joined_text = "".join(texts)
    if any(mark in joined_text for mark in BYTE_MARKS):
        return None
    bos = texts[0] if texts else ""
    for mark in SPACE_MARKS if text.isascii() and text.isprintable() and " " not in joined_text else ():
        if mark in joined_text:
            bos = bos.replace(mark, " ")
            joined_text = joined_text.replace(mark, " ")
            break
    special = int(not joined_text.startswith((text, f" {text}")))
    if special and (not bos.strip() or text.startswith(bos.lstrip())):
        return None
    lead = int(joined_text.startswith(" ", special * len(bos)))
    if not joined_text.startswith(text, special * len(bos) + lead):
        return None
    ends = list(accumulate(map(len, texts[special:]), initial=-lead))
    if ends[-1] != len(text):
        ends.pop()  # what was generated
    if len(ends) < 2 or ends[-1] != len(text) or ends[-2] == len(text):
        return None
    if lead:
        ends = [max(end, 0) for end in ends]
    borders = [0] * special + ends
    starts = borders
    ends = borders[1:]
    return list(map(_make_placed_token, zip(starts, ends, logprobs, ends, strict=False)))


def _align_any_spelling(text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken] | None:
    """Align tokens in whatever way they are spelt.

    None if they do not fit the text.
    """
    for form in FORMS:
        clusters = list(text) if form is str else _split_into_clusters(text)
        encoded_clusters = [form(cluster).encode() for cluster in clusters]
        borders = _find_best_borders(b"".join(encoded_clusters), tokens)
        if borders is not None:
            starts, ends = _map_bytes_to_characters(clusters, encoded_clusters)
            placed_tokens: list[PlacedToken] = []
            for (start, end), (_, logprob) in zip(pairwise(borders), tokens, strict=False):
                placed_token = PlacedToken(starts[min(start)], ends[max(end)], logprob, ends[min(end)])
                placed_tokens.append(placed_token)
            return placed_tokens
    return None


def _find_best_borders(text: bytes, tokens: Sequence[ServedToken]) -> list[Collection[int]] | None:
    """Find the tokens' borders under the spelling that places most of them.

    Borders are byte positions, one more than there are placed tokens. None if no way of spelling fits. Each entry has
    the positions that are possible for one border.
    """
    best: list[Collection[int]] | None = None
    for spell in (
        _parse_plain_spelling,
        _parse_byte_level_spelling,
        lambda token: _parse_plain_spelling(token.replace("▁", " ")),
    ):
        spellings: list[Spelling] = []
        for token, _ in tokens:
            spellings.append(None if token is None else spell(token))
        borders = _find_borders(text, spellings)
        if borders is not None and (best is None or len(borders) > len(best)):
            best = borders
        if best is not None and len(best) >= len(tokens):  # all but one, which was generated
            break
    return best


def _find_borders(text: bytes, spellings: Sequence[Spelling]) -> list[Collection[int]] | None:
    """Find the byte positions at which each token may begin and end.

    Tokens before the text, such as BOS, get position 0. The list has one entry more than there are placed tokens. None
    if the tokens do not fit.
    """
    for special in range(min(3, len(spellings))):  # tokens before the text: BOS, a prefix
        borders = _lay_tokens(text, spellings[special:])
        if borders is not None:
            return [(0,)] * special + borders
        if spellings[special] is not None and _find_token_ends(text, spellings[special], 0):
            break
    return None


def _lay_tokens(text: bytes, spellings: Sequence[Spelling]) -> list[Collection[int]] | None:
    """Place tokens one after the other, and return their borders.

    None if they do not fit, or do not reach the end of the text. Tokens after the text's end, which were generated,
    have no borders. Each entry has all positions that are possible.
    """
    stop = len(text.rstrip())
    steps = list[dict[int, list[int]]]()
    done = 0
    reached: Collection[int] = (0,)
    for number, token in enumerate(spellings, 1):
        only_spaces = isinstance(token, bytes) and token.isspace() and token in text[stop:]
        first_too_late = len(text) if only_spaces else stop
        step = {at: _find_token_ends(text, token, at) for at in reached if at < first_too_late}
        steps.append(step)
        reached = set(chain.from_iterable(step.values()))
        if any(end >= stop for end in reached):
            done = number
        if not reached:
            break
    if not done:
        return None
    return _choose_borders(text, spellings, steps[:done], stop)


def _choose_borders(
    text: bytes, spellings: Sequence[Spelling], steps: Sequence[dict[int, list[int]]], stop: int
) -> list[Collection[int]]:
    """Keep the borders from which the text's end can be reached.

    `steps` has, for each token, its possible ends by start. The text ends at `stop`, spaces at its end aside. A token
    without a spelling gets the earliest end that is possible.
    """
    last_ends = set(chain.from_iterable(steps[-1].values()))
    ways = [{end for end in last_ends if end >= stop}]
    for step in reversed(steps[1:]):
        leading_on = {at for at, ends in step.items() if not ways[-1].isdisjoint(ends)}
        ways.append(leading_on)
    borders: list[Collection[int]] = [(0,)]
    for token, step, way in zip(spellings, steps, reversed(ways), strict=False):
        possible_ends = chain.from_iterable(step[at] for at in borders[-1])
        ends = way.intersection(possible_ends)
        borders.append(ends if token is not None else (min(ends),))
    return [*borders[:-1], (len(text),)]


def _find_token_ends(text: bytes, token: Spelling, at: int) -> list[int]:
    """Byte positions at which a token from a position may end.

    The token may also begin after spaces there. A token without a spelling may end up to REACH bytes later.
    """
    if token is None:
        return list(range(at, min(at + REACH, len(text) + 1)))
    if isinstance(token, re.Pattern):
        furthest = min(at + REACH, len(text))
        return [end for end in range(at, furthest + 1) if token.fullmatch(text, at, end)]
    if text.startswith(token, at):
        return [at + len(token)]
    token = token.lstrip()  # It has a space too many, or one too few.
    spaces = _SPACE_PATTERN.match(text, at)
    behind = spaces.end() if spaces else at
    return [behind + len(token)] if text.startswith(token, behind) else []


def _split_into_clusters(text: str) -> list[str]:
    """Split a text into characters, each with the combining accents after it."""
    clusters: list[str] = []
    for character in text:
        if clusters and combining(character):
            clusters[-1] += character
        else:
            clusters.append(character)
    return clusters


def _map_bytes_to_characters(clusters: Sequence[str], written: Sequence[bytes]) -> tuple[list[int], list[int]]:
    """Map byte positions to character positions, as starts and as ends.

    `written` has the bytes of each cluster. A position inside a cluster is mapped to the cluster's start and to its
    end. Both lists have one more entry than there are bytes.
    """
    starts = list[int]()
    ends = list[int]()
    at = 0
    for cluster, raw in zip(clusters, written, strict=True):
        behind = at + len(cluster)
        starts += [at] * len(raw)
        ends += [at, *[behind] * (len(raw) - 1)] if raw else []
        at = behind
    return [*starts, at], [*ends, at]


def _parse_plain_spelling(token: str) -> Spelling:
    r"""Bytes of a token that is written as text or bytes.

    Bytes are written as "<0xE2>" or "bytes:\xe2". A pattern of bytes if a part of a character is lost ("\ufffd").
    """
    if "\ufffd" in token:
        parts = token.lstrip().encode(errors="replace").split("\ufffd".encode())
        return re.compile(rb"\s*" + rb"[\x80-\xff]{1,4}".join(map(re.escape, parts)))
    byte = _BYTE_PATTERN.match(token)
    if byte:
        return bytes.fromhex(byte[1])
    if token.startswith("bytes:"):
        parts = _ESCAPE_PATTERN.findall(token.removeprefix("bytes:"))
        return b"".join(starmap(_decode_part, parts))
    return token.encode(errors="replace")


def _decode_part(code: str, character: str) -> bytes:
    r"""Bytes of one escape or character of a token.

    `code` has the hexadecimal digits of an escape such as \xe2, and is empty for a character.
    """
    return bytes.fromhex(code) if code else character.encode()


def _parse_byte_level_spelling(token: str) -> Spelling:
    """Bytes of a token in GPT-2's alphabet.

    It has one character for each byte. A token with other characters, such as BOS, is read as plain text.
    """
    if all(character in ALPHABET for character in token):
        return bytes(ALPHABET[character] for character in token)
    return _parse_plain_spelling(token)
