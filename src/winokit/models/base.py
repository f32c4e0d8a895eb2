"""Requests to a model, the answers to them, and the protocol of a model.

Models know nothing of Winograd schemas: they see texts and spans. A scoring (`methods.scoring`) turns a problem
into requests, and answers into scores. A model says which requests it can answer (`can`), so that an error can name
the scorings that fit. It also says what determines its answers (`fingerprint`), so that they can be stored.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput


@dataclass(frozen=True, slots=True)
class Continuation:
    """Request for the probability of `text` after `context`.

    The answer is `Pieces` of `text`. The border is that of lm-evaluation-harness: spaces at the end of the context move
    to the text, the whole is tokenised, and the tokens beyond those of the context alone are scored.
    """

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Request for the probability of `text` between `before` and `after`.

    All tokens of `text` are masked. The answer is `Pieces` of `text`.
    """

    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class PseudoLikelihood:
    """Request for the probability of each token of `text[start:end]`.

    Tokens are masked one at a time. The answer is `Pieces` of `text`. With `within_word`, the later tokens of the same
    word are masked too (Kauf and Ivanova, 2023). A token that overlaps the span is scored whole.
    """

    text: str
    start: int
    end: int
    within_word: bool = False


@dataclass(frozen=True, slots=True)
class Attention:
    """Request for a span's attention to each of some targets.

    The answer is an array of shape (target, layer, head). Spans are character positions (start, end). It is the mean
    over the source's tokens, and the largest over each target's tokens.
    """

    text: str
    source: tuple[int, int]
    targets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Request for a choice: which of `options` answers the prompt.

    The answer is a `Reply`. `options` are what a reply may say ("A", "B", or the candidates themselves). `aliases` are
    other names of each option.
    """

    prompt: str
    options: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()
    sample: int = 0
    """Number of the sample, counted from 0, if a question is asked several times."""


@dataclass(frozen=True, slots=True)
class Embed:
    """Request for a vector of a text. The answer is an array.

    `pooling` is `mean` (over all tokens), `first` (the first token) or `span` (mean over `text[start:end]`).
    """

    text: str
    pooling: str = "mean"
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Choose:
    """Request for a score of each candidate, by the model's own rule.

    The answer is `Scores`. Answered by fine-tuned models, Python functions and retrieval. `before` and `after` are the
    text around the blank. `pronoun` is the word that stands there in the original, or None.
    """

    before: str
    after: str
    candidates: tuple[str, ...]
    pronoun: str | None = None
    query: str | None = field(default=None, repr=False)
    """Span that a yes/no problem asks about. The candidates are then "no" and "yes"."""
    rivals: tuple[str, ...] = field(default=(), repr=False)
    """Always empty. It keeps the keys of answers stored by earlier versions valid."""
    labels: tuple[tuple[str, str | int], ...] = field(default=(), repr=False)
    """Labels of the problem on how the blank is to be filled or where the query is. They do not reveal the answer."""


@dataclass(frozen=True, slots=True)
class Lookup:
    """Request to count the places where n-grams stand near each other.

    They are counted in a corpus. Each clause must be found, by any one of its n-grams. The answer is `Found`.
    """

    clauses: tuple[tuple[str, ...], ...]
    within: int = 100
    """Largest number of tokens between two clauses."""
    documents: int = 0
    """Number of documents to return."""
    draw: int = 0
    """Number of the random sample of documents. Each number gives another sample."""


Request: TypeAlias = Continuation | Fill | PseudoLikelihood | Attention | Ask | Embed | Choose | Lookup


@dataclass(frozen=True, slots=True)
class Piece:
    """One scored token: its span in the text, and its log-probability.

    The span counts characters of the request's `text`, from 0, its end not included. The logarithm is natural.
    """

    start: int
    end: int
    logprob: float


Pieces: TypeAlias = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer to an `Ask`: the chosen option and the raw text.

    `choice` is an index of `options`, None for a refusal, an unreadable answer, or log-probabilities alone. `logprobs`
    has one value per option, or is None. `text` includes any thought before the answer. `logprobs` are natural
    logarithms, in the order of the options.
    """

    logprobs: tuple[float, ...] | None
    choice: int | None
    text: str
    why: str | None = None
    """Reason why it chose nothing, if known: it refused, or its thought did not end."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Answer to a `Choose`: a score for each candidate.

    `values` is None for an abstention, and `why` its reason.
    """

    values: tuple[float, ...] | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Answer to a `Lookup`: a count and documents.

    A document is a pair of text and name.
    """

    count: int
    approximate: bool = False
    """Whether the count is an estimate from a sample."""
    documents: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """Answer of a model that cannot answer one request, with the reason.

    For example if the text is too long, or has no token to score. Other requests are answered, and a scoring abstains
    for this one.
    """

    why: str


Answer: TypeAlias = Pieces | Reply | Scores | Found | npt.NDArray[np.float32] | Refusal


@runtime_checkable
class Model(Protocol):
    """Anything that answers requests."""

    @property
    def spec(self) -> str:
        """Name of the model in results, from the SPEC that the user wrote."""

    @property
    def kind(self) -> str:
        """Kind of model: `causal`, `masked`, `seq2seq`, `chat` or `any`."""

    @property
    def fingerprint(self) -> str:
        """Text that identifies everything that determines the answers.

        For example weights, revision, precision and template. Stored answers are looked up by it.
        """

    @property
    def can(self) -> frozenset[type]:
        """Types of requests that the model answers."""

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests, yielding (index, answer) in any order.

        The index is that of the request in `requests`.
        """


@runtime_checkable
class ModelOfModels(Model, Protocol):
    """A model that combines the answers of several members, such as an ensemble."""

    members: Sequence[Model]
    combine: str
    """Way to combine: `vote` counts the members' predictions, any other way combines their answers to a request."""

    def combined(self, request: Request, answers: Sequence[Answer]) -> Answer:
        """Combine the members' answers to a request into one."""


@dataclass(slots=True)
class Usage:
    """Counts of requests and tokens of a server, with an optional limit."""

    requests: int = 0
    read: int = 0
    """Number of tokens sent."""
    written: int = 0
    """Number of tokens of the replies."""
    estimated: bool = False
    """Whether some of these numbers are estimates, since the server did not report them."""
    calls: int = 0
    """Number of HTTP calls without retries. One call may have several requests."""
    may_ask: Callable[[], bool] | None = field(default=None, repr=False)
    """Says whether another request is allowed, if there is a limit."""

    @classmethod
    def total(cls, usages: "Iterable[Usage]") -> "Usage":
        """Add up several usages."""
        sum_of_usages = cls()
        for usage in usages:
            sum_of_usages.requests += usage.requests
            sum_of_usages.calls += usage.calls
            sum_of_usages.read += usage.read
            sum_of_usages.written += usage.written
            sum_of_usages.estimated |= usage.estimated
        return sum_of_usages


def estimated_tokens(text: str) -> int:
    """Estimate the number of a text's tokens, at four bytes per token.

    Rounded up.
    """
    return -(-len(text.encode(errors="replace")) // 4)


def cannot(model: Model, request: Request) -> BadInput:
    """Return the error for a request that the model does not answer."""
    names = ", ".join(sorted(kind.__name__ for kind in model.can))
    return BadInput(f"{model.spec}: cannot answer {type(request).__name__} requests, only {names}")


def notes_of(model: Model) -> tuple[str, ...]:
    """Notes of a model on how it reads texts, and its plan.

    More may be added while the model answers. A model without notes has none.
    """
    notes: tuple[str, ...] = getattr(model, "notes", ())
    plan = getattr(model, "plan", "")
    return (*notes, f"{model.spec}: its plan: {plan}") if plan else notes


def samples_of(model: Model) -> int:
    """Number of samples that a model draws for each question.

    1 unless its SPEC says otherwise.
    """
    return int(getattr(model, "repeats", 1))


def parameters_of(model: Model) -> int | None:
    """Number of parameters of a model, or None if it is unknown."""
    network = getattr(model, "network", None)
    if network is None:
        return getattr(model, "parameter_count", None)
    count_parameters = getattr(network, "num_parameters", None)  # which knows how weights of four bits are packed
    if count_parameters is not None:
        return int(count_parameters())
    return int(sum(weights.numel() for weights in network.parameters()))


class LetGo:
    """Stands in for the weights of a closed model.

    Any use of it raises BadInput.
    """

    def __init__(self, spec: str) -> None:
        self._spec = spec

    def __getattr__(self, name: str) -> Any:
        raise BadInput(f"{self._spec}: was released; load it again to use it")

    def __call__(self, *given: object, **options: object) -> Any:
        """Raise BadInput, as any other use does."""
        return self.weights


class Unreadable(BadInput):
    """The model cannot read or score a text.

    Models catch this error, and answer with its `refusal`.
    """

    def __init__(self, why: str, text: str = "") -> None:
        self.refusal = Refusal(why)
        super().__init__(f"{why}: {text!r}" if text else why)


class TooLong(Unreadable):
    """A text has more tokens than the model reads.

    `tokens` is their number, `most` the model's limit.
    """

    def __init__(self, text: str, tokens: int, most: int) -> None:
        short_text = text if len(text) <= 60 else f"{text[:57]}…"
        super().__init__(f"{tokens:,} tokens; the model reads at most {most:,}", short_text)


class NothingToScore(Unreadable):
    """The tokenizer makes no token of a text."""

    def __init__(self, text: str) -> None:
        super().__init__(f"the tokenizer makes no token of {text!r}, so it has no probability")
