"""Requests to a model, its answers, and the method that turns one into the other.

Models know nothing of Winograd schemas: they see texts and spans. A scoring (`methods.scoring`) turns a problem into
requests and answers into scores. A model says which requests it can answer (`can`), so that a scoring asked of the
wrong kind of model can say which ones fit; and what determines its answers (`fingerprint`), so that they can be kept.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput


@dataclass(frozen=True, slots=True)
class Continuation:
    """Asks how likely `text` is after `context`. Answered with `Pieces` of `text`.

    The boundary is that of lm-evaluation-harness: spaces at the end of the context move to the text, the whole is
    tokenised, and the tokens beyond those of the context alone are scored.
    """

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Asks how likely `text` is between `before` and `after`, with all its pieces masked.

    Answered with `Pieces` of `text`.
    """

    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class PseudoLikelihood:
    """Asks how likely each token of `text[start:end]` is, masked by itself.

    Answered with `Pieces` of `text`.

    With `within_word`, later pieces of the same word are masked too (Kauf and Ivanova, 2023).
    """

    text: str
    start: int
    end: int
    within_word: bool = False


@dataclass(frozen=True, slots=True)
class Attention:
    """Asks how much `source` attends to each target span.

    Answered with an array [target, layer, head].
    """

    text: str
    source: tuple[int, int]
    targets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks which of `options` answers the prompt. Answered with a `Reply`.

    `options` are what a reply may say ("A", "B", or the candidates themselves); `aliases` are other ways to say each.
    """

    prompt: str
    options: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()
    sample: int = 0
    """Which of several answers to the same question."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Asks for a vector of the text.

    `pooling` is the `mean` over tokens, the `first` token, or the mean over a `span`.
    """

    text: str
    pooling: str = "mean"
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Choose:
    """Asks for a number for each candidate by the model's own rule.

    Answered with `Scores`, by fine-tuned models, Python functions and retrieval.
    """

    before: str
    after: str
    candidates: tuple[str, ...]
    pronoun: str | None = None
    query: str | None = field(default=None, repr=False)
    """The span that a yes/no judgement asks about; the candidates are then "no" and "yes"."""
    rivals: tuple[str, ...] = field(default=(), repr=False)
    """Always empty: a place in the keys under which earlier versions kept answers."""
    labels: tuple[tuple[str, str | int], ...] = field(default=(), repr=False)
    """What says how the blank is to be filled or where the query stands; nothing that tells the answer."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Asks how often a corpus has n-grams near each other, and in which documents.

    Answered with `Found`.

    Every clause must be there, which is one of its n-grams.
    """

    clauses: tuple[tuple[str, ...], ...]
    within: int = 100
    """Tokens between two clauses at most."""
    documents: int = 0
    """How many documents to show."""
    draw: int = 0
    """Which drawing of documents: each shows others."""


Request: TypeAlias = Continuation | Fill | PseudoLikelihood | Attention | Ask | Embed | Choose | Lookup


@dataclass(frozen=True, slots=True)
class Piece:
    """One token: where it stands in the scored text, and its log-probability (natural logarithm)."""

    start: int
    end: int
    logprob: float


Pieces: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer to an `Ask`.

    Log-probabilities of the options where the model gives them, else the option it chose (None for a refusal or an
    unreadable answer), and the raw text, with whatever was thought before.
    """

    logprobs: tuple[float, ...] | None
    choice: int | None
    text: str
    why: str | None = None
    """Why it chose nothing, where that is known: it refused, or its thought did not end."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Answer to a `Choose`: a number for each candidate.

    None is an abstention, and `why` says for what reason.
    """

    values: tuple[float, ...] | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Answer to a `Lookup`: a count, and documents as pairs of name and text."""

    count: int
    approximate: bool = False
    """Whether the index counted a sample of a frequent clause."""
    documents: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Says that this model has no answer to a request, and why.

    For example the text is too long, or has no token to score.

    The other requests are answered all the same; a scoring abstains where it gets one of these.
    """

    why: str


Answer: TypeAlias = Pieces | Reply | Scores | Found | npt.NDArray[np.float32] | Refusal


@runtime_checkable
class Model(Protocol):
    """Anything that answers requests."""

    @property
    def spec(self) -> str:
        """The name by which the user asked for the model."""

    @property
    def kind(self) -> str:
        """`causal`, `masked`, `seq2seq`, `chat` or `any`."""

    @property
    def fingerprint(self) -> str:
        """Everything that determines its answers: weights, revision, precision, template."""

    @property
    def can(self) -> frozenset[type]:
        """The requests it can answer."""

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests in any order, yielding (index, answer) when each is known."""


@runtime_checkable
class ModelOfModels(Model, Protocol):
    """A model made of several members, such as an ensemble.

    Each member is asked by itself, and the model combines their answers.
    """

    members: Sequence[Model]
    combine: str
    """How: `vote` counts the predictions of the members, any other way combines their answers to a request."""

    def combined(self, request: Request, answers: Sequence[Answer]) -> Answer:
        """The answer of all to a request, from the answers of the members."""


@dataclass(slots=True)
class Usage:
    """Counts what a server was asked and charged, and says whether more is allowed."""

    requests: int = 0
    read: int = 0
    """Tokens of what was sent."""
    written: int = 0
    """Tokens of the replies."""
    estimated: bool = False
    """Whether the server did not say for some of them."""
    calls: int = 0
    """HTTP requests that they went in, second tries aside: several texts may share one."""
    may_ask: Callable[[], bool] | None = field(default=None, repr=False)
    """Where there is a limit."""

    @classmethod
    def total(cls, usages: "Iterable[Usage]") -> "Usage":
        """The sum of several usages."""
        sum_of_usages = cls()
        for usage in usages:
            sum_of_usages.requests += usage.requests
            sum_of_usages.calls += usage.calls
            sum_of_usages.read += usage.read
            sum_of_usages.written += usage.written
            sum_of_usages.estimated |= usage.estimated
        return sum_of_usages


def estimated_tokens(text: str) -> int:
    """Estimated number of tokens of a text, at four bytes a token.

    English comes close to that.
    """
    return -(-len(text.encode(errors="replace")) // 4)


def cannot(model: Model, request: Request) -> BadInput:
    """Return the error of a model that was asked what it cannot answer.

    Its `can` says which requests it answers.
    """
    names = ", ".join(sorted(kind.__name__ for kind in model.can))
    return BadInput(f"{model.spec}: cannot answer {type(request).__name__} requests, only {names}")


def notes_of(model: Model) -> tuple[str, ...]:
    """Notes on how a model reads, with its plan.

    They may grow while the model answers.
    """
    notes: tuple[str, ...] = getattr(model, "notes", ())
    plan = getattr(model, "plan", "")
    return (*notes, f"{model.spec}: its plan: {plan}") if plan else notes


def samples_of(model: Model) -> int:
    """Number of answers to each question, as the SPEC says."""
    return int(getattr(model, "repeats", 1))


def parameters_of(model: Model) -> int | None:
    """Number of a model's parameters, or None if it is unknown.

    It is counted in the `network` if that is on this machine, else the model may report it.
    """
    network = getattr(model, "network", None)
    if network is None:
        return getattr(model, "parameter_count", None)
    count_parameters = getattr(network, "num_parameters", None)  # which knows how weights of four bits are packed
    if count_parameters is not None:
        return int(count_parameters())
    return int(sum(weights.numel() for weights in network.parameters()))


class LetGo:
    """Replaces a model's weights after it is closed.

    Any use of them raises BadInput with one line.
    """

    def __init__(self, spec: str) -> None:
        self._spec = spec

    def __getattr__(self, name: str) -> Any:
        raise BadInput(f"{self._spec}: was released; load it again to use it")

    def __call__(self, *given: object, **options: object) -> Any:
        """Refuse to compute, as any use of a closed model does."""
        return self.weights


class Unreadable(BadInput):
    """A text that a model cannot read.

    Models catch it and answer with the `refusal` that it holds.
    """

    def __init__(self, why: str, text: str = "") -> None:
        self.refusal = Refusal(why)
        super().__init__(f"{why}: {text!r}" if text else why)


class TooLong(Unreadable):
    """A text has more tokens than the model can read."""

    def __init__(self, text: str, tokens: int, most: int) -> None:
        short_text = text if len(text) <= 60 else f"{text[:57]}…"
        super().__init__(f"{tokens:,} tokens; the model reads at most {most:,}", short_text)


class NothingToScore(Unreadable):
    """A text that the tokenizer turns into no token at all."""

    def __init__(self, text: str) -> None:
        super().__init__(f"the tokenizer makes no token of {text!r}, so it has no probability")
