"""A format: how to recognise, read and write problems, under a name."""

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import escape, quoteattr

from winokit.data.formats.fields import BRACKETS
from winokit.data.formats.source import HEAD_BYTES, Source, csv_reader, decode_head, read_bytes
from winokit.errors import CannotWrite
from winokit.files import json_rows
from winokit.problem import BLANK, Card, Problem
from winokit.registry import Registry


class FileHead:
    """The first 64 KiB of a file, to recognise its format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = read_bytes(path, HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        """The first bytes as text.

        Bytes that are not UTF-8 are read as latin-1, which never fails.
        """
        return decode_head(self.bytes).lstrip()

    @cached_property
    def lines(self) -> list[str]:
        """The lines that are not blank. The last one may be incomplete."""
        return [line for line in re.split(r"\r\n?|\n", self.text) if line.strip()]

    @cached_property
    def json_keys(self) -> frozenset[str]:
        """Keys of the first object of a JSON-lines file.

        A card in the first line is passed over if another object follows. Empty if the file is no JSON lines.
        """
        rows = [_read_keys(line.strip(), whole=True) for line in self.lines[:2]]
        for keys in rows:
            if keys and keys != {"card"}:
                return keys
        return rows[0] if rows else frozenset()

    @cached_property
    def array_keys(self) -> frozenset[str]:
        """Keys of the first object in a JSON array, empty without one."""
        if not self.text.startswith("["):
            return frozenset()
        return _read_keys(self.text[1:].lstrip(), whole=False)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Column names of a table with commas, semicolons, tabs or bars.

        Empty if the file is no table of two columns or more.
        """
        if self.text[:1] in "{[<":
            return frozenset()
        try:
            header = next(csv_reader(self.text))
        except (csv.Error, StopIteration):
            return frozenset()
        columns = [cell.strip() for cell in header]
        return frozenset(columns) if len(columns) > 1 else frozenset()


@dataclass(frozen=True)
class WriteOptions:
    """Options for writing a file in a format."""

    source_ids: bool = False
    """Write the ids of the source. They may leak the answer: WinoGrande's qID ends in it."""
    labels_apart: bool = False
    """WinoGrande: leave the answers out of the rows and write them to a label list beside."""


Parse = TypeVar("Parse", bound=Callable[[Any], Problem])
Render = Callable[[Problem, WriteOptions], Any]


@dataclass(frozen=True)
class Format:
    """A file format, with functions that recognise, read and write it.

    `render` turns a problem into one part of a file, and `assemble` joins the parts to the file's text. Both are None
    if the format can only be read.
    """

    name: str
    about: str
    suffix: str
    recognise: Callable[[FileHead], bool]
    read: Callable[[Source], Iterable[Problem]]
    render: Render | None = None
    assemble: Callable[[Sequence[Any]], str] | None = None
    encode: Callable[[str], bytes] = lambda text: text.encode("utf-8")
    header: Callable[[Card], str] | None = None
    source_ids: bool = False
    """Whether `render` has a place for the ids of the source."""
    holds_whole: bool = False
    """Whether it can hold choices between whole texts, without a blank."""


MOST_TWINS = 3
"""Maximal number of problems whose qIDs start alike: twins, sometimes triplets."""
PUBLIC_ID = re.compile(r"[0-9a-f]{16}(?:\.\d+)?")
"""The end of a qID that winokit wrote. Such a qID names its group, which may have any size."""

NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HOMES = {
    "pdp": "wsc",
    "wsc": "wsc",
    "wsc273": "wsc",
    "copa": "copa",
    "superglue-copa": "copa",
    "knowref": "knowref",
    "trichelair": "trichelair",
    "minimal-pairs": "minimal_pairs",
    "jsonl": "jsonl",
    "superglue-wsc": "superglue_wsc",
    "winogrande": "winogrande",
    "gap": "columns",
    "lmeval": "dialects",
    "perturbed-wsc": "perturbed_wsc",
    "csv": "csv_table",
    "xwinograd": "xwinograd",
    "winogender": "winogender",
    "winogender-templates": "winogender",
    "winobias": "winobias",
    "dpr": "dpr",
    "square-one": "square_one",
}
FORMATS: Registry[Format] = Registry(
    "format", "winokit.formats", {name: f"winokit.data.formats.{home}" for name, home in _HOMES.items()}
)
"""Every format by its name, in the order of recognition."""


def native_format(
    name: str,
    about: str,
    suffix: str,
    recognise: Callable[[FileHead], bool],
    records: Callable[[Source], Iterable[tuple[int, Any]]],
    render: Render | None = None,
    assemble: Callable[[Sequence[Any]], str] | None = None,
    *,
    finish: Callable[[Source, Iterable[Problem]], Iterable[Problem]] = lambda _, problems: problems,
    **more: Any,
) -> Callable[[Parse], Parse]:
    """Register a format by decorating the function that parses one record.

    Parameters
    ----------
    name
        The format's name, as in `name:path`.
    about
        A line about its content, for the list of formats.
    suffix
        The usual ending of its files.
    recognise
        Whether a file is in this format, from its first bytes.
    records
        Yields the line number and the content of each record of a file.
    render
        Turns a problem into one part of a file. None if the format is only read.
    assemble
        Joins the parts to the text of a file. None if the format is only read.
    finish
        Changes the problems of a file after all are parsed. It may add labels from a file beside it, for example.
    more
        Other fields of `Format`.
    """

    def add(parse: Parse) -> Parse:
        """Register the format with this parser, and return the parser unchanged."""

        def read(source: Source) -> Iterable[Problem]:
            """The problems of a file."""
            return finish(source, source.each(records(source), parse))

        usual_fields = {"recognise": recognise, "render": render, "assemble": assemble, "read": read}
        FORMATS.register(name)(Format(name, about, suffix, **{**usual_fields, **more}))
        return parse

    return add


def json_format(
    name: str, about: str, keys: Collection[str], render: Render | None = None, *, array: bool = False, **more: Any
) -> Callable[[Parse], Parse]:
    """Register a format of JSON lines, or of one JSON array.

    It decorates the function that makes a problem of a row.

    Parameters
    ----------
    keys
        A file is in this format if its first row has all of these keys.
    array
        Whether the file is one JSON array and not JSON lines.
    more
        Other parameters of `native_format`, which replace the usual ones.
    """
    needed_keys = set(keys)

    def recognise(head: FileHead) -> bool:
        """Whether a file's first row has all keys of the format."""
        row_keys = head.array_keys if array else head.json_keys
        return row_keys >= needed_keys

    usual_fields: dict[str, Any] = {
        "recognise": recognise,
        "records": Source.json_array if array else Source.json_lines,
        "assemble": json_list if array else json_rows,
    }
    suffix = ".json" if array else ".jsonl"
    return native_format(name, about, suffix, render=render, **{**usual_fields, **more})


def json_list(rows: Sequence[dict[str, Any]]) -> str:
    """The text of a JSON array with one row a line."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]\n"


def element(tag: str, text: str, **attributes: str | None) -> str:
    """The text of one XML element, on one line.

    Attributes that are None are left out. Raises CannotWrite for a control character.
    """
    known_attributes = {name: value for name, value in attributes.items() if value is not None}
    if NOT_XML.search("".join([text, *known_attributes.values()])):
        raise CannotWrite("it contains a control character, which XML cannot represent")
    attributes_text = "".join(f" {name}={quoteattr(value)}" for name, value in known_attributes.items())
    return f"<{tag}{attributes_text}>{escape(text)}</{tag}>"


def need_two(problem: Problem, format_name: str) -> tuple[str, str]:
    """Return the two candidates of a problem that is to be written.

    Raises CannotWrite, which names the format, if there are more than two or the problem asks yes or no.
    """
    need_no_query(problem, format_name)
    if len(problem.candidates) != 2:
        raise CannotWrite(f"{len(problem.candidates)} candidates where {format_name} has room for two: use --as binary")
    return problem.candidates[0], problem.candidates[1]


def need_pronoun(problem: Problem, format_name: str) -> str:
    """Return the pronoun of a problem that is to be written.

    Raises CannotWrite, which names the format, if the pronoun is not known.
    """
    if problem.pronoun is None:
        raise CannotWrite(f"no pronoun is known for the blank, and {format_name} cannot be written without one")
    return problem.pronoun


def with_brackets(problem: Problem, format_name: str) -> str:
    """Put brackets around the pronoun in a problem's text.

    Raises CannotWrite if the text has other brackets, or the pronoun is not known.
    """
    pronoun = need_pronoun(problem, format_name)
    if BRACKETS.search(problem.before + pronoun + problem.after):
        raise CannotWrite(f"its text has [brackets] besides those that {format_name} puts around the pronoun")
    return f"{problem.before}[{pronoun}]{problem.after}"


def need_answer(problem: Problem, format_name: str) -> int:
    """Return the answer of a problem that is to be written.

    It is the index of the right candidate. Raises CannotWrite, which names the format, if it is hidden.
    """
    if problem.answer is None:
        raise CannotWrite(f"the answer is hidden, and {format_name} cannot be written without it")
    return problem.answer


def need_no_query(problem: Problem, format_name: str) -> None:
    """Raise CannotWrite if a problem is a yes/no judgement."""
    if problem.query is not None:
        raise CannotWrite(f"a yes/no judgement cannot be written as {format_name}: convert it with --as choice first")


def need_one_blank(problem: Problem, format_name: str) -> None:
    """Raise CannotWrite if a text has an underscore besides the blank.

    A reader could not distinguish the two.
    """
    if problem.text.count(BLANK) != 1:
        raise CannotWrite(f"its text has a '{BLANK}' besides the blank, and {format_name} cannot tell them apart")


def drop_numbered_groups(problems: Sequence[Problem]) -> tuple[list[Problem], set[str]]:
    """Remove groups that come from qIDs which only number the rows.

    "my-set-1" to "my-set-500" are such qIDs: "my-set" is no group. Returns all problems, and the names of the removed
    groups. A name is such a one if four or more different endings follow it, without those that winokit writes.
    """
    endings: dict[str, set[str]] = defaultdict(set)
    for problem in problems:
        qid = str(problem.provenance.get("qID", ""))
        name, _, ending = qid.rpartition("-")
        if name and name == problem.group and not PUBLIC_ID.fullmatch(ending):
            endings[name].add(ending)
    numbered_names = {name for name, name_endings in endings.items() if len(name_endings) > MOST_TWINS}
    kept_problems = []
    for problem in problems:
        is_numbered = problem.group in numbered_names
        kept_problems.append(problem.replace(group=None) if is_numbered else problem)
    return kept_problems, numbered_names


def lone_groups_dropped(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Remove the group from each problem whose group has no other member.

    Yields all problems.
    """
    problems = list(problems)
    sizes = Counter(problem.group for problem in problems)
    for problem in problems:
        is_alone = problem.group is not None and sizes[problem.group] == 1
        yield problem.replace(group=None) if is_alone else problem


def _read_keys(text: str, *, whole: bool) -> frozenset[str]:
    """Keys of the JSON object at the beginning of a text.

    Empty if there is none. With `whole`, the text must end after the object.
    """
    try:
        row, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return frozenset()
    if not isinstance(row, dict) or (whole and text[end:]):
        return frozenset()
    return frozenset(row)
