r"""Servers that stand in for models, for tests of whoever talks to one: they need the standard library alone.

Each is a context manager with a `url`, and counts what it is asked:

>>> from winokit.models.base import Ask
>>> from winokit.models.registry import load_model
>>> with ReasoningServer("</think>") as server:
...     model = load_model(f"chat:thinker@{server.url}")
...     ((_, reply),) = model.answer([Ask("Which?\nA. the jug\nB. the cup\nAnswer:", ("A", "B"))])
>>> reply.text
'It may be B. Wait, no.\n</think>\n\nA'
>>> reply.choice, len(server.bodies)
(0, 1)
"""

import hashlib
import json
import random
import re
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass(frozen=True)
class Response:
    """Reply to a request: a status with JSON or raw bytes, after a pause in seconds."""

    status: int = 200
    payload: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    hangs_up: bool = False
    """The connection ends without a reply."""
    dies: bool = False
    """The server ends without a reply."""


def complains(status: int, message: str, **headers: str) -> Response:
    """An error as OpenAI words it; `Retry_After="1"` is a header."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(status, {"error": {"message": message, "type": "some_error"}}, named)


def lists_model(**facts: Any) -> Response:
    """Reply of `/models` for a single model: `lists_model(id="tiny", created=1_700_000_000)`."""
    return Response(payload={"object": "list", "data": [{"object": "model", **facts}]})


class FakeServer:
    """A server on a free port (or a given one) for as long as the `with` block lasts; kinds of it say what to respond.

    Attributes
    ----------
    bodies, paths, keys, times
        Of each request, in the order in which they came: its JSON (None for a GET), its path below the URL, its
        Authorization header, and when it came. Whoever looks up `/models` is counted in `lookups` alone.
    probes
        The JSON of requests that find out if replies can be constrained; they are counted nowhere else.
    most_at_once
        How many requests were under way together at most.
    models
        What `/models` lists, if anything: see `lists_model`.
    """

    def __init__(self, port: int = 0) -> None:
        self.models: Response | None = None
        self.lookups = 0
        self.probes: list[Any] = []
        self.bodies: list[Any] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.times: list[float] = []
        self.at_once = 0
        self.most_at_once = 0
        self.dead = False
        self._lock = threading.Lock()
        self._wanted_port = port

    def respond(self, number: int, path: str, body: Any) -> Response:
        """Make the reply to the request of that number (from 0)."""
        return complains(404, f"nothing at {path}")

    def respond_to_probe(self, body: Any) -> Response:
        """Make the reply to a request that finds out if replies can be constrained: here a free reply."""
        return says("Paris is the capital of France.")

    @property
    def port(self) -> int:
        """Port on which it listens, once it is started."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """Address that a SPEC names after the @."""
        return f"http://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> Self:
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = _QuietServer(("127.0.0.1", self._wanted_port), handler)
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.die()
        self._thread.join()

    def die(self) -> None:
        """Stop accepting connections and answering on those there are."""
        self.dead = True
        self._http.shutdown()
        self._http.server_close()

    def receive(self, path: str, body: Any, key: str | None) -> Response:
        """Count a request and respond to it."""
        if path == "/models" and body is None:
            self.lookups += 1
            response = self.models or complains(404, "nothing at /models")
            time.sleep(response.pause)
            return response
        if asks_for_city(body):
            self.probes.append(body)
            return self.respond_to_probe(body)
        with self._lock:
            number = len(self.bodies)
            self.bodies.append(body)
            self.paths.append(path)
            self.keys.append(key)
            self.times.append(time.monotonic())
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        response = self.respond(number, path, body)
        time.sleep(response.pause)
        with self._lock:
            self.at_once -= 1
        if response.dies:
            self.die()
        return response


def asks_for_city(body: Any) -> bool:
    """Whether a request finds out if replies can be constrained."""
    messages = body.get("messages") if isinstance(body, dict) else None
    return bool(messages) and str(messages[-1]["content"]).startswith("What is the capital of France?")


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128  # of 5, the usual number, a dozen clients at once find some lost, and wait a second

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients may hang up when they like."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    owner: FakeServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._send_reply(None)

    def do_POST(self) -> None:
        self._send_reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _send_reply(self, body: Any) -> None:
        response = self.owner.receive(self.path.removeprefix("/v1"), body, self.headers.get("Authorization"))
        if self.owner.dead or response.hangs_up:
            self.close_connection = True
            return
        raw = response.payload
        if not isinstance(raw, bytes):
            raw = json.dumps(response.payload).encode()
        try:
            self.send_response(response.status)
            for name, value in {"Content-Type": "application/json", **response.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:  # the client did not wait
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Keep the test's output to itself."""


def _cut_in_half(response: Response) -> Response:
    """Reply with the first half of the bytes."""
    raw = json.dumps(response.payload).encode()
    return replace(response, payload=raw[: len(raw) // 2])


TROUBLES: Mapping[str, Callable[[Response], Response]] = {
    "429": lambda _: complains(429, "too many requests", Retry_After="0.01"),
    "500": lambda _: complains(500, "something broke"),
    "503": lambda _: complains(503, "overloaded"),
    "html": lambda _: Response(payload=b"<!doctype html><title>Sign in</title>", headers={"Content-Type": "text/html"}),
    "half": _cut_in_half,
    "null": lambda _: Response(payload={"choices": [{"message": {"content": None}, "text": None, "logprobs": None}]}),
    "hangs up": lambda _: Response(hangs_up=True),
    "late": lambda response: replace(response, pause=1.0),
}
"""Ways to fail, each from the right response to the one that is sent."""


class FlakyServer(FakeServer):
    """A server that fails at random, and otherwise responds as another one would (which need not be started).

    Parameters
    ----------
    share
        How many of the requests fail.
    troubles
        Names of `TROUBLES`, of which each failure is one.
    """

    def __init__(
        self, sound: FakeServer, share: float = 0.5, troubles: Sequence[str] = ("429",), *, seed: int = 0, port: int = 0
    ) -> None:
        super().__init__(port)
        self.sound = sound
        self.share = share
        self.troubles = troubles
        self.failed = 0
        self._chance = random.Random(seed)

    def respond(self, number: int, path: str, body: Any) -> Response:
        """Fail at random, else respond as the sound server does."""
        response = self.sound.respond(number, path, body)
        if self._chance.random() >= self.share:
            return response
        self.failed += 1
        return TROUBLES[self._chance.choice(self.troubles)](response)


Tokens = Sequence[tuple[str, Mapping[str, float]]]
"""Each token of a reply, with the log-probabilities of the tokens that were possible there, itself included."""


def says(text: str | None, tokens: Tokens | None = None, finish: str | None = None, **message: Any) -> Response:
    """Chat completion with this text, and log-probabilities of its tokens if given.

    Without a text, and unless `finish` says otherwise, it ended because its tokens were spent.
    """
    reason = "stop" if text else "length"
    choice: dict[str, Any] = {
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish or reason,
    }
    if tokens is not None:
        choice["logprobs"] = {"content": [_describe_token(token, alternatives) for token, alternatives in tokens]}
    return Response(payload={"choices": [choice]})


def _describe_token(token: str, alternatives: Mapping[str, float]) -> dict[str, Any]:
    """Log-probabilities of a token and its alternatives, as a chat completion writes them."""
    top_logprobs = [{"token": name, "logprob": logprob} for name, logprob in alternatives.items()]
    return {"token": token, "logprob": alternatives[token], "top_logprobs": top_logprobs}


class ChatServer(FakeServer):
    """A server for chat completions that does what a function says of a request's number (from 0) and body."""

    def __init__(self, behaviour: Callable[[int, dict[str, Any]], Response], port: int = 0) -> None:
        super().__init__(port)
        self.behaviour = behaviour

    def respond(self, number: int, path: str, body: Any) -> Response:
        """Respond as the function says."""
        if path != "/chat/completions":
            return complains(404, f"nothing at {path}")
        return self.behaviour(number, body)


def options_in(body: Mapping[str, Any]) -> list[str]:
    """Letters of the options of a request's last question, or yes and no."""
    _, _, question = body["messages"][-1]["content"].rpartition("Question:")
    return re.findall(r"^([A-Z])\. ", question, re.MULTILINE) or ["yes", "no"]


class CoinServer(ChatServer):
    """A chat model that guesses: the same prompt gets the same guess from the same seed, whatever came before."""

    def __init__(self, seed: int = 0, port: int = 0) -> None:
        super().__init__(self._toss_coin, port)
        self.seed = seed

    def _toss_coin(self, request_number: int, body: Mapping[str, Any]) -> Response:
        options = options_in(body)
        digest = hashlib.sha256(f"{self.seed} {body['messages']}".encode()).digest()
        number = int.from_bytes(digest[:8], "big")
        return says(options[number % len(options)])


NUMBERED = ("takes", "ignores", "refuses")
"""Ways of a server to treat a request for `n` replies."""


class SamplingServer(ChatServer):
    """A chat model that answers by a coin in every sample, or the same every time.

    Parameters
    ----------
    steady
        Whether all replies to a prompt are the same.
    several
        One of `NUMBERED`.
    """

    def __init__(self, *, steady: bool = False, several: str = "takes", seed: int = 0, port: int = 0) -> None:
        super().__init__(self._sample_replies, port)
        self.steady = steady
        self.several = several
        self._coin = random.Random(seed)

    def _sample_replies(self, number: int, body: Mapping[str, Any]) -> Response:
        count = int(body.get("n", 1))
        if count > 1 and self.several == "refuses":
            return complains(400, "Unrecognized request argument supplied: n")
        options = options_in(body)
        digest = hashlib.sha256(str(body["messages"]).encode()).digest()
        choices = []
        for _ in range(count if self.several == "takes" else 1):
            option = options[digest[0] % len(options)] if self.steady else self._coin.choice(options)
            choices += says(option).payload["choices"]
        return Response(payload={"choices": choices})


class ConstrainingServer(ChatServer):
    """A chat model that names no option, unless it is held to them in one way.

    Parameters
    ----------
    field
        The way that it obeys: structured_outputs, guided_choice, grammar or response_format; empty for none.
    refuses
        Whether it refuses a request that holds it to anything in another way; else it ignores that.
    """

    def __init__(self, field: str, *, refuses: bool = False, port: int = 0) -> None:
        super().__init__(lambda number, body: self._answer_request(body), port)
        self.field = field
        self.refuses = refuses

    def respond_to_probe(self, body: Any) -> Response:
        """Respond as to any other request."""
        return self._answer_request(body)

    def _answer_request(self, body: Mapping[str, Any]) -> Response:
        other_fields = {"structured_outputs", "guided_choice", "grammar", "response_format"} - {self.field}
        refused_fields = sorted(other_fields & body.keys())
        if self.refuses and refused_fields:
            return complains(400, f"Unrecognized request argument supplied: {refused_fields[0]}")
        if self.field not in body:
            return says("That is hard to say.")
        replies = _list_allowed(self.field, body[self.field])
        digest = hashlib.sha256(str(body["messages"]).encode()).digest()
        reply = replies[digest[0] % len(replies)]
        if self.field == "response_format":
            reply = json.dumps({"answer": reply})
        return says(reply)


def _list_allowed(field: str, value: Any) -> list[str]:
    """List the replies that a constraint allows, given the value of its field."""
    if field == "structured_outputs":
        return list(value["choice"])
    if field == "grammar":
        return re.findall(r'"([^"]*)"', value.removeprefix("root ::= "))
    if field == "response_format":
        return list(value["json_schema"]["schema"]["properties"]["answer"]["enum"])
    return list(value)


def _wrap_thought(start: str, end: str) -> Callable[[str, str | None], dict[str, Any]]:
    """Make a function that writes a thought between two marks, and the answer, if there is one, after them."""

    def write_message(thought: str, answer: str | None) -> dict[str, Any]:
        if answer is None:
            return {"content": start + thought}
        return {"content": start + thought + end + answer}

    return write_message


THOUGHTS_WRITTEN: Mapping[str, Callable[[str, str | None], dict[str, Any]]] = {
    "reasoning_content": lambda thought, answer: {"content": answer, "reasoning_content": thought},
    "reasoning": lambda thought, answer: {"content": answer, "reasoning": thought},
    "<think>": _wrap_thought("<think>\n", "\n</think>\n\n"),
    "</think>": _wrap_thought("", "\n</think>\n\n"),
    "[THINK]": _wrap_thought("[THINK]", "[/THINK]"),
    "<reasoning>": _wrap_thought("<reasoning>", "</reasoning>\n"),
    "<seed:think>": _wrap_thought("<seed:think>", "</seed:think>"),
    "gpt-oss": _wrap_thought("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
}
"""The message of a model that thinks, from its thought and its answer (None where it does not get that far)."""


class ReasoningServer(ChatServer):
    """A chat model that thinks of the last option aloud, then answers with the first.

    Parameters
    ----------
    style
        How thoughts are written: a name of `THOUGHTS_WRITTEN`.
    length
        Words of a thought. A request with fewer `max_tokens` gets the beginning of the thought, and no answer.
    """

    def __init__(self, style: str = "reasoning_content", length: int = 6, port: int = 0) -> None:
        super().__init__(self._think_aloud, port)
        self.style = style
        self.length = length

    def _think_aloud(self, number: int, body: Mapping[str, Any]) -> Response:
        options = options_in(body)
        words = ["Well,"] * (self.length - 6) + f"It may be {options[-1]}. Wait, no.".split()
        room = body.get("max_tokens") or body.get("max_completion_tokens") or len(words) + 1
        thought = " ".join(words[:room])
        if len(words) >= room:
            message = THOUGHTS_WRITTEN[self.style](thought, None)
            finish = "length"
        else:
            message = THOUGHTS_WRITTEN[self.style](thought, options[0])
            finish = "stop"
        return says(message.pop("content"), finish=finish, **message)


SpeltTokens = Sequence[tuple[str, float | None]]
"""The tokens of a text as they are written, each with its log-probability; None for the first."""
SERVED = ("echo", "prompt_logprobs", "generate", "generated only", "zeros", "some")
"""What a `CompletionsServer` may speak: as OpenAI's completions did (llama-cpp-python, vLLM, TGI), with vLLM's
`prompt_logprobs`, at SGLang's own `/generate`; or, of no use: log-probabilities of what is generated alone
(llama.cpp's own server), zeros, or log-probabilities of some tokens only."""
GENERATED = (" and", -1.5)
"""Token that continues every text, with its log-probability."""


def words_at_random(text: str) -> SpeltTokens:
    """Words with the space before them, with log-probabilities from a hash of the text up to each."""
    tokens: list[tuple[str, float | None]] = []
    text_so_far = ""
    for word in re.findall(r"\s*\S+|\s+\Z", text):
        text_so_far += word
        digest = hashlib.sha256(text_so_far.encode()).digest()
        logprob = -int.from_bytes(digest[:2]) / 6553.6 if tokens else None
        tokens.append((word, logprob))
    return tokens


class CompletionsServer(FakeServer):
    """A server for completions.

    Parameters
    ----------
    speaks
        One of `SERVED`.
    tokens
        From a text to its tokens, BOS first if there is one.
    most
        Tokens that it reads at most.
    lists
        Whether a prompt may be a list, which is answered with a choice for each text, as vLLM does; one text too long
        among them is a complaint about all. llama-cpp-python takes none.
    """

    def __init__(
        self,
        speaks: str = "echo",
        tokens: Callable[[str], SpeltTokens] = words_at_random,
        *,
        most: int = 4096,
        lists: bool = True,
        port: int = 0,
    ) -> None:
        super().__init__(port)
        self.speaks = speaks
        self.tokens = tokens
        self.most = most
        self.lists = lists

    def respond(self, number: int, path: str, body: Any) -> Response:
        """Respond with the log-probabilities of texts, if the request has this server's form."""
        is_sglang = self.speaks == "generate"
        expected_path = "/generate" if is_sglang else "/completions"
        if path != expected_path:
            return complains(404, "Not Found")
        prompts = body["text"] if is_sglang else body["prompt"]
        is_list = isinstance(prompts, list)
        if is_list and not self.lists:
            return complains(500, "1 validation error for the request: prompt: expected a string")
        texts = prompts if is_list else [prompts]
        tokens_of_texts = [list(self.tokens(text)) for text in texts]
        token_counts = [len(tokens) for tokens in tokens_of_texts]
        if max(token_counts) > self.most:
            return complains(400, f"This model's maximum context length is {self.most} tokens.")
        usage = {"prompt_tokens": sum(token_counts), "completion_tokens": len(texts)}
        if is_sglang:
            rows = [[logprob, place, text] for place, (text, logprob) in enumerate(tokens_of_texts[0])]
            return Response(payload={"text": GENERATED[0], "meta_info": {"input_token_logprobs": rows, **usage}})
        choices = []
        for index, (text, tokens) in enumerate(zip(texts, tokens_of_texts, strict=True)):
            choices.append(self._make_choice(body, index, text, tokens))
        return Response(payload={"model": body.get("model"), "choices": choices, "usage": usage})

    def _make_choice(self, body: Any, index: int, prompt: str, tokens: SpeltTokens) -> dict[str, Any]:
        """Make the choice for one text."""
        choice: dict[str, Any] = {"index": index, "text": GENERATED[0], "logprobs": None, "finish_reason": "length"}
        if self.speaks == "prompt_logprobs" and "prompt_logprobs" in body:
            choice["prompt_logprobs"] = _describe_prompt(tokens)
        elif body.get("logprobs") is not None:
            echoes = body.get("echo") and self.speaks in ("echo", "zeros", "some")
            if echoes:
                choice["text"] = prompt + GENERATED[0]
            choice["logprobs"] = self._describe_tokens([*tokens, GENERATED] if echoes else [GENERATED])
        return choice

    def _describe_tokens(self, tokens: SpeltTokens) -> dict[str, Any]:
        """Log-probabilities of tokens as OpenAI's completions wrote them, some or all of them spoilt."""
        logprobs = [logprob for _, logprob in tokens]
        if self.speaks == "zeros":
            logprobs = [0.0] * len(tokens)
        elif self.speaks == "some":
            logprobs[::2] = [None] * len(logprobs[::2])
        return {
            "tokens": [text for text, _ in tokens],
            "token_logprobs": logprobs,
            "text_offset": [0] * len(tokens),
        }


def _describe_prompt(tokens: SpeltTokens) -> list[dict[str, Any] | None]:
    """Log-probabilities of a prompt's tokens as vLLM writes them, None for the first."""
    entries: list[dict[str, Any] | None] = []
    for place, (text, logprob) in enumerate(tokens):
        if logprob is None:
            entries.append(None)
        else:
            entries.append({str(place): {"logprob": logprob, "rank": 1, "decoded_token": text}})
    return entries


class NgramServer(FakeServer):
    """An n-gram index of a few documents, by the protocol of infini-gram.

    Words and marks are its tokens, capitals count, and documents are drawn at random with repetitions.

    Parameters
    ----------
    documents
        What is indexed.
    index
        The name of the only index.
    """

    MOST = 10
    """Documents of one reply."""

    def __init__(self, documents: Sequence[str], index: str = "small", *, seed: int = 0, port: int = 0) -> None:
        super().__init__(port)
        self.documents = list(documents)
        self.index = index
        self._tokens = [_find_tokens(document) for document in documents]
        self._chance = random.Random(seed)

    @property
    def url(self) -> str:
        """Address that a SPEC names after the @, without a path."""
        return f"http://127.0.0.1:{self.port}"

    def respond(self, number: int, path: str, body: Any) -> Response:
        """Count or show documents, or say in the reply what is wrong with the query."""
        if body.get("index") != self.index:
            return Response(payload={"error": f"Index {body.get('index')} does not exist"})
        kind = body["query_type"]
        query = body["query"]
        if kind == "count" and not query:
            return Response(payload={"count": sum(map(len, self._tokens)), "approx": False, "latency": 0.1})
        clauses = [clause.split(" OR ") for clause in query.split(" AND ")]
        if len(clauses) > 4 or max(map(len, clauses)) > 4:
            return Response(payload={"error": "at most 4 clauses of 4 terms"})
        matches = self._find_matches(clauses, body.get("max_diff_tokens", 100))
        if kind == "count":
            return Response(payload={"count": len(matches), "approx": False, "latency": 0.1})
        if kind != "search_docs" or not 1 <= body["maxnum"] <= self.MOST:
            return Response(payload={"error": f"cannot do {kind}"})
        documents = []
        for _ in range(body["maxnum"] if matches else 0):
            document_index, places = self._chance.choice(matches)
            documents.append(self._show_document(document_index, places))
        return Response(payload={"cnt": len(matches), "approx": False, "documents": documents})

    def _find_matches(self, clauses: Sequence[Sequence[str]], within: int) -> list[tuple[int, list[tuple[int, int]]]]:
        """Find the places where all clauses are at most `within` tokens from the first.

        Each match is the index of a document, and a range of tokens for each clause.
        """
        matches = []
        for document_index in range(len(self.documents)):
            first_places, *places_of_others = [self._find_places(document_index, clause) for clause in clauses]
            for first in first_places:
                match = [first]
                for places in places_of_others:
                    match += [place for place in places if abs(place[0] - first[0]) <= within][:1]
                if len(match) == len(clauses):
                    matches.append((document_index, match))
        return matches

    def _find_places(self, number: int, clause: Sequence[str]) -> list[tuple[int, int]]:
        """Find one of some n-grams in a document, as ranges of tokens."""
        places = []
        tokens = [self.documents[number][start:end] for start, end in self._tokens[number]]
        for term in clause:
            ngram = [term[start:end] for start, end in _find_tokens(term)]
            for start in range(len(tokens) - len(ngram) + 1):
                end = start + len(ngram)
                if tokens[start:end] == ngram:
                    places.append((start, end))
        return places

    def _show_document(self, number: int, places: Sequence[tuple[int, int]]) -> dict[str, Any]:
        """Show a document as spans: those of the clauses, and the texts between them."""
        text = self.documents[number]
        tokens = self._tokens[number]
        spans: list[tuple[str, str | None]] = []
        shown_until = 0
        for clause, (first, last) in sorted(enumerate(places), key=lambda numbered: numbered[1]):
            start, _ = tokens[first]
            _, end = tokens[last - 1]
            if start >= shown_until:
                spans += [(text[shown_until:start], None), (text[start:end], str(clause))]
                shown_until = end
        spans.append((text[shown_until:], None))
        return {"doc_ix": number, "doc_len": len(tokens), "disp_len": len(tokens), "metadata": "{}", "spans": spans}


def _find_tokens(text: str) -> list[tuple[int, int]]:
    """Start and end of each word and mark of a text."""
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
