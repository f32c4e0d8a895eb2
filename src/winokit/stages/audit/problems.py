"""The table of problems, as scripts beside the page: one for each variant, loaded when it is looked at.

Prompts and replies are in further scripts, loaded when a row is opened.

A page opened from disk may not fetch a file, but it may run a script. So each script is a call with one literal, and
forty thousand problems cost nothing until somebody asks for them.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from winokit.data.runs import Run
from winokit.drawing.plots import ShownScorer
from winokit.methods.scoring.scorer import Prediction
from winokit.problem import ORIGINAL, Dataset, Problem, grouped, original_id

if TYPE_CHECKING:
    from winokit.methods.scoring.transcripts import Transcript

RIGHT = "r"
WRONG = "w"
ABSTAINED = "a"
UNLABELLED = "u"
MISSING = "-"
"""Letters for the outcome of a prediction."""
SHORT = ".5g"
HEAD = 1000
TAIL = 2000
"""Numbers of characters that are shown from the beginning and the end of a long reply."""
Key = tuple[str, str]
"""A scorer as its model and its scoring."""
Predictions = Mapping[Key, Mapping[str, Prediction]]
"""Predictions by scorer and problem id. Those of a variant have the ids of the original problems."""


@dataclass(frozen=True, slots=True)
class ProblemScript:
    """A script file with the problems of one variant."""

    variant: str
    file: str
    """Its path in the report's folder."""
    n: int
    """Number of problems in it."""


def problem_scripts(run: Run, shown_scorers: Sequence[ShownScorer]) -> Iterator[tuple[ProblemScript, str]]:
    """Yield a script of problems for the originals and each predicted variant.

    The second value is the text of the script.
    """
    predictions = predictions_by_variant(run)
    with_transcripts = {(row.variant, row.model, row.scoring) for row in run.transcripts}
    variants = {ORIGINAL: run.dataset, **{name: run.variants[name] for name in run.variants if name in predictions}}
    outcomes = {name: _list_outcomes(data, predictions[name]) for name, data in variants.items() if name != ORIGINAL}
    for index, (name, dataset) in enumerate(variants.items()):
        scorer_keys = _order_scorers(predictions[name], shown_scorers)
        other_variants = outcomes if name == ORIGINAL else {}
        content = {
            "scorers": _list_scorer_names(scorer_keys),
            "variants": list(other_variants),
            "rows": _make_rows(dataset, predictions[name], scorer_keys, other_variants),
            "said": [(name, *key) in with_transcripts for key in scorer_keys],
        }
        script = ProblemScript(name, f"problems/{index}.js", len(dataset))
        yield script, _write_call("winokitProblems", index, content)


def _list_scorer_names(keys: Sequence[Key]) -> list[str]:
    """Names of scorers: models, with scorings where models are the same."""
    model_counts = Counter(model for model, _ in keys)
    names = []
    for model, scoring in keys:
        names.append(model if model_counts[model] == 1 else f"{model} · {scoring}")
    return names


def transcript_scripts(run: Run, shown_scorers: Sequence[ShownScorer]) -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of each script of transcripts.

    There is one for each variant with transcripts.
    """
    transcripts = grouped((row.variant, row) for row in run.transcripts)
    predictions = predictions_by_variant(run)
    variants = [ORIGINAL, *(name for name in run.variants if name in predictions)]
    for index, name in enumerate(variants):
        if name in transcripts:
            content = _describe_transcripts(transcripts[name], _order_scorers(predictions[name], shown_scorers))
            yield f"transcripts/{index}.js", _write_call("winokitTranscripts", index, content)


def predictions_by_variant(run: Run) -> dict[str, dict[Key, dict[str, Prediction]]]:
    """Predictions of a run by variant, scorer and problem id.

    The original problems have an entry even without predictions. If a problem has several samples, the prediction is
    the choice of most of them.
    """
    predictions: dict[str, dict[Key, dict[str, Prediction]]] = {ORIGINAL: {}}
    samples = [row for row in run.predictions if row.sample is not None]
    votes = grouped(((row.variant, row.model, row.scoring, row.id), row) for row in samples)
    for row in run.predictions:
        by_id = predictions.setdefault(row.variant, {}).setdefault((row.model, row.scoring), {})
        if row.sample is None:
            by_id[row.id] = row
        elif row.id not in by_id:
            from winokit.methods.scoring.majority import elected

            by_id[row.id] = elected(row.model, votes[row.variant, row.model, row.scoring, row.id])
    return predictions


def _order_scorers(by_scorer: Predictions, shown_scorers: Sequence[ShownScorer]) -> list[Key]:
    """Keys of the scorers with predictions, in the order of the page.

    A key is a model and its scoring. Scorers of the report come first, then further scorings.
    """
    main_keys = [(scorer.model, scorer.scoring) for scorer in shown_scorers]
    return [key for key in main_keys if key in by_scorer] + [key for key in by_scorer if key not in main_keys]


def _write_call(function: str, index: int, content: Mapping[str, Any]) -> str:
    """Write a line of JavaScript that calls a function.

    Its arguments are an index and an object.
    """
    return f"{function}({index},{json.dumps(content, separators=(',', ':'), allow_nan=False)});\n"


def _describe_transcripts(transcripts: Sequence["Transcript"], keys: Sequence[Key]) -> dict[str, Any]:
    """Prompts, replies, choices and scores, as the page's script reads them.

    Under `said` there is an object for each of the `keys`, with exchanges by problem id. Most paragraphs of a prompt
    are in other prompts too (shots), so all are written once, and a prompt is a list of their indices.
    """
    paragraphs: dict[str, int] = {}
    exchanges: list[dict[str, list[tuple[Any, ...]]]] = [{} for _ in keys]
    index_of = {key: index for index, key in enumerate(keys)}
    for row in transcripts:
        scorer_index = index_of.get((row.model, row.scoring))
        if scorer_index is not None:
            prompt = [paragraphs.setdefault(text, len(paragraphs)) for text in row.prompt.split("\n\n")]
            choice = None if row.choice is None else row.options[row.choice]
            exchange = (prompt, shown_ends(row.reply), choice, _list_logprobs(row), row.why)
            exchanges[scorer_index].setdefault(row.id, []).append(exchange)
    return {"paragraphs": list(paragraphs), "said": exchanges}


def _list_logprobs(row: "Transcript") -> Any:
    """Pair each option of a question with its log-probability.

    None or empty if there are no log-probabilities.
    """
    if not row.logprobs:
        return row.logprobs
    pairs = zip(row.options, row.logprobs, strict=True)
    return [(option, _shorten_number(logprob)) for option, logprob in pairs]


def shown_ends(reply: str) -> str:
    """Return a reply, or the two ends of a long one.

    They are its first 1,000 and last 2,000 characters, with a line between them that counts the rest.
    """
    if len(reply) <= HEAD + TAIL:
        return reply
    left_out = f"{len(reply) - HEAD - TAIL:,} characters, which are in transcripts.jsonl.gz"
    return f"{reply[:HEAD]}\n[… {left_out} …]\n{reply[-TAIL:]}"


def _list_outcomes(dataset: Dataset, by_scorer: Predictions) -> dict[Key, dict[str, str]]:
    """Outcome letters of each scorer for rewritten problems, by original id."""
    original_ids = {original_id(problem) for problem in dataset}
    outcomes: dict[Key, dict[str, str]] = {}
    for key, rows in by_scorer.items():
        outcomes[key] = {name: outcome(row) for name, row in rows.items() if name in original_ids}
    return outcomes


def _find_outcomes(key: Key, outcomes: Mapping[Key, Mapping[str, str]]) -> Mapping[str, str]:
    """Find a scorer's outcome letters by problem id.

    `key` is model and scoring, and `outcomes` has the letters of all scorers in one variant. If the scorer has none,
    they are those of the same model with another scoring, or empty.
    """
    if outcomes.get(key):
        return outcomes[key]
    for (model, _), model_outcomes in outcomes.items():
        if model == key[0]:
            return model_outcomes
    return {}


def outcome(prediction: Prediction) -> str:
    """Letter for the outcome of a prediction: right, wrong, abstained or unlabelled.

    An abstention is one even if the answer is not known.
    """
    if prediction.prediction is None:
        return ABSTAINED
    if prediction.answer is None:
        return UNLABELLED
    return RIGHT if prediction.is_right else WRONG


def _make_rows(
    dataset: Dataset,
    by_scorer: Predictions,
    scorer_keys: Sequence[Key],
    other_variants: Mapping[str, Mapping[Key, Mapping[str, str]]],
) -> list[tuple[Any, ...]]:
    """Make a row for each problem of a variant.

    `other_variants` has outcome letters by variant, scorer and problem. It is empty for all but the original problems.
    """
    predictions = [by_scorer[key] for key in scorer_keys]
    outcomes: list[list[Mapping[str, str]]] = []
    if other_variants:
        for key in scorer_keys:
            outcomes.append([_find_outcomes(key, variant) for variant in other_variants.values()])
    return [_make_row(problem, predictions, outcomes) for problem in dataset]


def _make_row(
    problem: Problem,
    predictions: Sequence[Mapping[str, Prediction]],
    outcomes: Sequence[Sequence[Mapping[str, str]]],
) -> tuple[Any, ...]:
    """Make the values that the page shows of a problem.

    In order: text before the blank, pronoun, text after it, candidates, answer, group, id of the original problem,
    choices and letters, and the language unless it is English. `predictions` are by problem id, for each scorer.
    `outcomes` are letters by problem id, for each scorer and variant: the row has one word of them per scorer.
    """
    origin = original_id(problem)
    letters = tuple([_join_letters(scorer_outcomes, problem.id) for scorer_outcomes in outcomes])
    choices = tuple([_make_choice(by_id.get(origin)) for by_id in predictions])
    text = (problem.before, problem.pronoun, problem.after)
    labels = (problem.candidates, problem.answer, problem.group)
    row = (*text, *labels, origin, choices, letters)
    return row if problem.language == "en" else (*row, problem.language)


def _join_letters(outcomes: Sequence[Mapping[str, str]], name: str) -> str:
    """Join the outcome letters of a problem, one for each variant.

    `outcomes` has letters by problem id, for each variant. `name` is the id.
    """
    return "".join([by_id.get(name, MISSING) for by_id in outcomes])


def _make_choice(prediction: Prediction | None) -> tuple[Any, ...]:
    """Make the values of a prediction: outcome letter, choice, scores and reason.

    The reason is there for abstentions. Without a prediction there is only a letter. They are tuples, which the garbage
    collector need not watch.
    """
    if prediction is None:
        return (MISSING,)
    scores = None if prediction.scores is None else tuple([_shorten_number(score) for score in prediction.scores])
    row = (outcome(prediction), prediction.prediction, scores)
    return (*row, prediction.why) if prediction.why is not None else row


def _shorten_number(value: float) -> float | None:
    """Round to five significant digits, or return None for an infinite value."""
    return float(format(value, SHORT)) if isfinite(value) else None
