"""Variants of an audit as tasks of other evaluation harnesses.

`winokit audit` reads their logs. Tasks of lm-evaluation-harness and of Inspect have a group score. The harness reads
texts as they were put together here, so that possessives and capitals are those of `winokit score`. Tasks find their
files relative to themselves: a folder works wherever it is moved, and does not need winokit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import winokit
from winokit.data.loading import DataLike, Loading, load, load_one
from winokit.data.predictions.documents import SOLVED, documents, scoring_of, slug, solved_documents
from winokit.drawing.page import rendered_plain
from winokit.errors import BadInput, check_known
from winokit.files import check_own_folder, json_rows, write_whole
from winokit.methods.transforms.variants import Variant, make_variants, perturbed_variants
from winokit.problem import ORIGINAL, Dataset
from winokit.progress import tell

TEMPLATES = "stages/convert/templates"


@dataclass(frozen=True)
class WrittenTasks:
    """A folder of tasks that was written, under one name."""

    harness: str
    """"lmeval" or "inspect"."""
    name: str
    folder: Path
    tasks: Mapping[str, int]
    """The number of problems of each task, by its name."""

    @property
    def commands(self) -> tuple[str, str]:
        """The command that runs all tasks, and that which audits logs."""
        if self.harness == "inspect":
            module_path = quote(f"{self.folder / self.name}.py")
            return f"inspect eval {module_path} --model … --log-dir LOGS", AUDIT
        folder = quote(str(self.folder))
        options = "--model hf --model_args pretrained=…,logits_cache=False --log_samples --output_path LOGS"
        return f"lm_eval --include_path {folder} --tasks {self.name} {options}", AUDIT


AUDIT = "winokit audit --predictions LOGS"
CLUSTER = "unit"
"""The metadata key of a problem's unit, by which Inspect's metrics cluster: problems of one unit vary together."""


def write_tasks(
    data: DataLike,
    out: str | Path,
    *,
    harness: str,
    perturbed: Sequence[DataLike] = (),
    loading: Loading = Loading(),
) -> WrittenTasks:
    """Write every variant of an audit as tasks of a harness.

    The logs of the tasks are read by `winokit audit --predictions`. The tasks of lm-evaluation-harness score as its own
    winogrande does: log p(text after the blank | text before it with a candidate); where nothing follows any blank, or
    there is none, as its own blimp does: log p(whole text). Those of Inspect ask multiple-choice questions.

    `harness` is "lmeval" or "inspect", and `perturbed` are perturbed versions of the dataset. Problems without an
    answer are left out, and counted on the terminal. Raises BadInput if no problem has an answer, or if problems are
    yes/no judgements.
    """
    whole_dataset = load_one(data, **loading.how)
    dataset = whole_dataset[: loading.limit]
    if any(problem.query is not None for problem in dataset):
        raise BadInput(f"{dataset.card.name}: yes/no judgements have no candidates for the blank; try --as choice")
    perturbed_datasets = [load(version) for version in perturbed]
    variants = {**make_variants(dataset), **perturbed_variants(whole_dataset, dataset, perturbed_datasets)}
    documents_by_variant = _make_documents(dataset, variants, harness)
    if ORIGINAL not in documents_by_variant:
        raise BadInput(f"{dataset.card.name}: no problem has an answer")
    hidden = sum(problem.answer is None for problem in dataset)
    if hidden:
        tell([f"{hidden:,} of {len(dataset):,} problems have no answer; they are left out"])
    folder = Path(out)
    name = f"winokit_{slug(whole_dataset.card.name) or 'data'}"
    task_sizes: dict[str, int] = {}
    files: dict[str, bytes] = {}
    for variant_name, rows in documents_by_variant.items():
        task_name = f"{name}_{slug(variant_name)}"
        task_sizes[task_name] = len(rows)
        files[f"{task_name}.jsonl"] = json_rows(rows).encode()
    written_tasks = WrittenTasks(harness, name, folder, task_sizes)
    files |= _make_harness_files(written_tasks, dataset, documents_by_variant)
    _check_task_folder(folder, files, f"{name}_{ORIGINAL}.jsonl")
    for file_name, content in files.items():
        write_whole(folder / file_name, content)
    return written_tasks


def _check_task_folder(folder: Path, files: Mapping[str, bytes], marker: str) -> None:
    """Raise BadInput if files of a foreign folder would change.

    `files` are the contents to write, by name. The file named `marker` is in every folder of these tasks.
    """
    changed_names = []
    for file_name, content in files.items():
        path = folder / file_name
        is_unchanged = path.is_file() and path.read_bytes() == content
        if not is_unchanged:
            changed_names.append(file_name)
    check_own_folder(folder, changed_names, ours=(folder / marker).exists(), of="these tasks")


def _make_documents(dataset: Dataset, variants: Mapping[str, Variant], harness: str) -> dict[str, list[dict[str, Any]]]:
    """Make the documents of each task, by the name of its variant.

    A document describes one problem. A variant without a document that the harness can score has no task. For
    lm-evaluation-harness there is one more task, `solved`: the texts with the right candidate filled in, for their
    surprisal.
    """
    versions = {ORIGINAL: dataset} | {name: variant.problems for name, variant in variants.items()}
    documents_by_variant: dict[str, list[dict[str, Any]]] = {}
    for name, problems in versions.items():
        rows = documents(problems, name, name=dataset.card.name)
        if harness == "inspect":
            rows = cluster_documents(rows, problems)
            can_be_scored = bool(rows)
        else:
            can_be_scored = any(row["contexts"] or row.get("filled") for row in rows)
        if can_be_scored:
            documents_by_variant[name] = rows
    if harness != "inspect" and documents_by_variant:
        documents_by_variant[SOLVED] = solved_documents(dataset)
    return documents_by_variant


def cluster_documents(rows: list[dict[str, Any]], problems: Dataset) -> list[dict[str, Any]]:
    """Return documents with the unit of each problem.

    A unit is named by the id of its first problem.
    """
    first_ids: dict[int, str] = {}  # of each unit, by its number
    unit_of: dict[str, str] = {}
    for problem, unit_number in zip(problems, problems.units.numbers.tolist(), strict=True):
        unit_of[problem.id] = first_ids.setdefault(unit_number, problem.id)
    return [{**row, CLUSTER: unit_of[row["id"]]} for row in rows]


def variants_of(dataset: Dataset, name: str) -> Dataset:
    """Return the problems of a variant by its name.

    `original` is the dataset itself. Raises UnknownName if there is no such variant.
    """
    if name == ORIGINAL:
        return dataset
    variants = make_variants(dataset)
    check_known("variant", name, [ORIGINAL, *variants])
    return variants[name].problems


def _make_harness_files(
    written: WrittenTasks, dataset: Dataset, documents_by_variant: Mapping[str, list[dict[str, Any]]]
) -> dict[str, bytes]:
    """Make the task files beside the documents: contents by file name."""
    if written.harness == "inspect":
        title = f"{dataset.card.name} (winokit {winokit.__version__})"
        module_path = f"{written.folder / written.name}.py"
        tasks = {task: f"{task}.jsonl" for task in written.tasks}
        return {f"{written.name}.py": inspect_tasks(title, module_path, tasks)}
    title = f"{dataset.card.name}, written by winokit {winokit.__version__}:"
    comments = [title, *(f"  {command}" for command in written.commands)]
    metadata = {"version": winokit.__version__, "dataset": dataset.card.name, "scoring": scoring_of(dataset)}
    # Scores of several tasks under one name mean different things, and no mean is made of them.
    group_file = rendered_plain(
        f"{TEMPLATES}/lm_eval_group.yaml.j2",
        name=written.name,
        tasks=list(written.tasks),
        about=comments,
        metadata=metadata,
    )
    files = {f"{written.name}.yaml": group_file}
    for task, (variant_name, rows) in zip(written.tasks, documents_by_variant.items(), strict=True):
        if variant_name == SOLVED:
            asks = SOLVED
        else:
            asks = "full" if "filled" in rows[0] else "partial"
        files[f"{task}.yaml"] = lmeval_task(task, f"{task}.jsonl", comments, metadata, asks=asks)
    files["utils.py"] = lmeval_utils("winokit's tasks")
    return files


def lmeval_task(
    name: str, file: str, about: Sequence[str], metadata: Mapping[str, str], *, train: str = "", asks: str = "partial"
) -> bytes:
    """Content of the file of a task for lm-evaluation-harness.

    Parameters
    ----------
    file, train
        Names of the files, beside it, of documents to be scored and of those to draw solved examples from.
    about
        Lines of the comment at its top.
    asks
        `partial` or `full` scoring, or `solved`: the whole solved text, for its surprisal.
    """
    values = {"name": name, "file": file, "about": about, "metadata": metadata}
    return rendered_plain(f"{TEMPLATES}/lm_eval_task.yaml.j2", train=train, asks=asks, **values)


def lmeval_utils(title: str) -> bytes:
    """Content of utils.py, whose functions the tasks of lm-evaluation-harness beside it call."""
    return rendered_plain(f"{TEMPLATES}/lm_eval_utils.py.j2", title=title)


def inspect_tasks(title: str, place: str, tasks: Mapping[str, str]) -> bytes:
    """Content of a Python file of Inspect's tasks.

    `place` is the path of the file, for its docstring. `tasks` has the file of documents beside it, by task.
    """
    return rendered_plain(f"{TEMPLATES}/inspect_task.py.j2", title=title, place=place, tasks=tasks)
