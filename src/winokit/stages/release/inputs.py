"""KEPT and REMOVED, as users name them: files, datasets or a folder of `winokit debias`, read as one."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.data.checks.groups import with_groups
from winokit.data.formats import FORMATS, recognise
from winokit.data.formats.source import Source
from winokit.data.loading import Loading, load
from winokit.errors import BadInput, CannotWrite
from winokit.files import read_object
from winokit.problem import BLANK, Dataset
from winokit.stages.debias.table import DEBIAS as RECORD
from winokit.stages.debias.table import KEPT as KEPT_FILE
from winokit.stages.debias.table import REMOVED as REMOVED_FILE


@dataclass(frozen=True)
class ReleaseInputs:
    """All problems under the card of the kept ones, groups found over kept and removed together, and their record."""

    problems: Dataset
    kept: frozenset[str]
    """Ids of those that were kept; the others were removed."""
    debias: dict[str, Any] | None = None
    """The record of a filtering."""


def read_inputs(
    kept: str | Path | Dataset, removed: str | Path | Dataset | None = None, loading: Loading = Loading()
) -> ReleaseInputs:
    """Read what was kept and what was removed; twins that filtering put apart find each other again."""
    record = None
    if not isinstance(kept, Dataset) and Path(kept).is_dir():
        folder = Path(kept)
        for name in (KEPT_FILE, RECORD):
            if not (folder / name).is_file():
                raise BadInput(f"{folder}: a folder of winokit debias expected, or a file; there is no {name}")
        kept, record, beside = folder / KEPT_FILE, read_object(folder / RECORD), folder / REMOVED_FILE
        # A file with its card alone is empty.
        if removed is None and beside.is_file() and len(beside.read_bytes().strip().split(b"\n")) > 1:
            removed = beside
    staying = _read(kept, loading)
    going = _read(removed, loading) if removed is not None else Dataset([])
    staying, going = _told_apart(staying, going)
    joined = _grouped(Dataset([*staying, *going], staying.card, [*staying.notes, *going.notes]))
    hidden = sum(problem.answer is None for problem in joined)
    if hidden:
        raise BadInput(f"{hidden:,} of {len(joined):,} problems have no answer, and a release needs them")
    for problem in joined:  # what WinoGrande's rows have no words for
        if problem.query is not None:
            raise CannotWrite(f"problem {problem.id}: a yes/no judgement; convert with --as choice first")
        if len(problem.candidates) != 2:
            raise CannotWrite(f"problem {problem.id}: {len(problem.candidates)} candidates where two fit: --as binary")
        if not problem.is_whole and problem.text.count(BLANK) != 1:
            raise CannotWrite(f"problem {problem.id}: its text has a '{BLANK}' besides the blank")
    return ReleaseInputs(joined, frozenset(p.id for p in joined.problems[: len(staying)]), record)


def _read(data: str | Path | Dataset, loading: Loading) -> Dataset:
    """A dataset with the names of all its groups, also of those whose other members stand elsewhere."""
    if isinstance(data, Dataset):
        return data
    loaded = load(data, **loading.how, groups=False)
    prefix, colon, place = str(data).partition(":")
    if Path(data).is_file():
        path, chosen = Path(data), recognise(Path(data), loading.named_columns)
    elif colon and prefix in FORMATS and Path(place).is_file():
        path, chosen = Path(place), FORMATS[prefix]
    else:
        return loaded
    if loading.as_ is not None:
        return loaded
    # A reader forgets the group of a problem that is alone in its file; its twin may be in the other file.
    named = chosen.read(Source(path, lenient=loading.lenient))
    return loaded.with_problems(p.replace(group=raw.group) for p, raw in zip(loaded, named, strict=True))


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
    return dataset.with_problems(p.replace(group=grouped.group) for p, grouped in zip(dataset, bare, strict=True))
