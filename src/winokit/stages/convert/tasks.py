"""Every variant of an audit as tasks of somebody's harness, whose log `winokit audit` reads.

Tasks of lm-evaluation-harness and of Inspect have a group score. The harness reads texts as they were put together
here, so that possessives and capitals are those of `winokit score`. Tasks find their files from where they stand
themselves: a folder works wherever it is moved, and needs nothing of winokit.
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
    """A folder of tasks, under one name."""

    harness: str
    name: str
    folder: Path
    tasks: Mapping[str, int]
    """Each task, and how many problems it has."""

    @property
    def commands(self) -> tuple[str, str]:
        """Commands that run all tasks, and audit the log."""
        if self.harness == "inspect":
            return f"inspect eval {quote(f'{self.folder / self.name}.py')} --model … --log-dir LOGS", AUDIT
        how = "--model hf --model_args pretrained=…,logits_cache=False --log_samples --output_path LOGS"
        return f"lm_eval --include_path {quote(str(self.folder))} --tasks {self.name} {how}", AUDIT


AUDIT = "winokit audit --predictions LOGS"
CLUSTER = "unit"
"""What Inspect's metrics know a unit by: problems that vary together are one cluster."""


def write_tasks(
    data: DataLike,
    out: str | Path,
    *,
    harness: str,
    perturbed: Sequence[DataLike] = (),
    loading: Loading = Loading(),
) -> WrittenTasks:
    """Write every variant of an audit as tasks of a harness, whose logs `winokit audit --predictions` reads.

    The tasks of lm-evaluation-harness score as its own winogrande does: log p(text after the blank | text before it
    with a candidate); where nothing follows any blank, or there is none, as its own blimp does: log p(whole text).
    Those of Inspect ask multiple-choice questions.
    """
    whole_data = load_one(data, **loading.how)
    dataset = whole_data[: loading.limit]
    folder = Path(out)
    name = f"winokit_{slug(whole_data.card.name) or 'data'}"
    if any(problem.query is not None for problem in dataset):
        raise BadInput(f"{dataset.card.name}: yes/no judgements have no candidates for the blank; try --as choice")
    variants = {**make_variants(dataset), **perturbed_variants(whole_data, dataset, [load(each) for each in perturbed])}
    rows = _make_documents(dataset, variants, harness)
    if ORIGINAL not in rows:
        raise BadInput(f"{dataset.card.name}: no problem has an answer")
    hidden = sum(problem.answer is None for problem in dataset)
    tell([f"{hidden:,} of {len(dataset):,} problems have no answer; they are left out"] if hidden else [])
    written_tasks = WrittenTasks(
        harness, name, folder, {f"{name}_{slug(key)}": len(docs) for key, docs in rows.items()}
    )
    files = {f"{name}_{slug(key)}.jsonl": json_rows(docs).encode() for key, docs in rows.items()}
    files |= _make_harness_files(written_tasks, dataset, rows)
    there = {file: (folder / file).read_bytes() for file in files if (folder / file).is_file()}
    changed = [file for file, content in files.items() if there.get(file) != content]
    check_own_folder(folder, changed, ours=(folder / f"{name}_{ORIGINAL}.jsonl").exists(), of="these tasks")
    for file, content in files.items():
        write_whole(folder / file, content)
    return written_tasks


def _make_documents(dataset: Dataset, variants: Mapping[str, Variant], harness: str) -> dict[str, list[dict[str, Any]]]:
    """Return the documents of each task, by variant.

    A variant without a document that the harness can score has no task.
    """
    versions = {ORIGINAL: dataset} | {key: variant.problems for key, variant in variants.items()}
    rows = {key: documents(version, key, name=dataset.card.name) for key, version in versions.items()}
    if harness == "inspect":
        clustered = {key: cluster_documents(rows[key], version) for key, version in versions.items()}
        return {key: docs for key, docs in clustered.items() if docs}
    rows = {key: docs for key, docs in rows.items() if any(row["contexts"] or row.get("filled") for row in docs)}
    return {**rows, SOLVED: solved_documents(dataset)} if rows else {}


def cluster_documents(rows: list[dict[str, Any]], problems: Dataset) -> list[dict[str, Any]]:
    """Documents with the unit of each: the id of its first problem."""
    names = [problem.id for problem in problems]
    numbers = problems.units.numbers.tolist()
    first_names: dict[int, str] = {}
    for name, number in zip(names, numbers, strict=True):
        first_names.setdefault(number, name)
    units = {name: first_names[number] for name, number in zip(names, numbers, strict=True)}
    return [{**row, CLUSTER: units[row["id"]]} for row in rows]


def variants_of(dataset: Dataset, name: str) -> Dataset:
    """The problems of a variant, by its name.

    `original` is the dataset itself.
    """
    if name == ORIGINAL:
        return dataset
    variants = make_variants(dataset)
    check_known("variant", name, [ORIGINAL, *variants])
    return variants[name].problems


def _make_harness_files(
    written: WrittenTasks, dataset: Dataset, rows: Mapping[str, list[dict[str, Any]]]
) -> dict[str, bytes]:
    """The tasks themselves, beside their documents."""
    if written.harness == "inspect":
        title = f"{dataset.card.name} (winokit {winokit.__version__})"
        module_path = f"{written.folder / written.name}.py"
        tasks = {task: f"{task}.jsonl" for task in written.tasks}
        return {f"{written.name}.py": inspect_tasks(title, module_path, tasks)}
    descriptions = [
        f"{dataset.card.name}, written by winokit {winokit.__version__}:",
        *(f"  {command}" for command in written.commands),
    ]
    metadata = {"version": winokit.__version__, "dataset": dataset.card.name, "scoring": scoring_of(dataset)}
    # Scores of several tasks under one name mean different things, and no mean is made of them.
    group = {"name": written.name, "tasks": list(written.tasks), "about": descriptions, "metadata": metadata}
    files = {f"{written.name}.yaml": rendered_plain(f"{TEMPLATES}/lm_eval_group.yaml.j2", **group)}
    for task, (key, docs) in zip(written.tasks, rows.items(), strict=True):
        asks = "full" if "filled" in docs[0] else "partial"
        if key == SOLVED:
            asks = SOLVED
        files[f"{task}.yaml"] = lmeval_task(task, f"{task}.jsonl", descriptions, metadata, asks=asks)
    return files | {"utils.py": lmeval_utils("winokit's tasks")}


def lmeval_task(
    name: str, file: str, about: Sequence[str], metadata: Mapping[str, str], *, train: str = "", asks: str = "partial"
) -> bytes:
    """A task of the harness.

    Parameters
    ----------
    file, train
        The documents to be scored, and those to draw solved examples from, beside it.
    asks
        `partial` or `full` scoring, or `solved`: the whole solved text, for its surprisal.
    """
    values = {"name": name, "file": file, "about": about, "metadata": metadata}
    return rendered_plain(f"{TEMPLATES}/lm_eval_task.yaml.j2", train=train, asks=asks, **values)


def lmeval_utils(title: str) -> bytes:
    """The functions that the harness's tasks beside it name."""
    return rendered_plain(f"{TEMPLATES}/lm_eval_utils.py.j2", title=title)


def inspect_tasks(title: str, place: str, tasks: Mapping[str, str]) -> bytes:
    """A file of Inspect's tasks, from each name to the documents, by their path from there."""
    return rendered_plain(f"{TEMPLATES}/inspect_task.py.j2", title=title, place=place, tasks=tasks)
