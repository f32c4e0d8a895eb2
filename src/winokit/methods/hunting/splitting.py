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

from winokit.methods.hunting.corpus import Block, Layout, documents
from winokit.text.sentences import sentences

AHEAD = 3
"""Blocks on their way for each process."""


@dataclass(frozen=True, slots=True)
class Part:
    """One block of one file on its way into the index; without a block, the end of the file."""

    path: Path
    file: int
    number: int
    block: Block | None
    before: int
    """Bytes of the files before this one."""

    @property
    def read(self) -> int:
        """Bytes of this file read so far."""
        return 0 if self.block is None else self.block.read


@dataclass(frozen=True, slots=True)
class Split:
    """A part and its documents, each a list of sentences."""

    part: Part
    documents: list[list[str]]


def split_in_order(parts: Iterable[Part], layout: Layout, workers: int | None) -> Iterator[Split]:
    """Each part with its sentences, in the order given."""
    workers = max((os.cpu_count() or 1) - 1, 0) if workers is None else workers
    if workers == 0:
        yield from (_split(part, layout) for part in parts)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _be_a_good_child) as pool:
        waiting: deque[tuple[Part, Future[list[list[str]]] | None]] = deque()
        try:
            for part in parts:
                waiting.append((part, _sent(pool, part, layout)))
                if len(waiting) > AHEAD * workers:
                    yield _received(waiting.popleft())
            while waiting:
                yield _received(waiting.popleft())
        finally:
            pool.shutdown(cancel_futures=True)


def _sent(pool: ProcessPoolExecutor, part: Part, layout: Layout) -> Future[list[list[str]]] | None:
    return None if part.block is None else pool.submit(split_block, part.block, part.path, layout)


def _received(sent: tuple[Part, Future[list[list[str]]] | None]) -> Split:
    part, future = sent
    return Split(part, [] if future is None else future.result())


def _split(part: Part, layout: Layout) -> Split:
    return Split(part, [] if part.block is None else split_block(part.block, part.path, layout))


def split_block(block: Block, path: Path, layout: Layout) -> list[list[str]]:
    """The documents of a block as lists of sentences; those without any are left out."""
    split = (sentences(document) for document in documents(block, path, layout))
    return [document for document in split if document]


def _be_a_good_child() -> None:
    """Leave Ctrl-C to the parent, and end when it is gone, however it went."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    if parent is not None:
        threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
