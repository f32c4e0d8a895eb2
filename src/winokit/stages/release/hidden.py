"""The answers of a hidden test, kept in a folder of their own beside the release: `DIR.hidden/`.

`release.json` says which release they belong to, `labels.jsonl` has one row for each line of `winogrande/test.jsonl`:
the public id, the answer as the index of the right candidate, from 0, the group or null, and the number of the unit:
problems of one number hang together, and count once in an interval or a test (`Dataset.units`). Releases of earlier
versions have no units. `secret` is what splits and orders were drawn from, `checks.json` what the card may not say of
the test. Only their owner can read the files. Reading them back refuses labels of another release, and labels that the
manifest's commitment does not fit.

The secret is 256 bits of chance that nobody can redraw, and that tells nothing to those who can. A draw puts things in
the order of a keyed hash (HMAC-SHA256) of their public names, so that it depends on the secret and on names alone: not
on any answer, and not on the order of the input. Turn the hidden answers round and the public files stay the same to
the byte; two versions of a release have what they share in the same order. What is public anyway (the order of dev and
training) is drawn in the same way from the seed.
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
from typing import Any, TypeVar

from winokit.errors import BadInput, Malformed
from winokit.files import OWNER_ONLY, private, read_object, read_text, refused, result_bytes, write_whole
from winokit.problem import Dataset, joined
from winokit.stages.release.manifest import TEST, manifest_hash, problems_path, read_manifest

RELEASE = "release.json"
LABELS = "labels.jsonl"
CHECKS = "checks.json"
SECRET = "secret"
COMMITMENT = "commitment"
"""A key of manifest and `release`, where a test is hidden."""
MANIFEST_HASH = "manifest_sha256"
"""A key of `release` that is compared with the hash of manifest.json itself."""
LABEL_KEYS = ("id", "answer", "group", "unit")
BYTES = 32
Drawn = TypeVar("Drawn")
LabelRow = tuple[str, int, str | None, int | None]
"""The id, answer, group and unit of a hidden problem."""


class Draws:
    """Everything that is drawn from one key, each purpose apart from every other."""

    def __init__(self, key: bytes) -> None:
        self.key = key

    @classmethod
    def public(cls, seed: int) -> "Draws":
        """Draws that anybody can repeat."""
        return cls(hashlib.sha256(f"winokit release, seed {seed}".encode()).digest())

    @classmethod
    def fresh(cls) -> "Draws":
        """Draws that nobody can repeat."""
        return cls(secrets.token_bytes(BYTES))

    def number(self, purpose: str, name: str = "") -> int:
        """A whole number below 2^256 that is always the same for a purpose and a name."""
        return int.from_bytes(hmac.digest(self.key, f"{purpose}\0{name}".encode(), "sha256"))

    def share(self, purpose: str, name: str) -> float:
        """A number from 0 up to 1."""
        return (self.number(purpose, name) >> (8 * BYTES - 53)) / 2**53

    def ordered(self, purpose: str, things: Iterable[Drawn], name: Callable[[Drawn], str]) -> list[Drawn]:
        """The things in a drawn order, which is the same in whatever order they come.

        Names are ids. Those of a problem that occurs again (`id.2`) follow the first, as readers count them.
        """

        def key(thing: Drawn) -> tuple[int, int, str]:
            own = name(thing)
            return self.number(purpose, own.partition(".")[0]), len(own), own

        return sorted(things, key=key)

    def commitment(self, data: bytes) -> str:
        """Return a commitment to hidden data that can be published.

        It binds the owner to them, and without the key it cannot confirm a guess.
        """
        return hmac.digest(self.key, b"commitment\0" + data, "sha256").hex()


def read_secret(path: Path) -> bytes:
    """The secret in a file: 64 hexadecimal digits that only their owner can read."""
    try:
        text = path.read_text("ascii").strip()
        others = path.stat().st_mode & 0o077
    except FileNotFoundError:
        raise BadInput(
            f"{path}: no such file; a lost secret cannot be recreated; supply one with --set secret=FILE"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read ({error})") from None
    if others:
        raise BadInput(f"{path}: others can read the secret: chmod 600, or make a new one if they have")
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != BYTES:
        raise BadInput(f"{path}: expected a secret of {2 * BYTES} hexadecimal digits, as of: openssl rand -hex {BYTES}")
    return secret


def has_secret(folder: Path, secret: bytes) -> bool:
    """Whether the hidden labels in a folder have this secret.

    False if they cannot be read.
    """
    try:
        return read_secret(folder / SECRET) == secret
    except BadInput:
        return False


@dataclass(frozen=True)
class HiddenPart:
    """The hidden labels of a release, in the order of its test."""

    folder: Path
    release: dict[str, Any]
    """Which release they belong to."""
    ids: tuple[str, ...]
    answers: tuple[int, ...]
    groups: tuple[str | None, ...]
    units: tuple[int, ...] | None = None
    """For each problem the number of its unit; None where an earlier version made the release."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def draws(self) -> Draws:
        """Draws from the secret."""
        return Draws(read_secret(self.folder / SECRET))


def hidden_folder(release: Path) -> Path:
    """Return the folder of a release's hidden labels: its own name with `.hidden`."""
    release = release.resolve()
    return release.with_name(f"{release.name}.hidden")


def units_by_id(problems: Dataset, earlier: Mapping[str, int]) -> dict[str, int]:
    """The unit of each problem, by id: a number that it shares with what it hangs together with.

    `earlier` has the units that an earlier release stored: the public rows of its test do not say which template they
    are from.
    """
    rows = zip(problems, problems.units.numbers.tolist(), strict=True)
    units = joined([("unit", unit), ("earlier", earlier.get(problem.id))] for problem, unit in rows)
    return {problem.id: unit for problem, unit in zip(problems, units, strict=True)}


def label_lines(rows: list[dict[str, Any]]) -> bytes:
    """The content of labels.jsonl: `{"id", "answer", "group", "unit"}` in the order of winogrande/test.jsonl.

    `answer` is an index from 0, `group` a name or None for a problem alone, `unit` a number from 0.
    """
    for place, row in enumerate(rows, 1):
        _check_row(row, LABELS, place)
    lines = []
    for row in rows:
        label = {key: row[key] for key in LABEL_KEYS if key in row}
        lines.append(f"{json.dumps(label)}\n")
    return "".join(lines).encode()


def write_hidden(
    folder: Path, release: dict[str, Any], labels: bytes, secret: bytes | None = None, checks: Any = None
) -> None:
    """Write the hidden labels so that only their owner can read them.

    Parameters
    ----------
    folder
        `hidden_folder(DIR)`; made where it is missing.
    release
        Which release they belong to. Every key that manifest.json has too (name, version, content_hash …) must have
        the same value there when the labels are read; `manifest_sha256` is compared with the manifest's own hash.
    labels
        `label_lines` of the test.
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
    """Return id, answer, group and unit of a row.

    The unit is None if the row has none.
    """
    if not isinstance(row, dict):
        raise Malformed("expected an object", file=file, line=line)
    name, answer, group, unit = (row.get(key) for key in LABEL_KEYS)
    if not isinstance(name, str) or not name:
        raise Malformed("expected a public id", field="id", file=file, line=line)
    if isinstance(answer, bool) or not isinstance(answer, int) or answer < 0:
        raise Malformed("expected the index of the right candidate, from 0", field="answer", file=file, line=line)
    if group is not None and not isinstance(group, str):
        raise Malformed("expected a name or null", field="group", file=file, line=line)
    if "unit" in row and (isinstance(unit, bool) or not isinstance(unit, int) or unit < 0):
        raise Malformed("expected the number of a unit, from 0", field="unit", file=file, line=line)
    return name, answer, group, unit


def _check_units(units: tuple[int | None, ...], file: str) -> tuple[int, ...] | None:
    """The units of all problems, or None if no problem has one."""
    stored_units = tuple(unit for unit in units if unit is not None)
    if stored_units and len(stored_units) < len(units):
        line = 1 + units.index(None)
        raise Malformed("missing, and other rows have one", field="unit", file=file, line=line)
    return stored_units or None


def labels_of(folder: Path) -> dict[str, Any]:
    """Return the release to which hidden labels belong. Refuses any other folder."""
    if not (folder / RELEASE).is_file():
        raise BadInput(f"{folder}: not empty, and has no hidden labels; choose another --hidden")
    return {key: value for key, value in read_object(folder / RELEASE).items() if key != "schema"}


def release_secret(folder: Path, given: Path | bytes | None) -> bytes:
    """The secret that is given, itself or in a file, or that the hidden labels in a folder have already, or a new one.

    A secret that is there is never replaced by another: what was drawn from it may be public. Where the labels say
    that they have one and it is lost, another must be given.
    """
    given = read_secret(given) if isinstance(given, Path) else given
    here = folder / SECRET
    lost = given is None and (folder / LABELS).is_file() and COMMITMENT in labels_of(folder)
    stored_secret = read_secret(here) if here.exists() or lost else None
    if stored_secret is not None and given is not None and stored_secret != given:
        raise BadInput(f"{here}: another secret than the one given; remove that folder, or choose another --hidden")
    return given or stored_secret or secrets.token_bytes(BYTES)


def read_labels(folder: Path) -> list[LabelRow]:
    """The id, answer, group and unit in each row of the hidden labels in a folder."""
    path = folder / LABELS
    return [_check_row(row, str(path), line) for line, row in enumerate(json_lines(read_text(path)), 1)]


def read_hidden(release: Path, folder: Path | None = None) -> HiddenPart:
    """The hidden labels of a release, if they are its own.

    They are its own where everything that both say about the release agrees, and the ids are those of its test, in
    the same order.
    """
    manifest = read_manifest(release)  # a folder that is no release is said to be none before its labels are missed
    folder = folder or hidden_folder(release)
    if not (folder / LABELS).is_file() or not (folder / RELEASE).is_file():
        raise BadInput(
            f"{folder}: no hidden labels there ({RELEASE}, {LABELS}); only who made the release can grade: --hidden DIR"
        )
    checked = read_labels(folder)
    ids, answers, groups, units = zip(*checked, strict=True) if checked else ((), (), (), ())
    labels = HiddenPart(folder, labels_of(folder), ids, answers, groups, _check_units(units, str(folder / LABELS)))
    for key, value in labels.release.items():
        theirs = manifest_hash(release) if key == MANIFEST_HASH else manifest.get(key, value)
        if theirs != value:
            raise BadInput(
                f"{labels.folder}: the labels of another release: its {key} is {value!r}, {release} has {theirs!r}"
            )
    # The public one counts too: who changes the labels may leave it out of what stands beside them.
    commitments = {str(about[COMMITMENT]) for about in (manifest, labels.release) if COMMITMENT in about}
    if commitments and {labels.draws.commitment((labels.folder / LABELS).read_bytes())} != commitments:
        raise BadInput(f"{labels.folder}: labels or secret are not those that {release} was made with")
    path = release / problems_path(TEST)
    tested = json_lines(read_text(path))
    public = [str(row.get("qID") or "").rpartition("-")[2] if isinstance(row, dict) else "" for row in tested]
    if not all(public):
        raise Malformed("expected a qID that ends in the problem's id", file=str(path), line=public.index("") + 1)
    if list(labels.ids) != public:
        shared = len(set(labels.ids) & set(public))
        order = "in another order" if shared == len(public) == len(labels) else f"{shared:,} of them shared"
        raise BadInput(
            f"{labels.folder}: labels of {len(labels):,} problems for the {len(public):,} of {path}, {order}"
        )
    return labels


def json_lines(text: str) -> list[Any]:
    """The value of each line, None where it is no JSON. Only newlines end a line: U+2028 may stand inside JSON."""
    values = []
    text = text.removesuffix("\n")
    for line in text.split("\n") if text else ():
        try:
            values.append(json.loads(line))
        except (ValueError, RecursionError):
            values.append(None)
    return values


def write_private(path: Path, data: bytes) -> None:
    """Write a file whole, readable by its owner alone from its first byte on."""
    with private():
        write_whole(path, data)


def append_private(path: Path, line: str) -> None:
    """Append a line to a file that only its owner can read.

    A line is written whole or not at all.
    """
    with refused(path), os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, OWNER_ONLY), "wb") as file:
        cut = path.read_bytes()[-1:] not in (b"", b"\n")  # a line that was cut short must not swallow this one
        file.write(b"\n" * cut + line.encode() + b"\n")
