"""`hf:NAME_OR_FOLDER`: any causal, masked or sequence-to-sequence language model of Hugging Face transformers.

The options are described in docs/models.md. By default, `kind` follows from the model's configuration. A folder
that `winokit train` wrote is scored under the formalization it was trained with, unless a `kind` is given.

The fingerprint has everything that changes answers, such as `load_in` and the chat template, but not the devices on
which weights are.

This module has the parts that all three kinds share: settings, loading, and fingerprints.
"""

import hashlib
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pickle import UnpicklingError
from textwrap import shorten
from typing import Any, TypeVar

from winokit.errors import BadInput, MissingExtra, needing
from winokit.models.base import LetGo, Model
from winokit.models.batching import WAYS_OUT, BatchBudget, free_memory, out_of_memory
from winokit.models.hf_settings import KINDS, LARGE, HfSettings
from winokit.models.registry import Spec
from winokit.registry import Registry

try:
    import torch
    import transformers
    from safetensors import SafetensorError
    from transformers.models.auto import modeling_auto as auto
except ImportError as error:
    raise MissingExtra("an hf: model", "hf") from error

REMOTE = {"AutoModelForSeq2SeqLM": "seq2seq", "AutoModelForMaskedLM": "masked", "AutoModelForCausalLM": "causal"}
"""Kind of a model with its own code, by the class that its configuration names."""
BUDGET_ON_CPU = 2048
BUDGET_ELSEWHERE = 16384
"""Tokens of a batch, padding included, of masked and sequence-to-sequence models, unless the SPEC says otherwise."""
SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")
TRAINED = "winokit.json"
"""File in a folder of `winokit train`. Such a model judges whole problems, so that its loader is registered from
outside this package."""
LOADERS: Registry[Callable[[Spec], Model]] = Registry("maker of trained folders", "winokit.trained")

T = TypeVar("T")


def load(spec: Spec) -> Model:
    """Load a transformers model, as the kind that the SPEC names.

    Without a kind, as the kind that its configuration says. A folder of `winokit train` is loaded with its
    formalization.
    """
    settings = HfSettings.of(spec)
    if settings.kind is None and is_trained(settings):
        return LOADERS["winokit"](spec)
    kind = settings.kind or kind_by_config(settings)
    try:
        module = import_module(f"winokit.models.hf_{kind}")
        model: Model = module.load(spec, replace(settings, kind=kind))
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        raise BadInput(f"{settings.place}: out of memory while it was loaded: {WAYS_OUT}") from error
    return model


def of_objects(network: Any, tokenizer: Any) -> Model:
    """Make a model of a network and its tokenizer that are loaded already.

    The network is put into evaluation mode. The model is named after the folder or hub name it came from, and its
    answers are stored under a hash of its weights.
    """
    if not (hasattr(network, "config") and hasattr(tokenizer, "backend_tokenizer")):
        raise BadInput("expected a network of transformers and its fast tokenizer")
    model_name = getattr(network, "name_or_path", "") or type(network).__name__
    settings = HfSettings(model_name, None, "auto", str(network.device), loaded=(network.eval(), tokenizer))
    settings = replace(settings, kind=kind_by_config(settings))
    module = import_module(f"winokit.models.hf_{settings.kind}")
    model: Model = module.load(Spec("hf", Path(model_name).name), settings)
    return model


def check(spec: Spec) -> None:
    """Check a SPEC's options, configuration and kind.

    Weights are not read. Raises BadInput if it cannot be loaded.
    """
    settings = HfSettings.of(spec)
    _build_placing(settings)
    if settings.kind is None and not is_trained(settings):
        kind_by_config(settings)


def is_trained(settings: HfSettings) -> bool:
    """Whether the model is a folder that `winokit train` wrote.

    Raises BadInput if such a folder is given an option for large models.
    """
    if settings.folder is None or not (settings.folder / TRAINED).exists():
        return False
    for name in LARGE:
        if getattr(settings, name):
            raise BadInput(f"{settings.place}: {name}= needs kind= with a folder of `winokit train`")
    return True


def kind_by_config(settings: HfSettings) -> str:
    """Kind of a model by its configuration: causal, masked or seq2seq.

    That of the class it was saved as, else of its family. Raises BadInput if it is no language model.
    """
    config = load_config(settings)
    names = {
        "seq2seq": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    saved_as = set(config.architectures or ())
    own_code = getattr(config, "auto_map", None) or {}
    for name, kind in REMOTE.items() if settings.trust_remote_code else ():
        if name in own_code:
            return kind
    if not config.is_encoder_decoder:
        # BART's and T5's families have masked or causal heads too, yet a saved encoder-decoder is meant to be one.
        del names["seq2seq"]
    for kind, classes in names.items():
        if saved_as & set(classes.values()):
            return kind
    for kind, classes in names.items():
        if config.model_type in classes:
            return kind
    what = ", ".join(sorted(saved_as)) or config.model_type
    raise BadInput(f"{settings.place}: {what} is not a language model; known kinds: {', '.join(KINDS)}")


def load_config(settings: HfSettings) -> Any:
    """Load the model's configuration."""
    if settings.loaded:
        return settings.loaded[0].config
    return _load_pretrained(transformers.AutoConfig.from_pretrained, settings)


def load_tokenizer(settings: HfSettings) -> Any:
    """Load the model's tokenizer.

    Raises BadInput if it does not give the places of tokens, or if `bos` or `chat_template` is set for a model that is
    not causal.
    """
    for name in ("bos", "chat_template"):
        if getattr(settings, name) is not None and settings.kind != "causal":
            raise BadInput(f"{settings.place}: {name}= is an option of causal models only")
    tokenizer = (
        settings.loaded[1]
        if settings.loaded
        else _load_pretrained(transformers.AutoTokenizer.from_pretrained, settings)
    )
    if not tokenizer.is_fast:
        raise BadInput(
            f"{settings.place}: {type(tokenizer).__name__} gives no token positions; a fast tokenizer is needed"
        )
    return tokenizer


def load_weights(auto_class: Any, settings: HfSettings, **options: Any) -> Any:
    """Load the network on its device, with its adapter merged.

    Raises BadInput if some weights are missing, such as those of a head: they would be random.
    """
    model, missing = load_parts(auto_class, settings, **options)
    check_whole(settings, missing)
    return model


def check_whole(settings: HfSettings, missing: Sequence[str]) -> None:
    """Raise BadInput if names of missing weights are given."""
    if missing:
        raise BadInput(f"{settings.place}: no weights for {missing[0]}, so it is not a {settings.kind} model")


def load_parts(auto_class: Any, settings: HfSettings, **options: Any) -> tuple[Any, list[str]]:
    """Load the network as `load_weights` does, but allow missing weights.

    Also returns the names of the missing weights, which are random.
    """
    if settings.loaded:
        return settings.loaded[0], []
    dtype = "auto" if settings.dtype == "auto" else getattr(torch, settings.dtype)
    placing = _build_placing(settings)
    if not placing and getattr(load_config(settings), "quantization_config", None):
        placing = {"device_map": {"": settings.device}}  # stored quantised: such weights cannot be moved
    model, report = _load_pretrained(
        auto_class.from_pretrained, settings, dtype=dtype, output_loading_info=True, **placing, **options
    )
    if settings.adapter is not None:
        if any(weights.is_meta for weights in model.parameters()):  # peft would drop its own weights there
            raise BadInput(
                f"{settings.place}: adapter= needs all weights in memory: raise max_memory=, or merge it first"
            )
        model = _add_adapter(model, settings.adapter, merge=settings.load_in is None)
    if not placing:
        model = model.to(settings.device)
    elif isinstance(settings.device_map, dict):
        _check_covered(settings, model, settings.device_map)
    return model.eval(), sorted(report["missing_keys"])


def _build_placing(settings: HfSettings) -> dict[str, Any]:
    """Arguments of `from_pretrained` that quantise a model, or spread it over devices.

    Empty if it is moved to one device as a whole. Raises MissingExtra without the packages for that.
    """
    if settings.device_map is None and settings.load_in is None:
        return {}
    for package, option in (("accelerate", "device_map="), ("bitsandbytes", "load_in=")):
        if find_spec(package) is None and (package == "accelerate" or settings.load_in):
            raise MissingExtra(option, "large")
    placing: dict[str, Any] = {"device_map": settings.device_map or {"": settings.device}}
    if settings.max_memory is not None:
        placing["max_memory"] = settings.max_memory
    if settings.load_in is not None:
        logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it tells of every product that it rounds
        config: Any = transformers.BitsAndBytesConfig
        if settings.compute_dtype is None:
            placing["quantization_config"] = config(load_in_8bit=True)
        else:
            computed = getattr(torch, settings.compute_dtype)
            four = {"bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": computed}
            placing["quantization_config"] = config(load_in_4bit=True, **four)
    return placing


def _check_covered(settings: HfSettings, model: Any, device_map: dict[str, int | str]) -> None:
    """Raise BadInput if a device map leaves out parts of the model."""
    from accelerate.utils import check_device_map

    try:
        check_device_map(model, device_map)
    except ValueError as error:
        complaint = shorten(str(error), 200, placeholder=" …")
        raise BadInput(f"{settings.place}: device_map= does not fit the model: {complaint}") from None


def input_device(network: Any) -> torch.device:
    """The device to which token ids are sent.

    For a model that is spread over devices, its first GPU. The CPU if it is on no GPU.
    """
    spread = [str(place) for place in (getattr(network, "hf_device_map", None) or {}).values()]
    if not spread:
        device: torch.device = network.device
        return device
    first = next((place for place in spread if place not in ("cpu", "disk")), "cpu")
    return torch.device(int(first) if first.isdigit() else first)


def as_loaded(settings: HfSettings, network: Any) -> HfSettings:
    """Return the settings, with the precision that the loaded weights have.

    So `dtype=auto` and naming the same precision give the same fingerprint.
    """
    return replace(settings, dtype=str(network.dtype).removeprefix("torch."))


def fingerprint(settings: HfSettings) -> str:
    """Identify everything that determines the answers of a model.

    A local folder is identified by a hash of its content, a hub model by its commit, a network given as an object by
    its weights. Precision, quantisation and adapter are part of it.
    """
    assert settings.dtype != "auto", "the precision is known once the weights are loaded"
    if settings.loaded:
        weights = _hash_network(*settings.loaded)
    elif settings.folder is not None:
        weights = _hash_folder(settings.folder, settings.gguf_file)
    else:
        weights = f"{settings.place}@{load_config(settings)._commit_hash or settings.revision or 'main'}"
        if settings.gguf_file:
            weights += f"/{settings.gguf_file}"
    parts = [f"hf {settings.kind} {weights} dtype={settings.dtype}"]
    if settings.load_in:
        parts.append(f"load_in={settings.load_in}")
    if settings.compute_dtype:
        parts.append(f"compute_dtype={settings.compute_dtype}")
    if settings.adapter:
        parts.append(f"adapter={_hash_folder(Path(settings.adapter))}")
    return " ".join(parts)


def budget_of(settings: HfSettings, usual: int, attempt: Callable[[int], object]) -> BatchBudget:
    """Budget of tokens for a model's batches.

    That of the SPEC, else `usual` on a CPU, else one found by calling `attempt` with numbers of tokens. `attempt` is
    called when the budget settles, not here.
    """
    if settings.budget is not None or settings.device == "cpu":
        return BatchBudget(settings.budget or usual)

    def name() -> str:
        spread = f" {settings.device_map} {settings.max_memory}" if settings.device_map is not None else ""
        gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        hardware = ", ".join(gpus) or settings.device
        return f"{fingerprint(settings)} on {settings.device} of {hardware}{spread}"

    return BatchBudget(usual, attempt, name)


def padded(rows: Sequence[Sequence[int]], pad: int, device: Any) -> torch.Tensor:
    """Make a tensor of rows of numbers, padded on the right.

    Its shape is (rows, longest).
    """
    length = max(map(len, rows))
    padded_rows = [[*row, *[pad] * (length - len(row))] for row in rows]
    return torch.tensor(padded_rows, device=device)


class HfModel:
    """Base class of loaded masked and sequence-to-sequence models."""

    def __init__(self, spec: str, settings: HfSettings, tokenizer: Any, model: Any) -> None:
        self.spec = spec
        self.settings = as_loaded(settings, model)
        self.tokenizer = tokenizer
        self.model = model
        self.device = input_device(model)
        usual = BUDGET_ON_CPU if settings.device == "cpu" else BUDGET_ELSEWHERE
        self.budget = budget_of(self.settings, usual, self.read_filler)

    @property
    def network(self) -> Any:
        """The torch network."""
        return self.model

    @cached_property
    def fingerprint(self) -> str:
        """Text that identifies weights, tokenizer and precision."""
        return fingerprint(self.settings)

    @property
    def notes(self) -> tuple[str, ...]:
        """A note that memory ran out, if it did."""
        return tuple(f"{self.spec}: {note}" for note in self.budget.notes)

    def read_filler(self, tokens: int) -> None:
        """Read a batch of `tokens` arbitrary tokens, to see whether memory holds it."""
        raise NotImplementedError

    def close(self) -> None:
        """Free the weights."""
        self.model = LetGo(self.spec)
        free_memory()

    def _pad_ids(self, texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Pad token ids, and make the attention mask.

        Both tensors have the shape (texts, longest).
        """
        ids = padded(texts, self.tokenizer.pad_token_id or 0, self.device)
        return ids, padded([[1] * len(text) for text in texts], 0, self.device)


def _load_pretrained(from_pretrained: Callable[..., T], settings: HfSettings, **options: Any) -> T:
    """Call a `from_pretrained` with the settings, without its messages.

    Errors become one-line BadInput errors. Only running out of memory is raised as it is.
    """
    try:
        with quiet():
            own_code = {"trust_remote_code": settings.trust_remote_code}
            return from_pretrained(settings.place, **own_code, **settings.source, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError, UnpicklingError) as error:
        complaint = shorten(str(error), 200, placeholder=" …")
        if "trust_remote_code" in str(error):
            raise BadInput(
                f"{settings.place}: brings its own code; read it, then allow it with ?trust_remote_code=true"
            ) from error
        if isinstance(error, RuntimeError) and out_of_memory(error):
            raise
        if settings.folder is None and isinstance(error, OSError):
            raise BadInput(
                f"{settings.place}: no such model folder, and the hub could not be reached: {complaint}"
            ) from error
        raise BadInput(f"{settings.place}: cannot be loaded: {complaint}") from error


@contextmanager
def quiet() -> Iterator[None]:
    """Silence transformers and the hub while the block runs."""
    bars: Any = transformers.utils.logging
    bars_enabled = bars.is_progress_bar_enabled()
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub", "accelerate")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    bars.disable_progress_bar()
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if bars_enabled:
            bars.enable_progress_bar()


def _add_adapter(model: Any, folder: str, *, merge: bool) -> Any:
    """Add a LoRA adapter to a model.

    With `merge`, its weights are added to the model's own. Quantised weights stay apart from it. Raises BadInput if it
    does not fit.
    """
    with needing("adapter=", "hf"):
        from peft import PeftModel
    if not (Path(folder) / "adapter_config.json").exists():
        raise BadInput(f"adapter {folder}: no such folder, or no adapter_config.json in it")
    try:
        adapted_model = PeftModel.from_pretrained(model, folder)
        return adapted_model.merge_and_unload() if merge else adapted_model.get_base_model()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise BadInput(
            f"adapter {folder}: does not fit the model: {shorten(str(error), 200, placeholder=' …')}"
        ) from error


def _hash_folder(folder: Path, gguf_file: str | None = None) -> str:
    """Hash the configuration, tokenizer and weights in a model's folder.

    With `gguf_file`, this file counts as the weights, and no other.
    """
    if gguf_file:
        weights = [folder / gguf_file]
    else:
        weights = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    small: list[Path] = []
    for pattern in SMALL_FILES:
        small += folder.glob(pattern)
    small.sort()
    digest = hashlib.sha256()
    for path in [*small, *weights]:
        stat = path.stat()
        content = _hash_file(path, stat.st_size, stat.st_mtime_ns)
        digest.update(f"{path.name} {content}\n".encode())
    return digest.hexdigest()


def _hash_network(network: Any, tokenizer: Any) -> str:
    """Hash the configuration, tokenizer and weights of a loaded network."""
    digest = hashlib.sha256(network.config.to_json_string().encode())
    digest.update(tokenizer.backend_tokenizer.to_str().encode())
    for name, values in sorted(network.state_dict().items()):
        digest.update(name.encode())
        plain_values = values.detach().cpu().contiguous()
        digest.update(plain_values.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@cache
def _hash_file(path: Path, size: int, changed: int) -> str:
    """Hash a file's content.

    Computed once as long as its size and time of change stay the same.
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
