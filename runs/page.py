"""docs/evidence/reproduction.md and the papers' pages: their tables written from the results, their prose held to them.

A part of a table stands between `<!-- table NAME -->` and `<!-- end -->`. Besides the parts of tables there are `words`
(every table with its word), `pass` (what is to be trained, and what that costs), `settings-TABLE` (both columns of a
protocol, and what its own runs gave) and `denominators-TABLE`. All else is prose, hand-made tables included, and every
decimal or per-cent number in it must be found

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

from runs.denominators import denominators_of
from runs.papers import STATED
from runs.protocol import PAGES as PAPER_PAGES
from runs.protocol import overview, protocols, store_of
from runs.protocol_jobs import jobs_of_table, protocol_jobs
from runs.store import Store
from runs.tables import RESULTS, ROOT, all_tables, grid
from runs.tables import number as shown_number
from winokit.errors import BadInput

PAGE = ROOT / "docs" / "evidence" / "reproduction.md"
PAGES = (PAGE, *(PAGE.with_name(f"paper-{name}.md") for name in PAPER_PAGES.values()))
PART = re.compile(r"(<!-- table ([\w.-]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)
SKIPPED = re.compile(r"```.*?```|`[^`\n]*`|\]\([^)]*\)|(?i:section|version|winokit) \d+(?:\.\d+)*", re.DOTALL)
NUMBER = re.compile(r"(?<![\w.,])\d[\d,]*(?:\.\d+| (?=%))(?![\d.]*\.\d)")
JOINED = re.compile(r"[\d.,]+ (?:± [\d.]+|\[[−\d.,]+, [−\d.,]+\])|\[[−\d.,]+, [−\d.,]+\]")
"""One number: a mean with its deviation, a value with its interval, or an interval."""


def rewritten(page: str, results: Path = RESULTS) -> str:
    """Return the text of a page with every generated table written again from the stored results.

    Raises BadInput if a table has no results.
    """
    tables = {}
    writers = {}
    for table in all_tables().values():
        for name, write in table.places().items():
            tables[name] = table
            writers[name] = write
    open_store = lru_cache(None)(Store)  # several tables have one file

    def rewrite_part(match: re.Match[str]) -> str:
        start, name, _, end = match.groups()
        if name not in writers:
            return f"{start}{generated(name, results)}\n{end}"
        store = open_store(tables[name].store_path(results))
        if not store.records:
            raise BadInput(f"{store.path}: no results; python -m runs {tables[name].name} makes them")
        return f"{start}{writers[name](store)}\n{end}"

    return PART.sub(rewrite_part, page)


def generated(name: str, results: Path) -> str:
    """Write a part that belongs to no table: `words`, `pass`, `settings-TABLE` or `denominators-TABLE`.

    Raises BadInput for any other name.
    """
    kind, _, table = name.partition("-")
    if name == "words":
        return overview(results)
    if name == "pass":
        return cost_table(results)
    if kind == "settings" and table in protocols():
        return settings_and_runs(table, results)
    if kind == "denominators" and table in protocols():
        return denominators_of(protocols()[table])
    names = ["words", "pass", *all_tables(), "settings-TABLE", "denominators-TABLE"]
    raise BadInput(f"docs: no table named {name!r}. Known: {', '.join(names)}.")


def settings_and_runs(table: str, results: Path) -> str:
    """Write the paper's settings beside ours, and below them the results of the protocol's own runs if stored."""
    text = protocols()[table].settings_table()
    store = store_of(table, results)
    if store is None or not protocols()[table].here.get("trains"):
        return text
    from runs.training import show_runs

    return f"{text}\n\n{show_runs(store)}"


def cost_table(results: Path) -> str:
    """Write the table of what is trained: jobs, training steps, hours, and how many jobs have been run."""
    from runs.training import hours_of, steps_of

    lines = []
    for name in dict.fromkeys(job.table for job in protocol_jobs()):
        jobs = jobs_of_table(name)
        steps = sum(map(steps_of, jobs))
        fast, slow = hours_of(steps)
        hours = f"{shown_number(fast)} to {shown_number(slow)}"
        store = store_of(name, results)
        done_count = 0 if store is None else sum(job.name in store.records for job in jobs)
        lines.append((name, len(jobs), f"{steps:,}", hours, f"{done_count} of {len(jobs)}"))
    return grid(["table", "jobs", "training steps", "hours", "run"], lines)


@dataclass
class Section:
    """Lines of a page under one heading."""

    anchor: str
    lines: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All lines, without the heading."""
        return "\n".join(self.lines)

    def numbers(self) -> set[str]:
        """Numbers in its generated tables, as `numbers_in` finds them."""
        numbers: set[str] = set()
        for part in PART.finditer(self.text):
            numbers |= numbers_in(part[3], apart=True)
        return numbers

    def blocks(self) -> Iterator[str]:
        """Yield the paragraphs of its prose, lists and hand-made tables line by line, without blocks of code."""
        prose = PART.sub("", self.text)
        prose = re.sub(r"```.*?```", "", prose, flags=re.DOTALL)
        for paragraph in prose.split("\n\n"):
            is_list = paragraph.lstrip().startswith(("|", "- "))
            if is_list:
                yield from paragraph.splitlines()
            else:
                yield paragraph


def sections(page: str) -> dict[str, Section]:
    """Split a page into sections, by the anchor that links to them use.

    The lines before the first heading are under "".
    """
    current = Section("")
    by_anchor = {"": current}
    in_code = False
    for line in page.splitlines():
        if line.startswith("```"):
            in_code = not in_code
        if not in_code and line.startswith("#"):
            anchor = anchor_of_heading(line)
            current = by_anchor.setdefault(anchor, Section(anchor))
        else:
            current.lines.append(line)
    return by_anchor


def unsupported(page: str) -> list[str]:
    """Find numbers in a page's prose that no generated table and no paper has.

    Each is a message with its section, the number and the words around it.
    """
    sections_by_anchor = sections(page)
    table_numbers = {anchor: section.numbers() for anchor, section in sections_by_anchor.items()}
    problems = []
    for anchor, section in sections_by_anchor.items():
        stated = f"{STATED.get(anchor, '')} {STATED['everywhere']}"
        always_allowed = table_numbers[anchor] | set(stated.split())
        for block in section.blocks():
            linked_anchors = re.findall(r"\]\(#([\w-]+)\)", block)
            allowed = always_allowed.union(*(table_numbers.get(linked, set()) for linked in linked_anchors))
            for number in sorted(numbers_in(block) - allowed):
                if f"{number}.0" not in allowed:
                    problems.append(f"{anchor or 'top'}: {number} in “…{words_around(number, block)}…”")
    return problems


def words_around(number: str, block: str) -> str:
    """Text of a block from 40 characters before a number to 40 after its beginning."""
    text = SKIPPED.sub(" ", block)
    first_part = re.split(r"[ \]]", number.lstrip("["))[0]
    index = text.find(first_part)
    around = text[max(0, index - 40) : index + 40]
    return " ".join(around.split())


@lru_cache(4096)
def numbers_in(text: str, *, apart: bool = False) -> frozenset[str]:
    """Find decimals and per-cent numbers as written, without sign and commas.

    A value with its deviation or interval is one number. With `apart`, its parts are found too.
    """
    plain = SKIPPED.sub(" ", text)
    joined_numbers = JOINED.findall(plain)
    numbers = [*NUMBER.findall(JOINED.sub(" ", plain)), *joined_numbers]
    if apart:
        for joined in joined_numbers:
            numbers += re.findall(r"^[\d.,]+|\[.*\]", joined)
    return frozenset(number.replace(",", "").strip() for number in numbers)


def anchor_of_heading(heading: str) -> str:
    """Anchor of a heading, as Markdown pages have it."""
    title = heading.lstrip("#").strip().lower()
    return re.sub(r"[^\w\- ]", "", title).replace(" ", "-")
