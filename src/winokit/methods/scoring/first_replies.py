"""Stop asking if none of a server's first replies can be read.

A wrong chat template, a reasoning model whose thoughts are cut off, a server that repeats an error as its answer: each
is seen in twenty replies as well as in two thousand.
"""

from collections import Counter
from collections.abc import Sequence

from winokit.errors import AskingStopped
from winokit.methods.scoring.canary import shortened, shown_prompt
from winokit.models.base import Answer, Ask, Model, Reply, Request
from winokit.models.thoughts import ALL_THOUGHT, UNFINISHED

FIRST = 20
"""Replies that are looked at."""
SHOWN = 300
"""Characters of a reply that the error shows."""
UNREADABLE = "no choice could be read"
WAYS_OUT = {
    UNFINISHED: "?max_tokens=4096 in the SPEC allows longer replies",
    ALL_THOUGHT: "check the server's reasoning parser, or name the marks of thoughts, ?thoughts=OPEN,CLOSE",
    UNREADABLE: "check the server's chat template, or word the question otherwise with --prompt FILE",
}
"""Advice for the user, by the most frequent reason."""
OTHERWISE = "word the question otherwise with --prompt FILE, or ask another model"


class FirstReplies:
    """Watches the first replies of a server until one can be read.

    Parameters
    ----------
    kept
        Whether a cached reply could be read: then nothing is watched.
    """

    def __init__(self, kept: bool) -> None:
        self._watching = not kept
        self._unread: list[tuple[Request, Reply]] = []

    def parts(self, requests: Sequence[Request]) -> list[Sequence[Request]]:
        """Split requests into the first few, to be watched, and the rest.

        One part if there is nothing to watch.
        """
        questions = any(isinstance(request, Ask) for request in requests)
        if not self._watching or not questions or len(requests) <= FIRST:
            return [requests]
        return [requests[:FIRST], requests[FIRST:]]

    def look_at(self, request: Request, answer: Answer) -> None:
        """Note whether an answer could be read.

        Answers that are not replies do not count. After the first that could be read, nothing is noted any more.
        """
        if not self._watching or not isinstance(answer, Reply):
            return
        if is_read(answer):
            self._watching = False
            self._unread.clear()
        else:
            self._unread.append((request, answer))

    @property
    def hopeless(self) -> bool:
        """Whether none of the first 20 replies could be read."""
        return self._watching and len(self._unread) >= FIRST

    @property
    def requests(self) -> list[Request]:
        """Requests whose replies could not be read.

        Empty as soon as one reply was read.
        """
        return [request for request, _ in self._unread]

    def error(self, model: Model) -> AskingStopped:
        """Error that says why asking stopped.

        It shows one reply, and what to do.
        """
        reasons = Counter(reply.why or UNREADABLE for _, reply in self._unread)
        reason = reasons.most_common(1)[0][0]
        examples = [each for each in self._unread if (each[1].why or UNREADABLE) == reason]
        request, reply = examples[0]
        because = "" if reason == UNREADABLE else f" ({reason})"
        fact = (
            f"no choice could be read from any of the first {len(self._unread)} replies, "
            "so no more are asked for and none is kept"
        )
        example = f"To {shown_prompt(request)!r} it said {shortened(reply.text, SHOWN)!r}{because}"
        return AskingStopped(f"{model.spec}: {fact}. {example}; {WAYS_OUT.get(reason, OTHERWISE)}")


def is_read(answer: Answer) -> bool:
    """Whether an answer is a reply that chooses an option."""
    return isinstance(answer, Reply) and (answer.choice is not None or answer.logprobs is not None)
