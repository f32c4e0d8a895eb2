"""Report the progress and the notes of a long job.

Both go to whoever listens. In Python that is the `progress` argument and the result's `notes`; the command line draws a
bar and writes notes to standard error as they come, so that a job that fails later has told them.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[float, float], None]
"""Called with the amount done and the whole amount, in a unit that measures time: characters, steps, trials."""

_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)
BEGINS: ContextVar[Callable[[str], object]] = ContextVar("begins", default=lambda part: None)
"""Function that is called when a part of a job begins: that of the progress bar."""

Watch = Callable[[Iterable[str], str], bool]
"""Function of lines with a server's first replies and a question, which returns whether to go on."""
WATCHES: ContextVar[Watch | None] = ContextVar("watches", default=None)
"""Function that is called with the first replies of a server; None unless a person sits at a terminal."""


def begin(part: str) -> None:
    """Announce that a part of a long job begins.

    `part` names it. Progress is counted from 0 again.
    """
    BEGINS.get()(part)


def tell(notes: Iterable[str]) -> None:
    """Send notes to the listener that `telling` set, if any."""
    listener = _LISTENER.get()
    if listener is not None:
        for note in notes:
            listener(note)


def part(progress: Progress | None, before: float, weight: float, whole: float) -> Progress | None:
    """Progress callback for a part of a job.

    It reports the progress of the whole: `before` is the amount done before the part, `weight` the part's amount,
    `whole` all of it. None if there is no callback for the whole.
    """
    if progress is None:
        return None
    return lambda done, total: progress(before + weight * done / max(1, total), whole)


@contextmanager
def telling(listener: Callable[[str], None]) -> Iterator[None]:
    """Send each distinct note to a listener, inside the context."""
    notes: set[str] = set()

    def once(note: str) -> None:
        if note not in notes:
            notes.add(note)
            listener(note)

    token = _LISTENER.set(once)
    try:
        yield
    finally:
        _LISTENER.reset(token)
