"""The pool of a new version: previous problems, and those offered now.

A problem stays in its split: one that was in the training files has been read by models and cannot test them, and a
hidden test stays hidden. A new problem has no split yet, unless a twin of it has. A retired problem does not come back
by being offered again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

from winokit.data.checks.groups import group_name
from winokit.data.formats.source import Source
from winokit.errors import BadInput
from winokit.problem import Dataset, Problem
from winokit.stages.release import manifest
from winokit.stages.release.hidden import HiddenPart, hidden_folder, read_hidden
from winokit.stages.release.manifest import LINEAGE, REMOVED, RETIRED, TEST, TRAIN, Row
from winokit.stages.release.splits import blocks_of

PREVIOUS = "previous"
OFFERED = "offered"
"""The sides that name groups: the previous version, and the problems offered now."""


@dataclass(frozen=True)
class EvolvePool:
    """The problems of a new version, with answers, before they are filtered.

    Other facts on problems are by their ids.
    """

    version: str
    """The number of the previous version."""
    problems: Dataset
    where: Mapping[str, str]
    """The split of each problem that has one already: train, dev or test."""
    removed: frozenset[str]
    """Ids of problems that are for training alone: an earlier filter took them out."""
    before: frozenset[str]
    """Ids of the problems of the previous version."""
    lineage: Mapping[str, Row]
    """The lineage rows of the previous version."""
    returning: tuple[str, ...] = ()
    """Ids of problems that are offered now and were retired before: left out, or brought back for training."""
    units: Mapping[str, int] = field(default_factory=dict)
    """The stored units of the previous test, by id: its public rows do not say which template they are from."""
    notes: tuple[str, ...] = ()

    @property
    def asked(self) -> Dataset:
        """Problems that models answer: dev, test and what is new.

        Training problems are left out, since models may have read them.
        """
        return self.problems.filter(lambda p: self.where.get(p.id) != TRAIN and p.id not in self.removed)

    def is_new(self, problem: Problem) -> bool:
        """Whether a problem was not in the previous version."""
        return problem.id not in self.before


def pool_of(
    previous: Path,
    offered: Dataset,
    removed: Dataset | None = None,
    *,
    hidden: Path | None = None,
    bring_back: bool = False,
) -> EvolvePool:
    """Join a previous release with problems offered now.

    Raises BadInput if a new problem, or a problem of the previous test, has no answer.

    Parameters
    ----------
    previous
        The folder of the previous release.
    offered, removed
        Problems that may enter any split, and those that an earlier filter took out, for training alone.
    hidden
        The folder of the hidden labels of the previous test. Default: beside the release, if it is there.
    bring_back
        Whether problems that were retired before return for training, since their answers are known. They stay out
        otherwise.
    """
    version = str(manifest.read_manifest(previous).get("version") or "1.0")
    lineage = _read_lineage(previous / LINEAGE)
    offered_for_training = removed or ()
    offered_by_id = {problem.id: problem for problem in (*offered, *offered_for_training)}
    labels = find_hidden_labels(previous, hidden)
    old, where, removed_ids = _read_previous(previous, offered_by_id, labels)
    retired_ids = {name for name, row in lineage.items() if row["status"] == RETIRED}
    returning = tuple(name for name in offered_by_id if name in retired_ids)
    excluded_ids = old.keys() if bring_back else old.keys() | retired_ids
    new = [problem for name, problem in offered_by_id.items() if name not in excluded_ids]
    _refuse_unanswered(new)
    if bring_back:
        where |= dict.fromkeys(returning, TRAIN)
    joined = _regroup([*old.values(), *new], offered_by_id)
    removed_ids |= {problem.id for problem in offered_for_training if problem.id not in old}
    return EvolvePool(
        version=version,
        problems=Dataset(joined, offered.card),
        where=_split_of_groups(joined, where) | where,
        removed=frozenset(removed_ids),
        before=frozenset(old),
        lineage=lineage,
        returning=returning,
        units=_read_units(labels),
        notes=_describe_returning(returning, bring_back),
    )


def _read_lineage(path: Path) -> dict[str, Row]:
    """Read the rows of a lineage by the ids of their problems.

    Empty if there is no such file.
    """
    if not path.exists():
        return {}
    return {row["id"]: row for row in manifest.read_lineage(path)}


def _refuse_unanswered(new: Sequence[Problem]) -> None:
    """Raise BadInput if a new problem has no answer."""
    unanswered = sum(problem.answer is None for problem in new)
    if unanswered:
        raise BadInput(f"{unanswered:,} of the problems offered have no answer, and a release needs them")


def _describe_returning(returning: Sequence[str], bring_back: bool) -> tuple[str, ...]:
    """Note on problems that were retired before, by their ids.

    Empty if there are none.
    """
    if not returning:
        return ()
    became = "return, for training alone" if bring_back else "stay out"
    return (
        f"{len(returning):,} of the problems offered had been retired before and {became}; the first: {returning[0]}",
    )


def _split_of_groups(problems: Sequence[Problem], where: Mapping[str, str]) -> dict[str, str]:
    """Split of every grouped problem whose twin has one, by id.

    A new twin goes to the split of its group. `where` has the splits that are decided, by id.
    """
    split_of_group: dict[str, str] = {}
    for problem in problems:
        if problem.group is not None and problem.id in where:
            split_of_group[problem.group] = where[problem.id]
    return {problem.id: split_of_group[problem.group] for problem in problems if problem.group in split_of_group}


def _read_units(labels: HiddenPart | None) -> dict[str, int]:
    """Stored unit of each hidden test problem, by id.

    Empty if there are no labels, or none with units.
    """
    if labels is None or labels.units is None:
        return {}
    return dict(zip(labels.ids, labels.units, strict=True))


def find_hidden_labels(release: Path, hidden: Path | None) -> HiddenPart | None:
    """Read the hidden labels of a release, if they are there.

    They are in the folder `hidden`, by default beside the release. None if no folder is named and none is beside the
    release.
    """
    if hidden is None and not hidden_folder(release).exists():
        return None
    return read_hidden(release, hidden)


def _read_previous(
    previous: Path, offered: Mapping[str, Problem], labels: HiddenPart | None
) -> tuple[dict[str, Problem], dict[str, str], set[str]]:
    """Read problems, splits and training-only ids of a previous release.

    Problems and splits are by id. Problems have their candidates in the order of the release, and the labels and domain
    of the `offered` problem with the same id too. Answers of a hidden test come from its `labels`, or from `offered`.
    """
    problems: dict[str, Problem] = {}
    split_of: dict[str, str] = {}
    removed_ids: set[str] = set()
    for name, part in manifest.read_release(previous).items():
        split = TRAIN if name.startswith(TRAIN) else name
        answered_part = _add_answers(previous, part, offered, labels) if split == TEST else part
        for problem in answered_part:
            problems[problem.id] = _add_offered_labels(problem, offered.get(problem.id, problem))
            split_of[problem.id] = split
        if split == TRAIN:
            removed_ids |= _read_removed_ids(previous / manifest.problems_path(name))
    return problems, split_of, removed_ids


def _add_offered_labels(problem: Problem, offered: Problem) -> Problem:
    """Return a problem with labels and domain of its offered version.

    `offered` is the same problem as it is offered now. If both have a label, that of `problem` stays; of two domains
    the offered one does.
    """
    labels = {**offered.labels, **problem.labels}
    return problem.replace(labels=labels, domain=offered.domain or problem.domain)


def _read_removed_ids(path: Path) -> set[str]:
    """Read ids of training-only problems from a file of training problems.

    These have the status "removed".
    """
    rows = Source(path).json_lines()
    return {manifest.problem_of(row).id for _, row in rows if row.get("status") == REMOVED}


def _add_answers(previous: Path, test: Dataset, offered: Mapping[str, Problem], labels: HiddenPart | None) -> Dataset:
    """Return the previous test with answers and groups.

    They come from the hidden labels, or if there are none, from the problems offered. Raises BadInput if there are no
    labels and an answer is not among the problems offered.
    """
    if labels is not None:
        rows = zip(test, labels.answers, labels.groups, strict=True)
        return test.with_problems(problem.replace(answer=answer, group=group) for problem, answer, group in rows)
    answered = []
    for problem in test:
        offered_problem = offered.get(problem.id)
        if offered_problem is None or offered_problem.right not in problem.candidates:
            continue
        answer = problem.candidates.index(str(offered_problem.right))
        answered.append(problem.replace(answer=answer, group=offered_problem.group))
    missing_count = len(test) - len(answered)
    if missing_count:
        raise BadInput(
            f"{previous}: the answers of {missing_count:,} of its {len(test):,} test problems are needed: keep "
            f"{hidden_folder(previous).name} beside it, or offer them again"
        )
    return test.with_problems(answered)


def _regroup(problems: list[Problem], offered: Mapping[str, Problem]) -> list[Problem]:
    """Return problems with their previous and their offered groups joined.

    Twins in the previous version or among the problems offered are twins now. A joined group keeps its name of the
    previous version if it has exactly one there, else it gets a new name.
    """
    group_names = [_list_group_names(problem, offered.get(problem.id)) for problem in problems]
    joined = [problem.replace(group=None) for problem in problems]
    for rows in blocks_of(group_names):
        if len(rows) < 2:
            continue
        names_in_block = set(chain.from_iterable(group_names[row] for row in rows))
        previous_names = [group for side, group in names_in_block if side == PREVIOUS]
        name = previous_names[0] if len(previous_names) == 1 else group_name([problems[row] for row in rows])
        for row in rows:
            joined[row] = joined[row].replace(group=name)
    return joined


def _list_group_names(problem: Problem, offered: Problem | None) -> set[tuple[str, str]]:
    """Groups of a problem, each with the side that names it.

    A side is PREVIOUS or OFFERED. `offered` is the same problem as it is offered now: None if it is not, and `problem`
    itself if it is new.
    """
    names = set()
    if problem.group is not None and offered is not problem:
        names.add((PREVIOUS, problem.group))
    if offered is not None and offered.group is not None:
        names.add((OFFERED, offered.group))
    return names
