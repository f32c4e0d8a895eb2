"""What a hidden test has been asked, here and elsewhere, and whether it may be asked once more.

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
        """Raise BadInput if a submission is one too many; one that was graded before never is."""
        self._check(submission, None, rules.budget, "this test")
        self._check(submission, name_digest(name), rules.per_name, "this name")

    def _check(self, submission: str, name: str | None, most: int, whose: str) -> None:
        """The same for all gradings, or for those under a name."""
        asked, carried = self._asked(name), self.carried(name)
        if submission in asked or len(asked) + carried < most:
            return
        before = f", {carried:,} of them on {self._releases(name)}" if carried else ""
        raise BadInput(
            f"the budget of {whose} is spent: {most:,} different submissions{before}. The owner of the labels can "
            "raise it with --budget N, but each grading reveals a little about them"
        )

    def gradings(self, name: str | None = None) -> Gradings:
        """How often the test has been asked about, in all and under a name."""
        carried = self.carried()
        by_name = 0
        if name is not None:
            digest = name_digest(name)
            by_name = len(self._asked(digest)) + self.carried(digest)
        return Gradings(len(self._asked()) + carried, self.logged, by_name, carried)

    def carried(self, name: str | None = None) -> int:
        """How many gradings those of other tests count for, rounded up; `name` is a digest."""
        spent = sum(test.share * len(_submissions(test.gradings, name)) for test in self.elsewhere)
        return math.ceil(round(spent, 9))

    def _asked(self, name: str | None = None) -> set[str]:
        """The different submissions to this test; `name` is a digest."""
        return _submissions(self.own, name)

    def _releases(self, name: str | None) -> str:
        """The other releases on which something was asked."""
        named = (test.release for test in self.elsewhere if _submissions(test.gradings, name))
        return " and ".join(dict.fromkeys(named))

    def with_grading(self, submission: str, name: str | None) -> "SpentBudget":
        """The budget after one more grading."""
        own = dict.fromkeys((*self.own, GradedSubmission(submission, name_digest(name))))
        return replace(self, own=tuple(own), logged=self.logged + 1)


def _submissions(gradings: Iterable[GradedSubmission], name: str | None) -> set[str]:
    """Different submissions: all, or those under the name with this digest."""
    return {each.submission for each in gradings if name is None or each.name == name}


def name_digest(name: str | None) -> str:
    """A digest of a name, however that is spaced, capitalised and encoded; those without a name share one."""
    return hashlib.sha256(plain_name(name).encode()).hexdigest()[:16]


def known_test(registry: HiddenRegistry, release: Path, labels: HiddenPart) -> HiddenTest:
    """The hidden test of a release as the registry knows it, with this place and the gradings of its log.

    A release that was made by an earlier version, or on another machine, is new to the registry.
    """
    about = identifying_facts(release, labels)
    place = str(labels.folder.resolve())
    test = registry.find(identity_of(about)) or hidden_test_of(release, about, labels.folder)
    folders = tuple(dict.fromkeys((place, *test.folders)))
    return replace(test, folders=folders).with_gradings(_logged_gradings(labels.folder))


def identifying_facts(release: Path, labels: HiddenPart) -> dict[str, Any]:
    """What identifies a release's hidden test, from the manifest and from what stands beside its labels."""
    return {**read_manifest(release), **labels.release}


def _logged_gradings(folder: Path) -> tuple[GradedSubmission, ...]:
    """The gradings in the log beside hidden labels, each submission and name once."""
    rows = log_rows(folder)
    return tuple(dict.fromkeys(GradedSubmission(str(row["submission"]), name_digest(row.get("name"))) for row in rows))


def spent_budget(registry: HiddenRegistry, test: HiddenTest, labels: HiddenPart) -> SpentBudget:
    """What a test has been asked so far, here and elsewhere."""
    by_identity: dict[str, EarlierTest] = {}
    own = _logged_gradings(labels.folder)
    for other in (*_carried_tests(labels), *_overlapping_tests(registry, test)):
        if other.identity == test.identity:  # a version that kept the whole test
            own = tuple(dict.fromkeys((*own, *other.gradings)))
            continue
        known = by_identity.get(other.identity, other)
        gradings = tuple(dict.fromkeys((*known.gradings, *other.gradings)))
        by_identity[other.identity] = replace(known, share=max(known.share, other.share), gradings=gradings)
    uncounted = len(_submissions(test.gradings, None) - _submissions(own, None))
    return SpentBudget(own, len(log_rows(labels.folder)), uncounted, tuple(by_identity.values()))


def _overlapping_tests(registry: HiddenRegistry, test: HiddenTest) -> list[EarlierTest]:
    """The tests of the registry that have texts of this one, and were graded."""
    texts = [digests[0] for digests in test.problems]
    found = []
    for other in registry.tests():
        if other.identity == test.identity or not other.gradings:
            continue
        other_texts = other.texts
        shared = sum(text in other_texts for text in texts)
        if shared:
            found.append(EarlierTest(other.identity, other.release, shared / len(texts), other.gradings))
    return found


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
    own = CarriedTest(test.identity, test.release, before.ids, spent_budget(registry, test, before).own)
    tests = [each.limited_to(now.ids) for each in (own, *read_carried(before.folder))]
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
        return [
            CarriedTest(
                str(row["identity"]),
                str(row["release"]),
                tuple(map(str, row["ids"])),
                tuple(GradedSubmission(**grading) for grading in row["gradings"]),
            )
            for row in content["tests"]
        ]


def _carried_tests(labels: HiddenPart) -> list[EarlierTest]:
    """The earlier versions of a test that had problems of it, and were graded."""
    found = []
    for carried in read_carried(labels.folder):
        shared = len(set(carried.ids) & set(labels.ids)) if carried.gradings else 0
        if shared:
            found.append(EarlierTest(carried.identity, carried.release, shared / len(labels), carried.gradings))
    return found
