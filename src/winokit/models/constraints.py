"""Hold replies to the options by a choice, a grammar or a JSON schema.

There is no standard for this, and many servers accept a field that they do not know, and ignore it. So each way is
tried on the server with a question about a city that may only be answered with a fruit.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from winokit.models.server import Body

AUTO = "auto"
OFF = "off"
CHOICE = "choice"
GRAMMAR = "grammar"
JSON = "json"
KINDS = (CHOICE, GRAMMAR, JSON)
"""Kinds of constraint, from the one that changes replies least."""
WISHES = (AUTO, OFF, *KINDS)
"""Values of the option `constrain`."""
ANSWER = "answer"
"""Name of the only field of a JSON reply."""
QUESTION = "What is the capital of France? Answer in one short sentence."
FRUITS = ("quince", "medlar")
"""Options that no free reply to the question would be."""


@dataclass(frozen=True)
class Constraint:
    """One way to tell a server which replies are allowed.

    A reply must be one of the options.
    """

    kind: str
    field: str
    """Name of the request's field."""
    value_of: Callable[[Sequence[str]], Any]

    def body(self, options: Sequence[str]) -> Body:
        """Fields of a request that allow only these options as its reply."""
        return {self.field: self.value_of(options)}

    def said(self, answer: str) -> str:
        """The option that a constrained reply says, without its JSON."""
        return said_in_json(answer) if self.kind == JSON else answer


def said_in_json(answer: str) -> str:
    """The answer in a JSON reply.

    Any other reply is returned as it is.

    >>> said_in_json('{"answer": "B"}'), said_in_json("B")
    ('B', 'B')
    """
    try:
        parsed = json.loads(answer)
    except ValueError:
        return answer
    value = parsed.get(ANSWER) if isinstance(parsed, dict) else None
    return value if isinstance(value, str) else answer


def _make_grammar(options: Sequence[str]) -> str:
    """Write a llama.cpp grammar that allows only the options.

    >>> _make_grammar(["A", "B"])
    'root ::= "A" | "B"'
    """
    return "root ::= " + " | ".join(json.dumps(option, ensure_ascii=False) for option in options)


def _make_schema(options: Sequence[str]) -> Body:
    """Build OpenAI's response format for one of the options.

    The reply is then an object with one field.
    """
    schema = {
        "type": "object",
        "properties": {ANSWER: {"type": "string", "enum": list(options)}},
        "required": [ANSWER],
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": ANSWER, "strict": True, "schema": schema}}


CONSTRAINTS = (
    Constraint(CHOICE, "structured_outputs", lambda options: {"choice": list(options)}),  # vLLM since 0.11
    Constraint(CHOICE, "guided_choice", list),  # vLLM before
    Constraint(GRAMMAR, "grammar", _make_grammar),  # llama.cpp
    Constraint(JSON, "response_format", _make_schema),  # OpenAI, and most others
)
"""All ways to constrain replies, in the order in which they are tried."""
