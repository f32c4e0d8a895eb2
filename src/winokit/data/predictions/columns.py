"""The role of each column in a table of predictions.

Roles come from `--columns`, or else from the names of the columns.

docs/audit.md has a table of the roles. Losses, perplexities and the like are better the lower they are: read as choices
or as scores they would turn a good model into a bad one. They have roles of their own, and count negated.
"""

import re
from collections.abc import Collection, Iterable, Mapping
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
TEXTS = ("sentence", "text", "premise")
"""Names of columns with the text of a problem."""
PROMPTS = ("input", "prompt", "question", "context", "query")
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
ALL_SCORES = re.compile(SCORE)
DIGIT = re.compile(r"(\d)")
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
"""Words beside which a loss is negated, or chose already."""
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
    """The columns of a table of predictions, by their roles.

    A role is what a column is for, such as `prediction`, `answer` or `model`. One that no column has is None or
    empty.
    """

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
    """How many times the table has its rows, one under the other: once for each column of samples."""
    base: int | None = None
    """The number from which predictions count, if it was given."""
    is_given: bool = False
    """Whether somebody named them."""
    rivals: tuple[str, ...] = ()
    """Several columns of which each may be the prediction, by their names."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that say which problem a row is about.

        An order that is no column, such as `line`, is not among them.
        """
        if self.order is None or self.order in ORDERS:
            return (*self.texts, *self.ids)
        return (*self.texts, *self.ids, self.order)

    def roles(self) -> dict[str, str]:
        """Column names by role, in the form that `--prediction-columns` takes.

        The number from which predictions count is not among them.
        """
        kind = "losses" if self.are_losses else "scores"
        several = {"text": self.texts, "id": self.ids, "option": self.options, kind: self.scores}
        roles: dict[str, str] = {}
        for role, names in several.items():
            if len(names) == 1:
                roles[role] = names[0]
            else:
                roles |= {f"{role}{number}": name for number, name in enumerate(names, 1)}
        single = {
            "order": self.order,
            "prediction": self.prediction,
            "answer": self.answer,
            "correct": self.correct,
            "candidate": self.candidate,
            "model": self.model,
            "sample": self.sample,
        }
        for role, column in single.items():
            if column is not None:
                roles[role] = column
        return roles

    @property
    def is_judged_only(self) -> bool:
        """Whether the table says only if a choice is right.

        The choice itself is then not in it.
        """
        return self.correct is not None and self.prediction is None and not self.scores

    @property
    def is_complete(self) -> bool:
        """Whether the columns say what was chosen, and for which problem.

        Right or wrong alone says what was chosen only if the user named its column. Columns with rivals are not
        complete.
        """
        is_judged = self.is_given and self.correct is not None
        is_chosen = self.prediction is not None or bool(self.scores) or is_judged
        has_name = bool(self.texts or self.ids)
        is_named = has_name or self.order is not None or self.candidate is not None
        return is_chosen and is_named and not self.rivals


def are_of_predictions(user_columns: str | Mapping[str, str]) -> bool:
    """Whether columns that a user names describe predictions, and not problems.

    They do if a role is `correct` or `layout`, or begins with `prediction`, `scores` or `losses`. Both may have
    `where`, which selects rows. It is taken for predictions unless columns of candidates are named too.

    Parameters
    ----------
    user_columns
        The user's roles, as a mapping or as "role=column,…".
    """
    roles = re.findall(r"(\w+)\s*=", user_columns) if isinstance(user_columns, str) else list(user_columns)
    starts = ("prediction", "scores", "losses")
    for role in roles:
        if role in ("correct", "layout") or role.startswith(starts):
            return True
    has_candidates = any(role.startswith(("option", "text1", "good")) for role in roles)
    return "where" in roles and not has_candidates


def checked_columns(user_columns: str | Mapping[str, str]) -> dict[str, str]:
    """Check the columns of predictions that a user named.

    Returns them by role. Raises BadInput if no role says what the model chose, or if there are both scores and
    losses.
    """
    columns = parse_columns(user_columns, ROLES, OPTION)
    if not are_of_predictions(columns):
        raise BadInput(
            f"{OPTION}: 'prediction' is missing, or 'scores1' and 'scores2', or 'correct': what the model chose"
        )
    has_losses = any(role.startswith("losses") for role in columns)
    has_scores = any(role.startswith("scores") for role in columns)
    if has_losses and has_scores:
        raise BadInput(f"{OPTION}: scores and losses: name those that the model chose by")
    return columns


def verdict_of(cell: str) -> bool | None:
    """Whether a cell says right or wrong.

    None if it says neither.

    >>> [verdict_of(cell) for cell in ("1.0", "False", "incorrect", "2")]
    [True, False, False, None]
    """
    word = cell.strip().casefold().removesuffix(".0")
    if word in TRUE | FALSE:
        return word in TRUE
    return None


def has_verdicts(table: Table, column: str) -> bool:
    """Whether a column's cells all say right or wrong.

    Both must occur. Empty cells do not count.
    """
    texts = [cell_text(cells.get(column)).strip() for _, cells in table.rows]
    verdicts = {verdict_of(text) for text in texts if text}
    return verdicts == {True, False}


def columns_of(table: Table, user_columns: Mapping[str, str] | None = None) -> PredictionColumns:
    """The roles of a table's columns, as given or guessed.

    They are guessed from names and cells if the user gave none. Raises BadInput if a column that was given is not in
    the table. A prediction given as "COLUMN:0" or "COLUMN:1" says from which number its cells count.
    """
    if user_columns is None:
        return _infer_columns(table)
    roles = dict(user_columns)
    column, _, base = user_columns.get("prediction", "").rpartition(":")
    has_base = base in ("0", "1") and user_columns["prediction"] not in table.columns
    if has_base:
        roles["prediction"] = column
    order = roles.pop("order", None)
    sample = roles.pop("sample", None)
    if order is not None and order not in ORDERS:
        roles["order"] = order
    if sample is not None and sample != LINE:
        roles["sample"] = sample
    column_of_role = table.find_columns(roles)
    _check_scores(table, column_of_role)
    losses = _get_numbered(column_of_role, "losses")
    return PredictionColumns(
        texts=_get_numbered(column_of_role, "text"),
        ids=_get_numbered(column_of_role, "id"),
        order=order if order in ORDERS else column_of_role.get("order"),
        options=_get_numbered(column_of_role, "option"),
        prediction=column_of_role.get("prediction"),
        scores=_get_numbered(column_of_role, "scores") or losses,
        candidate=column_of_role.get("candidate"),
        answer=column_of_role.get("answer"),
        correct=column_of_role.get("correct"),
        model=column_of_role.get("model"),
        sample=LINE if sample == LINE else column_of_role.get("sample"),
        base=int(base) if has_base else None,
        are_losses=bool(losses),
        is_given=True,
    )


def _get_numbered(column_of_role: Mapping[str, str], kind: str) -> tuple[str, ...]:
    """Columns of one kind of role, in order of their numbers.

    `column_of_role` has the columns by role, and `kind` is a role without its number, such as "option".
    """
    return tuple(column_of_role[role] for role in numbered(column_of_role, kind))


def _check_scores(table: Table, column_of_role: Mapping[str, str]) -> None:
    """Raise BadInput for columns that cannot be scores or predictions.

    They are judged by their names. Scores of the right and of the wrong candidate cannot be scores. Losses can be
    neither scores nor predictions.

    Parameters
    ----------
    column_of_role
        Columns by their roles.
    """
    for role, name in column_of_role.items():
        if role.startswith(("scores", "losses")) and is_by_rightness(name):
            raise BadInput(f"{table.path}: column {name!r}: {BY_RIGHTNESS}")
        is_higher_better = role == "prediction" or role.startswith("scores")
        if is_higher_better and is_lower_better(name):
            raise BadInput(f"{table.path}: column {name!r}: {TURN_ROUND}")


def _infer_columns(table: Table) -> PredictionColumns:
    """Guess the roles of a table's columns from their names and cells.

    If several columns may be the prediction, they are the `rivals`, and none is chosen.
    """
    folded = _index_names(table)
    ids = _find_names(folded, IDS)
    texts = _find_names(folded, TEXTS)
    scores = columns_in_a_row(table, SCORES)
    correct = _find_verdict_column(table, folded)
    gold = next((name for name in _find_names(folded, GOLD) if name != correct), None)
    likely = _find_likely_predictions(table, {*ids, *texts, *scores, gold, correct})
    chosen = folded.get("prediction")
    rivals: tuple[str, ...] = ()
    if chosen is None and len(likely) == 1:
        chosen = likely[0]
    elif chosen is None:
        rivals = likely
    has_only_labels = gold is not None and {*table.columns} == {*ids, gold}
    if chosen is None and has_only_labels:  # as SuperGLUE has it
        chosen = gold
        gold = None
    losses: tuple[str, ...] = ()
    if not scores:
        scores, losses = _find_score_columns(table, has_choice=chosen is not None)
    prompts = tuple(name for name in _find_names(folded, PROMPTS) if name != chosen)
    columns = PredictionColumns(
        (*texts, *prompts),
        ids,
        options=columns_in_a_row(table, OPTIONS),
        prediction=chosen,
        scores=scores or losses,
        are_losses=bool(losses),
        answer=gold,
        correct=correct,
        model=_find_model_column(table, folded),
        rivals=rivals,
    )
    return _infer_candidate_column(table, columns, folded)


def _find_likely_predictions(table: Table, used: Collection[str | None]) -> tuple[str, ...]:
    """Columns that may be predictions by their names.

    `used` has the columns that have another role, which are left out.
    """
    return tuple(name for name in table.columns if name not in used and is_predicted(name))


def _index_names(table: Table) -> dict[str, str]:
    """Column names by their normalised form.

    It is in lower case, with underscores for spaces and hyphens. If two columns have the same form, the first counts.
    """
    folded: dict[str, str] = {}
    for name in reversed(table.columns):
        small = name.casefold().strip()
        folded[re.sub(r"[\s-]+", "_", small)] = name
    return folded


def _find_names(folded: Mapping[str, str], names: Iterable[str]) -> tuple[str, ...]:
    """Columns whose normalised name is in a list, in its order.

    Parameters
    ----------
    folded
        Column names by their normalised form, from `_index_names`.
    """
    return tuple(folded[name] for name in names if name in folded)


def _find_verdict_column(table: Table, folded: Mapping[str, str]) -> str | None:
    """The column that says whether predictions are right, or None.

    Its name and its cells must fit.
    """
    for small, name in folded.items():
        if JUDGED.fullmatch(small) and has_verdicts(table, name):
            return name
    return None


def _find_score_columns(table: Table, has_choice: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of scores and columns of losses.

    At least one of the two is empty. It is used if no columns are called scores and numbered.

    Parameters
    ----------
    has_choice
        Whether another column has the choices. Then only a single column of lists of scores is looked for.
    """
    first_row = table.rows[0][1] if table.rows else {}
    several = {name for name, cell in first_row.items() if len(FLOAT.findall(str(cell))) > 1}
    names = [name for name in table.columns if name in several]
    lists = [name for name in names if ALL_SCORES.fullmatch(name.casefold())]
    if len(lists) == 1:
        return tuple(lists), ()
    if has_choice:
        return (), ()
    losses = _find_loss_columns(table, several)
    if losses:
        return (), losses
    return columns_in_a_row(table, DIGIT), ()


def _infer_candidate_column(table: Table, columns: PredictionColumns, folded: Mapping[str, str]) -> PredictionColumns:
    """Add the roles of a table with a row per candidate.

    Columns of any other table are returned as they are.
    """
    candidate = next(iter(_find_names(folded, CANDIDATES)), None)
    if candidate is None or candidate == columns.prediction or columns.options:
        return columns
    texts = columns.texts or _find_names(folded, ("sentence1",))
    naming = (*columns.ids, *texts)
    if not naming or not _has_row_per_candidate(table, naming[-1], candidate):
        return columns
    scores = columns.scores
    singles = [name for name in table.columns if ALL_SCORES.fullmatch(name.casefold()) or is_lower_better(name)]
    if not scores and len(singles) == 1:
        scores = tuple(singles)
    are_losses = bool(scores) and all(map(is_lower_better, scores))
    return replace(columns, texts=texts, candidate=candidate, scores=scores, are_losses=are_losses)


def _has_row_per_candidate(table: Table, name: str, candidate: str) -> bool:
    """Whether most problems have several rows, about different candidates.

    On average there must be at least three rows for two problems.

    Parameters
    ----------
    name
        The column that names the problem of a row.
    candidate
        The column that names the candidate of a row.
    """
    problems = [cell_text(cells.get(name)) for _, cells in table.rows]
    candidates = [cell_text(cells.get(candidate)) for _, cells in table.rows]
    pairs = set(zip(problems, candidates, strict=True))
    problem_count = len(set(problems))
    return 3 * problem_count <= 2 * len(problems) and len(pairs) > problem_count


def _find_model_column(table: Table, folded: Mapping[str, str]) -> str | None:
    """The column with the name of the model, or None.

    Every row must have a name in it.
    """
    for column in _find_names(folded, MODELS):
        if all(cell_text(cells.get(column)).strip() for _, cells in table.rows):
            return column
    return None


def _find_loss_columns(table: Table, several: Collection[str]) -> tuple[str, ...]:
    """The columns of losses in a table.

    There is one for each candidate, or one with all of them. Empty if it is not clear which columns they are.

    Parameters
    ----------
    several
        The columns with several numbers in a cell.
    """
    names = [name for name in table.columns if is_lower_better(name)]
    if len(names) == 1:
        return tuple(names) if names[0] in several else ()
    endings = [ENDING.fullmatch(name) for name in names]
    stems = {match["stem"].casefold() for match in endings if match}
    if len(stems) == 1 and all(endings):
        losses = Table(table.path, tuple(names), table.rows)
        return columns_in_a_row(losses, ENDING, "number")
    return ()


def is_predicted(column: str) -> bool:
    """Whether a column is called like a column of predictions.

    >>> [is_predicted(name) for name in ("prediction", "GPT-4 answer", "answer", "output_loss")]
    [True, True, False, False]
    """
    return PREDICTED.fullmatch(column.casefold()) is not None and not is_lower_better(column)


def may_choose(column: str) -> bool:
    """Whether a column may have choices, by its name.

    Explanations, scores, losses, lengths and texts are no choices.

    >>> [may_choose(name) for name in ("chatgpt", "wahl", "gptReason", "span2_token_len", "sentence_zu", "loss1")]
    [True, True, False, False, False, False]
    """
    words = _split_words(column)
    return NO_CHOICE.isdisjoint(words) and not is_lower_better(column)


def _split_words(column: str) -> list[str]:
    """The words in a column's name, in lower case."""
    spaced = CAMEL_CASE.sub("_", column)
    return re.findall(r"[a-z]+", spaced.casefold())


def is_lower_better(column: str) -> bool:
    """Whether a column has losses, by its name.

    In losses the lowest value is best. They are called loss, nll, ppl, perplexity and the like.

    >>> [is_lower_better(name) for name in ("loss1", "NLL_a", "gpt2 Perplexity option1", "neg_loss", "glossary")]
    [True, True, True, False, False]
    """
    spellings = f"{column}/{CAMEL_CASE.sub('_', column)}"  # finds the words of both "NLLa" and "evalLoss"
    letters = re.sub(r"[^a-z/]+", " ", spellings.casefold())
    words = re.findall(r"[a-z]+", SPELLED_OUT.sub("nll", letters))
    return any(map(LOSS.fullmatch, words)) and NO_LOSS.isdisjoint(words)


def is_by_rightness(column: str) -> bool:
    """Whether a column is named after the right or wrong candidate.

    It then has scores of that candidate.

    >>> [is_by_rightness(name) for name in ("loss_correct", "goldProb", "score1", "label_scores")]
    [True, True, False, False]
    """
    words = _split_words(column)
    return not RIGHTNESS.isdisjoint(words)


def columns_in_a_row(table: Table, pattern: re.Pattern[str], group: int | str = 1) -> tuple[str, ...]:
    """Columns with consecutive numbers or letters in their names, in that order.

    They begin at 0, 1 or A. Empty if there are fewer than two, or one in between is missing.

    Parameters
    ----------
    pattern
        What a column's name must match.
    group
        The group of the pattern that has the number or letter.
    """
    name_by_number: dict[int, str] = {}
    for name in table.columns:
        match = pattern.fullmatch(name.casefold())
        if match is not None:
            ending = match[group]
            number = int(ending) if ending.isdigit() else ord(ending) - ord("a")
            name_by_number.setdefault(number, name)
    numbers = sorted(name_by_number)
    if len(numbers) < 2 or numbers[0] > 1:
        return ()
    expected = range(numbers[0], numbers[0] + len(numbers))
    if numbers != list(expected):
        return ()
    return tuple(name_by_number[number] for number in numbers)


def listed_columns(table: Table) -> str:
    """Names of a table's first twenty columns, for a message."""
    names = list(table.columns[:20])
    if len(table.columns) > 20:
        names.append("…")
    return ", ".join(names) or "none"


def check_order(table: Table, columns: PredictionColumns, dataset: Dataset) -> None:
    """Raise BadInput if rows are matched by order and cannot be.

    There must be one row for each problem. Columns of right and wrong are refused for WinoGrande's dev set unless the
    user says which order they have, because published tables have the leaderboard's.
    """
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
