"""`winokit convert`: problems in another format, as tasks or as variants."""

from pathlib import Path
from typing import Annotated

from winokit.data.formats import FORMATS, WriteOptions, WrittenFile, write
from winokit.data.formats.files import recognise
from winokit.data.loading import Data, Loading, paths_of
from winokit.data.predictions.every_eval_ever import WrittenRecords, write_records
from winokit.data.runs import RESULTS, Run
from winokit.errors import BadInput
from winokit.files import refuse_overwriting
from winokit.progress import tell
from winokit.settings import Help, Without, verb
from winokit.stages.convert.settings import DEFAULT, EVERY_EVAL_EVER, HARNESSES, VARIANTS, ConvertSettings
from winokit.stages.convert.tasks import WrittenTasks, write_tasks
from winokit.stages.convert.variants import WrittenVariants, write_variants


@verb
def convert(
    data: Annotated[Data, Help("A bundled name (open), a file, FORMAT:file or hub:org/name.", "DATA")],
    out: Annotated[
        str | Path,
        Help("The file to write (.gz and .xz are compressed), or the folder of tasks or variants.", "OUT", bare=True),
    ],
    *,
    settings: ConvertSettings = ConvertSettings(),
    loading: Annotated[Loading, Without("errata")] = Loading(),
) -> WrittenFile | WrittenTasks | WrittenVariants | WrittenRecords:
    """Write a dataset in another format, as tasks of a harness, or as the variants of an audit.

    What the format cannot express is an error, or left out and counted with --lenient. The logs of lmeval and inspect
    tasks are read by `winokit audit --predictions`; variants have a file each.
    """
    if settings.to == VARIANTS:
        chosen = settings.variants
        return write_variants(
            data, out, style=settings.style, chosen=chosen, file_format=settings.format_, loading=loading
        )
    if settings.to == EVERY_EVAL_EVER:
        return _write_run(data, Path(out))
    if settings.to in HARNESSES:
        return write_tasks(data, out, harness=settings.to, perturbed=settings.perturbed, loading=loading)
    return _write_file(data, Path(out), settings.to, settings.write_options, loading)


def _write_run(data: Data, folder: Path) -> WrittenRecords:
    """Write a run's predictions as records of Every Eval Ever.

    `data` is the folder of the run, `folder` that of the records. Raises BadInput if `data` is no folder of a run.
    """
    if not isinstance(data, (str, Path)) or not (Path(data) / RESULTS).is_file():
        raise BadInput(f"{data}: --to {EVERY_EVAL_EVER}: expected the folder of a run, which `winokit audit` writes")
    timestamp = int((Path(data) / RESULTS).stat().st_mtime)
    return write_records(Run.load(data), folder, timestamp=timestamp)


def _write_file(data: Data, path: Path, to: str | None, options: WriteOptions, loading: Loading) -> WrittenFile:
    """Write the problems of a dataset to one file.

    How many were left out is reported on the terminal. `to` is the format. None stands for the default, and is reported
    if the file's suffix is that of another format.
    """
    dataset = loading.one(data)
    has_content = path.is_file() and path.stat().st_size > 0
    if has_content:
        _check_replaceable(path, data)
    written_file = write(dataset, path, to or DEFAULT, options, lenient=loading.lenient)
    suffixes = {file_format.suffix for file_format in FORMATS.values()}
    other_suffixes = suffixes - {FORMATS[DEFAULT].suffix}
    if to is None and path.suffix in other_suffixes:
        tell([f"{path} contains {DEFAULT}, whatever its name says; choose another format with --to"])
    if written_file.skipped:
        tell([f"{len(written_file.skipped)} problems left out; the first: {written_file.skipped[0]}"])
    return written_file


def _check_replaceable(out: Path, data: Data) -> None:
    """Raise BadInput if a file must not be overwritten.

    It must be no input, and hold nothing but problems.
    """
    refuse_overwriting(out, paths_of(data))
    try:
        recognise(out)
    except BadInput:
        raise BadInput(f"{out}: holds no problems, and would be overwritten; choose another OUT") from None
