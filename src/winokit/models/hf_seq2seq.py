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

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
import transformers
from torch.nn.utils.rnn import pad_sequence

from winokit.errors import BadInput
from winokit.models.base import (
    Answer,
    Ask,
    Continuation,
    Embed,
    NothingToScore,
    Piece,
    Reply,
    Request,
    Unreadable,
    cannot,
)
from winokit.models.boundary import moved
from winokit.models.hf import HfModel, HfSettings, halving, load_tokenizer, load_weights
from winokit.models.packing import packed
from winokit.models.reading import WINDOW, Ids, TextReading, read, windows
from winokit.models.registry import Spec

Logprobs: TypeAlias = list[float]


@dataclass(frozen=True, slots=True)
class Seq2seqJob:
    """A request, what the encoder reads for it, what the decoder scores, and the log-probabilities found so far."""

    index: int
    request: Request
    prompt: TextReading
    targets: list[TextReading]
    found: dict[int, Logprobs] = field(default_factory=dict)

    def check(self) -> None:
        """Raise for a text that cannot be read or scored."""
        if not self.prompt.ids:
            raise NothingToScore(self.prompt.text)
        for text in (self.prompt, *self.targets):
            text.check()
        for target in self.targets:
            target.own()
        if isinstance(self.request, Embed):
            self.prompt.pooled(self.request)

    def answer(self) -> Answer:
        """The answer, once every target is scored."""
        if isinstance(self.request, Ask):
            return Reply(tuple(sum(self.found[number]) for number in range(len(self.targets))), None, "")
        (target,), (logprobs,) = self.targets, self.found.values()
        assert isinstance(self.request, Continuation)
        origin = len(target.text) - len(self.request.text)  # spaces that came from the context
        places = [(max(start - origin, 0), max(end - origin, 0)) for start, end in filter(None, target.places)]
        return tuple(Piece(*place, logprob) for place, logprob in zip(places, logprobs, strict=True))


@dataclass(frozen=True, slots=True)
class Seq2seqRow:
    """One target to decode after a prompt that the encoder has read."""

    state: torch.Tensor
    job: Seq2seqJob
    number: int

    @property
    def target(self) -> TextReading:
        """The text to score."""
        return self.job.targets[self.number]

    @property
    def ids(self) -> list[int]:
        """What the decoder should say, up to the last token that is scored."""
        return self.target.ids[: self.target.own()[-1] + 1]

    @property
    def cost(self) -> int:
        """Tokens that the decoder looks at."""
        return len(self.state) + len(self.ids)


def load(spec: Spec, settings: HfSettings) -> Seq2SeqModel:
    """Load tokenizer and weights."""
    tokenizer = load_tokenizer(settings)
    return Seq2SeqModel(str(spec), settings, tokenizer, load_weights(transformers.AutoModelForSeq2SeqLM, settings))


class Seq2SeqModel(HfModel):
    """A sequence-to-sequence language model, loaded."""

    kind = "seq2seq"
    can: frozenset[type] = frozenset({Ask, Continuation, Embed})

    def __init__(self, spec: str, settings: HfSettings, tokenizer: Any, model: Any) -> None:
        super().__init__(spec, settings, tokenizer, model)
        self.start = start_token(settings.place, model)
        self.longest = most_tokens(model.config, "encoder")
        self.longest_target = most_tokens(model.config, "decoder")

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests, window by window and in each the longest prompts first."""
        for window in windows(requests, WINDOW):
            jobs = []
            for job in self._plan(window):
                try:
                    job.check()
                    jobs.append(job)
                except Unreadable as unreadable:
                    yield job.index, unreadable.refusal
            yield from self._run(jobs)

    def _plan(self, requests: Mapping[int, Request]) -> list[Seq2seqJob]:
        """Every request with its texts read."""
        sides = [self._sides(request) for request in requests.values()]
        prompts = read(self.tokenizer, [prompt for prompt, _ in sides], self.longest)
        texts = [text for _, texts in sides for text in texts]
        targets = iter(read(self.tokenizer, texts, self.longest_target, as_target=True))
        return [
            Seq2seqJob(index, request, prompt, [next(targets) for _ in texts])
            for (index, request), prompt, (_, texts) in zip(requests.items(), prompts, sides, strict=True)
        ]

    def _sides(self, request: Request) -> tuple[str, tuple[str, ...]]:
        """What the encoder reads, and what the decoder scores."""
        match request:
            case Ask(prompt, options):
                if not options:
                    raise BadInput(f"no options to choose from: {prompt!r}")
                return prompt, options
            case Continuation():
                context, text = moved(request)
                return context, (text,)
            case Embed(text):
                return text, ()
        raise cannot(self, request)

    def _run(self, jobs: Sequence[Seq2seqJob]) -> Iterator[tuple[int, Answer]]:
        """Read each prompt once, then answer all that is asked about it."""
        by_prompt: dict[Ids, list[Seq2seqJob]] = defaultdict(list)
        for job in jobs:
            by_prompt[tuple(job.prompt.ids)].append(job)
        prompts = list(by_prompt)
        for batch in packed([len(prompt) for prompt in prompts], self.budget):
            states = halving(self._encode, [prompts[at] for at in batch])
            rows = []
            for at, state in zip(batch, states, strict=True):
                for job in by_prompt[prompts[at]]:
                    if isinstance(job.request, Embed):
                        yield job.index, state[job.prompt.pooled(job.request)].float().mean(0).cpu().numpy()
                    rows += [Seq2seqRow(state, job, number) for number in range(len(job.targets))]
            yield from self._score(rows)

    def _score(self, rows: Sequence[Seq2seqRow]) -> Iterator[tuple[int, Answer]]:
        """Decode rows, and answer each request with its last."""
        for batch in packed([row.cost for row in rows], self.budget):
            chosen = [rows[at] for at in batch]
            for row, logprobs in zip(chosen, halving(self._decode, chosen), strict=True):
                row.job.found[row.number] = logprobs
                if len(row.job.found) == len(row.job.targets):
                    yield row.job.index, row.job.answer()

    @torch.inference_mode()
    def _encode(self, prompts: Sequence[Ids]) -> list[torch.Tensor]:
        """The encoder's last hidden states of each prompt, without padding."""
        ids, attended = self._padded(prompts)
        states = self.model.get_encoder()(input_ids=ids, attention_mask=attended).last_hidden_state
        return [state[: len(prompt)] for state, prompt in zip(states, prompts, strict=True)]

    @torch.inference_mode()
    def _decode(self, rows: Sequence[Seq2seqRow]) -> list[Logprobs]:
        """The log-probability of each scored token of each row."""
        states = pad_sequence([row.state for row in rows], batch_first=True)
        _, attended = self._padded([row.job.prompt.ids for row in rows])
        inputs, decoded = self._padded([[self.start, *row.ids[:-1]] for row in rows])
        logits = self.model(
            encoder_outputs=(states,),
            attention_mask=attended,
            decoder_input_ids=inputs,
            decoder_attention_mask=decoded,
            use_cache=False,
        ).logits
        places = [(number, position) for number, row in enumerate(rows) for position in row.target.own()]
        numbers, positions = zip(*places, strict=True)
        tokens = [rows[number].ids[position] for number, position in places]
        scored = logits[numbers, positions].float()
        values = iter((scored[range(len(tokens)), tokens] - scored.logsumexp(-1)).tolist())
        return [[next(values) for _ in row.target.own()] for row in rows]


def start_token(place: str, model: Any) -> int:
    """The token that a decoder begins with."""
    for config in (model.config, model.generation_config):
        token = getattr(config, "decoder_start_token_id", None)
        if isinstance(token, int):
            return token
    raise BadInput(f"{place}: its configuration has no decoder_start_token_id, so that the decoder cannot begin")


def most_tokens(config: Any, side: str) -> int:
    """How many tokens a side of the model has positions for; T5 counts distances and so has no limit."""
    for name in (f"max_{side}_position_embeddings", "max_position_embeddings"):
        if most := getattr(config, name, None):
            return int(most)
    return sys.maxsize
