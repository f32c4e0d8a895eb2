"""`hf:NAME_OR_FOLDER`: any causal, masked or sequence-to-sequence language model of Hugging Face transformers.

Options: `kind` (causal, masked, seq2seq; told from the model's configuration by default), `dtype` (float32, bfloat16,
float16, auto), `device` (cpu, cuda, cuda:1, mps), `revision`, `adapter` (the folder of a LoRA), `gguf_file` (a GGUF
file inside the folder), `budget` (tokens a batch), `bos` (on, off: whether texts begin with BOS; by default as the
model's files say; causal models only). A folder that `winokit train` wrote is asked under the formalization
it was trained with, unless a `kind` says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from winokit.errors import BadInput, MissingExtra
from winokit.models.base import Model
from winokit.models.registry import Spec
from winokit.registry import Registry

if TYPE_CHECKING:
    from winokit.models.hf_common import HfSettings

HOMES = {
    "causal": "winokit.models.hf_causal",
    "masked": "winokit.models.hf_masked",
    "seq2seq": "winokit.models.hf_seq2seq",
}
TRAINED = "winokit.json"
"""A folder of `winokit train` has this file. It judges whole problems, so that its loader lives above this package."""
LOADERS: Registry[Callable[[Spec], Model]] = Registry("maker of trained folders", "winokit.trained")


def load(spec: Spec) -> Model:
    """Load a model of transformers, as the kind it was made to be or the kind asked for."""
    if not (find_spec("torch") and find_spec("transformers")):
        raise MissingExtra("hf: models", "hf")
    from winokit.models.hf_common import HfSettings

    settings = HfSettings.of(spec)
    if settings.kind is None and settings.folder is not None and (settings.folder / TRAINED).exists():
        return LOADERS["winokit"](spec)
    kind = settings.kind or told_kind(settings)
    model: Model = import_module(HOMES[kind]).load(spec, replace(settings, kind=kind))
    return model


def told_kind(settings: HfSettings) -> str:
    """The kind of a model by its configuration: the class it was saved as, else what its family is made for."""
    from transformers.models.auto import modeling_auto as auto

    from winokit.models.hf_common import load_config

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
    raise BadInput(f"{settings.place}: {what} is not a language model; known kinds: {', '.join(sorted(HOMES))}")
