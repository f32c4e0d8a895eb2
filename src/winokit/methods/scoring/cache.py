"""Plan, then ask: requests are collected, repetitions dropped, the model is asked once, and answers are kept on disk.

Nothing is asked twice, and a killed run goes on where it stopped: one SQLite file in WAL mode; an answer is written the
moment it is known, under a key made of everything that determines it: the model's fingerprint and the request to the
letter. Sorting by length, packing and sharing prefixes is the model's part.
"""

import dataclasses
import hashlib
import io
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

import numpy as np

from winokit.errors import BadInput
from winokit.files import user_cache
from winokit.methods.scoring.ledger import Ledger, Spending
from winokit.models.base import Answer, Model, Piece, Refusal, Reply, Request, Scores
from winokit.models.ensemble import EnsembleModel
from winokit.progress import Progress
from winokit.settings import Help

CHUNK = 500


def default_path() -> Path:
    """Where answers are kept unless told otherwise: $WINOKIT_CACHE, else the user's cache folder."""
    return Path(os.environ.get("WINOKIT_CACHE") or user_cache("answers.sqlite"))


class Cache:
    """Answers by key. With no path they are kept in memory and forgotten."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.ledger = Ledger(Spending())
        """Counts what is asked of models beyond these answers, and says when a limit is reached."""
        self.whole: Ledger | None = None
        """The ledger of a larger job, a suite, while the verbs that use this cache are parts of it."""
        self._remembered: dict[bytes, Answer] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
        except (sqlite3.Error, OSError) as error:
            raise BadInput(f"{path}: cannot be used as a cache ({error}); name another with --cache") from None

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, *error: object) -> None:
        if self.path is not None:
            self._db.close()

    @contextmanager
    def parts_of(self, whole: Ledger) -> Iterator[Ledger]:
        """Meanwhile, what a verb asks through this cache is entered as a part of a larger job."""
        self.whole = whole
        try:
            yield whole
        finally:
            self.whole = None

    def find(self, keys: Iterable[bytes]) -> dict[bytes, Answer]:
        """The answers that are known."""
        wanted = list(keys)
        known = {key: self._remembered[key] for key in wanted if key in self._remembered}
        if self.path is None:
            return known
        for start in range(0, len(wanted), CHUNK):
            chunk = wanted[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            for key, value in self._ask(f"SELECT key, value FROM answers WHERE key IN ({marks})", chunk):
                known[bytes(key)] = self._decoded(value)
        return known

    def keep(self, key: bytes, answer: Answer) -> None:
        """Write an answer; it is on disk when this returns."""
        if self.path is None:
            self._remembered[key] = answer
            return
        self._ask("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, encode(answer)))

    def _decoded(self, value: bytes) -> Answer:
        try:
            return decode(value)
        except (ValueError, TypeError, KeyError) as error:
            said = next(iter(str(error).splitlines()), type(error).__name__)
            raise BadInput(
                f"{self.path}: holds an answer that cannot be read ({said}): written by another version of winokit; "
                "remove it, or name another with --cache"
            ) from None

    def _ask(self, statement: str, values: Sequence[bytes]) -> list[tuple[bytes, bytes]]:
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:  # damaged, locked for too long, or on a disk that is full
            raise BadInput(
                f"{self.path}: the cache failed ({error}); remove it, or name another with --cache"
            ) from None


CacheFile = Annotated[
    str | Path | Cache | None,
    Help("The answer cache; 'off' for none. Default: in the user's cache folder.", metavar="FILE"),
]
"""A verb's cache, with its help: `open_cache` opens it."""


@contextmanager
def open_cache(cache: str | Path | Cache | None, spending: Spending = Spending()) -> Iterator[Cache]:
    """The cache that a verb was given: None or "" is the user's own, "off" keeps none; a `Cache` stays open."""
    with ExitStack() as stack:
        if not isinstance(cache, Cache):
            cache = stack.enter_context(Cache(None if cache == "off" else Path(cache) if cache else default_path()))
        cache.ledger = Ledger(spending) if cache.whole is None else cache.whole.part()
        yield cache


def key_of(fingerprint: str, request: Request) -> bytes:
    """What an answer is kept under."""
    fields = [getattr(request, field.name) for field in dataclasses.fields(request)]
    text = json.dumps([fingerprint, type(request).__name__, fields], ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def encode(answer: Answer) -> bytes:
    """An answer as bytes; the first says what it is. A refusal is none, and is not kept."""
    if isinstance(answer, Refusal):
        raise TypeError(f"not an answer to keep: {answer.why}")
    if isinstance(answer, np.ndarray):
        out = io.BytesIO()
        np.save(out, answer, allow_pickle=False)
        return b"A" + out.getvalue()
    if isinstance(answer, Reply):
        why = [answer.why] if answer.why else []
        return b"R" + json.dumps([answer.logprobs, answer.choice, answer.text, *why]).encode()
    if isinstance(answer, Scores):
        return b"S" + json.dumps(answer.values if answer.values is not None else {"why": answer.why}).encode()
    return b"P" + json.dumps([(piece.start, piece.end, piece.logprob) for piece in answer]).encode()


def decode(data: bytes) -> Answer:
    """An answer from bytes."""
    kind, body = data[:1], data[1:]
    if kind == b"A":
        array: Answer = np.load(io.BytesIO(body), allow_pickle=False)
        return array
    value = json.loads(body)
    if kind == b"R":
        logprobs, *rest = value
        return Reply(None if logprobs is None else tuple(logprobs), *rest)
    if kind == b"S":
        return Scores(tuple(value)) if isinstance(value, list) else Scores(None, value["why"] if value else None)
    return tuple(Piece(start, end, logprob) for start, end, logprob in value)


def answer_all(
    model: Model, requests: Iterable[Request], cache: Cache, progress: Progress | None = None
) -> Mapping[Request, Answer]:
    """Answer requests, each distinct one at most once, from the cache or from the model."""
    distinct = list(dict.fromkeys(requests))
    keys = {request: key_of(model.fingerprint, request) for request in distinct}
    known = cache.find(keys.values())
    answers = {request: known[key] for request, key in keys.items() if key in known}
    answers |= _kept_earlier(model, [request for request in distinct if request not in answers], cache)
    missing: Sequence[Request] = [request for request in distinct if request not in answers]
    unfit = next((request for request in missing if type(request) not in model.can), None)
    if unfit is not None:
        raise BadInput(f"{model.spec!r}, a {model.kind} model, cannot answer a {type(unfit).__name__} request")
    if isinstance(model, EnsembleModel):  # each member's answers are kept: an end in the middle loses nothing
        each = [answer_all(member, missing, cache, progress) for member in model.members]
        return answers | {request: model.combined(request, [given[request] for given in each]) for request in missing}
    if cache.ledger.spending.dry_run:
        cache.ledger.enter(model, distinct, missing)
        return {**answers, **dict.fromkeys(missing, Refusal("not asked: a dry run"))}
    missing = cache.ledger.affordable(model, missing)
    total = sum(map(size, distinct))
    done = total - sum(map(size, missing))
    if progress:
        progress(done, total)
    for index, answer in model.answer(missing) if missing else ():
        request = missing[index]
        # A refusal is quickly told again, and may be a matter of what the fingerprint leaves out: a server, n_ctx.
        if not isinstance(answer, Refusal):
            cache.keep(keys[request], answer)
        answers[request] = answer
        done += size(request)
        if progress:
            progress(done, total)
    if len(answers) < len(distinct):
        raise cache.ledger.stopped(len(answers), len(distinct), cache.path)
    return answers


def _kept_earlier(model: Model, requests: Sequence[Request], cache: Cache) -> dict[Request, Answer]:
    """What an earlier version kept of a model that says how to read it now (`earlier` fingerprints, `reread`)."""
    earlier, reread = getattr(model, "earlier", ()), getattr(model, "reread", None)
    if not earlier or reread is None:
        return {}
    keys = {key_of(kept, request): (request, place) for place, kept in enumerate(earlier) for request in requests}
    return {keys[key][0]: reread(*keys[key], answer) for key, answer in cache.find(keys).items()}


def size(request: Request) -> int:
    """How much text a request holds."""
    fields = (getattr(request, name) for name in request.__slots__)
    return 1 + sum(len(value) for value in fields if isinstance(value, str))
