"""Sequence-to-sequence language models of Hugging Face: T5, BART and their kin.

- `Ask`: the encoder reads the prompt, the decoder scores each option. The reply has the sum of an option's
  log-probabilities; options of more tokens have lower ones, and a scoring decides what to do about it.
- `Continuation`: the encoder reads the context, the decoder scores the text. Spaces at the end of the context move to
  the text, as in lm-evaluation-harness; the rest of that boundary means nothing here, as the two are read apart.
- `Embed` pools the encoder's last hidden states; the mean is over all tokens, special ones included.

What the decoder begins with is what the model was trained on: its start token, then whatever the tokenizer puts before
a text (BART's `<s>`; the harness leaves it out). Neither that nor the token that ends a text is scored: what counts is
the option, not that it stops there. The encoder reads a prompt once for all its options and all requests that share it.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence

from winokit.errors import BadInput
from winokit.models import base
from winokit.models.batching import FILLER, in_batches
from winokit.models.boundary import join_answers, moved
from winokit.models.hf import HfModel, HfSettings, load_tokenizer, load_weights
from winokit.models.reading import WINDOW, Ids, TextReading, read, split_windows
from winokit.models.registry import Spec

Logprobs: TypeAlias = list[float]


@dataclass(frozen=True, slots=True)
class Seq2seqPart:
    """A prompt and a target, of one request or option.

    The encoder reads the prompt, and the decoder scores the target.
    """

    number: int
    request: base.Request
    prompt: TextReading
    target: TextReading | None
    """None for an `Embed`, which needs the encoder alone."""

    def check(self) -> None:
        """Raise Unreadable if a text cannot be read or scored."""
        if not self.prompt.ids:
            raise base.NothingToScore(self.prompt.text)
        self.prompt.check()
        if self.target is not None:
            self.target.check()
            self.target.own()
        elif isinstance(self.request, base.Embed):
            self.prompt.pooled(self.request)

    @property
    def scored_positions(self) -> list[int]:
        """Positions of the target's tokens that are scored, without special ones."""
        return [] if self.target is None else self.target.own()

    @property
    def ids(self) -> list[int]:
        """Token ids of the target, up to the last one that is scored."""
        if self.target is None:
            return []
        last = self.scored_positions[-1]
        return self.target.ids[: last + 1]

    def pieces(self, logprobs: Logprobs) -> base.Pieces:
        """Make pieces of the scored tokens, given their log-probabilities in order.

        Spaces that moved from the context to the text are not part of them.
        """
        assert self.target is not None
        space_count = 0
        if isinstance(self.request, base.Continuation):
            space_count = len(self.target.text) - len(self.request.text)
        places = filter(None, self.target.places)
        pieces: list[base.Piece] = []
        for (start, end), logprob in zip(places, logprobs, strict=True):
            piece = base.Piece(max(start - space_count, 0), max(end - space_count, 0), logprob)
            pieces.append(piece)
        return tuple(pieces)


def load(spec: Spec, settings: HfSettings) -> "Seq2SeqModel":
    """Load a sequence-to-sequence model with its tokenizer."""
    tokenizer = load_tokenizer(settings)
    return Seq2SeqModel(str(spec), settings, tokenizer, load_weights(transformers.AutoModelForSeq2SeqLM, settings))


class Seq2SeqModel(HfModel):
    """A sequence-to-sequence language model."""

    kind = "seq2seq"
    can: frozenset[type] = frozenset({base.Ask, base.Continuation, base.Embed})

    def __init__(self, spec: str, settings: HfSettings, tokenizer: Any, model: Any) -> None:
        super().__init__(spec, settings, tokenizer, model)
        self.start = start_token(settings.place, model)
        self.longest = most_tokens(model.config, "encoder")
        self.longest_target = most_tokens(model.config, "decoder")

    def answer(self, requests: Sequence[base.Request]) -> Iterator[tuple[int, base.Answer]]:
        """Answer requests in windows of many, the longest prompts of each window first."""
        if requests:
            self.budget.settle()
        for window in split_windows(requests, WINDOW):
            owners: list[int] = []
            for index, request in window.items():
                owners += [index] * len(self._split_sides(request))
            yield from join_answers(window, owners, self._read_parts(window, owners))

    def _split_sides(self, request: base.Request) -> list[tuple[str, str | None]]:
        """Split a request into pairs of encoder text and decoder text.

        The decoder's text is None for an `Embed`. Raises BadInput for other types of request, and for an `Ask` without
        options.
        """
        match request:
            case base.Ask(prompt, options):
                if not options:
                    raise BadInput(f"no options to choose from: {prompt!r}")
                return [(prompt, option) for option in options]
            case base.Continuation():
                return [moved(request)]
            case base.Embed(text):
                return [(text, None)]
        raise base.cannot(self, request)

    def _read_parts(
        self, requests: Mapping[int, base.Request], owners: Sequence[int]
    ) -> Iterator[tuple[int, base.Answer]]:
        """Yield the answer to each part, by its number.

        Each distinct prompt is encoded once. `owners` has the request's index for each part.
        """
        by_prompt: dict[Ids, list[Seq2seqPart]] = defaultdict(list)
        for part in self._list_parts(requests, owners):
            try:
                part.check()
                by_prompt[tuple(part.prompt.ids)].append(part)
            except base.Unreadable as unreadable:
                yield part.number, unreadable.refusal
        encoded = list(by_prompt)
        rows: list[tuple[torch.Tensor, Seq2seqPart]] = []
        waiting_tokens = 0
        lengths = list(map(len, encoded))
        for at, state in in_batches(self._encode_prompts, encoded, lengths, self.budget):
            for part in by_prompt[encoded[at]]:
                if isinstance(part.request, base.Embed):
                    positions = part.prompt.pooled(part.request)
                    yield part.number, state[positions].float().mean(0).cpu().numpy()
                else:
                    rows.append((state, part))
            waiting_tokens += len(state)
            if waiting_tokens >= self.budget.tokens:
                yield from self._score_rows(rows)
                rows = []
                waiting_tokens = 0
        yield from self._score_rows(rows)

    def _list_parts(self, requests: Mapping[int, base.Request], owners: Sequence[int]) -> list[Seq2seqPart]:
        """Split requests into parts, and tokenise their texts."""
        sides: list[tuple[str, str | None]] = []
        for request in requests.values():
            sides += self._split_sides(request)
        texts = list(dict.fromkeys(prompt for prompt, _ in sides))
        prompts = dict(zip(texts, read(self.tokenizer, texts, self.longest), strict=True))
        options = [option for _, option in sides if option is not None]
        targets = iter(read(self.tokenizer, options, self.longest_target, as_target=True))
        parts: list[Seq2seqPart] = []
        for index, (prompt, option) in zip(owners, sides, strict=True):
            target = None if option is None else next(targets)
            parts.append(Seq2seqPart(len(parts), requests[index], prompts[prompt], target))
        return parts

    def _score_rows(self, rows: Sequence[tuple[torch.Tensor, Seq2seqPart]]) -> Iterator[tuple[int, base.Pieces]]:
        """Yield the pieces of each part, given its prompt's hidden states.

        Each comes with the part's number. Pieces are the scored tokens with their log-probabilities.
        """
        costs = [len(state) + len(part.ids) for state, part in rows]
        for at, logprobs in in_batches(self._decode_rows, rows, costs, self.budget):
            _, part = rows[at]
            yield part.number, part.pieces(logprobs)

    def read_filler(self, tokens: int) -> None:
        """Encode a batch of `tokens` arbitrary tokens, to see whether memory holds it."""
        length = min(FILLER, self.longest)
        self._encode_prompts([(0,) * length] * max(tokens // length, 1))

    @torch.inference_mode()
    def _encode_prompts(self, prompts: Sequence[Ids]) -> list[torch.Tensor]:
        """Last hidden states of each prompt in the encoder, without those of padding."""
        ids, attended = self._pad_ids(prompts)
        states = self.model.get_encoder()(input_ids=ids, attention_mask=attended).last_hidden_state
        return [state[: len(prompt)] for state, prompt in zip(states, prompts, strict=True)]

    @torch.inference_mode()
    def _decode_rows(self, rows: Sequence[tuple[torch.Tensor, Seq2seqPart]]) -> list[Logprobs]:
        """Log-probabilities of the scored tokens of each part."""
        states = pad_sequence([state for state, _ in rows], batch_first=True)
        _, attended = self._pad_ids([part.prompt.ids for _, part in rows])
        targets = [(part.ids, part.scored_positions) for _, part in rows]
        target_rows = [[self.start, *ids[:-1]] for ids, _ in targets]
        inputs, decoded = self._pad_ids(target_rows)
        logits = self.model(
            encoder_outputs=(states,),
            attention_mask=attended,
            decoder_input_ids=inputs,
            decoder_attention_mask=decoded,
            use_cache=False,
        ).logits
        row_numbers: list[int] = []
        positions: list[int] = []
        tokens: list[int] = []
        for row, (ids, scored_positions) in enumerate(targets):
            row_numbers += [row] * len(scored_positions)
            positions += scored_positions
            tokens += [ids[position] for position in scored_positions]
        scored = logits[row_numbers, positions].float()
        logprobs = scored[range(len(tokens)), tokens] - scored.logsumexp(-1)
        values = iter(logprobs.tolist())
        return [list(islice(values, len(scored_positions))) for _, scored_positions in targets]


def start_token(place: str, model: Any) -> int:
    """Id of the token with which a decoder begins.

    `place` names the model in the BadInput error if its configuration has none.
    """
    for config in (model.config, model.generation_config):
        token = getattr(config, "decoder_start_token_id", None)
        if isinstance(token, int):
            return token
    raise BadInput(f"{place}: its configuration has no decoder_start_token_id, so the decoder cannot begin")


def most_tokens(config: Any, side: str) -> int:
    """Number of tokens for which a side of the model has positions.

    A side is `encoder` or `decoder`. T5 has no limit, since it uses relative distances.
    """
    for name in (f"max_{side}_position_embeddings", "max_position_embeddings"):
        if most := getattr(config, name, None):
            return int(most)
    return sys.maxsize
