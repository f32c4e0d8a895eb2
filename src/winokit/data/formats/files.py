"""Files in, datasets out, and back: recognise a format from content, read it, write it.

What files do not say themselves, a `winokit.toml` beside them says once for a folder (`winokit.project`):

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
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from winokit.data.formats import base
from winokit.data.formats.source import Source, remember_records
from winokit.data.known import CATALOGUE, with_true_card
from winokit.errors import BadInput, CannotWrite, Malformed, WinokitError
from winokit.files import PROJECT_FILE, read_text, write_whole
from winokit.problem import Card, Dataset
from winokit.text.language import check_code

MANIFEST = "manifest.json"
TABLE = "table"
"""What a format is called that goes by named columns."""


class NoProblems(BadInput):
    """A file in a known format has no problem in it."""


@dataclass
class WrittenFile:
    """What a conversion did: the files, how many problems, and those the format cannot express."""

    files: list[Path]
    problems: int
    skipped: list[str] = field(default_factory=list)


def recognise(path: Path, columns: Mapping[str, str] | None = None) -> base.Format:
    """The format a file is in: a table with the columns given, or with those of a winokit.toml beside it that fit it.

    Else it is told from the content.
    """
    columns = columns or remembered(path.parent)[0] if columns or has_columns(path) else None
    if columns:
        from winokit.data.formats.columns import read_columns
        from winokit.data.formats.tables import said_columns

        return base.Format(TABLE, said_columns(columns), "", lambda _: True, partial(read_columns, columns=columns))
    head = base.FileHead(path)
    if not head.text:
        raise BadInput(f"{path}: the file is empty")
    for known in base.FORMATS.values():
        if known.recognise(head):
            return known
    from winokit.data.formats.columns import advice

    table = advice(path)
    if table:
        raise BadInput(f"{path}: no known format; {table}")
    Source(path).text()  # refuses what is no UTF-8, with its line
    raise BadInput(
        f"{path}: no known format; name one as FORMAT:{path.name}, with FORMAT one of {', '.join(sorted(base.FORMATS))}"
    )


def has_columns(path: Path, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a file is a table with the column of the text, as given or as in a winokit.toml beside it."""
    columns = columns or remembered(path.parent)[0]
    if not columns:
        return False
    from winokit.data.formats.tables import read_table

    try:
        read_table(Source(path, lenient=True)).places({"text": columns.get("text") or columns["text1"]})
    except WinokitError:
        return False
    return True


def read(
    path: str | Path, format: str | None = None, *, lenient: bool = False, columns: Mapping[str, str] | None = None
) -> Dataset:
    """Read a file. A malformed record is an error that names it, or is skipped and noted when lenient.

    Parameters
    ----------
    columns
        What the columns of a table are (`checked_columns`).
    """
    path = Path(path)
    if path.is_dir():
        raise BadInput(f"{path}: a folder; name a file in it")
    source, (_, language) = Source(path, lenient=lenient), remembered(path.parent)
    chosen = base.FORMATS[format] if format else recognise(path, columns)
    if chosen.name == TABLE and columns is None:
        source.note(f"columns as in {path.parent / PROJECT_FILE}: {chosen.about}")
    problems, numbered = base.numbers_dropped(list(base.lone_groups_dropped(chosen.read(source))))
    if numbered:
        source.note(f"qIDs like '{min(numbered)}-…' number the rows, so they are not used to group twins")
    if not problems:
        remember_records(path, Dataset([]), [], source.skipped)
        why = f": all {len(source.skipped)} records are malformed" if source.skipped else ""
        raise NoProblems(f"{path}: no problems in it{why}")
    notes = list(source.notes)
    if source.skipped:
        count = len(source.skipped)
        records = "1 malformed record" if count == 1 else f"{count:,} malformed records"
        notes.append(f"{path}: skipped {records}; the first: {source.first_skipped}")
    own = source.card or _released(path)
    if source.beginning is not None:
        source.beginning.unread += source.unread
    dataset = Dataset(problems, None, notes)
    dataset = with_true_card(dataset, path_name(path), own, chosen.name, unread=source.unread)
    remember_records(path, dataset, source.places, source.skipped)
    if language and not dataset.card.language:
        dataset.card = replace(dataset.card, language=language)
        said = f"{path.parent / PROJECT_FILE}: language {language}, unless --language says another"
        dataset.notes = (*dataset.notes, said)
    return dataset


def _released(path: Path) -> Card | None:
    """The card of the winokit release that a file stands in, unchanged; None where it stands in none."""
    try:
        about = json.loads((path.resolve().parent.parent / MANIFEST).read_text("utf-8"))
        name = str(about["name"])
        version = str(about["version"])
        listed = about["files"][f"{path.parent.name}/{path.name}"]["sha256"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if hashlib.sha256(path.read_bytes()).hexdigest() != listed:
        return None
    licence, language = (str(about.get(key) or "") for key in ("licence", "language"))
    return Card(f"{name}/{path.stem}", f"{name} {version}", licence, version=version, language=language)


def path_name(path: Path) -> str:
    """What a file is called after its path, its folder and its name: "my/dev".

    Where that is the name of a public dataset, folders further up are named too: "mine/winogrande/dev".
    """
    stem = path.name.replace(".txt", "") if path.name.endswith((".dev", ".test")) else path.name.split(".")[0]
    parts = [part for part in (path.parent.name, stem or path.name) if part]
    above = list(path.resolve().parts[1 : -len(parts)])
    while parts[0] in CATALOGUE and above:
        parts.insert(0, above.pop())
    return "/".join(parts)


def write(
    dataset: Dataset,
    path: str | Path,
    to: str = "jsonl",
    options: base.WriteOptions | None = None,
    *,
    lenient: bool = False,
) -> WrittenFile:
    """Write a dataset to a file, whole or not at all; `.gz` and `.xz` are compressed.

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
    if options.labels_apart and to != "winogrande":
        raise BadInput("only the winogrande format has separate label lists")
    if options.source_ids and not chosen.source_ids:
        having = ", ".join(sorted(name for name, known in base.FORMATS.items() if known.source_ids))
        raise BadInput(f"{to} has no place for the ids of the source; {having} have")
    rows = []
    skipped = []
    kept = []
    for problem in dataset:
        try:
            if problem.is_whole and not chosen.holds_whole:
                without_blank = ", ".join(sorted(name for name, known in base.FORMATS.items() if known.holds_whole))
                raise CannotWrite(f"whole texts to choose from, and {to} needs a blank; {without_blank} do not")
            rows.append(chosen.render(problem, options))
            kept.append(problem)
        except (CannotWrite, Malformed) as error:
            message = f"problem {problem.id} ({problem.text[:50].strip()}…): {error}"
            if not lenient:
                raise CannotWrite(f"{message} (--lenient leaves such problems out)") from None
            skipped.append(message)
    if skipped and not rows:
        raise CannotWrite(f"none of {len(skipped):,} problems can be written as {to}; the first: {skipped[0]}")
    text = (chosen.header(dataset.card) if chosen.header else "") + chosen.assemble(rows)
    write_bytes(path, chosen.encode(text))
    files = [path]
    if options.labels_apart:
        from winokit.data.formats import winogrande

        labels = "".join(f"{base.need_answer(p, 'a label list') + 1}\n" for p in kept)
        files.append(winogrande.labels_path(path))
        write_bytes(files[-1], labels.encode())
    return WrittenFile(files, len(rows), skipped)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, compressed if its name says so."""
    if path.suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif path.suffix == ".xz":
        data = lzma.compress(data)
    write_whole(path, data)


def remembered(folder: Path) -> tuple[dict[str, str], str | None]:
    """Columns and language by a folder's winokit.toml; none where there is none, an error where it makes no sense."""
    path = folder / PROJECT_FILE
    if not path.is_file():
        return {}, None
    from winokit.data.formats.columns import checked_columns
    from winokit.project import read_project

    table = read_project(folder)
    columns = table.get("columns", {})
    language = table.get("language")
    if not isinstance(columns, dict) or not isinstance(language, str | None):
        raise BadInput(f'{path}: expected language = "…" and a table [columns]')
    try:
        return checked_columns(columns) if columns else {}, language and check_code(language)
    except (BadInput, LookupError) as error:
        raise BadInput(f"{path}: {str(error).removeprefix('--columns: ')}") from None


def remember(folder: Path, columns: Mapping[str, str], language: str | None = None) -> Path:
    """Write columns, and a language, into winokit.toml of a folder; what it says already stays and must not differ."""
    path = folder / PROJECT_FILE
    known_columns, known_language = remembered(folder)
    if (known_columns or columns) != columns or (known_language or language) != language:
        raise BadInput(f"{path}: has other columns or another language; edit or remove it first")
    text = read_text(path) if path.exists() else ""
    if language and not known_language:
        text = f"language = {json.dumps(language)}\n" + text
    if not known_columns:
        lines = [f"{role} = {json.dumps(column, ensure_ascii=False)}" for role, column in columns.items()]
        text = "\n".join([*([text.rstrip(), ""] if text else []), "[columns]", *lines]) + "\n"
    write_whole(path, text.encode())
    return path
