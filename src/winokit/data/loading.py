"""DATA, as users write it.

A name of the catalogue, a path, `format:path`, `hub:org/name`, or a folder of files.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated, Any, Literal

from winokit.data.checks.groups import with_groups
from winokit.data.formats import FORMATS, read, recognise
from winokit.data.formats.files import NoProblems, has_columns, remember
from winokit.data.formats.source import FileRecords, reading_beginnings, remembering_records
from winokit.data.known import CATALOGUE, CatalogueEntry, named_parts
from winokit.errors import BadInput, UnknownName, UnusedSetting, check_known
from winokit.files import PROJECT_FILE
from winokit.methods.scoring.scorer import ScoringPlan
from winokit.notebook import Frame
from winokit.problem import Card, Dataset, Problem, collector_off
from winokit.progress import tell
from winokit.settings import DATA_HELP, Help, Settings, Without, verb
from winokit.text.language import ENOUGH, UNDETERMINED, check_code, detect, language_of, languages_of

DataLike = str | Path | Dataset | Frame
Data = Annotated[DataLike, Help(DATA_HELP, "DATA")]
Datasets = Annotated[DataLike | Sequence[DataLike], Help(DATA_HELP, "DATA")]
View = Literal["binary", "choice", "judgements"]
As = Annotated[
    View | None, Help("Another view: binary, choice (merge yes/no judgements) or judgements.", "VIEW", noun="view")
]
Labels = Annotated[
    Sequence[str | Path],
    Help("Labels to join: Trichelair et al.'s, or labels.jsonl of collect export; repeatable.", "FILE"),
]
Errata = Annotated[
    str | Path | None,
    Help("Labels that people found wrong (errata.toml): results are also said without them.", "FILE"),
]
Perturbed = Annotated[
    Sequence[str | Path | Dataset],
    Help("Perturbed versions of DATA, linked to it by their labels; repeatable.", "DATA"),
]


@dataclass(frozen=True)
class Reading(Settings):
    """Settings for files that do not state their language and columns."""

    language: Annotated[
        str | None,
        Help("The language of DATA (BCP 47: de, pt-BR); for data in several, the one to use. Default: recognised."),
    ] = None
    columns: Annotated[
        str | Mapping[str, str] | None,
        Help(
            "What the columns of a table are: text=satz,option1=a,option2=b,answer=loesung,group=paar "
            "(docs/data.md). Default: those in a winokit.toml next to it.",
            "ROLE=COLUMN,…",
            typed=str,
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.language is not None:
            object.__setattr__(self, "language", check_code(self.language))
        if self.columns is not None:
            from winokit.data.predictions.columns import are_of_predictions

            if not are_of_predictions(self.columns):  # those are refused when data is read
                _ = self.named_columns  # Refuses what names no columns.

    @property
    def named_columns(self) -> dict[str, str] | None:
        """Column names by role, from either form of the setting, or None."""
        if self.columns is None:
            return None
        from winokit.data.formats.columns import checked_columns

        return checked_columns(self.columns)


HOW_TO_READ = ("language", "columns", "as_", "lenient")
"""Settings of verbs that read data as they come."""
Lenient = Annotated[bool, Help("Skip malformed records, and report how many.")]
Limit = Annotated[int | None, Help("Only the first N problems.", "N", least=1)]


@dataclass(frozen=True)
class Loading(Reading):
    """Settings with which a command loads its data."""

    as_: As = None
    labels: Labels = ()
    errata: Errata = None
    limit: Limit = None
    lenient: Lenient = False

    @property
    def how(self) -> dict[str, Any]:
        """The settings as keyword arguments of `load`."""
        return {
            "as_": self.as_,
            "labels": self.labels,
            "errata": self.errata,
            "lenient": self.lenient,
            "reading": self,
        }

    def one(self, data: DataLike) -> Dataset:
        """Load a dataset, and show its notes to the user."""
        return load_one(data, limit=self.limit, **self.how)


Labelled = Annotated[Loading, Without("errata", "limit")]
Judged = Annotated[Loading, Without("labels", "limit"), Without(*HOW_TO_READ, now_in="load")]
Limited = Annotated[Loading, Without("labels", "errata")]
"""What verbs take of it that read data as they come: without a limit, or without labels to join."""
AsWritten = Annotated[Loading, Without("labels", "errata", "limit"), Without(*HOW_TO_READ, now_in="load")]
AsWrittenLimited = Annotated[Loading, Without("labels", "errata"), Without(*HOW_TO_READ, now_in="load")]
"""What the other verbs take of it. They read what `convert` wrote, or as a winokit.toml says."""

BUNDLED = ("open",)
AHEAD = 1000
"""Problems that are parsed beyond a limit: among them are the twins of those within it, and what set they are from."""
GENERATED = "synthetic"
MOST_GENERATED = 1_000_000


@verb
@collector_off()
def load(
    data: DataLike,
    *,
    as_: str | None = None,
    labels: Sequence[str | Path] = (),
    errata: str | Path | None = None,
    groups: bool = True,
    lenient: bool = False,
    reading: Reading = Reading(),
) -> Dataset:
    """Load one dataset and find its groups.

    Parameters
    ----------
    data
        `open`, `winogrande/xl`, `synthetic-1000`, a path, `format:path` or `hub:org/name[/config][#split]`; several
        with + between.
        A `Dataset` is taken as it is, with labels and view as asked for; a data frame is read as `from_frame` does.
    as_
        `binary`, `choice` or `judgements`: another view of the same problems.
    labels
        Trichelair's label files, joined by text and pronoun; `labels.jsonl` of `collect export`, by id.
    errata
        Labels that people found wrong, as errata.toml: these problems are marked, and their labels stay.
    groups
        Find twins where the format does not name them.
    lenient
        Skip malformed records and note them, instead of raising.
    reading
        `language` and `columns`, which can be given by themselves: a BCP 47 code, and what the columns of a table are,
        `{"text": "satz", "option1": "a", "option2": "b", "answer": "loesung"}`.
    """
    dataset = _load_dataset(data, lenient, reading.named_columns)
    if dataset is not data or reading.language is not None:
        dataset = in_language(dataset, reading.language)
    if labels:
        from winokit.data.formats.trichelair import annotate

        tables = []
        for path in dict.fromkeys(labels):
            kind = "jsonl" if str(path).endswith(".jsonl") else "trichelair"
            tables.append(read(path, kind, lenient=lenient))
        dataset = annotate(dataset, tables)
    if errata is not None:
        from winokit.data.errata import mark_errata

        dataset = mark_errata(dataset, errata)
    dataset = _convert_view(dataset, data, as_ or view_beside(data))
    return with_groups(dataset) if groups and dataset is not data else dataset


def _convert_view(dataset: Dataset, data: DataLike, view: str | None) -> Dataset:
    """The problems in another view, or unchanged if `view` is None.

    Raises BadInput if no problem can be converted. `data` is named in the message.
    """
    if view is None:
        return dataset
    from winokit.methods.transforms.views import VIEWS

    check_known("view", view, VIEWS)
    viewed = VIEWS[view](dataset)
    if not len(viewed):
        reasons = "; ".join(viewed.notes[-3:])
        raise BadInput(f"{data}: no problem is left as {view}: {reasons}")
    return viewed


def view_beside(data: DataLike) -> str | None:
    """The view that a winokit.toml beside DATA asks for, or None.

    None too if DATA is files of several folders that ask for different views.
    """
    folders = {path.parent for path in paths_of(data) if path.is_file()}
    if not any((folder / PROJECT_FILE).is_file() for folder in folders):
        return None
    from winokit.project import read_project

    views = {read_project(folder).get("as") for folder in folders}
    return views.pop() if len(views) == 1 else None


def _load_dataset(data: DataLike, lenient: bool, columns: Mapping[str, str] | None) -> Dataset:
    """The dataset that DATA names or is.

    `columns` is ignored for a `Dataset`, and for names of the catalogue, where a note says so.
    """
    if isinstance(data, Dataset):
        return data
    if isinstance(data, Frame):
        from winokit.data.frames import problems_of_frame  # it needs this module

        return problems_of_frame(data, columns, lenient=lenient)
    return _read_data(as_typed(data), lenient, columns)


def one_or_several(data: DataLike | Sequence[DataLike]) -> list[DataLike]:
    """One dataset or several, as a list."""
    return [data] if isinstance(data, (str, Path, Dataset, Frame)) else list(data)


def in_language(dataset: Dataset, language: str | None) -> Dataset:
    """The dataset with its language, and with problems in that language only.

    The language is the one given, or else stated by problems or card, or else recognised from the texts. Problems are
    left out only if the user names a language, and they state theirs and not English alone. The card and the notes of
    the dataset may be changed in place.

    Parameters
    ----------
    language
        BCP 47. None if the user named none.
    """
    card = dataset.card
    spoken = dataset.languages
    if language is not None and spoken not in ((), ("en",)):
        return _choose_language(dataset, language)
    notes = list(dataset.notes)
    stated = language or card.language
    if spoken != ("en",):
        code = languages_of(spoken)
    elif stated:
        code = stated
        notes += _check_stated_language(dataset, stated)
    else:
        code = detect([problem.texts[0] for problem in dataset])
        if code == UNDETERMINED:
            notes.append(f"{card.name}: language not recognised, so no language's rules are applied; give --language")
        elif code != "en":
            notes.append(f"{card.name}: language recognised as {language_of(code)}; name another with --language")
    card = replace(card, language=code)
    if spoken == ("en",) and code != "en":
        problems = [problem.replace(language=code) for problem in dataset]
        return Dataset(problems, card, notes)
    dataset.card = card
    dataset.notes = tuple(notes)
    return dataset


def _choose_language(dataset: Dataset, language: str) -> Dataset:
    """The problems of a dataset in one language, of any region.

    Raises BadInput if there are none.
    """
    main_code = language.partition("-")[0]
    problems = [problem for problem in dataset if problem.language.partition("-")[0] == main_code]
    card = dataset.card
    spoken = dataset.languages
    if not problems:
        raise BadInput(f"{card.name}: no problem in {language!r}; there are {', '.join(spoken)}")
    name = card.name if len(spoken) == 1 else f"{card.name}, {language}"
    return Dataset(problems, replace(card, name=name, language=language), dataset.notes)


def _check_stated_language(dataset: Dataset, code: str) -> list[str]:
    """A note if texts look like another language than stated.

    It is in a list. Empty if they do not, or are too short to tell.
    """
    texts = [problem.texts[0] for problem in dataset]
    word_count = sum(len(text.split()) for text in texts[:ENOUGH])
    looks = detect(texts) if word_count >= ENOUGH else UNDETERMINED
    if looks in (UNDETERMINED, code.partition("-")[0]):
        return []
    return [f"{dataset.card.name}: looks like {language_of(looks)}; treated as {language_of(code)}, as stated"]


@dataclass(frozen=True)
class LoadedData:
    """A dataset, and the records of the files behind it.

    There are no records if it was in memory.
    """

    dataset: Dataset
    files: Sequence[FileRecords] = ()


def load_all(data: DataLike | Sequence[DataLike], *, lenient: bool = False, **how: Any) -> list[Dataset]:
    """Load one or several datasets, and those in folders.

    Notes are shown to the user. Datasets that would have the same name get the name under which they were asked for.
    With `lenient`, malformed records are skipped.

    Parameters
    ----------
    data
        Datasets, their names, or folders.
    how
        Other arguments of `load`.
    """
    return [each.dataset for each in load_with_records(data, lenient=lenient, **how)]


def load_with_records(
    data: DataLike | Sequence[DataLike], *, lenient: bool = False, keep_empty: bool = False, **how: Any
) -> list[LoadedData]:
    """Load as `load_all` does, and return the records of the files too.

    Datasets in memory come before those that are named.

    Parameters
    ----------
    keep_empty
        Whether a file of which every record is malformed is a dataset without problems, instead of an error.
    """
    sources = one_or_several(data)
    columns = how.get("reading", Reading()).named_columns
    typed_names = []
    loaded = []
    for source in sources:
        if isinstance(source, (str, Path)):
            typed_names.append(as_typed(source))
    names, notes = expand(typed_names, columns)
    tell(notes)
    for source in sources:
        if not isinstance(source, (str, Path)):
            loaded.append(LoadedData(load(source, **how)))
    named_start = len(loaded)
    for name in names:
        named_data = _load_with_files(name, lenient, keep_empty, how)
        loaded.append(named_data)
        tell(named_data.dataset.notes)
    name_counts = Counter(each.dataset.card.name for each in loaded)
    for name, each in zip(names, loaded[named_start:], strict=True):
        if name_counts[each.dataset.card.name] > 1:  # a/dev.jsonl and b/dev.jsonl would be one in what is said of them
            each.dataset.card = replace(each.dataset.card, name=name)
    return loaded


def _load_with_files(name: str, lenient: bool, keep_empty: bool, how: Mapping[str, Any]) -> LoadedData:
    """Load one dataset with the records of its files.

    Parameters
    ----------
    keep_empty
        Whether a file of only malformed records is a dataset without problems, instead of an error.
    how
        Other arguments of `load`.
    """
    with remembering_records() as files:
        try:
            dataset = load(name, lenient=lenient, **how)
        except NoProblems:
            is_malformed = any(file.malformed for file in files)
            if not (keep_empty and is_malformed):
                raise
            dataset = Dataset([], Card(name))
    return LoadedData(dataset, files)


def remember_reading(data: DataLike | Sequence[DataLike], reading: Reading) -> list[Path]:
    """Write language and columns into a winokit.toml beside each file of DATA.

    Returns the files that were written. Raises BadInput without columns or files.
    """
    paths = [path for path in map(path_of, one_or_several(data)) if path is not None]
    if reading.named_columns is None or not paths:
        raise BadInput("--remember stores --columns next to files: give both")
    folders: dict[Path, None] = {}
    for path in paths:
        folders[path if path.is_dir() else path.parent] = None
    return [remember(folder, reading.named_columns, reading.language) for folder in folders]


def load_one(data: DataLike, *, limit: int | None = None, **how: Any) -> Dataset:
    """Load the first `limit` problems of a dataset.

    Its notes are shown to the user.

    Parameters
    ----------
    limit
        None for all problems.
    how
        Other arguments of `load`.
    """
    return load_first(data, limit, **how)[:limit]


def load_first(data: DataLike, limit: int | None, **how: Any) -> Dataset:
    """Load the beginning of a dataset.

    Its notes are shown to the user. It has at least the first `limit` problems and their twins. The rest of a large
    file is counted in `Dataset.unread` and not parsed. With another view, labels or a language, everything is read.

    Parameters
    ----------
    limit
        None for all problems.
    how
        Other arguments of `load`.
    """
    reading = how.get("reading", Reading())
    other_settings = [how[name] for name in how if name not in ("reading", "lenient")]
    needs_all = reading.language is not None or any(other_settings)
    if limit is None or needs_all or view_beside(data) is not None:
        loaded = load(data, **how)
    else:
        with reading_beginnings(limit + AHEAD) as beginning:
            loaded = load(data, **how)
        loaded.unread = beginning.unread
    tell(loaded.notes)
    return loaded


def load_shots(plan: ScoringPlan, dataset: Dataset) -> ScoringPlan:
    """Load the problems that are shown to a model as solved examples.

    Problems that would give those of the dataset away are left out. A plan without examples is returned as it is.
    """
    if plan.shots_from is None:
        return plan
    if not plan.shots:
        raise UnusedSetting("shots_from", "it needs --shots: how many to put before each problem")
    from winokit.methods.overlap import overlap, said

    pool = load_one(plan.shots_from)
    shared = overlap(pool, dataset)
    if shared.given:
        counts = f"{len(shared.given):,} of {len(pool):,}"
        tell([f"shots: {counts} left out ({said(shared.dropped)} as in the data)"])
    kept_problems = [problem for row, problem in enumerate(pool) if row not in shared.given]
    return replace(plan, shots_from=pool.with_problems(kept_problems))


def expand(data: Sequence[str], columns: Mapping[str, str] | None = None) -> tuple[list[str], list[str]]:
    """Replace each folder by the datasets in it.

    Returns the names of all datasets, and notes on files of the folders that are no datasets. Raises BadInput if
    there is none at all.

    Parameters
    ----------
    data
        Names of datasets, files or folders.
    columns
        Column names by role. With them, tables with these columns are the datasets of a folder.
    """
    names: list[str] = []
    notes: list[str] = []
    for name in data:
        folder = path_of(name)
        if folder is None or not folder.is_dir():
            names.append(name)
            continue
        inside = []
        skipped = 0
        for path in sorted(folder.rglob("*")):
            if not path.is_file() or path.name == PROJECT_FILE:
                continue
            if _is_readable(path, columns):
                inside.append(as_typed(path))
            else:
                skipped += 1
        names += inside
        if skipped or not inside:
            notes.append(f"{name}: {len(inside)} datasets; {skipped} other files skipped")
    if data and not names:
        raise BadInput(f"no dataset in {', '.join(data)}")
    return names, notes


def _is_readable(path: Path, columns: Mapping[str, str] | None) -> bool:
    """Whether a file is a dataset.

    With columns, it must be a table that has them.
    """
    try:
        return has_columns(path, columns) if columns else bool(recognise(path))
    except BadInput:
        return False


def _join_datasets(parts: Sequence[Dataset]) -> Dataset:
    """Join datasets, such as WinoBias's pro and anti files.

    Groups of the same name in different parts stay apart. The card has the facts that all parts share.
    """
    problems: list[Problem] = []
    notes: list[str] = []
    for number, part in enumerate(parts, 1):
        notes += part.notes
        for problem in part:
            if problem.group is not None and len(parts) > 1:
                problem = problem.replace(group=f"{number}.{problem.group}")
            problems.append(problem)
    cards = [asdict(part.card) for part in parts]
    shared_facts = {}
    for name, value in cards[0].items():
        if all(card[name] == value for card in cards):
            shared_facts[name] = value
    shared_facts["name"] = "+".join(part.card.name for part in parts)
    return Dataset(problems, Card(**shared_facts), notes)


def is_data_name(name: str) -> bool:
    """Whether a text is a name that `winokit datasets` lists.

    It may be a dataset, a part of one, or several with + between. Such a text is never a path.

    >>> is_data_name("winogrande/dev"), is_data_name("winogrande/dev.jsonl"), is_data_name("./open")
    (True, False, False)
    """
    return all(_is_dataset(part) for part in name.split("+"))


def _is_dataset(name: str) -> bool:
    """Whether a text names a bundled, generated or public dataset."""
    if name in BUNDLED or _is_generated(name):
        return True
    try:
        return named_parts(name) is not None
    except UnknownName:  # a folder may have the name of a dataset, and other files in it
        return False


def _is_generated(name: str) -> bool:
    """Whether a text names a generated dataset, such as "synthetic-1000"."""
    kind, _, count = name.partition("-")
    return kind == GENERATED and count.isdecimal()


def path_of(data: DataLike) -> Path | None:
    """The file or folder of which DATA is the path, or None.

    It is None for a name of the catalogue, and if there is no such file.
    """
    if not isinstance(data, (str, Path)):
        return None
    name = as_typed(data)
    return Path(name) if not is_data_name(name) and _is_path(name) else None


def paths_of(data: DataLike) -> list[Path]:
    """The files that DATA names.

    DATA is a path, `format:path`, or several with + between. Other parts are left out.
    """
    if not isinstance(data, (str, Path)):
        return []
    paths = []
    for part in parts_of(as_typed(data)):
        prefix, _, location = part.partition(":")
        path = Path(location) if prefix in FORMATS and _is_path(location) else path_of(part)
        if path is not None:
            paths.append(path)
    return paths


def as_typed(data: str | Path) -> str:
    """DATA as a user would type it.

    A `Path` that is called like a dataset gets "./" in front.

    >>> as_typed(Path("open")), as_typed("open"), as_typed(Path("dev.jsonl"))
    ('./open', 'open', 'dev.jsonl')
    """
    is_shadowed = isinstance(data, Path) and is_data_name(str(data))
    return f"./{data}" if is_shadowed else str(data)


def _is_path(name: str) -> bool:
    """Whether a file or folder of this name exists."""
    try:
        return bool(name) and Path(name).exists()  # an empty name is no folder, though Path takes it for this one
    except OSError:  # a name too long for a file, or in a folder we may not enter
        return False


def parts_of(name: str) -> list[str]:
    """Split a name into the datasets that it joins with +.

    A + inside the path of an existing file belongs to the path.

    >>> parts_of("open+synthetic-3")
    ['open', 'synthetic-3']
    """
    pieces = name.split("+")
    for size in range(len(pieces), 1, -1):
        first = "+".join(pieces[:size])
        prefix, _, location = first.partition(":")
        if path_of(first) is not None or (prefix in FORMATS and _is_path(location)):
            return [first, *_split_rest(pieces[size:])]
    return [pieces[0], *_split_rest(pieces[1:])]


def _split_rest(pieces: Sequence[str]) -> list[str]:
    """The datasets that the remaining pieces of a split name join."""
    return parts_of("+".join(pieces)) if pieces else []


def _read_data(name: str, lenient: bool, columns: Mapping[str, str] | None = None) -> Dataset:
    """Read the dataset that a name or a path means.

    A dataset's name comes before a file of the same name, with a note. With `columns`, which are by role, a path is
    read as a table that has them.
    """
    if not _is_path(name):
        return _read_named_or_joined(name, lenient, columns)
    if not is_data_name(name):
        return read(name, lenient=lenient, columns=columns)
    kind = "folder" if Path(name).is_dir() else "file"
    try:
        dataset = _read_named_or_joined(name, lenient, columns)
    except BadInput as error:
        raise BadInput(f"{error}; the {kind} here is ./{name}") from None
    note = f"{name}: the dataset of that name is read, and not the {kind} here; that is ./{name}"
    dataset.notes = (*dataset.notes, note)
    return dataset


def _read_named_or_joined(name: str, lenient: bool, columns: Mapping[str, str] | None) -> Dataset:
    """Read a dataset by a name that is no path.

    It is a name of the catalogue, `format:path`, `hub:…`, or several with + between. Of `columns`, only `hub:…` and
    joined paths make use. For other names they are ignored, and a note says so.
    """
    prefix, colon, location = name.partition(":")
    is_joined = "+" in name and all(name.split("+")) and prefix != "hub"
    parts = parts_of(name) if is_joined else [name]
    if len(parts) > 1:
        try:
            return _join_datasets([_read_data(part, lenient, columns) for part in parts])
        except (BadInput, UnknownName) as error:
            if any(map(_is_readable_part, parts)):
                raise
            raise BadInput(f"{name}: no such file; split at +: {error}") from None
    if colon and prefix == "hub":
        from winokit.data.formats.dialects import load_hub

        return load_hub(location, lenient=lenient, columns=columns)
    dataset = _read_by_name(name, lenient)
    if columns is not None:
        dataset.notes = (*dataset.notes, f"{name}: has columns of its own; --columns is for files named by path alone")
    return dataset


def _is_readable_part(part: str) -> bool:
    """Whether a part of a joined name is bundled or a file.

    A format may stand before the file.
    """
    return part in BUNDLED or _is_path(part) or _is_path(part.partition(":")[2])


def _read_by_name(name: str, lenient: bool) -> Dataset:
    """Read a bundled, generated or public dataset, or `format:path`.

    Raises UnknownName or BadInput if there is none.
    """
    if name in BUNDLED:
        with as_file(files("winokit") / "assets" / f"{name}.jsonl") as path:
            return read(path, "jsonl")
    if _is_generated(name):
        count = name.partition("-")[2]
        if len(count) > 7 or not 1 <= int(count) <= MOST_GENERATED:
            raise BadInput(f"{name}: from 1 to {MOST_GENERATED:,} pairs can be made")
        from winokit.data.synthetic import synthetic

        return synthetic(int(count))
    entry_and_parts = named_parts(name)
    if entry_and_parts is not None:
        return _read_named(name, *entry_and_parts, lenient)
    prefix, colon, location = name.partition(":")
    if colon and prefix in FORMATS:
        return read(location, prefix, lenient=lenient)
    if colon and "/" not in prefix and "\\" not in prefix and "." not in prefix:
        raise UnknownName("format", prefix, [*FORMATS, "hub"])
    if "/" in name or "." in name:
        raise BadInput(f"{name}: no such file")
    raise UnknownName("dataset or file", name, CATALOGUE)


def _read_named(name: str, entry: CatalogueEntry, parts: Sequence[str], lenient: bool) -> Dataset:
    """Read parts of a public dataset as one."""
    from winokit.data.download import find_file

    loaded = [read(find_file(entry, part), entry.read_as, lenient=lenient) for part in parts]
    dataset = loaded[0]
    if len(loaded) > 1:
        dataset = _join_datasets(loaded)
        dataset.card = replace(dataset.card, name=name)
    if "/" not in name and len(entry.files) > len(parts):
        default_parts = "+".join(parts)
        every_part = ", ".join(entry.files)
        note = f"{name} means {name}/{default_parts}; parts: {every_part}"
        dataset.notes = (*dataset.notes, note)
    return dataset


def check_part(data: DataLike) -> None:
    """Raise BadInput for a public dataset without the name of its part.

    Training needs that name if there are several parts: the default part is one to test on.
    """
    if not isinstance(data, str) or "/" in data:
        return
    entry_and_parts = named_parts(data)
    if entry_and_parts is None:
        return
    entry, _ = entry_and_parts
    if len(entry.files) > 1:
        choices = ", ".join(f"{data}/{part}" for part in entry.files)
        raise BadInput(f"{data}: name the part to train on: {choices}")
