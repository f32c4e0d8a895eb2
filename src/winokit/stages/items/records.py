"""The files of `winokit items`: the queue of suspects, and items.json."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from winokit.data.formats.files import write
from winokit.methods.metrics.judge_canaries import CanaryTest
from winokit.methods.metrics.judge_items import JudgedItem, JudgedPair, Suspect
from winokit.problem import ERRATUM, Problem
from winokit.stages.items.run import ItemsRun


def write_queue(run: ItemsRun, path: Path) -> Path:
    """Write the suspects as a dataset for people to judge.

    Returns the path. Problems are in the order of the queue, twins one after the other, with rank and reasons as
    labels.
    """
    problems: list[Problem] = []
    for place, suspect in enumerate(run.judged.suspects, 1):
        labels = {"suspect": place, "reasons": dict(suspect.reasons)}
        for row in suspect.rows:
            problem = run.judged.asked.problems[row]
            problems.append(problem.with_labels(**labels))
    write(run.dataset.with_problems(problems), path, "jsonl")
    return path


def items_json(run: ItemsRun) -> dict[str, Any]:
    """Content of items.json: families, items, pairs, suspects in order, canaries and notes.

    `canaries` is None if no label is known to be wrong.
    """
    judged = run.judged
    suspects = []
    for place, suspect in enumerate(judged.suspects, 1):
        suspects.append(_describe_suspect(run, place, suspect))
    return {
        "dataset": run.dataset.card.name,
        "models": len(judged.matrix.scorers),
        "families": [asdict(family) for family in run.families],
        "items": [_describe_item(run, item) for item in judged.items],
        "pairs": [_describe_pair(run, pair) for pair in judged.pairs],
        "suspects": suspects,
        "canaries": None if run.canaries is None else _describe_canaries(run.canaries, run),
        "notes": list(run.notes),
    }


def _describe_item(run: ItemsRun, item: JudgedItem) -> dict[str, Any]:
    """Entry of an item in items.json, named by its id."""
    entry = asdict(item)
    del entry["row"]
    problem = run.judged.asked.problems[item.row]
    return {"id": problem.id, "group": problem.group, ERRATUM: problem.labels.get(ERRATUM), **entry}


def _describe_pair(run: ItemsRun, pair: JudgedPair) -> dict[str, Any]:
    """Entry of a pair in items.json, with its twins' ids."""
    entry = asdict(pair)
    del entry["rows"]
    entry["bands"] = {band: asdict(shares) for band, shares in pair.bands.items()}
    return {"ids": _list_ids(run, pair.rows), **entry}


def _describe_suspect(run: ItemsRun, place: int, suspect: Suspect) -> dict[str, Any]:
    """Entry of a suspect in items.json.

    `place` is its rank in the queue, from 1.
    """
    return {
        "place": place,
        "ids": _list_ids(run, suspect.rows),
        "suspicion": suspect.suspicion,
        "reasons": dict(suspect.reasons),
    }


def _describe_canaries(canaries: CanaryTest, run: ItemsRun) -> dict[str, Any]:
    """Entry of the canaries in items.json.

    Problems are named by their ids, models by their names.
    """
    entry = asdict(canaries)
    for singer in entry["singers"]:
        scorer_index = singer.pop("scorer")
        singer["model"] = run.judged.matrix.scorers[scorer_index].model
    for canary in entry["canaries"]:
        canary["ids"] = _list_ids(run, canary.pop("rows"))
    return entry


def _list_ids(run: ItemsRun, rows: Sequence[int]) -> list[str]:
    """List the ids of problems by their rows.

    Rows count the problems that were asked.
    """
    return [run.judged.asked.problems[row].id for row in rows]
