"""An encoder and a head: loaded for training, saved with the formalization, and reloaded.

Any encoder of transformers can be used, through `AutoModel`, or through `AutoModelForMaskedLM` if the formalization
guesses words. `mc-lm` takes causal models and encoder-decoders instead. A saved folder is an ordinary model folder with
two more files: `winokit.json`, which names the formalization, and the head's weights. `winokit.json` is written last,
so that a folder that has it is complete.
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
"""Maximum number of tokens of a batch for prediction, with padding."""
TRAINABLE = ("builtin", "hf")
TRAINED_IN = "float32"
"""Precision of weights in training, whatever the precision of their files."""
T = TypeVar("T")


class Network(nn.Module):
    """An encoder with a head, which gives each option of a case a number."""

    def __init__(self, encoder: Any, head: nn.Module, formalization: Formalization, reader: InputReader) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.formalization = formalization
        self.reader = reader

    def forward(self, batch: Batch) -> Tensor:
        """Return one number per option of the batch."""
        numbers: Tensor = self.head(self.encoder, batch)
        return numbers

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def collated(self, examples: Sequence[Encoded]) -> Batch:
        """Put examples into one batch for this model, on the CPU."""
        pad = self.reader.tokenizer.pad_token_id or 0
        return collate(examples, pad, segments=self.reader.segments)

    def numbers(
        self, examples: Sequence[Encoded | str], budget: int | None = None
    ) -> Iterator[tuple[int, list[float]]]:
        """Yield the index of each example and the numbers of its options.

        The longest examples come first, and reasons in place of examples are skipped. Dropout is off. `budget` is the
        maximum number of tokens of a batch; None depends on the device.
        """

        def score_options(batch: Batch) -> list[list[float]]:
            """Return the numbers of each case's options."""
            numbers = self(batch).tolist()
            option_counts = torch.bincount(batch.case).tolist()
            case_numbers = []
            for count, end in zip(option_counts, accumulate(option_counts), strict=True):
                case_numbers.append(numbers[end - count : end])
            return case_numbers

        return self.each(score_options, examples, budget)

    def each(
        self, work: Callable[[Batch], Iterable[T]], examples: Sequence[Encoded | str], budget: int | None = None
    ) -> Iterator[tuple[int, T]]:
        """Yield the index of each example and its result, the longest examples first.

        `work` computes the results of a batch's cases. Strings among the examples, the reasons why a case could not be
        encoded, are skipped. `budget` is the maximum number of tokens of a batch; None depends on the device.
        """
        indices = []
        encoded = []
        for index, example in enumerate(examples):
            if not isinstance(example, str):
                indices.append(index)
                encoded.append(example)
        default_budget = BUDGET_ON_CPU if self.device.type == "cpu" else BUDGET_ELSEWHERE
        self.eval()

        @torch.inference_mode()
        def run_batch(batch: Sequence[Encoded]) -> list[T]:
            """Return the results of one batch."""
            return list(work(self.collated(batch).to(self.device)))

        costs = [example.longest * len(example.rows) for example in encoded]
        for position, result in in_batches(run_batch, encoded, costs, BatchBudget(budget or default_budget)):
            yield indices[position], result


def load_network(spec: str, formalization: Formalization, *, seed: int = 0, device: str | None = None) -> Network:
    """Load a model for training, with a head of this formalization.

    `spec` is `builtin` or `hf:NAME_OR_FOLDER`. If the folder was trained under a formalization of the same name and
    with the same switch `head`, its head is loaded. Otherwise the head has random weights, drawn by `seed`. Raises
    BadInput if the formalization cannot train this model.
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
        # Only a head of the same shape, and for the same purpose, is loaded.
        stored_formalization = Formalization.parse(stored_about["formalization"])
        has_same_head = stored_formalization.switches.get("head") == formalization.switches.get("head")
        if stored_formalization.name == formalization.name and has_same_head:
            _load_head(network, Path(settings.place))
    return network


def open_network(settings: HfSettings) -> Network:
    """Load a network that winokit trained, under the formalization stored in its folder.

    Raises BadInput if winokit did not train it.
    """
    stored_about = remembered(settings.folder)
    if stored_about is None:
        raise BadInput(f"{settings.place}: no {ABOUT}, so it was not trained by winokit")
    formalization = Formalization.parse(str(stored_about["formalization"]))
    # All weights are in its files: no fresh head is needed, and LoRA's matrices are merged.
    switches = dict(formalization.switches)
    if formalization.definition.guesses:
        switches |= {"head": "pretrained", "lora": "0"}
    network = _load_hub_model(settings, Formalization(formalization.definition, switches))
    network.formalization = formalization
    _load_head(network, Path(settings.place))
    return network.eval()


def save_network(network: Network, folder: Path, about: Mapping[str, Any]) -> None:
    """Write weights, tokenizer and head into a folder, and finally `winokit.json`.

    `about` are more entries of `winokit.json`. An older `winokit.json` is deleted first. Matrices of LoRA are merged
    into the saved weights.
    """
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
    """Return the content of a folder's `winokit.json`, or None if there is none.

    Raises BadInput if the file names no formalization.
    """
    path = None if folder is None else folder / ABOUT
    if path is None or not path.exists():
        return None
    with refusing(f"{path}: does not say which formalization it was trained under", ValueError, KeyError, TypeError):
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
        Formalization.parse(about["formalization"])
    return about


def _load_builtin(spec: Spec, formalization: Formalization) -> Network:
    """Load the built-in model for training."""
    device = HfSettings.of(replace(spec, prefix="hf", place="builtin")).device
    model = torch_model()
    encoder: Any = model
    if not formalization.definition.guesses:
        encoder = model.bert
    elif formalization.switches["head"] == "fresh":
        encoder = _add_fresh_head(model.config, model.bert)
    return _make_network(encoder, formalization, torch_tokenizer()).to(device)


def _load_hub_model(settings: HfSettings, formalization: Formalization) -> Network:
    """Load a model of a folder or of the Hugging Face Hub, with a head."""
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
    """Raise BadInput unless a formalization trains this kind of model.

    `place` is the model's name or folder, for the message.
    """
    if kind in formalization.definition.kinds:
        return
    kinds = " or ".join(formalization.definition.kinds)
    ways = ", ".join(formalizations_of(kind))
    raise BadInput(f"{place}: {formalization.name} trains {kinds} models, and this is a {kind} one: choose {ways}")


def kind_of(spec: str) -> str:
    """Return the kind of a trainable model: masked, causal or seq2seq.

    Raises BadInput if models of this prefix cannot be trained.
    """
    parsed = Spec.parse(spec)
    if parsed.prefix not in TRAINABLE:
        raise BadInput(f"{spec}: only builtin and hf: models can be trained")
    return "masked" if parsed.prefix == "builtin" else kind_by_config(HfSettings.of(parsed))


def _load_writing_model(settings: HfSettings, formalization: Formalization, tokenizer: Any) -> Network:
    """Load a causal model or an encoder-decoder.

    The switch `lora` adds matrices for LoRA. An encoder-decoder cannot be trained with `scored=full`.
    """
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
        # With LoRA the body of the model is not where `logits_at` looks for it.
        head.gathers = not rank and _check_head_takes_positions(network, reader)
    return network


def _check_head_takes_positions(network: Network, reader: InputReader) -> bool:
    """Whether a causal model's head can be called for single positions.

    This is tried on a short text.
    """
    assert reader.boundary is not None
    ids, _ = reader.boundary.encode(PROBE[:1])[PROBE[0]]
    row = torch.tensor([ids], device=network.device)
    return head_takes_positions(network.encoder.eval(), {"input_ids": row}, [0], [1])


def _make_causal_reader(encoder: Any, settings: HfSettings, tokenizer: Any) -> InputReader:
    """Return the reader of a causal model."""
    boundary = Boundary(tokenizer, bos=begins_with_bos(settings, tokenizer))
    config = encoder.config.get_text_config()
    sizes = [getattr(config, name, None) for name in CONTEXT_SIZES]
    longest = next((size for size in sizes if size), sys.maxsize)
    return InputReader(tokenizer, longest, segments=False, separators=(), boundary=boundary)


def _make_decoding_reader(encoder: Any, settings: HfSettings, tokenizer: Any) -> InputReader:
    """Return the reader of an encoder-decoder, and set the model's first decoder token."""
    encoder.config.decoder_start_token_id = hf_seq2seq.start_token(settings.place, encoder)
    longest = hf_seq2seq.most_tokens(encoder.config, "encoder")
    longest_target = hf_seq2seq.most_tokens(encoder.config, "decoder")
    return InputReader(tokenizer, longest, segments=False, separators=(), longest_target=longest_target)


def _add_lora(model: Any, rank: float) -> Any:
    """Freeze a model's weights, and add trainable matrices of this rank to its linear layers.

    Raises BadInput unless the rank is a whole number.
    """
    if not rank.is_integer():
        raise BadInput(f"mc-lm?lora={rank}: expected a whole number, the rank of the matrices")
    with needing("mc-lm?lora=", "hf"):
        from peft import LoraConfig, get_peft_model
    config = LoraConfig(r=int(rank), lora_alpha=2 * int(rank), lora_dropout=0.0, target_modules="all-linear")
    return get_peft_model(model, config)


def _merge_lora(model: Any) -> Any:
    """Return a copy of a LoRA model with ordinary weights, or any other model itself."""
    if not hasattr(model, "merge_and_unload"):
        return model
    return copy.deepcopy(model).merge_and_unload()


def _drop_file_format(model: Any) -> None:
    """Remove the mark that a model's weights were read from a GGUF file.

    In memory they are ordinary numbers, and are saved as such.
    """
    quantizer = getattr(model, "hf_quantizer", None)
    config = getattr(quantizer, "quantization_config", None)
    method = getattr(config, "quant_method", None)
    if getattr(method, "value", method) != "gguf":
        return
    model.hf_quantizer = None
    vars(model.config).pop("quantization_config", None)


def _load_with_head(settings: HfSettings, formalization: Formalization) -> Any:
    """Load a masked language model with its head.

    Raises BadInput if it has none.
    """
    model, missing = load_parts(transformers.AutoModelForMaskedLM, settings)
    if missing:
        raise BadInput(
            f"{settings.place}: no language-modelling head (no weights for {missing[0]}), which {formalization.name} "
            f"needs; train mc-sent, or {formalization.name}?head=fresh"
        )
    return model


def _load_body(settings: HfSettings) -> Any:
    """Load the encoder without a head, and without a pooler if possible."""
    model_class: Any = transformers.AutoModel._model_mapping[type(load_config(settings))]
    if "add_pooling_layer" in inspect.signature(model_class).parameters:
        return load_weights(transformers.AutoModel, settings, add_pooling_layer=False)
    return load_weights(transformers.AutoModel, settings)


def _add_fresh_head(config: Any, body: Any) -> Any:
    """Return a masked language model with this body and a head of random weights."""
    auto: Any = transformers.AutoModelForMaskedLM
    model = auto.from_config(config)
    setattr(model, model.base_model_prefix, body)
    model.tie_weights()
    return model


def _make_network(encoder: Any, formalization: Formalization, tokenizer: Any) -> Network:
    """Return an encoder with the head and the reader of a formalization."""
    head = formalization.definition.head(encoder.config, formalization.switches)
    reader = InputReader.of(tokenizer, encoder.config, most_tokens(encoder))
    network = Network(encoder, head, formalization, reader)
    if formalization.definition.guesses:
        texts = tokenizer(list(PROBE[:1]), return_tensors="pt").to(encoder.device)
        head.gathers = head_takes_positions(encoder.eval(), texts, [0], [1])  # type: ignore[assignment]
    return network


def _load_head(network: Network, folder: Path) -> None:
    """Load the head's weights from a folder.

    Raises BadInput if they do not fit.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        network.head.load_state_dict(load_file(folder / HEAD))
    except (OSError, RuntimeError, SafetensorError) as error:
        error_text = " ".join(str(error).split())[:120]
        name = network.formalization.name
        raise BadInput(f"{folder / HEAD}: not the weights of a {name} head ({error_text})") from None
    network.head.to(network.device)
