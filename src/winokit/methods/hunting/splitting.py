"""Blocks to sentences, in several processes, in order: the part of indexing that can be done side by side."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path

from winokit.methods.hunting.corpus import CorpusBlock, CorpusLayout, documents
from winokit.text.sentences import sentences

AHEAD = 3
"""Blocks on their way for each process."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """One block of one file on its way into the index; without a block, the end of the file."""

    path: Path
    file: int
    number: int
    block: CorpusBlock | None
    before: int
    """Bytes of the files before this one."""

    @property
    def read(self) -> int:
        """Bytes of this file read so far."""
        return 0 if self.block is None else self.block.read


@dataclass(frozen=True, slots=True)
class SplitText:
    """A part and its documents, each a list of sentences."""

    part: TextPart
    documents: list[list[str]]


def split_in_order(parts: Iterable[TextPart], layout: CorpusLayout, workers: int | None) -> Iterator[SplitText]:
    """Each part with its sentences, in the order given."""
    workers = max((os.cpu_count() or 1) - 1, 0) if workers is None else workers
    if workers == 0:
        yield from (_split(part, layout) for part in parts)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _be_a_good_child) as pool:
        waiting: deque[tuple[TextPart, Future[list[list[str]]] | None]] = deque()
        try:
            for part in parts:
                waiting.append((part, _sent(pool, part, layout)))
                if len(waiting) > AHEAD * workers:
                    yield _received(waiting.popleft())
            while waiting:
                yield _received(waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


def _sent(pool: ProcessPoolExecutor, part: TextPart, layout: CorpusLayout) -> Future[list[list[str]]] | None:
    return None if part.block is None else pool.submit(split_block, part.block, part.path, layout)


def _received(sent: tuple[TextPart, Future[list[list[str]]] | None]) -> SplitText:
    part, future = sent
    return SplitText(part, [] if future is None else future.result())


def _split(part: TextPart, layout: CorpusLayout) -> SplitText:
    return SplitText(part, [] if part.block is None else split_block(part.block, part.path, layout))


def split_block(block: CorpusBlock, path: Path, layout: CorpusLayout) -> list[list[str]]:
    """The documents of a block as lists of sentences; those without any are left out."""
    split = (sentences(document) for document in documents(block, path, layout))
    return [document for document in split if document]


def _be_a_good_child() -> None:
    """Leave Ctrl-C to the parent, and end when it is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
