"""Log-probabilities of texts from a server: `completions:MODEL@URL` (vLLM, SGLang, llama-cpp-python, TGI and others).

The model is causal, as `hf:` models are, with the server's own tokens. A text is sent once, and the
log-probabilities of its tokens come back in one of the `DIALECTS`. A probe finds the server's dialect before the
first text. A server that gives log-probabilities only of generated tokens is refused.

The tokens that reach beyond the context are scored, by their place in the text (`alignment`). The server decides
whether texts begin with BOS. Without BOS, the first token of a text without context is read and not scored.

Options are those of servers (`server.connect`), and two more. `bos` is the text of a token to put before every
text, for a server that puts none there (`bos=<s>`). `batch` is the largest number of texts in one call, if the
server takes lists.
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
from winokit.models.boundary import ALONE, join_answers, moved, split_requests
from winokit.models.identity import ServerIdentity
from winokit.models.reading import strip_spaces
from winokit.models.registry import Spec
from winokit.models.server import SERVER_OPTIONS, Body, Bundle, Complaint, ModelServer, connect

PROBE = "one two three four five six seven eight nine ten eleven twelve"
"""Text whose next words any model can predict, so that shifted log-probabilities are noticed."""
BATCH = 16
"""Most texts in one call."""
READING = 1
"""Version of how replies are read, part of the fingerprint. Raise it whenever the same reply is read differently."""
WAY_OUT = (
    "vLLM, SGLang and `python -m llama_cpp.server --logits_all true` give them; llama.cpp's own server does not "
    "(gguf:FILE reads the file itself), and chat:MODEL@URL does without"
)
UNPLACED = "the server writes parts of characters as \ufffd, so it is unknown which tokens to score"
SHIFTED = "its log-probabilities are shifted by one token, as those of llama-cpp-python without BOS"
BOS_WAY_OUT = "name the token that texts begin with, as ?bos=<s>, or use gguf:FILE"


@dataclass(frozen=True)
class Dialect:
    """One way to request and read log-probabilities of a text."""

    name: str
    asks: Mapping[str, Any]
    """Fields of a request in addition to the text."""
    read: Callable[[Any], list[ServedToken]]
    """Reads the JSON of a response. Raises one of several errors if it has no log-probabilities."""
    path: str = "/completions"
    text: str = "prompt"
    """Name of the field for the text."""
    lists: bool = True
    """Whether a request may have a list of texts, each with its own choice in the response."""

    def body(self, text: str) -> Body:
        """Build the request for a text."""
        return {self.text: text, **self.asks}


def _read_echo(payload: Any) -> list[ServedToken]:
    """Read tokens and log-probabilities from a completion that echoes the prompt."""
    logprobs = payload["choices"][0]["logprobs"]
    return list(zip(logprobs["tokens"], logprobs["token_logprobs"], strict=True))


def _read_prompt_logprobs(payload: Any) -> list[ServedToken]:
    """Read tokens and log-probabilities from vLLM's `prompt_logprobs`.

    It has a table of tokens for each position, with only the text's own token, since no alternatives are requested.
    """
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


def _read_generated(payload: Any) -> list[ServedToken]:
    """Read the sent text's tokens and log-probabilities from SGLang's `/generate`."""
    rows = payload["meta_info"]["input_token_logprobs"]
    return [(text, logprob) for logprob, _, text in rows]


ONE_TOKEN = {"max_tokens": 1, "temperature": 0}
"""Settings for servers that must generate a token. It is not read."""
SGLANG = {
    "sampling_params": {"max_new_tokens": 1, "temperature": 0},
    **{"return_logprob": True, "logprob_start_len": 0, "return_text_in_logprobs": True},
}
DIALECTS = (
    Dialect("echo", {"echo": True, "logprobs": 1, **ONE_TOKEN}, _read_echo),
    Dialect("prompt_logprobs", {"prompt_logprobs": 0, **ONE_TOKEN}, _read_prompt_logprobs),
    Dialect("/generate", SGLANG, _read_generated, "//generate", "text", lists=False),
)
"""Dialects of OpenAI's old API, of vLLM, and of SGLang, in the order in which they are tried."""


def load(spec: Spec) -> "CompletionsModel":
    """Make the model of a completions SPEC.

    Nothing is sent to its server yet.
    """
    spec.only(*SERVER_OPTIONS, "bos", "batch")
    batch = spec.number("batch", BATCH, least=1)
    return CompletionsModel(str(spec), connect(spec), spec.options.get("bos", ""), batch)


class CompletionsModel:
    """A causal model behind a server that returns log-probabilities of texts.

    `bos` is put before every text. `batch` is the largest number of texts in one call.
    """

    kind = "causal"
    can: frozenset[type] = frozenset({Continuation, Ask})

    def __init__(self, spec: str, server: ModelServer, bos: str = "", batch: int = BATCH) -> None:
        self.spec = spec
        self._server = server
        self._bos = bos
        self.usage = server.usage
        self.count_tokens = server.count_tokens
        self._dialect: Dialect | None = None
        self._lists: bool | None = None
        self._bundle = Bundle(batch, _join_bodies, _split_payload)
        self._read: dict[str, list[PlacedToken] | Refusal] = {}
        """Tokens of texts that were read, or the refusal. The same text may be needed for several requests."""
        determining = {"url": server.url, "bos": bos, "reading": READING, **server.settings}
        self.fingerprint = f"completions:{json.dumps(determining, sort_keys=True)}"
        self.notes: tuple[str, ...] = ()

    def identify(self) -> ServerIdentity:
        """Ask the server which model it serves.

        Texts read so far are forgotten, since it may be another model now.
        """
        self._read.clear()
        return self._server.identify()

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """Texts that are sent for a request.

        Each comes with the number of tokens that is generated.
        """
        parts = [part for _, part in split_requests(self, [request])]
        return [(_join_whole(part), 1) for part in parts if _has_text(part)]

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests, sending each distinct text once, in alphabetical order.

        So texts that begin alike follow each other, which suits a server's cache.
        """
        parts = split_requests(self, requests)
        owners = [index for index, _ in parts]
        yield from join_answers(requests, owners, self._answer_parts([part for _, part in parts]))

    def _answer_parts(self, parts: Sequence[Continuation]) -> Iterator[tuple[int, Pieces | Refusal]]:
        """Yield the answer to each part, by its number."""
        asking: dict[str, list[int]] = defaultdict(list)
        for number, part in enumerate(parts):
            if _has_text(part):
                asking[_join_whole(part)].append(number)
            else:
                yield number, NothingToScore(part.text).refusal
        unread = sorted(asking.keys() - self._read.keys())
        for text in asking.keys() & self._read.keys():
            for number in asking[text]:
                yield number, self._cut_pieces(parts[number], self._read[text])
        if not unread:
            return
        dialect = self._dialect or self._probe_dialects()
        bodies = [dialect.body(self._bos + text) for text in unread]
        read: Callable[[Any], list[ServedToken] | Refusal] = dialect.read
        bundle = self._bundle if len(unread) > 1 and self._check_lists(dialect) else None
        for place, tokens in self._server.stream(dialect.path, bodies, read, _refuse_too_long, bundle=bundle):
            text = unread[place]
            self._read[text] = tokens if isinstance(tokens, Refusal) else self._place_tokens(dialect, text, tokens)
            for number in asking[text]:
                yield number, self._cut_pieces(parts[number], self._read[text])

    def _probe_dialects(self) -> Dialect:
        """Find the first dialect that gives log-probabilities, by sending a short text.

        It is remembered, and a note may be made of tokens that the server puts before texts. Raises BadInput if there
        is none, or if the numbers belong to other tokens.
        """
        failures = []
        for dialect in DIALECTS:
            try:
                payload = self._server.post(dialect.path, dialect.body(self._bos + PROBE))
                tokens = dialect.read(payload)
                shifted = _is_shifted(payload)
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
            fault = _find_fault(tokens)
            if fault is None:
                self._dialect = dialect
                self._note_start(tokens)
                return dialect
            failures.append(f"{dialect.name}: {fault}")
        fact = f"no log-probabilities of the texts sent ({'; '.join(failures)}), so none can be scored"
        raise self._server.error("", fact, f"is {self._bos} a token of this model? {WAY_OUT}" if self._bos else WAY_OUT)

    def _check_lists(self, dialect: Dialect) -> bool:
        """Whether the server answers two texts in one call separately.

        It is asked once.
        """
        if self._lists is None:
            texts = (PROBE, " ".join(reversed(PROBE.split())))
            self._lists = dialect.lists and self._bundle.most > 1
            try:
                if self._lists:
                    body = _join_bodies([dialect.body(self._bos + text) for text in texts])
                    payload = self._server.post(dialect.path, body, retries=0)
                    token_lists = map(dialect.read, _split_payload(payload, len(texts)))
                    pairs = zip(texts, token_lists, strict=True)
                    self._lists = all(align(text, tokens) for text, tokens in pairs)
            except (BadInput, ValueError, TypeError, LookupError, AttributeError):
                self._lists = False
        return self._lists

    def _note_start(self, tokens: Sequence[ServedToken]) -> None:
        """Note how many tokens the server puts before a text.

        Only if there are none, although the SPEC names no BOS, or if there are several.
        """
        placed = align(PROBE, tokens) or []
        before = sum(token.end == 0 for token in placed)
        if not before and not self._bos:
            self.notes = (f"{self.spec}: the server reads texts without BOS before them",)
        elif before > 1:
            way_out = "; it puts BOS there itself: leave out ?bos=" if self._bos else ""
            self.notes = (f"{self.spec}: the server reads {before} tokens before every text{way_out}",)

    def _place_tokens(self, dialect: Dialect, text: str, tokens: Sequence[ServedToken]) -> list[PlacedToken]:
        """Find the places of a server's tokens in a text.

        Raises BadInput if they are not those of the text, or if one has no log-probability. The text's first token
        needs none, since it may follow nothing.
        """
        placed = align(text, tokens)
        if placed is None:
            spelt = "".join(token or "…" for token, _ in tokens[:12])
            raise self._server.error(dialect.path, f"log-probabilities of another text than {text[:40]!r}: {spelt!r}")
        first_index = next((number for number, token in enumerate(placed) if token.end > 0), 0)
        first_index += placed[first_index].start == 0 and placed[first_index].logprob is None
        if not _are_logprobs([token.logprob for token in placed[first_index:]]):
            wrong = next(token for token in placed[first_index:] if not _are_logprobs([token.logprob]))
            token_text = text[wrong.start : wrong.end]
            fact = f"{wrong.logprob!r} is not a log-probability, of {token_text!r} in {text[:40]!r}"
            raise self._server.error(dialect.path, fact)
        return placed

    def _cut_pieces(self, part: Continuation, read: list[PlacedToken] | Refusal) -> Pieces | Refusal:
        """Pieces of a continuation, given the tokens of its whole text.

        A Refusal if the text could not be read, if none of its tokens can be scored, or if it is unclear which.
        """
        if isinstance(read, Refusal):
            return read
        context, text = moved(part)
        whole_text = context + text
        border = len(context)
        length = len(part.text)
        origin = len(whole_text) - length
        scored = False
        pieces = list[Piece]()
        for token_start, token_end, logprob, least_end in read:
            if token_end <= border and not token_start >= border > 0:
                continue
            if 0 < border < token_end and least_end <= border:
                return Refusal(UNPLACED)
            scored = True
            if logprob is not None:
                start, end = strip_spaces(whole_text, token_start, token_end)
                piece_start = min(max(start - origin, 0), length)
                piece_end = min(max(end - origin, 0), length)
                pieces.append(Piece(piece_start, piece_end, logprob))
        if pieces:
            return tuple(pieces)
        return Refusal(ALONE.partition(";")[0]) if scored else NothingToScore(part.text).refusal


def _join_bodies(bodies: Sequence[Body]) -> Body:
    """Join the requests for several texts into one."""
    return {**bodies[0], "prompt": [body["prompt"] for body in bodies]}


def _split_payload(payload: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """Split the response to several texts into one for each.

    Raises ValueError if their number differs.
    """
    choices = {choice["index"]: choice for choice in payload["choices"]}
    if len(payload["choices"]) != count:
        raise ValueError(f"{len(payload['choices'])} choices for {count} texts")
    return [{**payload, "choices": [choices[place]]} for place in range(count)]


def _join_whole(part: Continuation) -> str:
    """Context and text of a part as one text."""
    return "".join(moved(part))


def _has_text(part: Continuation) -> bool:
    """Whether a part has any text to send and to score."""
    return bool(part.text) and not _join_whole(part).isspace()


def _refuse_too_long(complaint: Complaint) -> Refusal | None:
    """Refusal for a complaint that the text is too long.

    None for other complaints.
    """
    return Refusal(complaint.text) if complaint.too_long else None


def _are_logprobs(numbers: Sequence[Any]) -> bool:
    """Whether all numbers are finite and, up to rounding, not above zero."""
    try:
        return isfinite(sum(numbers)) and max(numbers, default=0) < 1e-3
    except (TypeError, OverflowError):
        return False


def _is_shifted(payload: Any) -> bool:
    """Whether the log-probabilities of the probe belong to the next token.

    llama-cpp-python 0.3.36 shifts them for texts that do not begin with BOS.
    """
    try:
        logprobs = payload["choices"][0]["logprobs"]
        tokens = logprobs["tokens"]
        listed = logprobs["top_logprobs"]
        likeliest = list(map(_get_likeliest, listed))
    except (LookupError, TypeError, AttributeError):
        return False
    here = sum(map(eq, likeliest, tokens))
    behind = sum(map(eq, likeliest, tokens[1:]))
    return bool(behind > max(here, 2))


def _get_likeliest(logprobs: Mapping[str, float] | None) -> str | None:
    """Token with the highest log-probability, or None if there is none."""
    return max(logprobs, key=logprobs.__getitem__) if logprobs else None


def _find_fault(tokens: Sequence[ServedToken]) -> str | None:
    """Describe a fault in the tokens of the probe, or return None."""
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
