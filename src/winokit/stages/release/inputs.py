"""KEPT and REMOVED, as users name them: files, datasets or a folder of `winokit debias`, read as one."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winokit.data.checks.groups import with_groups
from winokit.data.formats import FORMATS, recognise
from winokit.data.formats.source import Source
from winokit.data.loading import load
from winokit.errors import BadInput
from winokit.problem import Card, Dataset, Problem
from winokit.stages.debias.save import DEBIAS as RECORD
from winokit.stages.debias.save import KEPT as KEPT_FILE
from winokit.stages.debias.save import REMOVED as REMOVED_FILE
from winokit.stages.release.rows import check_writable


@dataclass(frozen=True)
class ReleaseInputs:
    """All problems, groups found over kept and removed together, and what is known about how they came to be."""

    problems: Dataset
    kept: frozenset[str]
    """Ids of those that were kept; the others were removed."""
    debias: dict[str, Any] | None = None
    """The record of a filtering."""
    notes: tuple[str, ...] = field(default=())

    @property
    def card(self) -> Card:
        """The card of the kept problems."""
        return self.problems.card


def read_inputs(
    kept: str | Path | Dataset,
    removed: str | Path | Dataset | None = None,
    *,
    as_: str | None = None,
    lenient: bool = False,
) -> ReleaseInputs:
    """Read what was kept and what was removed; twins that filtering put apart find each other again."""
    record = None
    if not isinstance(kept, Dataset) and Path(kept).is_dir():
        folder = Path(kept)
        kept, record = folder / KEPT_FILE, _record(folder)
        if removed is None and _has_rows(folder / REMOVED_FILE):
            removed = folder / REMOVED_FILE
    staying = _read(kept, as_, lenient)
    going = _read(removed, as_, lenient) if removed is not None else Dataset([])
    staying, going = _told_apart(staying, going)
    joined = _grouped(Dataset([*staying, *going], staying.card, [*staying.notes, *going.notes]))
    _check(joined)
    return ReleaseInputs(joined, frozenset(p.id for p in joined.problems[: len(staying)]), record, joined.notes)


def _record(folder: Path) -> dict[str, Any]:
    """What a folder of `winokit debias` says of itself."""
    if not (folder / KEPT_FILE).is_file():
        raise BadInput(f"{folder}: a folder of winokit debias expected, or a file; there is no {KEPT_FILE}")
    try:
        record = json.loads((folder / RECORD).read_text("utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{folder}: a folder of winokit debias expected; there is no {RECORD}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise BadInput(f"{folder / RECORD}: cannot be read ({error})") from None
    if not isinstance(record, dict):
        raise BadInput(f"{folder / RECORD}: a JSON object expected")
    return record


def _has_rows(path: Path) -> bool:
    """Whether anything was removed: a file with its card alone is empty."""
    return path.is_file() and sum(1 for line in path.read_bytes().split(b"\n") if line.strip()) > 1


def _read(data: str | Path | Dataset, as_: str | None, lenient: bool) -> Dataset:
    """A dataset with the names of all its groups, also of those whose other members stand elsewhere."""
    if isinstance(data, Dataset):
        return data
    found = load(data, as_=as_, groups=False, lenient=lenient)
    path, format_name = _file(str(data))
    if path is None or as_ is not None:
        return found
    # A reader forgets the group of a problem that is alone in its file; its twin may be in the other file.
    named = FORMATS[format_name].read(Source(path, lenient=lenient))
    return found.with_problems(p.replace(group=raw.group) for p, raw in zip(found, named, strict=True))


def _told_apart(staying: Dataset, going: Dataset) -> tuple[Dataset, Dataset]:
    """What was kept, and what was removed without it: REMOVED may be everything there was before filtering.

    The order of such a file may name twins that nothing else does, so the kept problems take its groups.
    """
    both = {problem.id for problem in staying} & {problem.id for problem in going}
    if not both:
        return staying, going
    grouped = _grouped(going)
    groups = {problem.id: problem.group for problem in grouped if problem.id in both and problem.group is not None}
    note = f"{len(both):,} of the {len(going):,} removed problems are among the kept, and count as kept"
    return (
        staying.with_problems(p.replace(group=groups.get(p.id, p.group)) for p in staying),
        grouped.with_problems((p for p in grouped if p.id not in both), [note]),
    )


def _grouped(dataset: Dataset) -> Dataset:
    """The dataset with its groups, found as if nothing had an answer.

    Any problem may come to be tested, and that two which look like twins are none would say that they share an answer.
    """
    bare = with_groups(dataset.with_problems(problem.replace(answer=None) for problem in dataset))
    return dataset.with_problems(p.replace(group=found.group) for p, found in zip(dataset, bare, strict=True))


def _file(data: str) -> tuple[Path | None, str]:
    """The one file that DATA names and its format; None where it names something else."""
    if Path(data).is_file():
        return Path(data), recognise(Path(data)).name
    prefix, colon, place = data.partition(":")
    return (Path(place), prefix) if colon and prefix in FORMATS and Path(place).is_file() else (None, "")


def _check(problems: Iterable[Problem]) -> None:
    """Refuse what cannot be released."""
    problems = list(problems)
    hidden = sum(problem.answer is None for problem in problems)
    if hidden:
        raise BadInput(f"{hidden:,} of {len(problems):,} problems have no answer, and a release needs them")
    for problem in problems:
        check_writable(problem)
