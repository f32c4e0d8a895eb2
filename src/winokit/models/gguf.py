"""Quantised models of llama.cpp: `gguf:FILE`, with options n_ctx, n_threads and n_gpu_layers as llama.cpp has them.

`bos=on|off` says whether texts begin with BOS, by default as the file says. As in `boundary`, without BOS the first
token of a text without context is read and not scored.

Requests are sorted by their tokens. Tokens that a request shares with the one before it, from the start, stay in
the key-value cache, so that twins and candidates cost little more than their last words. Logits are computed only
where they are needed.

llama.cpp multiplies quantised weights with quantised activations. So its numbers differ from those of the same
weights dequantised, by as much as tests/models/test_gguf.py says.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from math import inf
from operator import eq
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput, needing
from winokit.models import base
from winokit.models.boundary import join_answers, moved, reaches_across, split_requests
from winokit.models.registry import Spec

DEFAULTS = {"n_ctx": 2048, "n_threads": os.cpu_count() or 1, "n_gpu_layers": 0}
BATCH = 512
"""Number of tokens that are read at once."""


def load(spec: Spec) -> "GgufModel":
    """Load the model in the GGUF file that a SPEC names."""
    spec.only(*DEFAULTS, "bos")
    options = {name: spec.number(name, default, least=-inf) for name, default in DEFAULTS.items()}
    bos = spec.switch("bos")
    path = spec.file_or_fail("FILE.gguf")
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise BadInput(f"{path}: not a GGUF file (it does not begin with 'GGUF')")
    with needing("a GGUF model", "gguf"):
        import llama_cpp
    try:
        # Texts are read in batches, for which llama.cpp counts threads separately.
        llama = llama_cpp.Llama(
            str(path), n_batch=BATCH, n_threads_batch=options["n_threads"], verbose=False, **options
        )
    except (ValueError, RuntimeError) as error:
        raise BadInput(f"{path}: llama.cpp cannot load it: {' '.join(str(error).split())}") from None
    return GgufModel(str(spec), path, _Reader(llama_cpp, llama, bos), options["n_gpu_layers"])


class GgufModel:
    """A causal language model in llama.cpp."""

    kind = "causal"
    can: frozenset[type] = frozenset({base.Continuation, base.Ask})

    def __init__(self, spec: str, path: Path, reader: "_Reader", gpu_layers: int) -> None:
        self.spec = spec
        self._reader: _Reader | Any = reader
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        self.fingerprint = f"gguf:{content}:gpu{gpu_layers}:bos={'on' if reader.mark else 'off'}"
        unmarked = f"{spec}: texts are read without BOS before them, as the file says; ?bos=on puts it there"
        self.notes = (unmarked,) if reader.unmarked else ()

    def answer(self, requests: Sequence[base.Request]) -> Iterator[tuple[int, base.Answer]]:
        """Answer requests in the order of their tokens.

        So neighbours share what is in the cache. The choice of an `Ask` is its likeliest option.
        """
        parts = split_requests(self, requests)
        owners = [index for index, _ in parts]
        part_answers = self._score_parts([part for _, part in parts])
        for index, answer in join_answers(requests, owners, part_answers):
            if isinstance(answer, base.Reply) and answer.logprobs is not None:
                answer = replace(answer, choice=int(np.argmax(answer.logprobs)))
            yield index, answer

    def close(self) -> None:
        """Free the weights in llama.cpp."""
        self._reader = base.LetGo(self.spec)

    def _score_parts(self, requests: Sequence[base.Continuation]) -> Iterator[tuple[int, base.Pieces | base.Refusal]]:
        """Yield the pieces of each continuation, by its number.

        Pieces are the scored tokens with their log-probabilities. A Refusal if a text cannot be scored.
        """
        encoded: list[tuple[tuple[int, ...], int, int]] = []
        for number, request in enumerate(requests):
            try:
                encoded.append((*self._split_tokens(request), number))
            except base.Unreadable as unreadable:
                yield number, unreadable.refusal
        for tokens, first, number in sorted(encoded):
            logprobs = self._reader.logprobs(tokens, first).tolist()
            spellings = [self._reader.spelling(token) for token in tokens[first:]]
            borders = _find_borders(requests[number].text, spellings)
            yield number, tuple(map(base.Piece, borders, borders[1:], logprobs))

    def _split_tokens(self, request: base.Continuation) -> tuple[tuple[int, ...], int]:
        """Tokenise a continuation, and find its first scored token.

        The border is that of lm-evaluation-harness. Raises Unreadable if there is no token to score, or if there are
        too many.
        """
        context = self._reader.tokens(request.context.rstrip())
        tokens = (*self._reader.mark, *self._reader.tokens(request.context + request.text))
        first = max(len(self._reader.mark) + len(context), 1)
        before, after = moved(request)
        if reaches_across(before, after, tokens[len(self._reader.mark) :], context):
            first = len(tokens)
            bytes_left = len(after.encode())
            while bytes_left > 0 and first > 1:
                first -= 1
                bytes_left -= len(self._reader.spelling(tokens[first]))
        if first >= len(tokens):
            raise base.NothingToScore(request.text)
        if len(tokens) - 1 > self._reader.longest:
            raise base.TooLong(request.context + request.text, len(tokens) - 1, self._reader.longest)
        return tokens, first


class _Reader:
    """llama.cpp, with the tokens that it has read last in its cache."""

    def __init__(self, library: Any, llama: Any, bos: bool | None) -> None:
        self._library = library
        self._llama = llama
        self._memory = library.llama_get_memory(llama.ctx)
        self._batch = library.llama_batch_init(BATCH, 0, 1)
        self._cached: tuple[int, ...] = ()
        self.longest: int = min(llama.n_ctx(), library.llama_model_n_ctx_train(llama.model))
        has_bos = llama.token_bos() >= 0
        stated = library.llama_vocab_get_add_bos(library.llama_model_get_vocab(llama.model))
        first_token = llama.token_bos() if has_bos else llama.token_eos()
        is_marked = stated if bos is None else bos
        self.mark = (first_token,) if is_marked else ()
        """Tokens that are put before every text: BOS, or none."""
        self.unmarked = has_bos and not self.mark and bos is None
        """Whether the model has a BOS token that texts are read without, although the SPEC does not say so."""

    def __del__(self) -> None:
        self._library.llama_batch_free(self._batch)

    def tokens(self, text: str) -> list[int]:
        """Tokenise a text, without special tokens."""
        return list(self._llama.tokenize(text.encode(), add_bos=False, special=False)) if text else []

    def spelling(self, token: int) -> bytes:
        """Bytes of a token."""
        return bytes(self._llama.detokenize([token]))

    def logprobs(self, tokens: tuple[int, ...], first: int) -> npt.NDArray[np.float64]:
        """Log-probability of each token from index `first` on, given all tokens before it."""
        inputs = tokens[:-1]
        shared_count = sum(takewhile(bool, map(eq, self._cached, inputs)))
        cached_count = min(shared_count, first - 1)
        if not self._library.llama_memory_seq_rm(self._memory, 0, cached_count, -1):
            # A recurrent model cannot forget half of what it read.
            self._library.llama_memory_clear(self._memory, True)
            cached_count = 0
        self._cached = ()  # nothing is known to be cached until the reading has succeeded
        starts = range(cached_count, len(inputs), BATCH)
        parts = [self._read_tokens(inputs[start : start + BATCH], start, first - 1) for start in starts]
        self._cached = inputs
        logits = np.concatenate(parts)
        highest = logits.max(axis=1, keepdims=True)
        sums = np.exp(logits - highest).sum(axis=1, dtype=np.float64)
        totals = np.log(sums) + highest[:, 0]
        scored_logits = logits[np.arange(len(logits)), tokens[first:]]
        return np.asarray(scored_logits - totals, np.float64)

    def _read_tokens(self, tokens: Sequence[int], start: int, first_wanted: int) -> npt.NDArray[np.float32]:
        """Read tokens whose positions begin at `start`.

        Returns the logits at the positions from `first_wanted` on, of shape (positions, vocabulary).
        """
        batch = self._batch
        batch.n_tokens = len(tokens)
        for index, token in enumerate(tokens):
            position = start + index
            batch.token[index] = token
            batch.pos[index] = position
            batch.n_seq_id[index] = 1
            batch.seq_id[index][0] = 0
            batch.logits[index] = position >= first_wanted
        status = self._library.llama_decode(self._llama.ctx, batch)
        if status != 0:
            raise BadInput(f"llama.cpp failed to read {len(tokens)} tokens (status {status}): try a larger n_ctx")
        rows = min(len(tokens), max(start + len(tokens) - first_wanted, 0))
        columns = self._llama.n_vocab()
        if rows == 0:
            return np.empty((0, columns), np.float32)
        # A copy, since llama.cpp writes the next logits to the same place.
        pointer = self._library.llama_get_logits(self._llama.ctx)
        return np.ctypeslib.as_array(pointer, (rows, columns)).copy()


def _find_borders(text: str, spellings: Sequence[bytes]) -> list[int]:
    """Character positions of the borders of a text's tokens.

    There is one more than there are tokens. Counted from the end, since the first token may begin before the text. A
    border inside a character is moved to that character's start.
    """
    raw = text.encode()
    places = [len(raw)]
    for spelling in reversed(spellings):
        places.append(max(places[-1] - len(spelling), 0))
    return [len(raw[:place].decode(errors="ignore")) for place in reversed(places)]
