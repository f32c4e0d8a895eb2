"""The built-in masked language model: 23 MB inside the package, loaded in under a second, no network, no torch.

A six-layer BERT with 8-bit weights, run by onnxruntime. Its card (`assets/minilm-mlm/MODEL_CARD.md`) says how it
was trained, and that it is near chance on Winograd schemas: a default to try things with, not a strong model.

It answers `Fill`, `PseudoLikelihood` and `Embed` as the masked models of transformers do (`hf_masked`). For a
`Fill`, the whole filled text is tokenised, and the tokens that overlap the span are masked. So a text that is glued
to letters ("un" + "happy") is scored by the whole token.

Many requests have the same masked text (for example two candidates of two pieces each), which is read once. Logits,
and most of the last layer, are computed only where a token is predicted.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

import numpy as np
import numpy.typing as npt

from winokit.models.base import Answer, Embed, Fill, PseudoLikelihood, Request
from winokit.models.packing import packed
from winokit.models.pieces import FOLDER, tokenizer
from winokit.models.reading import (
    WINDOW,
    Guess,
    Ids,
    TextReading,
    assemble_pieces,
    list_lookups,
    plan_lookups,
    split_windows,
)
from winokit.models.registry import Spec

LONGEST = 512
"""Number of tokens for which the model has positions, with [CLS] and [SEP]."""
BUDGET = 1024
"""Largest number of tokens of a batch, padding included."""


def load(spec: Spec) -> "BuiltinModel":
    """Load the built-in model.

    The SPEC's only option is the number of `threads`.
    """
    spec.no_place()
    spec.only("threads")
    return BuiltinModel(str(spec), spec.number("threads", usable_threads(), least=1, most=1024))


def usable_threads() -> int:
    """Number of threads to use: that of OMP_NUM_THREADS, else one per usable processor.

    onnxruntime's own default pins its threads to processors, and two runs side by side would compete for the same ones.
    """
    stated = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if stated.isdecimal() and int(stated) > 0:
        return int(stated)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class BuiltinModel:
    """The built-in masked language model, run by onnxruntime."""

    kind = "masked"
    can: frozenset[type] = frozenset({Fill, PseudoLikelihood, Embed})

    def __init__(self, spec: str, threads: int) -> None:
        os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # else the import alone reports to onnxruntime's makers
        import onnxruntime

        self.spec = spec
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        # A thread that waits for the others sleeps: spinning would take the processor from whoever else is busy.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            (FOLDER / "model_int8.onnx").read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = tokenizer()
        (self._mask,) = self._tokenizer.encode("[MASK]", add_special_tokens=False).ids

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the weights and the tokenizer."""
        digest = hashlib.blake2b(digest_size=16)
        for name in ("model_int8.onnx", "tokenizer.json"):
            digest.update((FOLDER / name).read_bytes())
        return f"builtin {digest.hexdigest()}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests in windows of many, the longest texts of each window first."""
        for window in split_windows(requests, WINDOW):
            plan = plan_lookups(self, window, self._read_texts, self._mask)
            yield from plan.refused.items()
            yield from assemble_pieces(plan.guesses, self._compute_logprobs(plan.guesses))
            yield from self._compute_vectors(plan.pools)

    def _read_texts(self, texts: list[str]) -> list[TextReading]:
        """Tokenise texts, with the place and the word of each token."""
        encodings = self._tokenizer.encode_batch(texts)
        return [TextReading.of(text, encoding, LONGEST) for text, encoding in zip(texts, encodings, strict=True)]

    def _compute_logprobs(self, wanted: Mapping[Ids, list[Guess]]) -> Iterator[tuple[Guess, float]]:
        """Yield each guess with its log-probability.

        `wanted` has the guesses by the masked text in which they are made.
        """
        texts = list(wanted.items())
        for batch in packed([len(ids) for ids, _ in texts], BUDGET):
            rows = [texts[at] for at in batch]
            pairs, at, tokens = list_lookups(rows)
            logits = self._run_graph([ids for ids, _ in rows], pairs, "logits")
            logits -= logits.max(axis=1, keepdims=True)
            normalisers = np.log(np.exp(logits).sum(axis=1, dtype=np.float64))
            values = (logits[at, tokens] - normalisers[at]).tolist()
            guesses = chain.from_iterable(guesses for _, guesses in rows)
            yield from zip(guesses, values, strict=True)

    def _compute_vectors(
        self, wanted: Mapping[Ids, list[tuple[int, list[int]]]]
    ) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """Yield the vector for each request.

        It is the mean of hidden states at the request's positions. `wanted` has pairs of request index and positions,
        by text.
        """
        texts = list(wanted)
        for batch in packed([len(ids) for ids in texts], BUDGET):
            hidden = self._run_graph([texts[at] for at in batch], [], "last_hidden_state")
            for states, at in zip(hidden, batch, strict=True):
                for index, positions in wanted[texts[at]]:
                    yield index, states[positions].mean(axis=0)

    def _run_graph(
        self, texts: Sequence[Sequence[int]], positions: Sequence[tuple[int, int]], output: str
    ) -> npt.NDArray[np.float32]:
        """Run the network on padded texts, and return one output.

        `positions` are the (row, column) pairs for which logits are computed. `output` is `logits`, of shape
        (positions, vocabulary), or `last_hidden_state`, of shape (texts, longest, width).
        """
        ids = np.zeros((len(texts), max(map(len, texts))), dtype=np.int64)
        attended = np.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            attended[row, : len(text)] = 1
        pairs = np.array(positions, dtype=np.int64).reshape(-1, 2)
        values: npt.NDArray[np.float32]
        (values,) = self._session.run([output], {"input_ids": ids, "attention_mask": attended, "positions": pairs})
        return values
