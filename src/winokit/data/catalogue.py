"""What is known about the public Winograd-style datasets: where to get each, under which licence, how people do on it.

Facts with their sources, from `assets/catalogue.toml`; no data.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from winokit.problem import Card


@dataclass(frozen=True, slots=True)
class CatalogueEntry:
    """A dataset's card and what `winokit datasets` shows beside it."""

    card: Card
    problems: str
    formats: tuple[str, ...]
    bundled: bool = False


def _entry(name: str, facts: dict[str, Any]) -> CatalogueEntry:
    problems, formats, bundled = facts.pop("problems"), tuple(facts.pop("formats")), facts.pop("bundled", False)
    return CatalogueEntry(Card(name, **facts), problems, formats, bundled)


CATALOGUE = {
    name: _entry(name, facts)
    for name, facts in tomllib.loads((files("winokit") / "assets" / "catalogue.toml").read_text("utf-8")).items()
}
