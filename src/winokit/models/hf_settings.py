"""Read and check the options of `hf:` models."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from winokit.errors import BadInput, UnknownName, needing
from winokit.files import read_object
from winokit.models.registry import HUB_NAME, Spec

KINDS = ("causal", "masked", "seq2seq")
DTYPES = ("auto", "bfloat16", "float16", "float32")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
LARGE = ("device_map", "max_memory", "load_in", "trust_remote_code", "chat_template")
OPTIONS = ("kind", "dtype", "device", "revision", "adapter", "gguf_file", "budget", "bos", *LARGE)
SIZE = re.compile(r"(\d+(?:\.\d+)?)([KMGT])(i?)B", re.IGNORECASE)
DEVICE = "WINOKIT_DEVICE"
"""Environment variable that names the device, if the SPEC names none."""


@dataclass(frozen=True, slots=True)
class HfSettings:
    """Settings with which a model is loaded and run, defaults filled in."""

    place: str
    kind: str | None  # until `hf.load` has looked at the configuration
    dtype: str  # `auto`, for what the files hold, until `hf.as_loaded` has looked at the weights
    device: str
    revision: str | None = None
    adapter: str | None = None
    gguf_file: str | None = None
    budget: int | None = None
    bos: bool | None = None
    """Whether texts begin with BOS. None means as the model's files say (`hf_causal`)."""
    device_map: str | dict[str, int | str] | None = None
    max_memory: dict[int | str, int] | None = None
    load_in: str | None = None
    compute_dtype: str | None = None
    """Precision of products with 4-bit weights. None for other weights, which have their own."""
    trust_remote_code: bool = False
    chat_template: str | None = None
    """`auto`, or the path of a Jinja file. None for no template."""
    loaded: tuple[Any, Any] | None = field(default=None, repr=False, compare=False)
    """Network and tokenizer, if they were given as objects, else None."""

    @classmethod
    def of(cls, spec: Spec) -> "HfSettings":
        """Read and check the options of a SPEC."""
        options = spec.only(*OPTIONS)
        _check_together(options)
        device_map = _parse_device_map(options.get("device_map"))
        named_device = options.get("device")
        if not named_device and device_map is not None:
            named_device = _list_devices()[0]
        device = usable_device(named_device)
        load_in = spec.choice("load_in", ("4bit", "8bit"))
        template = options.get("chat_template")
        dtype = spec.choice("dtype", DTYPES)
        usual_dtype = "float32" if device == "cpu" and not load_in else "auto"
        settings = cls(
            place=_resolve_place(spec.place_or_fail("a model's name on the hub, or its folder,")),
            kind=spec.choice("kind", KINDS),
            dtype=dtype or usual_dtype,
            device=device,
            revision=options.get("revision"),
            adapter=options.get("adapter"),
            gguf_file=options.get("gguf_file"),
            budget=spec.number("budget", 0, least=1) or None,
            bos=spec.switch("bos"),
            device_map=device_map,
            max_memory=_parse_max_memory(options.get("max_memory")),
            load_in=load_in,
            compute_dtype=_choose_compute_dtype(load_in, dtype),
            trust_remote_code=spec.choice("trust_remote_code", ("true", "false")) == "true",
            chat_template=None if template == "off" else template,
        )
        if settings.folder and settings.revision:
            raise BadInput(f"hf: revision= is for models on the hub, and {settings.place} is a folder: leave it out")
        if settings.folder and settings.gguf_file and not (settings.folder / settings.gguf_file).is_file():
            raise BadInput(f"{settings.folder / settings.gguf_file}: no such file")
        return settings

    @property
    def folder(self) -> Path | None:
        """The model's folder, or None for a model on the hub."""
        path = Path(self.place)
        return path if path.is_dir() else None

    @property
    def source(self) -> dict[str, Any]:
        """Arguments of `from_pretrained` that select the files to load."""
        source = {"revision": self.revision, "gguf_file": self.gguf_file}
        return {name: value for name, value in source.items() if value is not None}


def _resolve_place(place: str) -> str:
    """Path of a model's folder, or its name on the hub.

    Raises BadInput for anything else.
    """
    path = Path(place).expanduser()
    if path.is_dir():
        return str(path)
    if not HUB_NAME.fullmatch(place):
        raise BadInput(f"{place}: no such model folder, and not a name on the hub either")
    return place


def _choose_compute_dtype(load_in: str | None, dtype: str | None) -> str | None:
    """Precision of products with 4-bit weights, or None for other weights.

    That of the SPEC, else bfloat16.
    """
    if load_in != "4bit":
        return None
    return "bfloat16" if dtype in (None, "auto") else dtype


def _check_together(options: Mapping[str, str]) -> None:
    """Raise BadInput for options that contradict each other.

    Without a `device_map`, `max_memory` is one of them. `chat_template=off` counts as not given.
    """
    contradictions = {
        ("device", "device_map"): "the one puts a model on one device, the other spreads it over several",
        ("gguf_file", "load_in"): "a GGUF file is quantised already",
        ("bos", "chat_template"): "the template says what texts begin with",
    }
    given_options = {name for name, value in options.items() if value != "off" or name != "chat_template"}
    for names, why in contradictions.items():
        if given_options >= set(names):
            raise BadInput(f"hf: {'= and '.join(names)}= contradict each other, since {why}: leave one of them out")
    if "max_memory" in given_options and "device_map" not in given_options:
        raise BadInput("hf: max_memory= limits how a model is spread: give device_map=auto, or another, too")


def _parse_device_map(value: str | None) -> str | dict[str, int | str] | None:
    """Read the option `device_map`.

    It is a way that accelerate knows, or a JSON file with the map. None if the option is not given.
    """
    if value is None or value in DEVICE_MAPS:
        return value
    path = Path(value).expanduser()
    if not path.is_file():
        raise UnknownName("way to spread a model (device_map; or a JSON file)", value, DEVICE_MAPS)
    places = read_object(path)
    are_devices = all(isinstance(place, (int, str)) for place in places.values())
    if not places or not are_devices:
        raise BadInput(f'{path}: expected the devices of parts, such as {{"model.layers.0": 0, "lm_head": "cpu"}}')
    return places


def _parse_max_memory(value: str | None) -> dict[int | str, int] | None:
    """Read the option `max_memory` as bytes by device.

    `0:20GiB,cpu:60GiB` limits these two devices, `20GiB` every GPU. None if the option is not given.
    """
    if value is None:
        return None
    gpu_count = torch.cuda.device_count()
    limits: dict[int | str, int] = {}
    for part in value.split(","):
        device, colon, size = part.strip().rpartition(":")
        match = SIZE.fullmatch(size)
        is_device = device.isdigit() or device in ("cpu", "disk", "mps") or not (colon or "," in value)
        if not match or not is_device:
            raise BadInput(f"hf: max_memory: expected 20GiB, or 0:20GiB,cpu:60GiB, found {value!r}")
        limits[int(device) if device.isdigit() else device] = _count_bytes(match)
        if device.isdigit() and int(device) >= gpu_count:
            raise BadInput(f"hf: max_memory: GPU {device} is not on this machine, which has {gpu_count}")
    if "" not in limits:
        return limits
    if not gpu_count:
        raise BadInput(f"hf: max_memory={value} applies to every GPU, but there is none; use max_memory=cpu:{value}")
    return _limit_every_gpu(limits[""])


def _count_bytes(size: re.Match[str]) -> int:
    """Bytes of a size such as 20GiB, given its match with SIZE."""
    number, unit, is_binary = size.groups()
    base = 1024 if is_binary else 1000
    exponent = "KMGT".index(unit.upper()) + 1
    return int(float(number) * base**exponent)


def _limit_every_gpu(limit: int) -> dict[int | str, int]:
    """Free bytes of all devices, with `limit` for each GPU.

    Other devices, such as the CPU, keep all that is free.
    """
    with needing("max_memory=", "large"):
        from accelerate.utils import get_max_memory
    limits: dict[int | str, int] = {}
    for device, free in get_max_memory().items():
        limits[device] = limit if isinstance(device, int) else free
    return limits


def _list_devices() -> list[str]:
    """Types of device on this machine, the fastest first."""
    gpus = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available())}
    return [*(name for name, count in gpus.items() if count), "cpu"]


def usable_device(name: str | None) -> str:
    """The device with a name, else that of $WINOKIT_DEVICE, else the fastest one.

    Raises BadInput if it is not on this machine.
    """
    there = {"cuda": torch.cuda.device_count(), "mps": int(torch.backends.mps.is_available()), "cpu": 1}
    name = name or os.environ.get(DEVICE) or _list_devices()[0]
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnknownName("device", name, there) from error
    if (device.index or 0) >= there.get(device.type, 1):
        raise BadInput(f"device {name!r}: not on this machine; use device=cpu")
    return str(device)
