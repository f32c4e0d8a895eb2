"""Named things that others can add to: formats, scorings, protocols.

Registering is one decorator beside the definition; a wrong name says what exists.

>>> ANIMALS = Registry("animal")
>>> @ANIMALS.register("cat")
... def cat(): ...
>>> ANIMALS["cow"]
Traceback (most recent call last):
...
winokit.errors.UnknownName: No animal named 'cow'. Known: cat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from winokit.errors import UnknownName

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to things of one kind, in order of registration."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._things: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Add the decorated thing under `name`; a name can be taken once."""

        def add(thing: T) -> T:
            if name in self._things:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> T:
        try:
            return self._things[name]
        except KeyError:
            raise UnknownName(self.kind, name, self._things) from None

    def __contains__(self, name: object) -> bool:
        return name in self._things

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
