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
    """The choice of each sample, or whether it is right."""
    for line, sample in Source(path).json_lines():
        asked, judged = sample.get("input"), sample.get("evaluation")
        if not isinstance(asked, dict) or not isinstance(judged, dict):
            raise Malformed("expected an object", field="input", file=str(path), line=line)
        known = {"model": sample["model_id"], "text": asked.get("raw", ""), "correct": judged.get("is_correct")}
        choices = asked.get("choices") or []
        if len(set(choices)) != len(choices):
            yield {**known, "id": _document_hash(sample), "text": ""}
            continue
        options = {f"option{number}": name for number, name in enumerate(choices, 1)}
        reply = _reply(sample)
        reference = asked.get("reference") or [""]
        yield {
            **known,
            **options,
            "id": sample["sample_id"],
            "prediction": listed_choice(reply, known["text"]),
            "answer": reference[0],
        }


def _document_hash(sample: dict[str, Any]) -> str:
    """The harness's hash of the document."""
    metadata = sample.get("metadata") or {}
    return str(metadata.get("doc_hash", ""))


def _reply(sample: dict[str, Any]) -> str:
    """What was taken from the output, else the output."""
    final = [each for each in sample.get("answer_attribution") or [] if each.get("is_terminal")]
    if final:
        return str(final[-1].get("extracted_value", ""))
    output = (sample.get("output") or {}).get("raw") or [""]
    return output[0] if isinstance(output[0], str) else json.dumps(output[0])
