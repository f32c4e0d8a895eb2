"""What a release holds: the problems of every file, drawn, ordered and balanced, and what had to stay out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from winokit.data.formats.base import lone_groups_dropped
from winokit.errors import BadInput
from winokit.problem import Card, Dataset, Problem
from winokit.stages.release.balance import balanced, tossed
from winokit.stages.release.draws import Draws
from winokit.stages.release.inputs import ReleaseInputs
from winokit.stages.release.reading import DEBIASED, DEV, TEST
from winokit.stages.release.rows import KEPT, REMOVED
from winokit.stages.release.settings import ReleaseSettings
from winokit.stages.release.sizes import cut_sizes
from winokit.stages.release.splits import AT_LEAST, SHORT, TRAIN, ReleaseSplit, split_units
from winokit.stages.release.units import ReleaseUnit, duplicate_keys, knowledge_keys, twin_keys, units_of

TWIN_EVALUATED = "removed, and a twin is in dev or test"
NO_TWIN = "removed, and without a twin"
SHARES = {
    "random": "nearly the same as a problem in dev or test, or perhaps its twin",
    "knowledge": "shares a (special word, candidate) pair, or nearly its text, with a problem in dev or test",
}


@dataclass(frozen=True)
class ReleaseContents:
    """The problems of each file, answers included, and which of them were kept."""

    files: dict[str, Dataset]
    kept: frozenset[str]
    left_out: dict[str, int]
    """Problems that are in no file, by reason."""
    split: ReleaseSplit
    notes: tuple[str, ...] = field(default=())

    @cached_property
    def shown(self) -> dict[str, Dataset]:
        """The files as a reader finds them, who forgets the group of a problem that is alone in its file."""
        return {name: data.with_problems(lone_groups_dropped(data)) for name, data in self.files.items()}

    def status(self, problem: Problem) -> str:
        """Kept or removed."""
        return KEPT if problem.id in self.kept else REMOVED

    @property
    def sizes(self) -> dict[str, Dataset]:
        """The files of the training sizes, the smallest first."""
        return {name: data for name, data in self.files.items() if name.startswith("train_") and name != DEBIASED}

    @property
    def where(self) -> dict[str, str]:
        """Train, dev or test, by id."""
        return {
            problem.id: name if name in (DEV, TEST) else TRAIN
            for name, problems in self.files.items()
            for problem in problems
        }

    @property
    def training(self) -> Dataset:
        """Every problem that may be trained on, once."""
        everything = {p.id: p for name, data in self.files.items() if name not in (DEV, TEST) for p in data}
        return Dataset(everything.values(), Card(TRAIN))


def fill(
    inputs: ReleaseInputs,
    settings: ReleaseSettings,
    fixed: Mapping[str, str] | None = None,
    secret: Draws | None = None,
) -> ReleaseContents:
    """Draw the splits of a release from its input.

    Parameters
    ----------
    fixed
        The splits that an earlier release has settled, by id.
    secret
        What splits, and everything about the test, are drawn from. Default: the seed, where nothing is to be hidden.
    """
    fixed, public = fixed or {}, Draws.public(settings.seed)
    secret = secret or public
    units = units_of(inputs.problems, inputs.kept)
    keys = [own | twins for own, twins in zip(duplicate_keys(units), twin_keys(units), strict=True)]
    if settings.split == "knowledge":
        keys = [own | facts for own, facts in zip(keys, knowledge_keys(units), strict=True)]
    split = split_units(units, keys, settings, secret, fixed)
    chosen = {name: [units[place] for place in split.places(name)] for name in (TRAIN, DEV, TEST)}
    chosen |= {name: balanced(chosen[name], public, fixed) for name in (TRAIN, DEV)}
    chosen[TEST] = tossed(chosen[TEST], secret, fixed)
    trained, singles = _training_order(chosen[TRAIN], settings.singles, public)
    sizes = cut_sizes(trained, settings.sizes)
    files = {f"train_{name}": _members(some) for name, some in sizes.items()}
    files[DEBIASED] = [p for p in _members([*trained, *singles]) if p.id in inputs.kept]
    files[DEV] = _dev_order(chosen[DEV], public)
    files[TEST] = _test_order(chosen[TEST], secret)
    _check_files(files, split)
    left_out = Counter(
        {
            TWIN_EVALUATED: sum(len(unit.removed) for unit in (*chosen[DEV], *chosen[TEST])),
            NO_TWIN: sum(len(unit.removed) for unit in singles),
            SHARES[settings.split]: sum(len(units[place].members) for place in split.shared),
        }
    )
    return ReleaseContents(
        {name: _published(name, problems) for name, problems in files.items() if problems},
        inputs.kept,
        {reason: count for reason, count in left_out.items() if count},
        split,
        tuple(_notes(files, split, singles)),
    )


def _training_order(
    units: Sequence[ReleaseUnit], singles_too: bool, draws: Draws
) -> tuple[list[ReleaseUnit], list[ReleaseUnit]]:
    """Units for the sizes in a drawn order, members in a drawn order too; and those that are for no size."""
    members = [ReleaseUnit(tuple(_drawn(unit.members, draws)), unit.kept_ids) for unit in units]
    shuffled = draws.ordered("units", members, lambda unit: unit.name)
    if singles_too or not any(unit.is_group for unit in shuffled):
        return shuffled, []
    return [unit for unit in shuffled if unit.is_group], [unit for unit in shuffled if not unit.is_group]


def _drawn(problems: Iterable[Problem], draws: Draws) -> list[Problem]:
    return draws.ordered("problems", problems, lambda problem: problem.id)


def _members(units: Iterable[ReleaseUnit]) -> list[Problem]:
    return [member for unit in units for member in unit.members]


def _dev_order(units: Sequence[ReleaseUnit], draws: Draws) -> list[Problem]:
    """The kept members, twins side by side, so that a part of the file has whole groups too."""
    drawn = draws.ordered("units", units, lambda unit: unit.name)
    return [
        _alone(problem) if len(unit.kept) == 1 else problem for unit in drawn for problem in _drawn(unit.kept, draws)
    ]


def _test_order(units: Sequence[ReleaseUnit], draws: Draws) -> list[Problem]:
    """The kept members in any order: twins are nobody's neighbours."""
    return _drawn((_alone(p) if len(unit.kept) == 1 else p for unit in units for p in unit.kept), draws)


def _alone(problem: Problem) -> Problem:
    """A problem whose twins are not in the release has no group there."""
    return problem.replace(group=None)


def _published(name: str, problems: Iterable[Problem]) -> Dataset:
    """The problems of a file without their provenance, of which nothing is published one by one.

    Exact repetitions stand in the order of their numbers, since whoever reads the file counts them so.
    """
    made = [problem.replace(provenance={}) for problem in problems]
    places: dict[str, list[int]] = {}
    for place, problem in enumerate(made):
        places.setdefault(problem.id.partition(".")[0], []).append(place)
    for own in places.values():
        for place, problem in zip(own, sorted((made[at] for at in own), key=_occurrence), strict=True):
            made[place] = problem
    return Dataset(made, Card(name))


def _occurrence(problem: Problem) -> int:
    return problem.occurrence


def _check_files(files: dict[str, list[Problem]], split: ReleaseSplit) -> None:
    for name, problems in files.items():
        if not problems and (name not in split.wanted or split.wanted[name]):
            wanted = split.wanted.get(name)
            asked = f" of the {wanted:,} asked for" if wanted else ""
            raise BadInput(f"nothing is left for {name}{asked}: too few problems; see --dev, --test and --complete")


def _notes(files: dict[str, list[Problem]], split: ReleaseSplit, singles: Sequence[ReleaseUnit]) -> Iterable[str]:
    for name, wanted in split.wanted.items():
        if wanted - len(files[name]) > max(AT_LEAST, SHORT * wanted):
            yield f"{name} has {len(files[name]):,} of the {wanted:,} problems asked for: groups and blocks stay whole"
    if singles:
        count = sum(len(unit.kept) for unit in singles)
        yield f"{count:,} kept problems without a twin are in {DEBIASED} only; --singles lets them into the sizes"
