"""Chat models behind an OpenAI-compatible server: `chat:MODEL@URL` (OpenAI, vLLM, llama.cpp, Ollama and others).

Without a URL it is OPENAI_BASE_URL, or OpenAI itself. The key comes from OPENAI_API_KEY, or from the variable that the
option key_env names, and is never shown. An answer is the option that the reply names (`choice_in`); where the server
tells the log-probabilities of its tokens, they say how sure it was of each option (`option_logprobs`).

Replies may take 512 tokens, since models that reason spend them before the answer; others stop after a letter.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from math import isfinite
from typing import Any

import numpy as np

from winokit.errors import BadInput
from winokit.files import our_toml
from winokit.models.base import Answer, Ask, Refusal, Reply, Request, cannot
from winokit.models.chat_client import PATH, ChatClient, ChatToken, Completion, Messages
from winokit.models.identity import ServerIdentity
from winokit.models.registry import Spec
from winokit.models.server import SERVER_OPTIONS, connect
from winokit.models.thoughts import ALL_THOUGHT, UNFINISHED, answer_in

TOP_LOGPROBS = 20
"""Alternatives asked for at each token: the most that OpenAI gives."""
READING = 3
"""Part of the fingerprint: to be raised whenever the same reply is read differently."""

REFUSED = "a refusal"
ORNAMENTS = re.compile(r"\\(?:boxed|text)\{|[*`$}]|<\|\w+\|>|</?(?:answer|final|response)>", re.IGNORECASE)
SPECIAL_TOKEN = re.compile(r"<\|\w+\|>")
AROUND = " \t\n.,:;!?()[]\"'“”‘’。、「」『』"
NARROW = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}
"""Letters and punctuation of full width (Ｂ：), as they are written elsewhere."""
UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
"""Kana, Han and Hangul, which stand beside a Latin letter without a space (答えはBです)."""
PROSE = {"yes", "no", "true", "false"}
"""Options that a sentence may hold without meaning them."""
WORDS = our_toml("assets/replies.toml")
NEGATED = re.compile(rf"(?:{'|'.join(WORDS['negated'])})\Z", re.IGNORECASE)
DENIED = re.compile("|".join(WORDS["denied"]))
UNSURE = re.compile(rf"\b(?:{'|'.join(WORDS['unsure'])})\b|{'|'.join(WORDS['unsure_anywhere'])}", re.IGNORECASE)
"""What stands before a name that is denied, what follows it, and what a reply says that does not choose."""
DECLARES = rf"(?i:{'|'.join(WORDS['declares'])})"
OR, AND = (rf"[)\]\"'”’]*\s*(?:{'|'.join(WORDS[word])})\s*[(\[\"'“‘]*" for word in ("or", "and"))


def load(spec: Spec) -> "ChatModel":
    """The model of a server, as the SPEC names both. Nothing is sent yet."""
    spec.only(*SERVER_OPTIONS, "temperature", "max_tokens", "logprobs", "system", "seed", "thoughts")
    logprobs = spec.choice("logprobs", ("auto", "on", "off")) or "auto"
    settings: dict[str, Any] = {
        "temperature": spec.number("temperature", 0.0),
        "max_tokens": spec.number("max_tokens", 512, least=1),
    }
    if "seed" in spec.options:
        settings["seed"] = spec.number("seed", 0)
    if logprobs != "off":
        settings |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
    client = ChatClient(connect(spec, **settings), needs_logprobs=logprobs == "on")
    return ChatModel(str(spec), client, spec.options.get("system", ""), _marks(spec))


def _marks(spec: Spec) -> tuple[tuple[str, str], ...]:
    """What the option `thoughts=OPEN,CLOSE` says stands around thoughts."""
    if "thoughts" not in spec.options:
        return ()
    start, comma, end = spec.options["thoughts"].partition(",")
    if not comma or not end:
        raise BadInput(
            "chat: option thoughts: OPEN,CLOSE expected, as thoughts=<plan>,</plan>; OPEN may be empty, where thoughts "
            f"begin without a mark; found {spec.options['thoughts']!r}"
        )
    return ((start, end),)


class ChatModel:
    """A model that is talked to."""

    kind = "chat"
    can: frozenset[type] = frozenset({Ask})

    def __init__(self, spec: str, client: ChatClient, system: str = "", marks: Sequence[tuple[str, str]] = ()) -> None:
        self.spec, self._client, self._system, self._marks = spec, client, system, marks
        self.usage, self.count_tokens = client.server.usage, client.server.count_tokens
        determining = {"url": client.server.url + PATH, "system": system, "reading": READING, **client.server.settings}
        determining |= {"thoughts": marks} if marks else {}
        self.fingerprint = f"chat:{json.dumps(determining, sort_keys=True)}"
        readings = ({**determining, "reading": number} for number in range(1, READING))
        self.earlier = [f"chat:{json.dumps(reading, sort_keys=True)}" for reading in readings]
        """What replies were kept under: with thoughts not separated from answers, then with Chinese ones not read."""

    def identify(self) -> ServerIdentity:
        """Which model the server says it serves."""
        return self._client.server.identify()

    @property
    def samples(self) -> bool:
        """Whether the same question may get another reply; a server may turn out to accept no temperature."""
        return float(self._client.server.settings.get("temperature", 1.0)) > 0

    def sends(self, request: Request) -> list[tuple[str, int]]:
        """What a request makes the server read, and how many tokens it may write."""
        settings = self._client.server.settings
        most = int(settings.get("max_tokens") or settings.get("max_completion_tokens") or 0)
        text = "\n".join(message["content"] for message in self._messages(request)) if isinstance(request, Ask) else ""
        return [(text, most)]

    @property
    def plan(self) -> str:
        """How answers are read, and what had to be changed for this server; empty until it has answered."""
        if not self._client.settled:
            return "; ".join(self._client.notes)
        how = "by log-probabilities" if "logprobs" in self._client.server.settings else "by parsed answers"
        return "; ".join([how, *self._client.notes])

    def reread(self, request: Request, place: int, kept: Answer) -> Answer:
        """A reply kept under `earlier[place]` as it is read now, if it has no choice or a thought that was read too."""
        if not (isinstance(request, Ask) and isinstance(kept, Reply)):
            return kept
        with_thought = place == 0 and answer_in(kept.text, self._marks) != kept.text
        if not with_thought and (kept.choice is not None or kept.why):
            return kept
        return reply(request, Completion(kept.text), self._marks)

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Ask all, several at once, yielding replies as they come."""
        asks = [request for request in requests if isinstance(request, Ask)]
        if len(asks) < len(requests):
            raise cannot(self, next(request for request in requests if not isinstance(request, Ask)))
        for index, completion in self._client.complete([self._messages(ask) for ask in asks]):
            too_long = Refusal(completion.text) if completion.too_long else None
            yield index, too_long or reply(asks[index], completion, self._marks)

    def _messages(self, ask: Ask) -> Messages:
        system = [{"role": "system", "content": self._system}] if self._system else []
        return [*system, {"role": "user", "content": ask.prompt}]


def reply(ask: Ask, completion: Completion, marks: Sequence[tuple[str, str]] = ()) -> Reply:
    """What a completion says, with log-probabilities where it tells them; a refusal chooses nothing.

    A reply that was cut off in its thought says nothing either. Where the thought has no mark, it may be all there
    is of a text that was cut off: what does not begin with its answer has not come to it.
    """
    text, answer = completion.text, answer_in(completion.text, marks)
    if completion.refused:
        return Reply(None, None, text, REFUSED)
    in_thought = completion.cut and answer == text
    choice = None if answer is None else choice_in(answer, ask.options, ask.aliases, only_leading=in_thought)
    if choice is None:
        silent = ALL_THOUGHT if completion.ended else UNFINISHED
        return Reply(None, None, text, UNFINISHED if completion.cut else silent if answer is None else None)
    tokens: Sequence[ChatToken] = completion.tokens or ()
    if answer is not None and answer != text:
        tokens = _tokens_of(tokens, SPECIAL_TOKEN.sub("", answer).strip())
    return Reply(option_logprobs(tokens, ask.options, choice), choice, text)


def _tokens_of(tokens: Sequence[ChatToken], answer: str) -> Sequence[ChatToken]:
    """The tokens from where the answer begins, whether or not those of the thought came with them."""
    place = "".join(token.text for token in tokens).rfind(answer)
    for index, token in enumerate(tokens):
        if place < len(token.text):
            return tokens[index:] if place >= 0 else ()
        place -= len(token.text)
    return ()


def choice_in(
    text: str, options: Sequence[str], aliases: Sequence[Sequence[str]] = (), *, only_leading: bool = False
) -> int | None:
    """Which option a reply chooses, or None where it chooses none or it is not clear which.

    In this order: the reply is the option; "the answer is B"; it begins with the option and punctuation; one option
    stands in parentheses; it ends with the only option it names; it names the alias of exactly one option, is sure
    of itself, and does not say "not". What it thinks before it answers does not count. With `only_leading` only what
    it is or begins with does.

    >>> choice_in("**B**, since it was full.", ("A", "B"), (("the jug",), ("the cup",)))
    1
    """
    answer = answer_in(text)
    plain = ORNAMENTS.sub("", (answer or "").translate(NARROW)).strip()
    names = _Names(options, aliases)
    exact = names.owners.get(plain.strip(AROUND).lower())
    if exact is not None or not names.owners:
        return exact
    if only_leading:
        chosen = names.declared(plain, at_once=True) or names.leading(plain)
        return chosen.pop() if len(chosen) == 1 else None
    for chosen in (names.declared(plain), names.leading(plain), names.bracketed(plain), names.closing(plain)):
        if chosen:
            return chosen.pop() if len(chosen) == 1 else None
    chosen = names.mentioned(plain)
    return chosen.pop() if len(chosen) == 1 and not UNSURE.search(plain) else None


class _Names:
    """Every way to say each option, and the options that a text says in one place or another.

    Letters count as they are written, other names in any case; of names within names ("the cup", "the cup holder") the
    longest counts. A name that two options share says neither.
    """

    def __init__(self, options: Sequence[str], aliases: Sequence[Sequence[str]]) -> None:
        self.owners: dict[str, int] = {}
        shared, written = set(), set()
        for index, option in enumerate(options):
            for name in (option, *(aliases[index] if index < len(aliases) else ())):
                bare = name.translate(NARROW).strip(AROUND)
                if bare and self.owners.setdefault(bare.lower(), index) != index:
                    shared.add(bare.lower())
                written.add(bare)
        for name in shared:
            del self.owners[name]
        longest_first = sorted((name for name in written if name.lower() in self.owners), key=len, reverse=True)
        self._any = "|".join(map(_as_word, longest_first))

    def declared(self, text: str, *, at_once: bool = False) -> set[int]:
        """Options after "the answer is", "Choice:" and the like; with `at_once` only where a text begins so."""
        lead = rf"{DECLARES}[(\[\"'“‘「]*"
        start, stop = (r"\A(?:\w+\s+){0,3}", r"(?!\?)") if at_once else ("", "")
        no_clause = r"(?!['’]s\b|[\"'”’)]*\s+(?!(?:are|both|because|since)\b)\w)"
        either = self._found(rf"{lead}(?:{self._any})(?:{OR}|{AND}(?=(?:{self._any}){no_clause}))({self._any})", text)
        return self._found(rf"{start}{lead}({self._any}){stop}", text) | either

    def leading(self, text: str) -> set[int]:
        """The option before the first punctuation, and any other that is said right after it or listed below it.

        "B is right" begins with its answer; "the jug was poured out" need not.
        """
        start = r"(?:(?:option|choice)\s+)?[(\[\"'“‘]*"
        stop = r"(?=[)\]\"”.:,;!?。、」\n]|\s*\Z|\s+[-–—(\n]|\s+(?:because|since)\b|(?<=\b\w)\s+(?:is|was)\b)"
        first = re.match(rf"{start}({self._any}){stop}", text, re.IGNORECASE)
        if not first or first[1].lower() not in self.owners:
            return set()
        rest = text[first.end(1) :]
        beside = self._found(rf"\A[\s,/.:()\[\]、]*(?:or\s+|and\s+|&\s*)?({self._any})", rest)
        below = self._found(rf"\n\s*[(\[]?({self._any})[.:)\]](?:\s|\Z)", rest)
        return {self.owners[first[1].lower()]} | beside | below

    def bracketed(self, text: str) -> set[int]:
        """Options in parentheses."""
        return self._found(rf"[(\[「]({self._any})[)\]」]", text)

    def closing(self, text: str) -> set[int]:
        """The option that ends a text, if it is the only one in it and the text is sure of it."""
        last = self._found(rf"({self._any})\W*\Z", text)
        alone = last == self._found(rf"({self._any})", text)
        return last if alone and not UNSURE.search(text) else set()

    def mentioned(self, text: str) -> set[int]:
        """Options that a text names by a word which means nothing else."""
        return self._found(rf"({self._any})", text, lambda name: len(name) > 1 and name not in PROSE)

    def _found(self, pattern: str, text: str, counts: Callable[[str], bool] = bool) -> set[int]:
        """Owners of the names that a pattern finds, unless they are denied.

        A few letters equal a name's to the pattern and not in lower case (ſ and s): such a name is nobody's.
        """
        return {
            self.owners[match[1].lower()]
            for match in re.finditer(pattern, text)
            if match[1].lower() in self.owners
            and counts(match[1].lower())
            and not NEGATED.search(text[: match.start(1)])
            and not DENIED.match(text, match.end(1))
        }


def _as_word(name: str) -> str:
    """A pattern for a name where it is a word of its own; a word of Han is told from its neighbours by nothing.

    One of katakana ends where katakana end (アン is not in アンディ), as does a single character of Han.
    """

    def beyond(edge: str) -> str:
        if re.match(r"[\u30a0-\u30ff]", edge):
            return r"[\u30a0-\u30ff]"
        if re.match(r"[\u3400-\u9fff]", edge):
            return r"[\u3400-\u9fff]" if len(name) == 1 else r"[^\s\S]"
        return rf"[^\W{UNSPACED}]" if edge.isascii() else r"\w"

    said = re.escape(name) if len(name) == 1 else f"(?i:{re.escape(name)})"
    return f"(?<!{beyond(name[0])}){said}(?!{beyond(name[-1])})"


def option_logprobs(tokens: Sequence[ChatToken], options: Sequence[str], choice: int) -> tuple[float, ...] | None:
    """Log-probability of each option at the token that says the chosen one, or None where no token shows it.

    An option's probability is that of all listed tokens that begin it and no other ("B", " b", "(B"). One that is not
    listed gets the smallest that is, which it cannot exceed.
    """
    wanted = [option.lower() for option in options]
    text = "".join(token.text for token in tokens).lower()
    place = 0
    for token in tokens:
        rest = text[place:].lstrip(AROUND + "*`")
        place += len(token.text)
        says_it = rest.startswith(wanted[choice]) and not rest[len(wanted[choice]) :][:1].isalnum()
        if says_it and _begun(token.text, wanted) == choice:
            listed = [(_begun(name, wanted), value) for name, value in token.alternatives if isfinite(value)]
            if len(listed) < 2:
                return None
            smallest = min(value for _, value in listed)
            groups = [[value for owner, value in listed if owner == at] or [smallest] for at in range(len(options))]
            return tuple(float(np.logaddexp.reduce(group)) for group in groups)
    return None


def _begun(token: str, wanted: Sequence[str]) -> int | None:
    """The one option that a token begins, if any."""
    bare = token.strip(AROUND + "*`").lower()
    begun = [index for index, option in enumerate(wanted) if bare and option.startswith(bare)]
    return begun[0] if len(begun) == 1 else None
