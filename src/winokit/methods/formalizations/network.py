"""An encoder and a head: loaded for training, saved with the formalization, and reloaded.

Any encoder of transformers does, through `AutoModel` or, where the formalization guesses words, through
`AutoModelForMaskedLM`. `mc-lm` takes causal models and encoder-decoders instead. A saved folder is an ordinary model
folder with two files more: `winokit.json`, which says which formalization it was trained under, and the head's
weights. `winokit.json` is written last, so that a folder that has it is whole.
"""

import copy
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar

import torch
import transformers
from torch import Tensor, nn

from winokit.errors import BadInput, needing, refusing
from winokit.files import result_bytes, write_whole
from winokit.methods.formalizations.base import Formalization, formalizations_of
from winokit.methods.formalizations.batch import Batch, collate
from winokit.methods.formalizations.heads import GuessedWords
from winokit.methods.formalizations.inputs import Encoded, InputReader
from winokit.models import hf_seq2seq
from winokit.models.batching import BatchBudget, in_batches
from winokit.models.boundary import Boundary
from winokit.models.builtin_torch import torch_model, torch_tokenizer
from winokit.models.hf import HfSettings, kind_by_config, load_config, load_parts, load_tokenizer, load_weights, quiet
from winokit.models.hf_causal import CONTEXT_SIZES, begins_with_bos
from winokit.models.hf_masked import PROBE, head_takes_positions, most_tokens
from winokit.models.registry import Spec

ABOUT = "winokit.json"
HEAD = "winokit_head.safetensors"
BUDGET_ON_CPU = 2048
BUDGET_ELSEWHERE = 32768
"""Padded tokens of a batch when nothing is trained."""
TRAINABLE = ("builtin", "hf")
TRAINED_IN = "float32"
"""Precision of weights that are trained, whatever their files hold."""
T = TypeVar("T")


class Network(nn.Module):
    """An encoder, a head, and the formalization for training and scoring."""

    def __init__(self, encoder: Any, head: nn.Module, formalization: Formalization, reader: InputReader) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.formalization = formalization
        self.reader = reader

    def forward(self, batch: Batch) -> Tensor:
        """Numbers of shape (options,)."""
        numbers: Tensor = self.head(self.encoder, batch)
        return numbers

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return next(self.parameters()).device

    def collated(self, examples: Sequence[Encoded]) -> Batch:
        """Return examples as a batch for this model, on the CPU."""
        pad = self.reader.tokenizer.pad_token_id or 0
        return collate(examples, pad, segments=self.reader.segments)

    def numbers(
        self, examples: Sequence[Encoded | str], budget: int | None = None
    ) -> Iterator[tuple[int, list[float]]]:
        """Yield each example's index and the numbers of its options.

        The longest examples come first. Numbers are in float32, without dropout.
        """

        def score_options(batch: Batch) -> list[list[float]]:
            values = self(batch).tolist()
            option_counts = torch.bincount(batch.case).tolist()
            ends = accumulate(option_counts)
            return [values[end - count : end] for count, end in zip(option_counts, ends, strict=True)]

        return self.each(score_options, examples, budget)

    def each(
        self, work: Callable[[Batch], Iterable[T]], examples: Sequence[Encoded | str], budget: int | None = None
    ) -> Iterator[tuple[int, T]]:
        """Yield each example's index and the result of `work` for it, the longest first.

        What could not be encoded, and is the reason why, is passed over.
        """
        readable = [(at, example) for at, example in enumerate(examples) if not isinstance(example, str)]
        budget = budget or (BUDGET_ON_CPU if self.device.type == "cpu" else BUDGET_ELSEWHERE)
        self.eval()

        @torch.inference_mode()
        def run(batch: Sequence[Encoded]) -> list[T]:
            return list(work(self.collated(batch).to(self.device)))

        indices = [index for index, _ in readable]
        encoded = [example for _, example in readable]
        costs = [example.longest * len(example.rows) for example in encoded]
        for position, result in in_batches(run, encoded, costs, BatchBudget(budget)):
            yield indices[position], result


def load_network(spec: str, formalization: Formalization, *, seed: int = 0, device: str | None = None) -> Network:
    """Load the model of a SPEC with a head of this formalization.

    A folder trained under the same formalization has a head. Any other head is drawn by `seed`.

    A folder that was trained under the same formalization brings its head along; any other head is drawn by `seed`.
    """
    parsed = Spec.parse(spec)
    if parsed.prefix not in TRAINABLE:
        raise BadInput(f"{spec}: only builtin and hf: models can be trained")
    if device is not None:
        parsed = replace(parsed, options={**parsed.options, "device": device})
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        if parsed.prefix == "builtin":
            check_kind("builtin", "masked", formalization)
            return _load_builtin(parsed, formalization)
        settings = replace(HfSettings.of(parsed), dtype=TRAINED_IN)
        if settings.device_map is not None or settings.load_in is not None:
            raise BadInput(f"{spec}: a model that is spread (device_map=) or quantised (load_in=) cannot be trained")
        network = _load_hub_model(settings, formalization)
    stored_about = remembered(settings.folder)
    if stored_about is not None:
        # Only a head of the same shape, and for the same purpose, is taken over.
        before = Formalization.parse(stored_about["formalization"])
        same_head = before.switches.get("head") == formalization.switches.get("head")
        if before.name == formalization.name and same_head:
            _load_head(network, Path(settings.place))
    return network


def open_network(settings: HfSettings) -> Network:
    """Load a trained network from its folder, under the formalization stored there."""
    stored_about = remembered(settings.folder)
    if stored_about is None:
        raise BadInput(f"{settings.place}: no {ABOUT}, so it was not trained by winokit")
    formalization = Formalization.parse(str(stored_about["formalization"]))
    # Its weights are the ones it was saved with, whatever they began as: no fresh head, and no matrices beside them.
    switches = dict(formalization.switches)
    if formalization.definition.guesses:
        switches |= {"head": "pretrained", "lora": "0"}
    network = _load_hub_model(settings, Formalization(formalization.definition, switches))
    network.formalization = formalization
    _load_head(network, Path(settings.place))
    return network.eval()


def save_network(network: Network, folder: Path, about: Mapping[str, Any]) -> None:
    """Write weights, tokenizer and head, and finally `winokit.json`."""
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    (folder / ABOUT).unlink(missing_ok=True)
    model = _merge_lora(network.encoder)
    _drop_file_format(model)
    with quiet():
        model.save_pretrained(folder)
    network.reader.tokenizer.save_pretrained(folder)
    weights = {name: value.contiguous().cpu() for name, value in network.head.state_dict().items()}
    write_whole(folder / HEAD, save(weights))
    content = {"formalization": network.formalization.spec, **about}
    write_whole(folder / ABOUT, result_bytes(content))


def remembered(folder: Path | None) -> dict[str, Any] | None:
    """Return the content of a folder's `winokit.json`, or None without one."""
    path = None if folder is None else folder / ABOUT
    if path is None or not path.exists():
        return None
    with refusing(f"{path}: does not say which formalization it was trained under", ValueError, KeyError, TypeError):
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
        Formalization.parse(about["formalization"])
    return about


def _load_builtin(spec: Spec, formalization: Formalization) -> Network:
    device = HfSettings.of(replace(spec, prefix="hf", place="builtin")).device
    model = torch_model()
    encoder: Any = model
    if not formalization.definition.guesses:
        encoder = model.bert
    elif formalization.switches["head"] == "fresh":
        encoder = _add_fresh_head(model.config, model.bert)
    return _make_network(encoder, formalization, torch_tokenizer()).to(device)


def _load_hub_model(settings: HfSettings, formalization: Formalization) -> Network:
    kind = kind_by_config(settings)
    check_kind(settings.place, kind, formalization)
    settings = replace(settings, kind=kind)
    tokenizer = load_tokenizer(settings)
    if kind != "masked":
        return _load_writing_model(settings, formalization, tokenizer)
    if not formalization.definition.guesses:
        encoder = _load_body(settings)
    elif tokenizer.mask_token_id is None:
        raise BadInput(f"{settings.place}: its tokenizer has no mask token, which {formalization.name} needs")
    elif formalization.switches["head"] == "fresh":
        encoder = _add_fresh_head(load_config(settings), _load_body(settings)).to(settings.device)
    else:
        encoder = _load_with_head(settings, formalization)
    return _make_network(encoder, formalization, tokenizer).to(settings.device)


def check_kind(place: str, kind: str, formalization: Formalization) -> None:
    """Raise BadInput unless a formalization trains this kind of model."""
    if kind in formalization.definition.kinds:
        return
    kinds = " or ".join(formalization.definition.kinds)
    ways = ", ".join(formalizations_of(kind))
    raise BadInput(f"{place}: {formalization.name} trains {kinds} models, and this is a {kind} one: choose {ways}")


def kind_of(spec: str) -> str:
    """Kind of a trainable model by its configuration: masked, causal or seq2seq."""
    parsed = Spec.parse(spec)
    if parsed.prefix not in TRAINABLE:
        raise BadInput(f"{spec}: only builtin and hf: models can be trained")
    return "masked" if parsed.prefix == "builtin" else kind_by_config(HfSettings.of(parsed))


def _load_writing_model(settings: HfSettings, formalization: Formalization, tokenizer: Any) -> Network:
    """Load a causal model or an encoder-decoder, with LoRA if asked."""
    switches = formalization.switches
    if settings.kind == "causal":
        encoder = load_weights(transformers.AutoModelForCausalLM, settings)
        reader = _make_causal_reader(encoder, settings, tokenizer)
    elif switches["scored"] == "full":
        raise BadInput(
            f"{settings.place}: an encoder-decoder needs a text before what it writes: leave out scored=full"
        )
    else:
        encoder = load_weights(transformers.AutoModelForSeq2SeqLM, settings)
        reader = _make_decoding_reader(encoder, settings, tokenizer)
    rank = float(switches["lora"])
    if rank:
        encoder = _add_lora(encoder, rank)
    head = formalization.definition.head(encoder.config, switches)
    network = Network(encoder, head, formalization, reader).to(settings.device)
    if isinstance(head, GuessedWords):
        # The body of a model with matrices beside its weights is not where `logits_at` looks.
        head.gathers = not rank and _check_head_takes_positions(network, reader)
    return network


def _check_head_takes_positions(network: Network, reader: InputReader) -> bool:
    assert reader.boundary is not None
    ids, _ = reader.boundary.encode(PROBE[:1])[PROBE[0]]
    row = torch.tensor([ids], device=network.device)
    return head_takes_positions(network.encoder.eval(), {"input_ids": row}, [0], [1])


def _make_causal_reader(encoder: Any, settings: HfSettings, tokenizer: Any) -> InputReader:
    boundary = Boundary(tokenizer, bos=begins_with_bos(settings, tokenizer))
    config = encoder.config.get_text_config()
    sizes = [getattr(config, name, None) for name in CONTEXT_SIZES]
    longest = next((size for size in sizes if size), sys.maxsize)
    return InputReader(tokenizer, longest, segments=False, separators=(), boundary=boundary)


def _make_decoding_reader(encoder: Any, settings: HfSettings, tokenizer: Any) -> InputReader:
    encoder.config.decoder_start_token_id = hf_seq2seq.start_token(settings.place, encoder)
    longest = hf_seq2seq.most_tokens(encoder.config, "encoder")
    longest_target = hf_seq2seq.most_tokens(encoder.config, "decoder")
    return InputReader(tokenizer, longest, segments=False, separators=(), longest_target=longest_target)


def _add_lora(model: Any, rank: float) -> Any:
    """Freeze a model's weights and put trainable matrices beside its linear layers."""
    if not rank.is_integer():
        raise BadInput(f"mc-lm?lora={rank}: expected a whole number, the rank of the matrices")
    with needing("mc-lm?lora=", "hf"):
        from peft import LoraConfig, get_peft_model
    config = LoraConfig(r=int(rank), lora_alpha=2 * int(rank), lora_dropout=0.0, target_modules="all-linear")
    return get_peft_model(model, config)


def _merge_lora(model: Any) -> Any:
    """The model, or a copy of it with LoRA matrices added to the weights."""
    if not hasattr(model, "merge_and_unload"):
        return model
    return copy.deepcopy(model).merge_and_unload()


def _drop_file_format(model: Any) -> None:
    """Forget that weights were read from a GGUF file: they are ordinary numbers now, and are saved as such."""
    quantizer = getattr(model, "hf_quantizer", None)
    method = getattr(getattr(quantizer, "quantization_config", None), "quant_method", None)
    if getattr(method, "value", method) != "gguf":
        return
    model.hf_quantizer = None
    vars(model.config).pop("quantization_config", None)


def _load_with_head(settings: HfSettings, formalization: Formalization) -> Any:
    model, missing = load_parts(transformers.AutoModelForMaskedLM, settings)
    if missing:
        raise BadInput(
            f"{settings.place}: no language-modelling head (no weights for {missing[0]}), which {formalization.name} "
            f"needs; train mc-sent, or {formalization.name}?head=fresh"
        )
    return model


def _load_body(settings: HfSettings) -> Any:
    """Load the encoder without a head, and without a pooler if the model allows it."""
    model_class: Any = transformers.AutoModel._model_mapping[type(load_config(settings))]
    if "add_pooling_layer" in inspect.signature(model_class).parameters:
        return load_weights(transformers.AutoModel, settings, add_pooling_layer=False)
    return load_weights(transformers.AutoModel, settings)


def _add_fresh_head(config: Any, body: Any) -> Any:
    auto: Any = transformers.AutoModelForMaskedLM
    model = auto.from_config(config)
    setattr(model, model.base_model_prefix, body)
    model.tie_weights()
    return model


def _make_network(encoder: Any, formalization: Formalization, tokenizer: Any) -> Network:
    head = formalization.definition.head(encoder.config, formalization.switches)
    reader = InputReader.of(tokenizer, encoder.config, most_tokens(encoder))
    network = Network(encoder, head, formalization, reader)
    if formalization.definition.guesses:
        texts = tokenizer(list(PROBE[:1]), return_tensors="pt").to(encoder.device)
        head.gathers = head_takes_positions(encoder.eval(), texts, [0], [1])  # type: ignore[assignment]
    return network


def _load_head(network: Network, folder: Path) -> None:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        network.head.load_state_dict(load_file(folder / HEAD))
    except (OSError, RuntimeError, SafetensorError) as error:
        error_text = " ".join(str(error).split())[:120]
        name = network.formalization.name
        raise BadInput(f"{folder / HEAD}: not the weights of a {name} head ({error_text})") from None
    network.head.to(network.device)
