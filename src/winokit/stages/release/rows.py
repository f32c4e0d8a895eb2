"""A problem as a row of `winogrande/*.jsonl`, and back: WinoGrande's five fields, and beside them only what they lack.

    {"qID": "g1-0f3a…", "sentence": "… because _ was full.", "option1": "the jug", "option2": "the cup", "answer": "2"}

The qID names the group and ends in the public id, never in the answer. `pronoun`, `domain` and `labels` are written
where they are known, `status` says kept or removed in training files. A row of the test has the text, the candidates
and the pronoun and nothing else: no answer, no group, no labels, which might say more than anybody meant them to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from winokit.data.formats import WriteOptions, fields, winogrande
from winokit.errors import CannotWrite, Malformed
from winokit.problem import BLANK, Problem

KEPT, REMOVED = "kept", "removed"


def row_of(problem: Problem, status: str | None = None) -> dict[str, Any]:
    """The row of a problem of which everything may be known."""
    row = winogrande.render(problem, WriteOptions())
    more = {"pronoun": problem.pronoun, "domain": problem.domain, "labels": dict(problem.labels) or None}
    return row | {key: value for key, value in more.items() if value is not None} | _status(status)


def hidden_row_of(problem: Problem) -> dict[str, Any]:
    """The row of a problem whose answer is hidden."""
    bare = problem.replace(answer=None, group=None, domain=None, labels={}, provenance={})
    return row_of(bare)


def _status(status: str | None) -> dict[str, str]:
    return {} if status is None else {"status": status}


def problem_of(row: Mapping[str, Any]) -> Problem:
    """The problem of a row, with everything the row says of it."""
    problem = winogrande.parse(row)
    labels = row.get("labels") or {}
    if not isinstance(labels, dict):
        raise Malformed(f"an object expected, found {fields.shown(labels)}", field="labels")
    occurrence = str(row.get("qID") or "").rpartition("-")[2].partition(".")[2]
    return problem.replace(
        pronoun=fields.optional(row, "pronoun"),
        domain=fields.optional(row, "domain"),
        labels=labels,
        provenance={},
        occurrence=int(occurrence) if occurrence.isdigit() else 1,
    )


def check_writable(problem: Problem) -> None:
    """Refuse what WinoGrande's rows have no words for."""
    if problem.query is not None:
        raise CannotWrite(f"problem {problem.id}: a yes/no judgement; convert with --as choice first")
    if len(problem.candidates) != 2:
        raise CannotWrite(f"problem {problem.id}: {len(problem.candidates)} candidates where two fit: --as binary")
    if problem.text.count(BLANK) != 1:
        raise CannotWrite(f"problem {problem.id}: its text has a '{BLANK}' besides the blank")
