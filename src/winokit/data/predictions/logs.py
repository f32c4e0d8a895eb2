"""The logs of a harness: the files of its output folder, and the problems that they hold.

A log that holds its problems needs no dataset beside it: they are the dataset, named by their content.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from winokit.data.checks.groups import with_groups
from winokit.data.formats.base import lone_groups_dropped, numbers_dropped
from winokit.data.formats.records import name_place
from winokit.data.formats.source import Source
from winokit.data.known import with_true_card
from winokit.data.loading import DataLike, load
from winokit.data.predictions.read import DATED, PredictionFile, recognise
from winokit.errors import BadInput, Malformed
from winokit.methods.transforms.variants import PERTURBED
from winokit.problem import ORIGINAL, Card, Dataset, Problem, grouped
from winokit.progress import tell
from winokit.registry import Registry

if TYPE_CHECKING:
    from winokit.data.predictions.documents import LoggedDocument

PROBLEM_READERS: Registry[Callable[[Source], Iterator["LoggedDocument"]]] = Registry(
    "kind of logs", homes={name: f"winokit.data.predictions.{name}_log:problems" for name in ("lmeval", "inspect")}
)
"""What finds the problems in a kind of files that hold them."""
EXAMPLES = Path(str(resources.files("winokit") / "assets" / "examples"))
LOGS = frozenset({".jsonl", ".json", ".eval"})
"""Endings of logs: a folder may have gigabytes of other things, which are not looked into."""
IN_FOLDERS = (*PROBLEM_READERS, "winokit")


def prediction_files(paths: Iterable[str | Path]) -> list[PredictionFile]:
    """Each folder replaced by the logs in it; of a task that a model did several times, the last log.

    `examples` are the bundled predictions of a few models on `open`; a folder of that name goes by a longer path.
    """
    files: list[PredictionFile] = []
    for path in (EXAMPLES if str(path) == EXAMPLES.name else Path(path) for path in paths):
        files += _inside(path) if path.is_dir() else [PredictionFile(path)]
    return files


def check_no_log(data: DataLike, files: Sequence[PredictionFile]) -> None:
    """Refuse a log in the dataset's place, where a shell puts the second of `--predictions samples_*.jsonl`."""
    named = [file.path.resolve() for file in files]
    if named and isinstance(data, (str, Path)) and Path(data).resolve() not in named and _is_log(Path(data)):
        raise BadInput(f"{data}: a log, not a dataset; put --predictions before each log, or name their folder")


def _inside(folder: Path) -> list[PredictionFile]:
    logs: dict[tuple[Path, str], Path] = {}
    older = 0
    for path in sorted(folder.rglob("*")):
        if path.is_file() and _is_log(path):
            dated = DATED.fullmatch(path.name)
            # Dates of one task sort as text.
            older += (path.parent, dated["task"] if dated else path.name) in logs
            logs[path.parent, dated["task"] if dated else path.name] = path
    if not logs:
        raise BadInput(f"{folder}: no log of predictions in it; lm_eval writes them with --log_samples")
    tell([f"{folder}: {older:,} logs skipped: there are later ones of the same task"] if older else [])
    return [PredictionFile(path, folder) for path in logs.values()]


def _is_log(path: Path) -> bool:
    try:
        return not LOGS.isdisjoint(path.suffixes) and recognise(path) in IN_FOLDERS
    except (BadInput, OSError):
        return False


@dataclass
class LoggedProblems:
    """Problems by id, perturbed versions of them, and the files that hold them."""

    files: list[Path] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)
    versions: dict[str, Problem] = field(default_factory=dict)
    name: str = ""
    """What they are called, where a log says so."""

    def add(self, other: "LoggedProblems") -> None:
        """Take in what another log of the same problems has."""
        self.files += other.files
        self.problems = other.problems | self.problems
        self.versions = other.versions | self.versions
        self.name = self.name or other.name

    def dataset(self) -> Dataset:
        """The problems as a dataset, with the card that their content deserves, and twins found."""
        problems, _ = numbers_dropped(list(lone_groups_dropped(self.problems.values())))
        own = Card(self.name) if self.name else None
        return with_groups(with_true_card(Dataset(problems), _task(self.files[0]), own))


def _task(path: Path) -> str:
    """What the problems of a log are called where their content is not known."""
    from winokit.data.predictions import inspect_log

    dated = DATED.fullmatch(path.name) or inspect_log.DATED.fullmatch(path.name)
    return dated["task"] if dated else path.name.split(".")[0]


def logged_data(files: Sequence[PredictionFile], *, lenient: bool = False) -> tuple[Dataset, list[Dataset]] | None:
    """The one dataset whose problems some logs hold, and perturbed versions of it; None where no file holds any.

    A file of a folder that holds other things is passed over, as `read_files` will tell. Problems of several datasets
    are refused.
    """
    parts: list[LoggedProblems] = []
    versions: dict[str, Problem] = {}
    with_problems = [file for file in files if recognise(file.path) in (*PROBLEM_READERS, "table")]
    strange: list[BadInput] = []
    for file in with_problems:
        try:
            logged = _problems_of(file.path, lenient)
        except BadInput as error:
            if file.folder is None:
                raise
            strange.append(error)
            continue
        versions |= logged.versions
        if logged.problems:
            same = [part for part in parts if part.problems.keys() & logged.problems.keys()]
            for part in same:
                logged.add(part)
            parts = [part for part in parts if part not in same] + [logged]
    if with_problems and not parts:
        none = f"{with_problems[0].path}: its problems are not in it; name the dataset before --predictions"
        raise strange[0] if strange else BadInput(none)
    if len(parts) > 1:
        names = "; ".join(f"{part.dataset().card.name} ({part.files[-1].name})" for part in parts)
        raise BadInput(f"logs of {len(parts)} datasets: {names}: name one file, or the dataset before --predictions")
    if not parts:
        return None
    by_kind = grouped((problem.labels.get("perturbation"), problem) for problem in versions.values())
    return parts[0].dataset(), [Dataset(problems) for problems in by_kind.values()]


def _problems_of(path: Path, lenient: bool) -> LoggedProblems:
    """The problems of one file."""
    source, kind = Source(path, lenient=lenient), recognise(path)
    if kind not in PROBLEM_READERS:
        try:
            return LoggedProblems([path], {p.id: p for p in load(path, groups=False, lenient=lenient)})
        except Malformed:
            raise
        except BadInput:
            raise BadInput(f"{path}: its problems are not in it; name the dataset before --predictions") from None
    documents: list[LoggedDocument] = []
    try:
        documents += PROBLEM_READERS[kind](source)
    except Malformed as error:
        if documents:
            raise
        why = error.expected if error.line is None else f"{name_place(error.line)}: {error.expected}"
        raise BadInput(f"{path}: no problems to audit in it ({why}); name the dataset before --predictions") from None
    problems = [each.problem for each in documents if each.variant == ORIGINAL and each.problem is not None]
    perturbed = [each.problem for each in documents if each.variant.startswith(PERTURBED) and each.problem is not None]
    # Repetitions are numbered as in any dataset.
    return LoggedProblems(
        [path],
        {problem.id: problem for problem in Dataset(problems)},
        {problem.id: problem for problem in Dataset(perturbed)},
        next((each.dataset for each in documents if each.dataset), ""),
    )
