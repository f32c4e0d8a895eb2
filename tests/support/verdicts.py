"""Every combination of facts that a decision table must have a case for."""

from itertools import product


def states_of(table):
    """From each fact to one of all it may be, for every combination."""
    return [dict(zip(table.facts, values, strict=True)) for values in product(*table.facts.values())]
