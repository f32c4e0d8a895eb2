"""The built-in masked language model: 23 MB inside the package, loaded in under a second, no network, no torch.

A six-layer BERT with 8-bit weights, run by onnxruntime. Its card (`assets/minilm-mlm/MODEL_CARD.md`) tells how it was
trained and that it is near chance on Winograd schemas: an honest default, not a strong one.

- `Fill` masks every word piece of the text at once (Kocijan et al., 2019; Abdou et al., 2020). The pieces are those the
  text gets in its place: the filled text is tokenised as a whole and the tokens that overlap the span are masked, so
  that a text glued to letters ("un" + "happy") takes the whole token with it.
- `PseudoLikelihood` masks one token at a time (Salazar et al., 2020, https://arxiv.org/abs/1910.14659); `within_word`
  also masks the later pieces of its word (Kauf and Ivanova, 2023, https://arxiv.org/abs/2305.10588). A word is a first
  piece and the `##` pieces that continue it.
- `Embed` pools the last hidden states; the mean is over all tokens, [CLS] and [SEP] included, as sentence encoders do.

Many requests leave the same masked text behind (two candidates of two pieces each), and it is read once. Logits are
computed only where a token is to be guessed.
"""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.resources import files
from math import nan
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from winokit.errors import BadInput, UnknownName
from winokit.models.base import (
    Answer,
    Embed,
    Fill,
    NothingToScore,
    Piece,
    Pieces,
    PseudoLikelihood,
    Refusal,
    Request,
    TooLong,
    Unreadable,
)
from winokit.models.packing import packed
from winokit.models.registry import Spec

if TYPE_CHECKING:
    from tokenizers import Encoding

FOLDER = files("winokit") / "assets" / "minilm-mlm"
LONGEST = 512
"""Tokens the model has positions for, [CLS] and [SEP] included."""
BUDGET = 1024
"""Padded tokens of a batch."""
MOST_THREADS = 1024
WINDOW = 1024
"""Requests planned together: enough to pack well, few enough that their masked copies fit in memory."""


def load(spec: Spec) -> BuiltinModel:
    """Load the built-in model; the only option is the number of `threads`."""
    if spec.place:
        raise BadInput(f"builtin: there is only one, so that nothing may follow it; found {spec.place!r}")
    asked = spec.only("threads").get("threads")
    if asked is not None and not (asked.isdecimal() and 0 < int(asked) <= MOST_THREADS):
        raise BadInput(f"builtin: threads must be a whole number from 1 to {MOST_THREADS}, not {asked!r}")
    return BuiltinModel(str(spec), int(asked) if asked else usable_threads())


def usable_threads() -> int:
    """What OMP_NUM_THREADS says, else the processors this process may use.

    onnxruntime's own default pins its threads to processors, and two runs side by side would fight over the same ones.
    """
    told = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if told.isdecimal() and int(told) > 0:
        return int(told)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(eq=False, slots=True)
class _Row:
    """A masked text, what is to be read off it, and which requests wait for that."""

    ids: tuple[int, ...]
    logprobs: dict[tuple[int, int], float] = field(default_factory=dict)
    """By column and token; not a number until the model has run."""
    readers: list[int] = field(default_factory=list)
    """A request once for each token it reads here."""


@dataclass(frozen=True, slots=True)
class _Guess:
    """A token to guess: its place in the scored text, and in a masked one."""

    start: int
    end: int
    row: _Row
    column: int
    token: int

    def piece(self) -> Piece:
        return Piece(self.start, self.end, self.row.logprobs[self.column, self.token])


@dataclass(slots=True)
class _Plan:
    """What to run for some requests, each text once."""

    rows: dict[tuple[int, ...], _Row] = field(default_factory=dict)
    guesses: dict[int, list[_Guess]] = field(default_factory=lambda: defaultdict(list))
    pooled: dict[tuple[int, ...], list[tuple[int, list[int]]]] = field(default_factory=lambda: defaultdict(list))
    """Text to the requests for a vector of it, with the columns to take the mean of."""
    refused: dict[int, Refusal] = field(default_factory=dict)

    def guess(self, index: int, ids: list[int], column: int, token: int, start: int, end: int) -> None:
        """Plan to guess the token of one column of a masked text."""
        key = tuple(ids)
        row = self.rows.setdefault(key, _Row(key))
        row.logprobs[column, token] = nan
        row.readers.append(index)
        self.guesses[index].append(_Guess(start, end, row, column, token))


class BuiltinModel:
    """The built-in model, loaded."""

    kind = "masked"
    can: frozenset[type] = frozenset({Fill, PseudoLikelihood, Embed})

    def __init__(self, spec: str, threads: int) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self.spec = spec
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(
            (FOLDER / "model_int8.onnx").read_bytes(), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer = Tokenizer.from_str((FOLDER / "tokenizer.json").read_text("utf-8"))
        (self._mask,) = self._tokenizer.encode("[MASK]", add_special_tokens=False).ids

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the weights and the tokenizer: nothing else changes an answer by more than rounding."""
        digest = hashlib.blake2b(digest_size=16)
        for name in ("model_int8.onnx", "tokenizer.json"):
            digest.update((FOLDER / name).read_bytes())
        return f"builtin {digest.hexdigest()}"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests, window by window and in each the longest texts first."""
        for start in range(0, len(requests), WINDOW):
            plan = self._plan(requests, range(len(requests))[start : start + WINDOW])
            yield from plan.refused.items()
            yield from self._score(plan)
            yield from self._embed(plan)

    def _plan(self, requests: Sequence[Request], window: Sequence[int]) -> _Plan:
        plan = _Plan()
        spans = [_span(requests[index]) for index in window]
        encodings = self._tokenizer.encode_batch([text for text, _, _ in spans])
        for index, (text, start, end), encoding in zip(window, spans, encodings, strict=True):
            request = requests[index]
            try:
                if len(encoding) > LONGEST:
                    raise TooLong(text, len(encoding), LONGEST)
                if isinstance(request, Embed):
                    columns = _pooled_columns(request, encoding)
                    plan.pooled[tuple(encoding.ids)].append((index, columns))
                elif isinstance(request, Fill | PseudoLikelihood):
                    self._hide(plan, index, request, encoding, _columns(encoding, text, start, end))
            except Unreadable as unreadable:
                plan.refused[index] = unreadable.refusal
        return plan

    def _hide(
        self, plan: _Plan, index: int, request: Fill | PseudoLikelihood, encoding: Encoding, columns: list[int]
    ) -> None:
        """Add to the plan a guess of each column."""
        ids, offsets = encoding.ids, encoding.offsets
        # Pieces of a Fill stand in its text, which a token glued to its neighbours may exceed.
        origin = len(request.before) if isinstance(request, Fill) else 0
        for column, together in zip(columns, _masked_together(request, encoding, columns), strict=True):
            masked = list(ids)
            for hidden in together:
                masked[hidden] = self._mask
            start, end = (min(max(place - origin, 0), len(request.text)) for place in offsets[column])
            plan.guess(index, masked, column, ids[column], start, end)

    def _score(self, plan: _Plan) -> Iterator[tuple[int, Pieces]]:
        rows = list(plan.rows.values())
        left = {index: len(guesses) for index, guesses in plan.guesses.items()}
        for batch in packed([len(row.ids) for row in rows], BUDGET):
            self._read([rows[at] for at in batch])
            for index in [index for at in batch for index in rows[at].readers]:
                left[index] -= 1
                if not left[index]:
                    yield index, tuple(guess.piece() for guess in plan.guesses[index])

    def _read(self, rows: Sequence[_Row]) -> None:
        """Run masked texts and write down the log-probabilities wanted of each."""
        asked = {(at, column): None for at, row in enumerate(rows) for column, _ in row.logprobs}
        logits = self._run([row.ids for row in rows], list(asked), "logits")
        logits -= logits.max(axis=1, keepdims=True)
        normalisers = np.log(np.exp(logits).sum(axis=1, dtype=np.float64))
        places = {position: place for place, position in enumerate(asked)}
        for at, row in enumerate(rows):
            for column, token in row.logprobs:
                place = places[at, column]
                row.logprobs[column, token] = float(logits[place, token] - normalisers[place])

    def _embed(self, plan: _Plan) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        texts = list(plan.pooled)
        for batch in packed([len(ids) for ids in texts], BUDGET):
            hidden = self._run([texts[at] for at in batch], [], "last_hidden_state")
            for states, at in zip(hidden, batch, strict=True):
                for index, columns in plan.pooled[texts[at]]:
                    yield index, states[columns].mean(axis=0)

    def _run(
        self, texts: Sequence[Sequence[int]], positions: Sequence[tuple[int, int]], output: str
    ) -> npt.NDArray[np.float32]:
        """One output of the graph for a batch of texts, padded to the longest."""
        ids = np.zeros((len(texts), max(map(len, texts))), dtype=np.int64)
        attended = np.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = text
            attended[row, : len(text)] = 1
        asked = np.array(positions, dtype=np.int64).reshape(-1, 2)
        found: npt.NDArray[np.float32]
        (found,) = self._session.run([output], {"input_ids": ids, "attention_mask": attended, "positions": asked})
        return found


def _span(request: Request) -> tuple[str, int, int]:
    """The text to tokenise, and the part of it that is asked about."""
    match request:
        case Fill(before, text, after):
            return before + text + after, len(before), len(before) + len(text)
        case PseudoLikelihood(text, start, end) | Embed(text, _, start, end):
            return text, start, end
    raise BadInput(
        f"builtin: cannot answer a {type(request).__name__} request; it answers Embed, Fill, PseudoLikelihood"
    )


def _columns(encoding: Encoding, text: str, start: int, end: int) -> list[int]:
    """The tokens that overlap a span of the text; [CLS] and [SEP] cover no character and so never do."""
    columns = [at for at, (first, last) in enumerate(encoding.offsets) if first < end and last > start and first < last]
    if not columns:
        raise NothingToScore(text[start:end])
    return columns


def _masked_together(request: Fill | PseudoLikelihood, encoding: Encoding, columns: list[int]) -> list[list[int]]:
    """For each column to guess, the columns to mask."""
    if isinstance(request, Fill):
        return [columns] * len(columns)
    if not request.within_word:
        return [[column] for column in columns]
    words = encoding.word_ids
    return [[at for at in range(column, len(words)) if words[at] == words[column]] for column in columns]


def _pooled_columns(request: Embed, encoding: Encoding) -> list[int]:
    """The tokens a vector is the mean of."""
    match request.pooling:
        case "mean":
            return list(range(len(encoding)))
        case "first":
            return [0]
        case "span":
            return _columns(encoding, request.text, request.start, request.end)
    raise UnknownName("pooling", request.pooling, ("first", "mean", "span"))
