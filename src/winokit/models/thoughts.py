"""Separate a reply's thought from its answer.

Some servers return the thought in a field of its own (`reasoning_content`, `reasoning`). Others leave it in the
text between marks, the first of which is often part of the prompt and so missing.
"""

import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import NamedTuple

from winokit.files import our_toml

UNFINISHED = "its reply ended before the answer: raise max_tokens"
"""Reason for a reply without an answer: its tokens were used up by the thought."""
ALL_THOUGHT = "its whole reply is a thought, though it was not cut off: check the server's reasoning parser"
"""Reason for a reply that ended by itself without an answer."""
MARKS: list[tuple[str, str]] = our_toml("assets/replies.toml")["marks"]
"""Pairs of marks around a thought in a reply."""
BARE_HARMONY = re.compile(r"\A\s*analysis(?=[A-Z])(.*?)(?:assistant\s*final|(\Z))", re.DOTALL)
"""Pattern of a gpt-oss reply that has lost its marks, except the names of the channels."""


class MarkPatterns(NamedTuple):
    """Patterns of the marks around a thought.

    `whole` matches a thought with both marks, `begins` its first mark, `ends` its second. `whole` and `begins` are None
    if thoughts begin without a mark.
    """

    whole: re.Pattern[str] | None
    begins: re.Pattern[str] | None
    ends: re.Pattern[str]


@cache
def _compile_patterns(start: str, end: str) -> MarkPatterns:
    """Compile the patterns of a thought's two marks."""
    ends = re.compile(re.escape(end), re.IGNORECASE)
    if not start:
        return MarkPatterns(None, None, ends)
    begins = re.compile(re.escape(start), re.IGNORECASE)
    whole_pattern = re.compile(f"{begins.pattern}.*?{ends.pattern}", re.IGNORECASE | re.DOTALL)
    return MarkPatterns(whole_pattern, begins, ends)


MARKED = re.compile("|".join(map(re.escape, chain.from_iterable(MARKS))), re.IGNORECASE)
"""Pattern of any mark. A reply without one has no thought."""


def answer_in(text: str, more: Iterable[tuple[str, str]] = ()) -> str | None:
    r"""The part of a reply after its thought.

    None if the thought does not end.

    Parameters
    ----------
    more
        Pairs of marks in addition to `MARKS`: the start (or "") and the end of a thought.

    >>> answer_in("The answer is A? Wait, no.\n</think>\n\nB")
    '\n\nB'
    >>> answer_in("<think>The answer is A? Wait,") is None
    True
    """
    bare = BARE_HARMONY.match(text)
    if bare:
        return None if bare[2] is not None else text[bare.end() :]
    marks = [*more]
    if ("<" in text or "[" in text or "◁" in text) and MARKED.search(text):
        marks = [*MARKS, *marks]
    for start, end in marks:
        whole_pattern, begin_pattern, end_pattern = _compile_patterns(start, end)
        if whole_pattern is not None:
            text = whole_pattern.sub("", text)
        text = end_pattern.split(text)[-1]
        if begin_pattern is not None and begin_pattern.search(text):
            return None
    return text


def thinking_aloud(thought: str, answer: str | None) -> str:
    """Join a separate thought and its answer into one text, with marks.

    `answer` is None or empty if there is none yet.
    """
    return f"<think>\n{thought}\n</think>\n\n{answer}" if answer else f"<think>\n{thought}"
