"""Kinds of problems (Trichelair et al., 2018): associative ones, and classes of structure.

In an associative problem the blank's clause alone points to the answer by word association. Two subsets go by the name
of WSC without associative problems: Trichelair et al.'s, which drops the associative problems, and Elazar et al.'s,
which drops their whole groups (`non_associative_groups`). Structure is where the special word stands, and the
connective.
"""

from collections.abc import Iterable
from functools import lru_cache

from winokit.answers import Answers
from winokit.data.checks.statistics import connective, is_spaced, special_is_last
from winokit.problem import Dataset, Problem, grouped
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.language import language_of

FEWEST = 10
"""Connectives of fewer problems than this are counted together as "other"."""


@protocol()
def association(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy on associative problems and on the rest.

    No rows if no problem is labelled.
    """
    everything = sheet.answers()
    is_labelled = flags("associative" in problem.labels for problem in everything.problems)
    answers = everything.subset(is_labelled)
    if not len(answers):
        sheet.leave_out("association", "associative", "no problem is labelled associative or not", len(sheet.dataset))
        return
    problems = answers.problems
    note = _describe_estimate(problems)
    is_associative = flags(problem.labels["associative"] for problem in problems)
    associative = answers.subset(is_associative)
    others = answers.subset(~is_associative)
    yield from sheet.accuracy("association", "associative", associative, note=note)
    yield from sheet.accuracy("association", "non_associative", others, note=note)
    gap_name = ("association", "all", "associative_minus_others")
    yield from sheet.gap(gap_name, answers, is_associative, note)
    associative_groups = {problem.group for problem in associative.problems}
    excluded_groups = {None, *associative_groups}
    is_in_other_group = flags(problem.group not in excluded_groups for problem in problems)
    in_other_groups = answers.subset(is_in_other_group)
    yield from sheet.accuracy("association", "non_associative_groups", in_other_groups, note=note)


def _describe_estimate(problems: Iterable[Problem]) -> str | None:
    """Note on labels that a program estimated.

    None if people judged all of them.
    """
    programs = {str(problem.labels["associative_by"]) for problem in problems if "associative_by" in problem.labels}
    if not programs:
        return None
    names = ", ".join(sorted(programs))
    return f"estimated, not judged by people: {names}"


@protocol()
def structure(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy by place of the special word, connective and paradigm."""
    everything = sheet.answers()
    has_blank = flags(not problem.is_whole for problem in everything.problems)
    answers = everything.subset(has_blank)
    yield from _score_special_words(sheet, answers)
    yield from _score_connectives(sheet, answers)
    yield from _score_paradigms(sheet, everything)


def _score_special_words(sheet: AuditSheet, answers: Answers) -> Iterable[Metric]:
    """Accuracy by whether the special word of a group is the last.

    Single problems, and languages without spaces between words, are left out.
    """
    last_groups = _find_last_groups(sheet.dataset)
    in_group = flags(problem.group is not None and is_spaced(problem) for problem in answers.problems)
    is_last = flags(problem.group in last_groups for problem in answers.problems)
    subsets = {"special_last": in_group & is_last, "special_not_last": in_group & ~is_last}
    for subset, is_member in subsets.items():
        members = answers.subset(is_member)
        yield from sheet.accuracy("structure", subset, members)
        yield from sheet.by_group(("structure", subset, "group_accuracy"), members)


def _score_connectives(sheet: AuditSheet, answers: Answers) -> Iterable[Metric]:
    """Accuracy by the connective before the blank, rare ones together.

    Problems in a language whose connectives are not known are left out.
    """
    is_readable = flags(not language_of(problem.language).refusal("structure") for problem in answers.problems)
    readable = answers.subset(is_readable)
    connectives = _find_connectives(sheet.dataset)
    words = [connectives[name] for name in readable.ids]
    by_word = grouped((word, row) for row, word in enumerate(words))
    common = {word: rows for word, rows in by_word.items() if len(rows) >= FEWEST}
    other_rows = [row for row, word in enumerate(words) if word not in common]
    for word, rows in [*sorted(common.items()), ("other", other_rows)]:
        yield from sheet.accuracy("structure", f"connective.{word}", readable.subset(rows))


def _score_paradigms(sheet: AuditSheet, answers: Answers) -> Iterable[Metric]:
    """Accuracy by the paradigm of minimal pairs, if there are several.

    Paradigms tell minimal pairs apart, as structure does schemas.
    """
    continuations = [row for row, problem in enumerate(answers.problems) if problem.is_continuation]
    by_paradigm = grouped((answers.problems[row].domain, row) for row in continuations)
    if len(by_paradigm) < 2:
        return
    for name, rows in by_paradigm.items():
        if name is not None:
            yield from sheet.accuracy("structure", f"domain.{name}", answers.subset(rows))


@lru_cache(2)  # the same for every scorer of a dataset
def _find_last_groups(dataset: Dataset) -> set[str]:
    """Find the groups whose special word is the last word.

    It is found by comparing the first two members, so groups of one are never among them.
    """
    groups = {name: members for name, members in dataset.groups.items() if len(members) > 1}
    return {name for name, (first, second, *_) in groups.items() if special_is_last(first, second)}


@lru_cache(2)  # the same for every scorer of a dataset
def _find_connectives(dataset: Dataset) -> dict[str, str]:
    """Find the connective before the blank of each problem, by id.

    Without a connective it is a punctuation mark or "none". Whole texts are left out.
    """
    return {problem.id: connective(problem) for problem in dataset if not problem.is_whole}
