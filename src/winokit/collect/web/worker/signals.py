"""Signals of how a task is worked on, as a script of ours sends them."""

from __future__ import annotations

import json
from typing import Any

from winokit.collect.study.refusals import Incomplete


def read_signals(told: str) -> list[dict[str, Any]]:
    """A list of {"kind", "amount"}; anything that no script of ours sends is refused.

    >>> read_signals('[{"kind": "paste", "amount": 12}]')
    [{'kind': 'paste', 'amount': 12}]
    """
    try:
        events = json.loads(told)
    except (ValueError, RecursionError):
        events = None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise Incomplete({"events": "a list of events expected"})
    return [event for event in events if isinstance(event.get("kind"), str)]
