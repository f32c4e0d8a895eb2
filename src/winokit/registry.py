"""Registries of named things that others can add to.

They hold formats, transforms, scorings, models, formalizations, protocols and platforms.

Registering is one decorator beside the definition; a wrong name says what exists.

>>> ANIMALS = Registry("animal")
>>> @ANIMALS.register("cat")
... def cat(): ...
>>> ANIMALS["cow"]
Traceback (most recent call last):
...
winokit.errors.UnknownName: No animal named 'cow'. Known: cat.

Another package adds to a registry by an entry point of the registry's group, named as the thing is to be called:

    [project.entry-points."winokit.scorings"]
    mine = "my_package.scoring:mine"
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from winokit.errors import BadInput, UnknownName

T = TypeVar("T")


def _list_import_folders() -> tuple[tuple[str, int], ...]:
    """Folders that Python imports from, with their modification times.

    A time changes when a package is installed.
    """
    places = []
    for place in sys.path:
        with suppress(OSError, ValueError):  # gone, closed to us, or no path at all
            places.append((place, Path(place).stat().st_mtime_ns))
    return tuple(places)


@lru_cache(64)  # a reading of what is installed takes 10 ms, and texts are read by a registry of languages
def _find_entries(
    find: Callable[..., Any], group: str, installed: tuple[tuple[str, int], ...]
) -> dict[str, EntryPoint]:
    """Entry points of a group by name.

    `installed` is only a cache key: the result is computed again when a package is installed.
    """
    return {entry.name: entry for entry in find(group=group)}


def at_home(place: str) -> Any:
    """Import `module:name` and return the object of that name.

    None if `place` is a module alone.
    """
    module, _, attribute = place.partition(":")
    home = import_module(module)
    return getattr(home, attribute) if attribute else None


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to objects of one kind, such as scorings.

    Our own come first, in the order they are written, then those of other packages.

    Parameters
    ----------
    kind
        What an error calls one of them.
    group
        The group of entry points by which other packages add to it.
    homes
        Things that are imported when first asked for: `module:name`, or a `module` that registers the thing itself.
    """

    def __init__(self, kind: str, group: str | None = None, homes: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.group = group
        self.homes = dict(homes or {})
        self._things: dict[str, T] = {}

    def register(self, name: str) -> Callable[[T], T]:
        """Decorator that adds an object under a name.

        Raises ValueError if the name is taken.
        """

        def add(thing: T) -> T:
            if name in self._things:
                raise ValueError(f"{self.kind} {name!r} is registered twice")
            self._things[name] = thing
            return thing

        return add

    def __getitem__(self, name: str) -> T:
        if name not in self._things and name in self.homes:
            thing_at_home = at_home(self.homes[name])
            if thing_at_home is not None:
                self._things.setdefault(name, thing_at_home)
        elif name not in self._things and name in self._list_entry_points():
            entry = self._list_entry_points()[name]
            try:
                thing: Any = entry.load()
            except Exception as error:  # somebody else's code: whatever is wrong with it, say which it is
                raise BadInput(f"{self.kind} {name!r}: {entry.value} cannot be loaded ({error})") from error
            self._things.setdefault(name, thing)  # its module may have registered it already
        if name not in self._things:
            raise UnknownName(self.kind, name, self)
        return self._things[name]

    def summary_of(self, name: str) -> str:
        """Summary of the package that adds a name.

        Empty if it has none. The package is not imported. Raises KeyError for a name of our own.
        """
        package = self._list_entry_points()[name].dist
        return str(package.metadata["Summary"] or "") if package else ""

    def _list_entry_points(self) -> dict[str, EntryPoint]:
        """Entry points by which other packages add to this registry."""
        return _find_entries(entry_points, self.group, _list_import_folders()) if self.group else {}

    def __contains__(self, name: object) -> bool:
        return name in self._things or name in self.homes or name in self._list_entry_points()

    def __iter__(self) -> Iterator[str]:
        return iter({**self.homes, **self._things, **self._list_entry_points()})

    def __len__(self) -> int:
        return len(list(iter(self)))
