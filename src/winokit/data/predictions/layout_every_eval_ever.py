"""Samples of Every Eval Ever 0.3: `…_samples.jsonl`.

A sample is matched by its text. One that lm-evaluation-harness's converter wrote has lost the options of WinoGrande,
the answer and the choice; it is matched by the hash of its document, and right or wrong tells the choice.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winokit.data.formats.source import Source
from winokit.data.predictions.layouts import LayoutRow, layout, listed_choice
from winokit.errors import Malformed


@layout("every-eval-ever", keys={"evaluation_id", "model_id", "sample_id", "evaluation"})
def read_rows(path: Path) -> Iterator[LayoutRow]:
    """Yield the cells of each sample, by role.

    A sample of WinoGrande that lost its options has no choice, only whether it is right.
    """
    for line, sample in Source(path).json_lines():
        question = sample.get("input")
        evaluation = sample.get("evaluation")
        if not isinstance(question, dict) or not isinstance(evaluation, dict):
            raise Malformed("expected an object", field="input", file=str(path), line=line)
        model = sample["model_id"]
        text = question.get("raw", "")
        verdict = evaluation.get("is_correct")
        choices = question.get("choices") or []
        if len(set(choices)) != len(choices):
            yield {"model": model, "text": "", "correct": verdict, "id": _get_document_hash(sample)}
            continue
        options = {f"option{number}": name for number, name in enumerate(choices, 1)}
        reply = _get_reply(sample)
        reference = question.get("reference") or [""]
        yield {
            "model": model,
            "text": text,
            "correct": verdict,
            **options,
            "id": sample["sample_id"],
            "prediction": listed_choice(reply, text),
            "answer": reference[0],
        }


def _get_document_hash(sample: dict[str, Any]) -> str:
    """The hash by which lm-evaluation-harness identifies a document."""
    metadata = sample.get("metadata") or {}
    return str(metadata.get("doc_hash", ""))


def _get_reply(sample: dict[str, Any]) -> str:
    """The model's answer: what was extracted from the output, or the output.

    The last extraction that is marked as terminal counts.
    """
    attributions = sample.get("answer_attribution") or []
    terminal = [attribution for attribution in attributions if attribution.get("is_terminal")]
    if terminal:
        return str(terminal[-1].get("extracted_value", ""))
    output = sample.get("output") or {}
    texts = output.get("raw") or [""]
    return texts[0] if isinstance(texts[0], str) else json.dumps(texts[0])
