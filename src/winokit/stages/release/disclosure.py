"""Hidden problems of other releases that a release would publish.

A problem of dev or training discloses a hidden one if it is a plain copy of it, or differs from it in one word with the
same candidates (`hidden_registry`). That is refused, except where

- the problem is public anyway: a set of the catalogue, or bundled with winokit;
- the hidden test is the one that this release replaces;
- it was retired in an earlier version of this release, and is brought back on purpose;
- it is revealed on purpose, by this release or by another before.
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
    """Problems that one release keeps hidden and another would publish."""

    test: HiddenTest
    givers: Mapping[int, tuple[Giver, ...]]
    """For each disclosed row of `test.secrets`, what discloses it."""

    def __len__(self) -> int:
        return len(self.givers)

    @property
    def rows(self) -> tuple[int, ...]:
        """The disclosed rows of `test.secrets`."""
        return tuple(sorted(self.givers))

    @property
    def said(self) -> str:
        """A phrase like "163 of the 190 problems that wino 1.0 keeps hidden"."""
        return f"{len(self):,} of the {plural(len(self.test.secrets), 'problem')} that {self.test.release} keeps hidden"

    @property
    def splits_said(self) -> str:
        """In which splits they are disclosed: "141 in training and 22 in dev"."""
        splits: Counter[str] = Counter()
        for givers in self.givers.values():
            splits.update({split for split, _ in givers})
        return join([f"{splits[split]:,} in {name}" for split, name in SPLIT_NAMES.items() if splits[split]])


def find_disclosures(tests: Iterable[HiddenTest], published: Mapping[str, Sequence[Problem]]) -> list[Disclosure]:
    """Return what the splits of a release disclose of each hidden test.

    Tests of which nothing is disclosed are left out.
    """
    tests = list(tests)
    holders: dict[str, list[tuple[int, int]]] = {}
    for number, test in enumerate(tests):
        for row, digests in enumerate(test.secrets):
            for digest in digests:
                holders.setdefault(digest, []).append((number, row))
    givers_by_test: list[dict[int, dict[Giver, None]]] = [{} for _ in tests]
    for split, problems in published.items():
        for problem in problems if holders else ():
            for digest in digests_of(problem):
                for number, row in holders.get(digest, ()):
                    givers_by_test[number].setdefault(row, {})[split, problem.id] = None
    disclosures = []
    for test, rows in zip(tests, givers_by_test, strict=True):
        if rows:
            givers_by_row = {row: tuple(givers) for row, givers in rows.items()}
            disclosures.append(Disclosure(test, givers_by_row))
    return disclosures


PUBLIC = "public"
KNOWN = "known"
REPLACED = "replaced"
REVEALED = "revealed"
REFUSED = "refused"


@dataclass(frozen=True)
class DisclosureRules:
    """Rules on what a release may disclose."""

    content_hash: str
    """Of the release that would disclose it."""
    public_ids: Collection[str] = ()
    """Ids of its problems that are public anyway."""
    reveal: bool = False
    """Whether everything may be disclosed."""
    replaced: Collection[str] = ()
    """Identities of the hidden tests that this release replaces."""
    versions: Collection[str] = ()
    """Identities of the hidden tests of its earlier versions."""
    returned: Collection[str] = ()
    """Ids of problems that were retired, and are brought back for training."""

    def fates(self, disclosure: Disclosure) -> dict[str, Disclosure]:
        """The parts of a disclosure by what becomes of them: public, known, replaced, revealed or refused."""
        parts: dict[str, dict[int, tuple[Giver, ...]]] = {}
        for row, givers in disclosure.givers.items():
            parts.setdefault(self._judge_row(disclosure.test, row, givers), {})[row] = givers
        return {fate: Disclosure(disclosure.test, rows) for fate, rows in parts.items()}

    def _judge_row(self, test: HiddenTest, row: int, givers: Sequence[Giver]) -> str:
        """Return what becomes of one disclosed row of a test."""
        ids = [name for _, name in givers]
        if all(name in self.public_ids for name in ids):
            return PUBLIC
        revealed_by = [each.content_hash for each in test.revealings if row in each.rows]
        if self.content_hash in revealed_by:
            return REVEALED  # by this very release, when it was made before: it says so again
        if revealed_by:
            return KNOWN
        if test.identity in self.replaced:
            return REPLACED
        is_returned = test.identity in self.versions and all(name in self.returned for name in ids)
        return REVEALED if self.reveal or is_returned else REFUSED


@dataclass(frozen=True)
class AllowedDisclosures:
    """Disclosures of a release that are allowed."""

    revealed: tuple[Disclosure, ...] = ()
    """On purpose: the card says so, and the registry remembers it."""
    notes: tuple[str, ...] = ()


def public_ids_of(problems: Sequence[Problem]) -> frozenset[str]:
    """Return the ids of problems that are public anyway.

    All inputs of a release are judged together.
    """
    rows = zip(problems, are_public(problems), strict=True)
    return frozenset(problem.id for problem, is_public in rows if is_public)


def allowed_disclosures(
    found: Sequence[Disclosure], rules: DisclosureRules, secret: bytes | None = None
) -> AllowedDisclosures:
    """The disclosures found, all of which are allowed. Raises BadInput, with the ways out, if one is not.

    `secret` is that of the release; None if the release has no hidden test.
    """
    fates = [rules.fates(disclosure) for disclosure in found]
    refused = [parts[REFUSED] for parts in fates if REFUSED in parts]
    if refused:
        raise BadInput(_explain_refusal(refused, secret))
    notes = []
    for fate, note in NOTES.items():
        if some := [parts[fate] for parts in fates if fate in parts]:
            notes.append(note.format(_describe_disclosures(some)))
    return AllowedDisclosures(tuple(parts[REVEALED] for parts in fates if REVEALED in parts), tuple(notes))


NOTES = {
    PUBLIC: "published here, but public anyway: {}",
    KNOWN: "published here, as in another release that revealed them: {}",
    REPLACED: "published here, by the release that replaces it: {}; its copies are no test any more",
    REVEALED: "revealed, published here with their answers: {}",
}


BY_IDS_ALONE = "{}: its release is not beside it, so of its hidden problems only copies to the letter are found"


def _describe_disclosures(disclosures: Sequence[Disclosure]) -> str:
    """Describe the disclosures: the largest in detail, the others in sum."""
    first, *others = sorted(disclosures, key=len, reverse=True)
    text = f"{first.said} ({first.splits_said})"
    if others:
        text += f", and {sum(map(len, others)):,} of {plural(len(others), 'other release')}"
    return text


def _explain_refusal(refused: Sequence[Disclosure], secret: bytes | None) -> str:
    """One line: what would be published, and what can be done."""
    largest = max(refused, key=len)
    ways = [
        *_list_ways_out(largest.test, secret),
        "if nobody uses that test, publish them on purpose (--set reveal=on)",
    ]
    return f"would be published with their answers: {_describe_disclosures(refused)}; ways out: {'; '.join(ways)}"


def _list_ways_out(test: HiddenTest, secret: bytes | None) -> Iterator[str]:
    """Yield ways to make a release that keeps another's test hidden."""
    places = [Path(folder) for folder in test.folders if Path(folder).is_dir()]
    if not places:
        yield f"find its secret (it was in {join(list(test.folders))}), and give that (--set secret=FILE)"
        return
    place = places[0]
    same_secret = f"the same secret (--set secret={from_here(place / SECRET)})"
    if secret is None:
        yield f"hide a test here too, without --test 0, with {same_secret}"
    elif not has_secret(place, secret):
        yield f"use {same_secret}"
    release = place.with_name(place.name.removesuffix(SUFFIX))
    if (release / MANIFEST).is_file():
        yield f"replace that release (--out {from_here(release)})"
        yield f"make its next version (winokit evolve {from_here(release)})"


@dataclass(frozen=True)
class DisclosureGuard:
    """Checks a release against the registry of hidden tests, and records it there."""

    registry: HiddenRegistry
    folder: Path
    """Of the release."""
    hidden: Path
    """Of its hidden labels."""
    identity: str | None
    """Of its hidden test; None if it has none."""
    replaced: frozenset[str]
    """Identities of the hidden tests that the release replaces."""

    @classmethod
    def before_writing(
        cls, registry: HiddenRegistry, folder: Path, hidden: Path, identity: str | None
    ) -> "DisclosureGuard":
        """The guard of a release whose folders still hold what it replaces."""
        abouts = []
        if (folder / MANIFEST).is_file():
            abouts.append(read_manifest(folder))
        if (hidden / RELEASE).is_file():
            abouts.append(labels_of(hidden))
        return cls(registry, folder, hidden, identity, frozenset(map(identity_of, abouts)) - {identity})

    def allowed(
        self, contents: ReleaseContents, problems: Sequence[Problem], rules: DisclosureRules, secret: bytes | None
    ) -> AllowedDisclosures:
        """Return what the release discloses. Raises BadInput if that is not allowed.

        `problems` are all that the release is made from, `secret` is its own.
        """
        published = {TRAIN: contents.training.problems, DEV: contents.files[DEV].problems}
        tests = self._list_other_tests()
        notes = tuple(BY_IDS_ALONE.format(test.folders[0]) for test in tests if test.is_known_by_ids)
        disclosures = find_disclosures(tests, published)
        if not disclosures:
            return AllowedDisclosures(notes=notes)
        rules = replace(rules, replaced=self.replaced, public_ids=public_ids_of(problems))
        allowed = allowed_disclosures(disclosures, rules, secret)
        return replace(allowed, notes=(*notes, *allowed.notes))

    def _list_other_tests(self) -> list[HiddenTest]:
        """The hidden tests of other releases: those of the registry, and those beside the output."""
        tests = {test.identity: test for test in self.registry.tests()}
        for place in dict.fromkeys((self.folder.resolve().parent, self.hidden.resolve().parent)):
            tests |= {test.identity: test for test in hidden_tests_beside(place, tests)}
        return [test for test in tests.values() if test.identity != self.identity]

    def remember(self, contents: ReleaseContents, about: Mapping[str, Any], allowed: AllowedDisclosures) -> None:
        """Write into the registry what the release hides, what it revealed, and that it replaced another.

        `about` is what its manifest says. To be called when everything else is written.
        """
        for disclosure in allowed.revealed:
            revealing = Revealing(release_name(about), str(about["content_hash"]), disclosure.rows)
            self.registry.save(disclosure.test.with_revealing(revealing))
        if self.identity is not None:
            self.registry.save(self._make_own_test(contents, about))
        for identity in self.replaced:
            self.registry.forget(identity, self.hidden)

    def _make_own_test(self, contents: ReleaseContents, about: Mapping[str, Any]) -> HiddenTest:
        """The hidden test of the release, with what the registry knows of it already."""
        assert self.identity is not None
        place = str(self.hidden.resolve())
        known = self.registry.find(self.identity)
        return HiddenTest(
            identity=self.identity,
            release=release_name(about),
            folders=(place,) if known is None else tuple(dict.fromkeys((place, *known.folders))),
            problems=tuple(map(digests_of, contents.files[TEST])),
            withheld=tuple(map(digests_of, contents.withheld)),
            gradings=() if known is None else known.gradings,
            revealings=() if known is None else known.revealings,
        )
