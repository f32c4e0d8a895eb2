"""The answers of a hidden test, kept in a folder of their own beside the release: `DIR.hidden/`.

`release.json` states which release they belong to. `labels.jsonl` has one row for each line of `winogrande/test.jsonl`:
the public id, the answer as the index of the right candidate, from 0, the group or null, and the number of the unit.
Problems of one unit are not independent, and count once in an interval or a test (`Dataset.units`). Releases of earlier
versions have no units. `secret` is the key that splits and orders were drawn from. `checks.json` has checks of the test
that the card may not state. Only their owner can read the files. Labels of another release are refused when they are
read, and so are labels that the commitment in the manifest does not confirm.

The secret is 256 random bits that nobody can guess, and that reveal nothing about answers. A draw puts things in the
order of a keyed hash (HMAC-SHA256) of their public names. So it depends on the secret and on names alone, not on any
answer, and not on the order of the input. If all hidden answers changed, the public files would stay the same to the
byte, and what two versions of a release have in common is in the same order. Public things (the order of dev and
training) are drawn in the same way from the seed.
"""

import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeGuard, TypeVar

from winokit.errors import BadInput, Malformed
from winokit.files import OWNER_ONLY, private, read_object, read_text, refused, result_bytes, write_whole
from winokit.problem import Dataset, joined
from winokit.stages.release.manifest import TEST, manifest_hash, problems_path, read_manifest

RELEASE = "release.json"
LABELS = "labels.jsonl"
CHECKS = "checks.json"
SECRET = "secret"
COMMITMENT = "commitment"
"""The key of the commitment in manifest.json and release.json, if a release has a hidden test."""
MANIFEST_HASH = "manifest_sha256"
"""A key of release.json that is compared with the hash of manifest.json itself."""
LABEL_KEYS = ("id", "answer", "group", "unit")
BYTES = 32
"""Length of a secret."""
Drawn = TypeVar("Drawn")
LabelRow = tuple[str, int, str | None, int | None]
"""The id, answer, group and unit of a hidden problem."""


class Draws:
    """Pseudo-random draws from a key, independent for each purpose."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def public(cls, seed: int) -> "Draws":
        """Return draws from a seed, which anybody can repeat."""
        return cls(hashlib.sha256(f"winokit release, seed {seed}".encode()).digest())

    @classmethod
    def fresh(cls) -> "Draws":
        """Return draws from a new random key, which nobody can repeat."""
        return cls(secrets.token_bytes(BYTES))

    def number(self, purpose: str, name: str = "") -> int:
        """Draw a whole number below 2^256.

        It is always the same for a purpose and a name.
        """
        message = f"{purpose}\0{name}".encode()
        return int.from_bytes(hmac.digest(self.key, message, "sha256"))

    def share(self, purpose: str, name: str) -> float:
        """Draw a number from 0 to 1 (excluded).

        It is always the same for a purpose and a name.
        """
        highest_bits = self.number(purpose, name) >> (8 * BYTES - 53)
        return highest_bits / 2**53

    def ordered(self, purpose: str, things: Iterable[Drawn], name: Callable[[Drawn], str]) -> list[Drawn]:
        """Return things in a drawn order, whatever their order was before.

        `name` returns the id of a thing. Repetitions of a problem (`id.2`, `id.3`) directly follow the first, in the
        order of their numbers.
        """

        def key(thing: Drawn) -> tuple[int, int, str]:
            name_of_thing = name(thing)
            base_name = name_of_thing.partition(".")[0]
            return self.number(purpose, base_name), len(name_of_thing), name_of_thing

        return sorted(things, key=key)

    def commitment(self, data: bytes) -> str:
        """Return a commitment to hidden data that can be published.

        With it, the owner can later prove that the data has not changed. Without the key, nobody can use it to check a
        guess of the data.
        """
        return hmac.digest(self.key, b"commitment\0" + data, "sha256").hex()


def read_secret(path: Path) -> bytes:
    """Read the secret in a file of 64 hexadecimal digits.

    Raises BadInput if there is no such file, others than its owner can read it, or it has something else.
    """
    try:
        text = path.read_text("ascii").strip()
        permissions_of_others = path.stat().st_mode & 0o077
    except FileNotFoundError:
        raise BadInput(
            f"{path}: no such file; a lost secret cannot be recreated; supply one with --set secret=FILE"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    if permissions_of_others:
        raise BadInput(f"{path}: others can read the secret: chmod 600, or make a new one if they have")
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != BYTES:
        raise BadInput(f"{path}: expected a secret of {2 * BYTES} hexadecimal digits, as of: openssl rand -hex {BYTES}")
    return secret


def has_secret(folder: Path, secret: bytes) -> bool:
    """Whether the secret in a folder of hidden labels is this one.

    False if it cannot be read.
    """
    try:
        return read_secret(folder / SECRET) == secret
    except BadInput:
        return False


@dataclass(frozen=True)
class HiddenPart:
    """The hidden labels of a release, in the order of its test."""

    folder: Path
    """The folder that they were read from."""
    release: dict[str, Any]
    """Facts on the release that they belong to, from release.json."""
    ids: tuple[str, ...]
    answers: tuple[int, ...]
    """The index of the right candidate of each problem, from 0."""
    groups: tuple[str | None, ...]
    """The group of each problem; None for a problem alone."""
    units: tuple[int, ...] | None = None
    """The number of each problem's unit. None if an earlier version made the release."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def draws(self) -> Draws:
        """Draws from the secret in the folder."""
        return Draws(read_secret(self.folder / SECRET))


def hidden_folder(release: Path) -> Path:
    """Return the default folder of hidden labels: the release's name with `.hidden`."""
    release = release.resolve()
    return release.with_name(f"{release.name}.hidden")


def units_by_id(problems: Dataset, earlier: Mapping[str, int]) -> dict[str, int]:
    """Return the number of each problem's unit, by id. Problems of one unit are not independent.

    `earlier` has the units that an earlier release stored, by id. Problems that had one unit there have one unit here
    too, since public rows of its test do not state their template.
    """
    rows = zip(problems, problems.units.numbers.tolist(), strict=True)
    units = joined([("unit", unit), ("earlier", earlier.get(problem.id))] for problem, unit in rows)
    return {problem.id: unit for problem, unit in zip(problems, units, strict=True)}


def label_lines(rows: list[dict[str, Any]]) -> bytes:
    """Return the content of labels.jsonl, one line for each row.

    Rows have the keys `id`, `answer`, `group` and `unit`, and are in the order of winogrande/test.jsonl. `answer` is an
    index from 0, `group` a name or None for a problem alone, `unit` a number from 0. Raises Malformed for other rows.
    """
    lines = []
    for line, row in enumerate(rows, 1):
        _check_row(row, LABELS, line)
        label = {key: row[key] for key in LABEL_KEYS if key in row}
        lines.append(f"{json.dumps(label)}\n")
    return "".join(lines).encode()


def write_hidden(
    folder: Path, release: dict[str, Any], labels: bytes, secret: bytes | None = None, checks: Any = None
) -> None:
    """Write hidden labels so that only their owner can read them.

    Parameters
    ----------
    folder
        The folder to write, such as `hidden_folder(DIR)`. It is made if it is missing.
    release
        Facts on the release. Every key that manifest.json has too (name, version, content_hash …) must have the same
        value there when the labels are read; `manifest_sha256` is compared with the hash of manifest.json itself.
    labels
        The content of labels.jsonl (`label_lines`).
    secret
        The secret that the release was drawn from; None writes none.
    checks
        Checks of the test, as JSON-ready values; None writes none.
    """
    if not release:
        raise BadInput(f"{folder}: hidden labels must say which release they belong to")
    with refused(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if secret is not None:
        write_private(folder / SECRET, secret.hex().encode() + b"\n")
    write_private(folder / RELEASE, result_bytes(release))
    write_private(folder / LABELS, labels)
    if checks is not None:
        write_private(folder / CHECKS, result_bytes(checks))


def _check_row(row: Any, file: str, line: int) -> LabelRow:
    """Return id, answer, group and unit of a hidden label.

    The unit is None if the row has none. Raises Malformed if a value is not of its type.
    """
    if not isinstance(row, dict):
        raise Malformed("expected an object", file=file, line=line)
    name, answer, group, unit = (row.get(key) for key in LABEL_KEYS)
    if not isinstance(name, str) or not name:
        raise Malformed("expected a public id", field="id", file=file, line=line)
    if not _is_index(answer):
        raise Malformed("expected the index of the right candidate, from 0", field="answer", file=file, line=line)
    if group is not None and not isinstance(group, str):
        raise Malformed("expected a name or null", field="group", file=file, line=line)
    if "unit" in row and not _is_index(unit):
        raise Malformed("expected the number of a unit, from 0", field="unit", file=file, line=line)
    return name, answer, group, unit


def _is_index(value: Any) -> TypeGuard[int]:
    """Whether a JSON value is a whole number from 0 on."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return is_whole and value >= 0


def _check_units(units: tuple[int | None, ...], file: str) -> tuple[int, ...] | None:
    """Return the units of all problems, None if they have none.

    Raises Malformed if only some problems have one.
    """
    stored_units = tuple(unit for unit in units if unit is not None)
    if stored_units and len(stored_units) < len(units):
        line = 1 + units.index(None)
        raise Malformed("missing, and other rows have one", field="unit", file=file, line=line)
    return stored_units or None


def labels_of(folder: Path) -> dict[str, Any]:
    """Read release.json: facts on the release that hidden labels belong to.

    Raises BadInput if the folder has no such file.
    """
    if not (folder / RELEASE).is_file():
        raise BadInput(f"{folder}: not empty, and has no hidden labels; choose another --hidden")
    return {key: value for key, value in read_object(folder / RELEASE).items() if key != "schema"}


def release_secret(folder: Path, given: Path | bytes | None) -> bytes:
    """Return the secret to draw a release from: given, stored or new.

    A secret in the folder is never replaced by another, since things drawn from it may be public. Nothing is written: a
    new secret is stored with the hidden labels. Raises BadInput if the given secret differs from the stored one, or if
    the stored one is lost and none is given.

    Parameters
    ----------
    folder
        The folder of hidden labels, which may have a stored secret.
    given
        The secret that the user chose: a file or the bytes. None uses the stored one, or makes a new one.
    """
    given_secret = read_secret(given) if isinstance(given, Path) else given
    path = folder / SECRET
    is_lost = given_secret is None and (folder / LABELS).is_file() and COMMITMENT in labels_of(folder)
    stored_secret = None
    if path.exists() or is_lost:
        stored_secret = read_secret(path)
    if stored_secret is not None and given_secret is not None and stored_secret != given_secret:
        raise BadInput(f"{path}: another secret than the one given; remove that folder, or choose another --hidden")
    return given_secret or stored_secret or secrets.token_bytes(BYTES)


def read_labels(folder: Path) -> list[LabelRow]:
    """Read id, answer, group and unit of each hidden label.

    Raises Malformed if a row is not what `label_lines` makes.
    """
    path = folder / LABELS
    rows = json_lines(read_text(path))
    return [_check_row(row, str(path), line) for line, row in enumerate(rows, 1)]


def read_hidden(release: Path, folder: Path | None = None) -> HiddenPart:
    """Read the hidden labels of a release, and check them.

    They belong to it if the facts in release.json agree with the manifest, the commitment confirms them, and their ids
    are those of the test, in the same order. Otherwise BadInput is raised. The default folder is `hidden_folder`.
    """
    manifest = read_manifest(release)  # first: a folder that is no release is reported as such, not as without labels
    folder = folder or hidden_folder(release)
    if not (folder / LABELS).is_file() or not (folder / RELEASE).is_file():
        raise BadInput(
            f"{folder}: no hidden labels there ({RELEASE}, {LABELS}); only who made the release can grade: --hidden DIR"
        )
    labels = _read_hidden_part(folder)
    _check_same_release(labels, release, manifest)
    _check_commitment(labels, release, manifest)
    _check_same_ids(labels, release / problems_path(TEST))
    return labels


def _read_hidden_part(folder: Path) -> HiddenPart:
    """Read a folder of hidden labels, whichever release they belong to."""
    rows = read_labels(folder)
    ids, answers, groups, units = zip(*rows, strict=True) if rows else ((), (), (), ())
    stored_units = _check_units(units, str(folder / LABELS))
    return HiddenPart(folder, labels_of(folder), ids, answers, groups, stored_units)


def _check_same_release(labels: HiddenPart, release: Path, manifest: Mapping[str, Any]) -> None:
    """Raise BadInput if a fact in release.json contradicts the manifest.

    Facts that the manifest does not have are not compared.
    """
    for key, value in labels.release.items():
        manifest_value = manifest_hash(release) if key == MANIFEST_HASH else manifest.get(key, value)
        if manifest_value != value:
            raise BadInput(
                f"{labels.folder}: the labels of another release: its {key} is {value!r}, "
                f"{release} has {manifest_value!r}"
            )


def _check_commitment(labels: HiddenPart, release: Path, manifest: Mapping[str, Any]) -> None:
    """Raise BadInput if labels or secret do not fit the commitment.

    That of the public manifest is checked too: somebody who changes the labels may remove it from release.json. A
    release without a commitment is not checked.
    """
    commitments = {str(facts[COMMITMENT]) for facts in (manifest, labels.release) if COMMITMENT in facts}
    if not commitments:
        return
    actual_commitment = labels.draws.commitment((labels.folder / LABELS).read_bytes())
    if {actual_commitment} != commitments:
        raise BadInput(f"{labels.folder}: labels or secret are not those that {release} was made with")


def _check_same_ids(labels: HiddenPart, path: Path) -> None:
    """Raise BadInput unless the test has the labels' ids in order.

    `path` is the file of the test's problems. Raises Malformed if one has no id.
    """
    public_ids = [_get_row_id(row) for row in json_lines(read_text(path))]
    if not all(public_ids):
        line = public_ids.index("") + 1
        raise Malformed("expected a qID that ends in the problem's id", file=str(path), line=line)
    if list(labels.ids) == public_ids:
        return
    shared_count = len(set(labels.ids) & set(public_ids))
    difference = f"{shared_count:,} of them shared"
    if shared_count == len(public_ids) == len(labels):
        difference = "in another order"
    raise BadInput(
        f"{labels.folder}: labels of {len(labels):,} problems for the {len(public_ids):,} of {path}, {difference}"
    )


def _get_row_id(row: Any) -> str:
    """Return the id at the end of a row's qID.

    Empty if there is none.
    """
    if not isinstance(row, dict):
        return ""
    return str(row.get("qID") or "").rpartition("-")[2]


def json_lines(text: str) -> list[Any]:
    """Parse each line of a text as JSON, None for others.

    Only newlines end a line, since other line separators (U+2028) may be inside JSON.
    """
    values = []
    text = text.removesuffix("\n")
    for line in text.split("\n") if text else ():
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            values.append(None)
    return values


def write_private(path: Path, data: bytes) -> None:
    """Write a whole file that only its owner can ever read."""
    with private():
        write_whole(path, data)


def append_private(path: Path, line: str) -> None:
    """Append a line to a file that only its owner can read.

    A line is written whole or not at all.
    """
    with refused(path), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OWNER_ONLY), "wb") as file:
        data = line.encode() + b"\n"
        is_cut_short = path.read_bytes()[-1:] not in (b"", b"\n")
        if is_cut_short:  # the last line in the file, which must not be joined with this one
            data = b"\n" + data
        file.write(data)
