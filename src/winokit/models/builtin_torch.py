"""Load the built-in model as a torch `BertForMaskedLM`.

So training works offline too. It needs the `hf` extra.

The weights are those of the ONNX file, `(u8 - 128) * scale`, read from it directly: the package has one copy of them.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from winokit.errors import needing
from winokit.models.builtin import FOLDER, LONGEST

if TYPE_CHECKING:
    from transformers import BertForMaskedLM, PreTrainedTokenizerFast

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]

LAYERS = 6
HEADS = 12

# Field numbers and element types, from onnx.proto.
GRAPH = 7
INITIALIZER = 5
DIMS = 1
DATA_TYPE = 2
NAME = 8
RAW_DATA = 9
DTYPES = {1: "<f4", 2: "u1", 7: "<i8", 10: "<f2"}


def torch_model() -> "BertForMaskedLM":
    """Load the built-in model as a torch network, in evaluation mode.

    Its decoder shares the weights of the word embedding. In training it has BERT's usual dropout of 0.1, although the
    model itself was trained without.
    """
    torch = _import_module("torch")
    transformers = _import_module("transformers")
    weights = state(initializers((FOLDER / "model_int8.onnx").read_bytes()))
    words, width = weights["bert.embeddings.word_embeddings.weight"].shape
    config = transformers.BertConfig(
        vocab_size=words,
        hidden_size=width,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        intermediate_size=len(weights["bert.encoder.layer.0.intermediate.dense.bias"]),
        max_position_embeddings=LONGEST,
    )
    # The random weights that are about to be overwritten must not move the caller's random numbers on.
    with torch.random.fork_rng(devices=[]):
        model = transformers.BertForMaskedLM(config)
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    ready: BertForMaskedLM = model.eval()
    return ready


def torch_tokenizer() -> "PreTrainedTokenizerFast":
    """Make a transformers tokenizer of the built-in model's tokenizer."""
    from tokenizers import Tokenizer

    fast_tokenizer = _import_module("transformers").PreTrainedTokenizerFast
    serialized = (FOLDER / "tokenizer.json").read_text("utf-8")
    tokenizer: PreTrainedTokenizerFast = fast_tokenizer(
        tokenizer_object=Tokenizer.from_str(serialized),
        model_max_length=LONGEST,
        model_input_names=["input_ids", "attention_mask"],
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )
    return tokenizer


def _import_module(name: str) -> Any:
    """Import a module. Raises MissingExtra if the `hf` extra is not installed."""
    with needing("the built-in model in torch", "hf"):
        return import_module(name)


def state(stored: Arrays) -> Arrays:
    """Convert the stored weights to float32, under the names that transformers gives them."""
    words = _expand_weights(stored["word_embeddings_u8"], stored["word_embeddings_scale"])
    positions = stored["positions_f16"].astype(np.float32)
    weights: Arrays = {
        "bert.embeddings.word_embeddings.weight": words,
        "bert.embeddings.position_embeddings.weight": positions,
        # The file has the first token type added to the positions already, and no text here has a second.
        "bert.embeddings.token_type_embeddings.weight": np.zeros((2, words.shape[1]), np.float32),
        "cls.predictions.bias": stored["decoder.bias"],
        "cls.predictions.decoder.weight": words,
        "cls.predictions.decoder.bias": stored["decoder.bias"],
    }
    weights |= _convert_norm(stored, "bert.embeddings.LayerNorm")
    for layer in range(LAYERS):
        weights |= _convert_layer(stored, f"bert.encoder.layer.{layer}.")
    weights |= _convert_linear(stored, "cls.predictions.transform.dense", ["cls.predictions.transform.dense"])
    weights |= _convert_norm(stored, "cls.predictions.transform.LayerNorm")
    return weights


def _convert_layer(stored: Arrays, layer: str) -> Arrays:
    """Convert the weights of one transformer layer.

    `layer` is the beginning of its names, such as `bert.encoder.layer.0.`.
    """
    attended = [f"{layer}attention.self.{part}" for part in ("query", "key", "value")]
    weights = _convert_linear(stored, f"{layer}qkv", attended)
    weights |= _convert_linear(stored, f"{layer}attn_out", [f"{layer}attention.output.dense"])
    weights |= _convert_norm(stored, f"{layer}attention.output.LayerNorm")
    weights |= _convert_linear(stored, f"{layer}ffn_in", [f"{layer}intermediate.dense"])
    weights |= _convert_linear(stored, f"{layer}ffn_out", [f"{layer}output.dense"])
    weights |= _convert_norm(stored, f"{layer}output.LayerNorm")
    return weights


def _convert_linear(stored: Arrays, name: str, parts: list[str]) -> Arrays:
    """Convert linear layers, which are stored side by side as one matrix.

    `parts` has their names in transformers. The file is input-major, torch output-major.
    """
    expanded = _expand_weights(stored[f"{name}.weight_u8"], stored[f"{name}.scale"])
    weights = np.split(np.ascontiguousarray(expanded.T), len(parts))
    biases = np.split(stored[f"{name}.bias"], len(parts))
    converted: Arrays = {}
    for part, weight, bias in zip(parts, weights, biases, strict=True):
        converted[f"{part}.weight"] = weight
        converted[f"{part}.bias"] = bias
    return converted


def _convert_norm(stored: Arrays, name: str) -> Arrays:
    """Convert the weights of a layer norm.

    `name` is the same in the file and in transformers.
    """
    return {f"{name}.weight": stored[f"{name}.w"], f"{name}.bias": stored[f"{name}.b"]}


def _expand_weights(stored: npt.NDArray[np.uint8], scale: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Convert 8-bit weights to float32."""
    return (stored.astype(np.float32) - 128) * scale


def initializers(model: bytes) -> Arrays:
    """Read the constants of an ONNX file, by name.

    Only the few protobuf fields that are needed are parsed, so that the `onnx` package is not.
    """
    constants: Arrays = {}
    for graph in _select_fields(memoryview(model), GRAPH):
        tensors = _select_fields(graph, INITIALIZER)
        constants.update(map(_parse_tensor, tensors))
    return constants


def _select_fields(message: memoryview, wanted_number: int) -> list[Any]:
    """Values of all fields of a protobuf message with a field number."""
    return [value for number, value in _parse_fields(message) if number == wanted_number]


def _parse_tensor(message: memoryview) -> tuple[str, npt.NDArray[Any]]:
    """Read the name and the array of a tensor."""
    shape = _select_fields(message, DIMS)
    by_number = dict(_parse_fields(message))
    dtype = DTYPES[by_number[DATA_TYPE]]
    array = np.frombuffer(by_number[RAW_DATA], dtype).reshape(shape)
    return str(by_number[NAME], "utf-8"), array.copy()


def _parse_fields(message: memoryview) -> Iterator[tuple[int, Any]]:
    """Yield the fields of a protobuf message, as pairs of number and value.

    A value is an int, or the bytes of a string, an array or another message.
    """
    at = 0
    while at < len(message):
        tag, at = _parse_varint(message, at)
        value, at = _parse_varint(message, at)
        match tag & 7:
            case 0:
                yield tag >> 3, value
            case 2:
                yield tag >> 3, message[at : at + value]
                at += value
            case kind:
                raise ValueError(f"wire type {kind} is not among those of a graph and its tensors")


def _parse_varint(message: memoryview, at: int) -> tuple[int, int]:
    """Read a variable-length integer (base 128, least digit first) at a position.

    Returns the integer and the position after it.
    """
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at = at + 1
        shift = shift + 7
        if byte < 128:
            return value, at
