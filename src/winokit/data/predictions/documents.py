"""A problem as a document of a harness: what our tasks and releases write, and their logs bring back.

It is winokit's own row, which variant it is and of which problem, and the texts that partial scoring asks about; where
nothing follows any blank, or there is none, those of full scoring.
Its labels are JSON text: the harness wants one type for each column.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
"""The variant of a document whose whole text with the right candidate is scored, for its surprisal."""
KEYS = frozenset({"variant", "of"})


def slug(name: str) -> str:
    """A name that files, tasks and Python modules can have.

    It is in lower case with underscores.

    >>> slug("Wino-2.1")
    'wino_2_1'
    """
    return re.sub(r"[^a-z0-9]+", "_", name.casefold()).strip("_")


def documents(
    problems: Dataset, variant: str = ORIGINAL, *, name: str = "", labels: bool = True
) -> list[dict[str, Any]]:
    """The rows that a harness evaluates.

    There is one for each problem that has an answer. All have the same fields. `contexts` is empty if partial scoring
    cannot score the problem. If no blank is followed by text, full scoring is used and `filled` has the whole text
    with each candidate.

    Parameters
    ----------
    problems
        The problems of one variant of a dataset.
    variant
        The name of that variant, which each row states.
    name
        The name of the dataset, for readers who have only the log. Left out if empty.
    labels
        Whether the problems' labels are written.
    """
    sizes = Counter(problem.group for problem in problems)
    is_unfollowed = scoring_of(problems) == "full"
    rows = []
    for problem in problems:
        if problem.answer is None:
            continue
        row = jsonl.render(problem, WriteOptions())
        problem_labels = row.pop("labels", None)
        row["variant"] = variant
        row["of"] = original_id(problem)
        row["group_size"] = sizes[problem.group] if problem.group else 1
        row |= _render_partial_requests(problem)
        if name:
            row["dataset"] = name
        if problem_labels and labels:
            row["labels"] = json.dumps(problem_labels, ensure_ascii=False, sort_keys=True)
        if is_unfollowed:
            row["filled"] = [substitute(problem, candidate).text for candidate in problem.candidates]
        rows.append(row)
    return _fill_missing_fields(rows)


def _fill_missing_fields(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give all rows the same fields in the same order.

    Fields that a row lacks are None.
    """
    empty: dict[str, Any] = {"id": None, "group": None}
    for row in rows:
        empty |= dict.fromkeys(row)
    return [empty | row for row in rows]


def scoring_of(problems: Dataset) -> str:
    """The name of the scoring that the harness uses for problems.

    It is "partial", or "full" if no blank is followed by text. Partial scoring compares how likely the text after the
    blank is after each candidate. Full scoring compares the whole texts.
    """
    is_followed = any(problem.after.strip() for problem in problems)
    return "partial" if is_followed else "full"


def _render_partial_requests(problem: Problem) -> dict[str, Any]:
    """The fields of a document that partial scoring needs.

    `contexts` has the text up to the blank with each candidate, and `continuation` is the text after it. Both are
    empty if the problem cannot be scored so.
    """
    try:
        requests = SCORINGS["partial"].ask(problem, Setting())
    except Abstain:
        return {"contexts": [], "continuation": ""}
    continuations = [request for request in requests if isinstance(request, Continuation)]
    contexts = [request.context for request in continuations]
    return {"contexts": contexts, "continuation": continuations[0].text}


def solved_documents(problems: Dataset) -> list[dict[str, Any]]:
    """Rows for a harness that scores solved texts.

    There is one for each problem that has a solved text: the text with the right candidate in its blank. `words` is
    the number of its words.
    """
    language_by_id = {problem.id: problem.language for problem in problems}
    rows = []
    for problem_id, text in solved_texts(problems).items():
        words = language_of(language_by_id[problem_id]).split(text)
        rows.append({"id": problem_id, "variant": SOLVED, "of": problem_id, "solved": text, "words": len(words)})
    return rows


@dataclass(frozen=True)
class LoggedDocument:
    """A document that winokit wrote, read from a harness's log."""

    variant: str
    of: str
    """The id of the problem that the variant was made of."""
    problem: Problem | None
    """None where a solved text was scored."""
    contexts: tuple[str, ...] = ()
    """Texts that the requests must have in them, one each: the text up to the blank, or all of it."""
    solved: str = ""
    dataset: str = ""
    """The name of its dataset, if it says so."""


def parse_document(doc: Mapping[str, Any]) -> LoggedDocument | None:
    """Parse a document that winokit wrote.

    None for any other document. Fields that are None are ignored: a harness adds them. Raises Malformed if a field is
    damaged.
    """
    if not doc.keys() >= KEYS:
        return None
    row = {key: value for key, value in doc.items() if value is not None}
    variant = fields.string(row, "variant")
    of = fields.string(row, "of")
    if variant == SOLVED:
        solved = fields.string(row, "solved")
        return LoggedDocument(variant, of, None, solved=solved)
    try:
        labels = json.loads(row.get("labels", "{}"))
    except (ValueError, TypeError, RecursionError):
        raise Malformed(f"expected JSON, found {fields.shown(row['labels'])}", field="labels") from None
    texts = row.get("contexts") or row.get("filled", [])
    contexts = fields.strings({"contexts": texts}, "contexts")
    problem = jsonl.parse({**row, "labels": labels})
    dataset_name = fields.optional(row, "dataset") or ""
    return LoggedDocument(variant, of, problem, contexts, dataset=dataset_name)
