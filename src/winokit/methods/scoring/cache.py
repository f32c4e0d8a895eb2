"""Collect requests, drop repetitions, ask the model once and keep the answers.

Nothing is asked twice, and a killed run goes on where it stopped: one SQLite file in WAL mode; an answer is written the
moment it is known, under a key made of everything that determines it: the model's fingerprint and the request to the
letter. Sorting by length, packing and sharing prefixes is the model's part. What may be replayed is decided in `shelf`.
"""

import dataclasses
import hashlib
import io
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from winokit.errors import BadInput
from winokit.files import user_cache
from winokit.methods.scoring.ledger import Ledger, Spending
from winokit.methods.scoring.replay import KeptAnswer
from winokit.models.base import Answer, Found, Model, ModelOfModels, Piece, Refusal, Reply, Request, Scores
from winokit.progress import Progress
from winokit.settings import Help

CHUNK = 500
TABLES = (
    "CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS dates (key BLOB PRIMARY KEY, asked_at INTEGER) WITHOUT ROWID",
    """CREATE TRIGGER IF NOT EXISTS dated AFTER INSERT ON answers BEGIN
    INSERT OR REPLACE INTO dates VALUES (new.key, CAST(strftime('%s', 'now') AS INTEGER)); END""",
    "CREATE TABLE IF NOT EXISTS servers (fingerprint TEXT PRIMARY KEY, identity TEXT) WITHOUT ROWID",
)
"""Dates stand beside the answers, and a trigger writes them: versions that know of none read and write the same file.
An answer of such a version has no date."""


def default_path() -> Path:
    """Path of the answer cache if the user names no other.

    It is $WINOKIT_CACHE, else a file in the user's cache folder.
    """
    return Path(os.environ.get("WINOKIT_CACHE") or user_cache("answers.sqlite"))


class Cache:
    """Store of model answers by key, in SQLite or in memory.

    Without a path, answers are forgotten at the end. Raises BadInput if the file cannot be used. As a context manager
    it closes the file.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.ledger = Ledger(Spending())
        """Counts what is asked of models beyond these answers, and says when a limit is reached."""
        self.whole: Ledger | None = None
        """The ledger of a larger job, a suite, while the verbs that use this cache are parts of it."""
        self._remembered: dict[bytes, KeptAnswer] = {}
        self._identities: dict[str, str] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            for statement in TABLES:
                self._db.execute(statement)
        except (sqlite3.Error, OSError) as error:
            raise BadInput(f"{path}: cannot be used as a cache ({error}); name another with --set cache=FILE") from None

    def __enter__(self) -> "Cache":
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self.path is not None:
            self._db.close()
            if isinstance(error, KeyboardInterrupt):
                error.add_note(self.ledger.way_on(self.path))

    @contextmanager
    def parts_of(self, whole: Ledger) -> Iterator[Ledger]:
        """Count the verbs inside the context as parts of a larger job.

        `whole` is the job's ledger.
        """
        self.whole = self.ledger = whole
        try:
            yield whole
        finally:
            self.whole = None

    def find(self, keys: Iterable[bytes]) -> dict[bytes, KeptAnswer]:
        """Look up stored answers by their keys.

        Keys without an answer are missing from the result.
        """
        all_keys = list(keys)
        kept_answers = {key: self._remembered[key] for key in all_keys if key in self._remembered}
        if self.path is None:
            return kept_answers
        for start in range(0, len(all_keys), CHUNK):
            chunk = all_keys[start : start + CHUNK]
            marks = ",".join("?" * len(chunk))
            statement = f"SELECT key, value, asked_at FROM answers LEFT JOIN dates USING (key) WHERE key IN ({marks})"
            for key, value, asked_at in self._run_statement(statement, chunk):
                kept_answers[bytes(key)] = KeptAnswer(bytes(key), self._decode_value(value), asked_at)
        return kept_answers

    def keep(self, key: bytes, answer: Answer) -> None:
        """Store an answer under a key, with the time.

        It is on disk when this returns.
        """
        if self.path is None:
            self._remembered[key] = KeptAnswer(key, answer, int(time.time()))
            return
        self._run_statement("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, encode(answer)))

    def forget(self, keys: Iterable[bytes]) -> None:
        """Delete the answers of some keys."""
        for key in keys:
            self._remembered.pop(key, None)
            if self.path is not None:
                self._run_statement("DELETE FROM answers WHERE key = ?", (key,))
                self._run_statement("DELETE FROM dates WHERE key = ?", (key,))

    def last_identity(self, fingerprint: str) -> str:
        """Identity that a model's server gave last, as text.

        It is the text that `keep_identity` stored last under this name. Empty if the server gave none, or was never
        asked.
        """
        if self.path is None:
            return self._identities.get(fingerprint, "")
        rows = self._run_statement("SELECT identity FROM servers WHERE fingerprint = ?", (fingerprint,))
        return str(rows[0][0]) if rows else ""

    def keep_identity(self, fingerprint: str, identity: str) -> None:
        """Store the identity that a model's server gives."""
        self._identities[fingerprint] = identity
        if self.path is not None:
            self._run_statement("INSERT OR REPLACE INTO servers VALUES (?, ?)", (fingerprint, identity))

    def _decode_value(self, value: bytes) -> Answer:
        """Decode a stored answer. Raises BadInput if it cannot be read."""
        try:
            return decode(value)
        except (ValueError, TypeError, KeyError) as error:
            complaint = next(iter(str(error).splitlines()), type(error).__name__)
            raise BadInput(
                f"{self.path}: holds an answer that cannot be read ({complaint}): written by another version of "
                "winokit; remove it, or name another with --set cache=FILE"
            ) from None

    def _run_statement(self, statement: str, values: Sequence[bytes | str]) -> list[tuple[Any, ...]]:
        """Run an SQL statement and return its rows.

        Raises BadInput if the file fails.
        """
        try:
            return self._db.execute(statement, values).fetchall()
        except sqlite3.Error as error:  # damaged, locked for too long, or on a disk that is full
            raise BadInput(
                f"{self.path}: the cache failed ({error}); remove it, or name another with --set cache=FILE"
            ) from None


CacheFile = Annotated[
    str | Path | Cache | None,
    Help("The answer cache; 'off' for none. Default: in the user's cache folder.", metavar="FILE", section="asking"),
]
"""A verb's cache, with its help: `open_cache` opens it."""


@contextmanager
def open_cache(cache: str | Path | Cache | None, spending: Spending = Spending()) -> Iterator[Cache]:
    """Open the answer cache that a verb was given, inside the context.

    None or "" is the user's own, "off" keeps answers in memory. A `Cache` object stays open at the end. Limits on
    spending count from here.
    """
    with ExitStack() as stack:
        if not isinstance(cache, Cache):
            cache = stack.enter_context(Cache(_resolve_path(cache)))
        cache.ledger = Ledger(spending) if cache.whole is None else cache.whole.part()
        yield cache


def _resolve_path(cache: str | Path | None) -> Path | None:
    """Path of a cache's file, or None to keep answers in memory."""
    if cache == "off":
        return None
    return Path(cache) if cache else default_path()


def answer_all(
    model: Model, requests: Iterable[Request], cache: Cache, progress: Progress | None = None
) -> Mapping[Request, Answer]:
    """Answer requests from the cache or by the model.

    Each distinct request is answered once. `progress` is called with the amounts of text answered and in all, in
    characters. In a dry run the model is not asked, and every missing answer is a Refusal. Raises
    AskingStopped if a server does not give the answers that it gave before, or if none of its first replies can be
    read. Raises BadInput if the model cannot answer a missing request, or if a limit on spending is reached.
    """
    from winokit.methods.scoring.shelf import ModelShelf

    distinct = list(dict.fromkeys(requests))
    shelf = ModelShelf(model, cache)
    kept = shelf.find(distinct)
    answers = {request: each.answer for request, each in kept.items()}
    missing = [request for request in distinct if request not in kept]
    for request in missing:
        if type(request) not in model.can:
            fact = f"cannot answer a {type(request).__name__} request"
            raise BadInput(f"{model.spec!r}, a {model.kind} model, {fact}")
    if isinstance(model, ModelOfModels):
        return answers | _answer_by_members(model, missing, cache, progress)
    canaries = shelf.choose_canaries(kept, missing)
    if cache.ledger.spending.dry_run:
        cache.ledger.enter(model, distinct, missing, canaries)
        return {**answers, **dict.fromkeys(missing, Refusal("not asked: a dry run"))}
    shelf.check(kept, canaries, missing)
    affordable = cache.ledger.affordable(model, missing)
    total = sum(map(size, distinct))
    done = total - sum(map(size, affordable))
    if progress:
        progress(done, total)
    for request, answer in shelf.ask(affordable, kept):
        answers[request] = answer
        done += size(request)
        if progress:
            progress(done, total)
    if len(answers) < len(distinct) or not shelf.is_checked(kept):
        raise cache.ledger.stopped(len(answers), len(distinct), cache.path)
    cache.ledger.replays.note_kept(model, kept.values())
    return answers


def _answer_by_members(
    model: ModelOfModels, requests: Sequence[Request], cache: Cache, progress: Progress | None
) -> dict[Request, Answer]:
    """Answer requests by combining the answers of a model's members.

    Members' answers are cached as well, so that an interruption loses nothing.
    """
    by_member = [answer_all(member, requests, cache, progress) for member in model.members]
    combined_answers: dict[Request, Answer] = {}
    for request in requests:
        answers = [member_answers[request] for member_answers in by_member]
        combined_answers[request] = model.combined(request, answers)
    return combined_answers


def size(request: Request) -> int:
    """Number of characters in a request, plus 1, to measure progress."""
    fields = (getattr(request, name) for name in request.__slots__)
    return 1 + sum(len(value) for value in fields if isinstance(value, str))


def key_of(fingerprint: str, request: Request) -> bytes:
    """Cache key of a request to the model with this fingerprint.

    The first sample has the key of a request without samples.
    """
    value_of = {field.name: getattr(request, field.name) for field in dataclasses.fields(request)}
    if not value_of.get("sample"):  # the first is what earlier versions asked for
        value_of.pop("sample", None)
    fields = list(value_of.values())
    text = json.dumps([fingerprint, type(request).__name__, fields], ensure_ascii=True)
    return hashlib.blake2b(text.encode(), digest_size=16).digest()


def encode(answer: Answer) -> bytes:
    """Encode an answer as bytes for the cache.

    The first byte names its type. Raises TypeError for a refusal, which is not stored.
    """
    if isinstance(answer, Refusal):
        raise TypeError(f"not an answer to keep: {answer.why}")
    if isinstance(answer, np.ndarray):
        out = io.BytesIO()
        np.save(out, answer, allow_pickle=False)
        return b"A" + out.getvalue()
    if isinstance(answer, Reply):
        reason = [answer.why] if answer.why else []
        return b"R" + json.dumps([answer.logprobs, answer.choice, answer.text, *reason]).encode()
    if isinstance(answer, Scores):
        values = {"why": answer.why} if answer.values is None else answer.values
        return b"S" + json.dumps(values).encode()
    if isinstance(answer, Found):
        return b"F" + json.dumps([answer.count, answer.approximate, answer.documents]).encode()
    pieces = [(piece.start, piece.end, piece.logprob) for piece in answer]
    return b"P" + json.dumps(pieces).encode()


def decode(data: bytes) -> Answer:
    """Decode an answer that `encode` has written."""
    kind = data[:1]
    body = data[1:]
    if kind == b"A":
        array: Answer = np.load(io.BytesIO(body), allow_pickle=False)
        return array
    value = json.loads(body)
    if kind == b"R":
        logprobs, *other_fields = value
        return Reply(None if logprobs is None else tuple(logprobs), *other_fields)
    if kind == b"S":
        if isinstance(value, list):
            return Scores(tuple(value))
        return Scores(None, value["why"] if value else None)
    if kind == b"F":
        count, approximate, documents = value
        return Found(count, approximate, tuple((text, source) for text, source in documents))
    return tuple(Piece(start, end, logprob) for start, end, logprob in value)
