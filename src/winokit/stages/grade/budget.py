"""The budget of a hidden test: its gradings here and elsewhere, and what is left.

Whoever may ask often enough can change one prediction at a time and read labels off the scores. So a test has a budget
of different submissions, and a name a part of it. The same predictions graded again tell nothing new and count once.

A grading is a question about hidden answers wherever it was made. What earlier versions were asked is in `carried.json`
beside the hidden labels, and what other releases were asked that hide some of the same problems is in the registry of
hidden problems. Such a grading counts by the share of this test's problems that it asked about: of a test half of which
is new, ten gradings of the version before have spent five. Of this very test the log beside its labels counts; what the
registry knows beyond that (of a copy, or before a log was deleted) is said, and counts nothing.
"""

import hashlib
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from winokit.errors import BadInput, refusing
from winokit.files import SCHEMA, read_object, result_bytes
from winokit.stages.grade.ladder import LadderRules
from winokit.stages.grade.record import Gradings, log_rows, plain_name
from winokit.stages.release.hidden import HiddenPart, write_private
from winokit.stages.release.hidden_registry import (
    GradedSubmission,
    HiddenRegistry,
    HiddenTest,
    hidden_test_of,
    identity_of,
)
from winokit.stages.release.manifest import read_manifest

CARRIED = "carried.json"


@dataclass(frozen=True)
class EarlierTest:
    """A test that was graded elsewhere and shares problems with this one."""

    identity: str
    release: str
    share: float
    """Of this test's problems, how many it has too."""
    gradings: tuple[GradedSubmission, ...]


@dataclass(frozen=True)
class SpentBudget:
    """The gradings that count for a test."""

    own: tuple[GradedSubmission, ...]
    """Of this very test, each submission and name once."""
    logged: int
    """How often it was graded here, repetitions included."""
    uncounted: int = 0
    """Different submissions that the registry knows beyond those."""
    elsewhere: tuple[EarlierTest, ...] = ()

    def check(self, submission: str, name: str | None, rules: LadderRules) -> None:
        """Raise BadInput if a submission exceeds the budget.

        One that was graded before never does.
        """
        self._check_limit(submission, None, rules.budget, "this test")
        self._check_limit(submission, name_digest(name), rules.per_name, "this name")

    def _check_limit(self, submission: str, name: str | None, most: int, whose: str) -> None:
        """The same for all gradings, or for those under a name."""
        submissions = self._find_submissions(name)
        carried = self.carried(name)
        if submission in submissions or len(submissions) + carried < most:
            return
        before = f", {carried:,} of them on {self._name_releases(name)}" if carried else ""
        raise BadInput(
            f"the budget of {whose} is spent: {most:,} different submissions{before}. The owner of the labels can "
            "raise it with --budget N, but each grading reveals a little about them"
        )

    def gradings(self, name: str | None = None) -> Gradings:
        """Number of gradings of the test, in all and under a name."""
        carried = self.carried()
        by_name = 0
        if name is not None:
            digest = name_digest(name)
            by_name = len(self._find_submissions(digest)) + self.carried(digest)
        return Gradings(len(self._find_submissions()) + carried, self.logged, by_name, carried)

    def carried(self, name: str | None = None) -> int:
        """Number of gradings that those of other tests count for, rounded up.

        `name` is a digest.
        """
        spent = sum(test.share * len(_select_submissions(test.gradings, name)) for test in self.elsewhere)
        return math.ceil(round(spent, 9))

    def _find_submissions(self, name: str | None = None) -> set[str]:
        """Distinct submissions to this test. `name` is a digest."""
        return _select_submissions(self.own, name)

    def _name_releases(self, name: str | None) -> str:
        """The other releases on which something was asked."""
        releases = (test.release for test in self.elsewhere if _select_submissions(test.gradings, name))
        return " and ".join(dict.fromkeys(releases))

    def with_grading(self, submission: str, name: str | None) -> "SpentBudget":
        """The budget after one more grading."""
        own_gradings = dict.fromkeys((*self.own, GradedSubmission(submission, name_digest(name))))
        return replace(self, own=tuple(own_gradings), logged=self.logged + 1)


def _select_submissions(gradings: Iterable[GradedSubmission], name: str | None) -> set[str]:
    """Different submissions: all, or those under the name with this digest."""
    return {each.submission for each in gradings if name is None or each.name == name}


def name_digest(name: str | None) -> str:
    """Digest of a name, normalised in spaces, case and encoding.

    All submissions without a name share one.
    """
    return hashlib.sha256(plain_name(name).encode()).hexdigest()[:16]


def known_test(registry: HiddenRegistry, release: Path, labels: HiddenPart) -> HiddenTest:
    """The hidden test of a release as the registry knows it, with this place and the gradings of its log.

    A release that was made by an earlier version, or on another machine, is new to the registry.
    """
    facts = identifying_facts(release, labels)
    place = str(labels.folder.resolve())
    test = registry.find(identity_of(facts)) or hidden_test_of(release, facts, labels.folder)
    folders = tuple(dict.fromkeys((place, *test.folders)))
    return replace(test, folders=folders).with_gradings(_read_logged(labels.folder))


def identifying_facts(release: Path, labels: HiddenPart) -> dict[str, Any]:
    """Facts that identify a release's hidden test."""
    return {**read_manifest(release), **labels.release}


def _read_logged(folder: Path) -> tuple[GradedSubmission, ...]:
    """The gradings in the log beside hidden labels, each submission and name once."""
    rows = log_rows(folder)
    return tuple(dict.fromkeys(GradedSubmission(str(row["submission"]), name_digest(row.get("name"))) for row in rows))


def spent_budget(registry: HiddenRegistry, test: HiddenTest, labels: HiddenPart) -> SpentBudget:
    """Gradings of a test so far, here and elsewhere."""
    by_identity: dict[str, EarlierTest] = {}
    own = _read_logged(labels.folder)
    for other in (*_read_carried_tests(labels), *_find_overlapping(registry, test)):
        if other.identity == test.identity:  # a version that kept the whole test
            own = tuple(dict.fromkeys((*own, *other.gradings)))
            continue
        known_other = by_identity.get(other.identity, other)
        gradings = tuple(dict.fromkeys((*known_other.gradings, *other.gradings)))
        by_identity[other.identity] = replace(known_other, share=max(known_other.share, other.share), gradings=gradings)
    uncounted = len(_select_submissions(test.gradings, None) - _select_submissions(own, None))
    return SpentBudget(own, len(log_rows(labels.folder)), uncounted, tuple(by_identity.values()))


def _find_overlapping(registry: HiddenRegistry, test: HiddenTest) -> list[EarlierTest]:
    """The tests of the registry that have texts of this one, and were graded."""
    texts = [digests[0] for digests in test.problems]
    overlapping = []
    for other in registry.tests():
        if other.identity == test.identity or not other.gradings:
            continue
        other_texts = other.texts
        shared = sum(text in other_texts for text in texts)
        if shared:
            overlapping.append(EarlierTest(other.identity, other.release, shared / len(texts), other.gradings))
    return overlapping


@dataclass(frozen=True)
class CarriedTest:
    """The gradings of an earlier version, and which problems of this test it had."""

    identity: str
    release: str
    ids: tuple[str, ...]
    gradings: tuple[GradedSubmission, ...]

    def limited_to(self, ids: Iterable[str]) -> "CarriedTest":
        """The same for a test that has only these problems."""
        present = set(ids)
        return replace(self, ids=tuple(name for name in self.ids if name in present))


def carry_over(registry: HiddenRegistry, previous: Path, before: HiddenPart, now: HiddenPart) -> None:
    """Write what the version before was asked, and what it carried itself, beside the hidden labels of the next."""
    test = known_test(registry, previous, before)
    registry.save(test)
    own_test = CarriedTest(test.identity, test.release, before.ids, spent_budget(registry, test, before).own)
    tests = [each.limited_to(now.ids) for each in (own_test, *read_carried(before.folder))]
    write_private(now.folder / CARRIED, result_bytes({"tests": [asdict(each) for each in tests]}))


def read_carried(folder: Path) -> list[CarriedTest]:
    """The gradings of earlier versions that are beside hidden labels. Raises BadInput if they cannot be read."""
    path = folder / CARRIED
    if not path.exists():
        return []
    content = read_object(path)
    with refusing(f"{path}: not what winokit release writes", KeyError, TypeError, ValueError):
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']!r} is not {SCHEMA}")
        tests = []
        for row in content["tests"]:
            gradings = tuple(GradedSubmission(**grading) for grading in row["gradings"])
            ids = tuple(map(str, row["ids"]))
            tests.append(CarriedTest(str(row["identity"]), str(row["release"]), ids, gradings))
        return tests


def _read_carried_tests(labels: HiddenPart) -> list[EarlierTest]:
    """The earlier versions of a test that had problems of it, and were graded."""
    tests = []
    for carried in read_carried(labels.folder):
        shared = len(set(carried.ids) & set(labels.ids)) if carried.gradings else 0
        if shared:
            tests.append(EarlierTest(carried.identity, carried.release, shared / len(labels), carried.gradings))
    return tests
