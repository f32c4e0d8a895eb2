"""winokit's own predictions.jsonl: id, variant, model, scoring, scores, prediction, answer; matched by id.

Rows of a scorer that was asked several times also have `sample`, from 0.

A problem's id does not depend on the order of its candidates, a prediction does. So a row whose answer is not the
dataset's is refused: its candidates stood in another order, or its labels were others, and nothing tells which.
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
    """Whether rows with id and prediction are winokit's, by the first one; with a source's ids they are a table."""
    is_named = "variant" in keys or PUBLIC_ID.fullmatch(str(row.get("id"))) is not None
    return is_named and not isinstance(row.get("prediction"), (str, bool))


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of the file, every model, scoring and variant."""
    stem = source.path.stem
    for line, row in source.json_lines():
        try:
            yield _row(row, line, matcher, stem)
        except Malformed as error:
            source.reject(error, line)


def _row(row: Mapping[str, Any], line: int, matcher: Matcher, stem: str) -> PredictionRow:
    name = fields.string(row, "id")
    variant = fields.optional(row, "variant") or ORIGINAL
    hit = matcher.by_id.get(name)
    count = len(matcher.dataset.problems[hit].candidates) if hit is not None and variant in AS_MANY else None
    scores = _scores(row, count)
    places = len(scores) if scores is not None else count
    return PredictionRow(
        f"line {line}",
        fields.optional(row, "model") or stem,
        fields.optional(row, "scoring") or "unknown",
        variant,
        () if hit is None else (hit,),
        "" if hit is not None else f"no problem has the id {name!r}",
        scores=scores,
        prediction=_place(row, "prediction", places),
        why=fields.optional(row, "why"),
        gold=_place(row, "answer", places),
        sample=_place(row, "sample", None),
    )


def _scores(row: Mapping[str, Any], count: int | None) -> tuple[float, ...] | None:
    """The scores, one for each candidate; a variant of a problem may have others than the problem."""
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


def _place(row: Mapping[str, Any], key: str, count: int | None) -> int | None:
    """A candidate's index, or None."""
    place = row.get(key)
    if place is None:
        return None
    if place.__class__ is not int:
        place = fields.integer(row, key)
    if place < 0 or (count is not None and place >= count):
        raise Malformed(
            f"expected an index from 0 to {count - 1 if count else 'the last candidate'}, found {place}", field=key
        )
    return place
