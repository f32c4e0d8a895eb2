"""`winokit convert`: problems in another format, as tasks of a harness, or as the variants of an audit."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from winokit.data.formats import FORMATS, WriteOptions, WrittenFile, write
from winokit.data.formats.files import recognise
from winokit.data.loading import Data, Loading, Perturbed, paths_of
from winokit.errors import BadInput, check_known
from winokit.files import refuse_overwriting
from winokit.methods.transforms.variants import Style
from winokit.progress import tell
from winokit.settings import Help, refuse_unused, verb
from winokit.stages.convert.tasks import HARNESSES, WrittenTasks, write_tasks
from winokit.stages.convert.variants import WrittenVariants, write_variants

DEFAULT = "jsonl"
"""The format that is written where none is named."""
VARIANTS = "variants"


@verb
def convert(
    data: Annotated[Data, Help("A bundled name (open), a file, FORMAT:file or hub:org/name.", "DATA")],
    out: Annotated[
        str | Path,
        Help("The file to write (.gz and .xz are compressed), or the folder of tasks or variants.", "OUT", bare=True),
    ],
    *,
    to: Annotated[
        str | None,
        Help(
            "A format, lmeval or inspect (tasks of lm-evaluation-harness or Inspect), or variants; default: jsonl.",
            "FORMAT",
        ),
    ] = None,
    loading: Loading = Loading(),
    source_ids: Annotated[bool, Help("Write the source's ids, which may leak the answer.")] = False,
    labels_apart: Annotated[bool, Help("WinoGrande: write the answers to a separate label list.")] = False,
    perturbed: Perturbed = (),
    style: Annotated[
        Style,
        Help(
            "Variants: ours (default), as the paper describes them (paper), or as its script makes them (code).",
            noun="style",
        ),
    ] = "default",
    variant: Annotated[str | Sequence[str], Help("Variants: only this one; repeatable.", "NAME")] = (),
    format_: Annotated[str, Help("Variants: the format of their files.", "FORMAT")] = DEFAULT,
) -> WrittenFile | WrittenTasks | WrittenVariants:
    """Write a dataset in another format, as tasks of a harness, or as the variants of an audit.

    What the format cannot express is an error, or left out and counted with --lenient. The logs of lmeval and inspect
    tasks are read by `winokit audit --predictions`; variants have a file each.
    """
    if to is not None:
        check_known("format", to, dict.fromkeys([*FORMATS, *HARNESSES, VARIANTS]))
    if to != VARIANTS:
        refuse_unused(convert, "an option of --to variants", style=style, variant=variant, format_=format_)
    if to not in HARNESSES:
        refuse_unused(convert, "an option of --to lmeval and --to inspect", perturbed=perturbed)
    if to in HARNESSES or to == VARIANTS:
        refuse_unused(convert, "an option of file formats", source_ids=source_ids, labels_apart=labels_apart)
    if to in HARNESSES:
        return write_tasks(data, out, harness=to, perturbed=perturbed, loading=loading)
    if to == VARIANTS:
        chosen = [variant] if isinstance(variant, str) else list(variant)
        return write_variants(data, out, style=style, chosen=chosen, file_format=format_, loading=loading)
    return _write_file(data, Path(out), to, WriteOptions(source_ids, labels_apart), loading)


def _write_file(data: Data, path: Path, to: str | None, options: WriteOptions, loading: Loading) -> WrittenFile:
    """Write the problems to one file, and tell what was left out."""
    dataset = loading.one(data)
    if path.is_file() and path.stat().st_size:
        _check_replaceable(path, data)
    written = write(dataset, path, to or DEFAULT, options, lenient=loading.lenient)
    other_suffixes = {known.suffix for known in FORMATS.values()} - {FORMATS[DEFAULT].suffix}
    if to is None and path.suffix in other_suffixes:
        tell([f"{path} contains {DEFAULT}, whatever its name says; choose another format with --to"])
    if written.skipped:
        tell([f"{len(written.skipped)} problems left out; the first: {written.skipped[0]}"])
    return written


def _check_replaceable(out: Path, data: Data) -> None:
    """Refuse to write over what is read, and over a file that holds anything but problems."""
    refuse_overwriting(out, paths_of(data))
    try:
        recognise(out)
    except BadInput:
        raise BadInput(f"{out}: holds no problems, and would be overwritten; choose another OUT") from None
