"""First names and the gender most of their bearers have, from the public-domain list of the US census of 1990."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

GENDERS = {"f": "female", "m": "male", "e": "either"}


def gender_of(name: str) -> str | None:
    """`female`, `male`, `either` (neither has nine in ten bearers), or None for what is no name on the list.

    >>> gender_of("Nora"), gender_of("Robin"), gender_of("the plumber"), gender_of("My uncle")
    ('female', 'either', None, None)
    """
    words = name.split()
    if not words or len(words) > 2 or not all(word[:1].isupper() for word in words):
        return None
    return _genders().get(words[0].casefold())


@cache
def _genders() -> dict[str, str]:
    lines = (files("winokit") / "assets" / "first_names.txt").read_text("utf-8").splitlines()
    return {name: GENDERS[letter] for name, letter in (line.split() for line in lines if not line.startswith("#"))}
