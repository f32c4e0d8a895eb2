"""Log-probabilities of texts from a server: `completions:MODEL@URL` (vLLM, SGLang, llama-cpp-python, TGI and others).

A causal model as `hf:` is, with the server's own tokens: a text is sent once, and the log-probabilities of its tokens
come back by whichever of the `DIALECTS` the server speaks, which a probe finds out before the first text. A server that
gives those of what it generates only is refused: scores would be made of nothing.

The tokens that reach beyond the context are scored, by their place in the text (`alignment`). Whether texts begin with
BOS is the server's affair; where they do not, the first token of a text without context is read and not scored.

Options: those of servers (`server.connect`); `bos`: the text of a token that is to stand before every text, for a
server that puts none there (`bos=<s>`); `batch`: texts in one call at most, where the server takes lists.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from operator import eq
from typing import Any

from winokit.errors import BadInput
from winokit.models.alignment import PlacedToken, ServedToken, align
from winokit.models.base import Answer, Ask, Continuation, NothingToScore, Piece, Pieces, Refusal, Request
from winokit.models.boundary import ALONE, joined, moved, parts_of
from winokit.models.identity import ServerIdentity
from winokit.models.reading import bare
from winokit.models.registry import Spec
from winokit.models.server import SERVER_OPTIONS, Body, Bundle, Complaint, ModelServer, connect

PROBE = "one two three four five six seven eight nine ten eleven twelve"
"""A text of which any model knows the next word, so that numbers which belong to the next token are found out."""
BATCH = 16
"""Texts in one call at most."""
READING = 1
"""Part of the fingerprint: to be raised whenever the same reply is read differently."""
WAY_OUT = (
    "vLLM, SGLang and `python -m llama_cpp.server --logits_all true` give them; llama.cpp's own server does not "
    "(gguf:FILE reads the file itself), and chat:MODEL@URL does without"
)
UNPLACED = "the server writes parts of characters as \ufffd, so it is unknown which tokens to score"
SHIFTED = "its log-probabilities are shifted by one token, as those of llama-cpp-python without BOS"
BOS_WAY_OUT = "name the token that texts begin with, as ?bos=<s>, or use gguf:FILE"


@dataclass(frozen=True)
class Dialect:
    """One way to ask a server for the log-probabilities of a text, and to read what it says."""

    name: str
    asks: Mapping[str, Any]
    """What a request has beside the text."""
    read: Callable[[Any], list[ServedToken]]
    """From the JSON of an answer; one of many errors where it is no such answer."""
    path: str = "/completions"
    text: str = "prompt"
    """What a request calls the text."""
    lists: bool = True
    """Whether a prompt may be a list of texts, each with a choice of its own in the answer."""

    def body(self, text: str) -> Body:
        """The request about a text."""
        return {self.text: text, **self.asks}


def _echoed(payload: Any) -> list[ServedToken]:
    logprobs = payload["choices"][0]["logprobs"]
    return list(zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True))


def _prompted(payload: Any) -> list[ServedToken]:
    """Of each position, a table by token id; with no more asked for, it has the text's own token alone."""
    choice = payload["choices"][0]
    listed = choice.get("prompt_logprobs") or payload["prompt_logprobs"]
    tokens: list[ServedToken] = []
    for position in listed:
        if position is None:
            tokens.append((None, None))
            continue
        (token,) = position.values()
        tokens.append((token.get("decoded_token"), token["logprob"]))
    return tokens


def _generated(payload: Any) -> list[ServedToken]:
    rows = payload["meta_info"]["input_token_logprobs"]
    return [(text, logprob) for logprob, _, text in rows]


ONE_TOKEN = {"max_tokens": 1, "temperature": 0}
"""Of servers that take no zero; what is generated is not read."""
SGLANG = {
    "sampling_params": {"max_new_tokens": 1, "temperature": 0},
    **{"return_logprob": True, "logprob_start_len": 0, "return_text_in_logprobs": True},
}
DIALECTS = (
    Dialect("echo", {"echo": True, "logprobs": 1, **ONE_TOKEN}, _echoed),
    Dialect("prompt_logprobs", {"prompt_logprobs": 0, **ONE_TOKEN}, _prompted),
    Dialect("/generate", SGLANG, _generated, "//generate", "text", lists=False),
)
"""As OpenAI had it, as vLLM has it, and SGLang's own."""


def load(spec: Spec) -> "CompletionsModel":
    """The model of a server, as the SPEC names both. Nothing is sent yet."""
    spec.only(*SERVER_OPTIONS, "bos", "batch")
    batch = spec.number("batch", BATCH, least=1)
    return CompletionsModel(str(spec), connect(spec), spec.options.get("bos", ""), batch)


class CompletionsModel:
    """A causal model behind a server that tells how likely a text is."""

    kind = "causal"
    can: frozenset[type] = frozenset({Continuation, Ask})

    def __init__(self, spec: str, server: ModelServer, bos: str = "", batch: int = BATCH) -> None:
        self.spec = spec
        self._server = server
        self._bos = bos
        self.usage, self.count_tokens = server.usage, server.count_tokens
        self._dialect: Dialect | None = None
        self._lists: bool | None = None
        self._bundle = Bundle(batch, _joined, _parted)
        self._read: dict[str, list[PlacedToken] | Refusal] = {}
        """What is known of texts: one text may be asked about in several ways."""
        determining = {"url": server.url, "bos": bos, "reading": READING, **server.settings}
        self.fingerprint = f"completions:{json.dumps(determining, sort_keys=True)}"
        self.notes: tuple[str, ...] = ()

    def identify(self) -> ServerIdentity:
        """Which model the server says it serves. What was read before is forgotten, since it may be another now."""
        self._read.clear()
        return self._server.identify()

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """What a request makes the server read, and how many tokens it may write."""
        return [(_whole(part), 1) for _, part in parts_of(self, [request]) if part.text and _whole(part).strip()]

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Send each distinct text once, in alphabetical order: what begins alike is near in a server's cache."""
        parts = parts_of(self, requests)
        yield from joined(requests, [index for index, _ in parts], self._answers([part for _, part in parts]))

    def _answers(self, parts: Sequence[Continuation]) -> Iterator[tuple[int, Pieces | Refusal]]:
        asking: dict[str, list[int]] = defaultdict(list)
        for number, part in enumerate(parts):
            if part.text and _whole(part).strip():
                asking[_whole(part)].append(number)
            else:
                yield number, NothingToScore(part.text).refusal
        unread = sorted(asking.keys() - self._read.keys())
        for text in asking.keys() & self._read.keys():
            yield from ((number, self._cut(parts[number], self._read[text])) for number in asking[text])
        if not unread:
            return
        dialect = self._dialect or self._probe()
        bodies = [dialect.body(self._bos + text) for text in unread]
        read: Callable[[Any], list[ServedToken] | Refusal] = dialect.read
        bundle = self._bundle if len(unread) > 1 and self._takes_lists(dialect) else None
        for place, tokens in self._server.stream(dialect.path, bodies, read, _too_long, bundle=bundle):
            text = unread[place]
            self._read[text] = tokens if isinstance(tokens, Refusal) else self._placed(dialect, text, tokens)
            yield from ((number, self._cut(parts[number], self._read[text])) for number in asking[text])

    def _probe(self) -> Dialect:
        """The first dialect in which the server gives a log-probability for every token of a text but the first."""
        failures = []
        for dialect in DIALECTS:
            try:
                payload = self._server.post(dialect.path, dialect.body(self._bos + PROBE))
                tokens = dialect.read(payload)
                shifted = _shifted(payload)
            except Complaint as complaint:
                if complaint.status in (401, 403):
                    raise
                failures.append(f"{dialect.name}: {complaint.text}")
                continue
            except BadInput:  # no server, or none that is well
                raise
            except (ValueError, TypeError, LookupError, AttributeError):
                failures.append(f"{dialect.name}: {payload.get('error') or 'none'}")
                continue
            if shifted:
                raise self._server.error(dialect.path, SHIFTED, BOS_WAY_OUT)
            why = _unfit(tokens)
            if why is None:
                self._dialect = dialect
                self._say_start(tokens)
                return dialect
            failures.append(f"{dialect.name}: {why}")
        fact = f"no log-probabilities of the texts sent ({'; '.join(failures)}), so none can be scored"
        raise self._server.error("", fact, f"is {self._bos} a token of this model? {WAY_OUT}" if self._bos else WAY_OUT)

    def _takes_lists(self, dialect: Dialect) -> bool:
        """Whether two texts in one call come back as two, each with numbers of its own; asked once."""
        if self._lists is None:
            texts = (PROBE, " ".join(reversed(PROBE.split())))
            self._lists = dialect.lists and self._bundle.most > 1
            try:
                if self._lists:
                    body = _joined([dialect.body(self._bos + text) for text in texts])
                    payload = self._server.post(dialect.path, body, retries=0)
                    read = map(dialect.read, _parted(payload, len(texts)))
                    self._lists = all(align(text, tokens) for text, tokens in zip(texts, read, strict=True))
            except (BadInput, ValueError, TypeError, LookupError, AttributeError):
                self._lists = False
        return self._lists

    def _say_start(self, tokens: Sequence[ServedToken]) -> None:
        placed = align(PROBE, tokens) or []
        before = sum(token.end == 0 for token in placed)
        if not before and not self._bos:
            self.notes = (f"{self.spec}: the server reads texts without BOS before them",)
        elif before > 1:
            way_out = "; it puts BOS there itself: leave out ?bos=" if self._bos else ""
            self.notes = (f"{self.spec}: the server reads {before} tokens before every text{way_out}",)

    def _placed(self, dialect: Dialect, text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken]:
        """The tokens of a text in their places, after a check that they are its own and all have numbers."""
        placed = align(text, tokens)
        if placed is None:
            spelt = "".join(token or "…" for token, _ in tokens[:12])
            raise self._server.error(dialect.path, f"log-probabilities of another text than {text[:40]!r}: {spelt!r}")
        begun = next((number for number, token in enumerate(placed) if token.end > 0), 0)
        begun += placed[begun].start == 0 and placed[begun].logprob is None
        if not _are_logprobs([token.logprob for token in placed[begun:]]):
            wrong = next(token for token in placed[begun:] if not _are_logprobs([token.logprob]))
            fact = f"{wrong.logprob!r} is not a log-probability, of {text[wrong.start : wrong.end]!r} in {text[:40]!r}"
            raise self._server.error(dialect.path, fact)
        return placed

    def _cut(self, part: Continuation, read: list[PlacedToken] | Refusal) -> Pieces | Refusal:
        """The pieces of a continuation from the tokens of its whole text."""
        if isinstance(read, Refusal):
            return read
        context, text = moved(part)
        whole = context + text
        border = len(context)
        length = len(part.text)
        origin = len(whole) - length
        scored = False
        pieces = list[Piece]()
        for token_start, token_end, logprob, least_end in read:
            if token_end <= border and not token_start >= border > 0:
                continue
            if 0 < border < token_end and least_end <= border:
                return Refusal(UNPLACED)
            scored = True
            if logprob is not None:
                start, end = bare(whole, token_start, token_end)
                pieces.append(Piece(min(max(start - origin, 0), length), min(max(end - origin, 0), length), logprob))
        if pieces:
            return tuple(pieces)
        return Refusal(ALONE.partition(";")[0]) if scored else NothingToScore(part.text).refusal


def _joined(bodies: Sequence[Body]) -> Body:
    """Several texts in one call."""
    return {**bodies[0], "prompt": [body["prompt"] for body in bodies]}


def _parted(payload: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """The answer to each of them."""
    choices = {choice["index"]: choice for choice in payload["choices"]}
    if len(payload["choices"]) != count:
        raise ValueError(f"{len(payload['choices'])} choices for {count} texts")
    return [{**payload, "choices": [choices[place]]} for place in range(count)]


def _whole(part: Continuation) -> str:
    return "".join(moved(part))


def _too_long(complaint: Complaint) -> Refusal | None:
    """A text that the model cannot read; any other complaint is an error."""
    return Refusal(complaint.text) if complaint.too_long else None


def _are_logprobs(numbers: Sequence[Any]) -> bool:
    """Whether all are finite numbers that are not above zero, but for rounding."""
    try:
        return isfinite(sum(numbers)) and max(numbers, default=0) < 1e-3
    except (TypeError, OverflowError):
        return False


def _shifted(payload: Any) -> bool:
    """Whether the likeliest tokens that come with the probe are mostly those of the next place.

    llama-cpp-python 0.3.36 takes the numbers behind a token for its own where a text does not begin with BOS.
    """
    try:
        logprobs = payload["choices"][0]["logprobs"]
        tokens = logprobs["tokens"]
        listed = logprobs["top_logprobs"]
        likeliest = [max(top, key=top.__getitem__) if top else None for top in listed]
    except (LookupError, TypeError, AttributeError):
        return False
    here = sum(map(eq, likeliest, tokens))
    behind = sum(map(eq, likeliest, tokens[1:]))
    return bool(behind > max(here, 2))


def _unfit(tokens: Sequence[ServedToken]) -> str | None:
    """Why the tokens of the probe will not do; None where they will."""
    placed = align(PROBE, tokens)
    if placed is None:
        return f"{len(tokens)} tokens, not those of the text"
    covering = [token for token in placed if token.end > token.start]
    if len(covering) < len(PROBE.split()) // 2:
        return f"{len(covering)} tokens for {len(PROBE.split())} words"
    missing = sum(token.logprob is None for token in covering[1:])
    if missing:
        return f"none for {missing} of {len(covering)} tokens"
    numbers = [token.logprob for token in covering[1:]]
    if not _are_logprobs(numbers) or len(set(numbers)) < 2:
        return f"not log-probabilities but {numbers[:3]}"
    return None
