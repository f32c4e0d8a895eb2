"""OpenEval (open-eval/OpenEval): items with the responses of several models, in one JSON array or as lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winokit.data.formats.source import Source, read_bytes
from winokit.data.predictions.layouts import LayoutRow, layout, listed_choice


@layout("openeval", keys={"item_content", "responses"})
def read_rows(path: Path) -> Iterator[LayoutRow]:
    """Each response of each model to each item."""
    source = Source(path)
    is_array = read_bytes(path, 64).lstrip().startswith(b"[")
    for _, item in source.json_array() if is_array else source.json_lines():
        content = item["item_content"]
        text = joined_text(content["input"])
        for response in item["responses"]:
            prompt = joined_text(response.get("item_adaptation", {}).get("request_input", [])) or text
            row = {"text": text, "model": response["model"]["name"]}
            reply = joined_text(response["response_content"])
            verdict = [score["value"] for score in response.get("scores", []) if score["value"] in (0, 1)]
            yield {
                **row,
                "prediction": listed_choice(reply, prompt),
                "correct": verdict[0] if verdict else None,
            }


def joined_text(parts: list[Any]) -> str:
    """Texts, and the texts in objects, one below the other."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str) and part.startswith("{"):
            part = json.loads(part)
        texts += [part] if isinstance(part, str) else [str(value) for value in part.values() if isinstance(value, str)]
    return "\n".join(texts)
