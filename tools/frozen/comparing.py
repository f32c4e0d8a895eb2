"""Changed lines between two sides, and which of them a reviewed list allows."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from .commands import FrozenError
from .outputs import Texts

ALLOWED = Path(__file__).parent / "allowed.toml"
MOST_CHARACTERS = 200
PATTERNS = ("line", "removed", "added")
EQUAL, ALLOWABLE, DIFFERENT = "equal", "allowed", "DIFFERENT"


@dataclass(frozen=True)
class Allowance:
    """Lines that may change in some files of some commands, and why.

    `line` matches removed and added lines, `removed` and `added` only those; each is a regular expression that is
    found anywhere in the line. `command` and `file` are names with `*` for any characters.
    """

    reason: str
    command: str = "*"
    file: str = "*"
    line: str | None = None
    removed: str | None = None
    added: str | None = None

    def allows(self, command_name: str, file_name: str, changed_line: str) -> bool:
        """Whether it covers a changed line, which begins with `-` or `+`."""
        if not fnmatchcase(command_name, self.command) or not fnmatchcase(file_name, self.file):
            return False
        sided = self.removed if changed_line.startswith("-") else self.added
        return any(pattern is not None and re.search(pattern, changed_line[1:]) for pattern in (self.line, sided))


@dataclass
class FileDifference:
    """The changed lines of one file, and the hunks that hold one that nothing allows."""

    file_name: str
    changed_count: int
    unexplained_hunks: list[list[str]]
    used: list[Allowance]


@dataclass
class Comparison:
    """What became of one command."""

    name: str
    differences: list[FileDifference] = field(default_factory=list)

    @property
    def state(self) -> str:
        """One word for it."""
        if any(difference.unexplained_hunks for difference in self.differences):
            return DIFFERENT
        return ALLOWABLE if self.differences else EQUAL


def read_allowances(path: Path = ALLOWED) -> list[Allowance]:
    """The reviewed list. Raises FrozenError if an entry lacks a reason or a pattern, or has a wrong one."""
    entries = tomllib.loads(path.read_text("utf-8")).get("allowed", [])
    return [_checked_allowance(entry, f"{path.name}: entry {number}") for number, entry in enumerate(entries, 1)]


def _checked_allowance(entry: Mapping[str, str], place: str) -> Allowance:
    valid_keys = set(Allowance.__dataclass_fields__)
    unknown_keys = sorted(set(entry) - valid_keys)
    if unknown_keys:
        raise FrozenError(f"{place}: unknown key {unknown_keys[0]!r}; known: {', '.join(sorted(valid_keys))}")
    if len(entry.get("reason", "").split()) < 3:
        raise FrozenError(f"{place}: needs a reason, a sentence")
    patterns = [entry[key] for key in PATTERNS if key in entry]
    if not patterns:
        raise FrozenError(f"{place}: needs a pattern: {', '.join(PATTERNS)}")
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise FrozenError(f"{place}: {pattern!r} is no regular expression: {error}") from None
    return Allowance(**entry)


def compare_texts(name: str, base: Texts, head: Texts, allowances: Sequence[Allowance]) -> Comparison:
    """Compare what a command wrote on both sides, file by file."""
    comparison = Comparison(name)
    for file_name in sorted(base.keys() | head.keys(), key=_reading_order):
        hunks = _hunks_of(base.get(file_name), head.get(file_name))
        if hunks:
            comparison.differences.append(_judge_file(name, file_name, hunks, allowances))
    return comparison


def _reading_order(file_name: str) -> tuple[int, str]:
    """The exit code and what was printed come before files."""
    first_names = ("exit", "stdout", "stderr", "removed")
    place = first_names.index(file_name) if file_name in first_names else len(first_names)
    return place, file_name


def _hunks_of(base: str | None, head: str | None) -> list[list[str]]:
    """Hunks of a unified diff without its headings; of a file that one side lacks, a line that says so."""
    if base == head:
        return []
    if base is None or head is None:
        sign, text, side = ("+", head, "head") if base is None else ("-", base, "base")
        return [[f"{sign}(only in {side}: {len((text or '').splitlines())} lines)"]]
    hunks: list[list[str]] = []
    for line in list(difflib.unified_diff(base.splitlines(), head.splitlines(), n=1, lineterm=""))[2:]:
        if line.startswith("@@"):
            hunks.append([])
        else:
            hunks[-1].append(line)
    return hunks or [["-(the last line has no end on one side)"]]


def _judge_file(
    name: str, file_name: str, hunks: Sequence[list[str]], allowances: Sequence[Allowance]
) -> FileDifference:
    difference = FileDifference(file_name, 0, [], [])
    for hunk in hunks:
        is_explained = True
        for line in hunk:
            if line.startswith(" "):
                continue
            difference.changed_count += 1
            matches = [allowance for allowance in allowances if allowance.allows(name, file_name, line)]
            difference.used += [allowance for allowance in matches if allowance not in difference.used]
            is_explained = is_explained and bool(matches)
        if not is_explained:
            difference.unexplained_hunks.append(hunk)
    return difference


def report_lines(comparison: Comparison, most_lines: int | None) -> list[str]:
    """What a person reads of one command: its state, and hunks nobody allowed, at most so many lines of them."""
    lines = [f"{comparison.state:<10} {comparison.name}"]
    if comparison.state == ALLOWABLE:
        used = [allowance for difference in comparison.differences for allowance in difference.used]
        return lines + [f"             {reason}" for reason in dict.fromkeys(each.reason for each in used)]
    shown: list[str] = []
    homes: list[str] = []
    for difference in comparison.differences:
        if difference.unexplained_hunks:
            shown.append(f"  --- {difference.file_name}")
        for hunk in difference.unexplained_hunks:
            shown += [f"  {line[:MOST_CHARACTERS]}" for line in hunk]
        homes += [difference.file_name] * (len(shown) - len(homes))
    if most_lines is not None and len(shown) > most_lines:
        hidden_files = ", ".join(dict.fromkeys(homes[most_lines:]))
        left = f"  … {len(shown) - most_lines} more lines, in {hidden_files}: --full shows all"
        shown = [*shown[:most_lines], left]
    return lines + shown
