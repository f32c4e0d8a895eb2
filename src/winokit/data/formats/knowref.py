"""KnowRef (Emami et al., 2019): a JSON array of sentences with a [pronoun] in brackets.

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
    """Parse an element of KnowRef's JSON array into a problem.

    Raises Malformed if a field is missing or wrong.
    """
    before, pronoun, after = fields.bracketed(row, "sentence_with_pronoun")
    candidates = (_get_only_string(row, "candidate0"), _get_only_string(row, "candidate1"))
    answer = None
    if row.get("correct_candidate") is not None:
        right = _get_only_string(row, "correct_candidate")
        answer = fields.named_answer({"correct_candidate": right}, candidates)
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


def _get_only_string(row: Mapping[str, Any], key: str) -> str:
    """The text of a field, usually the only one in a list."""
    value = row.get(key)
    if isinstance(value, list) and len(value) == 1:
        return fields.string({key: value[0]}, key)
    return fields.string(row, key)


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into an element of KnowRef's JSON array.

    Raises CannotWrite if it does not have two candidates, a pronoun and no brackets.
    """
    candidate0, candidate1 = need_two(problem, "knowref")
    row: dict[str, Any] = {
        "sentence_with_pronoun": with_brackets(problem, "knowref"),
        "candidate0": [candidate0],
        "candidate1": [candidate1],
    }
    if problem.answer is not None:
        row["correct_candidate"] = [problem.right]
        row["correct_candidate_idx"] = problem.answer
    if options.source_ids:
        row |= problem.provenance
    row |= {key: problem.labels[key] for key in FLAGS if key in problem.labels}
    if problem.group:
        row["group"] = problem.group
    return row


def _read_corrected(source: Source) -> Iterable[Problem]:
    """Yield the problems, with known errors of the public file corrected.

    A note says how many indices contradict the answer's name.
    """
    wrong_index_count = 0

    def parse_row(row: dict[str, Any]) -> Problem:
        """The problem in a row, after its correction. Counts wrong indices."""
        nonlocal wrong_index_count
        row = _correct_row(source, row)
        problem = parse(row)
        index = row.get("correct_candidate_idx")
        if index is not None and problem.answer is not None and index != problem.answer:
            wrong_index_count += 1
        return problem

    yield from source.each(source.json_array(), parse_row)
    if wrong_index_count:
        source.note(
            f"correct_candidate_idx disagrees with correct_candidate in {wrong_index_count} rows; the latter was used"
        )


def _correct_row(source: Source, row: dict[str, Any]) -> dict[str, Any]:
    """Correct a row with a known error of the public file.

    Other rows are returned as they are. A note says what was corrected.
    """
    identity = row.get("oiginal_id")
    erratum = ERRATA.get(identity) if isinstance(identity, int) else None
    if not erratum:
        return row
    has_one_name = row.get("candidate0") == row.get("candidate1")
    bracket_count = str(row.get("sentence_with_pronoun")).count("[")
    if not has_one_name and bracket_count < 2:
        return row
    corrections = [f"{key} = {value}" for key, value in erratum.items()]
    source.note(f"row {identity} corrected: {', '.join(corrections)}")
    return row | dict(erratum)


json_format(
    "knowref",
    "JSON array: sentence_with_pronoun in [brackets], candidate0, candidate1, correct_candidate",
    {"sentence_with_pronoun", "candidate0", "candidate1"},
    render,
    array=True,
    read=_read_corrected,
    source_ids=True,
)(parse)
