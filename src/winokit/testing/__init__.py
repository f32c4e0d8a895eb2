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

from winokit.testing.chat_servers import THOUGHTS_WRITTEN, ChatServer, CoinServer, ReasoningServer, says
from winokit.testing.completions_servers import SERVED, CompletionsServer, words_at_random
from winokit.testing.fake_server import TROUBLES, FakeServer, FlakyServer, Response, complains
