"""Kinds of problems (Trichelair et al., 2018): associative ones, and classes of structure.

In an associative problem the blank's clause alone points to the answer by word association. Two subsets go by the name
of WSC without associative problems: Trichelair et al.'s, which drops the associative problems, and Elazar et al.'s,
which drops their whole groups (`non_associative_groups`). Structure is where the special word stands, and the
connective.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from winokit.answers import Answers
from winokit.data.checks.statistics import connective, is_spaced, special_is_last
from winokit.problem import Dataset, grouped
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet, flags
from winokit.text.language import language_of

FEWEST = 10
"""Connectives before fewer blanks than this are counted together as "other"."""


@protocol()
def association(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy on associative problems and on the rest.

    No rows if no problem is labelled.
    """
    answers = sheet.answers()
    answers = answers.subset(flags("associative" in problem.labels for problem in answers.problems))
    if not len(answers):
        sheet.leave_out("association", "associative", "no problem is labelled associative or not", len(sheet.dataset))
        return
    problems = answers.problems
    by = {str(p.labels["associative_by"]) for p in problems if "associative_by" in p.labels}
    note = f"estimated, not judged by people: {', '.join(sorted(by))}" if by else None
    is_associative = flags(problem.labels["associative"] for problem in problems)
    yield from sheet.accuracy("association", "associative", answers.subset(is_associative), note=note)
    yield from sheet.accuracy("association", "non_associative", answers.subset(~is_associative), note=note)
    yield from sheet.gap(("association", "all", "associative_minus_others"), answers, is_associative, note)
    tainted = {problem.group for problem in problems if problem.labels["associative"]}
    in_clean_group = flags(problem.group is not None and problem.group not in tainted for problem in problems)
    yield from sheet.accuracy("association", "non_associative_groups", answers.subset(in_clean_group), note=note)


@protocol()
def structure(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy by the place of the special word, by connective and by paradigm."""
    everything = sheet.answers()
    answers = everything.subset(flags(not problem.is_whole for problem in everything.problems))
    last, words = _find_structure(sheet.dataset)
    in_group = flags(problem.group is not None and is_spaced(problem) for problem in answers.problems)
    is_last = flags(problem.group in last for problem in answers.problems)
    for subset, chosen in (("special_last", in_group & is_last), ("special_not_last", in_group & ~is_last)):
        own_answers = answers.subset(chosen)
        yield from sheet.accuracy("structure", subset, own_answers)
        yield from sheet.by_group(("structure", subset, "group_accuracy"), own_answers)
    readable = flags(not language_of(problem.language).refusal("structure") for problem in answers.problems)
    yield from _score_connectives(sheet, answers.subset(readable), words)
    # Minimal pairs come in paradigms, and are told apart by them where schemas are by how they are built.
    domains = grouped(
        (problem.domain, row) for row, problem in enumerate(everything.problems) if problem.is_continuation
    )
    for name, rows in domains.items():
        if name is not None and len(domains) > 1:
            yield from sheet.accuracy("structure", f"domain.{name}", everything.subset(rows))


def _score_connectives(sheet: AuditSheet, answers: Answers, words: Mapping[str, str]) -> Iterable[Metric]:
    """Accuracy by the connective before the blank, rare ones together."""
    by_word = grouped((words[name], row) for row, name in enumerate(answers.ids))
    common = {word: rows for word, rows in by_word.items() if len(rows) >= FEWEST}
    other = [row for row, name in enumerate(answers.ids) if words[name] not in common]
    for word, rows in [*sorted(common.items()), ("other", other)]:
        yield from sheet.accuracy("structure", f"connective.{word}", answers.subset(rows))


@lru_cache(2)  # the same for every scorer of a dataset
def _find_structure(dataset: Dataset) -> tuple[set[str], dict[str, str]]:
    """The groups whose special word is the last one, and by id the connective of each problem."""
    last = {name for name, members in dataset.groups.items() if len(members) > 1 and special_is_last(*members[:2])}
    return last, {problem.id: connective(problem) for problem in dataset if not problem.is_whole}
