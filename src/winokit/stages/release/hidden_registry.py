"""The registry of hidden problems: which releases keep them hidden, and which submissions were graded on them.

Two releases of the same data with different secrets reveal each other's hidden tests: most hidden problems of one are
in the other's dev or training, with their answers. Versions and copies of a release share hidden problems too, and
every grading on one of them reveals something about all. So an owner's releases are recorded in a folder that only the
owner can read (`hidden` in `$WINOKIT_STATE`, else in the user's state folder). It has a file for each hidden test,
named by a hash of the test's identity.

A file has digests of normalised texts (`overlap.copy_keys`), but no text and no answer, and hashes of the submissions
and names that were graded. Changes are made under one lock for the whole folder, and each file is written as a whole,
so that two processes can use the registry at once. A file that cannot be read is an error: without it, a release could
publish problems that another hides.

Folders of hidden labels (`*.hidden`) beside a new release count as well, in case the registry is on another machine.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from winokit.errors import BadInput
from winokit.files import SCHEMA, locked, private, read_object, refused, result_bytes, user_state
from winokit.methods.overlap import copy_keys
from winokit.problem import Problem
from winokit.stages.release.hidden import COMMITMENT, LABELS, RELEASE, SECRET, labels_of, read_labels, write_private
from winokit.stages.release.manifest import TEST, read_manifest, read_problems

FOLDER = "hidden"
LOCK = "lock"
SUFFIX = ".hidden"
RESTORE = "restore it, or remove it if nobody needs that release's test any more"
DIGEST_BYTES = 8
DIGEST_LENGTH = 2 * DIGEST_BYTES
DIGESTS = re.compile(rf"(?:[0-9a-f]{{{DIGEST_LENGTH}}})+")
Digests = tuple[str, ...]
"""The digests of one problem: of its text first, then of its other keys (`digests_of`)."""


@dataclass(frozen=True, slots=True)
class GradedSubmission:
    """One submission that was graded on a hidden test, under a name."""

    submission: str
    """A hash of the predictions."""
    name: str
    """A digest of the entry's name."""


@dataclass(frozen=True, slots=True)
class Revealing:
    """Hidden problems that another release published on purpose."""

    release: str
    """Name and version of the release that published them."""
    content_hash: str
    """The content hash of that release."""
    rows: tuple[int, ...]
    """Indices of the published problems in `HiddenTest.secrets`."""


@dataclass(frozen=True)
class HiddenTest:
    """The registry's record of a release's hidden test."""

    identity: str
    """The commitment to the hidden labels, or a hash (`identity_of`)."""
    release: str
    """Name and version of the release, for people."""
    folders: tuple[str, ...]
    """The folders that its hidden labels are in, or were."""
    problems: tuple[Digests, ...]
    """The digests of each hidden problem, in the order of the test."""
    withheld: tuple[Digests, ...] = ()
    """The digests of each problem that the release left out because it reveals an answer of the test."""
    gradings: tuple[GradedSubmission, ...] = ()
    revealings: tuple[Revealing, ...] = ()

    @property
    def secrets(self) -> tuple[Digests, ...]:
        """Digests of the problems that must not be published: hidden, then withheld."""
        return self.problems + self.withheld

    @property
    def texts(self) -> frozenset[str]:
        """The digests of the hidden texts."""
        return frozenset(digests[0] for digests in self.problems)

    @property
    def is_known_by_ids(self) -> bool:
        """Whether only ids of its problems are recorded.

        By these, only exact copies are found.
        """
        return bool(self.problems) and all(len(digests) == 1 for digests in self.problems)

    def with_gradings(self, more: Iterable[GradedSubmission]) -> "HiddenTest":
        """Return the test with more gradings, each submission and name once."""
        return replace(self, gradings=tuple(dict.fromkeys((*self.gradings, *more))))

    def with_revealing(self, revealing: Revealing) -> "HiddenTest":
        """Return the test with a record of published problems.

        It replaces an earlier record of the same release.
        """
        others = [earlier for earlier in self.revealings if earlier.content_hash != revealing.content_hash]
        return replace(self, revealings=(*others, revealing))


def digests_of(problem: Problem) -> Digests:
    """Return the digests of a problem's text, other keys, and public id.

    Two problems with a common digest reveal each other: they are copies, or have the same candidates and texts that
    differ in one word (`overlap.copy_keys`).
    """
    keys = (*copy_keys(problem), f"id {problem.id.partition('.')[0]}")
    return tuple(map(_hash_key, keys))


def _hash_key(key: str) -> str:
    """Return the digest of a key: 16 hexadecimal digits."""
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


def identity_of(about: Mapping[str, Any]) -> str:
    """Return the identity of a release's hidden test.

    It is the commitment to the hidden labels, so that a copy of a release has the same test. If an early version made
    the release without one, it is a hash of name, version and content hash. `about` is the manifest, or release.json
    of the hidden labels.
    """
    if COMMITMENT in about:
        return str(about[COMMITMENT])
    public = "\0".join(str(about.get(key)) for key in ("name", "version", "content_hash"))
    return hashlib.sha256(public.encode()).hexdigest()


def release_name(about: Mapping[str, Any]) -> str:
    """Return name and version of a release, from its manifest or release.json."""
    return f"{about.get('name', 'a release')} {about.get('version', '')}".strip()


class HiddenRegistry:
    """The registry: a folder with a file for each hidden test.

    The default folder is in the user's state folder. Use `open_registry` to make changes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or user_state(FOLDER)

    def tests(self) -> list[HiddenTest]:
        """Read every hidden test, sorted by file.

        Raises BadInput if a file cannot be read.
        """
        return [_read_test(path) for path in sorted(self.folder.glob("*.json"))]

    def find(self, identity: str) -> HiddenTest | None:
        """Return the test with this identity, or None.

        Raises BadInput if its file cannot be read.
        """
        path = self._get_path(identity)
        return _read_test(path) if path.is_file() else None

    def save(self, test: HiddenTest) -> None:
        """Write the file of a test, or replace it."""
        write_private(self._get_path(test.identity), _test_bytes(test))

    def forget(self, identity: str, folder: Path) -> None:
        """Remove a test whose labels in a folder were replaced by others.

        If it has labels in another folder that is still there, it stays, without the folders that are not.
        """
        test = self.find(identity)
        if test is None:
            return
        path = self._get_path(identity)
        other_folders = [name for name in test.folders if name != str(folder.resolve())]
        existing_folders = tuple(name for name in other_folders if Path(name).is_dir())
        if existing_folders:
            self.save(replace(test, folders=existing_folders))
        else:
            with refused(path, "removed"):
                path.unlink()

    def _get_path(self, identity: str) -> Path:
        """Return the path of a test's file."""
        digest = hashlib.sha256(identity.encode()).hexdigest()
        return self.folder / f"{digest[: DIGEST_LENGTH * 2]}.json"


@contextmanager
def open_registry() -> Iterator[HiddenRegistry]:
    """Open the registry for changes, while other processes wait.

    Raises BadInput if its folder cannot be made.
    """
    registry = HiddenRegistry()
    hint = "the registry of hidden problems; name a folder you can write to in WINOKIT_STATE"
    with private(), _with_hint(hint), refused(registry.folder, "made"):
        registry.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(registry.folder / LOCK):
        yield registry


@contextmanager
def _with_hint(hint: str) -> Iterator[None]:
    """Add a hint to the message of a BadInput that is raised inside."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{error}: {hint}") from None


def _test_bytes(test: HiddenTest) -> bytes:
    """Return the content of a test's file."""
    gradings = [{"submission": grading.submission, "name": grading.name} for grading in test.gradings]
    revealings = []
    for revealing in test.revealings:
        rows = list(revealing.rows)
        revealings.append({"release": revealing.release, "content_hash": revealing.content_hash, "rows": rows})
    content = {
        "identity": test.identity,
        "release": test.release,
        "folders": list(test.folders),
        "gradings": gradings,
        "revealings": revealings,
        "problems": ["".join(digests) for digests in test.problems],
        "withheld": ["".join(digests) for digests in test.withheld],
    }
    return result_bytes(content)


def _read_test(path: Path) -> HiddenTest:
    """Read the file of a test.

    Raises BadInput if it is not what `_test_bytes` makes.
    """
    with _with_hint(RESTORE):
        content = read_object(path)
    try:
        return _parse_test(content)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{path}: not a record of hidden problems ({type(error).__name__}: {error}): {RESTORE}"
        ) from None


def _parse_test(content: Mapping[str, Any]) -> HiddenTest:
    """Return the test of a file's content.

    Raises KeyError, TypeError or ValueError if it is not what `_test_bytes` makes.
    """
    if content["schema"] != SCHEMA:
        raise ValueError(f"schema {content['schema']!r} is not {SCHEMA}: written by another version of winokit")
    test = HiddenTest(
        identity=_check_text(content["identity"]),
        release=_check_text(content["release"]),
        folders=tuple(map(_check_text, content["folders"])),
        problems=tuple(map(_split_digests, content["problems"])),
        withheld=tuple(map(_split_digests, content["withheld"])),
        gradings=tuple(map(_parse_grading, content["gradings"])),
        revealings=tuple(map(_parse_revealing, content["revealings"])),
    )
    problem_count = len(test.secrets)
    for revealing in test.revealings:
        if any(not 0 <= row < problem_count for row in revealing.rows):
            raise ValueError("a revealed problem that is not in the test")
    return test


def _parse_grading(row: Mapping[str, Any]) -> GradedSubmission:
    """Return a grading from its JSON object."""
    return GradedSubmission(_check_text(row["submission"]), _check_text(row["name"]))


def _parse_revealing(row: Mapping[str, Any]) -> Revealing:
    """Return a record of published problems from its JSON object."""
    rows = tuple(map(int, row["rows"]))
    return Revealing(_check_text(row["release"]), _check_text(row["content_hash"]), rows)


def _check_text(value: object) -> str:
    """Return a value that must be text, or raise TypeError."""
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _split_digests(joined: object) -> Digests:
    """Return the digests of a problem from one string that joins them.

    Raises TypeError or ValueError if it is no such string.
    """
    text = _check_text(joined)
    if not DIGESTS.fullmatch(text):
        raise ValueError("expected digests of a problem")
    return tuple(text[start : start + DIGEST_LENGTH] for start in range(0, len(text), DIGEST_LENGTH))


def hidden_test_of(release: Path, about: Mapping[str, Any], folder: Path) -> HiddenTest:
    """Return the hidden test of a release, from its public texts.

    It has no gradings and no withheld problems.

    Parameters
    ----------
    release
        The folder of the release.
    about
        The manifest, or release.json of the hidden labels.
    folder
        The folder of the hidden labels.
    """
    digests = tuple(map(digests_of, read_problems(release, TEST)))
    return HiddenTest(identity_of(about), release_name(about), (str(folder.resolve()),), digests)


def hidden_tests_beside(folder: Path, skip: Collection[str] = ()) -> list[HiddenTest]:
    """Return the hidden tests whose labels are in a folder, as `NAME.hidden`.

    Tests with an identity in `skip` are left out. If the release itself is not there, its problems are given by their
    ids alone, by which only exact copies are found. Raises BadInput if labels do not state their release.
    """
    tests = []
    for labels_folder in sorted(folder.glob(f"*{SUFFIX}")):
        _check_states_release(labels_folder)
        if (labels_folder / RELEASE).is_file() and (labels_folder / LABELS).is_file():
            facts = labels_of(labels_folder)
            if identity_of(facts) not in skip:
                tests.append(_read_test_in(labels_folder, facts))
    return tests


def _check_states_release(folder: Path) -> None:
    """Raise BadInput if hidden labels and secret have no release.json."""
    if (folder / LABELS).is_file() and (folder / SECRET).is_file() and not (folder / RELEASE).is_file():
        raise BadInput(
            f"{folder}: hidden labels without {RELEASE}, which says of which release they are: restore it, or move "
            "that folder elsewhere if nobody needs its test any more"
        )


def _read_test_in(folder: Path, about: Mapping[str, Any]) -> HiddenTest:
    """Return the test whose hidden labels are in a folder.

    `about` is its release.json. The texts are read from the release beside it, if that is there.
    """
    identity = identity_of(about)
    release = folder.with_name(folder.name.removesuffix(SUFFIX))
    if _is_release_of(release, identity):
        return hidden_test_of(release, about, folder)
    digests = []
    for public_id, *_ in read_labels(folder):
        base_id = public_id.partition(".")[0]
        digests.append((_hash_key(f"id {base_id}"),))
    return HiddenTest(identity, release_name(about), (str(folder.resolve()),), tuple(digests))


def _is_release_of(release: Path, identity: str) -> bool:
    """Whether a folder is the release whose hidden test has this identity.

    False if it cannot be read.
    """
    try:
        return identity_of(read_manifest(release)) == identity
    except BadInput:
        return False
