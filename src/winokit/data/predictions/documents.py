"""A problem as a document of a harness: what our tasks and releases write, and their logs bring back.

It is winokit's own row, which variant it is and of which problem, and the texts that partial scoring asks about; where
nothing follows any blank, or there is none, those of full scoring.
Labels stand there as JSON text: the harness wants one type a column.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from winokit.data.formats import WriteOptions, fields, jsonl
from winokit.errors import Malformed
from winokit.methods.scoring.base import SCORINGS, Abstain, Setting
from winokit.methods.transforms.substitute import solved_texts, substitute
from winokit.models.base import Continuation
from winokit.problem import ORIGINAL, Dataset, Problem, original_id
from winokit.text.language import language_of

SOLVED = "solved"
"""What stands for the variant where the whole text with the right candidate is scored, for its surprisal."""
KEYS = frozenset({"variant", "of"})


def slug(name: str) -> str:
    """A name as files, tasks and Python modules can bear it.

    >>> slug("Wino-2.1")
    'wino_2_1'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def documents(
    problems: Dataset, variant: str = ORIGINAL, *, name: str = "", labels: bool = True
) -> list[dict[str, Any]]:
    """Each problem that has an answer, all with the same fields; what partial scoring cannot score has no contexts.

    Where that is all of them, they have `filled`: the whole text with each candidate, as full scoring asks about it.

    Parameters
    ----------
    name
        What the dataset is called where its log is all that is known of it.
    """
    sizes = Counter(problem.group for problem in problems)
    unfollowed = scoring_of(problems) == "full"
    rows = []
    for problem in problems:
        if problem.answer is not None:
            row = jsonl.render(problem, WriteOptions())
            known = row.pop("labels", None)
            size = sizes[problem.group] if problem.group else 1
            row |= {"variant": variant, "of": original_id(problem), "group_size": size, **_asked(problem)}
            row |= {"dataset": name} if name else {}
            row |= {"labels": json.dumps(known, ensure_ascii=False, sort_keys=True)} if known and labels else {}
            row |= {"filled": [substitute(problem, name).text for name in problem.candidates]} if unfollowed else {}
            rows.append(row)
    fields_of_all = dict.fromkeys(("id", "group", *(key for row in rows for key in row)))
    return [fields_of_all | row for row in rows]


def scoring_of(problems: Dataset) -> str:
    """How the harness scores problems: partial, or full where nothing follows any blank."""
    return "partial" if any(problem.after.strip() for problem in problems) else "full"


def _asked(problem: Problem) -> dict[str, Any]:
    """What partial scoring asks: the text up to the blank with each candidate, and what follows them all."""
    try:
        asked = SCORINGS["partial"].ask(problem, Setting())
    except Abstain:
        return {"contexts": [], "continuation": ""}
    requests = [request for request in asked if isinstance(request, Continuation)]
    return {"contexts": [request.context for request in requests], "continuation": requests[0].text}


def solved_documents(problems: Dataset) -> list[dict[str, Any]]:
    """The solved text of each problem that has one, and how many words it has in its language."""
    split = {problem.id: language_of(problem.language).split for problem in problems}
    return [
        {"id": name, "variant": SOLVED, "of": name, "solved": text, "words": len(split[name](text))}
        for name, text in solved_texts(problems).items()
    ]


@dataclass(frozen=True)
class LoggedDocument:
    """A document that winokit wrote, as a log has it."""

    variant: str
    of: str
    """The id of the problem that the variant was made of."""
    problem: Problem | None
    """None where a solved text was scored."""
    contexts: tuple[str, ...] = ()
    """What the text of each request must have in it: the text up to the blank, or all of it."""
    solved: str = ""
    dataset: str = ""
    """What its dataset is called, where it says so."""


def parse_document(doc: Mapping[str, Any]) -> LoggedDocument | None:
    """What a document says; None where winokit did not write it. A harness has a cell for every column of the file."""
    if not doc.keys() >= KEYS:
        return None
    row = {key: value for key, value in doc.items() if value is not None}
    variant, of = fields.string(row, "variant"), fields.string(row, "of")
    if variant == SOLVED:
        return LoggedDocument(variant, of, None, solved=fields.string(row, "solved"))
    try:
        labels = json.loads(row.get("labels", "{}"))
    except (ValueError, TypeError, RecursionError):
        raise Malformed(f"JSON expected, found {fields.shown(row['labels'])}", field="labels") from None
    contexts = fields.strings({"contexts": row.get("contexts") or row.get("filled", [])}, "contexts")
    problem = jsonl.parse({**row, "labels": labels})
    return LoggedDocument(variant, of, problem, contexts, dataset=fields.optional(row, "dataset") or "")
