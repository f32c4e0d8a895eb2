"""Chance that nobody can redraw, and that tells nothing to those who can.

Splits, the order of a hidden test and the order of its candidates are drawn from a secret of 256 bits that stays with
the hidden answers. A draw puts things in the order of a keyed hash (HMAC-SHA256) of their public names, so that it
depends on the secret and on names alone: not on any answer, and not on the order of the input. Turn the hidden answers
round and the public files stay the same to the byte; two versions of a release have what they share in the same order.
What is public anyway (the order of dev and training) is drawn in the same way from the seed.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from winokit.errors import BadInput

SECRET = "secret"
"""The name of the file beside hidden labels."""
BYTES = 32
Drawn = TypeVar("Drawn")


class Draws:
    """Everything that is drawn from one key, each purpose apart from every other."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def public(cls, seed: int) -> Draws:
        """Draws that anybody can repeat."""
        return cls(hashlib.sha256(f"winokit release, seed {seed}".encode()).digest())

    @classmethod
    def fresh(cls) -> Draws:
        """Draws that nobody can repeat."""
        return cls(secrets.token_bytes(BYTES))

    def number(self, purpose: str, name: str = "") -> int:
        """A whole number below 2^256 that is always the same for a purpose and a name."""
        return int.from_bytes(hmac.digest(self.key, f"{purpose}\0{name}".encode(), "sha256"))

    def share(self, purpose: str, name: str) -> float:
        """A number from 0 up to 1."""
        return (self.number(purpose, name) >> (8 * BYTES - 53)) / 2**53

    def ordered(self, purpose: str, things: Iterable[Drawn], name: Callable[[Drawn], str]) -> list[Drawn]:
        """The things in a drawn order, which is the same in whatever order they come.

        Names are ids. Those of a problem that occurs again (`id.2`) follow the first, as readers count them.
        """

        def key(thing: Drawn) -> tuple[int, int, str]:
            own = name(thing)
            return self.number(purpose, own.partition(".")[0]), len(own), own

        return sorted(things, key=key)

    def commitment(self, data: bytes) -> str:
        """What may be published of hidden data: it holds the owner to them, and without the key checks no guess."""
        return hmac.digest(self.key, b"commitment\0" + data, "sha256").hex()


def read_secret(path: Path) -> bytes:
    """The secret in a file: 64 hexadecimal digits that only their owner can read."""
    try:
        text = path.read_text("ascii").strip()
        others = path.stat().st_mode & 0o077
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file; a lost secret cannot be made again: --secret FILE gives one") from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    if others:
        raise BadInput(f"{path}: the secret can be read by others: chmod 600, or draw anew if they have")
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != BYTES:
        raise BadInput(f"{path}: a secret of {2 * BYTES} hexadecimal digits expected, as of: openssl rand -hex {BYTES}")
    return secret
