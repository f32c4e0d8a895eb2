"""All checks of one or more datasets: what was found, worth a warning or only worth knowing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

from winokit.data.checks.contamination import Progress, find_copies
from winokit.data.checks.duplicates import Duplicate, find_duplicates
from winokit.data.checks.groups import Grouping, find_groups, with_groups
from winokit.data.checks.leaks import find_leaks
from winokit.data.checks.nearest_fact import nearest_facts
from winokit.data.checks.rules import RULES, Limits, Violation, broken_rules
from winokit.data.checks.structure import structure
from winokit.errors import BadInput, UnknownName
from winokit.methods.hunting.search import Corpus
from winokit.problem import Dataset

Check = Literal["groups", "leaks", "duplicates", "rules", "structure", "corpus", "facts"]
CHECKS = ("groups", "leaks", "duplicates", "rules", "structure")
CORPUS = "corpus"
"""The check that needs a corpus, and is made whenever there is one."""
FACTS = "facts"
"""The check that needs training data, and is made whenever there is some."""
ALIKE = 0.8
"""Facts at least so similar say the same in other small words."""
KINDS = {
    "same": "stand there twice",
    "contradiction": "stand there twice, with different answers",
    "near": "are nearly the same",
    "twin": "are nearly the same, with the other answer (twins not in one group)",
}
COPIES = {"verbatim": "word for word", "near": "nearly", "part": "in part, ten words in a row or more"}


@dataclass(frozen=True)
class Finding:
    """One thing found. `warns` findings make `winokit check` return 1; the others are worth knowing."""

    dataset: str
    check: str
    warns: bool
    message: str
    count: int
    examples: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The finding as JSON-ready values."""
        return asdict(self)


class Findings(list[Finding]):
    """What was found, and how many examples of each a person is shown."""

    def __init__(self, findings: Iterable[Finding], shown: int = 2) -> None:
        super().__init__(findings)
        self.shown = shown


def check(
    datasets: Sequence[Dataset],
    only: Collection[str] = CHECKS,
    rules: str | None = None,
    *,
    corpus: Corpus | None = None,
    train: Sequence[Dataset] = (),
    progress: Progress | None = None,
) -> list[Finding]:
    """Check datasets, each by itself, all against each other, and against a corpus and training data where given.

    Groups that are not named yet are found first. `rules` are `universal`, or `winogrande`: those of its writing task
    too. Without a name, what a study collected is judged by the task's, anything else by those that hold everywhere.
    """
    if rules is not None and rules not in RULES:
        raise UnknownName("set of rules", rules, RULES)
    for name in only:
        if name not in get_args(Check):
            raise UnknownName("check", name, get_args(Check))
    if CORPUS in only and corpus is None:
        raise BadInput("the check 'corpus' needs an index of one: --corpus INDEX")
    if FACTS in only and not train:
        raise BadInput("the check 'facts' needs what was trained on: --train DATA")
    found: list[Finding] = []
    groupings = [find_groups(dataset) for dataset in datasets]
    datasets = [with_groups(dataset, found=grouping) for dataset, grouping in zip(datasets, groupings, strict=True)]
    for dataset, grouping in zip(datasets, groupings, strict=True):
        name = dataset.card.name
        if "groups" in only:
            found += _groups(name, dataset, grouping)
        if "leaks" in only:
            found += _leaks(name, dataset)
        if "rules" in only:
            written = all(problem.provenance.get("study") for problem in dataset)
            found += _rules(name, dataset, RULES[rules or ("winogrande" if written else "universal")])
        if "structure" in only:
            found += _structure(name, dataset)
    if "duplicates" in only:
        found += _duplicates(datasets)
    if corpus is not None:
        for dataset in datasets:
            found += _copies(dataset.card.name, dataset, corpus, progress)
    if train:
        trained = [with_groups(dataset) for dataset in train]
        for dataset in datasets:
            found.append(_facts(dataset, trained, progress))
    return found


def _groups(name: str, dataset: Dataset, grouping: Grouping) -> list[Finding]:
    sizes = Counter(map(len, grouping.groups))
    single = len(dataset) - sum(size * count for size, count in sizes.items())
    shape = ", ".join(f"{count:,} {_size_name(size, count)}" for size, count in sorted(sizes.items())) or "none"
    evidence = ", ".join(f"{count:,} by {how}" for how, count in grouping.evidence.items() if count)
    message = f"groups: {shape}{f' ({evidence})' if evidence else ''}; {single:,} single problems"
    found = [Finding(name, "groups", False, message, len(grouping.groups), details={"evidence": grouping.evidence})]
    return found + _ambiguous(name, dataset, grouping)


def _size_name(size: int, count: int) -> str:
    name = {2: "pair", 3: "triplet"}.get(size)
    return f"groups of {size}" if name is None else name if count == 1 else f"{name}s"


def _ambiguous(name: str, dataset: Dataset, grouping: Grouping) -> list[Finding]:
    if not grouping.ambiguous:
        return []
    examples = [
        f"rows {row + 1} and {others[0] + 1}: {dataset[row].text} / {dataset[others[0]].text}"
        for row, others in grouping.ambiguous.items()
        if row < others[0]
    ]
    message = f"{len(grouping.ambiguous):,} problems may be twins of others, and could not be decided"
    rows = [(row, *others) for row, others in grouping.ambiguous.items()]
    return [Finding(name, "groups", True, message, len(grouping.ambiguous), tuple(examples), {"rows": rows})]


def _leaks(name: str, dataset: Dataset) -> list[Finding]:
    tests = find_leaks(dataset)
    found = [
        Finding(
            name,
            "leaks",
            True,
            f"{leak.name}: {leak.says} in {leak.right:,} of {leak.n:,} ({leak.right / leak.n:.1%}, "
            f"chance {leak.chance:.0%}, p {_p(leak.p_corrected)})",
            leak.right,
            details=asdict(leak),
        )
        for leak in tests
        if leak.found
    ]
    if not tests:
        return [Finding(name, "leaks", False, "no answers to test for leaks", 0)]
    quiet = len(tests) - len(found)
    return [*found, Finding(name, "leaks", False, f"{quiet} of {len(tests)} tests found no leak", quiet)]


def _p(value: float) -> str:
    return "< 0.0001" if value < 0.0001 else f"= {value:.4f}"


def _rules(name: str, dataset: Dataset, limits: Limits | None) -> list[Finding]:
    members: dict[str, list[int]] = defaultdict(list)
    for row, problem in enumerate(dataset):
        members[f"row {row}" if problem.group is None else problem.group].append(row)
    broken: dict[str, list[Violation]] = defaultdict(list)
    for rows in members.values():
        for violation in broken_rules([dataset[row] for row in rows], rows, limits):
            broken[violation.rule].append(violation)
    return [
        Finding(
            name,
            "rules",
            True,
            f"rule {rule}: broken {len(violations):,} {'time' if len(violations) == 1 else 'times'}",
            len(violations),
            tuple(
                f"row {violation.rows[-1] + 1}: {violation.reason}: {dataset[violation.rows[-1]].text}"
                for violation in violations
            ),
            {"rows": [violation.rows for violation in violations]},
        )
        for rule, violations in broken.items()
    ]


def _structure(name: str, dataset: Dataset) -> list[Finding]:
    seen = structure(dataset)
    connectives = ", ".join(f"{word} {count / len(dataset):.0%}" for word, count in seen.connective.most_common(4))
    places = ", ".join(f"{place} {count / len(dataset):.0%}" for place, count in seen.blank_position.most_common())
    messages = [f"before the blank: {connectives}", f"the blank stands in the {places}"]
    if seen.groups:
        share = seen.special_last / seen.groups
        messages.insert(
            0, f"the special word is the last word in {seen.special_last} of {seen.groups} groups ({share:.0%})"
        )
    details = {
        "special_last": seen.special_last,
        "groups": seen.groups,
        "connective": dict(seen.connective.most_common()),
        "clauses": dict(sorted(seen.clauses.items())),
        "blank_position": dict(seen.blank_position),
    }
    return [Finding(name, "structure", False, "; ".join(messages), seen.special_last, details=details)]


def _duplicates(datasets: Sequence[Dataset]) -> list[Finding]:
    by_place: dict[tuple[str, int, int], list[Duplicate]] = defaultdict(list)
    for duplicate in find_duplicates(datasets):
        by_place[duplicate.kind, duplicate.first[0], duplicate.second[0]].append(duplicate)
    found = []
    for (kind, one, other), duplicates in by_place.items():
        names = datasets[one].card.name, datasets[other].card.name
        where = names[0] if one == other else f"{names[0]} and {names[1]}"
        examples = tuple(
            f"rows {d.first[1] + 1} and {d.second[1] + 1}: {datasets[one][d.first[1]].text} / "
            f"{datasets[other][d.second[1]].text}"
            for d in duplicates
        )
        message = f"{len(duplicates):,} {'pair' if len(duplicates) == 1 else 'pairs'} of problems {KINDS[kind]}"
        rows = [(d.first[1], d.second[1]) for d in duplicates]
        found.append(
            Finding(where, "duplicates", True, message, len(duplicates), examples, {"kind": kind, "rows": rows})
        )
    return found


def _copies(name: str, dataset: Dataset, corpus: Corpus, progress: Progress | None) -> list[Finding]:
    """What of a dataset stands in a corpus."""
    copies = find_copies(dataset, corpus, progress)
    found = []
    for kind, how in COPIES.items():
        some = [copy for copy in copies if copy.kind == kind]
        if some:
            subject = "1 problem stands" if len(some) == 1 else f"{len(some):,} problems stand"
            examples = tuple(f"row {c.row + 1}: {dataset[c.row].text} / {c.sentence}" for c in some)
            details = {"kind": kind, "corpus": corpus.name, "rows": [copy.row for copy in some]}
            message = f"{subject} in {corpus.name} {how}"
            found.append(Finding(name, CORPUS, True, message, len(some), examples, details))
    return found or [Finding(name, CORPUS, False, f"no problem stands in {corpus.name}", 0)]


def _facts(dataset: Dataset, trained: Sequence[Dataset], progress: Progress | None) -> Finding:
    """What each problem asks one to know, beside the nearest thing that training says: the most similar first."""
    facts = nearest_facts(dataset, trained, progress)
    alike = sum(fact.similarity >= ALIKE for fact in facts)
    pairs = sum(fact.shares_pair for fact in facts)
    mean = sum(fact.similarity for fact in facts) / max(len(facts), 1)
    message = (
        f"training says nearly what {alike:,} of {len(facts):,} problems ask for (similarity {ALIKE} or more; mean "
        f"{mean:.2f}), and has a special word with a candidate of {pairs:,}"
    )
    nearest = sorted(facts, key=lambda fact: (-fact.similarity, fact.row))
    examples = tuple(
        f"row {fact.row + 1}: {fact.fact} / {fact.training_fact or 'nothing'} ({fact.similarity:.2f})"
        for fact in nearest
    )
    details = {"train": [one.card.name for one in trained], "facts": [asdict(fact) for fact in facts]}
    return Finding(dataset.card.name, FACTS, False, message, alike, examples, details)
