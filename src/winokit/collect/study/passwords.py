"""Passwords, kept as argon2id hashes."""

from __future__ import annotations

import threading

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from winokit.collect.study.refusals import Incomplete

SHORTEST, LONGEST = 10, 200
AT_ONCE = 4
"""Each hash takes 64 MiB while it is made, which a crowd at the login must not multiply."""
_turn = threading.BoundedSemaphore(AT_ONCE)
_hasher = PasswordHasher()
NOBODY = _hasher.hash("nobody has this password")
"""Verified where a name is unknown, so that an answer takes as long as for a known one."""


def hash_password(password: str) -> str:
    """A salted hash; a password that is too short or too long is refused."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Incomplete({"password": f"{SHORTEST} to {LONGEST} characters expected"})
    with _turn:
        return _hasher.hash(password)


def verify(hashed: str, password: str) -> bool:
    """Whether a password is the one that was hashed."""
    if len(password) > LONGEST:
        return False
    try:
        with _turn:
            return _hasher.verify(hashed, password)
    except (VerificationError, InvalidHashError):
        return False
