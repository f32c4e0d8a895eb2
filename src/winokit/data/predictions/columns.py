"""Which column of a table of predictions says what: as told by `--columns`, or by their names.

docs/audit.md has a table of the roles. Losses, perplexities and the like are better the lower they are; read as
choices or as scores they would turn a good model into a bad one, so columns of such names are refused.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from winokit.data.formats.tables import Table, numbered, parse_columns
from winokit.errors import BadInput
from winokit.problem import Dataset

OPTION = "--columns"
LINE = "line"
ROLES = frozenset("text id order option1 prediction scores scores1 answer model".split())
TEXTS, PROMPTS = ("sentence", "text", "premise"), ("input", "prompt", "question", "context", "query")
IDS = ("id", "qid", "idx", "guid", "uid", "example_id", "problem_id", "question_id")
GOLD = ("answer", "gold", "label", "gold_label", "gold_answer", "correct_answer", "correct", "target")
PREDICTED = re.compile(
    r"(?:.*[_ -])?(?:predictions?|preds?|predicted|outputs?|responses?|completions?|generat(?:ed|ion)|repl(?:y|ies))"
    r"|(?:predicted|generated|model|chat_?gpt|gpt\S*|llm|flan\S*|t5\S*)[_ -]?(?:answer|label|choice|option|text|class)"
)
NUMBERED = r"[_ .-]?(?P<n>\d{1,2}|[a-e])"
OPTIONS = re.compile(rf"(?:option|opt|choice|candidate|cand|alternative|hypothesis){NUMBERED}")
SCORE = r"(?:score|logit|log_?prob(?:abilitie|ability)?|log_?likelihood|ll|prob(?:abilitie|ability)?)s?"
SCORES = re.compile(rf"{SCORE}(?:[_ .-]?(?:option|opt|choice|candidate|cand|answer|label|class))?{NUMBERED}")
ALL_SCORES, DIGIT = re.compile(SCORE), re.compile(r"(\d)")
FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf(?:inity)?|nan)", re.IGNORECASE)

CAMEL_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
SPELLED_OUT = re.compile(
    r"\bneg(?:ative)? ?log ?(?:likelihoods?|lik|probs?|probabilit(?:y|ies))\b|\bcross ?entrop(?:y|ies)\b"
)
LOSS = re.compile(
    r"(?:loss(?:es)?|nlls?|ppls?|perplexit(?:y|ies)|surprisals?)"
    r"(?:[a-e]|option|opt|choice|candidate|cand|answer|label|class)?"
)
NO_LOSS = frozenset(
    "neg minus negative negated inverse inverted inv reciprocal by lowest least best min argmin chosen picked "
    "prediction predictions pred preds predicted".split()
)
"""Words beside which a loss is turned round, or is what somebody chose by."""
TURN_ROUND = (
    "lower-is-better scores (loss, nll, perplexity) are not read yet: write their negatives into columns score1 and "
    "score2, where higher is better, or what was chosen into a column prediction"
)


@dataclass(frozen=True)
class PredictionColumns:
    """Which columns of a table say what; none where the table does not say it."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    order: str | None = None
    options: tuple[str, ...] = ()
    prediction: str | None = None
    scores: tuple[str, ...] = ()
    answer: str | None = None
    model: str | None = None
    base: int | None = None
    """What predictions count from, where that was said."""
    is_given: bool = False
    """Whether somebody named them."""
    rivals: tuple[str, ...] = ()
    """Several columns of which each may be the prediction, by their names."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a problem."""
        return (*self.texts, *self.ids, *((self.order,) if self.order not in (None, LINE) else ()))

    @property
    def is_complete(self) -> bool:
        """Whether they say what was chosen, and of which problem."""
        is_chosen = self.prediction is not None or bool(self.scores)
        return is_chosen and not self.rivals and (self.order is not None or bool(self.texts or self.ids))


def are_of_predictions(given: str | Mapping[str, str]) -> bool:
    """Whether columns are those of predictions, and not of problems."""
    roles = re.findall(r"(\w+)\s*=", given) if isinstance(given, str) else given
    return any(role == "prediction" or role.startswith("scores") for role in roles)


def checked_columns(given: str | Mapping[str, str]) -> dict[str, str]:
    """Columns of predictions by their roles, as a user gives them."""
    columns = parse_columns(given, ROLES, OPTION)
    if not are_of_predictions(columns):
        raise BadInput(f"{OPTION}: 'prediction' is missing, or 'scores1' and 'scores2': what the model chose")
    return columns


def columns_of(table: Table, given: Mapping[str, str] | None = None) -> PredictionColumns:
    """The columns of a table as they were given, else as their names tell."""
    if given is None:
        return _told_by_names(table)
    column, _, base = given.get("prediction", "").rpartition(":")
    is_told = base in ("0", "1") and given["prediction"] not in table.columns
    wanted = {**given, "prediction": column} if is_told else dict(given)
    order = wanted.pop("order", None)
    places = table.places({**wanted, "order": order} if order not in (None, LINE) else wanted)
    for role, name in places.items():
        if (role == "prediction" or role.startswith("scores")) and is_lower_better(name):
            raise BadInput(f"{table.path}: column {name!r}: {TURN_ROUND}")
    texts, ids, options, scores = (
        tuple(places[role] for role in numbered(places, kind)) for kind in ("text", "id", "option", "scores")
    )
    return PredictionColumns(
        texts,
        ids,
        order if order == LINE else places.get("order"),
        options,
        places.get("prediction"),
        scores,
        places.get("answer"),
        places.get("model"),
        int(base) if is_told else None,
        is_given=True,
    )


def _told_by_names(table: Table) -> PredictionColumns:
    folded = {re.sub(r"[\s-]+", "_", name.casefold().strip()): name for name in reversed(table.columns)}
    ids = tuple(folded[name] for name in IDS if name in folded)
    texts = tuple(folded[name] for name in TEXTS if name in folded)
    scores = _in_a_row(table, SCORES)
    first = table.rows[0][1] if table.rows else {}
    several = {name for name, cell in first.items() if len(FLOAT.findall(str(cell))) > 1}
    lists = tuple(name for name in table.columns if ALL_SCORES.fullmatch(name.casefold()) and name in several)
    gold = next((folded[name] for name in GOLD if name in folded), None)
    used = {*ids, *texts, *scores, gold}
    likely = [name for name in table.columns if name not in used and is_predicted(name)]
    chosen = folded.get("prediction")
    rivals = tuple(likely) if chosen is None and len(likely) > 1 else ()
    if chosen is None and len(likely) == 1:
        chosen = likely[0]
    if chosen is None and gold is not None and {*table.columns} == {*ids, gold}:  # as SuperGLUE has it
        chosen, gold = gold, None
    scores = scores or (lists if len(lists) == 1 else ()) or (_in_a_row(table, DIGIT) if chosen is None else ())
    prompts = tuple(folded[name] for name in PROMPTS if name in folded and folded[name] != chosen)
    options = _in_a_row(table, OPTIONS)
    return PredictionColumns((*texts, *prompts), ids, None, options, chosen, scores, gold, rivals=rivals)


def is_predicted(column: str) -> bool:
    """Whether a column is one of predictions by its name.

    >>> [is_predicted(name) for name in ("prediction", "GPT-4 answer", "answer", "output_loss")]
    [True, True, False, False]
    """
    return PREDICTED.fullmatch(column.casefold()) is not None and not is_lower_better(column)


def is_lower_better(column: str) -> bool:
    """Whether a column has scores of which the lowest is best, by its name: loss, nll, ppl, perplexity and the like.

    >>> [is_lower_better(name) for name in ("loss1", "NLL_a", "gpt2 Perplexity option1", "neg_loss", "glossary")]
    [True, True, True, False, False]
    """
    spellings = f"{column}/{CAMEL_CASE.sub('_', column)}"  # "NLLa" and "evalLoss" are both told apart
    letters = re.sub(r"[^a-z/]+", " ", spellings.casefold())
    words = re.findall(r"[a-z]+", SPELLED_OUT.sub("nll", letters))
    return any(map(LOSS.fullmatch, words)) and NO_LOSS.isdisjoint(words)


def _in_a_row(table: Table, pattern: re.Pattern[str]) -> tuple[str, ...]:
    """The columns that are numbered from 0 or 1, or lettered from A, two or more, and nothing between them missing."""
    numbers: dict[int, str] = {}
    for name in table.columns:
        if match := pattern.fullmatch(name.casefold()):
            digit = next(filter(None, match.groups()))
            numbers.setdefault(int(digit) if digit.isdigit() else ord(digit) - ord("a"), name)
    start = min(numbers, default=0)
    whole = len(numbers) > 1 and start < 2 and sorted(numbers) == [*range(start, start + len(numbers))]
    return tuple(name for _, name in sorted(numbers.items())) if whole else ()


def listed_columns(table: Table) -> str:
    """The columns of a table for a message, twenty at most."""
    more = ["…"] if len(table.columns) > 20 else []
    return ", ".join([*table.columns[:20], *more]) or "none"


def check_order(table: Table, columns: PredictionColumns, dataset: Dataset) -> None:
    """Refuse rows that are matched by order, and are not as many as the problems."""
    if columns.order is not None and len(table.rows) != len(dataset):
        raise BadInput(
            f"{table.path}: {len(table.rows):,} rows for the {len(dataset):,} problems of "
            f"{dataset.card.name}: rows are matched by order, so the counts must agree"
        )
