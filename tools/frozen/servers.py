"""Model servers that stand in for real ones while a command runs."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parents[2] / "tests"


def model_server(kind: str) -> Any:
    """A server on a free port, as a context manager.

    chat guesses, the same for the same prompt; babble says what nobody can read an answer from; completions has
    log-probabilities of texts.
    """
    if str(TESTS) not in sys.path:
        sys.path.append(str(TESTS))
    servers = import_module("support.servers")

    if kind == "babble":
        return servers.ChatServer(lambda number, body: servers.says("That is a matter of taste."))
    return servers.CoinServer() if kind == "chat" else servers.CompletionsServer()
