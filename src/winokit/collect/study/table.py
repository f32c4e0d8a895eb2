"""The tables of `winokit collect status`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Table

from winokit.collect.study.progress import StudySnapshot
from winokit.collect.study.quality import WorkerQuality


def status_tables(now: StudySnapshot, people: Sequence[WorkerQuality]) -> Iterator[Table | str]:
    """A headline, what is in, what of it is valid, agreement, and the workers if asked for."""
    paused = " [yellow](paused)[/yellow]" if now.paused else ""
    yield f"[bold]{escape(now.title)}[/bold]{paused}  {now.done:.0%} done"
    yield _kinds(now)
    if now.problems["written"]:
        told = ", ".join(f"{name} {count:,}" for name, count in (now.problems | now.domains).items() if count)
        yield f"problems: {told}"
    if now.asked_adversary:
        yield f"adversary: {now.fooled:,} of {now.asked_adversary:,} pairs fool it"
    if any(row.problems for row in now.agreement):
        yield _agreement(now)
    states = ", ".join(f"{count:,} {state}" for state, count in now.workers.items()) or "none yet"
    gold = f"; gold questions {now.gold_right:,} of {now.gold_seen:,} right" if now.gold_seen else ""
    yield f"workers: {states}{gold}"
    spent, paid, expected = (_money(cents, now) for cents in (now.spent_cents, now.settled_cents, now.expected_cents))
    yield f"cost: {spent} so far, {paid} of it paid; {expected} when all is in"
    if people:
        yield _people(people, now)


def _kinds(now: StudySnapshot) -> Table:
    table = _table("task", "asked", "in", "under way", "not counted", "workers", "usual time")
    for row in now.kinds:
        seconds = "" if row.median_seconds is None else _time(row.median_seconds)
        counts = (row.asked, row.accepted, row.held, row.not_counted, row.workers)
        table.add_row(row.kind, *(f"{count:,}" for count in counts), seconds)
    return table


def _agreement(now: StudySnapshot) -> Table:
    table = _table("question", "problems", "unanimous", "Fleiss' kappa")
    for row in now.agreement:
        share = f"{row.unanimous / row.problems:.0%}" if row.problems else ""
        kappa = f"{row.kappa:.2f}" if row.kappa is not None else escape(row.why_not or "")
        table.add_row(f"{row.kind}: {row.question}", f"{row.problems:,}", share, kappa)
    return table


def _people(people: Sequence[WorkerQuality], now: StudySnapshot) -> Table:
    table = _table("worker", "state", "in", "agrees", "gold", "usual time", "earned", "look at")
    for one in people:
        agrees = "" if one.agreement is None else f"{one.agreement:.0%}"
        gold = f"{one.gold_right}/{one.gold_seen}" if one.gold_seen else ""
        seconds = "" if one.median_seconds is None else _time(one.median_seconds)
        earned = _money(one.earned_cents, now)
        table.add_row(one.code, one.state, f"{one.submissions:,}", agrees, gold, seconds, earned, ", ".join(one.flags))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="left" if name in ("state", "look at") else "right")
    return table


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _money(cents: int, now: StudySnapshot) -> str:
    return f"{cents / 100:,.2f} {now.currency}"
