"""The problems themselves, as small scripts beside the page: one for each variant, loaded when it is looked at.

What was said about them stands in further scripts, loaded when a row is opened.

A page opened from disk may not fetch a file, but it may run a script; so the rows come as a call with one literal.
Forty thousand problems then cost nothing until somebody asks for them.
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
SHORT = ".5g"
HEAD = 1000
TAIL = 2000
"""Characters of a long reply that are shown."""
Key = tuple[str, str]
"""Model and scoring."""
Predictions = Mapping[Key, Mapping[str, Prediction]]
"""By model and scoring, then by the id of the problem; a variant's row carries that of its original."""


@dataclass(frozen=True, slots=True)
class ProblemScript:
    """One file of problems: its variant, its name in the report's folder, and how many it lists."""

    variant: str
    file: str
    n: int


def problem_scripts(run: Run, known: Sequence[ShownScorer]) -> Iterator[tuple[ProblemScript, str]]:
    """A script for the original problems and one for each variant that was predicted, one at a time."""
    predictions = predictions_by_variant(run)
    spoke = {(row.variant, row.model, row.scoring) for row in run.transcripts}
    variants = {ORIGINAL: run.dataset, **{name: run.variants[name] for name in run.variants if name in predictions}}
    outcomes = {name: _list_outcomes(data, predictions[name]) for name, data in variants.items() if name != ORIGINAL}
    for place, (name, dataset) in enumerate(variants.items()):
        by_scorer = predictions[name]
        keys = _order_scorers(predictions[name], known)
        models = Counter(model for model, _ in keys)
        names = [key[0] if models[key[0]] == 1 else " · ".join(key) for key in keys]
        others = outcomes if name == ORIGINAL else {}
        own_rows = [by_scorer[key] for key in keys]
        trails = [_find_outcomes(key, others) for key in keys] if others else []
        rows = [_make_row(problem, own_rows, trails) for problem in dataset]
        has_transcript = [(name, *key) in spoke for key in keys]
        content = {"scorers": names, "variants": list(others), "rows": rows, "said": has_transcript}
        yield ProblemScript(name, f"problems/{place}.js", len(dataset)), _write_call("winokitProblems", place, content)


def transcript_scripts(run: Run, known: Sequence[ShownScorer]) -> Iterator[tuple[str, str]]:
    """For each of those with questions, the name of a script of what was said about its problems, and the script."""
    by_problem = grouped((row.variant, row) for row in run.transcripts)
    predictions = predictions_by_variant(run)
    for place, name in enumerate([ORIGINAL, *(name for name in run.variants if name in predictions)]):
        if name in by_problem:
            talk = _describe_transcripts(by_problem[name], _order_scorers(predictions[name], known))
            yield f"transcripts/{place}.js", _write_call("winokitTranscripts", place, talk)


def predictions_by_variant(run: Run) -> dict[str, dict[Key, dict[str, Prediction]]]:
    """By variant and scorer, the prediction for each problem.

    Of several samples it is what most of them say.
    """
    predictions: dict[str, dict[Key, dict[str, Prediction]]] = {ORIGINAL: {}}
    votes = grouped(
        ((row.variant, row.model, row.scoring, row.id), row) for row in run.predictions if row.sample is not None
    )
    for row in run.predictions:
        by_id = predictions.setdefault(row.variant, {}).setdefault((row.model, row.scoring), {})
        if row.sample is None:
            by_id[row.id] = row
        elif row.id not in by_id:
            from winokit.methods.scoring.majority import elected

            by_id[row.id] = elected(row.model, votes[row.variant, row.model, row.scoring, row.id])
    return predictions


def _order_scorers(by_scorer: Predictions, known: Sequence[ShownScorer]) -> list[Key]:
    """Scorers of the report first, then further scorings."""
    main = [(scorer.model, scorer.scoring) for scorer in known]
    return [key for key in main if key in by_scorer] + [key for key in by_scorer if key not in main]


def _write_call(function: str, place: int, content: Mapping[str, Any]) -> str:
    return f"{function}({place},{json.dumps(content, separators=(',', ':'), allow_nan=False)});\n"


def _describe_transcripts(transcripts: Sequence["Transcript"], keys: Sequence[Key]) -> dict[str, Any]:
    """Transcripts by scorer and problem: prompt, reply, choice and scores.

    Most paragraphs of a prompt are those of others too (shots), and are written once; a prompt has their places.
    """
    paragraphs: dict[str, int] = {}
    said: list[dict[str, list[tuple[Any, ...]]]] = [{} for _ in keys]
    places = {key: place for place, key in enumerate(keys)}
    for row in transcripts:
        if (row.model, row.scoring) in places:
            prompt = [paragraphs.setdefault(part, len(paragraphs)) for part in row.prompt.split("\n\n")]
            logprobs = row.logprobs and [
                (o, _shorten_number(p)) for o, p in zip(row.options, row.logprobs, strict=True)
            ]
            choice = None if row.choice is None else row.options[row.choice]
            exchange = (prompt, shown_ends(row.reply), choice, logprobs, row.why)
            said[places[row.model, row.scoring]].setdefault(row.id, []).append(exchange)
    return {"paragraphs": list(paragraphs), "said": said}


def shown_ends(reply: str) -> str:
    """A reply, or the ends of a long one."""
    if len(reply) <= HEAD + TAIL:
        return reply
    left_out = f"{len(reply) - HEAD - TAIL:,} characters, which are in transcripts.jsonl.gz"
    return f"{reply[:HEAD]}\n[… {left_out} …]\n{reply[-TAIL:]}"


def _list_outcomes(dataset: Dataset, by_scorer: Predictions) -> dict[Key, dict[str, str]]:
    """For each scorer the outcome of the rewritten problem, by the id of its original."""
    there = {original_id(problem) for problem in dataset}
    return {key: {name: outcome(row) for name, row in rows.items() if name in there} for key, rows in by_scorer.items()}


def _find_outcomes(key: Key, others: Mapping[str, Mapping[Key, Mapping[str, str]]]) -> list[Mapping[str, str]]:
    """A scorer's outcomes in each variant.

    If it was scored in another way there, they are the same model's.
    """
    return [
        outcomes.get(key) or next((own for (model, _), own in outcomes.items() if model == key[0]), {})
        for outcomes in others.values()
    ]


def outcome(prediction: Prediction) -> str:
    """One letter for what became of a problem."""
    if prediction.prediction is None:
        return ABSTAINED
    if prediction.answer is None:
        return UNLABELLED
    return RIGHT if prediction.is_right else WRONG


def _make_row(
    problem: Problem, by_scorer: Sequence[Mapping[str, Prediction]], trails: Sequence[Sequence[Mapping[str, str]]]
) -> tuple[Any, ...]:
    """Values that the page shows of a problem.

    Outcomes in other variants are a letter each, in one word per scorer.
    """
    origin = original_id(problem)
    trail = tuple(["".join([own.get(problem.id, MISSING) for own in outcomes]) for outcomes in trails])
    choices = tuple([_make_choice(predictions.get(origin)) for predictions in by_scorer])
    shown = problem.before, problem.pronoun, problem.after, problem.candidates, problem.answer, problem.group
    return (*shown, origin, choices, trail, *(() if problem.language == "en" else (problem.language,)))


def _make_choice(prediction: Prediction | None) -> tuple[Any, ...]:
    """Outcome, choice, scores and, for an abstention, why. Tuples, which the garbage collector need not watch."""
    if prediction is None:
        return (MISSING,)
    scores = None if prediction.scores is None else tuple([_shorten_number(score) for score in prediction.scores])
    row = (outcome(prediction), prediction.prediction, scores)
    return (*row, prediction.why) if prediction.why is not None else row


def _shorten_number(value: float) -> float | None:
    return float(format(value, SHORT)) if isfinite(value) else None
