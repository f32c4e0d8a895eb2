"""Sample logs of lm-evaluation-harness (`--log_samples`): log-probabilities of multiple-choice requests.

Log-probabilities and flags are strings, `target` is the text to continue (not the answer), ids may be missing: so the
problem is found by the text of `doc`, and each score goes to the candidate that its own request has and the others
have not, whatever the order. Scores are plain sums, what the harness calls `acc`; a tie, which the harness gives to the
first choice, is an abstention here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.row import parse_row
from winokit.data.formats.source import Source, read_bytes
from winokit.data.predictions.match import Matcher, Unmatched, align, align_difference, listed, option_behind, shown
from winokit.data.predictions.row import PredictionRow
from winokit.errors import BadInput, Malformed
from winokit.problem import Problem
from winokit.results import decide

KEYS = frozenset({"doc_id", "doc"})
DATED = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
COLLAPSED = 6
"""How many characters before its stated place the pronoun of a wsc273 document may stand: the task removes doubled
spaces from the text and leaves `pronoun_loc` as it was."""


@dataclass(frozen=True, slots=True)
class _Stated:
    """What a document says: the problem it is about, its candidates in its own order (if it lists them), its answer."""

    hits: tuple[int, ...]
    candidates: tuple[str, ...]
    gold: int | None


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of the log, one scoring for each filter."""
    model, scoring = names(source.path)
    for line, row in source.json_lines():
        try:
            yield _row(row, line, matcher, model, scoring)
        except Malformed as error:
            source.reject(error, line)


def names(path: Path) -> tuple[str, str]:
    """Model and scoring of a log: from the results beside it, else from the folder, which bears the model's name."""
    dated = DATED.fullmatch(path.name)
    if dated is None:
        return path.name.split(".")[0].removeprefix("samples_"), "lmeval"
    try:
        results = json.loads(read_bytes(path.with_name(f"results_{dated['date']}.json")))
    except (BadInput, ValueError, RecursionError):
        results = None
    named = results.get("model_name") if isinstance(results, dict) else None
    folder = path.resolve().parent.name.replace("__", "/")
    return named if isinstance(named, str) and named else folder, f"lmeval:{dated['task']}"


def _row(row: Mapping[str, Any], line: int, matcher: Matcher, model: str, scoring: str) -> PredictionRow:
    doc, responses = row.get("doc"), row.get("filtered_resps")
    if not isinstance(doc, dict):
        raise Malformed(f"the evaluated document expected, found {fields.shown(doc)}", field="doc")
    if not isinstance(responses, list):
        raise Malformed(f"a list of responses expected, found {fields.shown(responses)}", field="filtered_resps")
    chosen = row.get("filter")
    scoring += f"?filter={chosen}" if chosen not in (None, "none") else ""
    texts = _request_texts(row)
    try:
        stated = _stated(doc, matcher)
        scores = _scores(responses, len(stated.candidates))
        order = _order(texts, stated.candidates)
    except Unmatched as reason:
        return PredictionRow(f"line {line}", model, scoring, reason=str(reason))
    prediction, why = decide(scores)
    return PredictionRow(
        f"line {line}",
        model,
        scoring,
        hits=stated.hits,
        candidates=tuple(stated.candidates[place] for place in order),
        scores=scores if all(map(math.isfinite, scores)) else None,
        prediction=prediction,
        why=why,
        gold=None if stated.gold is None else order.index(stated.gold),
        verdict=_verdict(row),
    )


def _verdict(row: Mapping[str, Any]) -> bool | None:
    """What the harness made of it, where it says so."""
    accuracy = row.get("acc")
    return None if accuracy not in (0, 1) or isinstance(accuracy, bool) else bool(accuracy)


def _stated(doc: Mapping[str, Any], matcher: Matcher) -> _Stated:
    """The problem of a document, told by its dialect, else by any of its texts."""
    try:
        problem = _parsed(doc)
    except Malformed as error:
        hits = _found_in_texts(doc, matcher, str(error))
        return _Stated(hits, matcher.dataset[hits[0]].candidates, None)
    return _Stated(matcher.find_problem(problem), problem.candidates, problem.answer)


def _parsed(doc: Mapping[str, Any]) -> Problem:
    """The problem of a document; a wsc273 pronoun is looked for where removed spaces have moved it."""
    try:
        return parse_row(doc)
    except Malformed:
        text, pronoun, start = doc.get("text"), doc.get("pronoun"), doc.get("pronoun_loc")
        if not (isinstance(text, str) and isinstance(pronoun, str) and isinstance(start, int)):
            raise
        for place in range(start - 1, max(start - COLLAPSED, 0) - 1, -1):
            if re.match(rf"\b{re.escape(pronoun)}\b", text[place:]) and not text[:place][-1:].isalnum():
                return parse_row({**doc, "pronoun_loc": place})
        raise


def _found_in_texts(doc: Mapping[str, Any], matcher: Matcher, otherwise: str) -> tuple[int, ...]:
    """The one problem that some text of a document is, or is about."""
    found: set[tuple[int, ...]] = set()
    for text in doc.values():
        if isinstance(text, str):
            try:
                found.add(matcher.find_inside(text))
            except Unmatched:
                continue
    if len(found) != 1:
        raise Unmatched(otherwise if not found else f"{len(found)} problems stand in its document")
    return found.pop()


def _scores(responses: Sequence[Any], count: int) -> tuple[float, ...]:
    """The log-probabilities of the responses, one a candidate."""
    if len(responses) != count:
        raise Unmatched(f"{len(responses)} responses where the problem has {count} candidates")
    return tuple(_log_probability(response) for response in responses)


def _log_probability(response: object) -> float:
    value = response[0] if isinstance(response, list) and response else None
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        try:
            return float(value)
        except (ValueError, OverflowError):
            pass
    raise Unmatched(f"a log-probability expected in its responses, found {fields.shown(response)}")


def _request_texts(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Context and continuation of each request, from `arguments` as newer and older versions write them."""
    arguments = row.get("arguments")
    if arguments is None:
        return []
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        raise Malformed(f"the requests expected, found {fields.shown(arguments)}", field="arguments")
    texts = []
    for request in requests:
        parts = [request.get("arg_0"), request.get("arg_1")] if isinstance(request, dict) else request
        if not isinstance(parts, list) or len(parts) < 2 or not all(isinstance(part, str) for part in parts[:2]):
            raise Malformed(f"a context and a continuation expected, found {fields.shown(request)}", field="arguments")
        texts.append((parts[0], parts[1]))
    return texts


def _order(texts: Sequence[tuple[str, str]], candidates: Sequence[str]) -> tuple[int, ...]:
    """For each request the place of its candidate; without requests, the order of the document."""
    if not texts:
        return tuple(range(len(candidates)))
    order = align_difference([context + continuation for context, continuation in texts], candidates)
    if order is None:
        options = [option_behind(continuation, context) or "" for context, continuation in texts]
        order = align(options, candidates)
    if order is None:
        offered = " / ".join(shown(continuation) for _, continuation in texts[:4])
        raise Unmatched(f"its choices {offered} are not the candidates {listed(candidates)}")
    return order
