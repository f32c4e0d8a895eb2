"""Which column of a table of predictions says what: as told by `--columns`, or by their names.

docs/audit.md has a table of the roles. Losses, perplexities and the like are better the lower they are: read as choices
or as scores they would turn a good model into a bad one. They have roles of their own, and count negated.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from winokit.data.formats.tables import Table, cell_text, numbered, parse_columns
from winokit.errors import BadInput
from winokit.problem import Dataset

OPTION = "--columns"
LINE = "line"
AS_DATA = "data"
"""Like `line`, said by somebody who knows that rows of right and wrong are in the order of the dataset."""
LEADERBOARD = "leaderboard-v1"
"""The order of the Open LLM Leaderboard v1."""
ORDERS = (LINE, AS_DATA, LEADERBOARD)
"""Orders of rows that no column says."""
ROLES = frozenset(
    "text id order option1 prediction prediction1 scores scores1 losses losses1 candidate answer correct model sample "
    "where layout".split()
)
TEXTS, PROMPTS = ("sentence", "text", "premise"), ("input", "prompt", "question", "context", "query")
MODELS = ("model", "model_name", "model_id", "system")
"""Names of the column that says whose prediction a row is."""
CANDIDATES = ("candidate", "option", "choice", "hypothesis", "alternative", "ending", "sentence2")
"""Names of the column that says which candidate a row is about."""
IDS = ("id", "qid", "idx", "guid", "uid", "example_id", "problem_id", "question_id")
GOLD = ("answer", "gold", "label", "gold_label", "gold_answer", "correct_answer", "correct", "target")
PREDICTED = re.compile(
    r"(?:.*[_ -])?(?:predictions?|preds?|predicted|outputs?|responses?|completions?|generat(?:ed|ion)|repl(?:y|ies))"
    r"|(?:predicted|generated|model|chat_?gpt|gpt\S*|llm|flan\S*|t5\S*)[_ -]?(?:answer|label|choice|option|text|class)"
)
JUDGED = re.compile(
    r"(?:is|was)?_?(?:correct|right|match(?:ed|es)?|hit)(?:ness)?|acc(?:uracy)?|(?:exact|quasi)_match|em"
    r"|\w+_?={1,3}_?\w+|(?:actual_)?(?:result|verdict|outcome|judg(?:e?ment))"
)
"""Names of columns that say whether a prediction is right."""
TRUE, FALSE = (frozenset(words.split()) for words in ("1 true correct right yes", "0 false incorrect wrong no"))
NUMBERED = r"[_ .-]?(?P<n>\d{1,2}|[a-e])"
OPTIONS = re.compile(rf"(?:option|opt|choice|candidate|cand|alternative|hypothesis){NUMBERED}")
SCORE = r"(?:score|logit|log_?prob(?:abilitie|ability)?|log_?likelihood|ll|prob(?:abilitie|ability)?)s?"
SCORES = re.compile(rf"{SCORE}(?:[_ .-]?(?:option|opt|choice|candidate|cand|answer|label|class))?{NUMBERED}")
ALL_SCORES, DIGIT = re.compile(SCORE), re.compile(r"(\d)")
ENDING = re.compile(r"(?P<stem>.*?)[\s_.-]*(?P<number>\d{1,2}|[a-e])", re.IGNORECASE)
"""Names of columns that differ in a number or letter at their end."""
FLOAT = re.compile(r"[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?|\.\d+|inf(?:inity)?|nan)", re.IGNORECASE)

NO_CHOICE = frozenset(
    "reason reasons reasoning explanation explanations explain explained rationale rationales thought thoughts cot "
    "comment comments note notes hypothesis score scores logit logits prob probs probability logprob logprobs ll "
    "loglikelihood confidence conf margin entropy len length lengths count counts index idx pos position start end "
    "size num number time seconds duration tokens seed fold epoch step cost rank span sentence text translation "
    "translated prompt input question context premise passage language lang".split()
)
"""Words in the name of a column that has no choices, whatever its numbers are or its texts name."""
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
    "of a loss, nll or perplexity the lowest is best: say so with the roles losses1=COLUMN,losses2=COLUMN, one column "
    "for each candidate, or losses=COLUMN for all in one cell"
)


BY_RIGHTNESS = (
    "scores of the right and of the wrong candidate do not say which candidate has which: name columns for the first "
    "and the second candidate, or write into a column whether the right one is better, and name that correct=COLUMN"
)
RIGHTNESS = frozenset("correct incorrect right wrong gold distractor target".split())
"""Words in the names of scores that go by what is right."""


@dataclass(frozen=True)
class PredictionColumns:
    """Which columns of a table say what; none where the table does not say it."""

    texts: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    order: str | None = None
    options: tuple[str, ...] = ()
    prediction: str | None = None
    scores: tuple[str, ...] = ()
    are_losses: bool = False
    """Whether the lowest score is best."""
    candidate: str | None = None
    """Names the candidate that a row is about, in tables with a row per candidate."""
    answer: str | None = None
    correct: str | None = None
    """Says whether the prediction is right."""
    model: str | None = None
    sample: str | None = None
    """Numbers several answers to one problem, or LINE if the order of the lines does."""
    copies: int = 1
    """How many times the table has its rows, one under the other: of a column for each sample, so many."""
    base: int | None = None
    """What predictions count from, where that was said."""
    is_given: bool = False
    """Whether somebody named them."""
    rivals: tuple[str, ...] = ()
    """Several columns of which each may be the prediction, by their names."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that name a problem."""
        counted = () if self.order is None or self.order in ORDERS else (self.order,)
        return (*self.texts, *self.ids, *counted)

    def roles(self) -> dict[str, str]:
        """The columns by their roles, as an option names them."""
        kind = "losses" if self.are_losses else "scores"
        several = {"text": self.texts, "id": self.ids, "option": self.options, kind: self.scores}
        roles: dict[str, str] = {}
        for role, names in several.items():
            keys = [role] if len(names) == 1 else [f"{role}{number}" for number in range(1, len(names) + 1)]
            roles |= dict(zip(keys, names, strict=True))
        single = {"order": self.order, "prediction": self.prediction, "answer": self.answer, "correct": self.correct}
        single |= {"candidate": self.candidate, "model": self.model, "sample": self.sample}
        return roles | {role: name for role, name in single.items() if name is not None}

    @property
    def is_judged_only(self) -> bool:
        """Whether they say no more of a choice than whether it is right."""
        return self.correct is not None and self.prediction is None and not self.scores

    @property
    def is_complete(self) -> bool:
        """Whether they say what was chosen, and of which problem."""
        is_chosen = self.prediction is not None or bool(self.scores) or (self.is_given and self.correct is not None)
        is_named = self.order is not None or bool(self.texts or self.ids) or self.candidate is not None
        return is_chosen and not self.rivals and is_named


def are_of_predictions(given: str | Mapping[str, str]) -> bool:
    """Whether columns are those of predictions, and not of problems.

    Rows may be selected (`where`) in both; columns of candidates then say that they are of problems.
    """
    roles = list(re.findall(r"(\w+)\s*=", given) if isinstance(given, str) else given)
    starts = ("prediction", "scores", "losses")
    if any(role in ("correct", "layout") or role.startswith(starts) for role in roles):
        return True
    return "where" in roles and not any(role.startswith(("option", "text1", "good")) for role in roles)


def checked_columns(given: str | Mapping[str, str]) -> dict[str, str]:
    """Columns of predictions by their roles, as a user gives them."""
    columns = parse_columns(given, ROLES, OPTION)
    if not are_of_predictions(columns):
        raise BadInput(
            f"{OPTION}: 'prediction' is missing, or 'scores1' and 'scores2', or 'correct': what the model chose"
        )
    if any(role.startswith("losses") for role in columns) and any(role.startswith("scores") for role in columns):
        raise BadInput(f"{OPTION}: scores and losses: name those that the model chose by")
    return columns


def verdict_of(cell: str) -> bool | None:
    """Whether a cell says right or wrong; None if it says neither.

    >>> [verdict_of(cell) for cell in ("1.0", "False", "incorrect", "2")]
    [True, False, False, None]
    """
    word = cell.strip().casefold().removesuffix(".0")
    if word in TRUE | FALSE:
        return word in TRUE
    return None


def judges(table: Table, column: str) -> bool:
    """Whether every cell of a column says right or wrong, and some of them each."""
    cells = [cell_text(cells.get(column)).strip() for _, cells in table.rows]
    verdicts = {verdict_of(cell) for cell in cells if cell}
    return verdicts == {True, False}


def columns_of(table: Table, given: Mapping[str, str] | None = None) -> PredictionColumns:
    """The columns of a table as they were given, else as their names tell."""
    if given is None:
        return _told_by_names(table)
    column, _, base = given.get("prediction", "").rpartition(":")
    is_told = base in ("0", "1") and given["prediction"] not in table.columns
    wanted = {**given, "prediction": column} if is_told else dict(given)
    order = wanted.pop("order", None)
    sample = wanted.pop("sample", None)
    if order is not None and order not in ORDERS:
        wanted["order"] = order
    if sample is not None and sample != LINE:
        wanted["sample"] = sample
    places = table.places(wanted)
    for role, name in places.items():
        if role.startswith(("scores", "losses")) and is_by_rightness(name):
            raise BadInput(f"{table.path}: column {name!r}: {BY_RIGHTNESS}")
        if (role == "prediction" or role.startswith("scores")) and is_lower_better(name):
            raise BadInput(f"{table.path}: column {name!r}: {TURN_ROUND}")
    texts, ids, options, scores, losses = (
        tuple(places[role] for role in numbered(places, kind)) for kind in ("text", "id", "option", "scores", "losses")
    )
    return PredictionColumns(
        texts,
        ids,
        order if order in ORDERS else places.get("order"),
        options,
        places.get("prediction"),
        scores or losses,
        candidate=places.get("candidate"),
        answer=places.get("answer"),
        correct=places.get("correct"),
        model=places.get("model"),
        sample=LINE if sample == LINE else places.get("sample"),
        base=int(base) if is_told else None,
        are_losses=bool(losses),
        is_given=True,
    )


def _told_by_names(table: Table) -> PredictionColumns:
    folded = {re.sub(r"[\s-]+", "_", name.casefold().strip()): name for name in reversed(table.columns)}
    ids = tuple(folded[name] for name in IDS if name in folded)
    texts = tuple(folded[name] for name in TEXTS if name in folded)
    scores = columns_in_a_row(table, SCORES)
    first = table.rows[0][1] if table.rows else {}
    several = {name for name, cell in first.items() if len(FLOAT.findall(str(cell))) > 1}
    lists = tuple(name for name in table.columns if ALL_SCORES.fullmatch(name.casefold()) and name in several)
    correct = next((folded[name] for name in folded if JUDGED.fullmatch(name) and judges(table, folded[name])), None)
    gold = next((folded[name] for name in GOLD if name in folded and folded[name] != correct), None)
    used = {*ids, *texts, *scores, gold, correct}
    likely = [name for name in table.columns if name not in used and is_predicted(name)]
    chosen = folded.get("prediction")
    rivals = tuple(likely) if chosen is None and len(likely) > 1 else ()
    if chosen is None and len(likely) == 1:
        chosen = likely[0]
    if chosen is None and gold is not None and {*table.columns} == {*ids, gold}:  # as SuperGLUE has it
        chosen, gold = gold, None
    scores = scores or (lists if len(lists) == 1 else ())
    losses = () if scores or chosen is not None else _losses_of(table, several)
    scores = scores or losses or (columns_in_a_row(table, DIGIT) if chosen is None else ())
    prompts = tuple(folded[name] for name in PROMPTS if name in folded and folded[name] != chosen)
    options = columns_in_a_row(table, OPTIONS)
    told = PredictionColumns(
        (*texts, *prompts),
        ids,
        options=options,
        prediction=chosen,
        scores=scores,
        are_losses=bool(losses),
        answer=gold,
        correct=correct,
        model=_model_of(table, folded),
        rivals=rivals,
    )
    return _told_by_candidate(table, told, folded)


def _told_by_candidate(table: Table, told: PredictionColumns, folded: Mapping[str, str]) -> PredictionColumns:
    """The columns of a table with a row per candidate; those told so far if it has none."""
    named = next((folded[name] for name in CANDIDATES if name in folded), None)
    texts = told.texts or tuple(folded[name] for name in ("sentence1",) if name in folded)
    naming = (*told.ids, *texts)
    if named is None or named == told.prediction or told.options or not naming:
        return told
    names = [cell_text(cells.get(naming[-1])) for _, cells in table.rows]
    pairs = {(name, cell_text(cells.get(named))) for name, (_, cells) in zip(names, table.rows, strict=True)}
    if 3 * len(set(names)) > 2 * len(names) or len(pairs) <= len(set(names)):
        return told
    singles = [name for name in table.columns if ALL_SCORES.fullmatch(name.casefold()) or is_lower_better(name)]
    scores = told.scores or (tuple(singles) if len(singles) == 1 else ())
    are_losses = bool(scores) and all(map(is_lower_better, scores))
    return replace(told, texts=texts, candidate=named, scores=scores, are_losses=are_losses)


def _model_of(table: Table, folded: Mapping[str, str]) -> str | None:
    """The column of models, if every row has one."""
    for name in MODELS:
        if name in folded and all(cell_text(cells.get(folded[name])).strip() for _, cells in table.rows):
            return folded[name]
    return None


def _losses_of(table: Table, several: Collection[str]) -> tuple[str, ...]:
    """The columns of losses: one for each candidate, or one with those of all; none if others could be meant."""
    names = [name for name in table.columns if is_lower_better(name)]
    endings = {name: ENDING.fullmatch(name) for name in names}
    stems = {match["stem"].casefold() for match in endings.values() if match}
    if len(names) > 1 and len(stems) == 1 and all(endings.values()):
        return columns_in_a_row(Table(table.path, tuple(names), table.rows), ENDING, "number")
    return tuple(names) if len(names) == 1 and names[0] in several else ()


def is_predicted(column: str) -> bool:
    """Whether a column is one of predictions by its name.

    >>> [is_predicted(name) for name in ("prediction", "GPT-4 answer", "answer", "output_loss")]
    [True, True, False, False]
    """
    return PREDICTED.fullmatch(column.casefold()) is not None and not is_lower_better(column)


def may_choose(column: str) -> bool:
    """Whether a column may have choices by its name: no explanations, scores, losses, lengths or texts.

    >>> [may_choose(name) for name in ("chatgpt", "wahl", "gptReason", "span2_token_len", "sentence_zu", "loss1")]
    [True, True, False, False, False, False]
    """
    words = re.findall(r"[a-z]+", CAMEL_CASE.sub("_", column).casefold())
    return NO_CHOICE.isdisjoint(words) and not is_lower_better(column)


def is_lower_better(column: str) -> bool:
    """Whether a column has scores of which the lowest is best, by its name: loss, nll, ppl, perplexity and the like.

    >>> [is_lower_better(name) for name in ("loss1", "NLL_a", "gpt2 Perplexity option1", "neg_loss", "glossary")]
    [True, True, True, False, False]
    """
    spellings = f"{column}/{CAMEL_CASE.sub('_', column)}"  # "NLLa" and "evalLoss" are both told apart
    letters = re.sub(r"[^a-z/]+", " ", spellings.casefold())
    words = re.findall(r"[a-z]+", SPELLED_OUT.sub("nll", letters))
    return any(map(LOSS.fullmatch, words)) and NO_LOSS.isdisjoint(words)


def is_by_rightness(column: str) -> bool:
    """Whether a column has scores of the right, or of the wrong candidate, by its name.

    >>> [is_by_rightness(name) for name in ("loss_correct", "goldProb", "score1", "label_scores")]
    [True, True, False, False]
    """
    words = re.findall(r"[a-z]+", CAMEL_CASE.sub("_", column).casefold())
    return not RIGHTNESS.isdisjoint(words)


def columns_in_a_row(table: Table, pattern: re.Pattern[str], group: int | str = 1) -> tuple[str, ...]:
    """The columns that are numbered from 0 or 1, or lettered from A, two or more, and nothing between them missing."""
    numbers: dict[int, str] = {}
    for name in table.columns:
        if match := pattern.fullmatch(name.casefold()):
            digit = match[group]
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
    row_count = len(table.rows) // columns.copies
    if columns.order is not None and row_count != len(dataset):
        raise BadInput(
            f"{table.path}: {row_count:,} rows for the {len(dataset):,} problems of "
            f"{dataset.card.name}: rows are matched by order, so the counts must agree"
        )
    is_judged_by_line = columns.order == LINE and columns.is_judged_only
    if columns.order != LEADERBOARD and not is_judged_by_line:
        return
    from winokit.data.predictions.leaderboard import REASON, check_leaderboard_data, has_leaderboard_order

    if columns.order == LEADERBOARD:
        check_leaderboard_data(dataset)
    elif has_leaderboard_order(dataset):
        raise BadInput(
            f"{table.path}: {REASON}; say {OPTION} order={LEADERBOARD},correct={columns.correct} if they do, or "
            f"order={AS_DATA} if they are in the order of {dataset.card.name}"
        )
