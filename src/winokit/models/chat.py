"""Chat models behind an OpenAI-compatible server: `chat:MODEL@URL` (OpenAI, vLLM, llama.cpp, Ollama and others).

Without a URL, the server is OPENAI_BASE_URL, or OpenAI itself. The key comes from OPENAI_API_KEY, or from the
variable that the option key_env names, and is never shown. The answer is the option that the reply names
(`choice_in`). If the server gives log-probabilities, they say how sure it was of each option (`option_logprobs`).

Replies may have 512 tokens, since models that reason need them before the answer. Others stop after a letter.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from winokit.errors import BadInput
from winokit.models.base import Answer, Ask, Refusal, Reply, Request, cannot
from winokit.models.chat_client import PATH, ChatClient, ChatToken, Completion, Messages
from winokit.models.constraints import AUTO, CONSTRAINTS, JSON, KINDS, OFF, WISHES, Constraint, said_in_json
from winokit.models.identity import ServerIdentity
from winokit.models.registry import Spec
from winokit.models.replies import AROUND, FilledText, choice_in
from winokit.models.server import SERVER_OPTIONS, Body, connect
from winokit.models.thoughts import ALL_THOUGHT, UNFINISHED, answer_in

CHAT_OPTIONS = ("temperature", "max_tokens", "logprobs", "system", "seed", "thoughts", "n", "constrain")
"""Options of a SPEC, in addition to those of all servers."""
MOST_SAMPLES = 128
"""Most samples of a question: as many as OpenAI returns for one request."""
SAMPLING_TEMPERATURE = 1.0
"""Temperature for several samples, unless the SPEC has one. At 0 they would be equal."""
TOP_LOGPROBS = 20
"""Number of alternatives requested at each token, the most that OpenAI gives."""
READING = 4
"""Version of how replies are read, part of the fingerprint. Raise it whenever the same reply is read differently."""

REFUSED = "a refusal"
SPECIAL_TOKEN = re.compile(r"<\|\w+\|>")
BLANKED_LINE = re.compile(r"^[ \t]*(?:\w+:)?([^_\n]*)(?<!\w)_(?!\w)([^_\n]*)$", re.MULTILINE)
"""Pattern of a line with one blank, in a question."""


def load(spec: Spec) -> "ChatModel":
    """Make the model of a chat SPEC.

    Nothing is sent to its server yet.
    """
    spec.only(*SERVER_OPTIONS, *CHAT_OPTIONS)
    logprobs = spec.choice("logprobs", ("auto", "on", "off")) or "auto"
    repeats = spec.number("n", 1, least=1, most=MOST_SAMPLES)
    settings: dict[str, Any] = {
        "temperature": spec.number("temperature", 0.0 if repeats == 1 else SAMPLING_TEMPERATURE),
        "max_tokens": spec.number("max_tokens", 512, least=1),
    }
    if "seed" in spec.options:
        settings["seed"] = spec.number("seed", 0)
    if logprobs != "off":
        settings |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    client = ChatClient(connect(spec, **settings), needs_logprobs=logprobs == "on")
    model = ChatModel(str(spec), client, spec.options.get("system", ""), _parse_marks(spec))
    model.repeats = repeats
    model.wish = spec.choice("constrain", WISHES) or AUTO
    if model.wish in KINDS:
        model.constrain(model.wish)
    return model


def _parse_marks(spec: Spec) -> tuple[tuple[str, str], ...]:
    """Read the marks around thoughts from the option `thoughts=OPEN,CLOSE`.

    Empty without the option. Raises BadInput if it has no closing mark.
    """
    if "thoughts" not in spec.options:
        return ()
    start, comma, end = spec.options["thoughts"].partition(",")
    if not comma or not end:
        raise BadInput(
            "chat: option thoughts: expected OPEN,CLOSE, as thoughts=<plan>,</plan>; OPEN may be empty, where thoughts "
            f"begin without a mark; found {spec.options['thoughts']!r}"
        )
    return ((start, end),)


class ChatModel:
    """A chat model behind an OpenAI-compatible server.

    `marks` are pairs of strings around a thought, in addition to the usual ones.
    """

    kind = "chat"
    can: frozenset[type] = frozenset({Ask})

    def __init__(self, spec: str, client: ChatClient, system: str = "", marks: Sequence[tuple[str, str]] = ()) -> None:
        self.spec = spec
        self._client = client
        self._system = system
        self._marks = marks
        self.usage = client.server.usage
        self.count_tokens = client.server.count_tokens
        self.repeats = 1
        """Number of samples to draw for each question."""
        self.wish = OFF
        """Constraint that the user wishes for: one of `WISHES`."""
        self.constraint: str | None = None
        """Kind of constraint on replies, part of the fingerprint, or None."""
        self._server_constraint: Constraint | None = None
        """The constraint in the form that this server obeys, or None."""
        self.constraint_notes: list[str] = []
        determining = {"url": client.server.url + PATH, "system": system, "reading": READING, **client.server.settings}
        self._determining = determining | ({"thoughts": marks} if marks else {})
        self.fingerprint = self.free_fingerprint = f"chat:{json.dumps(self._determining, sort_keys=True)}"
        """`free_fingerprint` is the fingerprint of replies without a constraint."""
        readings = ({**self._determining, "reading": number} for number in range(1, READING))
        self.earlier = [f"chat:{json.dumps(reading, sort_keys=True)}" for reading in readings]
        """Fingerprints of earlier versions: thoughts not separated from answers, then Chinese replies not read,
        then names compared letter by letter."""

    def constrain(self, kind: str | None) -> None:
        """Constrain later replies by a kind of constraint.

        They are free if `kind` is None. It is part of the fingerprint, so that constrained and free replies are stored
        apart.
        """
        self.constraint = kind
        if kind is not None:
            self.fingerprint = f"chat:{json.dumps({**self._determining, 'constrain': kind}, sort_keys=True)}"
            self.earlier = []

    def find_constraint(self, kinds: Sequence[str] = KINDS) -> str | None:
        """Find the first kind of constraint that the server obeys.

        None if it obeys none of `kinds`. Asks the server. The result is described in `constraint_notes`. It is used for
        later replies.
        """
        outcomes = []
        for way in CONSTRAINTS:
            if way.kind not in kinds:
                continue
            obeys = self._client.obeys(way)
            if obeys:
                self._server_constraint = way
                self.constraint_notes = [
                    f"replies are held to the options by {way.field}, which is another task than a free reply; "
                    "?constrain=off asks freely"
                ]
                return way.kind
            outcomes.append(f"{way.field} is {'refused' if obeys is None else 'ignored'}")
        self.constraint_notes = [f"replies are free: the server constrains none ({', '.join(outcomes)})"]
        return None

    def identify(self) -> ServerIdentity:
        """Ask the server which model it serves."""
        return self._client.server.identify()

    @property
    def samples(self) -> bool:
        """Whether the same question may get different replies.

        It may if the temperature is above 0.
        """
        return float(self._client.server.settings.get("temperature", 1.0)) > 0

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """Text that is sent for a request, and the longest reply.

        The length is the largest number of tokens. 0 means that there is no such limit.
        """
        settings = self._client.server.settings
        most = int(settings.get("max_tokens") or settings.get("max_completion_tokens") or 0)
        messages = self._build_messages(request) if isinstance(request, Ask) else []
        text = "\n".join(message["content"] for message in messages)
        return [(text, most)]

    @property
    def plan(self) -> str:
        """Description of how replies are read, and of refused settings.

        Before the first reply, only refused settings and the constraint are known.
        """
        notes = [*self._client.notes, *self.constraint_notes]
        if not self._client.settled:
            return "; ".join(notes)
        how = "by log-probabilities" if "logprobs" in self._client.server.settings else "by parsed answers"
        often = []
        if self.repeats > 1:
            temperature = self._client.server.settings.get("temperature")
            how_warm = "the server's own temperature" if temperature is None else f"temperature {temperature:g}"
            often = [f"{self.repeats} samples at {how_warm}"]
        return "; ".join([how, *often, *notes])

    def reread(self, request: Request, place: int, kept: Answer) -> Answer:
        """Read a stored reply again with the present rules.

        It was stored under the fingerprint `earlier[place]`. Only replies without a choice are read again, or those
        whose thought was read as part of the answer. Others are returned as they are.
        """
        if not (isinstance(request, Ask) and isinstance(kept, Reply)):
            return kept
        with_thought = place == 0 and answer_in(kept.text, self._marks) != kept.text
        if not with_thought and (kept.choice is not None or kept.why):
            return kept
        return reply(request, Completion(kept.text), self._marks)

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Send all questions, several at once, yielding (index, reply) as replies arrive."""
        asks = [request for request in requests if isinstance(request, Ask)]
        if len(asks) < len(requests):
            raise cannot(self, next(request for request in requests if not isinstance(request, Ask)))
        if asks and self.constraint is not None and self._server_constraint is None:
            self._find_constraint_way(self.constraint)
        for index, completion in self._complete_asks(asks):
            too_long = Refusal(completion.text) if completion.too_long else None
            yield index, too_long or reply(asks[index], completion, self._marks, self.constraint)

    def _find_constraint_way(self, kind: str) -> None:
        """Find how the server is told to use a kind of constraint.

        Raises BadInput if it obeys none.
        """
        if self.find_constraint([kind]) is None:
            reason = self.constraint_notes.pop().partition(": ")[2]
            raise BadInput(
                f"{self.spec}: expected a server that constrains replies by {kind}, found otherwise: {reason}; "
                "?constrain=off asks for free replies"
            )

    def _complete_asks(self, asks: Sequence[Ask]) -> Iterator[tuple[int, Completion]]:
        """Yield the completion of each question, by index.

        Questions with the same request are samples, which are requested together.
        """
        bodies = [self._build_body(ask) for ask in asks]
        samples: dict[str, list[int]] = {}
        for index, body in enumerate(bodies):
            samples.setdefault(json.dumps(body, sort_keys=True), []).append(index)
        if len(samples) == len(asks):
            yield from self._client.complete(bodies)
            return
        waiting = [iter(indices) for indices in samples.values()]
        firsts = [bodies[indices[0]] for indices in samples.values()]
        for number, completion in self._client.complete_many(firsts, list(map(len, samples.values()))):
            yield next(waiting[number]), completion

    def _build_body(self, ask: Ask) -> Body:
        """Build the request for a question, with a different seed for each sample."""
        body: dict[str, Any] = {"messages": self._build_messages(ask)}
        seed = self._client.server.settings.get("seed")
        if seed is not None and ask.sample:
            body["seed"] = seed + ask.sample
        return body if self._server_constraint is None else {**body, **self._server_constraint.body(ask.options)}

    def _build_messages(self, ask: Ask) -> Messages:
        """Build the messages for a question.

        The system's message comes first, if there is one.
        """
        system = [{"role": "system", "content": self._system}] if self._system else []
        return [*system, {"role": "user", "content": ask.prompt}]


def reply(
    ask: Ask, completion: Completion, marks: Sequence[tuple[str, str]] = (), constraint: str | None = None
) -> Reply:
    """Read the reply in a completion.

    `marks` are pairs of strings around a thought. `constraint` is the kind of constraint the reply was held to, if any.
    A refusal has no choice, and neither has a reply that ended within its thought. If a reply was cut off and has no
    marks, it may be all thought: then only an answer at its beginning counts.
    """
    text = completion.text
    answer = answer_in(text, marks)
    if completion.refused:
        return Reply(None, None, text, REFUSED)
    in_thought = completion.cut and answer == text
    choice = None if answer is None else _find_choice(ask, _unwrap_answer(answer, constraint), in_thought)
    if choice is None:
        return Reply(None, None, text, _explain_silence(completion, answer))
    tokens: Sequence[ChatToken] = completion.tokens or ()
    if answer is not None and answer != text:
        tokens = _find_answer_tokens(tokens, SPECIAL_TOKEN.sub("", answer).strip())
    return Reply(option_logprobs(tokens, ask.options, choice), choice, text)


def _explain_silence(completion: Completion, answer: str | None) -> str | None:
    """Reason why a completion has no answer.

    None if its answer is unreadable.
    """
    if completion.cut:
        return UNFINISHED
    if answer is None:
        return ALL_THOUGHT if completion.ended else UNFINISHED
    return None


def _unwrap_answer(answer: str, constraint: str | None) -> str:
    """Return the answer without the JSON object of a JSON constraint."""
    return said_in_json(answer) if constraint == JSON else answer


def _find_choice(ask: Ask, answer: str, in_thought: bool) -> int | None:
    """Index of the option that an answer chooses, or None.

    With `in_thought`, only an answer at its beginning counts.
    """
    return choice_in(answer, ask.options, ask.aliases, filled=filled_text(ask.prompt), only_leading=in_thought)


def _find_answer_tokens(tokens: Sequence[ChatToken], answer: str) -> Sequence[ChatToken]:
    """Tokens of a reply from the beginning of its answer on.

    Empty if the answer is not found in them. Tokens of the thought may come before, or be missing.
    """
    position = "".join(token.text for token in tokens).rfind(answer)
    for index, token in enumerate(tokens):
        if position < len(token.text):
            return tokens[index:] if position >= 0 else ()
        position -= len(token.text)
    return ()


def filled_text(prompt: str) -> FilledText | None:
    """The text around the blank of a prompt, for replies that repeat it.

    None unless exactly one line of the prompt has a blank.
    """
    lines = BLANKED_LINE.findall(prompt)
    return FilledText.of(*lines[0]) if len(lines) == 1 else None


def option_logprobs(tokens: Sequence[ChatToken], options: Sequence[str], choice: int) -> tuple[float, ...] | None:
    """Log-probability of each option, at the token that names the chosen one.

    None if there is no such token, or if it has no alternatives. An option's probability is the sum over the listed
    tokens that begin this option and no other ("B", " b", "(B"). An option without such a token gets the smallest
    listed probability, which is the largest it can have.
    """
    lowered_options = [option.lower() for option in options]
    chosen = lowered_options[choice]
    text = "".join(token.text for token in tokens).lower()
    position = 0
    for token in tokens:
        text_ahead = text[position:].lstrip(AROUND + "*`")
        position += len(token.text)
        behind_name = text_ahead[len(chosen) :]
        says_it = text_ahead.startswith(chosen) and not behind_name[:1].isalnum()
        if says_it and _find_begun_option(token.text, lowered_options) == choice:
            return _sum_alternatives(token, lowered_options)
    return None


def _sum_alternatives(token: ChatToken, lowered_options: Sequence[str]) -> tuple[float, ...] | None:
    """Log-probability of each option among a token's alternatives.

    None if fewer than two alternatives are listed.
    """
    listed: list[float] = []
    by_option: dict[int | None, list[float]] = defaultdict(list)
    for text, logprob in token.alternatives:
        if isfinite(logprob):
            listed.append(logprob)
            by_option[_find_begun_option(text, lowered_options)].append(logprob)
    if len(listed) < 2:
        return None
    smallest = min(listed)
    groups = [by_option[index] or [smallest] for index in range(len(lowered_options))]
    return tuple(float(np.logaddexp.reduce(group)) for group in groups)


def _find_begun_option(token: str, lowered_options: Sequence[str]) -> int | None:
    """Index of the only option that begins with a token, or None."""
    bare = token.strip(AROUND + "*`").lower()
    begun = [index for index, option in enumerate(lowered_options) if bare and option.startswith(bare)]
    return begun[0] if len(begun) == 1 else None
