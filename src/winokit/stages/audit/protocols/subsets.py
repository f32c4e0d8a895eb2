"""Kinds of problems (Trichelair et al., 2018): associative ones, and classes of structure.

In an associative problem the blank's clause alone points to the answer by word association. Two subsets go by the name
of WSC without associative problems: Trichelair et al.'s, which drops the associative problems, and Elazar et al.'s,
which drops their whole groups (`non_associative_groups`). Structure is where the special word stands, and the
connective.
"""

from collections.abc import Iterable
from functools import lru_cache

from winokit.data.checks.statistics import connective, is_spaced, special_is_last
from winokit.problem import Dataset, grouped
from winokit.results import Metric
from winokit.stages.audit.protocols import protocol
from winokit.stages.audit.sheet import AuditSheet
from winokit.text.language import language_of

FEWEST = 10
"""Connectives before fewer blanks than this are counted together as "other"."""


@protocol()
def association(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy on associative problems and on the rest; nothing where no problem is labelled."""
    graded = [case for case in sheet.graded() if "associative" in case.problem.labels]
    if not graded:
        sheet.leave_out("association", "associative", "no problem is labelled associative or not", len(sheet.dataset))
        return
    by = {str(case.problem.labels["associative_by"]) for case in graded if "associative_by" in case.problem.labels}
    note = f"estimated, not judged by people: {', '.join(sorted(by))}" if by else None
    tainted = {case.problem.group for case in graded if case.problem.labels["associative"] and case.problem.group}
    rest = [case for case in graded if not case.problem.labels["associative"]]
    associative = [case for case in graded if case.problem.labels["associative"]]
    yield from sheet.accuracy("association", "associative", associative, note=note)
    yield from sheet.accuracy("association", "non_associative", rest, note=note)
    yield from sheet.gap(("association", "all", "associative_minus_others"), associative, rest, note)
    whole = [case for case in rest if case.problem.group is not None and case.problem.group not in tainted]
    yield from sheet.accuracy("association", "non_associative_groups", whole, note=note)


@protocol()
def structure(sheet: AuditSheet) -> Iterable[Metric]:
    """Accuracy and group accuracy with the special word last or not; accuracy by connective, and by paradigm."""
    graded = [case for case in sheet.graded() if not case.problem.is_whole]
    last, words = _structure(sheet.dataset)
    for subset, wanted in (("special_last", True), ("special_not_last", False)):
        cases = [case for case in graded if case.problem.group is not None and (case.problem.group in last) is wanted]
        cases = [case for case in cases if is_spaced(case.problem)]
        yield from sheet.accuracy("structure", subset, cases)
        yield from sheet.by_group(("structure", subset, "group_accuracy"), cases)
    graded = [case for case in graded if not language_of(case.problem.language).refusal("structure")]
    by_word = grouped((words[case.problem.id], case) for case in graded)
    common = {word: cases for word, cases in by_word.items() if len(cases) >= FEWEST}
    other = [case for case in graded if words[case.problem.id] not in common]
    for word, cases in [*sorted(common.items()), ("other", other)]:
        yield from sheet.accuracy("structure", f"connective.{word}", cases)
    # Minimal pairs come in paradigms, and are told apart by them where schemas are by how they are built.
    kinds = grouped((case.problem.domain, case) for case in sheet.graded() if case.problem.is_continuation)
    for name, cases in kinds.items():
        if name is not None and len(kinds) > 1:
            yield from sheet.accuracy("structure", f"domain.{name}", cases)


@lru_cache(2)  # the same for every scorer of a dataset
def _structure(dataset: Dataset) -> tuple[set[str], dict[str, str]]:
    """The groups whose special word is the last one, and by id the connective of each problem."""
    last = {name for name, members in dataset.groups.items() if len(members) > 1 and special_is_last(*members[:2])}
    return last, {problem.id: connective(problem) for problem in dataset if not problem.is_whole}
