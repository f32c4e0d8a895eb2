"""Signed tokens: what a link or a cookie says is what we wrote into it, and for how long it holds.

Each purpose has its own key, derived from the study's secret, so that a token for one cannot be used for another.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from functools import cache
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, SignatureExpired, URLSafeTimedSerializer

from winokit.collect.study.refusals import LinkExpired, NotAllowed
from winokit.errors import BadInput

ENVIRONMENT = "WINOKIT_COLLECT_SECRET"
FILE = "secret.key"
LETTERS = "23456789abcdefghjkmnpqrstuvwxyz"
"""Digits and letters that nobody mistakes for one another when reading a code aloud."""


def read_secret(folder: Path) -> bytes:
    """The study's secret: from the environment where it is set there, else from a file only its owner can read."""
    secret = os.environ.get(ENVIRONMENT)
    if secret:
        if len(secret) < 32:
            raise BadInput(f"{ENVIRONMENT}: 32 characters or more expected, found {len(secret)}")
        return secret.encode()
    path = folder / FILE
    if not path.exists():
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            pass  # another process was faster, and its secret is as good
        except OSError as error:
            raise BadInput(f"{path}: cannot be written ({error.strerror})") from None
        else:
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
    return path.read_bytes()


class Signer:
    """Makes and reads tokens of one study."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._serializer = cache(self._new_serializer)

    def sign(self, purpose: str, value: Any) -> str:
        """A token that says `value`, safe in a web address."""
        return str(self._serializer(purpose).dumps(value))

    def read(self, purpose: str, token: str, most_seconds: int | None = None) -> Any:
        """What a token says; a forged one is NotAllowed, one that is too old LinkExpired."""
        try:
            return self._serializer(purpose).loads(token, max_age=most_seconds)
        except SignatureExpired:
            raise LinkExpired("this link is too old; ask for a new one") from None
        except BadSignature:
            raise NotAllowed("this link was not made by this study, or has been changed") from None

    def digest(self, purpose: str, text: str) -> str:
        """A keyed hash: equal for equal texts, and nothing to be read from it without the secret."""
        return hmac.new(self._secret + purpose.encode(), text.encode(), hashlib.sha256).hexdigest()

    def _new_serializer(self, purpose: str) -> URLSafeTimedSerializer:
        options = {"digest_method": hashlib.sha256}
        return URLSafeTimedSerializer(self._secret, salt=f"winokit.{purpose}", signer_kwargs=options)


def random_code(length: int = 10) -> str:
    """A random code that can be read aloud."""
    return "".join(secrets.choice(LETTERS) for _ in range(length))
