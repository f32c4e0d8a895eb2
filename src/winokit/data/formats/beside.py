"""`winokit.toml` beside data: what its files do not say themselves, said once for a folder.

language = "de"

[columns]
text = "satz"
option1 = "a"
option2 = "b"
answer = "loesung"
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

from winokit.data.formats.columns import checked_columns
from winokit.errors import BadInput, refusing
from winokit.files import read_text, write_whole
from winokit.text.language import check_code

FILE = "winokit.toml"


def remembered(folder: Path) -> tuple[dict[str, str], str | None]:
    """Columns and language by a folder's winokit.toml; none where there is none, an error where it makes no sense."""
    path = folder / FILE
    if not path.is_file():
        return {}, None
    with refusing(f"{path}: cannot be read", tomllib.TOMLDecodeError):
        said = tomllib.loads(read_text(path).removeprefix("\ufeff"))
    columns, language = said.pop("columns", {}), said.pop("language", None)
    if said or not isinstance(columns, dict) or not isinstance(language, str | None):
        found = f", found {', '.join(said)}" if said else ""
        raise BadInput(f'{path}: language = "…" and a table [columns] expected{found}')
    try:
        return checked_columns(columns) if columns else {}, language and check_code(language)
    except (BadInput, LookupError) as error:
        raise BadInput(f"{path}: {str(error).removeprefix('--columns: ')}") from None


def remember(folder: Path, columns: Mapping[str, str], language: str | None = None) -> Path:
    """Write columns, and a language, into winokit.toml of a folder; what it says already stays and must not differ."""
    path, (known_columns, known_language) = folder / FILE, remembered(folder)
    if (known_columns or columns) != columns or (known_language or language) != language:
        raise BadInput(f"{path}: says something else; edit or remove it to remember this")
    text = read_text(path) if path.exists() else ""
    if language and not known_language:
        text = f"language = {json.dumps(language)}\n" + text
    if not known_columns:
        lines = [f"{role} = {json.dumps(column, ensure_ascii=False)}" for role, column in columns.items()]
        text = "\n".join([*([text.rstrip(), ""] if text else []), "[columns]", *lines]) + "\n"
    write_whole(path, text.encode())
    return path
