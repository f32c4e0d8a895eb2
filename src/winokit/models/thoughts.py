"""What a reply thinks before it answers, and what it then answers.

Servers either keep the thought apart (`reasoning_content`, `reasoning`), or leave it in the text between marks, of
which the first is often part of the prompt and missing.
"""

import re
from collections.abc import Iterable

from winokit.files import our_toml

UNFINISHED = "its reply ended before the answer: raise max_tokens"
"""Why a reply says nothing: its tokens were spent on the thought."""
ALL_THOUGHT = "its whole reply is a thought, though it was not cut off: check the server's reasoning parser"
"""Why a reply says nothing that came to its end by itself."""
MARKS: list[tuple[str, str]] = our_toml("assets/replies.toml")["marks"]
"""What stands around a thought in the text of a reply."""
BARE_HARMONY = re.compile(r"\A\s*analysis(?=[A-Z])(.*?)(?:assistant\s*final|(\Z))", re.DOTALL)
"""A reply of gpt-oss whose marks have been dropped, and only the names of its channels are left."""


def answer_in(text: str, more: Iterable[tuple[str, str]] = ()) -> str | None:
    r"""What a reply says after its thought; None where the thought does not end.

    Parameters
    ----------
    more
        Marks beside `MARKS`: what begins a thought (or "") and what ends it.

    >>> answer_in("The answer is A? Wait, no.\n</think>\n\nB")
    '\n\nB'
    >>> answer_in("<think>The answer is A? Wait,") is None
    True
    """
    bare = BARE_HARMONY.match(text)
    if bare:
        return None if bare[2] is not None else text[bare.end() :]
    for start, end in (*MARKS, *more):
        begins, ends = (re.compile(re.escape(mark), re.IGNORECASE) for mark in (start, end))
        if start:
            text = re.sub(f"{begins.pattern}.*?{ends.pattern}", "", text, flags=re.DOTALL | re.IGNORECASE)
        text = ends.split(text)[-1]
        if start and begins.search(text):
            return None
    return text


def thinking_aloud(thought: str, answer: str | None) -> str:
    """One text of a thought that came by itself and the answer to it, None or empty where there is none yet."""
    return f"<think>\n{thought}\n</think>\n\n{answer}" if answer else f"<think>\n{thought}"
