"""Trichelair et al. (2018)'s labels of WSC273: which problems are switchable (131), which associative (37).

Two JSON arrays in different orders, so that they are joined to WSC by text *and pronoun* (one sentence occurs twice
with different targets), never by index. `correct_answer` is the original answer; the switched sentence has the other
one. One sentence of the switchability file (index 91) is given already switched and is joined through its candidates
and pronoun clause.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from winokit.data.formats import fields
from winokit.data.formats.base import WriteOptions, json_format, need_answer, need_two, with_brackets
from winokit.problem import Dataset, Problem, grouped

FLAGS = {"is_switchable": "switchable", "is_associative": "associative"}


def parse(row: Mapping[str, Any]) -> Problem:
    """A problem with the labels its row has."""
    before, pronoun, after = fields.bracketed(row, "sentence")
    candidates = (fields.string(row, "answer0"), fields.string(row, "answer1"))
    labels: dict[str, Any] = {name: fields.flag(row, key) for key, name in FLAGS.items() if key in row}
    if "sentence_switched" in row:
        labels["switched"] = fields.string(row, "sentence_switched")
    return Problem(
        before,
        after,
        candidates,
        fields.named_answer({"correct_answer": fields.string(row, "correct_answer")}, candidates),
        pronoun=pronoun,
        labels=labels,
        provenance={"index": row["index"]} if "index" in row else {},
    )


def render(problem: Problem, options: WriteOptions) -> dict[str, Any]:
    """A row with whichever labels the problem has."""
    answer0, answer1 = need_two(problem, "trichelair")
    need_answer(problem, "trichelair")
    row: dict[str, Any] = {
        "sentence": with_brackets(problem, "trichelair"),
        "answer0": answer0,
        "answer1": answer1,
        "correct_answer": problem.right,
    }
    row |= {key: int(fields.flag(problem.labels, name)) for key, name in FLAGS.items() if name in problem.labels}
    return row | ({"sentence_switched": problem.labels["switched"]} if "switched" in problem.labels else {})


def annotate(dataset: Dataset, labelled: Iterable[Dataset]) -> Dataset:
    """The dataset with labels joined to it, by id or by text and pronoun; what does not match is noted."""
    problems = list(dataset)
    place = grouped((key, at) for at, p in enumerate(problems) for key in {p.id, _key(p), _clause_key(p)})
    notes = []
    for labels in labelled:
        notes += [note for note in labels.notes if note not in dataset.notes]
        unused = []
        for problem in labels:
            places = place.get(problem.id) or place.get(_key(problem)) or place.get(_clause_key(problem), [])
            if len(places) == 1:
                problems[places[0]] = problems[places[0]].with_labels(**problem.labels)
            else:
                how = "no problem" if not places else f"{len(places)} problems"
                unused.append(f"{problem.sentence!r} (matches {how})")
        if unused:
            of = f"{len(unused):,} of the {len(labels):,} labels of {labels.card.name} were"
            notes.append(f"{of} not used, since they match no problem or several; the first: {unused[0]}")
    return dataset.with_problems(problems, notes)


def _key(problem: Problem) -> str:
    """Text and pronoun with everything but letters and digits dropped, and the pronoun's place kept."""
    return _letters(f"{problem.before}[{problem.pronoun}]{problem.after}")


def _clause_key(problem: Problem) -> str:
    """Pronoun, what follows it, and the candidates: enough where the first clause was rewritten."""
    return _letters(f"[{problem.pronoun}]{problem.after}|{'|'.join(sorted(problem.candidates))}")


def _letters(text: str) -> str:
    return re.sub(r"[^\w\[\]|]|_", "", text.casefold())


json_format(
    "trichelair",
    "JSON array: sentence with the [pronoun], answer0, answer1, correct_answer, is_switchable / is_associative",
    {"sentence", "answer0", "answer1", "correct_answer"},
    render,
    array=True,
)(parse)
