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
from winokit.data.loading import DataLike, Loading, load, path_of
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
"""Makes the rows of a lineage from the split of each problem, by id."""


@dataclass(frozen=True)
class Succession:
    """Facts that a release takes over from its previous version.

    They are empty for a first version.
    """

    fixed: Mapping[str, str] = field(default_factory=dict)
    """Splits that the previous version decided (train, dev or test), by id."""
    lineage: Lineage | None = None
    """Makes the rows of the lineage. Default: every problem is new."""
    units: Mapping[str, int] = field(default_factory=dict)
    """Units that the previous version stored for its hidden test, by id."""
    returned: frozenset[str] = frozenset()
    """Ids of retired problems that are brought back for training."""
    versions: frozenset[str] = frozenset()
    """Identities of the hidden tests of earlier versions."""


FIRST = Succession()


@dataclass(frozen=True)
class ReleaseInputs:
    """The problems that a release is made from, and which of them filtering kept."""

    problems: Dataset
    """Kept, then removed problems, with the card of the kept ones and groups found over both."""
    kept: frozenset[str]
    """Ids of the kept problems; the others were removed."""
    debias: dict[str, Any] | None = None
    """The record that `winokit debias` wrote. None if the problems are not from such a folder."""


def read_inputs(kept: DataLike, removed: DataLike | None = None, loading: Loading = Loading()) -> ReleaseInputs:
    """Read the kept and the removed problems, and find their groups.

    Raises BadInput or CannotWrite if a problem has no answer or does not fit WinoGrande's format.

    Parameters
    ----------
    kept
        DATA, a dataset, or a folder of `winokit debias`.
    removed
        DATA or a dataset. Default: the removed problems in the folder, if `kept` is one.
    loading
        How to read DATA.
    """
    record = None
    folder = path_of(kept)
    if folder is not None and folder.is_dir():
        _check_debias_folder(folder)
        kept = folder / KEPT_FILE
        record = read_object(folder / RECORD)
        removed_file = folder / REMOVED_FILE
        if removed is None and _has_problems(removed_file):
            removed = removed_file
    kept_problems = _read_problems(kept, loading)
    removed_problems = Dataset([])
    if removed is not None:
        removed_problems = _read_problems(removed, loading)
    kept_problems, removed_problems = _separate_removed(kept_problems, removed_problems)
    notes = [*kept_problems.notes, *removed_problems.notes]
    problems = _find_groups(Dataset([*kept_problems, *removed_problems], kept_problems.card, notes))
    unanswered_count = sum(problem.answer is None for problem in problems)
    if unanswered_count:
        raise BadInput(f"{unanswered_count:,} of {len(problems):,} problems have no answer, and a release needs them")
    for problem in problems:
        _check_fits_winogrande(problem)
    kept_ids = frozenset(problem.id for problem in problems.problems[: len(kept_problems)])
    return ReleaseInputs(problems, kept_ids, record)


def _check_debias_folder(folder: Path) -> None:
    """Raise BadInput unless a folder has the files of `winokit debias`.

    Those are the kept problems and the record.
    """
    for name in (KEPT_FILE, RECORD):
        if not (folder / name).is_file():
            raise BadInput(f"{folder}: expected a folder of winokit debias, or a file; there is no {name}")


def _has_problems(path: Path) -> bool:
    """Whether a file of `winokit debias` exists and has any problem.

    The first line is the card.
    """
    if not path.is_file():
        return False
    lines = path.read_bytes().strip().split(b"\n")
    return len(lines) > 1


def _check_fits_winogrande(problem: Problem) -> None:
    """Raise CannotWrite if WinoGrande's format has no place for a problem.

    It has none for a yes/no judgement, for more or fewer than two candidates, or for a text with the sign of the blank
    elsewhere.
    """
    if problem.query is not None:
        raise CannotWrite(f"problem {problem.id}: a yes/no judgement; convert with --as choice first")
    if len(problem.candidates) != 2:
        count = len(problem.candidates)
        raise CannotWrite(f"problem {problem.id}: {count} candidates where two fit; convert with --as binary first")
    if not problem.is_whole and problem.text.count(BLANK) != 1:
        raise CannotWrite(f"problem {problem.id}: its text has a '{BLANK}' besides the blank")


def _read_problems(data: DataLike, loading: Loading) -> Dataset:
    """Read a dataset, and keep groups of a single member.

    The other members of such a group may be in another file. A dataset in memory is returned as it is.
    """
    if isinstance(data, Dataset):
        return data
    loaded = load(data, **loading.how, groups=False)
    if not isinstance(data, (str, Path)):
        return loaded
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
    # `load` drops the group of a problem that is alone in its file; its twin may be in the other file.
    unloaded = Dataset(chosen_format.read(Source(path, lenient=loading.lenient)))
    groups = {problem.id: problem.group for problem in unloaded}
    return loaded.with_problems(problem.replace(group=groups[problem.id]) for problem in loaded)


def _separate_removed(kept: Dataset, removed: Dataset) -> tuple[Dataset, Dataset]:
    """Return both datasets, the second without problems of the first.

    `removed` may be all problems before filtering. The order of that file may show which problems are twins when
    nothing else does, so that the kept problems take their groups from it.
    """
    shared_ids = {problem.id for problem in kept} & {problem.id for problem in removed}
    if not shared_ids:
        return kept, removed
    grouped_dataset = _find_groups(removed)
    groups: dict[str, str] = {}
    removed_problems = []
    for problem in grouped_dataset:
        if problem.id not in shared_ids:
            removed_problems.append(problem)
        elif problem.group is not None:
            groups[problem.id] = problem.group
    kept_problems = [problem.replace(group=groups.get(problem.id, problem.group)) for problem in kept]
    note = f"{len(shared_ids):,} of the {len(removed):,} removed problems are among the kept, and count as kept"
    return kept.with_problems(kept_problems), grouped_dataset.with_problems(removed_problems, [note])


def _find_groups(dataset: Dataset) -> Dataset:
    """Return the dataset with its groups, found without looking at answers.

    Any problem may get into the hidden test. If answers were used, two similar problems without a group would have
    the same answer for all to see.
    """
    unanswered = dataset.with_problems(problem.replace(answer=None) for problem in dataset)
    groups = [problem.group for problem in with_groups(unanswered)]
    pairs = zip(dataset, groups, strict=True)
    return dataset.with_problems(problem.replace(group=group) for problem, group in pairs)


FACTOR = 4
"""How many times larger each training size is than the one before."""
SMALLEST = 16
"""Number of problems below which there is no training size."""
TWIN_EVALUATED = "removed, and a twin is in dev or test"
NO_TWIN = "removed, and without a twin"
SAME_TEXT = "the text of a test problem with another candidate: the one that both have would be the answer"
SHARES = {
    "random": "nearly the same as a problem in dev or test, or perhaps its twin",
    "knowledge": "shares a (special word, candidate) pair, or nearly its text, with a problem in dev or test",
}


@dataclass(frozen=True)
class ReleaseContents:
    """The problems of each file of a release, with answers."""

    files: dict[str, Dataset]
    """The problems by the name of their file: train_xs, …, train_xl, train_debiased, dev, test."""
    kept: frozenset[str]
    """Ids of the problems that filtering kept; the others were removed."""
    left_out: dict[str, int]
    """Number of problems that are in no file, by reason."""
    notes: tuple[str, ...] = field(default=())
    withheld: tuple[Problem, ...] = ()
    """Problems in no file because they reveal an answer of the test: removed twins, and further copies."""

    @cached_property
    def shown(self) -> dict[str, Dataset]:
        """The files with groups as readers see them.

        A problem alone in its file has none.
        """
        return {name: data.with_problems(lone_groups_dropped(data)) for name, data in self.files.items()}

    def status(self, problem: Problem) -> str:
        """Return whether a problem was "kept" or "removed"."""
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
        """The split (train, dev or test) of each problem, by id."""
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
    """Draw the problems of each file of a release.

    Raises BadInput if nothing is left for a file.

    Parameters
    ----------
    inputs
        The kept and removed problems.
    settings
        The sizes of splits, and the seed for public draws.
    fixed
        Splits that the previous version decided (train, dev or test), by id.
    secret
        Draws of the splits, and of the order and sides of the test. Default: those of the seed, if nothing is hidden.
    """
    fixed = fixed or {}
    public = Draws.public(settings.seed)
    secret = secret or public
    units = units_of(inputs.problems, inputs.kept)
    keys = keys_of(units, facts=settings.split == "knowledge")
    split = split_units(units, keys, settings, secret, fixed)
    dev = balanced(split.units_in(DEV), public, fixed)
    test = tossed(split.units_in(TEST), secret, fixed)
    balanced_training = balanced(split.units_in(TRAIN), public, fixed)
    training, singles = _draw_training_order(balanced_training, settings.singles, public)
    files = {}
    for size_name, size_units in cut_sizes(training, settings.sizes).items():
        files[f"train_{size_name}"] = _collect_members(size_units)
    all_training = _collect_members([*training, *singles])
    files[DEBIASED] = [problem for problem in all_training if problem.id in inputs.kept]
    files[DEV] = _draw_dev(dev, public)
    test_problems = _draw_problems(chain.from_iterable(map(_get_kept_members, test)), secret)
    files[TEST] = _select_one_per_text(test_problems, fixed)
    _check_filled(files, split.wanted)
    test_ids = {problem.id for problem in files[TEST]}
    copies = [problem for problem in test_problems if problem.id not in test_ids]
    left_out = {
        TWIN_EVALUATED: _count_removed([*dev, *test]),
        NO_TWIN: _count_removed(singles),
        SAME_TEXT: len(copies),
        SHARES[settings.split]: sum(len(units[index].members) for index in split.shared),
    }
    lengths = {TEST: len(files[TEST]), DEV: len(files[DEV])}
    notes = [
        *_note_short_splits(split.wanted, lengths, len(copies), bool(fixed)),
        *_note_training(training, singles, settings),
    ]
    removed_twins = chain.from_iterable(unit.removed for unit in test)
    return ReleaseContents(
        files={name: _strip_provenance(name, problems) for name, problems in files.items() if problems},
        kept=inputs.kept,
        left_out={reason: count for reason, count in left_out.items() if count},
        notes=tuple(notes),
        withheld=(*removed_twins, *copies),
    )


def _draw_dev(units: Iterable[ReleaseUnit], draws: Draws) -> list[Problem]:
    """Return the kept members of dev's units in a drawn order.

    Twins are side by side, so that a part of the file has whole groups too. In the test they are apart.
    """
    problems = []
    for unit in _draw_units(units, draws):
        problems += _draw_problems(_get_kept_members(unit), draws)
    return problems


def _check_filled(files: Mapping[str, Sequence[Problem]], wanted: Mapping[str, int]) -> None:
    """Raise BadInput if a file has no problems.

    A split that is to have none may be empty. `wanted` has the number of problems that dev and test should have.
    """
    for name, problems in files.items():
        if not problems and wanted.get(name) != 0:
            of_wanted = f" of the {wanted[name]:,} asked for" if name in wanted else ""
            raise BadInput(
                f"nothing is left for {name}{of_wanted}: too few problems; see --dev, --test and --set complete=on"
            )


def _count_removed(units: Iterable[ReleaseUnit]) -> int:
    """Count the members of some units that filtering removed."""
    return sum(len(unit.removed) for unit in units)


def _note_short_splits(
    wanted: Mapping[str, int], lengths: Mapping[str, int], copy_count: int, is_successor: bool
) -> Iterator[str]:
    """Yield a note for each split that has clearly fewer problems than wanted.

    `wanted` and `lengths` have the number of problems in dev and test. Test problems that were dropped as copies of
    others (`copy_count`) do not make the test short.
    """
    reason = "groups and blocks stay whole"
    if is_successor:
        reason = "problems stay in the splits of the previous version"
    for name, wanted_count in wanted.items():
        drawn_count = lengths[name]
        if name == TEST:
            drawn_count += copy_count
        if wanted_count - drawn_count > max(AT_LEAST, SHORT * wanted_count):
            yield f"{name} has {lengths[name]:,} of the {wanted_count:,} problems asked for: {reason}"


def _note_training(
    units: Sequence[ReleaseUnit], singles: Sequence[ReleaseUnit], settings: ReleaseSettings
) -> Iterator[str]:
    """Yield notes on problems in no training size, and on missing problems.

    `units` are those in the sizes, `singles` the problems without a twin that are in none.
    """
    if singles:
        single_count = sum(len(unit.kept) for unit in singles)
        yield (
            f"{single_count:,} kept problems without a twin are in {DEBIASED} only; "
            "--set singles=on lets them into the sizes"
        )
    if settings.sizes:
        largest = settings.sizes[-1]
        available = sum(len(unit.members) for unit in units)
        if largest > available:
            yield f"train_xl has all {available:,} problems there are, of the {largest:,} asked for"


def balanced(units: Sequence[ReleaseUnit], draws: Draws, earlier_ids: Collection[str] = ()) -> list[ReleaseUnit]:
    """Return units whose answers are first and second equally often.

    Candidates are exchanged for that. In units whose answers are not balanced in themselves, the first and the second
    candidate take turns to be right more often. Problems with an id of an earlier release keep their order of
    candidates, and the rest of their unit gets the same.
    """
    orders = {unit.name: _is_earlier_descending(unit, earlier_ids) for unit in units}
    unbalanced = [unit for unit in units if _count_surplus(unit) and orders[unit.name] is None]
    names_to_exchange = set()
    for turn, unit in enumerate(draws.ordered("sides", unbalanced, lambda unit: unit.name)):
        favours_first = _count_surplus(unit) > 0
        should_favour_first = turn % 2 == 0
        if favours_first != should_favour_first:
            names_to_exchange.add(unit.name)
    balanced_units = []
    for unit in units:
        is_descending = orders[unit.name]
        if is_descending is not None:
            balanced_units.append(_order_candidates(unit, is_descending, earlier_ids))
        elif unit.name in names_to_exchange:
            balanced_units.append(unit.map(_exchange_candidates))
        else:
            balanced_units.append(unit)
    return balanced_units


def _exchange_candidates(problem: Problem) -> Problem:
    """Return the problem with its two candidates in the other order."""
    return problem.with_order((1, 0))


def tossed(units: Sequence[ReleaseUnit], draws: Draws, earlier_ids: Collection[str] = ()) -> list[ReleaseUnit]:
    """Return units with candidates in ascending or descending order, as drawn.

    There is one draw for each unit. Problems with an id of an earlier release keep their order of candidates, and the
    rest of their unit gets the same. The order is alphabetical and independent of answers.
    """
    ordered_units = []
    for unit in units:
        is_descending = _is_earlier_descending(unit, earlier_ids)
        if is_descending is None:
            is_descending = draws.number("sides of the test", unit.name) % 2 == 1
        ordered_units.append(_order_candidates(unit, is_descending, earlier_ids))
    return ordered_units


def _is_earlier_descending(unit: ReleaseUnit, earlier_ids: Collection[str]) -> bool | None:
    """Whether an earlier release has the unit's candidates in descending order.

    It depends on the first member with an id of that release. None without such a member.
    """
    for member in unit.members:
        if member.id in earlier_ids:
            return _is_descending(member)
    return None


def _is_descending(problem: Problem) -> bool:
    """Whether the first candidate comes after the second in the alphabet."""
    return problem.candidates[0] > problem.candidates[1]


def _order_candidates(unit: ReleaseUnit, is_descending: bool, earlier_ids: Collection[str]) -> ReleaseUnit:
    """Return the unit with candidates in ascending or descending order.

    Members with an id of an earlier release stay as they are.
    """

    def order_member(member: Problem) -> Problem:
        is_in_order = _is_descending(member) == is_descending
        if is_in_order or member.id in earlier_ids:
            return member
        return _exchange_candidates(member)

    return unit.map(order_member)


def _count_surplus(unit: ReleaseUnit) -> int:
    """Kept members whose answer is the first candidate, minus those with the second."""
    first_count = sum(member.answer == 0 for member in unit.kept)
    return 2 * first_count - len(unit.kept)


def size_targets(problems: int, asked: Sequence[int] | None = None) -> dict[str, int]:
    """Number of problems that each training size should have, smallest first.

    Parameters
    ----------
    problems
        Number of problems for training, which is the most that a size can have.
    asked
        The numbers that the user asked for, rising. Default: all, a quarter, and so on, down to `SMALLEST`.

    >>> size_targets(40398)
    {'xs': 157, 's': 631, 'm': 2524, 'l': 10099, 'xl': 40398}
    >>> size_targets(320)
    {'m': 20, 'l': 80, 'xl': 320}
    """
    if asked is not None:
        counts = sorted({min(count, problems) for count in asked})
    else:
        quarters = [problems // FACTOR**power for power in range(len(SIZES))]
        counts = [count for count in reversed(quarters) if count >= SMALLEST]
        counts = counts or [problems]
    return dict(zip(SIZES[-len(counts) :], counts, strict=True))


def cut_sizes(units: Sequence[ReleaseUnit], asked: Sequence[int] | None = None) -> dict[str, Sequence[ReleaseUnit]]:
    """Return the units of each training size, from the beginning.

    A size has as many units as fit. `asked` has the numbers of problems that the user asked for (`size_targets`). A
    size without any unit is left out.
    """
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
    units: Sequence[ReleaseUnit], allows_singles: bool, draws: Draws
) -> tuple[list[ReleaseUnit], list[ReleaseUnit]]:
    """Draw the order of the units for the training sizes.

    Returns these, and the units that are in no size. The latter are problems without a twin, unless they are allowed
    in or there are no twins at all. Members of a unit are in a drawn order too.
    """
    drawn_units = []
    for unit in units:
        members = tuple(_draw_problems(unit.members, draws))
        drawn_units.append(ReleaseUnit(members, unit.kept_ids))
    drawn_units = _draw_units(drawn_units, draws)
    groups = [unit for unit in drawn_units if unit.is_group]
    if allows_singles or not groups:
        return drawn_units, []
    return groups, [unit for unit in drawn_units if not unit.is_group]


def _draw_problems(problems: Iterable[Problem], draws: Draws) -> list[Problem]:
    """Return the problems in a drawn order."""
    return draws.ordered("problems", problems, lambda problem: problem.id)


def _draw_units(units: Iterable[ReleaseUnit], draws: Draws) -> list[ReleaseUnit]:
    """Return the units in a drawn order."""
    return draws.ordered("units", units, lambda unit: unit.name)


def _collect_members(units: Iterable[ReleaseUnit]) -> list[Problem]:
    """Return the members of all units, kept and removed, in order."""
    return list(chain.from_iterable(unit.members for unit in units))


def _get_kept_members(unit: ReleaseUnit) -> Sequence[Problem]:
    """Return the kept members of a unit.

    A single one has no group.
    """
    if len(unit.kept) > 1:
        return unit.kept
    return [problem.replace(group=None) for problem in unit.kept]


def _select_one_per_text(problems: Sequence[Problem], earlier_ids: Collection[str] = ()) -> list[Problem]:
    """Return the problems without those that share text and one candidate with another.

    The candidate that both have would be the answer. `--as binary` makes such problems: each has the right candidate
    and another wrong one. A copy of a text with other spaces counts as the same text. Problems with an id of an
    earlier release are preferred, since two versions together would reveal the answer, then twins.
    """
    candidates_of_key: dict[tuple[str, str, str], frozenset[str]] = {}
    selected_ids = set()
    first_row: dict[str | None, int] = {}
    for row, problem in enumerate(problems):
        first_row.setdefault(problem.group, row)

    def rank(problem: Problem) -> tuple[bool, bool, int]:
        is_new = problem.id not in earlier_ids
        return is_new, problem.group is None, first_row[problem.group]

    for problem in sorted(problems, key=rank):
        language = language_of(problem.language)
        candidates = frozenset(letters(language.bare(candidate)) for candidate in problem.candidates)
        before = letters(problem.before)
        after = letters(problem.after)
        keys = [(before, after, candidate) for candidate in candidates]
        if all(candidates_of_key.get(key, candidates) == candidates for key in keys):
            candidates_of_key |= dict.fromkeys(keys, candidates)
            selected_ids.add(problem.id)
    selected = [problem for problem in problems if problem.id in selected_ids]
    return list(lone_groups_dropped(selected))


def _strip_provenance(name: str, problems: Iterable[Problem]) -> Dataset:
    """Return the problems of a file without their provenance.

    `name` becomes the name of the dataset. Exact repetitions of a problem are in the order of their numbers (`id`,
    `id.2`, …), as readers of the file number them.
    """
    stripped = [problem.replace(provenance={}) for problem in problems]
    last_first = sorted(stripped, key=lambda problem: -problem.occurrence)
    repetitions = grouped((_get_base_id(problem), problem) for problem in last_first)
    numbered = [repetitions[_get_base_id(problem)].pop() for problem in stripped]
    return Dataset(numbered, Card(name))


def _get_base_id(problem: Problem) -> str:
    """Return the id that exact repetitions of a problem share, without their number."""
    return problem.id.partition(".")[0]
