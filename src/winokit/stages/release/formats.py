"""The problems of a release in formats of other tools: Parquet, Croissant, lm-evaluation-harness and Inspect.

Parquet files are in one folder per configuration, as Hugging Face `datasets` loads them. Columns are those of
WinoGrande on the hub (sentence, option1, option2, answer "1" or "2", "" if it is hidden), so that programs which read
WinoGrande can read a release. Further columns are group, pronoun, domain, kept or removed, and labels as JSON text.
Nothing in the files depends on when or where they were written. Croissant metadata (https://mlcommons.org/croissant)
state which file has which columns of which split. They are written with mlcroissant itself, which checks them.

The tasks of the harness and of Inspect read `lm_eval/dev.jsonl`, and the harness draws solved examples from
`lm_eval/train.jsonl`.
"""

import hashlib
import io
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from winokit.data.predictions.documents import documents, scoring_of, slug
from winokit.drawing.page import rendered_plain
from winokit.errors import needing
from winokit.files import json_bytes, json_rows
from winokit.methods.scoring.base import all_whole
from winokit.stages.convert.tasks import inspect_tasks, lmeval_task, lmeval_utils
from winokit.stages.release.contents import ReleaseContents
from winokit.stages.release.manifest import DEBIASED, DEV
from winokit.stages.release.settings import COLUMNS, LICENCES, READINGS, ReleaseSettings, hub_licence

VALIDATION = "validation"
"""The hub's name for dev."""
ABOUT = (
    "{title} for lm-evaluation-harness:",
    "  lm_eval --include_path DIR/lm_eval --tasks {name} --model hf --model_args pretrained=…",
    "Reference reading of a model that is not fine-tuned: {scoring} scoring, {reading[0]}",
    "{reading[1]}. The candidates and every text are fixed in dev.jsonl. The test is hidden; see the card.",
)
"""The comment at the head of the harness's task, line by line."""


LETTERS = {"1": "A", "2": "B", "": ""}
"""The letter of an answer in WinoGrande's notation; empty for a hidden one."""
HUB_QUESTIONS = {
    False: "Which of the choices belongs in the blank (_) of this text?",
    True: "Which of these texts is the most acceptable?",
}
"""The question of the hub's task, by whether the problems are whole texts."""


def parquet_path(name: str) -> PurePosixPath:
    """Return the path of a Parquet table within a release.

    `name` is that of a file of problems (train_xs, …, dev, test). There is a folder for each training file, and one
    for dev and test.

    >>> str(parquet_path("train_xs")), str(parquet_path("dev"))
    ('data/xs/train-00000-of-00001.parquet', 'data/evaluation/validation-00000-of-00001.parquet')
    """
    split, _, size = name.partition("_")
    split = VALIDATION if split == "dev" else split
    return PurePosixPath("data") / (size or "evaluation") / f"{split}-00000-of-00001.parquet"


def parquet_bytes(rows: Iterable[Mapping[str, Any]]) -> bytes:
    """Return rows of WinoGrande as the bytes of a Parquet file.

    All columns are text, and a value that a row does not have is null.
    """
    with needing("a release in Parquet", "release"):
        import pyarrow
        from pyarrow import parquet
    columns: dict[str, list[str | None]] = {name: [] for name in COLUMNS}
    for row in rows:
        cells = _complete_row(row)
        for name, column in columns.items():
            column.append(cells.get(name))
    schema = pyarrow.schema([(name, pyarrow.string()) for name in COLUMNS])
    table = pyarrow.table(columns, schema)
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd")
    return out.getvalue()


def _complete_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of WinoGrande with the columns it lacks.

    Those are group, from the qID, target, the answer as a letter, and labels as JSON text.
    """
    answer = row.get("answer", "")
    labels = None
    if row.get("labels"):
        labels = json.dumps(row["labels"], ensure_ascii=False, sort_keys=True)
    group = str(row["qID"]).rpartition("-")[0] or None
    return {**row, "answer": answer, "group": group, "labels": labels, "target": LETTERS[answer]}


def croissant_bytes(
    tables: Mapping[str, bytes], settings: ReleaseSettings, licence: str, description: str, languages: Sequence[str]
) -> bytes:
    """Return the Croissant metadata of a release's Parquet files.

    `tables` has the bytes of each file, by the name of its file of problems (train_xs, …, dev, test).
    """
    with needing("a release's Croissant metadata", "release"):
        import mlcroissant as mlc

    log = logging.getLogger("absl")
    level = log.level
    log.setLevel(logging.ERROR)  # no remarks on fields that are only recommended (a date, a citation)
    try:
        metadata = mlc.Metadata(
            name=settings.name,
            description=description,
            version=settings.version,
            license=[LICENCES.get(hub_licence(licence), licence)],
            date_published=settings.date,
            in_language=list(languages),
            distribution=[_make_file_object(name, data) for name, data in tables.items()],
            record_sets=[_make_record_set(name) for name in tables],
        )
        return json_bytes(metadata.to_json(), default=str)
    finally:
        log.setLevel(level)


def _make_file_object(name: str, data: bytes) -> Any:
    """Return the Croissant description of a Parquet file."""
    import mlcroissant as mlc

    return mlc.FileObject(
        id=f"{name}.parquet",
        name=f"{name}.parquet",
        content_url=str(parquet_path(name)),
        encoding_formats=["application/x-parquet"],
        sha256=hashlib.sha256(data).hexdigest(),
    )


def _make_record_set(name: str) -> Any:
    """Return the Croissant description of a Parquet file's columns."""
    import mlcroissant as mlc

    fields = []
    for column, description in COLUMNS.items():
        field_name = f"{name}/{column}"
        source = mlc.Source(file_object=f"{name}.parquet", extract=mlc.Extract(column=column))
        field = mlc.Field(
            id=field_name, name=field_name, description=description, data_types=[mlc.DataType.TEXT], source=source
        )
        fields.append(field)
    return mlc.RecordSet(id=name, name=name, description=f"The problems of {name}.", fields=fields)


def registration_bytes(contents: ReleaseContents, settings: ReleaseSettings, title: str, description: str) -> bytes:
    """Return the content of `eval.yaml`, which registers a benchmark on the hub.

    The benchmark is the public dev set, as multiple-choice questions.
    """
    return rendered_plain(
        "stages/release/templates/eval.yaml.j2",
        title=title,
        description=description,
        task=slug(settings.name or ""),
        config=DEBIASED.removeprefix("train_"),
        split=VALIDATION,
        question=HUB_QUESTIONS[all_whole(contents.files[DEV])],
    )


def task_files(contents: ReleaseContents, settings: ReleaseSettings) -> dict[str, bytes]:
    """Return the task files for lm-evaluation-harness and Inspect, by path.

    Paths are relative to the folder of the release.
    """
    name = slug(settings.name or "")
    title = f"{settings.name} {settings.version}"
    dev = contents.files[DEV]
    scoring = scoring_of(dev)
    comment = [line.format(title=title, name=name, scoring=scoring, reading=READINGS[scoring]) for line in ABOUT]
    metadata = {"version": settings.version, "release": settings.name or "", "scoring": scoring}
    metadata["formalization"] = settings.formalization
    task = lmeval_task(name, "dev.jsonl", comment, metadata, train="train.jsonl", asks=scoring)
    # The harness draws solved examples from a few training problems; a prompt never has more.
    smallest_size = next(iter(contents.sizes.values()), contents.files[DEBIASED])
    examples = smallest_size[:200]
    return {
        f"lm_eval/{name}.yaml": task,
        "lm_eval/utils.py": lmeval_utils(settings.name or ""),
        "lm_eval/dev.jsonl": json_rows(documents(dev, labels=False)).encode(),
        "lm_eval/train.jsonl": json_rows(documents(examples, labels=False)).encode(),
        f"inspect/{name}.py": inspect_tasks(title, f"DIR/inspect/{name}.py", {name: "../lm_eval/dev.jsonl"}),
    }
