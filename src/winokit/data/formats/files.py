"""Files in, datasets out, and back: recognise a format, read it, write it.

A `winokit.toml` beside the files says once for a folder what they do not say themselves (`winokit.project`):

    language = "de"

    [columns]
    text = "satz"
    option1 = "a"
    option2 = "b"
    answer = "loesung"
"""

import gzip
import hashlib
import json
import lzma
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from winokit.data.formats import base
from winokit.data.formats.source import Source, remember_records
from winokit.data.known import CATALOGUE, with_true_card
from winokit.errors import BadInput, CannotWrite, Malformed, WinokitError
from winokit.files import PROJECT_FILE, read_text, write_whole
from winokit.problem import Card, Dataset, Problem
from winokit.text.language import check_code

MANIFEST = "manifest.json"
TABLE = "table"
"""Name of the format of a table with named columns."""


class NoProblems(BadInput):
    """A file in a known format has no problem in it."""


@dataclass
class WrittenFile:
    """Files that were written, and the problems in and not in them.

    `problems` is the number of problems written, and `skipped` has a sentence for each that was not.
    """

    files: list[Path]
    problems: int
    skipped: list[str] = field(default_factory=list)


def recognise(path: Path, columns: Mapping[str, str] | None = None) -> base.Format:
    """Recognise the format of a file.

    It is a table if columns are named here, or in a winokit.toml beside the file. Otherwise the content decides.
    Raises BadInput if it fits no format.
    """
    if not columns and has_columns(path):
        columns, _ = remembered(path.parent)
    if columns:
        return _make_table_format(columns)
    head = base.FileHead(path)
    if not head.text:
        raise BadInput(f"{path}: the file is empty")
    for candidate in base.FORMATS.values():
        if candidate.recognise(head):
            return candidate
    from winokit.data.formats.columns import advice

    table_advice = advice(path)
    if table_advice:
        raise BadInput(f"{path}: no known format; {table_advice}")
    Source(path).text()  # refuses what is no UTF-8, with its line
    names = ", ".join(sorted(base.FORMATS))
    raise BadInput(f"{path}: no known format; name one as FORMAT:{path.name}, with FORMAT one of {names}")


def _make_table_format(columns: Mapping[str, str]) -> base.Format:
    """The format of a table with named columns."""
    from winokit.data.formats.columns import read_columns
    from winokit.data.formats.tables import format_columns

    read_table_of = partial(read_columns, columns=columns)
    return base.Format(TABLE, format_columns(columns), "", lambda _: True, read_table_of)


def has_columns(path: Path, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a file is a table with the column of the text.

    The columns are named here, or in a winokit.toml beside the file.
    """
    if not columns:
        columns, _ = remembered(path.parent)
    if not columns:
        return False
    from winokit.data.formats.tables import read_table

    text_column = columns.get("text") or columns["text1"]
    try:
        table = read_table(Source(path, lenient=True))
        table.find_columns({"text": text_column})
    except WinokitError:
        return False
    return True


def read(
    path: str | Path, format: str | None = None, *, lenient: bool = False, columns: Mapping[str, str] | None = None
) -> Dataset:
    """Read the problems in a file.

    A malformed record is an error that names its place, or in lenient mode is skipped with a note. Raises NoProblems
    if the file has none.

    Parameters
    ----------
    path
        The file, which may be compressed with gzip or xz.
    format
        A format of `winokit datasets --formats`. None to recognise it.
    lenient
        Skip malformed records instead of raising.
    columns
        Column names of a table by role, as `checked_columns` returns them.
    """
    path = Path(path)
    if path.is_dir():
        # Other verbs write a results.json too, but no predictions beside it.
        names = ("results.json", "predictions.jsonl")
        if all((path / name).is_file() for name in names):
            raise BadInput(f"{path}: the folder of a run; read it with winokit report {path}, or with winokit compare")
        raise BadInput(f"{path}: a folder; name a file in it")
    source = Source(path, lenient=lenient)
    _, language = remembered(path.parent)
    chosen = base.FORMATS[format] if format else recognise(path, columns)
    if chosen.name == TABLE and columns is None:
        source.note(f"columns as in {path.parent / PROJECT_FILE}: {chosen.about}")
    problems = _read_problems(source, chosen)
    card = source.card or _read_release_card(path)
    if source.beginning is not None:
        source.beginning.unread += source.unread
    dataset = Dataset(problems, None, _list_notes(source))
    dataset = with_true_card(dataset, path_name(path), card, chosen.name, unread=source.unread)
    remember_records(path, dataset, source.places, source.skipped)
    if language and not dataset.card.language:
        dataset.card = replace(dataset.card, language=language)
        note = f"{path.parent / PROJECT_FILE}: language {language}, unless --language says another"
        dataset.notes = (*dataset.notes, note)
    return dataset


def _read_problems(source: Source, chosen: base.Format) -> list[Problem]:
    """Read the problems of a file, without groups that cannot be right.

    Raises NoProblems if there are none. `chosen` is the format of the file.
    """
    with_twins = list(base.lone_groups_dropped(chosen.read(source)))
    problems, numbered_names = base.drop_numbered_groups(with_twins)
    if numbered_names:
        source.note(f"qIDs like '{min(numbered_names)}-…' number the rows, so they are not used to group twins")
    if not problems:
        remember_records(source.path, Dataset([]), [], source.skipped)
        reason = f": all {len(source.skipped)} records are malformed" if source.skipped else ""
        raise NoProblems(f"{source.path}: no problems in it{reason}")
    return problems


def _list_notes(source: Source) -> list[str]:
    """The notes on a file, with the number of malformed records skipped."""
    notes = list(source.notes)
    count = len(source.skipped)
    if count:
        records = "1 malformed record" if count == 1 else f"{count:,} malformed records"
        notes.append(f"{source.path}: skipped {records}; the first: {source.first_skipped}")
    return notes


def _read_release_card(path: Path) -> Card | None:
    """The card of the winokit release with this file, or None.

    None if the file is in no release, or was changed.
    """
    manifest_path = path.resolve().parent.parent / MANIFEST
    try:
        manifest = json.loads(manifest_path.read_text("utf-8"))
        name = str(manifest["name"])
        version = str(manifest["version"])
        listed_digest = manifest["files"][f"{path.parent.name}/{path.name}"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != listed_digest:
        return None
    licence = str(manifest.get("licence") or "")
    language = str(manifest.get("language") or "")
    return Card(f"{name}/{path.stem}", f"{name} {version}", licence, version=version, language=language)


def path_name(path: Path) -> str:
    """Name of a dataset from its path, "my/dev" for "data/my/dev.jsonl".

    More folders are added while the name begins like a public dataset: "mine/winogrande/dev".
    """
    stem, *_ = path.name.split(".")
    if path.name.endswith((".dev", ".test")):
        stem = path.name.replace(".txt", "")
    parts = [part for part in (path.parent.name, stem or path.name) if part]
    folders_above = list(path.resolve().parts[1 : -len(parts)])
    while parts[0] in CATALOGUE and folders_above:
        parts.insert(0, folders_above.pop())
    return "/".join(parts)


def write(
    dataset: Dataset,
    path: str | Path,
    to: str = "jsonl",
    options: base.WriteOptions | None = None,
    *,
    lenient: bool = False,
) -> WrittenFile:
    """Write a dataset to a file, whole or not at all.

    `.gz` and `.xz` are compressed.

    Parameters
    ----------
    to
        A format of `winokit datasets --formats`.
    options
        Ids of the source, label lists apart.
    lenient
        Skip and count problems that the format cannot express, instead of raising.

    Returns
    -------
    WrittenFile
        The files, how many problems they hold, and those that were skipped.

    Raises
    ------
    CannotWrite
        The format cannot be written, or cannot express a problem.
    UnknownName
        There is no such format.
    """
    path = Path(path)
    chosen = base.FORMATS[to]
    options = options or base.WriteOptions()
    if chosen.render is None or chosen.assemble is None:
        raise CannotWrite(f"{to} can be read but not written")
    _check_options(chosen, to, options)
    rows = []
    rendered_problems = []
    skipped = []
    for problem in dataset:
        try:
            if problem.is_whole and not chosen.holds_whole:
                raise CannotWrite(f"whole texts to choose from, and {to} needs a blank; {_name_whole_formats()} do not")
            rows.append(chosen.render(problem, options))
            rendered_problems.append(problem)
        except (CannotWrite, Malformed) as error:
            message = f"problem {problem.id} ({problem.text[:50].strip()}…): {error}"
            if not lenient:
                raise CannotWrite(f"{message} (--lenient leaves such problems out)") from None
            skipped.append(message)
    if skipped and not rows:
        raise CannotWrite(f"none of {len(skipped):,} problems can be written as {to}; the first: {skipped[0]}")
    header = chosen.header(dataset.card) if chosen.header else ""
    text = header + chosen.assemble(rows)
    write_bytes(path, chosen.encode(text))
    files = [path]
    if options.labels_apart:
        files.append(_write_labels(path, rendered_problems))
    return WrittenFile(files, len(rows), skipped)


def _check_options(chosen: base.Format, name: str, options: base.WriteOptions) -> None:
    """Raise BadInput for an option that a format does not have."""
    if options.labels_apart and name != "winogrande":
        raise BadInput("only the winogrande format has separate label lists")
    if options.source_ids and not chosen.source_ids:
        names = sorted(name for name, other in base.FORMATS.items() if other.source_ids)
        raise BadInput(f"{name} has no place for the ids of the source; {', '.join(names)} have")


def _name_whole_formats() -> str:
    """Names of the formats that can have choices between whole texts."""
    names = [name for name, candidate in base.FORMATS.items() if candidate.holds_whole]
    return ", ".join(sorted(names))


def _write_labels(path: Path, problems: Iterable[Problem]) -> Path:
    """Write the answers of problems to the label list beside their file.

    The list has an answer a line, counted from 1. Returns its path.
    """
    from winokit.data.formats import winogrande

    answers = [base.need_answer(problem, "a label list") for problem in problems]
    labels = "".join(f"{answer + 1}\n" for answer in answers)
    labels_path = winogrande.labels_path(path)
    write_bytes(labels_path, labels.encode())
    return labels_path


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, compressed if its name ends in .gz or .xz."""
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    write_whole(path, data)


def remembered(folder: Path) -> tuple[dict[str, str], str | None]:
    """Read column names by role, and the language, from a folder's winokit.toml.

    Without that file they are empty and None. Raises BadInput if it is not valid.
    """
    path = folder / PROJECT_FILE
    if not path.is_file():
        return {}, None
    from winokit.data.formats.columns import checked_columns
    from winokit.project import read_project

    project = read_project(folder)
    columns = project.get("columns", {})
    language = project.get("language")
    if not isinstance(columns, dict) or not isinstance(language, str | None):
        raise BadInput(f'{path}: expected language = "…" and a table [columns]')
    try:
        known_columns = checked_columns(columns) if columns else {}
        known_language = check_code(language) if language else language
    except (BadInput, LookupError) as error:
        reason = str(error).removeprefix("--columns: ")
        raise BadInput(f"{path}: {reason}") from None
    return known_columns, known_language


def remember(folder: Path, columns: Mapping[str, str], language: str | None = None) -> Path:
    """Write column names and a language into a folder's winokit.toml.

    What the file has stays. Raises BadInput if it has other columns or another language.
    """
    path = folder / PROJECT_FILE
    known_columns, known_language = remembered(folder)
    has_other_columns = (known_columns or columns) != columns
    has_other_language = (known_language or language) != language
    if has_other_columns or has_other_language:
        raise BadInput(f"{path}: has other columns or another language; edit or remove it first")
    text = read_text(path) if path.exists() else ""
    if language and not known_language:
        text = f"language = {json.dumps(language)}\n" + text
    if not known_columns:
        lines = [text.rstrip(), ""] if text else []
        lines.append("[columns]")
        lines += [f"{role} = {json.dumps(column, ensure_ascii=False)}" for role, column in columns.items()]
        text = "\n".join(lines) + "\n"
    write_whole(path, text.encode())
    return path
