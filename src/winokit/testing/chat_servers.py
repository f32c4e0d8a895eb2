"""Chat models of known nature: as told, thinking aloud, tossing coins."""

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from winokit.testing.fake_server import FakeServer, Response, complains

Tokens = Sequence[tuple[str, Mapping[str, float]]]
"""Each token of a reply, with the log-probabilities of what could have stood there, itself included."""


def says(text: str | None, tokens: Tokens | None = None, finish: str | None = None, **message: Any) -> Response:
    """A chat completion with this text, and log-probabilities of its tokens if given.

    Without a text, and unless `finish` says otherwise, it ended because its tokens were spent.
    """
    choice: dict[str, Any] = {
        "message": {"role": "assistant", "content": text, **message},
        "finish_reason": finish or ("stop" if text else "length"),
    }
    if tokens is not None:
        choice["logprobs"] = {"content": [_token(token, alternatives) for token, alternatives in tokens]}
    return Response(payload={"choices": [choice]})


def _token(token: str, alternatives: Mapping[str, float]) -> dict[str, Any]:
    listed = [{"token": name, "logprob": logprob} for name, logprob in alternatives.items()]
    return {"token": token, "logprob": alternatives[token], "top_logprobs": listed}


class ChatServer(FakeServer):
    """A server for chat completions that does what a function says of a request's number (from 0) and body."""

    def __init__(self, behaviour: Callable[[int, dict[str, Any]], Response], port: int = 0) -> None:
        super().__init__(port)
        self.behaviour = behaviour

    def respond(self, number: int, path: str, body: Any) -> Response:
        """As the function says."""
        return self.behaviour(number, body) if path == "/chat/completions" else complains(404, f"nothing at {path}")


def options_in(body: Mapping[str, Any]) -> list[str]:
    """What a request offers to answer with: the letters of the last question's options, or yes and no."""
    question = body["messages"][-1]["content"].rpartition("Question:")[2]
    return re.findall(r"^([A-Z])\. ", question, re.MULTILINE) or ["yes", "no"]


class CoinServer(ChatServer):
    """A chat model that guesses: the same prompt gets the same guess from the same seed, whatever came before."""

    def __init__(self, seed: int = 0, port: int = 0) -> None:
        super().__init__(self._toss, port)
        self.seed = seed

    def _toss(self, number: int, body: Mapping[str, Any]) -> Response:
        options = options_in(body)
        digest = hashlib.sha256(f"{self.seed} {body['messages']}".encode()).digest()
        return says(options[int.from_bytes(digest[:8], "big") % len(options)])


def _between(start: str, end: str) -> Callable[[str, str | None], dict[str, Any]]:
    return lambda thought, answer: {"content": start + thought + ("" if answer is None else end + answer)}


THOUGHTS_WRITTEN: Mapping[str, Callable[[str, str | None], dict[str, Any]]] = {
    "reasoning_content": lambda thought, answer: {"content": answer, "reasoning_content": thought},
    "reasoning": lambda thought, answer: {"content": answer, "reasoning": thought},
    "<think>": _between("<think>\n", "\n</think>\n\n"),
    "</think>": _between("", "\n</think>\n\n"),
    "[THINK]": _between("[THINK]", "[/THINK]"),
    "<reasoning>": _between("<reasoning>", "</reasoning>\n"),
    "<seed:think>": _between("<seed:think>", "</seed:think>"),
    "gpt-oss": _between("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>"),
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
        super().__init__(self._think, port)
        self.style, self.length = style, length

    def _think(self, number: int, body: Mapping[str, Any]) -> Response:
        options = options_in(body)
        words = ["Well,"] * (self.length - 6) + f"It may be {options[-1]}. Wait, no.".split()
        room = body.get("max_tokens") or body.get("max_completion_tokens") or len(words) + 1
        cut = len(words) >= room
        message = THOUGHTS_WRITTEN[self.style](" ".join(words[:room]), None if cut else options[0])
        return says(message.pop("content"), finish="length" if cut else "stop", **message)
