"""Terminal output on what was written."""

from typing import Any

from winokit.data.formats import WrittenFile
from winokit.data.predictions.every_eval_ever import WrittenRecords
from winokit.drawing.tables import Lines, table
from winokit.drawing.wording import plural
from winokit.stages.convert.tasks import WrittenTasks
from winokit.stages.convert.variants import MANIFEST, WrittenVariants

Written = WrittenFile | WrittenTasks | WrittenVariants | WrittenRecords
SHOWN_REASONS = 2
"""How many reasons for leaving problems out the table shows."""


def lines(written: Written) -> Lines:
    """Terminal output on what was written, by its kind.

    It is a sentence on a file or on records, or a table of tasks or variants.
    """
    if isinstance(written, WrittenTasks):
        return _describe_tasks(written)
    if isinstance(written, WrittenVariants):
        return _describe_variants(written)
    if isinstance(written, WrittenRecords):
        return _describe_records(written)
    return _describe_file(written)


def as_json(written: Written) -> dict[str, Any]:
    """JSON output of the command, by what was written."""
    if isinstance(written, WrittenTasks):
        return _tasks_to_json(written)
    if isinstance(written, WrittenVariants):
        return _variants_to_json(written)
    if isinstance(written, WrittenRecords):
        return {"files": [str(file) for file in written.files], "samples": written.samples}
    return _file_to_json(written)


def _describe_file(written: WrittenFile) -> Lines:
    """Yield a sentence: how many problems were written, and to which files."""
    files = ", ".join(map(str, written.files))
    yield f"{written.problems:,} problems written to {files}"


def _describe_records(written: WrittenRecords) -> Lines:
    """Yield counts of models and samples, and the validation command."""
    model_count = len(written.files) // 2
    yield f"records of {plural(model_count, 'model')}, {written.samples:,} samples: {written.folder}"
    yield "their validator (Python 3.12, in an environment of its own), in that folder:"
    yield "  every_eval_ever validate 'data/**/*.json' 'data/**/*.jsonl'"


def _describe_tasks(written: WrittenTasks) -> Lines:
    """Yield a table of the tasks, and the commands to run next."""
    rows = [(name, f"{count:,}") for name, count in written.tasks.items()]
    yield table(("task", "problems"), rows)
    yield "then:"
    yield from (f"  {command}" for command in written.commands)


def _describe_variants(written: WrittenVariants) -> Lines:
    """Yield a table of the variants, and their folder.

    Each has its file, counts of problems written and left out, and the commonest reasons.
    """
    rows = []
    for name, variant in written.variants.items():
        refused_count = sum(variant.refused.values())
        commonest = list(variant.refused.items())[:SHOWN_REASONS]
        reasons = "; ".join(f"{reason} ({count:,})" for reason, count in commonest)
        rows.append((name, variant.file or "", f"{len(variant.of):,}", f"{refused_count:,}", reasons))
    yield table(("variant", "file", "problems", "left out", "mostly because"), rows, left=2)
    yield f"written to {written.folder}, with the reasons and the originals' ids in {MANIFEST}"


def _file_to_json(written: WrittenFile) -> dict[str, Any]:
    """Paths of files, number of problems, and notes on skipped ones."""
    files = [str(file) for file in written.files]
    return {"files": files, "problems": written.problems, "skipped": written.skipped}


def _tasks_to_json(written: WrittenTasks) -> dict[str, Any]:
    """Common name, folder, sizes of tasks, and commands to run next."""
    return {
        "name": written.name,
        "folder": str(written.folder),
        "tasks": dict(written.tasks),
        "commands": list(written.commands),
    }


def _variants_to_json(written: WrittenVariants) -> dict[str, Any]:
    """The folder, the style, and the manifest entry of each variant."""
    variants = {name: variant.to_json() for name, variant in written.variants.items()}
    return {"folder": str(written.folder), "style": written.style, "variants": variants}
