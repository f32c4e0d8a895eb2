"""winokit's own predictions.jsonl, matched by id.

Its fields are id, variant, model, scoring, scores, prediction and answer.

Rows of a scorer that was asked several times also have `sample`, from 0.

A problem's id does not depend on the order of its candidates, a prediction does. So a row whose answer is not the
dataset's is refused: its candidates had another order, or its labels were others, and nothing says which.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import PUBLIC_ID
from winokit.data.formats.source import Source
from winokit.data.predictions.match import Matcher, PredictionRow
from winokit.errors import Malformed
from winokit.methods.transforms.variants import ARTIFACTS, REVERSED
from winokit.problem import ORIGINAL

KEYS = frozenset({"id", "prediction"})
AS_MANY = frozenset({ORIGINAL, REVERSED, "switched", *ARTIFACTS})
"""The variants with as many candidates as the problem."""


def are_own(keys: Collection[str], row: Mapping[str, Any]) -> bool:
    """Whether rows with `id` and `prediction` are in winokit's own format.

    Rows with ids of a source, or with texts as predictions, are a table.

    Parameters
    ----------
    keys
        Keys of the first row.
    row
        The first row.
    """
    has_public_id = PUBLIC_ID.fullmatch(str(row.get("id"))) is not None
    is_named = "variant" in keys or has_public_id
    is_text_or_flag = isinstance(row.get("prediction"), (str, bool))
    return is_named and not is_text_or_flag


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """Yield the predictions in winokit's own format.

    They are of every model, scoring and variant.
    """
    stem = source.path.stem
    for line, row in source.json_lines():
        try:
            yield _parse_row(row, line, matcher, stem)
        except Malformed as error:
            source.reject(error, line)


def _parse_row(row: Mapping[str, Any], line: int, matcher: Matcher, stem: str) -> PredictionRow:
    """The prediction in one line of a file.

    Parameters
    ----------
    line
        The number of the line.
    stem
        Names the model of a line that names none.
    """
    problem_id = fields.string(row, "id")
    variant = fields.optional(row, "variant") or ORIGINAL
    hit = matcher.by_id.get(problem_id)
    candidate_count = None
    if hit is not None and variant in AS_MANY:
        candidate_count = len(matcher.dataset.problems[hit].candidates)
    scores = _parse_scores(row, candidate_count)
    index_count = candidate_count if scores is None else len(scores)
    parsed = PredictionRow(
        f"line {line}",
        fields.optional(row, "model") or stem,
        fields.optional(row, "scoring") or "unknown",
        variant,
        scores=scores,
        prediction=_parse_index(row, "prediction", index_count),
        why=fields.optional(row, "why"),
        gold=_parse_index(row, "answer", index_count),
        sample=_parse_index(row, "sample", None),
    )
    if hit is None:
        parsed.reason = f"no problem has the id {problem_id!r}"
    else:
        parsed.hits = (hit,)
    return parsed


def _parse_scores(row: Mapping[str, Any], count: int | None) -> tuple[float, ...] | None:
    """The scores of a line, one for each candidate, or None.

    Raises Malformed if they are not numbers, or not `count` many. `count` is None if it is not known.
    """
    scores = row.get("scores")
    if scores is None:
        return None
    # JSON as Python reads it has NaN, Infinity and integers that are no float.
    numbers = scores if isinstance(scores, list) else []
    fit = [score for score in numbers if type(score) in (int, float) and abs(score) < 1e308]
    if len(fit) < max(2, len(numbers)):
        raise Malformed(f"expected a list of two or more numbers, found {fields.shown(scores)}", field="scores")
    if count is not None and len(scores) != count:
        raise Malformed(f"expected {count} numbers, one per candidate, found {len(scores)}", field="scores")
    return tuple(map(float, scores))


def _parse_index(row: Mapping[str, Any], key: str, count: int | None) -> int | None:
    """The index of a candidate in a field, or None.

    Raises Malformed unless it is below `count`, which is None if it is not known.
    """
    value = row.get(key)
    if value is None:
        return None
    index: int = value if value.__class__ is int else fields.integer(row, key)
    is_too_high = count is not None and index >= count
    if index < 0 or is_too_high:
        last = count - 1 if count else "the last candidate"
        raise Malformed(f"expected an index from 0 to {last}, found {index}", field=key)
    return index
