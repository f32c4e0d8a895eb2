"""What we ask of a model: requests, answers, and the one method that turns the first into the second.

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
    """How likely is `text` after `context`? Answered with `Pieces` of `text`.

    The boundary is that of lm-evaluation-harness: spaces at the end of the context move to the text, the whole is
    tokenised, and the tokens beyond those of the context alone are scored.
    """

    context: str
    text: str


@dataclass(frozen=True, slots=True)
class Fill:
    """How likely is `text` between `before` and `after`, all its pieces masked at once?

    Answered with `Pieces` of `text`.
    """

    before: str
    text: str
    after: str


@dataclass(frozen=True, slots=True)
class PseudoLikelihood:
    """How likely is each token of `text[start:end]`, masked by itself? Answered with `Pieces` of `text`.

    With `within_word`, later pieces of the same word are masked too (Kauf and Ivanova, 2023).
    """

    text: str
    start: int
    end: int
    within_word: bool = False


@dataclass(frozen=True, slots=True)
class Attention:
    """How much does `source` attend to each target span? Answered with an array [target, layer, head]."""

    text: str
    source: tuple[int, int]
    targets: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """Which of `options` answers the prompt? Answered with a `Reply`.

    `options` are what a reply may say ("A", "B", or the candidates themselves); `aliases` are other ways to say each.
    """

    prompt: str
    options: tuple[str, ...]
    aliases: tuple[tuple[str, ...], ...] = ()
    sample: int = 0
    """Which of several answers to the same question."""


@dataclass(frozen=True, slots=True)
class Embed:
    """A vector for the text: the `mean` over tokens, the `first` token, or the mean over a `span`."""

    text: str
    pooling: str = "mean"
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Choose:
    """A number for each candidate by the model's own rule: fine-tuned models, Python functions, retrieval."""

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
    """How often does a corpus have n-grams near each other, and in which documents? Answered with `Found`.

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
    """What came back from an `Ask`.

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
    """What came back from a `Choose`: a number for each candidate, or None for an abstention, and why."""

    values: tuple[float, ...] | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """What came back from a `Lookup`: how often, and texts of documents with what they are called."""

    count: int
    approximate: bool = False
    """Whether the index counted a sample of a frequent clause."""
    documents: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Refusal:
    """That a request has no answer from this model, and why: its text is too long, or has no token to score.

    The other requests are answered all the same; a scoring abstains where it gets one of these.
    """

    why: str


Answer: TypeAlias = Pieces | Reply | Scores | Found | npt.NDArray[np.float32] | Refusal


@runtime_checkable
class Model(Protocol):
    """Anything that answers requests."""

    @property
    def spec(self) -> str:
        """How the user named it."""

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
        """Answer requests in whatever order suits, yielding (index, answer) as soon as each is known."""


@runtime_checkable
class ModelOfModels(Model, Protocol):
    """A model made of several, an ensemble: each is asked by itself, and it combines their answers."""

    members: Sequence[Model]
    combine: str
    """How: `vote` counts the predictions of the members, any other way combines their answers to a request."""

    def combined(self, request: Request, answers: Sequence[Answer]) -> Answer:
        """The answer of all to a request, from the answers of the members."""


@dataclass(slots=True)
class Usage:
    """What a server was asked and charged, and whether it may be asked more."""

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
        """Several together."""
        whole = cls()
        for usage in usages:
            whole.requests += usage.requests
            whole.calls += usage.calls
            whole.read += usage.read
            whole.written += usage.written
            whole.estimated |= usage.estimated
        return whole


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has, by its length: four bytes each, which English comes close to."""
    return -(-len(text.encode(errors="replace")) // 4)


def cannot(model: Model, request: Request) -> BadInput:
    """The error of a model that was asked what it cannot answer; `can` would have told."""
    names = ", ".join(sorted(kind.__name__ for kind in model.can))
    return BadInput(f"{model.spec}: cannot answer {type(request).__name__} requests, only {names}")


def notes_of(model: Model) -> tuple[str, ...]:
    """What a user should know about how a model reads, as far as it is known by now: its notes, and its plan."""
    notes: tuple[str, ...] = getattr(model, "notes", ())
    plan = getattr(model, "plan", "")
    return (*notes, f"{model.spec}: its plan: {plan}") if plan else notes


def samples_of(model: Model) -> int:
    """Number of answers to each question, as the SPEC says."""
    return int(getattr(model, "repeats", 1))


def parameters_of(model: Model) -> int | None:
    """How many parameters a model has, where its `network` is here to be counted or it says so; None elsewhere."""
    network = getattr(model, "network", None)
    if network is None:
        return getattr(model, "parameter_count", None)
    own = getattr(network, "num_parameters", None)  # which knows how weights of four bits are packed
    return int(own() if own is not None else sum(weights.numel() for weights in network.parameters()))


class LetGo:
    """Stands where a model's weights were once it is closed: whoever asks for them is told so in a line."""

    def __init__(self, spec: str) -> None:
        self._spec = spec

    def __getattr__(self, name: str) -> Any:
        raise BadInput(f"{self._spec}: was released; load it again to use it")

    def __call__(self, *given: object, **options: object) -> Any:
        """What a network does; here it refuses."""
        return self.weights


class Unreadable(BadInput):
    """A text that a model cannot read. Models catch it, and answer with the refusal it holds."""

    def __init__(self, why: str, text: str = "") -> None:
        self.refusal = Refusal(why)
        super().__init__(f"{why}: {text!r}" if text else why)


class TooLong(Unreadable):
    """A text has more tokens than the model can read."""

    def __init__(self, text: str, tokens: int, most: int) -> None:
        shown = text if len(text) <= 60 else f"{text[:57]}…"
        super().__init__(f"{tokens:,} tokens; the model reads at most {most:,}", shown)


class NothingToScore(Unreadable):
    """A text that the tokenizer turns into no token at all."""

    def __init__(self, text: str) -> None:
        super().__init__(f"the tokenizer makes no token of {text!r}, so it has no probability")
