"""Turn a problem into requests, and answers into a score per candidate.

Asking comes before answering: all requests of all problems are collected first, so that the planner can drop
repetitions and ask the model once. A scoring that cannot judge a problem says why, and the problem becomes an
abstention.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, field
from urllib.parse import parse_qsl

from winokit.errors import BadInput, check_known
from winokit.methods.scoring.prompts import PromptTemplate
from winokit.methods.transforms.substitute import substitute
from winokit.models.base import Answer, Model, Piece, Refusal, Request
from winokit.problem import Dataset, Problem
from winokit.registry import Registry
from winokit.text.language import language_of


class Abstain(Exception):
    """Raised if a scoring cannot judge a problem, which is then unanswered."""


@dataclass(frozen=True)
class Setting:
    """Facts about the model and the run that a scoring may need.

    `substitution` is the style in which candidates are put into the blank, and `options` are those after the `?` of
    the scoring's name.
    """

    kind: str = "any"
    """The model's kind: `ask` words its questions for it."""
    substitution: str = "auto"
    twins: Sequence[Problem] = ()
    """The other members of the problem's group."""
    shots: Sequence[Problem] = ()
    """Solved problems to put before it."""
    options: Mapping[str, str] = field(default_factory=dict)
    prompt: PromptTemplate | None = None
    """Wording of questions; None for the usual one."""


@dataclass(frozen=True)
class Scoring:
    """One way to score the candidates of a problem.

    `ask` makes the requests to a model for a problem, `judge` turns their answers into a score per candidate, of which
    more is better. Both raise Abstain for a problem that cannot be judged. `about` describes it for users, and
    `options` are the names of its options.
    """

    name: str
    about: str
    needs: tuple[type, ...]
    """The requests it makes: a model that cannot answer them does not fit."""
    ask: Callable[[Problem, Setting], tuple[Request, ...]]
    judge: Callable[[Problem, Setting, Sequence[Answer]], tuple[float, ...]]
    takes_shots: bool = False
    takes_prompt: bool = False
    """Whether it words questions by a template."""
    substitutes: bool = True
    """Whether it puts candidates into the blank, so that the style of doing so matters."""
    both_orders: bool = False
    """Whether it offers candidates in both orders itself, so that turning them round changes nothing."""
    needs_blank: bool = False
    """Whether it asks about a place in a text, so that it can say nothing of a choice between whole texts."""
    options: tuple[str, ...] = ()

    @property
    def reads_pronoun(self) -> bool:
        """Whether it leaves the pronoun in the text.

        A scoring that replaces the pronoun by candidates never sees its gender.
        """
        return not self.substitutes


_SCORING_MODULES = {
    "ask": "ask:ASK",
    "attention": "attention:ATTENTION",
    "full": "partial:FULL",
    "masked-candidate": "masked_candidate:MASKED_CANDIDATE",
    "own": "own:OWN",
    "partial": "partial:PARTIAL",
    "pronoun": "pronoun:PRONOUN",
    "pseudo-likelihood": "pseudo_likelihood:PSEUDO_LIKELIHOOD",
    "special-word": "special_word:SPECIAL_WORD",
}
SCORINGS: Registry[Scoring] = Registry(
    "scoring", "winokit.scorings", {name: f"winokit.methods.scoring.{home}" for name, home in _SCORING_MODULES.items()}
)
"""Every scoring by its name. Another package adds one by an entry point that names a `Scoring`."""
DEFAULTS = {"causal": "partial", "masked": "masked-candidate", "seq2seq": "ask", "chat": "ask", "any": "own"}
UNFOLLOWED = DEFAULTS | {"causal": "full"}
"""Defaults if nothing follows any blank, so that partial scoring has nothing to score (COPA)."""
WHOLE = UNFOLLOWED | {"masked": "pseudo-likelihood"}
"""Defaults for choices between whole texts."""
PER: Mapping[str, Callable[[str, Sized], int]] = {
    "text": lambda text, pieces: 1,
    "token": lambda text, pieces: max(len(pieces), 1),
    "character": lambda text, pieces: len(text),
}
"""Divisor of a log-probability, by `?per=`: 1, the number of scored tokens, or of characters."""


def choose_scoring(
    name: str | None, model: Model, problems: Sequence[Problem] = ()
) -> tuple[Scoring, Mapping[str, str]]:
    """Find the scoring of a name, with its options.

    A name may have options: `masked-candidate?reduce=sum`. None is the default for the model and the problems. Raises
    BadInput if the model can answer none of the kinds of request that the scoring makes, and UnknownName for an
    unknown scoring or option.
    """
    scoring, options = parse_scoring(name or default_scoring(model, problems))
    if not fits(scoring, model):
        fitting = [other.name for other in SCORINGS.values() if fits(other, model)]
        if not fitting:
            raise BadInput(
                f"no scoring fits {model.spec!r}: without a language-modelling head it gives embeddings only"
            )
        kind = "a model of no particular kind" if model.kind == "any" else f"a {model.kind} model"
        which = "this one does" if len(fitting) == 1 else "these do"
        names = ", ".join(fitting)
        raise BadInput(f"scoring {scoring.name!r} does not fit {model.spec!r}, {kind}; {which}: {names}")
    return scoring, options


def check_scorings(names: Sequence[str | None]) -> None:
    """Raise BadInput for an empty list of scorings, or a repeated one.

    None stands for the default of a model.
    """
    if not names:
        raise BadInput("scoring: expected a name or several, found none; leave it out for the default")
    for name in names:
        if names.count(name) > 1:
            raise BadInput(f"scoring {name!r} is named twice: name it once")


def parse_scoring(name: str) -> tuple[Scoring, Mapping[str, str]]:
    """Parse a name with options into a scoring and its options.

    Raises UnknownName for an option that the scoring does not have. Values of options are not checked here.
    """
    head, _, query = name.partition("?")
    scoring = SCORINGS[head]
    options = dict(parse_qsl(query, keep_blank_values=True))
    for option in options:
        check_known(f"option of scoring {head!r}", option, scoring.options)
    return scoring, options


def default_scoring(model: Model, problems: Sequence[Problem] = ()) -> str:
    """Name of the default scoring for a model on these problems.

    It depends on the model's kind, on whether all problems are choices between whole texts, and on whether any text
    follows any blank. If the model cannot answer its requests, it is the first scoring whose requests it can answer,
    if there is one.
    """
    are_whole = all_whole(problems)
    followed = not len(problems) or any(problem.after.strip() for problem in problems)
    if are_whole:
        defaults = WHOLE
    else:
        defaults = DEFAULTS if followed else UNFOLLOWED
    preferred = defaults.get(model.kind, "own")
    if fits(SCORINGS[preferred], model):
        return preferred
    for scoring in SCORINGS.values():
        if fits(scoring, model) and not (are_whole and scoring.needs_blank):
            return scoring.name
    return preferred


def all_whole(problems: Sequence[Problem]) -> bool:
    """Whether all problems are choices between whole texts.

    False if there are none.
    """
    return bool(len(problems)) and all(problem.is_whole for problem in problems)


def fits(scoring: Scoring, model: Model) -> bool:
    """Whether a model can answer some kind of request of a scoring."""
    return any(need in model.can for need in scoring.needs)


def pieces(answer: Answer) -> tuple[Piece, ...]:
    """Tokens of an answer with their log-probabilities.

    Raises BadInput for a refusal, and TypeError for any other kind of answer.
    """
    if isinstance(answer, Refusal):
        raise BadInput(answer.why)
    if not isinstance(answer, tuple):
        raise TypeError(f"expected pieces, found {type(answer).__name__}")
    return answer


def total(answer: Answer) -> float:
    """Summed log-probability of an answer's tokens."""
    return float(sum(piece.logprob for piece in pieces(answer)))


def sum_logprobs(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Score of each candidate: the summed log-probability of its answer."""
    return tuple(total(answer) for answer in answers)


def normalize_logprobs(problem: Problem, setting: Setting, answers: Sequence[Answer]) -> tuple[float, ...]:
    """Score of each candidate: the log-probability of its text by length.

    The option `per` names the unit of length, `token` or `character`. By default (`text`) it is not divided. Long texts
    are less likely than short ones, whatever they say: divided by their length, they compete.
    """
    size = length_by(setting)
    texts = [substitute(problem, candidate, setting.substitution).text for candidate in problem.candidates]
    scores: list[float] = []
    for text, answer in zip(texts, answers, strict=True):
        length = size(text, pieces(answer))
        scores.append(total(answer) / length)
    return tuple(scores)


def length_by(setting: Setting) -> Callable[[str, Sized], int]:
    """Function from a text and its tokens to a length, by `?per=`.

    Call it before a model is asked, to refuse a wrong unit early.
    """
    per = setting.options.get("per", "text")
    check_known("unit for ?per=", per, PER)
    return PER[per]


def unread_languages(models: Iterable[object], dataset: Dataset) -> list[str]:
    """Note that the built-in model does not read the data's languages.

    `models` are SPECs, of which only "builtin" matters. An empty list if it is not among the models, or the data are in
    English.
    """
    others = [str(language) for language in map(language_of, dataset.languages) if language.name != "English"]
    if "builtin" not in models or not others:
        return []
    return [f"builtin reads English only, and the data are in {', '.join(others)}; --model hf:NAME names another"]
