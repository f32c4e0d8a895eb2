"""Labels of WSC273 by Trichelair et al. (2018): 131 switchable, 37 associative.

Two JSON arrays in different orders, so that they are joined to WSC by text *and pronoun* (one sentence occurs twice
with different targets), never by index. `correct_answer` is the original answer; the switched sentence has the other
one. One sentence of the switchability file (index 91) is given already switched and is joined through its candidates
and pronoun clause.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format, need_answer, need_two, with_brackets
from winokit.problem import Dataset, Problem

FLAGS = {"is_switchable": "switchable", "is_associative": "associative"}


def parse(row: Mapping[str, Any]) -> Problem:
    """Parse an element of Trichelair et al.'s JSON array.

    Raises Malformed if a field is missing or wrong.
    """
    before, pronoun, after = fields.bracketed(row, "sentence")
    candidates = (fields.string(row, "answer0"), fields.string(row, "answer1"))
    labels: dict[str, Any] = {name: fields.flag(row, key) for key, name in FLAGS.items() if key in row}
    if "sentence_switched" in row:
        labels["switched"] = fields.string(row, "sentence_switched")
    right = fields.string(row, "correct_answer")
    answer = fields.named_answer({"correct_answer": right}, candidates)
    provenance = {"index": row["index"]} if "index" in row else {}
    return Problem(before, after, candidates, answer, pronoun=pronoun, labels=labels, provenance=provenance)


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """Turn a problem into an element of Trichelair et al.'s JSON array.

    It has those labels that the problem has.
    """
    answer0, answer1 = need_two(problem, "trichelair")
    need_answer(problem, "trichelair")
    row: dict[str, Any] = {
        "sentence": with_brackets(problem, "trichelair"),
        "answer0": answer0,
        "answer1": answer1,
        "correct_answer": problem.right,
    }
    for key, name in FLAGS.items():
        if name in problem.labels:
            row[key] = int(fields.flag(problem.labels, name))
    if "switched" in problem.labels:
        row["sentence_switched"] = problem.labels["switched"]
    return row


def annotate(dataset: Dataset, labelled: Iterable[Dataset]) -> Dataset:
    """Copy labels to the problems of a dataset.

    Problems are matched by id, by text and pronoun, or by the last clause. A note says which labels match no problem,
    or several.

    Parameters
    ----------
    labelled
        Datasets whose problems have the labels.
    """
    problems = list(dataset)
    rows_of_key: dict[str, list[int]] = defaultdict(list)
    for row, problem in enumerate(problems):
        for key in {problem.id, _text_key(problem), _clause_key(problem)}:
            rows_of_key[key].append(row)
    notes = []
    for labels in labelled:
        notes += [note for note in labels.notes if note not in dataset.notes]
        unused = []
        for problem in labels:
            rows = _find_rows(problem, rows_of_key)
            if len(rows) == 1:
                row = rows[0]
                problems[row] = problems[row].with_labels(**problem.labels)
            else:
                match_count = f"{len(rows)} problems" if rows else "no problem"
                unused.append(f"{problem.sentence!r} (matches {match_count})")
        if unused:
            subject = f"{len(unused):,} of the {len(labels):,} labels of {labels.card.name} were"
            notes.append(f"{subject} not used, since they match no problem or several; the first: {unused[0]}")
    return dataset.with_problems(problems, notes)


def _find_rows(problem: Problem, rows_of_key: Mapping[str, list[int]]) -> list[int]:
    """Indices of the problems that match a labelled problem.

    The id decides, else the text, else the last clause. `rows_of_key` has the indices by each of these keys.
    """
    for key in (problem.id, _text_key(problem), _clause_key(problem)):
        rows = rows_of_key.get(key)
        if rows:
            return rows
    return []


def _text_key(problem: Problem) -> str:
    """A key of text and pronoun: letters, digits and the pronoun's position."""
    return _keep_letters(f"{problem.before}[{problem.pronoun}]{problem.after}")


def _clause_key(problem: Problem) -> str:
    """A key of pronoun, text after it and candidates.

    It still matches if the first clause was rewritten.
    """
    candidates = "|".join(sorted(problem.candidates))
    return _keep_letters(f"[{problem.pronoun}]{problem.after}|{candidates}")


def _keep_letters(text: str) -> str:
    """The letters, digits, brackets and bars of a text, without case."""
    return re.sub(r"[^\w\[\]|]|_", "", text.casefold())


json_format(
    "trichelair",
    "JSON array: sentence with the [pronoun], answer0, answer1, correct_answer, is_switchable / is_associative",
    {"sentence", "answer0", "answer1", "correct_answer"},
    render,
    array=True,
)(parse)
