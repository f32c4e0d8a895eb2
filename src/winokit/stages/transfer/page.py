"""The page of a transfer: what training on one dataset does for others, and whether gender statistics move that.

WinoGrande's Tables 5 and 6: arms by test sets, and Winogender's gotchas and gaps by arm. Sakaguchi et al. (2019) put
what others report into the same tables; here the columns are what was run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from winokit.drawing import decision
from winokit.drawing.decision import BAD, GOOD, MIXED, PLAIN, SEVERAL, DecisionTable, Verdict, VerdictPoint
from winokit.drawing.page import INDEX, flat, rendered_plain, write_page
from winokit.drawing.protocols import CITATIONS
from winokit.drawing.tables import Lines, dim, table
from winokit.drawing.wording import NOTHING, join, name_coin, percent, plural, points, say, say_interval
from winokit.files import our_toml, write_whole
from winokit.methods.metrics.letters import letter_name
from winokit.results import ABOVE, AT, BELOW, Metric, stands

if TYPE_CHECKING:
    from winokit.stages.transfer.run import Transfer, TransferCell

SINGLE, WHOLE = ("accuracy", "all", "accuracy"), ("group_accuracy", "complete", "groups")
"""Metric, subset and protocol of the rows in Table 5."""


def lines(transfer: "Transfer") -> Lines:
    """What a person reads: the tables, grey where chance would do as well, with their feet, and where the page is."""
    for shown in tables_of(transfer):
        yield table(
            [*shown.heads, *shown.columns],
            [[*heads, *(dim(str(cell), cell.at_chance) for cell in cells)] for heads, cells in shown.lines],
            left=len(shown.heads),
            title=shown.title,
        )
        yield from (*shown.feet, "")
    yield from (f"! {warning}" for warning in transfer.warnings)
    if transfer.page is not None:
        yield f"{transfer.page.parents[1] / 'tables.md'}, results.json; page: {transfer.page}"


def as_json(transfer: "Transfer") -> dict[str, Any]:
    """What scripts read."""
    where = {} if transfer.page is None else {"out": str(transfer.page.parents[1]), "report": str(transfer.page)}
    return transfer.to_json() | where


class ShownCell(NamedTuple):
    """A row as a table shows it, or what stands there without one, with the letter of a footnote."""

    row: Metric | None
    text: str = NOTHING
    foot: str = ""

    @property
    def at_chance(self) -> bool:
        """Whether it cannot be distinguished from chance."""
        return self.row is not None and stands(self.row) == AT

    def __str__(self) -> str:
        shown = self.text if self.row is None else f"{say(self.row)} {say_interval(self.row)}".strip()
        return shown + (f" ({self.foot})" if self.foot else "")


@dataclass(frozen=True, slots=True)
class TransferTable:
    """A table with what its columns are and what must be said below."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    under: tuple[str, ...]
    """Of each column what stands below its name."""
    lines: tuple[tuple[tuple[str, ...], tuple[ShownCell, ...]], ...]
    """Of each row the headings at its left, then numbers."""
    feet: tuple[str, ...] = ()


def tables_of(transfer: "Transfer") -> list[TransferTable]:
    """Table 5 by accuracy, the same by group accuracy where there are groups, and Table 6 where there is gender."""
    tables = [_table_5(transfer, "Accuracy", SINGLE)]
    if any(cell.row(*WHOLE) for cell in transfer.cells):
        tables.append(_table_5(transfer, "Whole groups right", WHOLE))
    for test in transfer.tests:
        cells = [transfer.cell(arm.name, test.name) for arm in transfer.arms]
        gendered = [cell for cell in cells if cell.row("accuracy", "female", "gender")]
        if gendered:
            tables.append(_table_6(test.name, gendered))
    return tables


def _table_5(transfer: "Transfer", title: str, named: tuple[str, str, str]) -> TransferTable:
    feet: dict[str, str] = {}
    columns: dict[str, str] = {}
    for test in transfer.tests:
        rows = [row for cell in transfer.cells if cell.test == test.name and (row := cell.row(*named))]
        size = f"n = {rows[0].n:,}, {name_coin(rows[0])} {percent(rows[0].chance)}" if rows else ""
        choice = "nothing chosen" if test.chosen_on is None else f"chosen on {test.chosen_on.name}"
        if rows or named == SINGLE:
            columns[test.name] = ", ".join(filter(None, (size, choice if named == SINGLE else "")))
    lines = []
    for arm in transfer.arms:
        shown = []
        for name in columns:
            cell = transfer.cell(arm.name, name)
            row = cell.row(*named)
            why = None if row is not None or cell.why is None else f"{arm.name} on {name}: {cell.why}."
            shown.append(ShownCell(row, foot="" if why is None else feet.setdefault(why, letter_name(len(feet)))))
        lines.append(((arm.name,), tuple(shown)))
    below = tuple(f"{mark} {text}" for text, mark in feet.items())
    return TransferTable(title, ("trained on",), tuple(columns), tuple(columns.values()), tuple(lines), below)


def _table_6(test: str, cells: "Sequence[TransferCell]") -> TransferTable:
    lines = []
    for cell in cells:
        plain = [ShownCell(cell.row("accuracy", gender, "gender")) for gender in ("female", "male", "neutral")]
        gaps = [ShownCell(cell.row("delta", gender, "gender")) for gender in ("female", "male")]
        lines.append(((cell.arm, "all"), (*plain, *gaps)))
        for said, flag in (("no", "not_gotcha"), ("yes", "gotcha")):
            rows = [cell.row("accuracy", f"{gender}.{flag}", "gender") for gender in ("female", "male")]
            if any(rows):
                lines.append((("", said), (*map(ShownCell, rows), *[ShownCell(None, "")] * 3)))
    row = cells[0].row("accuracy", "female", "gender")
    feet = (
        "Gotcha: the occupation's statistics point away from the answer. ΔF and ΔM: accuracy where they do not, minus "
        "accuracy where they do, in points; 0 is best.",
        *([f"{row.note[0].upper()}{row.note[1:]}."] if row is not None and row.note else []),
    )
    columns = ("female", "male", "neutral", "ΔF", "ΔM")
    return TransferTable(f"Gender, on {test}", ("trained on", "gotcha"), columns, ("",) * 5, tuple(lines), feet)


def write_transfer_page(transfer: "Transfer", folder: Path) -> Path:
    """Write the page and, beside its folder, the tables in Markdown; return the page."""
    tables = tables_of(transfer)
    gender = any("Gender" in table.title for table in tables)
    sources = ("SAKAGUCHI_FIRST", "SAKAGUCHI", "LIU", *(("RUDINGER",) if gender else ()))
    choices = []  # arm, test set, what was chosen on, and what each setting had there with whether it was taken
    for cell in transfer.cells:
        rows = [row for row in cell.rows if row.protocol == "choice"]
        if rows:
            marks = [(percent(row.value), at == cell.chosen) for at, row in enumerate(rows, 1)]
            choices.append((cell.arm, cell.test, str(rows[0].details["chosen_on"]), marks))
    write_whole(folder.parent / "tables.md", rendered_plain("stages/transfer/tables.md.j2", tables=tables))
    return write_page(
        folder / INDEX,
        "stages/transfer/page.html.j2",
        transfer=transfer,
        verdict=verdict_of_transfer(transfer),
        arms=[
            # What an arm is trained on, without its own name again.
            (name, ", then ".join(f"{stage} problems" for stage in stages).removeprefix(f"{name}, "))
            for name, stages in transfer.run["arms"].items()
        ],
        tables=tables,
        choices=choices,
        settings=transfer.run["settings"],
        run=flat({name: value for name, value in transfer.run.items() if name != "settings"}),
        sources=[CITATIONS[name] for name in sources],
    )


CELLS, GROUPS, GAP, SIGNS = "cells", "groups", "gap", "signs"
CLEAR, UNCLEAR, UNMEASURED = "clear", "unclear", "unmeasured"
YES, NO = "yes", "no"

SAID = our_toml("stages/transfer/verdict.toml")


def _case(cells: str, groups: str, gap: str, signs: str) -> tuple[dict[str, str], str, str, str]:
    """Single problems give the word; groups, gaps and signs of trouble qualify it, and leave no praise as it is."""
    word, tone = SAID["words"][cells]
    groups_said = SAID["whole"].get(groups, "") if cells in (ABOVE, MIXED) else ""
    moved = "; gender statistics move the accuracy" if gap == CLEAR else ""
    doubts = bool(groups_said or moved or signs == YES)
    state = {CELLS: cells, GROUPS: groups, GAP: gap, SIGNS: signs}
    sentence = SAID["tried"] if signs == YES and cells in (ABOVE, MIXED) else ""
    return state, f"{word}{groups_said}{moved}", PLAIN if doubts and tone == GOOD else tone, sentence


FACTS = {CELLS: SEVERAL, GROUPS: SEVERAL, GAP: (CLEAR, UNCLEAR, UNMEASURED), SIGNS: (YES, NO)}
TRANSFER = DecisionTable(FACTS, *(_case(*state) for state in product(*FACTS.values())))


def _rows(transfer: "Transfer", fact: str, test: str | None = None) -> list[tuple[str, Metric]]:
    """Each arm with its accuracy or group accuracy, on one test set or on all."""
    named = SINGLE if fact == CELLS else WHOLE
    rows = [(cell.arm, cell.row(*named)) for cell in transfer.cells if test in (None, cell.test)]
    return [(arm, row) for arm, row in rows if row is not None]


def _gaps(transfer: "Transfer") -> list[tuple[str, str, Metric]]:
    """The gaps between gotchas and others, with where they stand and of which pronouns."""
    named = product(transfer.cells, ("female", "male"))
    rows = [(f"{cell.arm}, {cell.test}", gender, cell.row("delta", gender, "gender")) for cell, gender in named]
    return [(where, gender, row) for where, gender, row in rows if row is not None]


def state_of(transfer: "Transfer") -> dict[str, str]:
    """The facts of all cells together."""
    among, gaps = _among(transfer), _gaps(transfer)
    moved = {decision.standing(row, len(gaps)) in (ABOVE, BELOW) for _, _, row in gaps}
    return {
        **{
            fact: decision.together(decision.standing(row, among) for _, row in _rows(transfer, fact))
            for fact in (CELLS, GROUPS)
        },
        GAP: UNMEASURED if not moved else CLEAR if True in moved else UNCLEAR,
        SIGNS: YES if transfer.warnings else NO,
    }


def _among(transfer: "Transfer") -> int:
    """How many rows share the level: every arm on every test set, problems and groups."""
    return sum(len(_rows(transfer, fact)) for fact in (CELLS, GROUPS))


def verdict_of_transfer(transfer: "Transfer") -> Verdict:
    """A word, a sentence and the findings behind them."""
    case = TRANSFER.decide(state_of(transfer))
    rows = [row for _, row in _rows(transfer, CELLS)]
    above = sum(decision.standing(row, _among(transfer)) == ABOVE for row in rows)
    are = "is" if above == 1 else "are"
    headline = (
        f"Of {plural(len(rows), 'cell')}, one per arm and test set, {above:,} {are} above chance. {case.sentence}"
    )
    once = "Each is one run; another seed may give another result." if rows else ""
    return Verdict(case.word, case.tone, f"{headline}{once}".strip(), tuple(_points(transfer)))


def _points(transfer: "Transfer") -> Iterator[VerdictPoint]:
    """For each test set, which arms are above chance, singly and in groups; gaps that are no accident."""
    among, gaps = _among(transfer), _gaps(transfer)
    for test, (fact, where) in product(transfer.tests, ((CELLS, ""), (GROUPS, ", whole groups"))):
        rows = _rows(transfer, fact, test.name)
        place = decision.together(decision.standing(row, among) for _, row in rows)
        above = [f"{arm} ({percent(row.value)})" for arm, row in rows if decision.standing(row, among) == ABOVE]
        text = f"above chance after training on {join(above)}" if above else SAID["not_above"].get(place)
        if text is not None:
            yield VerdictPoint(f"{test.name}{where}: {text}.", GOOD if above else BAD, {f"{test.name}/{fact}": place})
    for where, gender, row in gaps:
        if decision.standing(row, len(gaps)) in (ABOVE, BELOW):
            moved = f"{points(-row.value)} points where statistics mislead"
            yield VerdictPoint(f"{where}: accuracy on {gender} pronouns moves by {moved}.", BAD, {GAP: CLEAR})
