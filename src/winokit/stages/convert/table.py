"""Terminal output on what was written."""

from typing import Any

from winokit.data.formats import WrittenFile
from winokit.data.predictions.every_eval_ever import WrittenRecords
from winokit.drawing.tables import Lines, table
from winokit.stages.convert.tasks import WrittenTasks
from winokit.stages.convert.variants import MANIFEST, WrittenVariants

Written = WrittenFile | WrittenTasks | WrittenVariants | WrittenRecords


def lines(written: Written) -> Lines:
    """Yield a sentence on a file, or a table of tasks or variants."""
    if isinstance(written, WrittenTasks):
        return _describe_tasks(written)
    if isinstance(written, WrittenVariants):
        return _describe_variants(written)
    if isinstance(written, WrittenRecords):
        return _record_lines(written)
    return _describe_file(written)


def as_json(written: Written) -> dict[str, Any]:
    """The same for scripts."""
    if isinstance(written, WrittenTasks):
        return _tasks_to_json(written)
    if isinstance(written, WrittenVariants):
        return _variants_to_json(written)
    if isinstance(written, WrittenRecords):
        return {"files": [str(file) for file in written.files], "samples": written.samples}
    return _file_to_json(written)


def _describe_file(written: WrittenFile) -> Lines:
    """One sentence."""
    yield f"{written.problems:,} problems written to {', '.join(str(file) for file in written.files)}"


def _record_lines(written: WrittenRecords) -> Lines:
    """Counts of models and samples, and the command of the validator."""
    models = len(written.files) // 2
    yield f"records of {models:,} {'model' if models == 1 else 'models'}, {written.samples:,} samples: {written.folder}"
    yield "their validator (Python 3.12, in an environment of its own), in that folder:"
    yield "  every_eval_ever validate 'data/**/*.json' 'data/**/*.jsonl'"


def _describe_tasks(written: WrittenTasks) -> Lines:
    """The tasks as a table, and what to type next."""
    yield table(("task", "problems"), [(name, f"{count:,}") for name, count in written.tasks.items()])
    yield "then:"
    yield from (f"  {command}" for command in written.commands)


def _describe_variants(written: WrittenVariants) -> Lines:
    """A table: how many problems each variant has, and why others have none."""
    rows = []
    for name, variant in written.variants.items():
        refused = sum(variant.refused.values())
        refusals = "; ".join(f"{reason} ({count:,})" for reason, count in list(variant.refused.items())[:2])
        rows.append((name, variant.file or "", f"{len(variant.of):,}", f"{refused:,}", refusals))
    yield table(("variant", "file", "problems", "left out", "mostly because"), rows, left=2)
    yield f"written to {written.folder}, with the reasons and the originals' ids in {MANIFEST}"


def _file_to_json(written: WrittenFile) -> dict[str, Any]:
    """Files, how many problems, and those left out."""
    return {"files": [str(file) for file in written.files], "problems": written.problems, "skipped": written.skipped}


def _tasks_to_json(written: WrittenTasks) -> dict[str, Any]:
    """The name of all tasks together, the folder, each task's number of problems, and what to type."""
    return {
        "name": written.name,
        "folder": str(written.folder),
        "tasks": dict(written.tasks),
        "commands": list(written.commands),
    }


def _variants_to_json(written: WrittenVariants) -> dict[str, Any]:
    """The folder, the style, and each variant as the manifest has it."""
    variants = {name: variant.to_json() for name, variant in written.variants.items()}
    return {"folder": str(written.folder), "style": written.style, "variants": variants}
