"""Which test sizes can have produced a table of accuracies: `python -m runs denominators FILE`.

An accuracy printed with two decimals is possible for a test of n problems only if some k/n rounds to it. Over many
cells the number of possible ones, beside what accident gives, tells which test was used, and which cells come from
another one.

FILE is a CSV file: the first column names the rows, every other cell is an accuracy in per cent as printed. A
deviation in brackets is left out. Columns named `X single` and `X group` are a pair: problems right, and pairs of
problems right, so that n problems are n/2 pairs.

    python -m runs denominators table.csv
    python -m runs denominators table.csv --test dev=1267 --test twins=568/284
    python -m runs denominators table.csv --by row --test "dev=568/284" --test "WSC=272/136"

A test that has the name of a row or column is asked of that row or column alone.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from runs.protocol import FOLDER, Protocol
from runs.tables import grid, number
from winokit.errors import BadInput
from winokit.files import read_text
from winokit.methods.metrics.luck import p_chance

ACCURACY = re.compile(r"(\d+(?:\.(\d+))?)\s*%?\s*(?:[(±].*)?")
TEST = re.compile(r"(.*)=(\d+)(?:/(\d+))?")
SINGLE, GROUP, BOTH = "single", "group", "both"
MOST = 2000
"""The largest test that is tried if no tests are named."""
LEVEL = 0.01
"""A test is told where accident would let it fit as well in at most this share of tables, all sizes tried counted."""
SMALLEST = 20
"""The smallest test that is tried: a table says nothing of a test whose every cell is rare."""
TINY = 1e-9
"""What a quotient may be off by as a float."""
ACCURACIES = FOLDER / "accuracies"
"""The papers' tables."""
By = Literal["table", "row", "column"]


@dataclass(frozen=True)
class Cell:
    """One accuracy as printed."""

    row: str
    column: str
    """The column's name, without `single` or `group`."""
    kind: str
    value: float
    """In per cent."""
    decimals: int

    @property
    def name(self) -> str:
        """Where the cell is."""
        return " ".join(part for part in (self.row, self.column, self.kind) if part)

    @property
    def text(self) -> str:
        """The value as printed."""
        return f"{self.value:.{self.decimals}f}"

    def fits(self, n: int, *, cut: bool = False) -> bool:
        """Whether some k/n rounds to the cell, a tie either way; or, with `cut`, has its digits if cut off."""
        digit = 10.0**-self.decimals
        nearest = round(self.value * n / 100)
        if abs(100 * nearest / n - self.value) <= digit / 2 + TINY:
            return True
        above = math.ceil(self.value * n / 100 - TINY)
        return cut and 100 * above / n < self.value + digit - TINY


@dataclass(frozen=True)
class PossibleTest:
    """A test that may have been used: so many problems, and so many pairs."""

    problems: int
    pairs: int | None
    name: str = ""

    def denominator(self, kind: str) -> int | None:
        """What cells of a kind are counted out of; None if the test has no such cells."""
        return self.pairs if kind == GROUP else self.problems

    @property
    def size(self) -> str:
        """Problems, and pairs, in words."""
        return f"{self.problems:,}" if self.pairs is None else f"{self.problems:,} in {self.pairs:,} pairs"

    def __str__(self) -> str:
        return f"{self.name} ({self.size})" if self.name else self.size


@dataclass(frozen=True)
class Question:
    """What is asked of a table."""

    tests: tuple[PossibleTest, ...] = ()
    """Those that are tried; none: every size up to `most`."""
    by: By = "table"
    """What shares a test."""
    runs: int = 1
    """How many runs a cell is the mean of; 2 also covers abstentions that count one half."""
    most: int = MOST
    cut: bool = False
    """Whether digits may be cut off instead of rounded."""

    def of_part(self, name: str) -> Question:
        """The question for one row or column: a test of its name is asked of it alone."""
        own = tuple(test for test in self.tests if test.name == name)
        return replace(self, tests=own) if own else self

    def candidates(self, cells: Sequence[Cell]) -> list[PossibleTest]:
        """The tests that are tried; where there are cells of groups, every number of pairs."""
        if self.tests:
            return list(self.tests)
        if any(cell.kind == GROUP for cell in cells):
            return [PossibleTest(2 * pairs, pairs) for pairs in range(SMALLEST // 2, self.most // 2 + 1)]
        return [PossibleTest(n, None) for n in range(SMALLEST, self.most + 1)]

    def fit(self, cells: Sequence[Cell], test: PossibleTest) -> Fit:
        """How well a test fits the cells whose denominators it has."""
        own = []
        fitting = []
        shares = []
        for cell in cells:
            n = test.denominator(cell.kind)
            if n is None:
                continue
            own.append(cell)
            shares.append(share_possible(n * self.runs, cell.decimals, self.cut))
            if cell.fits(n * self.runs, cut=self.cut):
                fitting.append(cell)
        p = p_at_least(len(fitting), tuple(shares)) if own else 1.0
        return Fit(test, tuple(own), tuple(fitting), sum(shares), p)

    def fits(self, cells: Sequence[Cell]) -> list[Fit]:
        """Tests by how unlikely their fit is by accident; of equals the smallest first."""
        fits = [self.fit(cells, test) for test in self.candidates(cells)]
        return sorted((fit for fit in fits if fit.cells), key=lambda fit: (fit.p, fit.test.problems))

    def told(self, cells: Sequence[Cell]) -> Fit | None:
        """The test that the cells tell; None if accident, with all tests tried, does as well too often."""
        fits = self.fits(cells)
        return fits[0] if fits and fits[0].p * len(fits) <= LEVEL else None


@dataclass(frozen=True)
class Fit:
    """How well a test fits cells."""

    test: PossibleTest
    cells: tuple[Cell, ...]
    """Those the test can have."""
    fitting: tuple[Cell, ...]
    by_accident: float
    """Cells that would fit by accident."""
    p: float
    """Probability that accident lets as many cells fit, for this one test."""

    @property
    def misfits(self) -> tuple[Cell, ...]:
        """Cells that the test cannot have produced."""
        return tuple(cell for cell in self.cells if cell not in self.fitting)


def main(arguments: Sequence[str]) -> int:
    """Read the table, and print which tests are possible."""
    parser = argparse.ArgumentParser(
        "python -m runs denominators", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE", help="a CSV file of accuracies in per cent")
    parser.add_argument(
        "--test", action="append", default=[], metavar="NAME=N[/PAIRS]", help="a test it may have been; repeatable"
    )
    parser.add_argument("--by", choices=("table", "row", "column"), default="table", help="what shares a test")
    parser.add_argument("--runs", type=int, default=1, metavar="K", help="cells are means of K runs; default: 1")
    parser.add_argument("--most", type=int, default=MOST, metavar="N", help=f"the largest test; default: {MOST:,}")
    parser.add_argument("--cut", action="store_true", help="digits may have been cut off instead of rounded")
    given = parser.parse_args(arguments)
    if given.runs < 1:
        raise BadInput(f"--runs: expected at least 1, found {given.runs}")
    if given.most < SMALLEST:
        raise BadInput(f"--most: expected at least {SMALLEST}, found {given.most}")
    tests = tuple(read_test(text) for text in given.test)
    question = Question(tests, given.by, given.runs, given.most, given.cut)
    sys.stdout.write(f"{answer(read_cells(given.file), question)}\n")
    return 0


def denominators_of(protocol: Protocol) -> str:
    """What a paper's own tables say, asked as their protocol names them."""
    parts = []
    for given in protocol.accuracies:
        asked = dict(given)
        label = asked.pop("label", "")
        path = ACCURACIES / f"{asked.pop('file')}.csv"
        tests = tuple(read_test(text) for text in asked.pop("tests", ()))
        said = answer(read_cells(path), Question(tests, **asked))
        parts.append(f"{label}:\n\n{said}" if label else said)
    return "\n\n".join(parts)


def read_test(text: str) -> PossibleTest:
    """A test from NAME=PROBLEMS or NAME=PROBLEMS/PAIRS.

    >>> str(read_test("twins=568/284"))
    'twins (568 in 284 pairs)'
    """
    match = TEST.fullmatch(text)
    if match is None or 0 in (int(match[2]), int(match[3] or 1)):
        raise BadInput(f"--test {text}: NAME=PROBLEMS or NAME=PROBLEMS/PAIRS expected, such as twins=568/284")
    return PossibleTest(int(match[2]), int(match[3]) if match[3] else None, match[1])


def read_cells(path: Path) -> list[Cell]:
    """The cells of a CSV file. Raises BadInput if a cell is no percentage or if there are none."""
    lines = [line for line in csv.reader(read_text(path).splitlines()) if line]
    if not lines:
        raise BadInput(f"{path}: empty; expected a header and rows of accuracies")
    header = lines[0]
    cells = []
    for line_index, line in enumerate(lines[1:], 2):
        if len(line) > len(header):
            raise BadInput(f"{path}:{line_index}: {len(line)} cells under {len(header)} columns")
        for column, text in zip(header[1:], line[1:], strict=False):
            if text.strip():
                cells.append(read_cell(f"{path}:{line_index}", line[0], column, text.strip()))
    if not cells:
        raise BadInput(f"{path}: no accuracies; the first column names the rows, the others have numbers")
    return cells


def read_cell(place: str, row: str, column: str, text: str) -> Cell:
    """One cell. Raises BadInput if it is no percentage."""
    match = ACCURACY.fullmatch(text)
    if match is None or float(match[1]) > 100:
        raise BadInput(
            f"{place}: {text!r} under {column!r} is no accuracy in per cent; leave the cell empty if unknown"
        )
    kind = SINGLE
    for known in (SINGLE, GROUP):
        if column.casefold() == known or column.casefold().endswith(f" {known}"):
            kind = known
            column = column[: -len(known)].strip()
    return Cell(row.strip(), column, kind, float(match[1]), len(match[2] or ""))


@cache
def share_possible(n: int, decimals: int, cut: bool = False) -> float:
    """Share of all values with so many decimals that are possible for a test of n.

    >>> round(share_possible(288, 2), 4)
    0.0289
    """
    steps = 100 * 10**decimals
    if n >= steps:
        return 1.0
    values: set[int] = {math.floor(right * steps / n + 0.5) for right in range(n + 1)}
    if cut:
        values |= {math.floor(right * steps / n + TINY) for right in range(n + 1)}
    return float(len(values) / (steps + 1))


@cache
def p_at_least(fitting_count: int, shares: tuple[float, ...]) -> float:
    """Probability that accident lets at least as many cells fit, each with its share."""
    alike = shares[0] if len(set(shares)) == 1 else shares
    return p_chance(fitting_count, len(shares), alike)


def parts_of(cells: Sequence[Cell], by: By) -> dict[str, list[Cell]]:
    """Cells that share a test, by name."""
    parts: dict[str, list[Cell]] = {}
    for cell in cells:
        name = {"table": "", "row": cell.row, "column": cell.column}[by]
        parts.setdefault(name, []).append(cell)
    return parts


def kinds_of(cells: Sequence[Cell], *, whole: bool = False) -> Iterator[tuple[str, list[Cell]]]:
    """Cells of singles, cells of groups, and both together where there are both; or, if `whole`, all together alone."""
    kinds = dict.fromkeys(cell.kind for cell in cells)
    for kind in kinds if len(kinds) == 1 or not whole else ():
        yield kind, [cell for cell in cells if cell.kind == kind]
    if len(kinds) > 1:
        yield BOTH, list(cells)


def answer(cells: Sequence[Cell], question: Question) -> str:
    """What is possible, what is told, and which cells do not belong, in Markdown."""
    parts = parts_of(cells, question.by)
    is_split = question.by != "table"
    lines = []
    untold = []
    said = []
    for name, part in parts.items():
        own_question = question.of_part(name)
        is_known = is_split and own_question != question
        for kind, own in kinds_of(part, whole=is_known):
            fits = own_question.fits(own)
            for fit in fits if question.tests else fits[:1]:
                lines.append([*([name] if is_split else []), kind, fit.test, *cells_of_fit(fit, len(fits))])
            told = fits[0] if is_known and fits else own_question.told(own)
            where = f"{name}, {kind}" if is_split else kind
            if told is None:
                untold.append(where)
            elif is_known and told.misfits:
                said.append(
                    f"{name}: impossible for {told.test.size}: {listed(told.misfits)}.{said_of_cut(told, question)}"
                )
            elif kind != BOTH and not is_known:
                said.append(f"{where}: {said_of_told(told, question)}")
        if not is_split:
            said += rows_apart(part, question)
    if untold:
        said.append(f"Accident fits as well too often to tell a test: {'; '.join(untold)}.")
    said += [f"{cell.name} {cell.text} {why}" for cell, why in impossible_pairs(cells)]
    header = ["cells", "test", "possible", "by accident", "chance of as many", "with all tests tried"]
    return "\n\n".join([grid([question.by, *header] if is_split else header, lines), *said])


def cells_of_fit(fit: Fit, candidates: int) -> list[object]:
    """How many cells are possible, how many by accident, and the chance of as many, for one test and for all."""
    possible = f"{len(fit.fitting)} of {len(fit.cells)}"
    return [possible, number(fit.by_accident), chance_text(fit.p), chance_text(min(1.0, fit.p * candidates))]


def said_of_told(told: Fit, question: Question) -> str:
    """The cells that contradict the test that the others tell."""
    if not told.misfits:
        return f"every cell is possible for {told.test}."
    impossible = f"impossible for {told.test}, which the others tell: {listed(told.misfits)}."
    return impossible + said_of_cut(told, question)


def said_of_cut(told: Fit, question: Question) -> str:
    """The impossible cells that would be possible if digits were cut off; nothing if none would."""
    cut = [
        cell for cell in told.misfits if cell.fits((told.test.denominator(cell.kind) or 1) * question.runs, cut=True)
    ]
    return f" Possible if digits were cut off: {listed(cut)}." if cut else ""


def listed(cells: Sequence[Cell]) -> str:
    """Cells with their values."""
    return ", ".join(f"{cell.row} {cell.column} {cell.text}".replace("  ", " ") for cell in cells)


def chance_text(p: float) -> str:
    """A probability, short.

    >>> chance_text(0.2), chance_text(0.0004), chance_text(1e-40)
    ('0.20', '0.0004', 'under 1e-15')
    """
    if p >= 0.01:
        return number(p, 2)
    if p >= 1e-4:
        return number(p, 4)
    return "under 1e-15" if p < 1e-15 else f"{p:.0e}"


def rows_apart(cells: Sequence[Cell], question: Question) -> Iterator[str]:
    """Rows of which hardly a cell is possible for the test that the others tell, and the best test for each."""
    rows = dict.fromkeys(cell.row for cell in cells)
    told = [fit for kind, own in kinds_of(cells) if kind != BOTH and (fit := question.told(own)) is not None]
    for row in rows:
        asked = [cell for fit in told for cell in fit.cells if cell.row == row]
        misfits = [cell for fit in told for cell in fit.misfits if cell.row == row]
        if len(rows) < 3 or len(asked) < 2 or len(misfits) < len(asked) - 1:
            continue
        own = [cell for cell in cells if cell.row == row]
        fits = question.fits(own)
        chance = chance_text(min(1.0, fits[0].p * len(fits)))
        text = f"{len(fits[0].fitting)} of its {len(own)} cells; by accident, with all tests tried: {chance}"
        impossible = f"{len(misfits)} of {len(asked)} cells are impossible"
        yield f"Row {row} is of another test: {impossible}. Best: {fits[0].test} ({text})."


def impossible_pairs(cells: Sequence[Cell]) -> Iterator[tuple[Cell, str]]:
    """Groups right that their singles rule out: both members right are at most the singles, and at least 2s - 1."""
    singles = {(cell.row, cell.column): cell for cell in cells if cell.kind == SINGLE}
    for cell in cells:
        single = singles.get((cell.row, cell.column))
        if cell.kind != GROUP or single is None:
            continue
        slack = 2 * 10.0 ** -min(cell.decimals, single.decimals)
        lowest = max(0.0, 2 * single.value - 100) - slack
        if not lowest <= cell.value <= single.value + slack:
            yield cell, f"contradicts {single.text} single on complete pairs."
