"""The logs of a harness: the files of its output folder, and the problems that they hold.

A log that holds its problems needs no dataset beside it: they are the dataset, named by their content.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from winokit.data.checks.groups import with_groups
from winokit.data.formats.base import drop_numbered_groups, lone_groups_dropped
from winokit.data.formats.source import Source, name_place
from winokit.data.known import with_true_card
from winokit.data.loading import DataLike, load
from winokit.data.predictions.read import DATED, PredictionFile, recognise
from winokit.errors import BadInput, Malformed
from winokit.methods.transforms.variants import PERTURBED
from winokit.problem import ORIGINAL, Card, Dataset, Problem, grouped
from winokit.progress import tell
from winokit.registry import at_home

if TYPE_CHECKING:
    from winokit.data.predictions.documents import LoggedDocument

PROBLEM_READERS = {name: f"winokit.data.predictions.{name}_log:problems" for name in ("lmeval", "inspect")}
"""By kind of logs, the function that finds the problems in them. It is imported when a file is of that kind."""
EXAMPLES = Path(str(resources.files("winokit") / "assets" / "examples"))
LOGS = frozenset({".jsonl", ".json", ".eval"})
"""Endings of logs: a folder may have gigabytes of other files, which are not read."""
IN_FOLDERS = (*PROBLEM_READERS, "winokit")


def prediction_files(paths: Iterable[str | Path]) -> list[PredictionFile]:
    """Files of predictions, with folders replaced by their logs.

    If a model did a task several times, only the last log counts. `examples` means the bundled predictions of a few
    models on `open`.
    """
    files: list[PredictionFile] = []
    for named_path in paths:
        path = EXAMPLES if str(named_path) == EXAMPLES.name else Path(named_path)
        if path.is_dir():
            files += _find_logs(path)
        else:
            files.append(PredictionFile(path))
    return files


def check_no_log(data: DataLike, files: Sequence[PredictionFile]) -> None:
    """Raise BadInput if DATA is a log of predictions.

    A shell puts the second file of `--predictions samples_*.jsonl` there. A log passes if it is one of the files, and
    so does any if there are no files.
    """
    if not files or not isinstance(data, (str, Path)):
        return
    data_path = Path(data)
    log_paths = [file.path.resolve() for file in files]
    if data_path.resolve() not in log_paths and _is_log(data_path):
        raise BadInput(f"{data}: a log, not a dataset; put --predictions before each log, or name their folder")


def _find_logs(folder: Path) -> list[PredictionFile]:
    """Find the last log of each task in a folder.

    Subfolders are searched too. Raises BadInput if there is none.
    """
    logs: dict[tuple[Path, str], Path] = {}
    older_count = 0
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or not _is_log(path):
            continue
        dated = DATED.fullmatch(path.name)
        key = (path.parent, dated["task"] if dated else path.name)
        if key in logs:
            older_count += 1
        logs[key] = path  # dates of one task sort as text
    if not logs:
        raise BadInput(f"{folder}: no log of predictions in it; lm_eval writes them with --log_samples")
    if older_count:
        tell([f"{folder}: {older_count:,} logs skipped: there are later ones of the same task"])
    return [PredictionFile(path, folder) for path in logs.values()]


def _is_log(path: Path) -> bool:
    """Whether a file is a log of predictions, by ending and content.

    Logs are those of lm-evaluation-harness and Inspect, and winokit's own predictions. Tables are none.
    """
    if LOGS.isdisjoint(path.suffixes):
        return False
    try:
        return recognise(path) in IN_FOLDERS
    except (BadInput, OSError):
        return False


@dataclass
class LoggedProblems:
    """Problems that logs state, by id, and perturbed versions of them."""

    files: list[Path] = field(default_factory=list)
    problems: dict[str, Problem] = field(default_factory=dict)
    versions: dict[str, Problem] = field(default_factory=dict)
    name: str = ""
    """The name of their dataset, if a log says so."""

    def add(self, other: "LoggedProblems") -> None:
        """Add the problems of another log of the same dataset.

        Of problems with the same id, the earlier one stays.
        """
        self.files += other.files
        self.problems = other.problems | self.problems
        self.versions = other.versions | self.versions
        self.name = self.name or other.name

    def dataset(self) -> Dataset:
        """The problems as a dataset, with its groups found.

        If they are those of a known dataset, it has that dataset's card.
        """
        candidates_in_groups = list(lone_groups_dropped(self.problems.values()))
        problems, _ = drop_numbered_groups(candidates_in_groups)
        card = Card(self.name) if self.name else None
        task = _get_task_name(self.files[0])
        return with_groups(with_true_card(Dataset(problems), task, card))


def _get_task_name(path: Path) -> str:
    """The name of the task in a log's file name."""
    from winokit.data.predictions import inspect_log

    dated = DATED.fullmatch(path.name) or inspect_log.DATED.fullmatch(path.name)
    return dated["task"] if dated else path.name.split(".")[0]


def logged_data(files: Sequence[PredictionFile], *, lenient: bool = False) -> tuple[Dataset, list[Dataset]] | None:
    """The dataset whose problems the logs state, and perturbed versions of it.

    None if no file states problems. Files of a folder that state none are skipped. Raises BadInput if the problems
    are of several datasets. The perturbed versions are one dataset for each kind of perturbation. With `lenient`,
    malformed records are skipped.
    """
    with_problems = [file for file in files if recognise(file.path) in (*PROBLEM_READERS, "table")]
    if not with_problems:
        return None
    parts, versions = _read_parts(with_problems, lenient)
    if len(parts) > 1:
        descriptions = [f"{part.dataset().card.name} ({part.files[-1].name})" for part in parts]
        raise BadInput(
            f"logs of {len(parts)} datasets: {'; '.join(descriptions)}: name one file, "
            "or the dataset before --predictions"
        )
    by_kind = grouped((problem.labels.get("perturbation"), problem) for problem in versions.values())
    perturbed = [Dataset(problems) for problems in by_kind.values()]
    return parts[0].dataset(), perturbed


def _read_parts(files: Sequence[PredictionFile], lenient: bool) -> tuple[list[LoggedProblems], dict[str, Problem]]:
    """The problems of some files, in parts without a common problem.

    Returns the parts, at least one, and the perturbed problems of all files by id. Raises BadInput if no file states
    a problem.
    """
    parts: list[LoggedProblems] = []
    versions: dict[str, Problem] = {}
    errors: list[BadInput] = []
    for file in files:
        try:
            logged = _read_logged_problems(file.path, lenient)
        except BadInput as error:
            if file.folder is None:
                raise
            errors.append(error)
            continue
        versions |= logged.versions
        parts = _merge_logged(parts, logged)
    if parts:
        return parts, versions
    raise errors[0] if errors else BadInput(_describe_absence(files[0].path))


def _merge_logged(parts: Sequence[LoggedProblems], logged: LoggedProblems) -> list[LoggedProblems]:
    """The parts, with the problems of one more file.

    All parts that have a problem of the file are merged with it.
    """
    if not logged.problems:
        return list(parts)
    others: list[LoggedProblems] = []
    for part in parts:
        if part.problems.keys() & logged.problems.keys():
            logged.add(part)
        else:
            others.append(part)
    return [*others, logged]


def _describe_absence(path: Path) -> str:
    """The message for a file that does not state its problems."""
    return f"{path}: its problems are not in it; name the dataset before --predictions"


def _read_logged_problems(path: Path, lenient: bool) -> LoggedProblems:
    """The problems that one file states.

    Raises BadInput if it states none.
    """
    source = Source(path, lenient=lenient)
    kind = recognise(path)
    if kind not in PROBLEM_READERS:
        return _load_problems(path, lenient)
    documents: list[LoggedDocument] = []
    try:
        read_problems: Callable[[Source], Iterator[LoggedDocument]] = at_home(PROBLEM_READERS[kind])
        documents += read_problems(source)
    except Malformed as error:
        if documents:
            raise
        why = error.expected if error.line is None else f"{name_place(error.line)}: {error.expected}"
        raise BadInput(f"{path}: no problems to audit in it ({why}); name the dataset before --predictions") from None
    problems: list[Problem] = []
    perturbed: list[Problem] = []
    for document in documents:
        if document.problem is None:
            continue
        if document.variant == ORIGINAL:
            problems.append(document.problem)
        elif document.variant.startswith(PERTURBED):
            perturbed.append(document.problem)
    name = next((document.dataset for document in documents if document.dataset), "")
    # Repetitions are numbered as in any dataset.
    return LoggedProblems([path], _index_by_id(problems), _index_by_id(perturbed), name)


def _load_problems(path: Path, lenient: bool) -> LoggedProblems:
    """The problems of a table that has predictions too.

    Raises BadInput if it has no problems.
    """
    try:
        dataset = load(path, groups=False, lenient=lenient)
    except Malformed:
        raise
    except BadInput:
        raise BadInput(_describe_absence(path)) from None
    return LoggedProblems([path], {problem.id: problem for problem in dataset})


def _index_by_id(problems: Sequence[Problem]) -> dict[str, Problem]:
    """Problems by id, with repetitions numbered as in a dataset."""
    return {problem.id: problem for problem in Dataset(problems)}
