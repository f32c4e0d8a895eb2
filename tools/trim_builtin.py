"""Rewrite the built-in model's graph so that its head runs only at the positions asked for, and check the result.

python tools/trim_builtin.py OLD.onnx NEW.onnx

The graph as trained writes logits for every token, [batch, sequence, 30522], although a scoring reads one or two of
them. The new graph takes a third input, `positions` [n, 2], whose rows are (row of the batch, token), gathers those
hidden states before the head and writes `logits` [n, 30522]; n may be 0. `last_hidden_state` stays an output, every
initialiser stays as it is, and so the word embedding is still stored once for lookup and decoder. The decoder, now
over rows and no longer over batches of rows, becomes one Gemm: loading then transposes no 47 MB matrix.
"""

from __future__ import annotations

import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

HIDDEN, LOGITS, POSITIONS, GATHERED = "last_hidden_state", "logits", "positions", "gathered_hidden_state"
TOLERANCE = 1e-5


def trim(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with a `positions` input and a gather before the head."""
    trimmed = onnx.ModelProto()
    trimmed.CopyFrom(model)
    graph = trimmed.graph
    (made,) = [at for at, node in enumerate(graph.node) if HIDDEN in node.output]
    for node in graph.node[made + 1 :]:
        node.input[:] = [GATHERED if name == HIDDEN else name for name in node.input]
    gather = helper.make_node("GatherND", [HIDDEN, POSITIONS], [GATHERED], name="GatherND_positions")
    graph.node.insert(made + 1, gather)
    join_decoder(graph)
    graph.input.append(helper.make_tensor_value_info(POSITIONS, TensorProto.INT64, ["asked", 2]))
    (logits,) = [output for output in graph.output if output.name == LOGITS]
    words = logits.type.tensor_type.shape.dim[-1].dim_value
    logits.CopyFrom(helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, ["asked", words]))
    onnx.checker.check_model(trimmed, full_check=True)
    return trimmed


def join_decoder(graph: onnx.GraphProto) -> None:
    """Replace the last three nodes (transposed embedding, product, bias) by one Gemm."""
    transpose, matmul, add = graph.node[-3:]
    if [node.op_type for node in (transpose, matmul, add)] != ["Transpose", "MatMul", "Add"]:
        sys.exit("the graph does not end in Transpose, MatMul, Add: is it trimmed already?")
    inputs = [matmul.input[0], transpose.input[0], add.input[1]]
    del graph.node[-3:]
    graph.node.append(helper.make_node("Gemm", inputs, [LOGITS], name="Gemm_decoder", transB=1))


def largest_difference(old: onnx.ModelProto, new: onnx.ModelProto) -> float:
    """The largest absolute difference between the two graphs' outputs, over padded batches of random tokens."""
    before, after = (
        onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        for model in (old, new)
    )
    rng = np.random.default_rng(0)
    largest = 0.0
    for rows, width in [(1, 12), (4, 30), (3, 128), (1, 512)]:
        lengths = rng.integers(width // 2, width + 1, rows)
        mask = (np.arange(width) < lengths[:, None]).astype(np.int64)
        texts = {"input_ids": rng.integers(1000, 30000, (rows, width)) * mask, "attention_mask": mask}
        positions = np.argwhere(mask)
        rng.shuffle(positions)
        full, hidden = before.run([LOGITS, HIDDEN], texts)
        some, same_hidden = after.run([LOGITS, HIDDEN], {**texts, POSITIONS: positions})
        largest = max(largest, np.abs(full[tuple(positions.T)] - some).max(), np.abs(hidden - same_hidden).max())
        none, _ = after.run([LOGITS, HIDDEN], {**texts, POSITIONS: positions[:0]})
        assert none.shape == (0, full.shape[-1])
    return float(largest)


def main() -> None:
    """Read the old graph, write the new one, and refuse to if they disagree."""
    if len(sys.argv) != 3:
        sys.exit("usage: python tools/trim_builtin.py OLD.onnx NEW.onnx")
    source, target = sys.argv[1:]
    old = onnx.load(source)
    new = trim(old)
    difference = largest_difference(old, new)
    if not difference < TOLERANCE:
        sys.exit(f"the trimmed graph differs from {source} by {difference:.1e}; nothing was written")
    onnx.save(new, target)
    sys.stdout.write(f"{target}: differs from {source} by {difference:.1e} at most\n")


if __name__ == "__main__":
    main()
