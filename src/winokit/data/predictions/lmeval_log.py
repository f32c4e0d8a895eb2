"""Sample logs of lm-evaluation-harness (`--log_samples`): log-probabilities of multiple-choice requests, or answers.

Log-probabilities and flags are strings, `target` is the text to continue (not the answer), ids may be missing: so the
problem is found by the text of `doc`, and each score goes to the candidate that its own request has and the others
have not, whatever the order. Scores are plain sums, what the harness calls `acc`; a tie, which the harness gives to the
first choice, is an abstention here. The documents of `winokit convert` say themselves which variant of which problem
they are, and their requests have the order of their candidates. Repeats of a question are samples.
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
"""The most characters by which the pronoun of a wsc273 document may come before its stated place: the task removes
doubled spaces from the text and leaves `pronoun_loc` as it was."""
UNDATED = "lmeval"
"""The scoring of a log whose file does not have the harness's name. Its model is called after the file."""
UNCACHED = re.compile(r"logits_cache\W+false", re.IGNORECASE)
USUAL_FILTERS = (None, "none", "take_first")
"""The names of filters that keep the first of several answers."""
JUDGED = ("exact_match", "acc")
"""The fields in which the harness says whether an answer in words is right."""
OWNERS = ("my", "his", "her", "our", "their")
"""The pronouns for which the wsc273 task gives its options a possessive."""


def read(source: Source, matcher: Matcher) -> Iterator[PredictionRow]:
    """Yield the predictions in a sample log of lm-evaluation-harness.

    Each filter of the task is a scoring. Problems that partial scoring cannot score, and that the task therefore
    leaves out, are yielded as abstentions.
    """
    results = _read_results(source.path)
    model, scoring = names(source.path, results)
    places_by_key: dict[tuple[str, str, str], set[int]] = defaultdict(set)
    for line, row in rows(source):
        repeats = _split_repeats(row)
        try:
            answers = [_make_log_row(repeat, line, matcher, model, scoring) for repeat in repeats]
        except Malformed as error:
            source.reject(error, line)
            continue
        for number, (answer, is_own) in enumerate(answers):
            if is_own and results:
                _check_uncached(source.path, results)
                results = {}
            if is_own and answer.hits and answer.variant != SOLVED:
                key = (answer.model, answer.scoring, answer.variant)
                places_by_key[key].update(answer.hits)
            yield replace(answer, sample=number) if len(answers) > 1 else answer
    for key, places in places_by_key.items():
        yield from _list_unasked(matcher, key, places)


def _split_repeats(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Split a row with several answers into rows with one answer.

    The answers are to one prompt. They are in `filtered_resps`, or in `resps` if the harness's usual filter kept only
    the first. The harness's verdict is about the first one, so the others lose it. A row with one answer is returned
    alone.
    """
    requests = row.get("arguments")
    if isinstance(requests, (list, dict)) and len(requests) > 1:
        return [row]
    texts = _list_answers(row.get("filtered_resps"))
    if len(texts) < 2 and row.get("filter") in USUAL_FILTERS:
        texts = _list_answers(row.get("resps"))
    if len(texts) < 2:
        return [row]
    first = {**row, "filtered_resps": texts[:1]}
    unjudged = {name: value for name, value in row.items() if name not in JUDGED}
    others = [{**unjudged, "filtered_resps": [text]} for text in texts[1:]]
    return [first, *others]


def _list_answers(responses: object) -> list[str]:
    """The answers in words to the one request of a row.

    `responses` is a row's `resps` or `filtered_resps`. Empty if they are something else, such as log-probabilities.
    """
    if isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], list):
        responses = responses[0]
        if responses[1:] in (["True"], ["False"]):  # a log-probability, and whether it is the likeliest text
            return []
    if not isinstance(responses, list):
        return []
    are_texts = all(isinstance(text, str) for text in responses)
    return responses if are_texts else []


def _read_results(path: Path) -> Mapping[str, Any]:
    """Read the results file that the harness wrote beside a log.

    Empty if there is none, or it is damaged.
    """
    dated = DATED.fullmatch(path.name)
    if dated is None:
        return {}
    try:
        results = json.loads(read_bytes(path.with_name(f"results_{dated['date']}.json")))
    except (BadInput, ValueError, RecursionError):
        return {}
    return results if isinstance(results, dict) else {}


def _check_uncached(path: Path, results: Mapping[str, Any]) -> None:
    """Raise BadInput if the harness's cache of logits has corrupted the scores.

    Up to 0.4.13 at least, its `hf` models answer two requests that are one text, continued from different places,
    with the logits of the longer continuation, read from its start. A special word is such a place, and so is the
    beginning. Only a log of two or more tasks is concerned, one of which scores solved texts or special words, and
    only if the run did not say logits_cache=False.
    """
    config = results.get("config")
    tasks = results.get("n-samples")
    if not isinstance(config, dict) or not isinstance(tasks, dict):
        return
    is_transformers = str(config.get("model")).startswith("hf")
    is_uncached = UNCACHED.search(str(config.get("model_args"))) is not None
    if not is_transformers or is_uncached or len(tasks) < 2:
        return
    clash = [name for name in tasks if str(name).endswith((f"_{SOLVED}", "_special_word"))]
    if clash:
        raise BadInput(
            f"{path}: lm_eval's cache of logits corrupts scores if two tasks share a text, as {clash[0]} and the "
            "others do; run them again with --model_args …,logits_cache=False"
        )


def rows(source: Source) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the place and the content of each sample of a log.

    A log has lines of JSON, or one array, as the first versions of the harness wrote them.
    """
    is_array = read_bytes(source.path, 64).lstrip().startswith(b"[")
    return source.json_array() if is_array else source.json_lines()


def problems(source: Source) -> Iterator[LoggedDocument]:
    """Yield the problem of each document of a log.

    It is yielded once for all filters.
    """
    seen_ids = set()
    for line, row in rows(source):
        document_id = str(row.get("doc_id"))
        if document_id in seen_ids:
            continue
        seen_ids.add(document_id)
        try:
            doc = document_of(row)
            yield parse_document(doc) or _parse_other_document(doc)
        except Malformed as error:
            source.reject(error, line)


def _parse_other_document(doc: Mapping[str, Any]) -> LoggedDocument:
    """The problem in a document that winokit did not write."""
    problem = _remove_possessive(_parse_problem(doc), doc)
    return LoggedDocument(ORIGINAL, "", problem)


def _remove_possessive(problem: Problem, doc: Mapping[str, Any]) -> Problem:
    """Remove the possessive endings that the wsc273 task adds to its options.

    It is unchanged if its pronoun is no possessive, or the document is not of that task.
    """
    pronoun = problem.pronoun or ""
    if "pronoun_loc" not in doc or pronoun.lower() not in OWNERS:
        return problem
    candidates = tuple(name.removesuffix("'s") for name in problem.candidates)
    return problem.replace(candidates=candidates)


def names(path: Path, results: Mapping[str, Any]) -> tuple[str, str]:
    """Model and scoring of a log.

    They are read from the results beside it, or else from the folder, which is called after the model. A log without
    the harness's usual name has the file's name as its model.
    """
    dated = DATED.fullmatch(path.name)
    if dated is None:
        model = path.name.split(".")[0].removeprefix("samples_")
        return model, UNDATED
    task = dated["task"].rpartition("::")[2]  # from 0.5 on, the names of its groups come first
    model_name = results.get("model_name")
    if not isinstance(model_name, str) or not model_name:
        folder = path.resolve().parent
        model_name = folder.name.replace("__", "/")
    return model_name, f"lmeval:{task}"


def _list_unasked(matcher: Matcher, key: tuple[str, str, str], asked_indices: set[int]) -> list[PredictionRow]:
    """Abstentions for the problems that partial scoring cannot score.

    winokit's tasks leave them out. Empty if other problems are missing too.

    Parameters
    ----------
    key
        Model, scoring and variant.
    asked_indices
        Indices of the problems in the log.
    """
    _, _, variant = key
    dataset = matcher.for_variant(variant).dataset
    if scoring_of(dataset) == "full":
        return []  # full scoring leaves nothing out
    abstentions = []
    for problem in dataset:
        place = matcher.by_id[original_id(problem)]
        if problem.answer is None or place in asked_indices:
            continue
        try:
            SCORINGS["partial"].ask(problem, Setting())
        except Abstain as why:
            abstention = PredictionRow("left out of the task", *key, (place,), why=str(why), gold=problem.answer)
            abstentions.append(abstention)
        else:
            return []
    return abstentions


Request = tuple[str, str | None]
"""Context and continuation; None for the continuation if the request is to generate."""
Stated = tuple[str, tuple[int, ...], tuple[str, ...], int | None]
"""The problem of a document: variant, places in the dataset, candidates in the document's order, and answer."""


def _make_log_row(
    row: Mapping[str, Any], line: Place, matcher: Matcher, model: str, scoring: str
) -> tuple[PredictionRow, bool]:
    """The prediction of a sample, and whether winokit wrote its document.

    `line` is the place of the sample in the log.
    """
    doc = document_of(row)
    responses = row.get("filtered_resps")
    if not isinstance(responses, list):
        raise Malformed(f"expected a list of responses, found {fields.shown(responses)}", field="filtered_resps")
    requests = _read_requests(row)
    own_document = parse_document(doc)
    filter_name = row.get("filter")
    ending = "" if filter_name in (None, "none") else f"?filter={filter_name}"

    def start_row(variant: str) -> PredictionRow:
        # All variants of a task are one scoring, though each is a task, and a file, of its own to the harness.
        """An empty prediction for a variant.

        All variants of a task are one scoring.
        """
        suffix = f"_{slug(variant)}"
        model_name = model.removesuffix(suffix) if scoring == UNDATED else model
        scoring_name = scoring.removesuffix(suffix) + ending
        return PredictionRow(name_place(line), model_name, scoring_name, variant)

    try:
        if own_document is not None and own_document.variant == SOLVED:
            return _make_surprisal_row(own_document, responses, matcher, start_row(SOLVED)), True
        stated = _find_stated_problem(doc, own_document, matcher)
        variant, hits, candidates, gold = stated
        language = matcher.dataset[hits[0]].language
        draft = replace(start_row(variant), hits=hits, candidates=candidates, gold=gold, language=language)
        if _is_generated(requests, responses):
            answer = _make_generated_row(row, doc, requests, responses, draft)
        else:
            contexts = own_document.contexts if own_document else ()
            answer = _make_scored_row(row, requests, responses, contexts, draft)
    except Unmatched as reason:
        variant = own_document.variant if own_document else ORIGINAL
        answer = replace(start_row(variant), reason=str(reason))
    return answer, own_document is not None


def _is_generated(requests: Sequence[Request], responses: Sequence[Any]) -> bool:
    """Whether the responses are answers in words, and not log-probabilities."""
    if requests:
        _, continuation = requests[0]
        return continuation is None
    return any(isinstance(response, str) for response in responses)


def _make_scored_row(
    row: Mapping[str, Any],
    requests: Sequence[Request],
    responses: Sequence[Any],
    contexts: Sequence[str],
    draft: PredictionRow,
) -> PredictionRow:
    """Complete the prediction of a sample that is scored by log-probabilities.

    Raises Unmatched if the responses do not fit the candidates.

    Parameters
    ----------
    row
        The sample.
    requests
        Context and continuation of each request.
    responses
        The harness's response to each request.
    contexts
        A text that each request must contain, if winokit wrote the document. Otherwise empty.
    draft
        The prediction so far, with its problem.
    """
    candidates = draft.candidates or ()
    if len(responses) != len(candidates):
        raise Unmatched(f"{len(responses)} responses where the problem has {len(candidates)} candidates")
    scores = tuple(_read_log_probability(response) for response in responses)
    order = _find_order(requests, candidates, contexts, draft.language)
    prediction, why = decide(scores)
    accuracy = row.get("acc")
    is_verdict = accuracy in (0, 1) and not isinstance(accuracy, bool)
    are_finite = all(map(math.isfinite, scores))
    return replace(
        draft,
        candidates=tuple(candidates[place] for place in order),
        scores=scores if are_finite else None,
        prediction=prediction,
        why=why,
        gold=None if draft.gold is None else order.index(draft.gold),
        verdict=bool(accuracy) if is_verdict else None,
    )


def _make_generated_row(
    row: Mapping[str, Any],
    doc: Mapping[str, Any],
    requests: Sequence[Request],
    responses: Sequence[Any],
    draft: PredictionRow,
) -> PredictionRow:
    """Complete the prediction of a sample that is answered in words.

    The responses must be equal. Raises Unmatched if there are different ones. A reply "2" means the second candidate
    if the document has a field `option2`, unless the prompt lists an option behind that number. It abstains if no
    answer can be read.

    Parameters
    ----------
    row
        The sample.
    doc
        The sample's document.
    draft
        The prediction so far, with its problem.
    """
    texts: list[Any] = []
    for response in responses:
        texts += response if isinstance(response, list) else [response]
    distinct = {str(text).strip() for text in texts}
    if len(distinct) != 1:
        raise Unmatched(f"{len(texts)} different answers; a filter of the task must choose one (take_first)")
    text = str(texts[0])
    prompt = requests[0][0] if requests else ""
    judged = [row[name] for name in JUDGED if row.get(name) in (0, 1)]
    verdict = bool(judged[0]) if judged else None
    is_option_number = f"option{text.strip()}" in doc
    if is_option_number and match.option_behind(text, prompt) is None:
        return replace(draft, prediction=int(text) - 1, verdict=verdict)
    reading = AnswerReading(draft.candidates or (), False, prompt, draft.language)
    prediction = reading.choose_answer({"answer": text}, text, draft.gold, verdict)
    if prediction is None:
        return replace(draft, why=UNREAD)
    return replace(draft, prediction=prediction, verdict=verdict)


def _make_surprisal_row(
    own_document: LoggedDocument, responses: Sequence[Any], matcher: Matcher, draft: PredictionRow
) -> PredictionRow:
    """Complete the row of a solved text with its surprisal.

    It is in nats per word. Raises Unmatched if the dataset has no such solved text.
    """
    place = matcher.by_id.get(own_document.of)
    if place is None:
        raise Unmatched(f"no solved text of the dataset is {match.shown(own_document.solved)}")
    problem = matcher.dataset[place]
    if solved_texts([problem]).get(own_document.of) != own_document.solved:
        raise Unmatched(f"no solved text of the dataset is {match.shown(own_document.solved)}")
    words = language_of(problem.language).split(own_document.solved)
    log_probability = _read_log_probability(responses[0] if responses else None)
    surprisal = -log_probability / max(len(words), 1)
    if not math.isfinite(surprisal):
        raise Unmatched("its log-probability is not a number")
    return replace(draft, hits=(place,), surprisal=surprisal)


def _find_stated_problem(doc: Mapping[str, Any], own_document: LoggedDocument | None, matcher: Matcher) -> Stated:
    """Find the problem of a document in the dataset.

    Returns the variant, the indices in the dataset, the candidates in the document's order, and the answer. A
    document that winokit did not write is matched by its fields, or else by the only problem that occurs in its
    texts. Raises Unmatched if there is none.

    Parameters
    ----------
    own_document
        The document, if winokit wrote it.
    """
    if own_document is not None and own_document.problem is not None:
        hits = matcher.find_document(own_document)
        stated = own_document.problem
        return own_document.variant, hits, stated.candidates, stated.answer
    try:
        problem = _parse_problem(doc)
    except Malformed as error:
        places = _find_texts(doc, matcher)
        if len(places) != 1:
            raise Unmatched(f"{len(places)} problems occur in its document" if places else str(error)) from None
        hits = places.pop()
        return ORIGINAL, hits, matcher.dataset[hits[0]].candidates, None
    variant, hits = matcher.find_in_variants(
        lambda version: version.find(problem.text, problem.candidates, like=problem)
    )
    return variant, hits, problem.candidates, problem.answer


def _find_texts(doc: Mapping[str, Any], matcher: Matcher) -> set[tuple[int, ...]]:
    """Indices of the problems that occur in the texts of a document.

    Each element has the indices of one problem, several if it is repeated.
    """
    places: set[tuple[int, ...]] = set()
    for text in doc.values():
        if isinstance(text, str):
            with suppress(Unmatched):
                places.add(matcher.find_inside(text))
    return places


def _parse_problem(doc: Mapping[str, Any]) -> Problem:
    """Parse the problem in a document.

    The pronoun of wsc273 is also looked for before its stated place, because removed spaces have moved it. Raises
    Malformed if there is no problem.
    """
    try:
        return parse_row(doc)
    except Malformed:
        start = _find_moved_pronoun(doc)
        if start is None:
            raise
        return parse_row({**doc, "pronoun_loc": start})


def _find_moved_pronoun(doc: Mapping[str, Any]) -> int | None:
    """Start of the pronoun shortly before its stated place, or None.

    At most six characters before, the nearest place counts. None too if a field is missing.
    """
    text = doc.get("text")
    pronoun = doc.get("pronoun")
    stated_start = doc.get("pronoun_loc")
    if not isinstance(text, str) or not isinstance(pronoun, str) or not isinstance(stated_start, int):
        return None
    pattern = re.compile(rf"\b{re.escape(pronoun)}\b")
    first_start = max(stated_start - COLLAPSED, 0)
    for start in reversed(range(first_start, stated_start)):
        character_before = text[:start][-1:]
        if pattern.match(text[start:]) and not character_before.isalnum():
            return start
    return None


def _read_log_probability(response: object) -> float:
    """The log-probability in the response to a request.

    Raises Unmatched if there is none.
    """
    value = response[0] if isinstance(response, list) and response else None
    is_nested = isinstance(response, list) and len(response) == 1 and isinstance(value, list)
    if is_nested and value:  # as 0.5 and later write it
        value = value[0]
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        with suppress(ValueError, OverflowError):
            return float(value)
    raise Unmatched(f"expected a log-probability in its responses, found {fields.shown(response)}")


def _read_requests(row: Mapping[str, Any]) -> list[Request]:
    """Context and continuation of each request of a sample.

    The continuation is None for a request to generate. Empty if the sample does not have its requests.
    """
    arguments = row.get("arguments")
    if arguments is None:
        return []
    requests = list(arguments.values()) if isinstance(arguments, dict) else arguments
    if not isinstance(requests, list):
        raise Malformed(f"expected the requests, found {fields.shown(arguments)}", field="arguments")
    return [_read_request(request) for request in requests]


def _read_request(request: Any) -> Request:
    """Context and continuation of one request. Raises Malformed for anything else."""
    parts = request
    if isinstance(request, dict):
        parts = [request.get("arg_0"), request.get("arg_1")]
    if isinstance(parts, list) and len(parts) >= 2:
        context, continuation, *_ = parts
        if isinstance(context, str) and isinstance(continuation, str):
            return context, continuation
        if isinstance(context, str) and isinstance(continuation, dict):
            return context, None
    raise Malformed(f"expected a context and a continuation, found {fields.shown(request)}", field="arguments")


def _find_order(
    requests: Sequence[Request], candidates: Sequence[str], contexts: Sequence[str], language: str
) -> tuple[int, ...]:
    """For each request, the index of its candidate.

    It is the document's order if the sample does not have its requests. Raises Unmatched if the requests are not
    about the candidates.

    Parameters
    ----------
    contexts
        A text that each request must contain, if winokit wrote the document. Otherwise empty.
    """
    places = tuple(range(len(candidates)))
    if not requests:
        return places
    texts = [(context, continuation or "") for context, continuation in requests]
    whole_texts = [context + continuation for context, continuation in texts]
    if contexts:
        are_own = len(texts) == len(places) and all(map(str.__contains__, whole_texts, contexts))
        if not are_own:
            raise Unmatched("its requests are not those of its document")
        return places
    order = match.align_difference(whole_texts, candidates, language)
    if order is None:
        options = [match.option_behind(continuation, context) or "" for context, continuation in texts]
        order = match.align(options, candidates, language)
    if order is None:
        offered = " / ".join(match.shown(continuation) for _, continuation in texts[:4])
        raise Unmatched(f"its choices {offered} are not the candidates {match.listed(candidates)}")
    return order
