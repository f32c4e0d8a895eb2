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
    """Another hidden test that has problems of this one, with its gradings."""

    identity: str
    release: str
    """Name and version of its release."""
    share: float
    """Share of this test's problems that it has too."""
    gradings: tuple[GradedSubmission, ...]


@dataclass(frozen=True)
class SpentBudget:
    """The gradings that count against the budget of a hidden test."""

    own: tuple[GradedSubmission, ...]
    """Gradings of this very test, each submission and name once."""
    logged: int
    """Number of gradings in the log of this test, repetitions included."""
    uncounted: int = 0
    """Number of different submissions that are in the registry, but not in `own`."""
    elsewhere: tuple[EarlierTest, ...] = ()
    """Other tests that were graded and have problems of this one."""

    def check(self, submission: str, name: str | None, rules: LadderRules) -> None:
        """Raise BadInput if grading a submission would exceed the budget.

        A submission that was graded before never exceeds it. `submission` is a hash, `name` what it is entered under,
        or None.
        """
        self._check_limit(submission, None, rules.budget, "this test")
        self._check_limit(submission, name_digest(name), rules.per_name, "this name")

    def _check_limit(self, submission: str, digest: str | None, most: int, whose: str) -> None:
        """Raise BadInput if a new submission would be more than `most`.

        `digest` is that of a name, whose submissions alone count; None counts all. `whose` names the budget in the
        message.
        """
        submissions = self._find_submissions(digest)
        if submission in submissions:
            return
        carried = self.carried(digest)
        if len(submissions) + carried < most:
            return
        before = ""
        if carried:
            before = f", {carried:,} of them on {self._join_release_names(digest)}"
        raise BadInput(
            f"the budget of {whose} is spent: {most:,} different submissions{before}. The owner of the labels can "
            "raise it with --budget N, but each grading reveals a little about them"
        )

    def gradings(self, name: str | None = None) -> Gradings:
        """Count the gradings of the test, in all and under a name.

        None for the name counts none under it.
        """
        carried = self.carried()
        different = len(self._find_submissions()) + carried
        by_name = 0
        if name is not None:
            digest = name_digest(name)
            by_name = len(self._find_submissions(digest)) + self.carried(digest)
        return Gradings(different, self.logged, by_name, carried)

    def carried(self, digest: str | None = None) -> int:
        """Number of submissions to other tests, weighted by shared problems, rounded up.

        `digest` is that of a name, whose submissions alone count; None counts all.
        """
        weighted = [test.share * len(_select_submissions(test.gradings, digest)) for test in self.elsewhere]
        return math.ceil(round(sum(weighted), 9))

    def _find_submissions(self, digest: str | None = None) -> set[str]:
        """Return the different submissions to this test, optionally under a name's digest."""
        return _select_submissions(self.own, digest)

    def _join_release_names(self, digest: str | None) -> str:
        """Join the names of the other releases on which submissions were graded.

        `digest` is that of a name, whose submissions alone count; None counts all.
        """
        releases = (test.release for test in self.elsewhere if _select_submissions(test.gradings, digest))
        return " and ".join(dict.fromkeys(releases))

    def with_grading(self, submission: str, name: str | None) -> "SpentBudget":
        """Return the budget after one more grading of this test."""
        grading = GradedSubmission(submission, name_digest(name))
        return replace(self, own=_drop_repeated((*self.own, grading)), logged=self.logged + 1)


def _drop_repeated(gradings: Iterable[GradedSubmission]) -> tuple[GradedSubmission, ...]:
    """Return the gradings in the same order, each submission and name once."""
    return tuple(dict.fromkeys(gradings))


def _select_submissions(gradings: Iterable[GradedSubmission], digest: str | None) -> set[str]:
    """Return the different submissions: all, or those under a name's digest."""
    return {grading.submission for grading in gradings if digest is None or grading.name == digest}


def name_digest(name: str | None) -> str:
    """Digest of an entry's name, normalised in spaces, case and encoding.

    None, for a submission without a name, has the digest of the empty name.
    """
    return hashlib.sha256(plain_name(name).encode()).hexdigest()[:16]


def known_test(registry: HiddenRegistry, release: Path, labels: HiddenPart) -> HiddenTest:
    """Return the registry's record of a hidden test, brought up to date.

    The folder of the labels and the gradings of its log are added. If the registry has no record, because an earlier
    version or another machine made the release, it is made from the release. Nothing is written.
    """
    facts = identifying_facts(release, labels)
    labels_folder = str(labels.folder.resolve())
    test = registry.find(identity_of(facts)) or hidden_test_of(release, facts, labels.folder)
    folders = tuple(dict.fromkeys((labels_folder, *test.folders)))
    return replace(test, folders=folders).with_gradings(_read_log(labels.folder))


def identifying_facts(release: Path, labels: HiddenPart) -> dict[str, Any]:
    """Return the manifest of a release, updated with its hidden labels' release.json.

    `identity_of` and `release_name` read the identity and the name of the hidden test from it.
    """
    return {**read_manifest(release), **labels.release}


def _read_log(folder: Path) -> tuple[GradedSubmission, ...]:
    """Read the gradings in a log, each submission and name once."""
    gradings = []
    for row in log_rows(folder):
        digest = name_digest(row.get("name"))
        gradings.append(GradedSubmission(str(row["submission"]), digest))
    return _drop_repeated(gradings)


def spent_budget(registry: HiddenRegistry, test: HiddenTest, labels: HiddenPart) -> SpentBudget:
    """Collect the gradings that count against a test's budget, here and elsewhere.

    `test` is the registry's record of the test (`known_test`), and `labels` are its hidden labels.
    """
    by_identity: dict[str, EarlierTest] = {}
    own_gradings = _read_log(labels.folder)
    for other in (*_read_carried_tests(labels), *_find_overlapping(registry, test)):
        if other.identity == test.identity:  # a version that kept the whole test
            own_gradings = _drop_repeated((*own_gradings, *other.gradings))
            continue
        earlier = by_identity.get(other.identity, other)
        share = max(earlier.share, other.share)
        gradings = _drop_repeated((*earlier.gradings, *other.gradings))
        by_identity[other.identity] = replace(earlier, share=share, gradings=gradings)
    uncounted = _select_submissions(test.gradings, None) - _select_submissions(own_gradings, None)
    logged_count = len(log_rows(labels.folder))
    return SpentBudget(own_gradings, logged_count, len(uncounted), tuple(by_identity.values()))


def _find_overlapping(registry: HiddenRegistry, test: HiddenTest) -> list[EarlierTest]:
    """Return other graded tests of the registry with texts of this one."""
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
    """Gradings of an earlier version's test, and its problems in this one."""

    identity: str
    release: str
    """Name and version of the earlier release."""
    ids: tuple[str, ...]
    gradings: tuple[GradedSubmission, ...]

    def limited_to(self, ids: Iterable[str]) -> "CarriedTest":
        """Return it with only the problems that have one of these ids."""
        present = set(ids)
        return replace(self, ids=tuple(name for name in self.ids if name in present))


def carry_over(registry: HiddenRegistry, previous: Path, before: HiddenPart, now: HiddenPart) -> None:
    """Write the gradings of a release into `carried.json` for its next version.

    Gradings that the release carried over itself are included.

    Parameters
    ----------
    registry
        The record of the previous test is saved in it.
    previous
        The folder of the previous release.
    before
        The hidden labels of the previous release.
    now
        The hidden labels of the next version, in whose folder the file is written.
    """
    test = known_test(registry, previous, before)
    registry.save(test)
    own_gradings = spent_budget(registry, test, before).own
    own_test = CarriedTest(test.identity, test.release, before.ids, own_gradings)
    rows = []
    for carried in (own_test, *read_carried(before.folder)):
        rows.append(asdict(carried.limited_to(now.ids)))
    write_private(now.folder / CARRIED, result_bytes({"tests": rows}))


def read_carried(folder: Path) -> list[CarriedTest]:
    """Read the gradings of earlier versions from a folder of hidden labels.

    Empty if it has no `carried.json`. Raises BadInput if the file cannot be read.
    """
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
    """Read the graded earlier versions of a test with problems of it."""
    tests = []
    for carried in read_carried(labels.folder):
        shared = len(set(carried.ids) & set(labels.ids)) if carried.gradings else 0
        if shared:
            tests.append(EarlierTest(carried.identity, carried.release, shared / len(labels), carried.gradings))
    return tests
