"""Sample logs of lm-evaluation-harness (`--log_samples`): log-probabilities of multiple-choice requests, or answers.

Log-probabilities and flags are strings, `target` is the text to continue (not the answer), ids may be missing: so the
problem is found by the text of `doc`, and each score goes to the candidate that its own request has and the others
have not, whatever the order. Scores are plain sums, what the harness calls `acc`; a tie, which the harness gives to the
first choice, is an abstention here. The documents of `winokit convert` say themselves which variant of which problem
they are, and their requests stand in the order of their candidates. Repeats of a question are samples.
"""

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.dialects import document_of, parse_row
from winokit.data.formats.source import Place, Source, name_place, read_bytes
from winokit.data.predictions import match
from winokit.data.predictions.answers import UNREAD, AnswerReading
from winokit.data.predictions.documents import SOLVED, LoggedDocument, parse_document, scoring_of, slug
from winokit.data.predictions.match import Matcher, PredictionRow, Unmatched
from winokit.data.predictions.read import DATED
from winokit.errors import BadInput, Malformed
from winokit.methods.scoring.base import SCORINGS, Abstain, Setting
from winokit.methods.transforms.substitute import solved_texts
from winokit.problem import ORIGINAL, Problem, original_id
from winokit.results import decide
from winokit.text.language import language_of

COLLAPSED = 6
"""How many characters before its stated place the pronoun of a wsc273 document may stand: the task removes doubled
spaces from the text and leaves `pronoun_loc` as it was."""
UNDATED = "lmeval"
"""The scoring of a log whose file does not have the harness's name; its model is called after the file."""
UNCACHED = re.compile(r"logits_cache\W+false", re.IGNORECASE)
USUAL_FILTERS = (None, "none", "take_first")
"""The names of filters that keep the first of several answers."""
JUDGED = ("exact_match", "acc")
"""Whether an answer in words is right, by the harness."""
OWNERS = ("my", "his", "her", "our", "their")
"""The pronouns for which the wsc273 task gives its options a possessive."""


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """The rows of the log, one scoring for each filter."""
    results = _results(source.path)
    model, scoring = names(source.path, results)
    asked: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for line, row in rows(source):
        try:
            answers = [_row(each, line, matcher, model, scoring) for each in _answers_of(row)]
        except Malformed as error:
            source.reject(error, line)
            continue
        for number, (made, is_own) in enumerate(answers):
            if is_own and results:
                _check_uncached(source.path, results)
                results = {}
            if is_own and made.hits and made.variant != SOLVED:
                asked[made.model, made.scoring, made.variant].update(made.hits)
            yield replace(made, sample=number) if len(answers) > 1 else made
    for named, places in asked.items():
        yield from _left_out(matcher, named, places)


def _answers_of(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The row once for each of its repeats, with one answer.

    The harness's usual filter keeps the first, which alone it judges, and `resps` has them all. What another filter
    chose, as by a majority, stays as it is.
    """
    requests = row.get("arguments")
    if isinstance(requests, (list, dict)) and len(requests) > 1:
        return [row]
    texts = _said_several(row.get("filtered_resps"))
    if len(texts) < 2 and row.get("filter") in USUAL_FILTERS:
        texts = _said_several(row.get("resps"))
    if len(texts) < 2:
        return [row]
    unjudged = {name: value for name, value in row.items() if name not in JUDGED}
    first = {**row, "filtered_resps": texts[:1]}
    return [first, *({**unjudged, "filtered_resps": [text]} for text in texts[1:])]


def _said_several(responses: object) -> list[str]:
    """The answers in words to the one request of a row."""
    if isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], list):
        responses = responses[0]
        if responses[1:] in (["True"], ["False"]):  # a log-probability, and whether it is the likeliest text
            return []
    if not isinstance(responses, list) or not all(isinstance(text, str) for text in responses):
        return []
    return responses


def _results(path: Path) -> Mapping[str, Any]:
    """What the harness wrote beside a log; empty where there is none."""
    dated = DATED.fullmatch(path.name)
    if dated is None:
        return {}
    try:
        results = json.loads(read_bytes(path.with_name(f"results_{dated['date']}.json")))
    except (BadInput, ValueError, RecursionError):
        return {}
    return results if isinstance(results, dict) else {}


def _check_uncached(path: Path, results: Mapping[str, Any]) -> None:
    """Refuse variants that the harness scored together with its cache of logits.

    Up to 0.4.13 at least, its `hf` models answer two requests that are one text, continued from different places, with
    the logits of the longer continuation, read from its start. A special word is such a place, and so is the beginning.
    """
    config, tasks = results.get("config"), results.get("n-samples")
    if not isinstance(config, dict) or not isinstance(tasks, dict) or not str(config.get("model")).startswith("hf"):
        return
    clash = [name for name in tasks if str(name).endswith((f"_{SOLVED}", "_special_word"))]
    if clash and len(tasks) > 1 and not UNCACHED.search(str(config.get("model_args"))):
        raise BadInput(
            f"{path}: lm_eval's cache of logits corrupts scores if two tasks share a text, as {clash[0]} and the "
            "others do; run them again with --model_args …,logits_cache=False"
        )


def rows(source: Source) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Place and content of each sample: lines of JSON, or one array, as the first versions wrote them."""
    is_array = read_bytes(source.path, 64).lstrip().startswith(b"[")
    return source.json_array() if is_array else source.json_lines()


def problems(source: Source) -> Iterator[LoggedDocument]:
    """The problem of each document, once for all filters."""
    seen = set()
    for line, row in rows(source):
        if str(row.get("doc_id")) not in seen:
            seen.add(str(row.get("doc_id")))
            try:
                doc = document_of(row)
                yield parse_document(doc) or LoggedDocument(ORIGINAL, "", _undone(_parsed(doc), doc))
            except Malformed as error:
                source.reject(error, line)


def _undone(problem: Problem, doc: Mapping[str, Any]) -> Problem:
    """The problem of a wsc273 document without the possessive that the task gives its options."""
    if "pronoun_loc" not in doc or (problem.pronoun or "").lower() not in OWNERS:
        return problem
    return problem.replace(candidates=tuple(name.removesuffix("'s") for name in problem.candidates))


def names(path: Path, results: Mapping[str, Any]) -> tuple[str, str]:
    """Model and scoring of a log: from the results beside it, else from the folder, which bears the model's name."""
    dated = DATED.fullmatch(path.name)
    if dated is None:
        return path.name.split(".")[0].removeprefix("samples_"), UNDATED
    named, folder = results.get("model_name"), path.resolve().parent.name.replace("__", "/")
    task = dated["task"].rpartition("::")[2]  # from 0.5 on, the names of its groups stand before it
    return named if isinstance(named, str) and named else folder, f"lmeval:{task}"


def _left_out(matcher: Matcher, named: tuple[str, str, str], asked: set[int]) -> Iterator[PredictionRow]:
    """What partial scoring cannot score is not in our tasks: abstentions, where the log has all the others."""
    silent = []
    if scoring_of(matcher.of(named[2]).dataset) == "full":
        return  # which leaves nothing out
    for problem in matcher.of(named[2]).dataset:
        place = matcher.by_id[original_id(problem)]
        if problem.answer is not None and place not in asked:
            try:
                SCORINGS["partial"].ask(problem, Setting())
                return
            except Abstain as why:
                about = PredictionRow("left out of the task", *named, (place,), why=str(why), gold=problem.answer)
                silent.append(about)
    yield from silent


Stated = tuple[str, tuple[int, ...], tuple[str, ...], int | None]
"""The problem of a document: variant, places in the dataset, candidates in the document's order, and answer."""


def _row(row: Mapping[str, Any], line: Place, matcher: Matcher, model: str, scoring: str) -> tuple[PredictionRow, bool]:
    """The row of a sample, and whether its document is one of ours."""
    doc, responses = document_of(row), row.get("filtered_resps")
    if not isinstance(responses, list):
        raise Malformed(f"expected a list of responses, found {fields.shown(responses)}", field="filtered_resps")
    requests, own, chosen = _requests(row), parse_document(doc), row.get("filter")
    ending = f"?filter={chosen}" if chosen not in (None, "none") else ""
    variant = own.variant if own else ORIGINAL

    def about(variant: str) -> PredictionRow:
        # All variants of a task are one scoring, though each is a task, and a file, of its own to the harness.
        suffix = f"_{slug(variant)}"
        name = model.removesuffix(suffix) if scoring == UNDATED else model
        return PredictionRow(name_place(line), name, scoring.removesuffix(suffix) + ending, variant)

    try:
        if own is not None and own.variant == SOLVED:
            return _surprisal(own, responses, matcher, about(SOLVED)), True
        if own is not None and own.problem is not None:
            problem = own.problem
            stated = variant, matcher.own(own), problem.candidates, problem.answer
        else:
            stated = _stated(doc, matcher)
        named, hits, candidates, gold = stated
        language = matcher.dataset[hits[0]].language
        draft = replace(about(named), hits=hits, candidates=candidates, gold=gold, language=language)
        if requests[0][1] is None if requests else any(isinstance(response, str) for response in responses):
            return _answered(row, doc, requests, responses, draft), own is not None
        return _scored(row, requests, responses, own.contexts if own else (), draft), own is not None
    except Unmatched as reason:
        return replace(about(variant), reason=str(reason)), own is not None


def _scored(
    row: Mapping[str, Any],
    requests: Sequence[tuple[str, str | None]],
    responses: Sequence[Any],
    contexts: Sequence[str],
    draft: PredictionRow,
) -> PredictionRow:
    """A choice by log-probabilities; `contexts` are what the text of each request must have in it, where known."""
    candidates = draft.candidates or ()
    if len(responses) != len(candidates):
        raise Unmatched(f"{len(responses)} responses where the problem has {len(candidates)} candidates")
    scores = tuple(_log_probability(response) for response in responses)
    order = _order(requests, candidates, contexts, draft.language)
    prediction, why = decide(scores)
    accuracy = row.get("acc")
    return replace(
        draft,
        candidates=tuple(candidates[place] for place in order),
        scores=scores if all(map(math.isfinite, scores)) else None,
        prediction=prediction,
        why=why,
        gold=None if draft.gold is None else order.index(draft.gold),
        verdict=bool(accuracy) if accuracy in (0, 1) and not isinstance(accuracy, bool) else None,
    )


def _answered(
    row: Mapping[str, Any],
    doc: Mapping[str, Any],
    requests: Sequence[tuple[str, str | None]],
    responses: Sequence[Any],
    draft: PredictionRow,
) -> PredictionRow:
    """A choice in words, as `generate_until` gives it: one answer, or the same several times."""
    texts = [text for response in responses for text in (response if isinstance(response, list) else [response])]
    if len({str(text).strip() for text in texts}) != 1:
        raise Unmatched(f"{len(texts)} different answers; a filter of the task must choose one (take_first)")
    text, prompt = str(texts[0]), requests[0][0] if requests else ""
    judged = next((row[name] for name in JUDGED if row.get(name) in (0, 1)), None)
    verdict = None if judged is None else bool(judged)
    reading = AnswerReading(draft.candidates or (), False, prompt, draft.language)
    place = int(text) - 1 if f"option{text.strip()}" in doc and match.option_behind(text, prompt) is None else None
    prediction = reading.chosen({"answer": text}, text, draft.gold, verdict) if place is None else place
    return replace(draft, why=UNREAD) if prediction is None else replace(draft, prediction=prediction, verdict=verdict)


def _surprisal(own: LoggedDocument, responses: Sequence[Any], matcher: Matcher, about: PredictionRow) -> PredictionRow:
    """How surprising a solved text is."""
    place = matcher.by_id.get(own.of)
    if place is None or solved_texts([matcher.dataset[place]]).get(own.of) != own.solved:
        raise Unmatched(f"no solved text of the dataset is {match.shown(own.solved)}")
    words = language_of(matcher.dataset[place].language).split(own.solved)
    surprisal = -_log_probability(responses[0] if responses else None) / max(len(words), 1)
    if not math.isfinite(surprisal):
        raise Unmatched("its log-probability is not a number")
    return replace(about, hits=(place,), surprisal=surprisal)


def _stated(doc: Mapping[str, Any], matcher: Matcher) -> Stated:
    """The problem of a document that we did not write.

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
            raise Unmatched(f"{len(places)} problems occur in its document" if places else str(error)) from None
        hits = places.pop()
        return ORIGINAL, hits, matcher.dataset[hits[0]].candidates, None
    variant, hits = matcher.anywhere(lambda at: at.find(problem.text, problem.candidates, like=problem))
    return variant, hits, problem.candidates, problem.answer


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
    if isinstance(value, list) and len(response) == 1 and value:  # type: ignore[arg-type]  # as 0.5 and later write it
        value = value[0]
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return float(value)
    raise Unmatched(f"expected a log-probability in its responses, found {fields.shown(response)}")


def _requests(row: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Context and continuation of each request, from `arguments` as newer and older versions write them.

    A request to generate has settings in place of a continuation.
    """
    arguments = row.get("arguments")
    if arguments is None:
        return []
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        raise Malformed(f"expected the requests, found {fields.shown(arguments)}", field="arguments")
    texts: list[tuple[str, str | None]] = []
    for request in requests:
        parts = [request.get("arg_0"), request.get("arg_1")] if isinstance(request, dict) else request
        if not isinstance(parts, list) or len(parts) < 2 or not isinstance(parts[0], str):
            parts = [None, None]
        if parts[0] is None or not isinstance(parts[1], (str, dict)):
            raise Malformed(f"expected a context and a continuation, found {fields.shown(request)}", field="arguments")
        texts.append((parts[0], parts[1] if isinstance(parts[1], str) else None))
    return texts


def _order(
    requests: Sequence[tuple[str, str | None]], candidates: Sequence[str], contexts: Sequence[str], language: str
) -> tuple[int, ...]:
    """For each request the place of its candidate; without requests, the order of the document."""
    places, texts = tuple(range(len(candidates))), [(context, rest or "") for context, rest in requests]
    if not texts:
        return places
    if contexts:
        asked = [context + rest for context, rest in texts]
        if len(asked) != len(places) or not all(map(str.__contains__, asked, contexts)):
            raise Unmatched("its requests are not those of its document")
        return places
    whole = [context + continuation for context, continuation in texts]
    order = match.align_difference(whole, candidates, language)
    if order is None:
        options = [match.option_behind(continuation, context) or "" for context, continuation in texts]
        order = match.align(options, candidates, language)
    if order is None:
        offered = " / ".join(match.shown(continuation) for _, continuation in texts[:4])
        raise Unmatched(f"its choices {offered} are not the candidates {match.listed(candidates)}")
    return order
