"""Answers as bytes, and the keys they are kept under."""

import dataclasses
import hashlib
import io
import json

import numpy as np

from winokit.models.base import Answer, Found, Piece, Refusal, Reply, Request, Scores


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
    if isinstance(answer, Found):
        return b"F" + json.dumps([answer.count, answer.approximate, answer.documents]).encode()
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
    if kind == b"F":
        count, approximate, documents = value
        return Found(count, approximate, tuple((text, source) for text, source in documents))
    return tuple(Piece(start, end, logprob) for start, end, logprob in value)
