"""OpenEval (open-eval/OpenEval): items with the responses of several models, in one JSON array or as lines."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from winokit.data.formats.source import Source, read_bytes
from winokit.data.predictions.layouts import LayoutRow, layout, listed_choice


@layout("openeval", keys={"item_content", "responses"})
def read_rows(path: Path) -> Iterator[LayoutRow]:
    """Yield the cells of each response of each model, by role."""
    source = Source(path)
    is_array = read_bytes(path, 64).lstrip().startswith(b"[")
    items = source.json_array() if is_array else source.json_lines()
    for _, item in items:
        text = joined_text(item["item_content"]["input"])
        for response in item["responses"]:
            yield _make_response_row(response, text)


def _make_response_row(response: dict[str, Any], text: str) -> LayoutRow:
    """The cells of one response, by role. `text` is the item's text.

    The first score that is 0 or 1 says whether the response is right.
    """
    adaptation = response.get("item_adaptation", {})
    prompt = joined_text(adaptation.get("request_input", [])) or text
    model = response["model"]["name"]
    reply = joined_text(response["response_content"])
    values = [score["value"] for score in response.get("scores", [])]
    verdict = next((value for value in values if value in (0, 1)), None)
    return {"text": text, "model": model, "prediction": listed_choice(reply, prompt), "correct": verdict}


def joined_text(parts: list[Any]) -> str:
    """Join strings, and the strings in objects, with a newline between."""
    texts: list[str] = []
    for part in parts:
        content = json.loads(part) if isinstance(part, str) and part.startswith("{") else part
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [value for value in content.values() if isinstance(value, str)]
    return "\n".join(texts)
