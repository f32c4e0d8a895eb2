"""From evidence to a decision, as the Wino Knowledge Hunter of Emami et al. (2018) does it in its released code.

A sentence of evidence weighs 2 if the words found of either clause are more than one, else 1. The agent is chosen if
its weights sum to more than the patient's; else, ties included, the patient; without any evidence, nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

AGENT, PATIENT = "agent", "patient"


@dataclass(frozen=True, slots=True)
class Evidence:
    """One sentence that speaks for the agent or the patient, and the queries that found it."""

    label: str
    context: str
    query: str
    text: str
    set: str = ""
    source: str | None = None
    spans: tuple[tuple[int, int], ...] = ()

    @property
    def weight(self) -> int:
        """2 for more than one word of either clause, else 1."""
        return 2 if " " in self.context or " " in self.query else 1


@dataclass(frozen=True, slots=True)
class HuntDecision:
    """The summed weights for either role, and the role chosen; None for an abstention.

    >>> decide([]).role, Decision(1, 1).role, Decision(2, 1).role
    (None, 'patient', 'agent')
    """

    agent: int
    patient: int

    @property
    def role(self) -> str | None:
        """Agent, patient, or None."""
        if not self.agent and not self.patient:
            return None
        return AGENT if self.agent > self.patient else PATIENT


def decide(evidence: Iterable[Evidence]) -> HuntDecision:
    """Weigh the evidence."""
    weights = {AGENT: 0, PATIENT: 0}
    for one in evidence:
        weights[one.label] += one.weight
    return HuntDecision(weights[AGENT], weights[PATIENT])
