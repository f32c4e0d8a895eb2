"""Password hashes that take no time: a real one takes a fifth of a second, on purpose."""

import pytest
from argon2 import PasswordHasher

from winokit_collect.study import requesters

SHIPPED_HASHER = requesters._hasher


@pytest.fixture(autouse=True)
def quick_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the slow password hash by a quick one, so that floods of logins take seconds."""
    hasher = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    monkeypatch.setattr(requesters, "_hasher", hasher)
    monkeypatch.setattr(requesters, "NOBODY", hasher.hash("nobody has this password"))
