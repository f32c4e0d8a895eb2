"""`hf:NAME_OR_FOLDER`: any causal, masked or sequence-to-sequence language model of Hugging Face transformers.

Options: `kind` (causal, masked, seq2seq; told from the model's configuration by default), `dtype` (float32, bfloat16,
float16, auto), `device` (cpu, cuda, cuda:1, mps), `revision`, `adapter` (the folder of a LoRA), `gguf_file` (a GGUF
file inside the folder), `budget` (tokens a batch; see `batching`), `bos` (on, off: whether texts begin with BOS; by
default as the model's files say; causal models only). A folder that `winokit train` wrote is asked under the
formalization it was trained with, unless a `kind` says otherwise.

Large models:

- `device_map` spreads a model over the devices there are, and over CPU and disk where those are full: `auto`,
  `balanced`, `balanced_low_0`, `sequential` as accelerate has them, or a JSON file from names of parts to devices.
- `max_memory` bounds that: `0:20GiB,1:20GiB,cpu:60GiB`, or one size for every GPU.
- `load_in` quantises weights with bitsandbytes: `4bit` (NF4, products in `dtype`, or bfloat16) or `8bit` (LLM.int8).
- `trust_remote_code=true` runs the code that comes with a model.
- `chat_template`, of causal models: `auto` for the tokenizer's own, a Jinja file, or `off`, the default (see there).

What changes answers is part of the fingerprint: `load_in` and the template, not where weights lie.

Here is what the three kinds share: settings, loading, and what identifies a model.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from textwrap import shorten
from typing import Any, TypeVar

from winokit.errors import BadInput, MissingExtra, UnknownName
from winokit.files import read_object
from winokit.models.base import LetGo, Model
from winokit.models.batching import WAYS_OUT, BatchBudget, free_memory, out_of_memory
from winokit.models.registry import HUB_NAME, Spec
from winokit.registry import Registry

try:
    import torch
    import transformers
    from transformers.models.auto import modeling_auto as auto
except ImportError as error:
    raise MissingExtra("hf: models", "hf") from error

KINDS = ("causal", "masked", "seq2seq")
DTYPES = ("auto", "bfloat16", "float16", "float32")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
LARGE = ("device_map", "max_memory", "load_in", "trust_remote_code", "chat_template")
OPTIONS = ("kind", "dtype", "device", "revision", "adapter", "gguf_file", "budget", "bos", *LARGE)
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT])(i?)B", re.IGNORECASE)
REMOTE = {"AutoModelForSeq2SeqLM": "seq2seq", "AutoModelForMaskedLM": "masked", "AutoModelForCausalLM": "causal"}
"""The kind of a model that brings its own code, by the class it says it is."""
DEVICE = "WINOKIT_DEVICE"
"""The variable that names the device of models whose SPEC names none."""
BUDGET_ON_CPU, BUDGET_ELSEWHERE = 2048, 16384
"""Padded tokens of a batch of masked and sequence-to-sequence models, where the SPEC does not say."""
SMALL_FILES = ("*.json", "*.txt", "*.model", "*.jinja", "*.py")
TRAINED = "winokit.json"
"""A folder of `winokit train` has this file. It judges whole problems, so that its loader lives above this package."""
LOADERS: Registry[Callable[[Spec], Model]] = Registry("maker of trained folders", "winokit.trained")

T = TypeVar("T")


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
    device_map: str | dict[str, int | str] | None = None
    max_memory: dict[int | str, int] | None = None
    load_in: str | None = None
    trust_remote_code: bool = False
    chat_template: str | None = None
    """`auto`, or the file of a template."""

    @classmethod
    def of(cls, spec: Spec) -> HfSettings:
        """Read the options of a SPEC, each checked, and all together."""
        options = spec.only(*OPTIONS)
        _check_together(options)
        device_map = _device_map(options.get("device_map"))
        device = _device(options.get("device") or (_devices()[0] if device_map is not None else None))
        load_in, template = spec.choice("load_in", ("4bit", "8bit")), options.get("chat_template")
        return cls(
            place=_place(spec.place_or_fail("a model's name on the hub, or its folder,")),
            kind=spec.choice("kind", KINDS),
            dtype=spec.choice("dtype", DTYPES) or ("float32" if device == "cpu" and not load_in else "auto"),
            device=device,
            revision=options.get("revision"),
            adapter=options.get("adapter"),
            gguf_file=options.get("gguf_file"),
            budget=spec.number("budget", 0, least=1) or None,
            bos=spec.switch("bos"),
            device_map=device_map,
            max_memory=_max_memory(options.get("max_memory")),
            load_in=load_in,
            trust_remote_code=spec.choice("trust_remote_code", ("true", "false")) == "true",
            chat_template=None if template == "off" else template,
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
    if settings.kind is None and is_trained(settings):
        return LOADERS["winokit"](spec)
    kind = settings.kind or kind_by_config(settings)
    try:
        model: Model = import_module(f"winokit.models.hf_{kind}").load(spec, replace(settings, kind=kind))
    except RuntimeError as error:
        if not out_of_memory(error):
            raise
        raise BadInput(f"{settings.place}: out of memory while it was loaded: {WAYS_OUT}") from error
    return model


def check(spec: Spec) -> None:
    """Refuse a SPEC whose options, configuration or kind will not do, before any weights are loaded."""
    settings = HfSettings.of(spec)
    _placing(settings)
    if settings.kind is None and not is_trained(settings):
        kind_by_config(settings)


def is_trained(settings: HfSettings) -> bool:
    """Whether `winokit train` wrote the folder; what is for large models has no place there."""
    if settings.folder is None or not (settings.folder / TRAINED).exists():
        return False
    for name in LARGE:
        if getattr(settings, name):
            raise BadInput(f"{settings.place}: {name}= has no place with a folder of `winokit train`, unless kind= is")
    return True


def kind_by_config(settings: HfSettings) -> str:
    """The kind of a model by its configuration: the class it was saved as, else what its family is made for."""
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
    """The model's configuration."""
    return _fetch(transformers.AutoConfig.from_pretrained, settings)


def load_tokenizer(settings: HfSettings) -> Any:
    """The model's tokenizer, which must be one that knows where in the text each token stands."""
    for name in ("bos", "chat_template"):
        if getattr(settings, name) is not None and settings.kind != "causal":
            raise BadInput(f"{settings.place}: {name}= is an option of causal models only")
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
    placing = _placing(settings)
    if not placing and getattr(load_config(settings), "quantization_config", None):
        placing = {"device_map": {"": settings.device}}  # stored quantised: such weights cannot be moved
    model, report = _fetch(
        auto_class.from_pretrained, settings, dtype=dtype, output_loading_info=True, **placing, **options
    )
    if settings.adapter is not None:
        if any(weights.is_meta for weights in model.parameters()):  # peft would drop its own weights there
            raise BadInput(
                f"{settings.place}: adapter= needs all weights in memory: raise max_memory=, or merge it first"
            )
        model = _with_adapter(model, settings.adapter, merge=settings.load_in is None)
    if not placing:
        model = model.to(settings.device)
    elif isinstance(settings.device_map, dict):
        _check_covered(settings, model, settings.device_map)
    return model.eval(), sorted(report["missing_keys"])


def _placing(settings: HfSettings) -> dict[str, Any]:
    """The arguments of `from_pretrained` that quantise a model and spread it; none for one that is moved as a whole."""
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
        computed = torch.bfloat16 if settings.dtype == "auto" else getattr(torch, settings.dtype)
        four = {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": computed}
        bits: Any = transformers.BitsAndBytesConfig
        placing["quantization_config"] = bits(**(four if settings.load_in == "4bit" else {"load_in_8bit": True}))
    return placing


def _check_covered(settings: HfSettings, model: Any, device_map: dict[str, int | str]) -> None:
    """Refuse a map that leaves parts of the model out."""
    from accelerate.utils import check_device_map

    try:
        check_device_map(model, device_map)
    except ValueError as error:
        complaint = shorten(str(error), 200, placeholder=" …")
        raise BadInput(f"{settings.place}: device_map= does not fit the model: {complaint}") from None


def input_device(network: Any) -> torch.device:
    """Where texts go in: the first device of a model that is spread; weights on CPU and disk are read on it too."""
    spread = [str(place) for place in (getattr(network, "hf_device_map", None) or {}).values()]
    if not spread:
        device: torch.device = network.device
        return device
    first = next((place for place in spread if place not in ("cpu", "disk")), "cpu")
    return torch.device(int(first) if first.isdigit() else first)


def fingerprint(settings: HfSettings) -> str:
    """What determines the answers: the content of a local folder, or the commit of a hub model; dtype and adapter."""
    if settings.folder is not None:
        weights = _contents(settings.folder, settings.gguf_file)
    else:
        weights = f"{settings.place}@{load_config(settings)._commit_hash or settings.revision or 'main'}"
        weights += f"/{settings.gguf_file}" if settings.gguf_file else ""
    adapter = f" adapter={_contents(Path(settings.adapter))}" if settings.adapter else ""
    quantised = f" load_in={settings.load_in}" if settings.load_in else ""
    return f"hf {settings.kind} {weights} dtype={settings.dtype}{quantised}{adapter}"


def budget_of(settings: HfSettings, usual: int, attempt: Callable[[int], object]) -> BatchBudget:
    """The tokens of a model's batches: as the SPEC says, as suits a CPU, or to be looked for."""
    if settings.budget is not None or settings.device == "cpu":
        return BatchBudget(settings.budget or usual)

    def name() -> str:
        spread = f" {settings.device_map} {settings.max_memory}" if settings.device_map is not None else ""
        gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
        return f"{fingerprint(settings)} on {settings.device} of {', '.join(gpus) or settings.device}{spread}"

    return BatchBudget(usual, attempt, name)


def padded(rows: Sequence[Sequence[int]], pad: int, device: Any) -> torch.Tensor:
    """Rows of numbers as one tensor of shape (rows, longest), padded on the right."""
    length = max(map(len, rows))
    return torch.tensor([[*row, *[pad] * (length - len(row))] for row in rows], device=device)


class HfModel:
    """What a masked or sequence-to-sequence model has once it is loaded."""

    def __init__(self, spec: str, settings: HfSettings, tokenizer: Any, model: Any) -> None:
        self.spec, self.settings, self.tokenizer, self.model = spec, settings, tokenizer, model
        self.device = input_device(model)
        usual = BUDGET_ON_CPU if settings.device == "cpu" else BUDGET_ELSEWHERE
        self.budget = budget_of(settings, usual, self.read_filler)

    @cached_property
    def fingerprint(self) -> str:
        """Weights, tokenizer, precision."""
        return fingerprint(self.settings)

    @property
    def notes(self) -> tuple[str, ...]:
        """That memory ran out."""
        return tuple(f"{self.spec}: {note}" for note in self.budget.notes)

    def read_filler(self, tokens: int) -> None:
        """Read so many tokens, of no meaning."""
        raise NotImplementedError

    def close(self) -> None:
        """Let the weights go."""
        self.model = LetGo(self.spec)
        free_memory()

    def _padded(self, texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
        """Token ids, and where they are not padding, both of shape (texts, longest)."""
        ids = padded(texts, self.tokenizer.pad_token_id or 0, self.device)
        return ids, padded([[1] * len(text) for text in texts], 0, self.device)


def _fetch(from_pretrained: Callable[..., T], settings: HfSettings, **options: Any) -> T:
    """Call a `from_pretrained` without its chatter, its complaints put in one line."""
    try:
        with quiet():
            own_code = {"trust_remote_code": settings.trust_remote_code}
            return from_pretrained(settings.place, **own_code, **settings.source, **options)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        complaint = shorten(str(error), 200, placeholder=" …")
        if "trust_remote_code" in str(error):
            raise BadInput(
                f"{settings.place}: brings code of its own; read it, and let it run with ?trust_remote_code=true"
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
    """Keep transformers and the hub from writing between our own lines."""
    bars: Any = transformers.utils.logging
    shown = bars.is_progress_bar_enabled()
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
        if shown:
            bars.enable_progress_bar()


def _with_adapter(model: Any, folder: str, *, merge: bool) -> Any:
    """The model with the weights of a LoRA added to its own, or beside them where those are quantised."""
    try:
        from peft import PeftModel
    except ImportError:
        raise MissingExtra("adapter=", "hf") from None
    if not (Path(folder) / "adapter_config.json").exists():
        raise BadInput(f"adapter {folder}: no such folder, or no adapter_config.json in it")
    try:
        adapted = PeftModel.from_pretrained(model, folder)
        return adapted.merge_and_unload() if merge else adapted.get_base_model()
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


def _check_together(options: Mapping[str, str]) -> None:
    """Refuse options that contradict each other."""
    contradictions = {
        ("device", "device_map"): "the one puts a model on one device, the other spreads it over several",
        ("gguf_file", "load_in"): "a GGUF file is quantised already",
        ("bos", "chat_template"): "the template says what texts begin with",
    }
    given = {name for name, value in options.items() if value != "off" or name != "chat_template"}
    for names, why in contradictions.items():
        if given >= set(names):
            raise BadInput(f"hf: {'= and '.join(names)}= contradict each other, since {why}: leave one of them out")
    if "max_memory" in given and "device_map" not in given:
        raise BadInput("hf: max_memory= says how far a model is spread: give device_map=auto, or another, too")


def _device_map(given: str | None) -> str | dict[str, int | str] | None:
    """How a model is spread: a way of accelerate's, or a JSON file's map."""
    if given is None or given in DEVICE_MAPS:
        return given
    path = Path(given).expanduser()
    if not path.is_file():
        raise UnknownName("way to spread a model (device_map; or a JSON file)", given, DEVICE_MAPS)
    places = read_object(path)
    if not places or not all(isinstance(place, (int, str)) for place in places.values()):
        raise BadInput(f'{path}: the devices of parts expected, such as {{"model.layers.0": 0, "lm_head": "cpu"}}')
    return places


def _max_memory(given: str | None) -> dict[int | str, int] | None:
    """Bytes by device, of `0:20GiB,cpu:60GiB`, or of `20GiB` for every GPU and what the CPU has."""
    if given is None:
        return None
    limits: dict[int | str, int] = {}
    for part in given.split(","):
        device, colon, size = part.strip().rpartition(":")
        number = SIZE.fullmatch(size)
        known = device.isdigit() or device in ("cpu", "disk", "mps") or not (colon or "," in given)
        if not number or not known:
            raise BadInput(f"hf: max_memory: 20GiB, or 0:20GiB,cpu:60GiB, expected, found {given!r}")
        value = int(float(number[1]) * (1024 if number[3] else 1000) ** ("KMGT".index(number[2].upper()) + 1))
        limits[int(device) if device.isdigit() else device] = value
        if device.isdigit() and int(device) >= torch.cuda.device_count():
            raise BadInput(
                f"hf: max_memory: GPU {device} is not on this machine, which has {torch.cuda.device_count()}"
            )
    if "" not in limits:
        return limits
    if not torch.cuda.device_count():
        raise BadInput(f"hf: max_memory={given} is that of every GPU, and there is none; max_memory=cpu:{given}")
    try:
        from accelerate.utils import get_max_memory
    except ImportError:
        raise MissingExtra("max_memory=", "large") from None
    return {device: limits[""] if isinstance(device, int) else free for device, free in get_max_memory().items()}


def _devices() -> list[str]:
    """The kinds of device there are, the best first."""
    gpus = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    return [*(name for name, count in gpus.items() if count), "cpu"]


def _device(name: str | None) -> str:
    """The device asked for, which must be there; else that of $WINOKIT_DEVICE, else the best there is."""
    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    name = name or os.environ.get(DEVICE) or _devices()[0]
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnknownName("device", name, there) from error
    if (device.index or 0) >= there.get(device.type, 1):
        raise BadInput(f"device {name!r}: not on this machine; use device=cpu")
    return str(device)
