"""Causal language models of Hugging Face: GPT-2 to Llama, any AutoModelForCausalLM.

- `Continuation` is split into tokens as lm-evaluation-harness 0.4.13 splits it (`boundary`).
- `Ask` scores each option as a continuation of the prompt, after a space. With a chat template, it scores each option
  as the answer to the prompt (`chat_template`), and other requests are not answered.
- `Embed` pools the last hidden states.

Texts are read as prefix trees, and logits are computed only where a token is predicted. Some models cannot read a tree:
ALiBi counts distances in the row, and state-space models have no attention mask. So when a model is loaded, it reads a
small sample both ways, and if the answers differ, each text is read in a row of its own. `plan` says which way is used.
Texts longer than a sliding window, or than the budget of a batch, always have a row of their own.
"""

import platform
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial
from itertools import islice, product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
import transformers
from transformers.models.auto.tokenization_auto import get_tokenizer_config
from transformers.utils.hub import cached_file

from winokit.errors import BadInput
from winokit.models import base, hf
from winokit.models.batching import FILLER, free_memory, in_batches, out_of_memory
from winokit.models.boundary import Boundary, EncodedText, after_a_space, join_answers, split_requests
from winokit.models.chat_template import ChatTemplate
from winokit.models.packing import ScoredText, Tree, forest, singles
from winokit.models.reading import TextReading
from winokit.models.registry import Spec

CPU_BUDGET = 512
GPU_BUDGET = 4096
ATTENTION = 1 / 1000
"""Cost of attention: what each token of a row costs for every other one, as a share of reading a token. Measured,
and not critical."""
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-2, torch.bfloat16: 2e-1}
"""Largest difference of two log-probabilities that counts as rounding, by precision."""
TOLERANCE_QUANTISED = 5e-1
"""The same for quantised weights. With LLM.int8, a text's values depend on the others in its batch."""
LARGEST_TREE = 2048
"""Most tokens of a tree, whose attention mask has this number squared."""
SAMPLE = (
    base.Continuation("The cup", " fell off the table because it stood near the edge."),
    base.Continuation("The cup", " fell off the table, and broke."),
    base.Continuation("The cup stood", " on the table."),
    base.Continuation("A spoon", " fell."),
)
CONTEXT_SIZES = ("n_positions", "max_position_embeddings", "n_ctx")
WINDOWS = ("sliding_window", "window_size", "attention_chunk_size")

OFFLOADED = "weights that do not fit stay in CPU memory or on disk, and are loaded for every batch"

Logprobs: TypeAlias = list[float]


def load(spec: Spec, settings: hf.HfSettings) -> "CausalModel":
    """Load a causal model with its tokenizer.

    A chat template is loaded if the SPEC names one.
    """
    tokenizer = hf.load_tokenizer(settings)
    network = hf.load_weights(transformers.AutoModelForCausalLM, settings)
    settings = hf.as_loaded(settings, network)
    if not settings.loaded:  # its owner may go on training what was handed over
        multiply_with_onednn(network)
    template = ChatTemplate.of(settings.chat_template, tokenizer, settings.place)
    bos = template is None and begins_with_bos(settings, tokenizer)
    boundary = Boundary(tokenizer, bos=bos, verbatim=template is not None)
    return CausalModel(spec, settings, boundary, CausalReader(network, settings), template)


def multiply_with_onednn(network: torch.nn.Module) -> None:
    """Let a network's linear layers use oneDNN, if possible.

    Processor and precision must allow it. torch ships two libraries for float32 products on x86 and takes MKL by
    default. On an AMD EPYC, oneDNN takes a seventh less time to score WinoGrande with SmolLM2
    (`benchmarks/scoring.py`). Answers differ only by rounding.
    """
    if platform.machine() not in ("x86_64", "AMD64") or not hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return
    for layer in network.modules():
        # Subclasses have their own ways with weights: quantised layers, adapters.
        if type(layer) is not torch.nn.Linear:
            continue
        if layer.weight.dtype == torch.float32 and layer.weight.device.type == "cpu":
            vars(layer)["forward"] = partial(_multiply_layer, layer)


def _multiply_layer(layer: Any, states: torch.Tensor) -> torch.Tensor:
    # The operation is the one that torch.compile emits for a linear layer; "none" is the activation after it.
    """Apply a linear layer with oneDNN."""
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(states, layer.weight, layer.bias, "none", [], "")
    return product


def begins_with_bos(settings: hf.HfSettings, tokenizer: Any) -> bool:
    """Whether the model's texts begin with BOS.

    The SPEC decides, else the model's files, else its tokenizer. The files come first since transformers ignores what a
    GGUF file says about it, and also the `add_bos_token` of tokenizer_config.json if there is a tokenizer.json. A
    tokenizer without a BOS token has none, unless the SPEC says `bos=on`.
    """
    if settings.bos is not None or tokenizer.bos_token_id is None:
        return bool(settings.bos)
    stated = None
    if settings.gguf_file is not None:
        stated = _read_gguf_bos(settings, settings.gguf_file)
    elif not settings.loaded:
        stated = get_tokenizer_config(settings.place, **settings.source).get("add_bos_token")
    return stated if isinstance(stated, bool) else tokenizer("a").input_ids[:1] == [tokenizer.bos_token_id]


def _read_gguf_bos(settings: hf.HfSettings, file: str) -> bool | None:
    """Whether a GGUF file says that texts begin with BOS.

    None if it says nothing. A SentencePiece vocabulary (`llama`) without such a field has BOS, as in llama.cpp.
    """
    from gguf import GGUFReader

    path = cached_file(settings.place, file, revision=settings.revision)
    assert path is not None  # the tokenizer was read from it
    reader = GGUFReader(path)

    def read_field(name: str) -> bytes | None:
        field = reader.get_field(f"tokenizer.ggml.{name}")
        return None if field is None else field.parts[field.data[0]].tobytes()

    stated = read_field("add_bos_token")
    if stated is not None:
        return stated == b"\x01"
    return True if read_field("model") == b"llama" else None


def _list_sizes(config: Any, names: Sequence[str]) -> list[int]:
    """Values of the options of a configuration that are set."""
    sizes = [getattr(config, name, None) for name in names]
    return [size for size in sizes if size]


class CausalReader:
    """A causal network, with the way in which it reads texts.

    The fastest way that gives right answers is chosen.
    """

    def __init__(self, network: Any, settings: hf.HfSettings) -> None:
        self.network = network
        self.device = hf.input_device(network)
        quantised = getattr(network, "is_quantized", False)
        self.tolerance = TOLERANCE_QUANTISED if quantised else TOLERANCE.get(network.dtype, 1e-4)
        config = network.config.get_text_config()
        self.most = next(iter(_list_sizes(config, CONTEXT_SIZES)), sys.maxsize)
        windows = _list_sizes(config, WINDOWS)
        # Windows are counted in the row, or not at all under a mask of our own: within one, neither can be told.
        self.widest = min([LARGEST_TREE, *windows, self.most])
        # Weights elsewhere are fetched for every batch, so that small ones do not pay.
        self.offloaded = any(weights.is_meta for weights in network.parameters())
        small = settings.device == "cpu" and not self.offloaded
        self.budget = hf.budget_of(settings, CPU_BUDGET if small else GPU_BUDGET, self.read_filler)
        self.head = network.get_output_embeddings()
        self.plan = "plain"

    def choose_plan(self, sample: Sequence[ScoredText]) -> bool:
        """Choose the fastest way of reading that is right on a sample.

        Returns False if none does. Right answers are those of reading one text at a time, with logits for all of its
        tokens. A model that looks ahead fails all ways, since its predictions change with the padding. Raises BadInput
        if the right answers are not finite, since the precision is too narrow.
        """
        head = self.head
        self.head = None
        right: list[Logprobs] = []
        for text in sample:
            (guessed,) = self._guess_tokens(singles([text]), masked=False)
            right.append(guessed[0])
        if not np.isfinite(np.concatenate(right)).all():
            raise BadInput(
                f"{self.network.dtype} is too narrow for this model: it returns {right[0][0]}; try dtype=float32"
            )
        for self.plan, self.head in product(("prefix tree", "plain"), (head, None)):
            if self._agrees_with(sample, right):
                return True
        return False

    def _agrees_with(self, sample: Sequence[ScoredText], right: Sequence[Logprobs]) -> bool:
        """Whether the present way of reading gives the right log-probabilities of a sample."""
        try:
            answers = dict(self.read(sample))
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError) as error:
            if isinstance(error, RuntimeError) and out_of_memory(error):
                raise
            return False
        for index, right_logprobs in enumerate(right):
            for logprob, right_logprob in zip(answers[index], right_logprobs, strict=True):
                if not abs(logprob - right_logprob) <= self.tolerance:  # also if one is NaN
                    return False
        return True

    def read(self, texts: Sequence[ScoredText]) -> Iterator[tuple[int, Logprobs]]:
        """Yield the index of each text, with the log-probabilities of its scored tokens."""
        largest = min(self.widest, self.budget.tokens)
        fit = [self.plan == "prefix tree" and len(text.read) <= largest for text in texts]
        for masked in (True, False):
            numbers = [number for number, fits in enumerate(fit) if fits == masked]
            chosen = [texts[number] for number in numbers]
            trees = forest(chosen, ATTENTION, largest) if masked else singles(chosen)
            sizes = [len(tree) for tree in trees]
            guess = partial(self._guess_tokens, masked=masked)
            for _, by_text in in_batches(guess, trees, sizes, self.budget):
                for index, logprobs in by_text.items():
                    yield numbers[index], logprobs

    def read_filler(self, tokens: int) -> None:
        """Read a batch of `tokens` arbitrary tokens, to see whether memory holds it."""
        row = Tree()
        length = min(FILLER, self.most)
        row.plant(0, ScoredText((0,) * (length + 1), 1))
        self._guess_tokens([row] * max(tokens // length, 1), masked=False)

    @torch.inference_mode()
    def _guess_tokens(self, trees: Sequence[Tree], *, masked: bool) -> list[dict[int, Logprobs]]:
        """Read a batch of trees, and look up their guesses.

        A tree is one row. A guess is the log-probability of a token. Returns them for each tree, by the number of the
        text. Without `masked`, a tree must be a single path.
        """
        ids = self._pad_rows([tree.tokens for tree in trees])
        length = ids.shape[1]
        guesses: list[tuple[int, int]] = []
        for row, tree in enumerate(trees):
            guesses += [(row * length + node, token) for node, token in tree.all_guesses()]
        nodes, tokens = torch.tensor(guesses, device=self.device).T
        places, which = nodes.unique(return_inverse=True)
        logits = self._compute_logits(ids, places, self._build_tree_inputs(trees, length) if masked else {})
        totals = _sum_exponentials(logits)
        guessed = logits[which, tokens].float() - totals[which]
        logprobs = iter(guessed.tolist())
        return [_take_by_text(tree, logprobs) for tree in trees]

    def _compute_logits(self, ids: torch.Tensor, places: torch.Tensor, extra: dict[str, Any]) -> torch.Tensor:
        """Logits at some places of a batch, of shape (places, vocabulary).

        A place is row times length plus column. The output layer is applied at these places only. `extra` has more
        arguments of the network.
        """

        def at_places(states: torch.Tensor) -> torch.Tensor:
            return states.flatten(0, 1)[places.to(states.device)]

        if self.head is None:
            return at_places(self.network(ids, use_cache=False, **extra).logits).to(self.device)

        def select_inputs(_: Any, inputs: Any) -> tuple[torch.Tensor]:
            return (at_places(inputs[0]).unsqueeze(0),)

        hook = self.head.register_forward_pre_hook(select_inputs)
        try:
            logits: torch.Tensor = self.network(ids, use_cache=False, **extra).logits
        finally:
            hook.remove()
        return logits.squeeze(0).to(self.device)

    def _pad_rows(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """Pad token ids on the right, where a causal model does not look."""
        return hf.padded(tokens, 0, self.device)

    def _build_tree_inputs(self, trees: Sequence[Tree], length: int) -> dict[str, Any]:
        """Make the attention mask and positions for reading rows as trees."""
        own_tokens = np.eye(length, dtype=np.bool_)
        sees = np.broadcast_to(own_tokens, (len(trees), length, length)).copy()
        for row, tree in enumerate(trees):
            sees[row, : len(tree), : len(tree)] = tree.visible()
        visible = torch.from_numpy(sees).to(self.device).unsqueeze(1)
        mask = torch.zeros_like(visible, dtype=self.network.dtype)
        mask.masked_fill_(~visible, torch.finfo(mask.dtype).min)
        return {"attention_mask": mask, "position_ids": self._pad_rows([tree.depths for tree in trees])}

    @torch.inference_mode()
    def states(self, texts: Sequence[Sequence[int]]) -> list[torch.Tensor]:
        """Last hidden states of each text, of shape (tokens, width)."""
        hidden = self.network.base_model(self._pad_rows(texts), use_cache=False).last_hidden_state
        return [states[: len(ids)].float().cpu() for ids, states in zip(texts, hidden, strict=True)]


def _take_by_text(tree: Tree, logprobs: Iterator[float]) -> dict[int, Logprobs]:
    """Take the log-probabilities of a tree's guesses, by text.

    They are the next ones of the iterator.
    """
    by_text: dict[int, Logprobs] = {}
    for index, guesses in tree.guesses.items():
        by_text[index] = list(islice(logprobs, len(guesses)))
    return by_text


def _sum_exponentials(logits: torch.Tensor) -> torch.Tensor:
    """Logarithm of the sum of exponentials of each row of logits.

    Computed for a few rows at a time, which stay in the processor's cache.
    """
    return torch.cat([part.float().logsumexp(-1) for part in torch.split(logits, 32)])


class CausalModel:
    """A causal language model with its tokenizer."""

    kind = "causal"

    def __init__(
        self,
        spec: Spec,
        settings: hf.HfSettings,
        boundary: Boundary,
        reader: CausalReader,
        template: ChatTemplate | None = None,
    ) -> None:
        self.spec = str(spec)
        self.settings = settings
        self.boundary = boundary
        self.reader = reader
        self.template = template
        answerable = {base.Continuation, base.Ask, base.Embed} if template is None else {base.Ask}
        self.can: frozenset[type] = frozenset(answerable)
        sample = [
            encoded_text.scored for encoded_text in boundary.split(SAMPLE) if isinstance(encoded_text, EncodedText)
        ]
        if not reader.choose_plan(sample):
            raise BadInput(f"{settings.place}: not a causal model, since its predictions change with what follows")

    @property
    def network(self) -> Any:
        """The torch network."""
        return self.reader.network

    @property
    def plan(self) -> str:
        """The way of reading texts: `prefix tree` or `plain`.

        Plain is for models that cannot read trees.
        """
        return self.reader.plan

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on memory, on a missing BOS, and on the chat template.

        BOS is mentioned only if neither the SPEC nor a chat template decides about it.
        """
        notes = list(self.reader.budget.notes)
        if self.reader.offloaded:
            notes.append(OFFLOADED)
        bos = self.boundary.tokenizer.bos_token
        if self.template is not None:
            notes += self.template.notes
        elif not self.boundary.bos and bos is not None and self.settings.bos is None:
            notes.append(f"texts are read without {bos!r} before them, as its files say; ?bos=on puts it there")
        return tuple(f"{self.spec}: {note}" for note in notes)

    @cached_property
    def fingerprint(self) -> str:
        """Text that identifies everything that determines the answers."""
        if self.template is not None:
            return f"{hf.fingerprint(self.settings)} chat_template={self.template.hash}"
        return f"{hf.fingerprint(self.settings)} bos={'on' if self.boundary.bos else 'off'}"

    def answer(self, requests: Sequence[base.Request]) -> Iterator[tuple[int, base.Answer]]:
        """Answer requests, long texts first."""
        opened = after_a_space if self.template is None else self.template.opened
        parts = split_requests(self, requests, opened)
        if requests:
            self.reader.budget.settle()
        owners = [index for index, _ in parts]
        yield from join_answers(requests, owners, self._read_parts([part for _, part in parts]))
        embeds = {index: request for index, request in enumerate(requests) if isinstance(request, base.Embed)}
        yield from self._embed_texts(embeds)

    def close(self) -> None:
        """Free the weights."""
        self.reader.network = self.reader.head = base.LetGo(self.spec)
        free_memory()

    def _read_parts(self, requests: Sequence[base.Continuation]) -> Iterator[tuple[int, base.Pieces | base.Refusal]]:
        """Yield the pieces of each continuation, by its number.

        Pieces are the scored tokens with their log-probabilities. A Refusal if a text cannot be read or scored.
        """
        encoded = self.boundary.split(requests, self.reader.most)
        yield from ((number, text) for number, text in enumerate(encoded) if isinstance(text, base.Refusal))
        texts = [(number, text) for number, text in enumerate(encoded) if isinstance(text, EncodedText)]
        for place, logprobs in self.reader.read([text.scored for _, text in texts]):
            number, text = texts[place]
            yield number, text.pieces(logprobs)

    def _embed_texts(
        self, requests: Mapping[int, base.Embed]
    ) -> Iterator[tuple[int, npt.NDArray[np.float32] | base.Refusal]]:
        """Yield the vector for each request, by its index.

        A text is read once, even if several vectors of it are requested.
        """
        encoded = self.boundary.encode([request.text for request in requests.values()])
        wanted: dict[str, list[tuple[int, list[int]]]] = defaultdict(list)
        for name, request in requests.items():
            ids, places = encoded[request.text]
            token_places = [place if place[0] < place[1] else None for place in places]
            reading = TextReading(request.text, ids, token_places, [], self.reader.most)
            try:
                reading.check()
                tokens = reading.pooled(request)
                wanted[request.text].append((name, tokens))
            except base.Unreadable as unreadable:
                yield name, unreadable.refusal
        texts = list(wanted)
        ids = [encoded[text][0] for text in texts]
        lengths = list(map(len, ids))
        for index, states in in_batches(self.reader.states, ids, lengths, self.reader.budget):
            for name, tokens in wanted[texts[index]]:
                yield name, states[tokens].mean(0).numpy()
