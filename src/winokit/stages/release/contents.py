"""The contents of a release: the problems of every file, drawn, ordered and balanced.

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

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
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
    """Settings that a release takes over from the version before it."""

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
    """All problems with their groups, and which of them were kept.

    They are under the card of the kept problems. Groups are found over kept and removed problems together.
    """

    problems: Dataset
    kept: frozenset[str]
    """Ids of those that were kept; the others were removed."""
    debias: dict[str, Any] | None = None
    """The record of a filtering."""


def read_inputs(
    kept: str | Path | Dataset, removed: str | Path | Dataset | None = None, loading: Loading = Loading()
) -> ReleaseInputs:
    """Read the kept and the removed problems, and find their groups."""
    record = None
    folder = path_of(kept)
    if folder is not None and folder.is_dir():
        for name in (KEPT_FILE, RECORD):
            if not (folder / name).is_file():
                raise BadInput(f"{folder}: expected a folder of winokit debias, or a file; there is no {name}")
        kept = folder / KEPT_FILE
        record = read_object(folder / RECORD)
        removed_file = folder / REMOVED_FILE
        # A file with its card alone is empty.
        if removed is None and removed_file.is_file() and len(removed_file.read_bytes().strip().split(b"\n")) > 1:
            removed = removed_file
    staying = _read_problems(kept, loading)
    going = _read_problems(removed, loading) if removed is not None else Dataset([])
    staying, going = _separate_removed(staying, going)
    joined = _find_groups(Dataset([*staying, *going], staying.card, [*staying.notes, *going.notes]))
    hidden = sum(problem.answer is None for problem in joined)
    if hidden:
        raise BadInput(f"{hidden:,} of {len(joined):,} problems have no answer, and a release needs them")
    for problem in joined:
        _check_fits_winogrande(problem)
    kept_ids = frozenset(problem.id for problem in joined.problems[: len(staying)])
    return ReleaseInputs(joined, kept_ids, record)


def _check_fits_winogrande(problem: Problem) -> None:
    """Refuse a problem that WinoGrande's rows cannot hold."""
    if problem.query is not None:
        raise CannotWrite(f"problem {problem.id}: a yes/no judgement; convert with --as choice first")
    if len(problem.candidates) != 2:
        count = len(problem.candidates)
        raise CannotWrite(f"problem {problem.id}: {count} candidates where two fit; convert with --as binary first")
    if not problem.is_whole and problem.text.count(BLANK) != 1:
        raise CannotWrite(f"problem {problem.id}: its text has a '{BLANK}' besides the blank")


def _read_problems(data: str | Path | Dataset, loading: Loading) -> Dataset:
    """Read a dataset with all its groups, also those of a single member.

    The other members of such a group may be in another file.
    """
    if isinstance(data, Dataset):
        return data
    loaded = load(data, **loading.how, groups=False)
    prefix, colon, prefixed_path = str(data).partition(":")
    plain_path = path_of(data)
    if plain_path is not None and plain_path.is_file():
        path = plain_path
        chosen_format = recognise(plain_path, loading.named_columns)
    elif colon and prefix in FORMATS and Path(prefixed_path).is_file():
        path = Path(prefixed_path)
        chosen_format = FORMATS[prefix]
    else:
        return loaded
    if loading.as_ is not None:
        return loaded
    # A reader forgets the group of a problem that is alone in its file; its twin may be in the other file.
    groups = {raw.id: raw.group for raw in Dataset(chosen_format.read(Source(path, lenient=loading.lenient)))}
    return loaded.with_problems(p.replace(group=groups[p.id]) for p in loaded)


def _separate_removed(staying: Dataset, going: Dataset) -> tuple[Dataset, Dataset]:
    """Return the kept problems, and the removed ones without them.

    REMOVED may be all problems before filtering.

    The order of such a file may name twins that nothing else does, so the kept problems take its groups.
    """
    both = {problem.id for problem in staying} & {problem.id for problem in going}
    if not both:
        return staying, going
    going_grouped = _find_groups(going)
    groups: dict[str, str] = {}
    removed = []
    for problem in going_grouped:
        if problem.id not in both:
            removed.append(problem)
        elif problem.group is not None:
            groups[problem.id] = problem.group
    kept = [problem.replace(group=groups.get(problem.id, problem.group)) for problem in staying]
    note = f"{len(both):,} of the {len(going):,} removed problems are among the kept, and count as kept"
    return staying.with_problems(kept), going_grouped.with_problems(removed, [note])


def _find_groups(dataset: Dataset) -> Dataset:
    """Return the dataset with its groups, found without looking at answers.

    Any problem may come to be tested, and that two which look like twins are none would say that they share an answer.
    """
    unanswered = dataset.with_problems(problem.replace(answer=None) for problem in dataset)
    groups = [problem.group for problem in with_groups(unanswered)]
    pairs = zip(dataset, groups, strict=True)
    return dataset.with_problems(problem.replace(group=group) for problem, group in pairs)


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
    """The problems of each file, with answers, and which of them were kept."""

    files: dict[str, Dataset]
    kept: frozenset[str]
    left_out: dict[str, int]
    """Problems that are in no file, by reason."""
    notes: tuple[str, ...] = field(default=())
    withheld: tuple[Problem, ...] = ()
    """Problems in no file, since they would give an answer of the test away: removed twins, and further copies."""

    @cached_property
    def shown(self) -> dict[str, Dataset]:
        """The files as readers see them: a problem alone in its file has no group."""
        return {name: data.with_problems(lone_groups_dropped(data)) for name, data in self.files.items()}

    def status(self, problem: Problem) -> str:
        """Kept or removed."""
        return KEPT if problem.id in self.kept else REMOVED

    def count_kept(self, problems: Iterable[Problem]) -> int:
        """Number of these problems that were kept."""
        return sum(problem.id in self.kept for problem in problems)

    @property
    def sizes(self) -> dict[str, Dataset]:
        """The files of the training sizes, the smallest first."""
        return {name: data for name, data in self.files.items() if name.startswith("train_") and name != DEBIASED}

    @property
    def where(self) -> dict[str, str]:
        """Train, dev or test, by id."""
        where: dict[str, str] = {}
        for name, problems in self.files.items():
            split = name if name in (DEV, TEST) else TRAIN
            where |= dict.fromkeys((problem.id for problem in problems), split)
        return where

    @property
    def training(self) -> Dataset:
        """All training problems, each once."""
        by_id: dict[str, Problem] = {}
        for name, data in self.files.items():
            if name not in (DEV, TEST):
                by_id |= {problem.id: problem for problem in data}
        return Dataset(by_id.values(), Card(TRAIN))


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
    balanced_training = balanced(split.units_in(TRAIN), public, fixed)
    trained, singles = _draw_training_order(balanced_training, settings.singles, public)
    files = {}
    for size_name, size_units in cut_sizes(trained, settings.sizes).items():
        files[f"train_{size_name}"] = _collect_members(size_units)
    files[DEBIASED] = [problem for problem in _collect_members([*trained, *singles]) if problem.id in inputs.kept]
    # Twins are side by side in dev, so that a part of the file has whole groups too. In the test they are apart.
    files[DEV] = []
    for unit in _draw_units(dev, public):
        files[DEV] += _draw_problems(_get_kept_members(unit), public)
    tested = _draw_problems(chain.from_iterable(map(_get_kept_members, test)), secret)
    files[TEST] = _select_one_per_text(tested, fixed)
    _check_filled(files, split.wanted)
    tested_ids = {problem.id for problem in files[TEST]}
    copies = [problem for problem in tested if problem.id not in tested_ids]
    left_out = {
        TWIN_EVALUATED: _count_removed([*dev, *test]),
        NO_TWIN: _count_removed(singles),
        SAME_TEXT: len(copies),
        SHARES[settings.split]: sum(len(units[index].members) for index in split.shared),
    }
    found = {name: len(problems) for name, problems in files.items()} | {TEST: len(tested)}
    reason = "problems stay in the splits of the previous version" if fixed else "groups and blocks stay whole"
    notes = []
    for name, count in split.wanted.items():
        if count - found[name] > max(AT_LEAST, SHORT * count):
            notes.append(f"{name} has {len(files[name]):,} of the {count:,} problems asked for: {reason}")
    notes += _note_training(trained, singles, settings)
    return ReleaseContents(
        {name: _strip_provenance(name, problems) for name, problems in files.items() if problems},
        inputs.kept,
        {reason: count for reason, count in left_out.items() if count},
        tuple(notes),
        (*chain.from_iterable(unit.removed for unit in test), *copies),
    )


def _check_filled(files: Mapping[str, Sequence[Problem]], wanted: Mapping[str, int]) -> None:
    """Refuse a release with an empty file, except for splits that are to have no problems."""
    for name, problems in files.items():
        if not problems and wanted.get(name) != 0:
            of_wanted = f" of the {wanted[name]:,} asked for" if name in wanted else ""
            raise BadInput(
                f"nothing is left for {name}{of_wanted}: too few problems; see --dev, --test and --set complete=on"
            )


def _count_removed(units: Iterable[ReleaseUnit]) -> int:
    """Number of removed members of some units."""
    return sum(len(unit.removed) for unit in units)


def _note_training(
    trained: Sequence[ReleaseUnit], singles: Sequence[ReleaseUnit], settings: ReleaseSettings
) -> Iterator[str]:
    """Yield notes on problems that are in no size, and on a largest size that is not reached."""
    if singles:
        single_count = sum(len(unit.kept) for unit in singles)
        yield (
            f"{single_count:,} kept problems without a twin are in {DEBIASED} only; "
            "--set singles=on lets them into the sizes"
        )
    if settings.sizes:
        largest = settings.sizes[-1]
        available = sum(len(unit.members) for unit in trained)
        if largest > available:
            yield f"train_xl has all {available:,} problems there are, of the {largest:,} asked for"


def balanced(units: Sequence[ReleaseUnit], draws: Draws, settled: Collection[str] = ()) -> list[ReleaseUnit]:
    """Return the units with candidates turned so that answers are balanced.

    Members with a settled id keep the order that an earlier release gave them, and the rest of their unit follows them.
    """
    sides = {unit.name: _find_settled_side(unit, settled) for unit in units}
    leaning = [unit for unit in units if _count_surplus(unit) and sides[unit.name] is None]
    turned_names = set()
    for turn, unit in enumerate(draws.ordered("sides", leaning, lambda unit: unit.name)):
        leans_to_first = _count_surplus(unit) > 0
        wants_first = turn % 2 == 0
        if leans_to_first != wants_first:
            turned_names.add(unit.name)
    balanced_units = []
    for unit in units:
        side = sides[unit.name]
        if side is not None:
            balanced_units.append(_turn_unit(unit, side, settled))
        elif unit.name in turned_names:
            balanced_units.append(unit.map(_exchange_candidates))
        else:
            balanced_units.append(unit)
    return balanced_units


def _exchange_candidates(problem: Problem) -> Problem:
    """The problem with its two candidates in the other order."""
    return problem.with_order((1, 0))


def tossed(units: Sequence[ReleaseUnit], draws: Draws, settled: Collection[str] = ()) -> list[ReleaseUnit]:
    """The units, in the same order, with candidates by the alphabet or against it, as a coin says for each unit.

    Members with a settled id keep the order that an earlier release gave them, and the rest of their unit follows them.
    """
    sided = []
    for unit in units:
        side = _find_settled_side(unit, settled)
        coin = draws.number("sides of the test", unit.name) % 2 == 1
        sided.append(_turn_unit(unit, coin if side is None else side, settled))
    return sided


def _find_settled_side(unit: ReleaseUnit, settled: Collection[str]) -> bool | None:
    """Whether the first member with a settled order is against the alphabet.

    None without such a member.
    """
    first = next((member for member in unit.members if member.id in settled), None)
    return None if first is None else first.candidates[0] > first.candidates[1]


def _turn_unit(unit: ReleaseUnit, backwards: bool, settled: Collection[str]) -> ReleaseUnit:
    """The unit with the candidates of its members by the alphabet or against it, but those that are settled."""

    def turned(member: Problem) -> Problem:
        is_backwards = member.candidates[0] > member.candidates[1]
        return member if member.id in settled or is_backwards == backwards else member.with_order((1, 0))

    return unit.map(turned)


def _count_surplus(unit: ReleaseUnit) -> int:
    """Kept members whose answer is the first candidate, minus those with the second."""
    first_count = sum(member.answer == 0 for member in unit.kept)
    return 2 * first_count - len(unit.kept)


def size_targets(problems: int, asked: Sequence[int] | None = None) -> dict[str, int]:
    """Return the number of problems that each size should have, smallest first.

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
    """Return the units of each size: as many as fit, from the beginning."""
    targets = size_targets(sum(len(unit.members) for unit in units), asked)
    ends: dict[str, int] = {}
    problem_count = end_index = 0
    for name, target in targets.items():
        while end_index < len(units) and problem_count + len(units[end_index].members) <= target:
            problem_count += len(units[end_index].members)
            end_index += 1
        ends[name] = end_index
    return {name: units[:end] for name, end in ends.items() if end}


def _draw_training_order(
    units: Sequence[ReleaseUnit], singles_too: bool, draws: Draws
) -> tuple[list[ReleaseUnit], list[ReleaseUnit]]:
    """Return units for the sizes in a drawn order, and units that are for no size."""
    members = [ReleaseUnit(tuple(_draw_problems(unit.members, draws)), unit.kept_ids) for unit in units]
    shuffled = _draw_units(members, draws)
    if singles_too or not any(unit.is_group for unit in shuffled):
        return shuffled, []
    return [unit for unit in shuffled if unit.is_group], [unit for unit in shuffled if not unit.is_group]


def _draw_problems(problems: Iterable[Problem], draws: Draws) -> list[Problem]:
    return draws.ordered("problems", problems, lambda problem: problem.id)


def _draw_units(units: Iterable[ReleaseUnit], draws: Draws) -> list[ReleaseUnit]:
    return draws.ordered("units", units, lambda unit: unit.name)


def _collect_members(units: Iterable[ReleaseUnit]) -> list[Problem]:
    return list(chain.from_iterable(unit.members for unit in units))


def _get_kept_members(unit: ReleaseUnit) -> Sequence[Problem]:
    """Return the kept members. A single one has no group."""
    if len(unit.kept) > 1:
        return unit.kept
    return [problem.replace(group=None) for problem in unit.kept]


def _select_one_per_text(problems: Sequence[Problem], settled: Collection[str] = ()) -> list[Problem]:
    """Drop problems with the text and one candidate of another. Twins are preferred.

    `--as binary` makes such ones: each has the right candidate and another wrong one, and so has a copy of the text
    with other spaces. What an earlier release had stays before all others: after it, the other one would tell.
    """
    offered: dict[tuple[str, str, str], frozenset[str]] = {}
    selected_ids = set()
    first_row: dict[str | None, int] = {}
    for row, problem in enumerate(problems):
        first_row.setdefault(problem.group, row)

    def rank(problem: Problem) -> tuple[bool, bool, int]:
        return problem.id not in settled, problem.group is None, first_row[problem.group]

    for problem in sorted(problems, key=rank):
        language = language_of(problem.language)
        names = frozenset(letters(language.bare(candidate)) for candidate in problem.candidates)
        keys = [(letters(problem.before), letters(problem.after), name) for name in names]
        if all(offered.get(key, names) == names for key in keys):
            offered |= dict.fromkeys(keys, names)
            selected_ids.add(problem.id)
    return list(lone_groups_dropped([problem for problem in problems if problem.id in selected_ids]))


def _strip_provenance(name: str, problems: Iterable[Problem]) -> Dataset:
    """Return the problems of a file without their provenance.

    Exact repetitions stand in the order of their numbers, since whoever reads the file counts them so.
    """
    stripped = [problem.replace(provenance={}) for problem in problems]
    last_first = sorted(stripped, key=lambda problem: -problem.occurrence)
    repetitions = grouped((_id_without_number(problem), problem) for problem in last_first)
    return Dataset([repetitions[_id_without_number(problem)].pop() for problem in stripped], Card(name))


def _id_without_number(problem: Problem) -> str:
    """The id that exact repetitions of a problem share."""
    return problem.id.partition(".")[0]
