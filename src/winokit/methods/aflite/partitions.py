"""Random partitions anyone can draw anew: which rows train which classifier, from a counter instead of a state.

Row r of classifier c in phase p has the key K = h(h(r + a) ^ b), where a and b are 32 bits each of the SHA-256 of
(seed, p, c), and h is the finalizer of MurmurHash3. h maps 32 bits onto 32 bits one to one, so no two rows of a
classifier share a key. A classifier trains on the m rows with the smallest keys. Every backend computes the keys
where its rows are, in integers, and so draws the same partition however rows are stored, ordered or split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint32]
_FIRST, _SECOND = 0x85EBCA6B, 0xC2B2AE35  # the two multipliers of the finalizer
_LOW = 0xFFFFFFFF


def salts(seed: int, phase: int, classifiers: Sequence[int]) -> Keys:
    """Two numbers per classifier, as two rows.

    >>> salts(0, 1, range(3)).shape
    (2, 3)
    """
    digests = [hashlib.sha256(f"{seed} {phase} {classifier}".encode()).digest() for classifier in classifiers]
    return np.array([np.frombuffer(digest[:8], dtype="<u4") for digest in digests], dtype=np.uint32).T


def keys(rows: Keys, salt: Keys) -> Keys:
    """One key for each row and classifier.

    >>> mixed = keys(np.arange(100_000, dtype=np.uint32), salts(0, 1, [0]))
    >>> len(np.unique(mixed)), round(float((mixed < 2**31).mean()), 2)
    (100000, 0.5)
    """
    mixed: Keys = rows[:, None] + salt[0]
    _mix(mixed)
    mixed ^= salt[1]
    _mix(mixed)
    return mixed


def torch_keys(rows: Any, salt: Any) -> Any:
    """The same in torch, which has no arithmetic on unsigned 32-bit numbers: 64 bits, cut after every product."""
    mixed = (rows[:, None] + salt[0]) & _LOW
    mixed = _torch_mix(mixed) ^ salt[1]
    return _torch_mix(mixed)


def _mix(mixed: Keys) -> None:
    """The finalizer, in place."""
    mixed ^= mixed >> np.uint32(16)
    mixed *= np.uint32(_FIRST)
    mixed ^= mixed >> np.uint32(13)
    mixed *= np.uint32(_SECOND)
    mixed ^= mixed >> np.uint32(16)


def _torch_mix(mixed: Any) -> Any:
    mixed = ((mixed ^ (mixed >> 16)) * _FIRST) & _LOW
    mixed = ((mixed ^ (mixed >> 13)) * _SECOND) & _LOW
    return mixed ^ (mixed >> 16)
