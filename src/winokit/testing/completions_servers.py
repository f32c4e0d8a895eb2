"""Servers that tell how likely a text is, each in the words of one that exists; what they know of texts is given."""

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import Any

from winokit.testing.fake_server import FakeServer, Response, complains

SpeltTokens = Sequence[tuple[str, float | None]]
"""The tokens of a text as they are written, each with its log-probability; None for the first."""
SERVED = ("echo", "prompt_logprobs", "generate", "generated only", "zeros", "some")
"""What a `CompletionsServer` may speak: as OpenAI's completions did (llama-cpp-python, vLLM, TGI), with vLLM's
`prompt_logprobs`, at SGLang's own `/generate`; or, of no use: log-probabilities of what is generated alone
(llama.cpp's own server), zeros, or log-probabilities of some tokens only."""
GENERATED = (" and", -1.5)
"""What every text is continued with."""


def words_at_random(text: str) -> SpeltTokens:
    """Words with the space before them, as likely as a hash of all before them says."""
    words = re.findall(r"\s*\S+|\s+\Z", text)
    seeds = ("".join(words[: place + 1]) for place in range(len(words)))
    numbers = [-int.from_bytes(hashlib.sha256(seed.encode()).digest()[:2]) / 6553.6 for seed in seeds]
    return [(word, number if place else None) for place, (word, number) in enumerate(zip(words, numbers, strict=True))]


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
        self.speaks, self.tokens, self.most, self.lists = speaks, tokens, most, lists

    def respond(self, number: int, path: str, body: Any) -> Response:
        """The log-probabilities of a text, where they are asked for as this server wants it."""
        if path != ("/generate" if self.speaks == "generate" else "/completions"):
            return complains(404, "Not Found")
        prompts = body["text"] if self.speaks == "generate" else body["prompt"]
        listed = isinstance(prompts, list)
        if listed and not self.lists:
            return complains(500, "1 validation error for the request: prompt: a string expected")
        texts = prompts if listed else [prompts]
        read = [list(self.tokens(text)) for text in texts]
        if max(map(len, read)) > self.most:
            return complains(400, f"This model's maximum context length is {self.most} tokens.")
        usage = {"prompt_tokens": sum(map(len, read)), "completion_tokens": len(read)}
        if self.speaks == "generate":
            rows = [[logprob, place, text] for place, (text, logprob) in enumerate(read[0])]
            return Response(payload={"text": GENERATED[0], "meta_info": {"input_token_logprobs": rows, **usage}})
        choices = [self._choice(body, place, *both) for place, both in enumerate(zip(texts, read, strict=True))]
        return Response(payload={"model": body.get("model"), "choices": choices, "usage": usage})

    def _choice(self, body: Any, index: int, prompt: str, tokens: SpeltTokens) -> dict[str, Any]:
        """What is said of one text."""
        choice: dict[str, Any] = {"index": index, "text": GENERATED[0], "logprobs": None, "finish_reason": "length"}
        if self.speaks == "prompt_logprobs" and "prompt_logprobs" in body:
            choice["prompt_logprobs"] = [
                None if logprob is None else {str(place): {"logprob": logprob, "rank": 1, "decoded_token": text}}
                for place, (text, logprob) in enumerate(tokens)
            ]
        elif body.get("logprobs") is not None:
            shown: list[tuple[str, float | None]] = [GENERATED]
            if body.get("echo") and self.speaks in ("echo", "zeros", "some"):
                shown = [*tokens, GENERATED]
                choice["text"] = prompt + GENERATED[0]
            if self.speaks == "zeros":
                shown = [(text, 0.0) for text, _ in shown]
            elif self.speaks == "some":
                shown = [(text, logprob if place % 2 else None) for place, (text, logprob) in enumerate(shown)]
            choice["logprobs"] = {
                "tokens": [text for text, _ in shown],
                "token_logprobs": [logprob for _, logprob in shown],
                "text_offset": [0] * len(shown),
            }
        return choice
