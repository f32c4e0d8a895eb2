"""The registry of hidden problems: which release keeps which problem hidden, and what was asked about it.

Two releases of the same data, each with a secret of its own, give each other's hidden tests away: most of what one
hides stands in the other's dev or training, with its answer. Versions and copies of a release share hidden problems
too, and every grading on one of them is a question about all. So an owner's releases are remembered, in a folder that
only the owner can read (`hidden` in `$WINOKIT_STATE`, else in the user's state folder): a file for each hidden test,
named by what identifies it.

A file has digests of normalised texts (`overlap.copy_keys`), no text and no answer, and hashes of the submissions and
names that were graded. Changes are made under one lock for the whole folder, and each file is written whole, so that
two processes can use the registry at once. A file that cannot be read is an error: without it, a release could publish
what another hides.

Folders of hidden labels (`*.hidden`) that lie beside a new release count as well, in case the registry is on another
machine.
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
"""Of one problem: that of its text first, then those of its other keys."""


@dataclass(frozen=True, slots=True)
class GradedSubmission:
    """One submission that was graded on a hidden test, and the name that it was under."""

    submission: str
    name: str
    """A digest of the name."""


@dataclass(frozen=True, slots=True)
class Revealing:
    """Hidden problems that another release published on purpose."""

    release: str
    content_hash: str
    """Of the release that published them."""
    rows: tuple[int, ...]


@dataclass(frozen=True)
class HiddenTest:
    """The hidden test of a release as the registry knows it."""

    identity: str
    release: str
    """Name and version of the release, for people."""
    folders: tuple[str, ...]
    """Where its hidden labels are, or were."""
    problems: tuple[Digests, ...]
    """In the order of the test."""
    withheld: tuple[Digests, ...] = ()
    """Problems that the release left out since they would give hidden ones away."""
    gradings: tuple[GradedSubmission, ...] = ()
    revealings: tuple[Revealing, ...] = ()

    @property
    def secrets(self) -> tuple[Digests, ...]:
        """Everything that nobody should publish: hidden problems, then those withheld for their sake."""
        return self.problems + self.withheld

    @property
    def texts(self) -> frozenset[str]:
        """The digests of the hidden texts."""
        return frozenset(digests[0] for digests in self.problems)

    @property
    def is_known_by_ids(self) -> bool:
        """Whether only the ids of its problems are known, so that nothing but exact copies of them is found."""
        return bool(self.problems) and all(len(digests) == 1 for digests in self.problems)

    def with_gradings(self, more: Iterable[GradedSubmission]) -> "HiddenTest":
        """Return the test with more gradings. Known ones count once."""
        return replace(self, gradings=tuple(dict.fromkeys((*self.gradings, *more))))

    def with_revealing(self, revealing: Revealing) -> "HiddenTest":
        """Return the test with more published problems.

        A release that publishes them again counts once.
        """
        others = [known for known in self.revealings if known.content_hash != revealing.content_hash]
        return replace(self, revealings=(*others, revealing))


def digests_of(problem: Problem) -> Digests:
    """The digests of a problem: of its text, of its other keys, and of its public id."""
    keys = (*copy_keys(problem), f"id {problem.id.partition('.')[0]}")
    return tuple(map(_hash_key, keys))


def _hash_key(key: str) -> str:
    return hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES).hexdigest()


def identity_of(about: Mapping[str, Any]) -> str:
    """Return the identity of a hidden test, from its manifest or its labels.

    It is the commitment to test and answers, so that a copy of a release is the same test. Where an early version made
    none, it is a hash of what is public.
    """
    if COMMITMENT in about:
        return str(about[COMMITMENT])
    public = "\0".join(str(about.get(key)) for key in ("name", "version", "content_hash"))
    return hashlib.sha256(public.encode()).hexdigest()


def release_name(about: Mapping[str, Any]) -> str:
    """Name and version of a release."""
    return f"{about.get('name', 'a release')} {about.get('version', '')}".strip()


class HiddenRegistry:
    """The files of the registry. `open_registry` opens it for changes."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or user_state(FOLDER)

    def tests(self) -> list[HiddenTest]:
        """Every hidden test, sorted by file. Raises BadInput if a file cannot be read."""
        return [_read_test(path) for path in sorted(self.folder.glob("*.json"))]

    def find(self, identity: str) -> HiddenTest | None:
        """Return the test of that identity, or None."""
        path = self._get_path(identity)
        return _read_test(path) if path.is_file() else None

    def save(self, test: HiddenTest) -> None:
        """Write the file of a test."""
        write_private(self._get_path(test.identity), _test_bytes(test))

    def forget(self, identity: str, folder: Path) -> None:
        """Forget a test whose labels in a folder were replaced, unless they are in another folder too."""
        test = self.find(identity)
        if test is None:
            return
        left = tuple(known for known in test.folders if known != str(folder.resolve()) and Path(known).is_dir())
        if left:
            self.save(replace(test, folders=left))
        else:
            with refused(self._get_path(identity), "removed"):
                self._get_path(identity).unlink()

    def _get_path(self, identity: str) -> Path:
        return self.folder / f"{hashlib.sha256(identity.encode()).hexdigest()[: DIGEST_LENGTH * 2]}.json"


@contextmanager
def open_registry() -> Iterator[HiddenRegistry]:
    """Open the registry for changes. Other processes wait meanwhile."""
    registry = HiddenRegistry()
    hint = "the registry of hidden problems; name a folder you can write to in WINOKIT_STATE"
    with private(), _with_hint(hint), refused(registry.folder, "made"):
        registry.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(registry.folder / LOCK):
        yield registry


@contextmanager
def _with_hint(hint: str) -> Iterator[None]:
    """Add a way out to what is refused."""
    try:
        yield
    except BadInput as error:
        raise BadInput(f"{error}: {hint}") from None


def _test_bytes(test: HiddenTest) -> bytes:
    """The content of a test's file."""
    content = {
        "identity": test.identity,
        "release": test.release,
        "folders": list(test.folders),
        "gradings": [{"submission": each.submission, "name": each.name} for each in test.gradings],
        "revealings": [
            {"release": each.release, "content_hash": each.content_hash, "rows": list(each.rows)}
            for each in test.revealings
        ],
        "problems": ["".join(digests) for digests in test.problems],
        "withheld": ["".join(digests) for digests in test.withheld],
    }
    return result_bytes(content)


def _read_test(path: Path) -> HiddenTest:
    """The test in a file. Raises BadInput if it is not what `_test_bytes` writes."""
    with _with_hint(RESTORE):
        content = read_object(path)
    try:
        if content["schema"] != SCHEMA:
            raise ValueError(f"schema {content['schema']!r} is not {SCHEMA}: written by another version of winokit")
        test = HiddenTest(
            identity=_check_text(content["identity"]),
            release=_check_text(content["release"]),
            folders=tuple(map(_check_text, content["folders"])),
            problems=tuple(map(_cut_digests, content["problems"])),
            withheld=tuple(map(_cut_digests, content["withheld"])),
            gradings=tuple(map(_parse_grading, content["gradings"])),
            revealings=tuple(map(_parse_revealing, content["revealings"])),
        )
        if any(not 0 <= row < len(test.secrets) for each in test.revealings for row in each.rows):
            raise ValueError("a revealed problem that is not in the test")
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            f"{path}: not a record of hidden problems ({type(error).__name__}: {error}): {RESTORE}"
        ) from None
    return test


def _parse_grading(row: Mapping[str, Any]) -> GradedSubmission:
    return GradedSubmission(_check_text(row["submission"]), _check_text(row["name"]))


def _parse_revealing(row: Mapping[str, Any]) -> Revealing:
    return Revealing(_check_text(row["release"]), _check_text(row["content_hash"]), tuple(map(int, row["rows"])))


def _check_text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, found {type(value).__name__}")
    return value


def _cut_digests(joined: object) -> Digests:
    """The digests of a problem, from one string of all."""
    text = _check_text(joined)
    if not DIGESTS.fullmatch(text):
        raise ValueError("expected digests of a problem")
    return tuple(text[start : start + DIGEST_LENGTH] for start in range(0, len(text), DIGEST_LENGTH))


def hidden_test_of(release: Path, about: Mapping[str, Any], folder: Path) -> HiddenTest:
    """The hidden test of a release, by the public texts of its problems.

    Parameters
    ----------
    about
        What stands beside the hidden labels, or the manifest.
    folder
        Where the hidden labels are.
    """
    problems = read_problems(release, TEST)
    return HiddenTest(
        identity_of(about), release_name(about), (str(folder.resolve()),), tuple(map(digests_of, problems))
    )


def hidden_tests_beside(folder: Path, known: Collection[str] = ()) -> list[HiddenTest]:
    """The hidden tests whose labels lie in a folder, as `NAME.hidden`, but those whose identity is known.

    Where the release itself is not there, problems are known by their ids alone, so that only exact copies are found.
    """
    tests = []
    for place in sorted(folder.glob(f"*{SUFFIX}")):
        _check_owned(place)
        if (place / RELEASE).is_file() and (place / LABELS).is_file():
            about = labels_of(place)
            if identity_of(about) not in known:
                tests.append(_read_test_in(place, about))
    return tests


def _check_owned(place: Path) -> None:
    """Refuse labels and their secret that do not say any more which release they belong to."""
    if (place / LABELS).is_file() and (place / SECRET).is_file() and not (place / RELEASE).is_file():
        raise BadInput(
            f"{place}: hidden labels without {RELEASE}, which says of which release they are: restore it, or move that "
            "folder elsewhere if nobody needs its test any more"
        )


def _read_test_in(place: Path, about: Mapping[str, Any]) -> HiddenTest:
    """Return the test whose hidden labels are in a folder. `about` says of which release."""
    release = place.with_name(place.name.removesuffix(SUFFIX))
    if _is_release_of(release, identity_of(about)):
        return hidden_test_of(release, about, place)
    ids = (row[0].partition(".")[0] for row in read_labels(place))
    problems = tuple((_hash_key(f"id {name}"),) for name in ids)
    return HiddenTest(identity_of(about), release_name(about), (str(place.resolve()),), problems)


def _is_release_of(release: Path, identity: str) -> bool:
    """Whether a folder is the release with that hidden test.

    False if it cannot be read.
    """
    try:
        return identity_of(read_manifest(release)) == identity
    except BadInput:
        return False
