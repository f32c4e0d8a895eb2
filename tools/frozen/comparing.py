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
PATTERNS = ("line", "removed", "added", "part")
ANY_PART = "…"
"""What stands for a part of a line that may change."""
EQUAL, ALLOWABLE, DIFFERENT = "equal", "allowed", "DIFFERENT"


@dataclass(frozen=True)
class Allowance:
    """Lines that may change in some files of some commands, and why.

    `line` matches removed and added lines, `removed` and `added` only those; each is a regular expression that is
    found anywhere in the line. `part` matches what may change within a line that is else the same. `command` and `file`
    are names with `*` for any characters.
    """

    reason: str
    command: str = "*"
    file: str = "*"
    line: str | None = None
    removed: str | None = None
    added: str | None = None
    part: str | None = None

    def is_for(self, command_name: str, file_name: str) -> bool:
        """Whether it is about a file of a command."""
        return fnmatchcase(command_name, self.command) and fnmatchcase(file_name, self.file)

    def allows(self, changed_line: str) -> bool:
        """Whether it covers a changed line as a whole, which begins with `-` or `+`."""
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
    """Differences of one command between both sides."""

    name: str
    differences: list[FileDifference] = field(default_factory=list)

    @property
    def state(self) -> str:
        """Whether the outputs are equal, allowed or different, in one word."""
        if any(difference.unexplained_hunks for difference in self.differences):
            return DIFFERENT
        return ALLOWABLE if self.differences else EQUAL


def read_allowances(path: Path = ALLOWED) -> list[Allowance]:
    """Read the reviewed list. Raises FrozenError if an entry lacks a reason or a pattern, or has a wrong one."""
    entries = tomllib.loads(path.read_text("utf-8")).get("allowed", [])
    return [_check_allowance(entry, f"{path.name}: entry {number}") for number, entry in enumerate(entries, 1)]


def _check_allowance(entry: Mapping[str, str], place: str) -> Allowance:
    """Make an allowance of an entry. Raises FrozenError, beginning with `place`, if a field is wrong."""
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
    for file_name in sorted(base.keys() | head.keys(), key=_sort_key):
        hunks = _find_hunks(base.get(file_name), head.get(file_name))
        if hunks:
            comparison.differences.append(_explain_hunks(name, file_name, hunks, allowances))
    return comparison


def _sort_key(file_name: str) -> tuple[int, str]:
    """Sort key of a file, by which the exit code and the printed text come before files."""
    first_names = ("exit", "stdout", "stderr", "removed")
    place = first_names.index(file_name) if file_name in first_names else len(first_names)
    return place, file_name


def _find_hunks(base: str | None, head: str | None) -> list[list[str]]:
    """Split a unified diff into hunks without headings.

    A text is None if its side lacks the file, which gives one line that says so.
    """
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


def _explain_hunks(
    name: str, file_name: str, hunks: Sequence[list[str]], allowances: Sequence[Allowance]
) -> FileDifference:
    """Collect the hunks of a file that no allowance explains, and the allowances that were used."""
    difference = FileDifference(file_name, 0, [], [])
    own_allowances = [allowance for allowance in allowances if allowance.is_for(name, file_name)]
    for hunk in hunks:
        changed_lines = [line for line in hunk if not line.startswith(" ")]
        difference.changed_count += len(changed_lines)
        remaining_lines, used = _remove_masked_pairs(changed_lines, own_allowances)
        is_explained = True
        for line in remaining_lines:
            matches = [allowance for allowance in own_allowances if allowance.allows(line)]
            used += matches
            is_explained = is_explained and bool(matches)
        difference.used += [allowance for allowance in dict.fromkeys(used) if allowance not in difference.used]
        if not is_explained:
            difference.unexplained_hunks.append(hunk)
    return difference


def _remove_masked_pairs(
    changed_lines: Sequence[str], allowances: Sequence[Allowance]
) -> tuple[list[str], list[Allowance]]:
    """Remove pairs of lines that differ only in parts that may change, and return the allowances for these parts.

    A removed line is set against one added line of the same hunk, so that none is lost.
    """
    waiting: dict[str, list[tuple[int, list[Allowance]]]] = {}
    paired_numbers: set[int] = set()
    used: list[Allowance] = []
    for number, line in enumerate(changed_lines):
        masked_line, masking = _remove_allowed_parts(line[1:], allowances)
        if not masking:
            continue
        other_sign = "+" if line.startswith("-") else "-"
        partners = waiting.get(other_sign + masked_line, [])
        if partners:
            partner_number, partner_masking = partners.pop(0)
            paired_numbers |= {number, partner_number}
            used += [*partner_masking, *masking]
        else:
            waiting.setdefault(line[0] + masked_line, []).append((number, masking))
    remaining_lines = [line for number, line in enumerate(changed_lines) if number not in paired_numbers]
    return remaining_lines, used


def _remove_allowed_parts(line: str, allowances: Sequence[Allowance]) -> tuple[str, list[Allowance]]:
    """Replace the parts of a line that may change, and return the allowances for them."""
    masking = []
    for allowance in allowances:
        if allowance.part is not None:
            masked_line = re.sub(allowance.part, ANY_PART, line)
            if masked_line != line:
                masking.append(allowance)
                line = masked_line
    return line, masking


def report_lines(comparison: Comparison, most_lines: int | None) -> list[str]:
    """Report one command: its state, and the hunks that no allowance explains.

    `most_lines` is the largest number of lines of hunks, None for all of them.
    """
    lines = [f"{comparison.state:<10} {comparison.name}"]
    if comparison.state == ALLOWABLE:
        reasons: dict[str, None] = {}
        for difference in comparison.differences:
            reasons |= dict.fromkeys(allowance.reason for allowance in difference.used)
        return lines + [f"             {reason}" for reason in reasons]
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
        notice = f"  … {len(shown) - most_lines} more lines, in {hidden_files}: --full shows all"
        shown = [*shown[:most_lines], notice]
    return lines + shown
