"""Masked language models of Hugging Face: BERT, RoBERTa, ALBERT, DeBERTa, ModernBERT, DistilBERT, ELECTRA's generator.

- `Fill` masks all tokens of the filled words at once (Kocijan et al., 2019; Abdou et al., 2020).
- `PseudoLikelihood` masks one token at a time (Salazar et al., 2020, https://arxiv.org/abs/1910.14659). `within_word`
  also masks the later pieces of its word (Kauf and Ivanova, 2023, https://arxiv.org/abs/2305.10588).
- `Attention` is the input of the maximum attention score of Klein and Nabi (2019, https://arxiv.org/abs/1905.13497):
  for each layer and head, the attention that the source's tokens (mean over them) pay to the target's tokens (maximum
  over them). This reduction over several tokens was not checked against the authors' code.
- `Embed` pools the last hidden states. The mean is over all tokens, with [CLS] and [SEP], as in sentence encoders.

Candidates of equally many pieces give the same masked text, which is read once. In a small model, logits at every
position would be most of the work, so the head gets only the masked positions. When a model is loaded, it is tested
whether this leaves the logits unchanged, and whether padding does. Some families do not ignore padding (FNet,
ConvBERT), and read texts of one length at a time. `plan` says which ways are used.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import torch
import transformers

from winokit.errors import BadInput
from winokit.models.base import Answer, Attention, Embed, Fill, PseudoLikelihood, Request
from winokit.models.batching import FILLER, BatchBudget, in_batches, out_of_memory
from winokit.models.hf import HfModel, HfSettings, check_whole, load_parts, load_tokenizer
from winokit.models.reading import (
    WINDOW,
    Gaze,
    Guess,
    Ids,
    assemble_pieces,
    list_lookups,
    plan_lookups,
    read,
    split_windows,
)
from winokit.models.registry import Spec

ATTENTION_BUDGET = 1 << 17
"""Rows times squared length of a batch whose attention is returned: 200 MB if layers times heads is 384."""
PROBE = ("The cup fell.", "Nora put the cup on the table, and it fell.")
"""Texts that are read when a model is loaded, to test which shortcuts leave its logits unchanged."""

Vector: TypeAlias = npt.NDArray[np.float32]
Places: TypeAlias = Sequence[int] | torch.Tensor
W = TypeVar("W")
R = TypeVar("R")


def load(spec: Spec, settings: HfSettings) -> "MaskedModel":
    """Load a masked model with its tokenizer.

    A model without a masked-LM head can only give vectors. With `kind=masked` in the SPEC, a missing head is an error.
    """
    tokenizer = load_tokenizer(settings)
    if tokenizer.mask_token_id is None:
        raise BadInput(f"{settings.place}: its tokenizer has no mask token, so nothing can be masked")
    network, missing = load_parts(transformers.AutoModelForMaskedLM, settings)
    # Without a head it still gives vectors; where it was asked to be a masked model by name, it must be one.
    body = [name for name in missing if name.startswith(f"{network.base_model_prefix}.")]
    check_whole(settings, missing if "kind" in spec.options else body)
    return MaskedModel(str(spec), settings, tokenizer, network, has_head=not missing)


class MaskedModel(HfModel):
    """A masked language model, or a sentence encoder, which gives vectors only."""

    kind = "masked"

    def __init__(self, spec: str, settings: HfSettings, tokenizer: Any, model: Any, *, has_head: bool = True) -> None:
        super().__init__(spec, settings, tokenizer, model)
        self.can: frozenset[type] = frozenset({Fill, PseudoLikelihood, Attention, Embed} if has_head else {Embed})
        self.longest = most_tokens(model)
        self.attention_budget = BatchBudget(ATTENTION_BUDGET)
        texts = self._encode_probe()
        probe_places: list[tuple[int, int]] = []
        for row, text in enumerate(texts):
            probe_places += [(row, column) for column in range(0, len(text), 2)]
        self.gathers = head_takes_positions(model, self._build_inputs(texts), *zip(*probe_places, strict=True))
        self.pads = self._ignores_padding()

    @property
    def plan(self) -> str:
        """Description of how texts are read."""
        where = "logits where masked" if self.gathers else "logits everywhere"
        return where if self.pads else f"{where}, texts of one length a batch"

    def answer(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answer]]:
        """Answer requests in windows of many, the longest texts of each window first."""
        if requests:
            self.budget.settle()
        readings = partial(read, self.tokenizer, most=self.longest)
        for window in split_windows(requests, WINDOW):
            plan = plan_lookups(self, window, readings, self.tokenizer.mask_token_id)
            yield from plan.refused.items()
            guesses = self._run_batches(self._compute_logprobs, plan.guesses, self.budget)
            yield from assemble_pieces(plan.guesses, guesses)
            yield from self._run_batches(self._compute_attention, plan.gazes, self.attention_budget, power=2)
            yield from self._run_batches(self._compute_vectors, plan.pools, self.budget)

    def _run_batches(
        self,
        run: Callable[[Sequence[tuple[Ids, list[W]]]], Sequence[list[R]]],
        wanted: Mapping[Ids, list[W]],
        budget: BatchBudget,
        power: int = 1,
    ) -> Iterator[R]:
        """Run a function on batches of texts, and yield its results.

        `wanted` has, by text, the items to compute in it. A text of n tokens costs n to the `power` of the budget.
        """
        alike: dict[int, list[tuple[Ids, list[W]]]] = defaultdict(list)
        for item in wanted.items():
            alike[0 if self.pads else len(item[0])].append(item)
        for items in alike.values():
            costs = [len(ids) ** power for ids, _ in items]
            for _, of_text in in_batches(torch.inference_mode()(run), items, costs, budget):
                yield from of_text

    @torch.inference_mode()
    def read_filler(self, tokens: int) -> None:
        """Read a batch of `tokens` arbitrary tokens, to see whether memory holds it."""
        ids = (self._encode_probe()[1] * FILLER)[: min(FILLER, self.longest)]
        rows = max(tokens // len(ids), 1)
        places = [(row, 1) for row in range(rows)]
        self._compute_logits([ids] * rows, places, gather=self.gathers)

    def _compute_logprobs(self, batch: Sequence[tuple[Ids, list[Guess]]]) -> list[list[tuple[Guess, float]]]:
        """Log-probability of each guess in a batch, by text."""
        pairs, at, tokens = list_lookups(batch)
        logits = self._compute_logits([ids for ids, _ in batch], pairs, gather=self.gathers).float()
        totals = logits.logsumexp(-1)
        logprobs = iter((logits[at, tokens] - totals[at]).tolist())
        return [list(zip(guesses, logprobs, strict=False)) for _, guesses in batch]

    def _compute_attention(self, batch: Sequence[tuple[Ids, list[Gaze]]]) -> list[list[tuple[int, Vector]]]:
        """Attention for each request in a batch, by text.

        As pairs of the request's index and an array of shape (target, layer, head).
        """
        with eager(self.model):
            inputs = self._build_inputs([ids for ids, _ in batch])
            layers = self.model.base_model(**inputs, output_attentions=True).attentions
        length = max(len(ids) for ids, _ in batch)
        if not layers or layers[0] is None or layers[0].shape[-2:] != (length, length):
            raise BadInput(f"{self.spec}: {type(self.model).__name__} returns no attention weights")
        answers = []
        for row, (_, gazes) in enumerate(batch):
            paid = torch.stack([layer[row] for layer in layers]).float()
            answers.append([(gaze.request, reduce_attention(paid, gaze)) for gaze in gazes])
        return answers

    def _compute_vectors(
        self, batch: Sequence[tuple[Ids, list[tuple[int, list[int]]]]]
    ) -> list[list[tuple[int, Vector]]]:
        """Vector for each request in a batch, by text.

        As pairs of the request's index and its vector, the mean of hidden states at its positions.
        """
        hidden = self.model.base_model(**self._build_inputs([ids for ids, _ in batch])).last_hidden_state
        answers: list[list[tuple[int, Vector]]] = []
        for row, (_, pools) in enumerate(batch):
            vectors: list[tuple[int, Vector]] = []
            for request, positions in pools:
                mean = hidden[row, positions].float().mean(0)
                vectors.append((request, mean.cpu().numpy()))
            answers.append(vectors)
        return answers

    def _compute_logits(self, texts: Sequence[Ids], places: Sequence[tuple[int, int]], *, gather: bool) -> torch.Tensor:
        """Logits at (row, column) pairs of a batch.

        With `gather`, the head is applied to these positions only.
        """
        return logits_at(self.model, self._build_inputs(texts), *zip(*places, strict=True), gather=gather)

    def _build_inputs(self, texts: Sequence[Ids]) -> dict[str, torch.Tensor]:
        """Padded token ids and attention mask, by the names of the network's arguments."""
        return dict(zip(("input_ids", "attention_mask"), self._pad_ids(texts), strict=True))

    def _ignores_padding(self) -> bool:
        """Whether a text gets the same logits with padding as without."""
        texts = self._encode_probe()
        probe_places = [(0, column) for column in range(len(texts[0]))]
        with torch.inference_mode():
            logits_alone = self._compute_logits(texts[:1], probe_places, gather=self.gathers)
            logits_together = self._compute_logits(texts, probe_places, gather=self.gathers)
        return agree_up_to_rounding(logits_alone, logits_together)

    def _encode_probe(self) -> list[Ids]:
        """Token ids of the two texts that are read to test the model."""
        return [tuple(ids[: self.longest]) for ids in self.tokenizer(list(PROBE)).input_ids]


def logits_at(model: Any, inputs: Mapping[str, Any], rows: Places, columns: Places, *, gather: bool) -> torch.Tensor:
    """Logits of a masked model at some rows and columns of a batch.

    With `gather`, the head is applied to these positions only.
    """
    logits: torch.Tensor
    if gather:
        with only_at(model.base_model, rows, columns):
            logits = model(**inputs).logits[0]
    else:
        logits = model(**inputs).logits[rows, columns]
    return logits


def head_takes_positions(model: Any, inputs: Mapping[str, Any], rows: Places, columns: Places) -> bool:
    """Whether the head gives the same logits at some positions alone.

    It does not if it looks at several positions, or if the network's body is not found.
    """
    with torch.inference_mode():
        every = logits_at(model, inputs, rows, columns, gather=False)
        try:
            gathered = logits_at(model, inputs, rows, columns, gather=True)
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, RuntimeError) and out_of_memory(error):
                raise
            return False
    return agree_up_to_rounding(gathered, every)


def agree_up_to_rounding(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether two tensors of logits differ only by rounding.

    The largest difference allowed is 0.0001 in float32, else 2 % of the largest logit.
    """
    rounding = 1e-4 if second.dtype == torch.float32 else 0.02 * second.abs().max().item()
    if first.shape != second.shape:
        return False
    return torch.allclose(first.float(), second.float(), rtol=0, atol=rounding)


def most_tokens(model: Any) -> int:
    """Number of tokens for which the model has positions.

    In RoBERTa, the first positions, up to that of padding, are not used.
    """
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    if isinstance(table, torch.nn.Embedding) and table.padding_idx is not None:
        return table.num_embeddings - table.padding_idx - 1
    return getattr(model.config, "max_position_embeddings", None) or sys.maxsize


def reduce_attention(paid: torch.Tensor, gaze: Gaze) -> Vector:
    """Reduce attention of shape (layer, head, from, to) to (target, layer, head).

    The mean over the source's tokens, and the maximum over each target's tokens.
    """
    by_source = paid[:, :, gaze.source].mean(2)
    by_target = [by_source[:, :, target].amax(-1) for target in gaze.targets]
    array: Vector = torch.stack(by_target).cpu().numpy()
    return array


@contextmanager
def only_at(body: torch.nn.Module, rows: Places, columns: Places) -> Iterator[None]:
    """Let a network's body return hidden states at some rows and columns only.

    In the block, they look like one text of that many tokens.
    """

    def gather(module: torch.nn.Module, arguments: Any, output: Any) -> Any:
        output.last_hidden_state = output.last_hidden_state[rows, columns].unsqueeze(0)
        return output

    handle = body.register_forward_hook(gather)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def eager(model: Any) -> Iterator[None]:
    """Let the model compute attention without fused kernels.

    Those do not return its weights.
    """
    usual = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(usual)
