"""`hf:NAME_OR_FOLDER`: any causal, masked or sequence-to-sequence language model of Hugging Face transformers.

Options: `kind` (causal, masked, seq2seq; told from the model's configuration by default), `dtype` (float32, bfloat16,
float16, auto), `device` (cpu, cuda, cuda:1, mps), `revision`, `adapter` (the folder of a LoRA), `gguf_file` (a GGUF
file inside the folder), `budget` (tokens a batch), `bos` (on, off: whether texts begin with BOS; by default as the
model's files say; causal models only). A folder that `winokit train` wrote is asked under the formalization
it was trained with, unless a `kind` says otherwise.

Here is what the three kinds share: settings, loading, what identifies a model, and what to do when memory runs out.
"""

from __future__ import annotations

import gc
import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.models.base import LetGo, Model
from winokit.models.registry import Spec
from winokit.registry import Registry

try:
    import torch
    import transformers
    from transformers.models.auto import modeling_auto as auto
except ImportError as error:
    raise MissingExtra("hf: models", "hf") from error

KINDS = ("causal", "masked", "seq2seq")
DTYPES = ("auto", "bfloat16", "float16", "float32")
OPTIONS = ("kind", "dtype", "device", "revision", "adapter", "gguf_file", "budget", "bos")
DEVICE = "WINOKIT_DEVICE"
"""The variable that names the device of models whose SPEC names none."""
HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
BUDGET_ON_CPU, BUDGET_ELSEWHERE = 2048, 16384
"""Padded tokens of a batch of masked and sequence-to-sequence models, where the SPEC does not say."""
SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")
TRAINED = "winokit.json"
"""A folder of `winokit train` has this file. It judges whole problems, so that its loader lives above this package."""
LOADERS: Registry[Callable[[Spec], Model]] = Registry("maker of trained folders", "winokit.trained")

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class HfSettings:
    """How a model is to be loaded and run, as the SPEC says and with its defaults filled in."""

    place: str
    kind: str | None  # until `hf.load` has looked at the configuration
    dtype: str
    device: str
    revision: str | None = None
    adapter: str | None = None
    gguf_file: str | None = None
    budget: int | None = None
    bos: bool | None = None
    """Whether texts begin with BOS; None for what the model's files say (`hf_causal`)."""

    @classmethod
    def of(cls, spec: Spec) -> HfSettings:
        """Read the options of a SPEC, each checked."""
        options = spec.only(*OPTIONS)
        device = _device(options.get("device"))
        return cls(
            place=_place(spec.place_or_fail("a model's name on the hub, or its folder,")),
            kind=spec.choice("kind", KINDS),
            dtype=spec.choice("dtype", DTYPES) or ("float32" if device == "cpu" else "auto"),
            device=device,
            revision=options.get("revision"),
            adapter=options.get("adapter"),
            gguf_file=options.get("gguf_file"),
            budget=spec.number("budget", 0, least=1) or None,
            bos=spec.switch("bos"),
        )

    @property
    def folder(self) -> Path | None:
        """The model's folder, or None for a model on the hub."""
        path = Path(self.place)
        return path if path.is_dir() else None

    @property
    def source(self) -> dict[str, Any]:
        """The arguments of `from_pretrained` that say which files are meant."""
        source = {"revision": self.revision, "gguf_file": self.gguf_file}
        return {name: value for name, value in source.items() if value is not None}


def load(spec: Spec) -> Model:
    """Load a model of transformers, as the kind it was made to be or the kind asked for."""
    settings = HfSettings.of(spec)
    if settings.kind is None and settings.folder is not None and (settings.folder / TRAINED).exists():
        return LOADERS["winokit"](spec)
    kind = settings.kind or kind_by_config(settings)
    model: Model = import_module(f"winokit.models.hf_{kind}").load(spec, replace(settings, kind=kind))
    return model


def check(spec: Spec) -> None:
    """Refuse a SPEC whose options, configuration or kind will not do, before any weights are loaded."""
    settings = HfSettings.of(spec)
    if settings.kind is None and not (settings.folder is not None and (settings.folder / TRAINED).exists()):
        kind_by_config(settings)


def kind_by_config(settings: HfSettings) -> str:
    """The kind of a model by its configuration: the class it was saved as, else what its family is made for."""
    config = load_config(settings)
    names = {
        "seq2seq": auto.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES,
        "masked": auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES,
        "causal": auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    }
    saved_as = set(config.architectures or ())
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
    """The model's configuration."""
    return _fetch(transformers.AutoConfig.from_pretrained, settings)


def load_tokenizer(settings: HfSettings) -> Any:
    """The model's tokenizer, which must be one that knows where in the text each token stands."""
    if settings.bos is not None and settings.kind != "causal":
        raise BadInput(f"{settings.place}: bos= is an option of causal models only")
    tokenizer = _fetch(transformers.AutoTokenizer.from_pretrained, settings)
    if not tokenizer.is_fast:
        raise BadInput(
            f"{settings.place}: {type(tokenizer).__name__} cannot say where tokens stand; a fast one is needed"
        )
    return tokenizer


def load_weights(auto_class: Any, settings: HfSettings, **options: Any) -> Any:
    """The model itself, its adapter merged, on its device, ready to be asked.

    A part that the folder has no weights for (the head, where a model was saved with another) would be random numbers.
    """
    model, missing = load_parts(auto_class, settings, **options)
    check_whole(settings, missing)
    return model


def check_whole(settings: HfSettings, missing: Sequence[str]) -> None:
    """Refuse a model of which some weights are missing."""
    if missing:
        raise BadInput(f"{settings.place}: no weights for {missing[0]}, so that it is not a {settings.kind} model")


def load_parts(auto_class: Any, settings: HfSettings, **options: Any) -> tuple[Any, list[str]]:
    """The model as `load_weights` has it, and the names of the weights that were not there and are random now."""
    dtype = "auto" if settings.dtype == "auto" else getattr(torch, settings.dtype)
    model, report = _fetch(auto_class.from_pretrained, settings, dtype=dtype, output_loading_info=True, **options)
    if settings.adapter is not None:
        model = _with_adapter(model, settings.adapter)
    if getattr(model, "hf_device_map", None) is None:
        model = model.to(settings.device)
    return model.eval(), sorted(report["missing_keys"])


def fingerprint(settings: HfSettings) -> str:
    """What determines the answers: the content of a local folder, or the commit of a hub model; dtype and adapter."""
    if settings.folder is not None:
        weights = _contents(settings.folder, settings.gguf_file)
    else:
        weights = f"{settings.place}@{load_config(settings)._commit_hash or settings.revision or 'main'}"
        weights += f"/{settings.gguf_file}" if settings.gguf_file else ""
    adapter = f" adapter={_contents(Path(settings.adapter))}" if settings.adapter else ""
    return f"hf {settings.kind} {weights} dtype={settings.dtype}{adapter}"


def halving(run: Callable[[Sequence[T]], Sequence[R]], batch: Sequence[T]) -> list[R]:
    """The results of `run` on the batch, in its halves (and theirs) where memory does not hold the whole."""
    try:
        return list(run(batch))
    except RuntimeError as error:  # torch.OutOfMemoryError is one
        if not out_of_memory(error):
            raise
        if len(batch) == 1:
            raise BadInput(
                "out of memory with a single text: choose a smaller model, dtype=bfloat16 or another device"
            ) from error
    # Outside of the except clause, so that the failed run's tensors, which its traceback holds, are gone.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    middle = len(batch) // 2
    return halving(run, batch[:middle]) + halving(run, batch[middle:])


def out_of_memory(error: RuntimeError) -> bool:
    """Whether this is torch saying that memory ran out; backends other than CUDA say so in words only."""
    message = str(error).lower()
    return isinstance(error, torch.OutOfMemoryError) or "out of memory" in message or "can't allocate memory" in message


def padded(rows: Sequence[Sequence[int]], pad: int, device: Any) -> torch.Tensor:
    """Rows of numbers as one tensor of shape (rows, longest), padded on the right."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (length - len(row))] for row in rows], device=device)


def free_memory() -> None:
    """Give back what nobody holds any more: layers and their hooks hold each other, and CUDA keeps what it once had."""
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


class HfModel:
    """What a masked or sequence-to-sequence model has once it is loaded."""

    def __init__(self, spec: str, settings: HfSettings, tokenizer: Any, model: Any) -> None:
        self.spec, self.settings, self.tokenizer, self.model = spec, settings, tokenizer, model
        self.budget = settings.budget or (BUDGET_ON_CPU if model.device.type == "cpu" else BUDGET_ELSEWHERE)

    @cached_property
    def fingerprint(self) -> str:
        """Weights, tokenizer, precision."""
        return fingerprint(self.settings)

    def close(self) -> None:
        """Let the weights go."""
        self.model = LetGo(self.spec)
        free_memory()

    def _padded(self, texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids, and where they are not padding, both of shape (texts, longest)."""
        ids = padded(texts, self.tokenizer.pad_token_id or 0, self.model.device)
        return ids, padded([[1] * len(text) for text in texts], 0, self.model.device)


def _fetch(from_pretrained: Callable[..., T], settings: HfSettings, **options: Any) -> T:
    """Call a `from_pretrained` without its chatter, its complaints put in one line."""
    try:
        with _quiet():
            return from_pretrained(settings.place, **settings.source, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        complaint = shorten(str(error), 200, placeholder=" …")
        if settings.folder is None and isinstance(error, OSError):
            raise BadInput(
                f"{settings.place}: no such model folder, and the hub could not be reached: {complaint}"
            ) from error
        raise BadInput(f"{settings.place}: cannot be loaded: {complaint}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep transformers and the hub from writing between our own lines."""
    bars: Any = transformers.utils.logging
    shown = bars.is_progress_bar_enabled()
    loggers = [logging.getLogger(name) for name in ("transformers", "huggingface_hub")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    bars.disable_progress_bar()
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
        if shown:
            bars.enable_progress_bar()


def _with_adapter(model: Any, folder: str) -> Any:
    """The model with the weights of a LoRA added to its own."""
    try:
        from peft import PeftModel
    except ImportError:
        raise MissingExtra("adapter=", "hf") from None
    if not (Path(folder) / "adapter_config.json").exists():
        raise BadInput(f"adapter {folder}: no such folder, or no adapter_config.json in it")
    try:
        merged = PeftModel.from_pretrained(model, folder)
        return merged.merge_and_unload()
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise BadInput(
            f"adapter {folder}: does not fit the model: {shorten(str(error), 200, placeholder=' …')}"
        ) from error


def _contents(folder: Path, gguf_file: str | None = None) -> str:
    """A hash of everything in a model's folder that has a say: configuration, tokenizer, weights."""
    weights = (
        [folder / gguf_file] if gguf_file else sorted(folder.glob("*.safetensors")) or sorted(folder.glob("*.bin"))
    )
    small = sorted(path for pattern in SMALL_FILES for path in folder.glob(pattern))
    whole = hashlib.sha256()
    for path in [*small, *weights]:
        stat = path.stat()
        whole.update(f"{path.name} {_content(path, stat.st_size, stat.st_mtime_ns)}\n".encode())
    return whole.hexdigest()


@cache
def _content(path: Path, size: int, changed: int) -> str:
    """A hash of a file's bytes, kept in memory while its size and time of change stay."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _place(place: str) -> str:
    """A folder's path or a hub name, as transformers wants it."""
    path = Path(place).expanduser()
    if path.is_dir():
        return str(path)
    if not HUB_NAME.fullmatch(place):
        raise BadInput(f"{place}: no such model folder, and not a name on the hub either")
    return place


def _device(name: str | None) -> str:
    """The device asked for, which must be there; else that of $WINOKIT_DEVICE, else the best there is."""
    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    name = name or os.environ.get(DEVICE) or next(device for device, count in there.items() if count)
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnknownName("device", name, there) from error
    if (device.index or 0) >= there.get(device.type, 1):
        raise BadInput(f"device {name!r}: not on this machine; use device=cpu")
    return str(device)
