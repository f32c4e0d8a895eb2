"""KnowRef (Emami et al., 2019): a JSON array; sentence with the [pronoun] in brackets, two candidates.

In 299 of the 1,269 public test problems `correct_candidate_idx` disagrees with `correct_candidate`; the text of each
says that the string is right, so the string is what is read. One row names the same candidate twice and one brackets
two pronouns; both are mended here, and said in the notes.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format, need_two, with_brackets
from winokit.data.formats.source import Source
from winokit.files import our_toml
from winokit.problem import Problem

FLAGS = ("is_pronoun_person", "is_pronoun_plural", "is_pronoun_male", "is_agree_on_gender", "is_agree_on_number")
ERRATA = {int(number): row for number, row in our_toml("assets/errata.toml")["knowref"].items()}
"""Known slips of the public file, by its "oiginal_id" (sic): what the row should say, judged from its text."""


def parse(row: Mapping[str, Any]) -> Problem:
    """A problem from an element of the array."""
    before, pronoun, after = fields.bracketed(row, "sentence_with_pronoun")
    candidates = (_only(row, "candidate0"), _only(row, "candidate1"))
    answer = None
    if row.get("correct_candidate") is not None:
        answer = fields.named_answer({"correct_candidate": _only(row, "correct_candidate")}, candidates)
    return Problem(
        before,
        after,
        candidates,
        answer,
        pronoun=pronoun,
        group=fields.group(row),
        labels={key: fields.flag(row, key) for key in FLAGS if key in row},
        provenance={"oiginal_id": row["oiginal_id"]} if "oiginal_id" in row else {},
    )


def _only(row: Mapping[str, Any], key: str) -> str:
    """A field that holds one string, usually in a list."""
    value = row.get(key)
    if isinstance(value, list) and len(value) == 1:
        return fields.string({key: value[0]}, key)
    return fields.string(row, key)


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """An element of the array."""
    candidate0, candidate1 = need_two(problem, "knowref")
    row: dict[str, Any] = {
        "sentence_with_pronoun": with_brackets(problem, "knowref"),
        "candidate0": [candidate0],
        "candidate1": [candidate1],
    }
    if problem.answer is not None:
        row |= {"correct_candidate": [problem.right], "correct_candidate_idx": problem.answer}
    if options.source_ids:
        row |= problem.provenance
    row |= {key: problem.labels[key] for key in FLAGS if key in problem.labels}
    return row | ({"group": problem.group} if problem.group else {})


def _read(source: Source) -> Iterable[Problem]:
    disagree = 0

    def parse_counted(row: dict[str, Any]) -> Problem:
        nonlocal disagree
        identity = row.get("oiginal_id")
        erratum = ERRATA.get(identity) if isinstance(identity, int) else None
        twice = row.get("candidate0") == row.get("candidate1")
        if erratum and (twice or str(row.get("sentence_with_pronoun")).count("[") > 1):
            source.note(f"row {identity} corrected: {', '.join(f'{key} = {value}' for key, value in erratum.items())}")
            row = row | dict(erratum)
        problem = parse(row)
        index = row.get("correct_candidate_idx")
        disagree += index is not None and problem.answer is not None and index != problem.answer
        return problem

    yield from source.each(source.json_array(), parse_counted)
    if disagree:
        source.note(f"correct_candidate_idx disagrees with correct_candidate in {disagree} rows; the latter was used")


json_format(
    "knowref",
    "JSON array: sentence_with_pronoun in [brackets], candidate0, candidate1, correct_candidate",
    {"sentence_with_pronoun", "candidate0", "candidate1"},
    render,
    array=True,
    read=_read,
    source_ids=True,
)(parse)
