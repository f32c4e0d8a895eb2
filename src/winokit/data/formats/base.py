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
    """The first bytes of a file in several forms, to recognise its format."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes = read_bytes(path, HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        """The bytes as text.

        Bytes that are no UTF-8 are read as latin-1, which never fails.
        """
        return decode_head(self.bytes).lstrip()

    @cached_property
    def lines(self) -> list[str]:
        """The lines that are not blank."""
        return [line for line in re.split(r"\r\n?|\n", self.text) if line.strip()]

    @cached_property
    def json_keys(self) -> frozenset[str]:
        """Keys of the first object of a JSON-lines file.

        A card counts only if nothing follows it. Empty if the file is no JSON lines.
        """
        rows = [_read_keys(line.strip(), whole=True) for line in self.lines[:2]]
        for keys in rows:
            if keys and keys != {"card"}:
                return keys
        return rows[0] if rows else frozenset()

    @cached_property
    def array_keys(self) -> frozenset[str]:
        """Keys of the first object of a JSON array, empty if it is none."""
        if not self.text.startswith("["):
            return frozenset()
        return _read_keys(self.text[1:].lstrip(), whole=False)

    @cached_property
    def columns(self) -> frozenset[str]:
        """Column names of a table, empty if it is none.

        The table has commas, semicolons, tabs or bars.
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
    """The options of a writer."""

    source_ids: bool = False
    """Write the ids of the source. They may leak the answer: WinoGrande's qID ends in it."""
    labels_apart: bool = False
    """WinoGrande: leave the answers out of the rows and write them to a label list beside."""


Parse = TypeVar("Parse", bound=Callable[[Any], Problem])
Render = Callable[[Problem, WriteOptions], Any]


@dataclass(frozen=True)
class Format:
    """One native format.

    `render` turns a problem into a part of the file, and `assemble` joins the parts to its text.
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
    """Register a format by the function that parses one record.

    Parameters
    ----------
    records
        Line number and content of each record of a file.
    finish
        What is made of the problems of a file once they are parsed: labels from files beside it, say.
    more
        What the format does its own way: the other fields of `Format`.
    """

    def add(parse: Parse) -> Parse:
        def read(source: Source) -> Iterable[Problem]:
            return finish(source, source.each(records(source), parse))

        usual_fields = {"recognise": recognise, "render": render, "assemble": assemble, "read": read}
        FORMATS.register(name)(Format(name, about, suffix, **{**usual_fields, **more}))
        return parse

    return add


def json_format(
    name: str, about: str, keys: Collection[str], render: Render | None = None, *, array: bool = False, **more: Any
) -> Callable[[Parse], Parse]:
    """Register a format of JSON lines, or of one JSON array.

    It is called with the function that makes a problem of a row.

    A file is in it where the first row has these `keys`. What the format does its own way is given by name, as to
    `native_format`.
    """
    needed_keys = set(keys)

    def recognise(head: FileHead) -> bool:
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
    """Rows as one JSON array, one element a line."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]\n"


def element(tag: str, text: str, **attributes: str | None) -> str:
    """One XML element on one line."""
    known_attributes = {name: value for name, value in attributes.items() if value is not None}
    if NOT_XML.search("".join([text, *known_attributes.values()])):
        raise CannotWrite("it contains a control character, which XML cannot represent")
    attributes_text = "".join(f" {name}={quoteattr(value)}" for name, value in known_attributes.items())
    return f"<{tag}{attributes_text}>{escape(text)}</{tag}>"


def need_two(problem: Problem, format_name: str) -> tuple[str, str]:
    """The two candidates of a problem, or a refusal."""
    need_no_query(problem, format_name)
    if len(problem.candidates) != 2:
        raise CannotWrite(f"{len(problem.candidates)} candidates where {format_name} has room for two: use --as binary")
    return problem.candidates[0], problem.candidates[1]


def need_pronoun(problem: Problem, format_name: str) -> str:
    """The pronoun of a problem, or a refusal."""
    if problem.pronoun is None:
        raise CannotWrite(f"no pronoun is known for the blank, and {format_name} cannot be written without one")
    return problem.pronoun


def with_brackets(problem: Problem, format_name: str) -> str:
    """The text with its [pronoun] in brackets.

    Raises CannotWrite if the text has other brackets.
    """
    pronoun = need_pronoun(problem, format_name)
    if BRACKETS.search(problem.before + pronoun + problem.after):
        raise CannotWrite(f"its text has [brackets] besides those that {format_name} puts around the pronoun")
    return f"{problem.before}[{pronoun}]{problem.after}"


def need_answer(problem: Problem, format_name: str) -> int:
    """The answer of a problem, or a refusal."""
    if problem.answer is None:
        raise CannotWrite(f"the answer is hidden, and {format_name} cannot be written without it")
    return problem.answer


def need_no_query(problem: Problem, format_name: str) -> None:
    """Refuse yes/no judgements."""
    if problem.query is not None:
        raise CannotWrite(f"a yes/no judgement cannot be written as {format_name}: convert it with --as choice first")


def need_one_blank(problem: Problem, format_name: str) -> None:
    """Refuse a text with an underscore besides the blank.

    A reader could not distinguish the two.
    """
    if problem.text.count(BLANK) != 1:
        raise CannotWrite(f"its text has a '{BLANK}' besides the blank, and {format_name} cannot tell them apart")


def drop_numbered_groups(problems: Sequence[Problem]) -> tuple[list[Problem], set[str]]:
    """Drop groups whose qIDs only number the rows, and return them too.

    An example is "my-set-1" to "my-set-500".
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
    """Drop the group of each problem that shares it with nobody."""
    problems = list(problems)
    sizes = Counter(problem.group for problem in problems)
    for problem in problems:
        is_alone = problem.group is not None and sizes[problem.group] == 1
        yield problem.replace(group=None) if is_alone else problem


def _read_keys(text: str, *, whole: bool) -> frozenset[str]:
    """Keys of the JSON object that begins a text, else empty.

    With `whole`, nothing may follow the object.

    With `whole`, nothing may follow the object.
    """
    try:
        row, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return frozenset()
    if not isinstance(row, dict) or (whole and text[end:]):
        return frozenset()
    return frozenset(row)
