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
from contextlib import suppress
from pathlib import Path
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.dialects import parse_row
from winokit.data.formats.source import Source, read_bytes
from winokit.data.predictions import match
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched
from winokit.errors import BadInput, Malformed
from winokit.problem import Problem
from winokit.results import decide

KEYS = frozenset({"doc_id", "doc"})
DATED = re.compile(r"samples_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d.:-]+)\.jsonl")
COLLAPSED = 6
"""How many characters before its stated place the pronoun of a wsc273 document may stand: the task removes doubled
spaces from the text and leaves `pronoun_loc` as it was."""


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
    named = f"line {line}", model, scoring
    texts = _request_texts(row)
    try:
        hits, candidates, gold = _stated(doc, matcher)
        if len(responses) != len(candidates):
            raise Unmatched(f"{len(responses)} responses where the problem has {len(candidates)} candidates")
        scores = tuple(_log_probability(response) for response in responses)
        order = _order(texts, candidates)
    except Unmatched as reason:
        return PredictionRow(*named, reason=str(reason))
    prediction, why = decide(scores)
    accuracy = row.get("acc")
    return PredictionRow(
        *named,
        hits=hits,
        candidates=tuple(candidates[place] for place in order),
        scores=scores if all(map(math.isfinite, scores)) else None,
        prediction=prediction,
        why=why,
        gold=None if gold is None else order.index(gold),
        verdict=bool(accuracy) if accuracy in (0, 1) and not isinstance(accuracy, bool) else None,
    )


def _stated(doc: Mapping[str, Any], matcher: Matcher) -> tuple[tuple[int, ...], tuple[str, ...], int | None]:
    """The places of a document's problem, its candidates in the document's order, and the answer it gives, if any.

    The document's dialect tells the problem, else any of its texts that is, or is about, one problem.
    """
    try:
        problem = _parsed(doc)
    except Malformed as error:
        places: set[tuple[int, ...]] = set()
        for text in doc.values():
            if isinstance(text, str):
                with suppress(Unmatched):
                    places.add(matcher.find_inside(text))
        if len(places) != 1:
            raise Unmatched(f"{len(places)} problems stand in its document" if places else str(error)) from None
        hits = places.pop()
        return hits, matcher.dataset[hits[0]].candidates, None
    return matcher.find(problem.text, problem.candidates, like=problem), problem.candidates, problem.answer


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


def _log_probability(response: object) -> float:
    value = response[0] if isinstance(response, list) and response else None
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return float(value)
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
    order = match.align_difference([context + continuation for context, continuation in texts], candidates)
    if order is None:
        options = [match.option_behind(continuation, context) or "" for context, continuation in texts]
        order = match.align(options, candidates)
    if order is None:
        offered = " / ".join(match.shown(continuation) for _, continuation in texts[:4])
        raise Unmatched(f"its choices {offered} are not the candidates {match.listed(candidates)}")
    return order
