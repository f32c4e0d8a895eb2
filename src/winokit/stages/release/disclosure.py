"""Hidden problems of other releases that a release would publish.

A problem of dev or training discloses a hidden one if it is a copy of it, or has the same candidates and a text that
differs in one word (`hidden_registry`). A release that discloses problems is refused, unless

- they are public anyway: in a dataset of the catalogue, or bundled with winokit;
- their hidden test is the one that this release replaces;
- they were retired in an earlier version of this release, and are brought back on purpose;
- they are revealed on purpose, by this release or by another before.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winokit.data.known import are_public
from winokit.drawing.wording import join, plural
from winokit.errors import BadInput
from winokit.files import from_here
from winokit.problem import Problem
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.hidden import RELEASE, SECRET, has_secret, labels_of
from winokit.stages.release.hidden_registry import (
    SUFFIX,
    HiddenRegistry,
    HiddenTest,
    Revealing,
    digests_of,
    hidden_tests_beside,
    identity_of,
    release_name,
)
from winokit.stages.release.manifest import DEV, MANIFEST, TEST, TRAIN, read_manifest

SPLIT_NAMES = {TRAIN: "training", DEV: "dev"}
Giver = tuple[str, str]
"""The split and the id of a published problem that discloses a hidden one."""


@dataclass(frozen=True)
class Disclosure:
    """Problems of one release's hidden test that another release publishes.

    Its length is the number of hidden problems.
    """

    test: HiddenTest
    givers: Mapping[int, tuple[Giver, ...]]
    """The published problems that disclose each hidden one, by its index in `test.secrets`."""

    def __len__(self) -> int:
        return len(self.givers)

    @property
    def rows(self) -> tuple[int, ...]:
        """The indices of the disclosed problems in `test.secrets`, sorted."""
        return tuple(sorted(self.givers))

    @property
    def said(self) -> str:
        """A phrase like "163 of the 190 problems that wino 1.0 keeps hidden"."""
        return f"{len(self):,} of the {plural(len(self.test.secrets), 'problem')} that {self.test.release} keeps hidden"

    @property
    def splits_said(self) -> str:
        """A phrase on the splits that disclose them: "141 in training and 22 in dev"."""
        counts: Counter[str] = Counter()
        for givers in self.givers.values():
            counts.update({split for split, _ in givers})
        return join([f"{counts[split]:,} in {name}" for split, name in SPLIT_NAMES.items() if counts[split]])


def find_disclosures(tests: Iterable[HiddenTest], published: Mapping[str, Sequence[Problem]]) -> list[Disclosure]:
    """Find the problems of hidden tests that a release discloses.

    `published` has the release's problems by split. Tests of which nothing is disclosed are left out.
    """
    tests = list(tests)
    rows_by_digest = _index_digests(tests)
    if not rows_by_digest:
        return []
    givers_by_test: list[dict[int, dict[Giver, None]]] = [{} for _ in tests]
    for split, problems in published.items():
        for problem in problems:
            for digest in digests_of(problem):
                for test_index, row in rows_by_digest.get(digest, ()):
                    givers = givers_by_test[test_index].setdefault(row, {})
                    givers[split, problem.id] = None
    disclosures = []
    for test, givers_by_row in zip(tests, givers_by_test, strict=True):
        if givers_by_row:
            givers_of_row = {row: tuple(givers) for row, givers in givers_by_row.items()}
            disclosures.append(Disclosure(test, givers_of_row))
    return disclosures


def _index_digests(tests: Sequence[HiddenTest]) -> dict[str, list[tuple[int, int]]]:
    """Return the hidden problems that have each digest.

    They are pairs: index of the test, and index in its `secrets`.
    """
    rows_by_digest: dict[str, list[tuple[int, int]]] = {}
    for test_index, test in enumerate(tests):
        for row, digests in enumerate(test.secrets):
            for digest in digests:
                rows_by_digest.setdefault(digest, []).append((test_index, row))
    return rows_by_digest


PUBLIC = "public"
KNOWN = "known"
REPLACED = "replaced"
REVEALED = "revealed"
REFUSED = "refused"


@dataclass(frozen=True)
class DisclosureRules:
    """Rules on which hidden problems of other releases a release may publish."""

    content_hash: str
    """The content hash of the release."""
    public_ids: Collection[str] = ()
    """Ids of its problems that are public anyway."""
    reveal: bool = False
    """Whether the user allows all disclosures."""
    replaced: Collection[str] = ()
    """Identities of the hidden tests that the release replaces."""
    versions: Collection[str] = ()
    """Identities of the hidden tests of its earlier versions."""
    returned: Collection[str] = ()
    """Ids of problems that were retired, and are brought back for training."""

    def fates(self, disclosure: Disclosure) -> dict[str, Disclosure]:
        """Divide the problems of a disclosure by fate: the verdict on each.

        It is public if they are public anyway, known if another release revealed them before, replaced if their test is
        replaced by this release, revealed if they are published on purpose, else refused. A verdict without problems is
        left out.
        """
        parts: dict[str, dict[int, tuple[Giver, ...]]] = {}
        for row, givers in disclosure.givers.items():
            fate = self._decide_fate(disclosure.test, row, givers)
            parts.setdefault(fate, {})[row] = givers
        return {fate: Disclosure(disclosure.test, rows) for fate, rows in parts.items()}

    def _decide_fate(self, test: HiddenTest, row: int, givers: Sequence[Giver]) -> str:
        """Return the verdict on one hidden problem, by its index in `test.secrets`.

        `givers` are the published problems that disclose it. All of them must be public for it to be public, and all
        brought back for it to count as brought back. The first verdict that holds is taken, in the order of `fates`,
        except that what this same release revealed before is revealed again.
        """
        giver_ids = {name for _, name in givers}
        if all(name in self.public_ids for name in giver_ids):
            return PUBLIC
        revealing_hashes = [revealing.content_hash for revealing in test.revealings if row in revealing.rows]
        if self.content_hash in revealing_hashes:
            return REVEALED  # by this same release, when it was made before: its card must state it again
        if revealing_hashes:
            return KNOWN
        if test.identity in self.replaced:
            return REPLACED
        is_returned = test.identity in self.versions and all(name in self.returned for name in giver_ids)
        return REVEALED if self.reveal or is_returned else REFUSED


@dataclass(frozen=True)
class AllowedDisclosures:
    """The disclosures of a release, all of which are allowed."""

    revealed: tuple[Disclosure, ...] = ()
    """Problems that are revealed on purpose: the card states it, and the registry records it."""
    notes: tuple[str, ...] = ()
    """Notes for the user on all disclosures."""


def public_ids_of(problems: Sequence[Problem]) -> frozenset[str]:
    """Return the ids of problems that are public anyway.

    `problems` are all inputs of a release, which `are_public` judges together.
    """
    rows = zip(problems, are_public(problems), strict=True)
    return frozenset(problem.id for problem, is_public in rows if is_public)


def allowed_disclosures(
    found: Sequence[Disclosure], rules: DisclosureRules, secret: bytes | None = None
) -> AllowedDisclosures:
    """Check the disclosures of a release by the rules.

    Returns those that are revealed on purpose, with notes on all. Raises BadInput, with ways out, if any is not
    allowed. `secret` is that of the release; None if the release has no hidden test.
    """
    fates = [rules.fates(disclosure) for disclosure in found]
    refused_parts = _select_fate(fates, REFUSED)
    if refused_parts:
        raise BadInput(_explain_refusal(refused_parts, secret))
    notes = []
    for fate, note in NOTES.items():
        parts = _select_fate(fates, fate)
        if parts:
            notes.append(note.format(_describe_disclosures(parts)))
    return AllowedDisclosures(tuple(_select_fate(fates, REVEALED)), tuple(notes))


def _select_fate(fates: Sequence[Mapping[str, Disclosure]], fate: str) -> list[Disclosure]:
    """Return the parts of some disclosures with one verdict."""
    return [parts[fate] for parts in fates if fate in parts]


NOTES = {
    PUBLIC: "published here, but public anyway: {}",
    KNOWN: "published here, as in another release that revealed them: {}",
    REPLACED: "published here, by the release that replaces it: {}; its copies are no test any more",
    REVEALED: "revealed, published here with their answers: {}",
}


BY_IDS_ALONE = "{}: its release is not beside it, so of its hidden problems only copies to the letter are found"


def _describe_disclosures(disclosures: Sequence[Disclosure]) -> str:
    """Describe disclosures in a phrase: the largest in detail, the others in sum."""
    first, *others = sorted(disclosures, key=len, reverse=True)
    text = f"{first.said} ({first.splits_said})"
    if others:
        text += f", and {sum(map(len, others)):,} of {plural(len(others), 'other release')}"
    return text


def _explain_refusal(refused: Sequence[Disclosure], secret: bytes | None) -> str:
    """Return a message on refused disclosures, with ways out.

    `secret` is that of the release; None if the release has no hidden test.
    """
    largest = max(refused, key=len)
    ways = [
        *_list_ways_out(largest.test, secret),
        "if nobody uses that test, publish them on purpose (--set reveal=on)",
    ]
    return f"would be published with their answers: {_describe_disclosures(refused)}; ways out: {'; '.join(ways)}"


def _list_ways_out(test: HiddenTest, secret: bytes | None) -> Iterator[str]:
    """Yield ways to make a release that keeps the test of another release hidden.

    `secret` is that of the release to make; None if it has no hidden test.
    """
    labels_folder = next((Path(folder) for folder in test.folders if Path(folder).is_dir()), None)
    if labels_folder is None:
        yield f"find its secret (it was in {join(list(test.folders))}), and give that (--set secret=FILE)"
        return
    same_secret = f"the same secret (--set secret={from_here(labels_folder / SECRET)})"
    if secret is None:
        yield f"hide a test here too, without --test 0, with {same_secret}"
    elif not has_secret(labels_folder, secret):
        yield f"use {same_secret}"
    release = labels_folder.with_name(labels_folder.name.removesuffix(SUFFIX))
    if (release / MANIFEST).is_file():
        yield f"replace that release (--out {from_here(release)})"
        yield f"make its next version (winokit evolve {from_here(release)})"


@dataclass(frozen=True)
class DisclosureGuard:
    """Checks a release against the registry of hidden tests, and records it there."""

    registry: HiddenRegistry
    folder: Path
    """The folder of the release."""
    hidden: Path
    """The folder of its hidden labels."""
    identity: str | None
    """The identity of its hidden test. None if it has none."""
    replaced: frozenset[str]
    """Identities of the hidden tests that the release replaces."""

    @classmethod
    def before_writing(
        cls, registry: HiddenRegistry, folder: Path, hidden: Path, identity: str | None
    ) -> "DisclosureGuard":
        """Return the guard of a release that is not written yet.

        Releases that are in its folders now are those that it replaces. The parameters are the fields.
        """
        replaced = set()
        if (folder / MANIFEST).is_file():
            replaced.add(identity_of(read_manifest(folder)))
        if (hidden / RELEASE).is_file():
            replaced.add(identity_of(labels_of(hidden)))
        return cls(registry, folder, hidden, identity, frozenset(replaced - {identity}))

    def allowed(
        self, contents: ReleaseContents, problems: Sequence[Problem], rules: DisclosureRules, secret: bytes | None
    ) -> AllowedDisclosures:
        """Return the disclosures of the release, all allowed.

        Raises BadInput if one is not allowed.

        Parameters
        ----------
        contents
            The problems of each file of the release.
        problems
            All problems that the release is made from.
        rules
            Rules on disclosures, without `replaced` and `public_ids`, which are added here.
        secret
            The secret of the release; None if it has no hidden test.
        """
        tests = self._list_other_tests()
        notes = tuple(BY_IDS_ALONE.format(test.folders[0]) for test in tests if test.is_known_by_ids)
        published = {TRAIN: contents.training.problems, DEV: contents.files[DEV].problems}
        disclosures = find_disclosures(tests, published)
        if not disclosures:
            return AllowedDisclosures(notes=notes)
        rules = replace(rules, replaced=self.replaced, public_ids=public_ids_of(problems))
        allowed = allowed_disclosures(disclosures, rules, secret)
        return replace(allowed, notes=(*notes, *allowed.notes))

    def _list_other_tests(self) -> list[HiddenTest]:
        """Return the hidden tests of other releases.

        They are in the registry, and in folders beside this release.
        """
        tests = {test.identity: test for test in self.registry.tests()}
        parents = (self.folder.resolve().parent, self.hidden.resolve().parent)
        for folder in dict.fromkeys(parents):
            tests |= {test.identity: test for test in hidden_tests_beside(folder, tests)}
        return [test for test in tests.values() if test.identity != self.identity]

    def remember(self, contents: ReleaseContents, about: Mapping[str, Any], allowed: AllowedDisclosures) -> None:
        """Record the release's hidden test, revealed problems and replaced tests.

        `about` is the content of the manifest. Call it after everything else is written.
        """
        for disclosure in allowed.revealed:
            revealing = Revealing(release_name(about), str(about["content_hash"]), disclosure.rows)
            self.registry.save(disclosure.test.with_revealing(revealing))
        if self.identity is not None:
            self.registry.save(self._make_own_test(self.identity, contents, about))
        for identity in self.replaced:
            self.registry.forget(identity, self.hidden)

    def _make_own_test(self, identity: str, contents: ReleaseContents, about: Mapping[str, Any]) -> HiddenTest:
        """Return the registry's record of the release's own hidden test.

        Folders, gradings and revealed problems of an earlier record of the same test are kept.
        """
        test = HiddenTest(
            identity=identity,
            release=release_name(about),
            folders=(str(self.hidden.resolve()),),
            problems=tuple(map(digests_of, contents.files[TEST])),
            withheld=tuple(map(digests_of, contents.withheld)),
        )
        earlier = self.registry.find(identity)
        if earlier is None:
            return test
        folders = tuple(dict.fromkeys((*test.folders, *earlier.folders)))
        return replace(test, folders=folders, gradings=earlier.gradings, revealings=earlier.revealings)
