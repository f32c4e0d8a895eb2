"""A chat model behind a server that knows some of the answers, until it breaks, and again once it is mended."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from support.servers import ChatServer, Response, says
from winokit.methods.scoring.ask import ask
from winokit.methods.scoring.base import Setting
from winokit.problem import Dataset


class KnowingServer(ChatServer):
    """A server that answers a share of problems right, the same ones each time.

    Attributes
    ----------
    share
        Share of problems that it answers right. Of the others it names the wrong candidate in both orders.
    says_instead
        Its reply to everything while it is broken, None while it is sound.
    """

    def __init__(self, dataset: Dataset, share: float = 0.9, port: int = 0) -> None:
        super().__init__(self._answer_request, port)
        self.share = share
        self.says_instead: str | None = None
        self._letters: dict[str, tuple[str, str, float]] = {}
        shuffled = sorted(dataset, key=lambda problem: hashlib.sha256(problem.text.encode()).digest())
        for rank, problem in enumerate(shuffled):
            luck = (rank + 0.5) / len(shuffled)
            for request in ask(problem, Setting("chat")):
                places = [alias[0] for alias in request.aliases]
                right = places.index(problem.right)
                self._letters[request.prompt] = (request.options[right], request.options[1 - right], luck)

    def _answer_request(self, number: int, body: Mapping[str, Any]) -> Response:
        if self.says_instead is not None:
            return says(self.says_instead)
        right, wrong, luck = self._letters[body["messages"][-1]["content"]]
        return says(right if luck < self.share else wrong)
