"""The files of `winokit items`: the queue of suspects, and every judgement as items.json."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from winokit.data.formats.files import write
from winokit.files import refuse_overwriting
from winokit.methods.metrics.judge_items import JudgedItem, JudgedPair, Suspect
from winokit.problem import ERRATUM, Problem
from winokit.stages.items.run import ItemsRun


def write_queue(run: ItemsRun, path: Path) -> Path:
    """Write the suspects as a dataset, twins one after the other, with the reasons as labels."""
    refuse_overwriting(path, [])
    problems: list[Problem] = []
    for place, suspect in enumerate(run.judged.suspects, 1):
        labels = {"suspect": place, "reasons": dict(suspect.reasons)}
        problems += [run.judged.asked.problems[row].with_labels(**labels) for row in suspect.rows]
    write(run.dataset.with_problems(problems), path, "jsonl")
    return path


def items_json(run: ItemsRun) -> dict[str, Any]:
    """Every judgement as plain data: items, pairs, suspects in order, canaries, families."""
    judged = run.judged
    return {
        "dataset": run.dataset.card.name,
        "models": len(judged.matrix.scorers),
        "families": [asdict(family) for family in run.families],
        "items": [_describe_item(run, item) for item in judged.items],
        "pairs": [_describe_pair(run, pair) for pair in judged.pairs],
        "suspects": [_describe_suspect(run, place, suspect) for place, suspect in enumerate(judged.suspects, 1)],
        "canaries": None if run.canaries is None else _describe_canaries(run),
        "notes": list(run.notes),
    }


def _describe_item(run: ItemsRun, item: JudgedItem) -> dict[str, Any]:
    """One item by its id."""
    row = asdict(item)
    del row["row"]
    problem = run.judged.asked.problems[item.row]
    return {"id": problem.id, "group": problem.group, ERRATUM: problem.labels.get(ERRATUM), **row}


def _describe_pair(run: ItemsRun, pair: JudgedPair) -> dict[str, Any]:
    """One pair by the ids of its twins."""
    row = asdict(pair)
    del row["rows"]
    row["bands"] = {band: asdict(shares) for band, shares in pair.bands.items()}
    return {"ids": [run.judged.asked.problems[place].id for place in pair.rows], **row}


def _describe_suspect(run: ItemsRun, place: int, suspect: Suspect) -> dict[str, Any]:
    """One suspect with its place in the queue."""
    ids = [run.judged.asked.problems[row].id for row in suspect.rows]
    return {"place": place, "ids": ids, "suspicion": suspect.suspicion, "reasons": dict(suspect.reasons)}


def _describe_canaries(run: ItemsRun) -> dict[str, Any]:
    """The canaries, and who gives them back."""
    assert run.canaries is not None
    found = asdict(run.canaries)
    for singer in found["singers"]:
        singer["model"] = run.judged.matrix.scorers[singer.pop("scorer")].model
    for canary in found["canaries"]:
        canary["ids"] = [run.judged.asked.problems[row].id for row in canary.pop("rows")]
    return found
