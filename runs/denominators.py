"""Which test sizes can have produced a table of accuracies: `python -m runs denominators FILE`.

An accuracy printed with two decimals is possible for a test of n problems only if some k/n rounds to it. Over many
cells the number of possible ones, beside what accident gives, tells which test was used, and which cells come from
another one.

FILE is a CSV file: the first column names the rows, every other cell is an accuracy in per cent as printed. A
deviation in brackets is left out. Columns named `X single` and `X group` are a pair: problems right, and pairs of
problems right, so that n problems are n/2 pairs.

The output begins with a line of verdict for singles and for groups; by accident counts all sizes tried.

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
from dataclasses import dataclass, field, replace
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
SINGLE = "single"
GROUP = "group"
BOTH = "both"
MOST = 2000
"""The largest test that is tried if no tests are named."""
LEVEL = 0.01
"""A test is named if accident would let it fit as well in at most this share of tables, all sizes tried counted."""
SMALLEST = 20
"""The smallest test that is tried: a table says nothing of a test whose every cell is rare."""
TINY = 1e-9
"""Rounding error that a quotient may have as a float."""
ACCURACIES = FOLDER / "accuracies"
"""The folder of the papers' tables."""
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
        """Row, column and kind in one text."""
        return " ".join(filter(None, (self.row, self.column, self.kind)))

    @property
    def text(self) -> str:
        """The value as the paper prints it."""
        return f"{self.value:.{self.decimals}f}"

    def fits(self, n: int, *, cut: bool = False) -> bool:
        """Whether some k/n rounds to the cell, where a tie may go either way.

        With `cut`, also whether some k/n has the cell's digits when the rest is cut off.
        """
        digit = 10.0**-self.decimals
        nearest = round(self.value * n / 100)
        if abs(100 * nearest / n - self.value) <= digit / 2 + TINY:
            return True
        above = math.ceil(self.value * n / 100 - TINY)
        return cut and 100 * above / n < self.value + digit - TINY


@dataclass(frozen=True)
class PossibleTest:
    """Size of a test set that a paper may have used."""

    problems: int
    pairs: int | None
    """None if it has no cells of pairs."""
    name: str = ""

    def denominator(self, kind: str) -> int | None:
        """Number that cells of a kind are a share of, or None if the test has no such cells."""
        return self.pairs if kind == GROUP else self.problems

    @property
    def size(self) -> str:
        """Numbers of problems and pairs in words."""
        if self.pairs is None:
            return f"{self.problems:,}"
        return f"{self.problems:,} in {self.pairs:,} pairs"

    def __str__(self) -> str:
        return f"{self.name} ({self.size})" if self.name else self.size


@dataclass(frozen=True)
class Question:
    """Tests to try on a table of accuracies, and how its cells were made."""

    tests: tuple[PossibleTest, ...] = ()
    """Tests that are tried. If there are none, every size up to `most` is."""
    by: By = "table"
    """The cells that share a test: the whole table, a row or a column."""
    runs: int = 1
    """Number of runs that a cell is the mean of. 2 also covers abstentions that count one half."""
    most: int = MOST
    """The largest number of problems that is tried."""
    cut: bool = False
    """Whether digits may be cut off instead of rounded."""

    def of_part(self, name: str) -> Question:
        """Return the question for one row or column, with only the tests of its name if there are any."""
        named_tests = tuple(test for test in self.tests if test.name == name)
        return replace(self, tests=named_tests) if named_tests else self

    def candidates(self, cells: Sequence[Cell]) -> list[PossibleTest]:
        """List the tests that are tried on cells, by numbers of pairs if there are cells of groups."""
        if self.tests:
            return list(self.tests)
        if any(cell.kind == GROUP for cell in cells):
            return [PossibleTest(2 * pairs, pairs) for pairs in range(SMALLEST // 2, self.most // 2 + 1)]
        return [PossibleTest(n, None) for n in range(SMALLEST, self.most + 1)]

    def fit(self, cells: Sequence[Cell], test: PossibleTest) -> Fit:
        """Measure how well a test fits the cells that it can have."""
        test_cells = []
        fitting = []
        shares = []
        for cell in cells:
            n = test.denominator(cell.kind)
            if n is None:
                continue
            test_cells.append(cell)
            shares.append(share_possible(n * self.runs, cell.decimals, self.cut))
            if cell.fits(n * self.runs, cut=self.cut):
                fitting.append(cell)
        p = p_at_least(len(fitting), tuple(shares)) if test_cells else 1.0
        return Fit(test, tuple(test_cells), tuple(fitting), sum(shares), p)

    def fits(self, cells: Sequence[Cell]) -> list[Fit]:
        """Fit every candidate, the fit that is least likely by accident first, then the smallest test."""
        fits = [self.fit(cells, test) for test in self.candidates(cells)]
        fits_with_cells = [fit for fit in fits if fit.cells]
        return sorted(fits_with_cells, key=lambda fit: (fit.p, fit.test.problems))

    def told(self, cells: Sequence[Cell]) -> Fit | None:
        """Fit of the test that the cells must come from, or None if accident does as well too often.

        The number of all tests tried is counted.
        """
        fits = self.fits(cells)
        return fits[0] if fits and fits[0].p * len(fits) <= LEVEL else None


@dataclass(frozen=True)
class Fit:
    """Fit of one test to the cells it can have."""

    test: PossibleTest
    cells: tuple[Cell, ...]
    """Cells that the test can have."""
    fitting: tuple[Cell, ...]
    """Cells that some number of right answers rounds to."""
    by_accident: float
    """Expected number of cells that fit by accident."""
    p: float
    """Probability that accident lets as many cells fit, for this one test."""

    @property
    def misfits(self) -> tuple[Cell, ...]:
        """Cells that the test can have but cannot have produced."""
        return tuple(cell for cell in self.cells if cell not in self.fitting)


def main(arguments: Sequence[str]) -> int:
    """Read a table of accuracies, and print which tests are possible."""
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
    options = parser.parse_args(arguments)
    if options.runs < 1:
        raise BadInput(f"--runs: expected at least 1, found {options.runs}")
    if options.most < SMALLEST:
        raise BadInput(f"--most: expected at least {SMALLEST}, found {options.most}")
    tests = tuple(read_test(text) for text in options.test)
    question = Question(tests, options.by, options.runs, options.most, options.cut)
    cells = read_cells(options.file)
    verdicts = "\n".join(say_verdicts(cells, question))
    sys.stdout.write(f"{verdicts}\n\n{answer(cells, question)}\n")
    return 0


def denominators_of(protocol: Protocol) -> str:
    """Answer which tests the paper's own tables come from, with the options of its protocol."""
    parts = []
    for accuracies in protocol.accuracies:
        options = dict(accuracies)
        label = options.pop("label", "")
        path = ACCURACIES / f"{options.pop('file')}.csv"
        tests = tuple(map(read_test, options.pop("tests", ())))
        text = answer(read_cells(path), Question(tests, **options))
        parts.append(f"{label}:\n\n{text}" if label else text)
    return "\n\n".join(parts)


def read_test(text: str) -> PossibleTest:
    """Read a test from NAME=PROBLEMS or NAME=PROBLEMS/PAIRS. Raises BadInput for anything else.

    >>> str(read_test("twins=568/284"))
    'twins (568 in 284 pairs)'
    """
    match = TEST.fullmatch(text)
    if match is not None:
        name, problems_text, pairs_text = match.groups()
        problems = int(problems_text)
        pairs = int(pairs_text) if pairs_text else None
        if problems != 0 and pairs != 0:
            return PossibleTest(problems, pairs, name)
    raise BadInput(f"--test {text}: NAME=PROBLEMS or NAME=PROBLEMS/PAIRS expected, such as twins=568/284")


def read_cells(path: Path) -> list[Cell]:
    """Read the cells of a CSV file. Raises BadInput if a cell is no percentage or if there are none."""
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
    """Read one cell. Raises BadInput, beginning with `place`, if it is no percentage."""
    match = ACCURACY.fullmatch(text)
    if match is None or float(match[1]) > 100:
        raise BadInput(
            f"{place}: {text!r} under {column!r} is no accuracy in per cent; leave the cell empty if unknown"
        )
    cell_kind = SINGLE
    for kind in (SINGLE, GROUP):
        if column.casefold() == kind or column.casefold().endswith(f" {kind}"):
            cell_kind = kind
            column = column[: -len(kind)].strip()
    return Cell(row.strip(), column, cell_kind, float(match[1]), len(match[2] or ""))


@cache
def share_possible(n: int, decimals: int, cut: bool = False) -> float:
    """Share of all percentages with these decimals that k right answers of n can round to.

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
    """Probability that at least so many cells fit by accident, where `shares` are the probabilities of each."""
    chances = shares[0] if len(set(shares)) == 1 else shares
    return p_chance(fitting_count, len(shares), chances)


def parts_of(cells: Sequence[Cell], by: By) -> dict[str, list[Cell]]:
    """Group cells that share a test, by the name of their row or column, or "" for the whole table."""
    parts: dict[str, list[Cell]] = {}
    for cell in cells:
        name = {"table": "", "row": cell.row, "column": cell.column}[by]
        parts.setdefault(name, []).append(cell)
    return parts


def kinds_of(cells: Sequence[Cell], *, whole: bool = False) -> Iterator[tuple[str, list[Cell]]]:
    """Yield the cells of singles, those of groups, and both together if there are both.

    With `whole`, cells of both kinds are yielded together only.
    """
    kinds = dict.fromkeys(cell.kind for cell in cells)
    has_both = len(kinds) > 1
    if not (whole and has_both):
        for kind in kinds:
            yield kind, [cell for cell in cells if cell.kind == kind]
    if has_both:
        yield BOTH, list(cells)


@dataclass
class AnswerParts:
    """Table lines and sentences of an answer."""

    lines: list[list[object]] = field(default_factory=list)
    untold: list[str] = field(default_factory=list)
    """Names of cells that accident fits as well too often."""
    sentences: list[str] = field(default_factory=list)


def say_verdicts(cells: Sequence[Cell], question: Question) -> Iterator[str]:
    """Yield a line on the test of each kind of cells, for each row or column that shares a test.

    Cells of both kinds together have a line only if no kind alone tells a test.
    """
    for name, part in parts_of(cells, question.by).items():
        part_question = question.of_part(name)
        lines = {}
        told_kinds = []
        has_named_test = part_question != question
        for kind, kind_cells in kinds_of(part, whole=has_named_test):
            fits = part_question.fits(kind_cells)
            is_told = part_question.told(kind_cells) is not None
            lines[kind] = f"{name}, {kind}" if name else kind
            lines[kind] += f": {say_verdict(fits, is_told=is_told)}"
            if is_told:
                told_kinds.append(kind)
        if told_kinds != [BOTH] and len(lines) > 1:
            lines.pop(BOTH, None)
        yield from lines.values()


def say_verdict(fits: Sequence[Fit], *, is_told: bool) -> str:
    """Say in plain words which test some cells come from, or that none can be told.

    `fits` are those of all tests tried, the best first.
    """
    if not fits:
        return "no test size can be told: no test that was tried has such cells"
    best = fits[0]
    chance = chance_text(min(1.0, best.p * len(fits)))
    size = f"{best.test.problems:,} problems"
    if best.test.pairs is not None:
        size += f" in {best.test.pairs:,} pairs"
    test = f"{best.test.name} ({size})" if best.test.name else size
    count = f"{len(best.fitting)} of its {len(best.cells)} cells"
    if is_told:
        return f"comes from {test} ({count} are possible; by accident: {chance})"
    return f"no test size can be told: accident fits as well (best: {test}, {count}; by accident: {chance})"


def answer(cells: Sequence[Cell], question: Question) -> str:
    """Say in Markdown which tests are possible, which one the cells tell, and which cells do not belong."""
    is_split = question.by != "table"
    parts = AnswerParts()
    for name, part in parts_of(cells, question.by).items():
        add_part(parts, name, part, question)
        if not is_split:
            parts.sentences += rows_apart(part, question)
    sentences = parts.sentences
    if parts.untold:
        sentences.append(f"Accident fits as well too often to tell a test: {'; '.join(parts.untold)}.")
    sentences += [f"{cell.name} {cell.text} {why}" for cell, why in impossible_pairs(cells)]
    header = ["cells", "test", "possible", "by accident", "chance of as many", "with all tests tried"]
    if is_split:
        header.insert(0, question.by)
    return "\n\n".join([grid(header, parts.lines), *sentences])


def add_part(parts: AnswerParts, name: str, cells: Sequence[Cell], question: Question) -> None:
    """Add the lines and sentences on cells that share a test: a row, a column, or the whole table if `name` is ""."""
    part_question = question.of_part(name)
    is_split = question.by != "table"
    has_named_test = is_split and part_question != question
    for kind, kind_cells in kinds_of(cells, whole=has_named_test):
        fits = part_question.fits(kind_cells)
        for fit in fits if question.tests else fits[:1]:
            line = [kind, fit.test, *cells_of_fit(fit, len(fits))]
            parts.lines.append([name, *line] if is_split else line)
        best_fit = fits[0] if has_named_test and fits else part_question.told(kind_cells)
        cells_name = f"{name}, {kind}" if is_split else kind
        if best_fit is None:
            parts.untold.append(cells_name)
        elif has_named_test and best_fit.misfits:
            impossible = f"{name}: impossible for {best_fit.test.size}: {listed(best_fit.misfits)}."
            parts.sentences.append(impossible + said_of_cut(best_fit, question))
        elif kind != BOTH and not has_named_test:
            parts.sentences.append(f"{cells_name}: {said_of_told(best_fit, question)}")


def cells_of_fit(fit: Fit, candidates: int) -> list[object]:
    """Numbers of possible cells, in fact and by accident, and the chance of as many, for one test and for all.

    `candidates` is the number of tests tried.
    """
    possible = f"{len(fit.fitting)} of {len(fit.cells)}"
    p_of_any = min(1.0, fit.p * candidates)
    return [possible, number(fit.by_accident), chance_text(fit.p), chance_text(p_of_any)]


def said_of_told(told: Fit, question: Question) -> str:
    """Name the cells that contradict the test that the others tell, or say that there are none."""
    if not told.misfits:
        return f"every cell is possible for {told.test}."
    impossible = f"impossible for {told.test}, which the others tell: {listed(told.misfits)}."
    return impossible + said_of_cut(told, question)


def said_of_cut(told: Fit, question: Question) -> str:
    """Name the impossible cells that would be possible if digits were cut off. Empty if there are none."""
    possible = []
    for cell in told.misfits:
        n = told.test.denominator(cell.kind) or 1
        if cell.fits(n * question.runs, cut=True):
            possible.append(cell)
    return f" Possible if digits were cut off: {listed(possible)}." if possible else ""


def listed(cells: Sequence[Cell]) -> str:
    """Write cells with their values, separated by commas."""
    return ", ".join(f"{cell.row} {cell.column} {cell.text}".replace("  ", " ") for cell in cells)


def chance_text(p: float) -> str:
    """Write a probability in few characters.

    >>> chance_text(0.2), chance_text(0.0004), chance_text(1e-40)
    ('0.20', '0.0004', 'under 1e-15')
    """
    if p >= 0.01:
        return number(p, 2)
    if p >= 1e-4:
        return number(p, 4)
    return "under 1e-15" if p < 1e-15 else f"{p:.0e}"


def rows_apart(cells: Sequence[Cell], question: Question) -> Iterator[str]:
    """Name rows of which at most one cell is possible for the test that the others tell, and their best test."""
    rows = dict.fromkeys(cell.row for cell in cells)
    if len(rows) < 3:
        return
    tested: list[Cell] = []
    impossible: list[Cell] = []
    for kind, kind_cells in kinds_of(cells):
        fit = None if kind == BOTH else question.told(kind_cells)
        if fit is not None:
            tested += fit.cells
            impossible += fit.misfits
    for row in rows:
        tested_count = sum(cell.row == row for cell in tested)
        impossible_count = sum(cell.row == row for cell in impossible)
        if tested_count >= 2 and impossible_count >= tested_count - 1:
            row_cells = [cell for cell in cells if cell.row == row]
            reason = f"{impossible_count} of {tested_count} cells are impossible"
            yield f"Row {row} is of another test: {reason}. Best: {best_test(row_cells, question)}."


def best_test(cells: Sequence[Cell], question: Question) -> str:
    """Name the test that fits a row's cells best, with the chance that accident does as well."""
    fits = question.fits(cells)
    best = fits[0]
    chance = chance_text(min(1.0, best.p * len(fits)))
    count = f"{len(best.fitting)} of its {len(cells)} cells"
    return f"{best.test} ({count}; by accident, with all tests tried: {chance})"


def impossible_pairs(cells: Sequence[Cell]) -> Iterator[tuple[Cell, str]]:
    """Yield group accuracies that the single accuracy s of the same cells rules out, each with the reason.

    The share of pairs right is at most s and at least 2s - 1.
    """
    singles = {(cell.row, cell.column): cell for cell in cells if cell.kind == SINGLE}
    for cell in cells:
        single = singles.get((cell.row, cell.column))
        if cell.kind != GROUP or single is None:
            continue
        slack = 2 * 10.0 ** -min(cell.decimals, single.decimals)
        lowest = max(0.0, 2 * single.value - 100) - slack
        if not lowest <= cell.value <= single.value + slack:
            yield cell, f"contradicts {single.text} single on complete pairs."
