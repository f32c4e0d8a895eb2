"""docs/reproduction.md: its tables written from the results, and its prose held to them.

A part of a table stands between `<!-- table NAME -->` and `<!-- end -->`. All else is prose, hand-made tables
included, and every decimal or per-cent number in it must be found

- in a generated table of the same section,
- in a generated table of a section that the same paragraph, or the same line of a list or table, links to, or
- in `papers.STATED`: settings, and what a paper says that no table repeats.

Section numbers ("section 6.1"), versions, inline code and blocks of commands are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from runs.papers import STATED
from runs.store import Store
from runs.tables import RESULTS, ROOT, all_tables
from winokit.errors import BadInput

PAGE = ROOT / "docs" / "reproduction.md"
PART = re.compile(r"(<!-- table ([\w.-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
SKIPPED = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|(?i:section|version|winokit) \d+(?:\.\d+)*", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+| (?=%))(?![\d.]*\.\d)")
JOINED = re.compile(r"[\d.,]+ (?:± [\d.]+|\[[−\d.,]+, [−\d.,]+\])|\[[−\d.,]+, [−\d.,]+\]")
"""What is one number: a mean with its deviation, a value with its interval, an interval."""


def rewritten(page: str, results: Path = RESULTS) -> str:
    """The page with every table as the results have it."""
    places = {name: (table, write) for table in all_tables().values() for name, write in table.places().items()}
    read = lru_cache(None)(Store)  # several tables have one file

    def part(match: re.Match[str]) -> str:
        if match[2] not in places:
            raise BadInput(f"docs/reproduction.md: no table named {match[2]!r}. Known: {', '.join(places)}.")
        table, write = places[match[2]]
        store = read(table.store_path(results))
        if not store.records:
            raise BadInput(f"{store.path}: no results; python -m runs {table.name} makes them")
        return f"{match[1]}{write(store)}\n{match[4]}"

    return PART.sub(part, page)


@dataclass
class Section:
    """A heading of the page, and what stands under it."""

    anchor: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    def numbers(self) -> set[str]:
        """Those in its generated tables."""
        return {number for part in PART.finditer(self.text) for number in _numbers(part[3], apart=True)}

    def blocks(self) -> Iterator[str]:
        """The paragraphs of its prose, and the lines of its lists and hand-made tables, one by one."""
        prose = PART.sub("", self.text)
        prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
        for paragraph in prose.split("\n\n"):
            yield from paragraph.splitlines() if paragraph.lstrip().startswith(("|", "- ")) else [paragraph]


def sections(page: str) -> dict[str, Section]:
    """The sections of a page by the anchor that links to them use."""
    by_anchor = {"": Section("")}
    current, in_code = by_anchor[""], False
    for line in page.splitlines():
        in_code ^= line.startswith("```")
        if not in_code and line.startswith("#"):
            anchor = _anchor(line)
            current = by_anchor.setdefault(anchor, Section(anchor))
        else:
            current.lines.append(line)
    return by_anchor


def unsupported(page: str) -> list[str]:
    """Numbers in the page's prose that no result and no paper has: where they stand, and the words around them."""
    parts = sections(page)
    known = {anchor: section.numbers() for anchor, section in parts.items()}
    problems = []
    for anchor, section in parts.items():
        always = known[anchor] | set(STATED.get(anchor, "").split()) | set(STATED["everywhere"].split())
        for block in section.blocks():
            links = re.findall(r"\]\(#([\w-]+)\)", block)
            allowed = always.union(*(known.get(link, set()) for link in links))
            for number in sorted(_numbers(block) - allowed):
                if number.isdigit() and number in {text.split(".")[0] for text in allowed if text.endswith(".0")}:
                    continue
                where = SKIPPED.sub(" ", block)
                at = where.find(re.split(r"[ \]]", number.lstrip("["))[0])
                around = " ".join(where[max(0, at - 40) : at + 40].split())
                problems.append(f"{anchor or 'top'}: {number} in “…{around}…”")
    return problems


@lru_cache(4096)
def _numbers(text: str, *, apart: bool = False) -> frozenset[str]:
    """Decimals and per-cent numbers as written, without sign and commas, and what belongs together; its parts too."""
    plain = SKIPPED.sub(" ", text)
    whole = JOINED.findall(plain)
    numbers = [*NUMBER.findall(JOINED.sub(" ", plain)), *whole]
    if apart:
        numbers += [part for joined in whole for part in re.findall(r"^[\d.,]+|\[.*\]", joined)]
    return frozenset(number.replace(",", "").strip() for number in numbers)


def _anchor(heading: str) -> str:
    """The anchor of a heading, as Markdown pages have it."""
    return re.sub(r"[^\w\- ]", "", heading.lstrip("#").strip().lower()).replace(" ", "-")
