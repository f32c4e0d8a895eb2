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
"""What is one number: a mean with its deviation, a value with its interval, an interval."""


def rewritten(page: str, results: Path = RESULTS) -> str:
    """A page with every table as the results have it."""
    places = {name: (table, write) for table in all_tables().values() for name, write in table.places().items()}
    read = lru_cache(None)(Store)  # several tables have one file

    def part(match: re.Match[str]) -> str:
        name = match[2]
        if name in places:
            table, write = places[name]
            store = read(table.store_path(results))
            if not store.records:
                raise BadInput(f"{store.path}: no results; python -m runs {table.name} makes them")
            return f"{match[1]}{write(store)}\n{match[4]}"
        return f"{match[1]}{generated(name, results)}\n{match[4]}"

    return PART.sub(part, page)


def generated(name: str, results: Path) -> str:
    """A part that is no table's own. Raises BadInput for another name."""
    kind, _, table = name.partition("-")
    if name == "words":
        return overview(results)
    if name == "pass":
        return cost_table(results)
    if kind == "settings" and table in protocols():
        return settings_and_runs(table, results)
    if kind == "denominators" and table in protocols():
        return denominators_of(protocols()[table])
    known = ["words", "pass", *all_tables()]
    raise BadInput(f"docs: no table named {name!r}. Known: {', '.join(known)}, settings-TABLE, denominators-TABLE.")


def settings_and_runs(table: str, results: Path) -> str:
    """Both columns of settings; below them what the protocol's own runs gave, if they are stored."""
    text = protocols()[table].settings_table()
    store = store_of(table, results)
    if store is None or not protocols()[table].here.get("trains"):
        return text
    from runs.training import show_runs

    return f"{text}\n\n{show_runs(store)}"


def cost_table(results: Path) -> str:
    """Every table that is trained, in order: its jobs, its steps, its hours, and whether it has been run."""
    from runs.training import hours_of, steps_of

    lines = []
    for name in dict.fromkeys(job.table for job in protocol_jobs()):
        jobs = jobs_of_table(name)
        steps = sum(map(steps_of, jobs))
        fast, slow = hours_of(steps)
        stored = store_of(name, results)
        done = 0 if stored is None else sum(job.name in stored.records for job in jobs)
        lines.append(
            (name, len(jobs), f"{steps:,}", f"{shown_number(fast)} to {shown_number(slow)}", f"{done} of {len(jobs)}")
        )
    return grid(["table", "jobs", "training steps", "hours", "run"], lines)


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
