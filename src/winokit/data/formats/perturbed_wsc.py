"""Perturbed WSC (Abdou et al., 2020): WSC285 and seven rewritings, as JSON lines.

The texts are in lower case and in tokens.

WinoGrande's fields plus pair_number and two flags. A qID is "q", one digit for the rewriting and the index in WSC285:
it links each perturbed problem to its original. If text_original.jsonl is beside the file, the link is the original's
public id, else its index.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format, need_one_blank, need_two
from winokit.data.formats.source import Source, read_bytes
from winokit.errors import CannotWrite, Malformed
from winokit.problem import Problem

PERTURBATIONS = ("original", "voice", "tense", "number", "gender", "relative-clause", "synonym", "adverb")
ORIGINAL = "text_original.jsonl"
FLAGS = ("associative", "switchable")
QID = re.compile(rf"q([0-{len(PERTURBATIONS) - 1}])(\d+)")


def parse(row: Mapping[str, Any]) -> Problem:
    """Parse a row of the perturbed WSC into a problem.

    The original of the problem is given by its index, in a label. Raises Malformed if a field is missing or wrong.
    """
    before, after = fields.blanked(row, "sentence")
    number = QID.fullmatch(fields.string(row, "qID"))
    if not number:
        raise Malformed(f"expected 'q', a digit and an index, found {row['qID']!r}", field="qID")
    perturbation = PERTURBATIONS[int(number.group(1))]
    index = int(number.group(2))
    labels: dict[str, Any] = {"perturbation": perturbation, "original_index": index}
    labels |= {key: fields.flag(row, key) for key in FLAGS if row.get(key) is not None}
    return Problem(
        before,
        after,
        (fields.string(row, "option1"), fields.string(row, "option2")),
        fields.numbered_answer(row, "answer", 2),
        group=f"pair-{fields.integer(row, 'pair_number')}",
        labels=labels,
    )


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into a row of the perturbed WSC.

    Raises CannotWrite if the labels of the perturbation are missing, or the group is not called "pair-" and a number.
    """
    option1, option2 = need_two(problem, "perturbed-wsc")
    need_one_blank(problem, "perturbed-wsc")
    perturbation = problem.labels.get("perturbation")
    index = problem.labels.get("original_index")
    if perturbation not in PERTURBATIONS or not isinstance(index, int):
        raise CannotWrite("perturbed-wsc needs the labels 'perturbation' and 'original_index'")
    group = problem.group or f"pair-{problem.labels.get('pair_number', '')}"
    pair = re.fullmatch(r"pair-(\d+)", group)
    if not pair:
        raise CannotWrite("perturbed-wsc needs a group named 'pair-<number>'")
    row: dict[str, Any] = {"sentence": problem.text, "option1": option1, "option2": option2}
    if problem.answer is not None:
        row["answer"] = str(problem.answer + 1)
    row["pair_number"] = int(pair.group(1))
    row["qID"] = f"q{PERTURBATIONS.index(perturbation)}{index}"
    row |= {key: int(fields.flag(problem.labels, key)) for key in FLAGS if key in problem.labels}
    return row


def _link_originals(source: Source, problems: Iterable[Problem]) -> Iterable[Problem]:
    """Label problems with their pair's number and their original's public id.

    Yields all problems.
    """
    id_of_index = _read_original_ids(source)
    for problem in problems:
        number = int(str(problem.group).removeprefix("pair-"))
        labels: dict[str, Any] = {"pair_number": number}
        original_id = id_of_index.get(problem.labels["original_index"])
        if original_id:
            labels["original"] = original_id
        yield problem.with_labels(**labels)


def _read_original_ids(source: Source) -> dict[int, str]:
    """Read the public ids of the original problems, by index.

    Empty if the file of the originals is not beside the one that is read.
    """
    path = source.path.with_name(ORIGINAL)
    if not path.exists():
        source.note(f"{ORIGINAL} is not beside it: problems are linked to their originals by index only")
        return {}
    id_of_index = {}
    text = read_bytes(path).decode("utf-8", "replace")
    for line in text.split("\n"):
        try:
            problem = parse(json.loads(line))
        except (ValueError, AttributeError, RecursionError):
            continue  # a broken original only costs its link; reading that file itself says what is wrong
        id_of_index[problem.labels["original_index"]] = problem.id
    return id_of_index


json_format(
    "perturbed-wsc",
    "JSON lines: WinoGrande's fields, pair_number, a qID that links to the original, flags",
    {"sentence", "option1", "option2", "pair_number", "qID"},
    render,
    finish=_link_originals,
)(parse)
