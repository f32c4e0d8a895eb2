"""The pool of a new version: all problems of the previous one, and those offered now.

Where a problem stood, it stays: one that was in the training files has been read by models and cannot test them, and a
hidden test stays hidden. What is new has no place yet, unless a twin of it has. What was retired does not come back by
being offered again.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from winokit.data.checks.groups import group_name
from winokit.data.formats.source import Source
from winokit.errors import BadInput
from winokit.problem import Dataset, Problem
from winokit.stages.release import manifest
from winokit.stages.release.hidden import HiddenPart, hidden_folder, read_hidden
from winokit.stages.release.manifest import LINEAGE, REMOVED, RETIRED, TEST, TRAIN, Row
from winokit.stages.release.splits import blocks_of


@dataclass(frozen=True)
class EvolvePool:
    """The problems of a new version before they are filtered, answers included, and what is known of each by id."""

    version: str
    """The previous one."""
    problems: Dataset
    where: Mapping[str, str]
    """Train, dev or test, for problems that have a place already."""
    removed: frozenset[str]
    """Those that are for training alone: an earlier filter took them out."""
    before: frozenset[str]
    """Those that the previous version had."""
    lineage: Mapping[str, Row]
    """The rows of the previous version."""
    returning: tuple[str, ...] = ()
    """Offered now, and retired before: out, or brought back for training."""
    units: Mapping[str, int] = field(default_factory=dict)
    """The stored units of the previous test, by id: its public rows do not say which template they are from."""
    notes: tuple[str, ...] = ()

    @property
    def asked(self) -> Dataset:
        """Problems that models answer: dev, test and what is new.

        Models may have read training problems.
        """
        return self.problems.filter(lambda p: self.where.get(p.id) != TRAIN and p.id not in self.removed)

    def is_new(self, problem: Problem) -> bool:
        """Whether the previous version did not have it."""
        return problem.id not in self.before


def pool_of(
    previous: Path,
    offered: Dataset,
    removed: Dataset | None = None,
    *,
    hidden: Path | None = None,
    bring_back: bool = False,
) -> EvolvePool:
    """Join a previous release with problems offered now (`removed`: those that a filter already took out).

    What was retired before stays out; with `bring_back` it returns for training, since its answers are known.
    """
    version = str(manifest.read_manifest(previous).get("version") or "1.0")
    path = previous / LINEAGE
    lineage = {row["id"]: row for row in manifest.read_lineage(path)} if path.exists() else {}
    given_problems = {problem.id: problem for problem in (*offered, *(removed or ()))}
    labels = _read_labels(previous, hidden)
    old, where, gone = _read_previous(previous, given_problems, labels)
    retired = {name for name, row in lineage.items() if row["status"] == RETIRED}
    back = tuple(name for name in given_problems if name in retired)
    new = [
        problem for name, problem in given_problems.items() if name not in old and (bring_back or name not in retired)
    ]
    unanswered = sum(problem.answer is None for problem in new)
    if unanswered:
        raise BadInput(f"{unanswered:,} of the problems offered have no answer, and a release needs them")
    notes = []
    if back:
        became = "return, for training alone" if bring_back else "stay out"
        notes.append(
            f"{len(back):,} of the problems offered had been retired before and {became}; the first: {back[0]}"
        )
    if bring_back:
        where |= dict.fromkeys(back, TRAIN)
    joined = _regroup([*old.values(), *new], given_problems)
    # A new twin goes where its group stands.
    by_group = {p.group: where[p.id] for p in joined if p.group is not None and p.id in where}
    twins = {p.id: by_group[p.group] for p in joined if p.group in by_group}
    gone |= {problem.id for problem in (removed or ()) if problem.id not in old}
    return EvolvePool(
        version=version,
        problems=Dataset(joined, offered.card),
        where=twins | where,
        removed=frozenset(gone),
        before=frozenset(old),
        lineage=lineage,
        returning=back,
        units={} if labels is None or labels.units is None else dict(zip(labels.ids, labels.units, strict=True)),
        notes=tuple(notes),
    )


def _read_labels(previous: Path, hidden: Path | None) -> HiddenPart | None:
    """The hidden labels of the previous version, or None if they are not beside it."""
    if hidden is None and not hidden_folder(previous).exists():
        return None
    return read_hidden(previous, hidden)


def _read_previous(
    previous: Path, given: Mapping[str, Problem], tested: HiddenPart | None
) -> tuple[dict[str, Problem], dict[str, str], set[str]]:
    """The problems of the previous version in its own order of candidates, where they stand, and which were removed."""
    problems: dict[str, Problem] = {}
    where: dict[str, str] = {}
    gone: set[str] = set()
    for name, part in manifest.read_release(previous).items():
        split = TRAIN if name.startswith(TRAIN) else name
        for problem in _add_answers(previous, part, given, tested) if split == TEST else part:
            given_problem = given.get(problem.id, problem)
            labels = {**given_problem.labels, **problem.labels}
            domain = given_problem.domain or problem.domain
            problems[problem.id] = problem.replace(labels=labels, domain=domain)
            where[problem.id] = split
        if split == TRAIN:
            rows = Source(previous / manifest.problems_path(name)).json_lines()
            gone |= {manifest.problem_of(row).id for _, row in rows if row.get("status") == REMOVED}
    return problems, where, gone


def _add_answers(previous: Path, test: Dataset, given: Mapping[str, Problem], labels: HiddenPart | None) -> Dataset:
    """The previous test with its answers and groups: from the hidden labels, or from the problems offered."""
    if labels is not None:
        rows = zip(test, labels.answers, labels.groups, strict=True)
        return test.with_problems(p.replace(answer=answer, group=group) for p, answer, group in rows)
    missing = [p.id for p in test if p.id not in given or given[p.id].right not in p.candidates]
    if missing:
        raise BadInput(
            f"{previous}: the answers of {len(missing):,} of its {len(test):,} test problems are needed: keep "
            f"{hidden_folder(previous).name} beside it, or offer them again"
        )
    return test.with_problems(
        p.replace(answer=p.candidates.index(str(given[p.id].right)), group=given[p.id].group) for p in test
    )


def _regroup(problems: list[Problem], given: Mapping[str, Problem]) -> list[Problem]:
    """Groups of the previous version and of those offered as one: whoever is a twin in either is a twin."""
    names: list[set[tuple[str, str]]] = []
    for problem in problems:
        offered = given.get(problem.id)
        before = None if offered is problem else problem.group
        group_names = {"previous": before, "offered": None if offered is None else offered.group}
        names.append({(side, group) for side, group in group_names.items() if group is not None})
    joined = [problem.replace(group=None) for problem in problems]
    for rows in blocks_of(names):
        if len(rows) > 1:
            groups = {group for row in rows for side, group in names[row] if side == "previous"}
            name = groups.pop() if len(groups) == 1 else group_name([problems[row] for row in rows])
            for row in rows:
                joined[row] = joined[row].replace(group=name)
    return joined
