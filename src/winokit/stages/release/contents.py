"""What a release is made of and what it holds: the problems of every file, drawn, ordered and balanced.

KEPT and REMOVED are read as users name them: files, datasets or a folder of `winokit debias`, as one.

The training sizes xs … xl are each four times the one before and its beginning, groups whole. WinoGrande's are 160,
640, 2,558, 10,234 and 40,398. Here the largest is all there is, the next a quarter of it, and so on down, as long as a
size is worth training on; small data has fewer, and the largest is always called xl.

The answer stands first and second equally often, and the order of candidates never tells it. Twins share an order of
candidates and have opposite answers, so a whole pair is balanced whatever that order. In what is public, a pair keeps
the order its author wrote; what remains (problems alone, pairs of which one member was removed, triplets) is shuffled,
and the answer goes to the first and the second place in turn. In a hidden test a coin per group says whether its
candidates stand in the order of the alphabet or against it, and answers are not looked at: an exact balance would be a
sum of hidden answers, and with every version that balances again another one. All members of a group are turned
together, and a new twin of a problem that an earlier release had is turned to that one's side: the order in which an
author wrote it may tell its answer.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from winokit.data.checks.groups import with_groups
from winokit.data.formats import FORMATS, recognise
from winokit.data.formats.base import lone_groups_dropped
from winokit.data.formats.source import Source
from winokit.data.loading import Loading, load, path_of
from winokit.errors import BadInput, CannotWrite
from winokit.files import read_object
from winokit.problem import BLANK, Card, Dataset, Problem, grouped
from winokit.stages.debias.table import DEBIAS as RECORD
from winokit.stages.debias.table import KEPT as KEPT_FILE
from winokit.stages.debias.table import REMOVED as REMOVED_FILE
from winokit.stages.release.hidden import Draws
from winokit.stages.release.manifest import DEBIASED, DEV, KEPT, REMOVED, SIZES, TEST, TRAIN, Row
from winokit.stages.release.settings import ReleaseSettings
from winokit.stages.release.splits import AT_LEAST, SHORT, ReleaseUnit, keys_of, split_units, units_of
from winokit.text.language import language_of
from winokit.text.words import letters

Lineage = Callable[[Mapping[str, str]], list[Row]]
"""From the split of each id to the rows of a lineage."""


@dataclass(frozen=True)
class Succession:
    """What a release takes over from the version before it."""

    fixed: Mapping[str, str] = field(default_factory=dict)
    """Splits that are settled (train, dev or test), by id."""
    lineage: Lineage | None = None
    """Where problems come from. Default: all are added."""
    units: Mapping[str, int] = field(default_factory=dict)
    """The units that were stored for the hidden test, by id."""
    returned: frozenset[str] = frozenset()
    """Ids of retired problems that are brought back for training."""
    versions: frozenset[str] = frozenset()
    """Identities of the hidden tests of earlier versions."""


FIRST = Succession()


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
    folder = path_of(kept)
    if folder is not None and folder.is_dir():
        for name in (KEPT_FILE, RECORD):
            if not (folder / name).is_file():
                raise BadInput(f"{folder}: expected a folder of winokit debias, or a file; there is no {name}")
        kept = folder / KEPT_FILE
        record = read_object(folder / RECORD)
        beside = folder / REMOVED_FILE
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
            count = len(problem.candidates)
            raise CannotWrite(f"problem {problem.id}: {count} candidates where two fit; convert with --as binary first")
        if not problem.is_whole and problem.text.count(BLANK) != 1:
            raise CannotWrite(f"problem {problem.id}: its text has a '{BLANK}' besides the blank")
    return ReleaseInputs(joined, frozenset(p.id for p in joined.problems[: len(staying)]), record)


def _read(data: str | Path | Dataset, loading: Loading) -> Dataset:
    """A dataset with the names of all its groups, also of those whose other members stand elsewhere."""
    if isinstance(data, Dataset):
        return data
    loaded = load(data, **loading.how, groups=False)
    prefix, colon, place = str(data).partition(":")
    named = path_of(data)
    if named is not None and named.is_file():
        path = named
        chosen = recognise(named, loading.named_columns)
    elif colon and prefix in FORMATS and Path(place).is_file():
        path = Path(place)
        chosen = FORMATS[prefix]
    else:
        return loaded
    if loading.as_ is not None:
        return loaded
    # A reader forgets the group of a problem that is alone in its file; its twin may be in the other file.
    groups = {raw.id: raw.group for raw in Dataset(chosen.read(Source(path, lenient=loading.lenient)))}
    return loaded.with_problems(p.replace(group=groups[p.id]) for p in loaded)


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


FACTOR = 4
SMALLEST = 16
"""Problems below which a size would teach nothing."""
TWIN_EVALUATED = "removed, and a twin is in dev or test"
NO_TWIN = "removed, and without a twin"
SAME_TEXT = "the text of a test problem with another candidate: the one that both have would be the answer"
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
    notes: tuple[str, ...] = field(default=())
    withheld: tuple[Problem, ...] = ()
    """Problems in no file, since they would give an answer of the test away: removed twins, and further copies."""

    @cached_property
    def shown(self) -> dict[str, Dataset]:
        """The files as a reader finds them, who forgets the group of a problem that is alone in its file."""
        return {name: data.with_problems(lone_groups_dropped(data)) for name, data in self.files.items()}

    def status(self, problem: Problem) -> str:
        """Kept or removed."""
        return KEPT if problem.id in self.kept else REMOVED

    def count_kept(self, problems: Iterable[Problem]) -> int:
        """How many of some problems were kept."""
        return sum(problem.id in self.kept for problem in problems)

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
    fixed = fixed or {}
    public = Draws.public(settings.seed)
    secret = secret or public
    units = units_of(inputs.problems, inputs.kept)
    split = split_units(units, keys_of(units, facts=settings.split == "knowledge"), settings, secret, fixed)
    dev = balanced(split.units_in(DEV), public, fixed)
    test = tossed(split.units_in(TEST), secret, fixed)
    trained, singles = _training_order(balanced(split.units_in(TRAIN), public, fixed), settings.singles, public)
    files = {f"train_{name}": _members(own) for name, own in cut_sizes(trained, settings.sizes).items()}
    files[DEBIASED] = [p for p in _members([*trained, *singles]) if p.id in inputs.kept]
    # Twins side by side in dev, so that a part of the file has whole groups too; in the test they are no neighbours.
    files[DEV] = [p for unit in _drawn_units(dev, public) for p in _drawn(_kept(unit), public)]
    tested = _drawn((p for unit in test for p in _kept(unit)), secret)
    files[TEST] = _one_per_text(tested, fixed)
    tested_ids = {problem.id for problem in files[TEST]}
    copies = [problem for problem in tested if problem.id not in tested_ids]
    removed_twins = [member for unit in test for member in unit.removed]
    for name, problems in files.items():
        if not problems and split.wanted.get(name) != 0:
            asked = f" of the {split.wanted[name]:,} asked for" if name in split.wanted else ""
            raise BadInput(
                f"nothing is left for {name}{asked}: too few problems; see --dev, --test and --set complete=on"
            )
    why = "problems stay in the splits of the previous version" if fixed else "groups and blocks stay whole"
    notes = [
        f"{name} has {len(files[name]):,} of the {count:,} problems asked for: {why}"
        for name, count in split.wanted.items()
        if count - len(tested if name == TEST else files[name]) > max(AT_LEAST, SHORT * count)
    ]
    if singles:
        alone = f"{sum(len(unit.kept) for unit in singles):,} kept problems without a twin are in {DEBIASED} only"
        notes.append(f"{alone}; --set singles=on lets them into the sizes")
    if settings.sizes and settings.sizes[-1] > (most := sum(len(unit.members) for unit in trained)):
        notes.append(f"train_xl has all {most:,} problems there are, of the {settings.sizes[-1]:,} asked for")
    left_out = {
        TWIN_EVALUATED: sum(len(unit.removed) for unit in (*dev, *test)),
        NO_TWIN: sum(len(unit.removed) for unit in singles),
        SAME_TEXT: len(tested) - len(files[TEST]),
        SHARES[settings.split]: sum(len(units[place].members) for place in split.shared),
    }
    return ReleaseContents(
        {name: _published(name, problems) for name, problems in files.items() if problems},
        inputs.kept,
        {reason: count for reason, count in left_out.items() if count},
        tuple(notes),
        (*removed_twins, *copies),
    )


def balanced(units: Sequence[ReleaseUnit], draws: Draws, settled: Collection[str] = ()) -> list[ReleaseUnit]:
    """The units, in the same order, with candidates turned where the kept members' answers lean to one side.

    Members with a settled id keep the order that an earlier release gave them, and the rest of their unit follows them.
    """
    sides = {unit.name: _settled_side(unit, settled) for unit in units}
    leaning = [unit for unit in units if _surplus(unit) and sides[unit.name] is None]
    in_turn = draws.ordered("sides", leaning, lambda unit: unit.name)
    turned = {unit.name for turn, unit in enumerate(in_turn) if (_surplus(unit) > 0) != (turn % 2 == 0)}
    units = [unit.map(lambda member: member.with_order((1, 0))) if unit.name in turned else unit for unit in units]
    return [unit if (side := sides[unit.name]) is None else _sided(unit, side, settled) for unit in units]


def tossed(units: Sequence[ReleaseUnit], draws: Draws, settled: Collection[str] = ()) -> list[ReleaseUnit]:
    """The units, in the same order, with candidates by the alphabet or against it, as a coin says for each unit.

    Members with a settled id keep the order that an earlier release gave them, and the rest of their unit follows them.
    """
    sided = []
    for unit in units:
        side = _settled_side(unit, settled)
        coin = draws.number("sides of the test", unit.name) % 2 == 1
        sided.append(_sided(unit, coin if side is None else side, settled))
    return sided


def _settled_side(unit: ReleaseUnit, settled: Collection[str]) -> bool | None:
    """Whether the first member whose order is public stands against the alphabet; None without one."""
    first = next((member for member in unit.members if member.id in settled), None)
    return None if first is None else first.candidates[0] > first.candidates[1]


def _sided(unit: ReleaseUnit, backwards: bool, settled: Collection[str]) -> ReleaseUnit:
    """The unit with the candidates of its members by the alphabet or against it, but those that are settled."""

    def turned(member: Problem) -> Problem:
        is_backwards = member.candidates[0] > member.candidates[1]
        return member if member.id in settled or is_backwards == backwards else member.with_order((1, 0))

    return unit.map(turned)


def _surplus(unit: ReleaseUnit) -> int:
    """How many more of the kept members have the first candidate as their answer than the second."""
    return sum(1 if member.answer == 0 else -1 for member in unit.kept)


def size_targets(problems: int, asked: Sequence[int] | None = None) -> dict[str, int]:
    """How many problems each size should have, the smallest first.

    >>> size_targets(40398)
    {'xs': 157, 's': 631, 'm': 2524, 'l': 10099, 'xl': 40398}
    >>> size_targets(320)
    {'m': 20, 'l': 80, 'xl': 320}
    """
    if asked is not None:
        counts = sorted({min(count, problems) for count in asked})
    else:
        counts = [problems // FACTOR**power for power in range(len(SIZES))][::-1]
        counts = [count for count in counts if count >= SMALLEST] or [problems]
    return dict(zip(SIZES[-len(counts) :], counts, strict=True))


def cut_sizes(units: Sequence[ReleaseUnit], asked: Sequence[int] | None = None) -> dict[str, Sequence[ReleaseUnit]]:
    """The units of each size: the beginning of all of them, as many as fit."""
    targets = size_targets(sum(len(unit.members) for unit in units), asked)
    ends: dict[str, int] = {}
    taken = place = 0
    for name, target in targets.items():
        while place < len(units) and taken + len(units[place].members) <= target:
            taken += len(units[place].members)
            place += 1
        ends[name] = place
    return {name: units[:end] for name, end in ends.items() if end}


def _training_order(
    units: Sequence[ReleaseUnit], singles_too: bool, draws: Draws
) -> tuple[list[ReleaseUnit], list[ReleaseUnit]]:
    """Units for the sizes in a drawn order, members in a drawn order too; and those that are for no size."""
    members = [ReleaseUnit(tuple(_drawn(unit.members, draws)), unit.kept_ids) for unit in units]
    shuffled = _drawn_units(members, draws)
    if singles_too or not any(unit.is_group for unit in shuffled):
        return shuffled, []
    return [unit for unit in shuffled if unit.is_group], [unit for unit in shuffled if not unit.is_group]


def _drawn(problems: Iterable[Problem], draws: Draws) -> list[Problem]:
    return draws.ordered("problems", problems, lambda problem: problem.id)


def _drawn_units(units: Iterable[ReleaseUnit], draws: Draws) -> list[ReleaseUnit]:
    return draws.ordered("units", units, lambda unit: unit.name)


def _members(units: Iterable[ReleaseUnit]) -> list[Problem]:
    return [member for unit in units for member in unit.members]


def _kept(unit: ReleaseUnit) -> Sequence[Problem]:
    """The kept members; one whose twins are not in the release has no group there."""
    return unit.kept if len(unit.kept) > 1 else [problem.replace(group=None) for problem in unit.kept]


def _one_per_text(problems: Sequence[Problem], settled: Collection[str] = ()) -> list[Problem]:
    """The problems without those that have the text of another and one of its candidates; twins stay before others.

    `--as binary` makes such ones: each has the right candidate and another wrong one, and so has a copy of the text
    with other spaces. What an earlier release had stays before all others: after it, the other one would tell.
    """
    offered: dict[tuple[str, str, str], frozenset[str]] = {}
    stay = set()
    first = {problem.group: place for place, problem in reversed([*enumerate(problems)])}
    for problem in sorted(problems, key=lambda own: (own.id not in settled, own.group is None, first[own.group])):
        both = frozenset(letters(language_of(problem.language).bare(candidate)) for candidate in problem.candidates)
        keys = [(letters(problem.before), letters(problem.after), name) for name in both]
        if all(offered.get(key, both) == both for key in keys):
            offered |= dict.fromkeys(keys, both)
            stay.add(problem.id)
    return list(lone_groups_dropped([problem for problem in problems if problem.id in stay]))


def _published(name: str, problems: Iterable[Problem]) -> Dataset:
    """The problems of a file without their provenance, of which nothing is published one by one.

    Exact repetitions stand in the order of their numbers, since whoever reads the file counts them so.
    """
    bare = [problem.replace(provenance={}) for problem in problems]
    repeated = grouped((p.id.partition(".")[0], p) for p in sorted(bare, key=lambda problem: -problem.occurrence))
    return Dataset([repeated[problem.id.partition(".")[0]].pop() for problem in bare], Card(name))
