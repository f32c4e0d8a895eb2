"""Why the hunter decides as it does: its reading, queries, evidence and decision, for people and for scripts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from winokit.methods.hunting.decide import AGENT, PATIENT
from winokit.methods.hunting.hunter import Hunt
from winokit.problem import Problem

MARK = ("»", "«")
"""What stands around the words that were found."""


def in_lines(problem: Problem, found: Hunt, examples: int, mark: tuple[str, str] = MARK) -> Iterator[str]:
    """The hunt for one problem, line by line."""
    reading = found.reading
    yield f"  parser   {found.parser}"
    if reading is not None:
        head = reading.context.head
        yield f"  agent    {problem.candidates[reading.agent]}: {_part(reading.agent_slot)} '{head}'"
        yield f"  patient  {problem.candidates[reading.patient]}: {_part(reading.patient_slot)} '{head}'"
        yield f"  blank    {_part(reading.blank_slot)} '{reading.query.head}' in '{reading.query.text}'"
        yield "queries"
        for pair, number in found.queries:
            yield f"  {pair.set:9} {number:5,} found  {pair}"
        yield from _evidence(AGENT, problem.candidates[reading.agent], found, examples, mark)
        yield from _evidence(PATIENT, problem.candidates[reading.patient], found, examples, mark)
    if found.passed_over:
        whys = Counter(why for _, why in found.passed_over).most_common()
        yield f"passed over: {', '.join(f'{count:,} × {why}' for why, count in whys)}"
    chosen = f"no answer: {found.why}" if found.choice is None else problem.candidates[found.choice]
    yield f"decision: {chosen}" + ("" if problem.right is None else f" (right: {problem.right})")


def _part(slot: str) -> str:
    """A slot in words.

    >>> _part("subject"), _part("into")
    ('subject of', "after 'into' of")
    """
    return f"{slot} of" if slot in ("subject", "object", "possessor") else f"after '{slot}' of"


def _evidence(role: str, name: str, found: Hunt, examples: int, mark: tuple[str, str]) -> Iterator[str]:
    speaking = [one for one in found.evidence if one.label == role]
    weight = sum(one.weight for one in speaking)
    yield f"for {name}: {len(speaking):,} {'sentence' if len(speaking) == 1 else 'sentences'}, weight {weight:,}"
    for one in sorted(speaking, key=lambda one: -one.weight)[:examples]:
        source = f"  ({one.source})" if one.source else ""
        yield f"  {one.weight}  {highlighted(one.text, one.spans, mark)}{source}"


def highlighted(text: str, spans: tuple[tuple[int, int], ...], mark: tuple[str, str] = MARK) -> str:
    """A sentence with marks around what was found in it.

    >>> highlighted("I could not lift it.", ((2, 16),))
    'I »could not lift« it.'
    """
    parts, at = [], 0
    for start, end in sorted(spans):
        parts += [text[at:start], mark[0], text[start:end], mark[1]]
        at = end
    return "".join([*parts, text[at:]])


def as_json(problem: Problem, found: Hunt) -> dict[str, Any]:
    """The hunt for one problem as JSON-ready values."""
    return {
        "text": problem.text,
        "candidates": list(problem.candidates),
        "answer": problem.answer,
        "parser": found.parser,
        "reading": None if found.reading is None else asdict(found.reading),
        "queries": [{"set": pair.set, "query": str(pair), "found": number} for pair, number in found.queries],
        "evidence": [asdict(one) | {"weight": one.weight} for one in found.evidence],
        "passed_over": [{"text": hit.text, "why": why} for hit, why in found.passed_over],
        "agent": found.decision.agent,
        "patient": found.decision.patient,
        "choice": found.choice,
        "why": found.why,
    }
