"""What is right and wrong with a dataset: twins, leaks, duplicates, the rules of twins, structure, statistics."""

from winokit.data.checks.checkup import CHECKS, Finding, check
from winokit.data.checks.duplicates import Duplicate, find_duplicates
from winokit.data.checks.groups import Grouping, find_groups, with_groups
from winokit.data.checks.leaks import Leak, find_leaks
from winokit.data.checks.nearest_fact import NearestFact, fact_pairs, nearest_facts
from winokit.data.checks.rules import Limits, Violation, broken_rules
from winokit.data.checks.statistics import Statistics, statistics
from winokit.data.checks.structure import Structure, structure

__all__ = [
    "CHECKS",
    "Duplicate",
    "Finding",
    "Grouping",
    "Leak",
    "Limits",
    "NearestFact",
    "Statistics",
    "Structure",
    "Violation",
    "broken_rules",
    "check",
    "fact_pairs",
    "find_duplicates",
    "find_groups",
    "find_leaks",
    "nearest_facts",
    "statistics",
    "structure",
    "with_groups",
]
