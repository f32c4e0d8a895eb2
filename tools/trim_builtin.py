"""Rewrite the built-in model's graph so that its end runs only at the positions asked for, and check the result.

python tools/trim_builtin.py OLD.onnx NEW.onnx

The graph as trained writes logits for every token, [batch, sequence, 30522], although a scoring reads one or two of
them. The new graph takes a third input, `positions` [n, 2], whose rows are (row of the batch, token), and writes
`logits` [n, 30522]; n may be 0. For the logits, the last layer makes keys and values of every token and all else
(queries, attention, feed-forward) of the positions alone, and the head runs on these. `last_hidden_state` stays an
output: the last layer over every token, which runs where no position is asked for; else it is empty. Every initialiser
stays as it is, and so every weight is still stored once. The decoder, now over rows and no longer over batches of rows,
becomes one Gemm: loading then transposes no 47 MB matrix.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")  # as winokit does: the import alone reports otherwise

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

HIDDEN = "last_hidden_state"
LOGITS = "logits"
POSITIONS = "positions"
GATHERED = "gathered_hidden_state"
TOLERANCE = 1e-5


def trim(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a copy of the model with an input `positions`, where alone its last layer and head run for the logits."""
    trimmed = onnx.ModelProto()
    trimmed.CopyFrom(model)
    graph = trimmed.graph
    (last_index,) = [index for index, node in enumerate(graph.node) if HIDDEN in node.output]
    for node in graph.node[last_index + 1 :]:
        inputs = {HIDDEN: GATHERED}
        node.input[:] = [inputs.get(name, name) for name in node.input]
    first, nodes = last_layer(graph, last_index)
    inside = from_on(graph.node[: last_index + 1], first)
    nodes += on_condition(inside, graph)
    for node in reversed(nodes):
        graph.node.insert(last_index + 1, node)
    for node in inside:
        graph.node.remove(node)
    join_decoder(graph)
    graph.input.append(helper.make_tensor_value_info(POSITIONS, TensorProto.INT64, ["asked", 2]))
    (logits,) = [output for output in graph.output if output.name == LOGITS]
    words = logits.type.tensor_type.shape.dim[-1].dim_value
    logits.CopyFrom(helper.make_tensor_value_info(LOGITS, TensorProto.FLOAT, ["asked", words]))
    onnx.checker.check_model(trimmed, full_check=True)
    return trimmed


def last_layer(graph: onnx.GraphProto, last_index: int) -> tuple[str, list[onnx.NodeProto]]:
    """Copy the layer that ends at node `last_index`, to run at the asked positions alone.

    Returns the name of the layer's input, and the nodes of the copy.
    """
    split = max(at for at, node in enumerate(graph.node[:last_index]) if node.op_type == "Split")
    matmul, add = graph.node[split - 2 : split]
    merged = next(at for at, node in enumerate(graph.node) if at > split and "shape_merge" in node.input)
    scaled, masked = (node.input[1] for node in graph.node[merged - 5 : merged - 3])
    if [node.op_type for node in graph.node[merged - 5 : merged - 3]] != ["Div", "Add"]:
        sys.exit("the last layer does not attend as it did when this was written")
    width = int(onnx.numpy_helper.to_array(_find_initializer(graph, "split3"))[0])
    heads = onnx.numpy_helper.to_array(_find_initializer(graph, "shape_heads"))[2:].tolist()
    for name, value in (
        ("asked_split", [width, 2 * width]),
        ("asked_halves", [width, width]),
        ("asked_heads", [0, heads[0], 1, heads[1]]),
        ("asked_merge", [0, width]),
        ("asked_none", 0),
    ):
        graph.initializer.append(onnx.numpy_helper.from_array(np.array(value, np.int64), name))
    hidden = matmul.input[0]
    node = helper.make_node
    nodes = [
        node("Split", [matmul.input[1], "asked_split"], ["asked_wq", "asked_wkv"], axis=-1),
        node("Split", [add.input[1], "asked_split"], ["asked_bq", "asked_bkv"], axis=-1),
        node("MatMul", [hidden, "asked_wkv"], ["asked_kv_product"]),
        node("Add", ["asked_kv_product", "asked_bkv"], ["asked_kv"]),
        node("Split", ["asked_kv", "asked_halves"], ["asked_k", "asked_v"], axis=-1),
        node("Gather", [POSITIONS, "v0"], ["asked_rows"], axis=1),
        node("Squeeze", ["asked_rows", "v1"], ["asked_row"]),
        node("Gather", [masked, "asked_row"], ["asked_mask"], axis=0),
        node("GatherND", [hidden, POSITIONS], ["asked_hidden"]),
        node("MatMul", ["asked_hidden", "asked_wq"], ["asked_q_product"]),
        node("Add", ["asked_q_product", "asked_bq"], ["asked_q"]),
        node("Reshape", ["asked_q", "asked_heads"], ["asked_queries"]),
    ]
    for name, turned in (("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            node("Reshape", [f"asked_{name}", "shape_heads"], [f"asked_{name}_heads"]),
            node("Transpose", [f"asked_{name}_heads"], [f"asked_{name}_turned"], perm=turned),
            node("Gather", [f"asked_{name}_turned", "asked_row"], [f"asked_{name}_rows"], axis=0),
        ]
    nodes += [
        node("MatMul", ["asked_queries", "asked_k_rows"], ["asked_products"]),
        node("Div", ["asked_products", scaled], ["asked_scaled"]),
        node("Add", ["asked_scaled", "asked_mask"], ["asked_masked"]),
        node("Softmax", ["asked_masked"], ["asked_weights"], axis=-1),
        node("MatMul", ["asked_weights", "asked_v_rows"], ["asked_mixed"]),
        node("Reshape", ["asked_mixed", "asked_merge"], ["asked_merged"]),
    ]
    renamed = {hidden: "asked_hidden", graph.node[merged].output[0]: "asked_merged", HIDDEN: GATHERED}
    for own in graph.node[merged + 1 : last_index + 1]:
        if any(name in renamed for name in own.input):  # else it makes weights, which both have in common
            copy = onnx.NodeProto()
            copy.CopyFrom(own)
            renamed |= {name: f"asked_{name}" for name in own.output if name not in renamed}
            copy.input[:] = [renamed.get(name, name) for name in own.input]
            copy.output[:] = [renamed[name] for name in own.output]
            nodes.append(copy)
    for at, made_node in enumerate(nodes):
        made_node.name = f"asked_{at}_{made_node.op_type}"
    return hidden, nodes


def from_on(nodes: Sequence[onnx.NodeProto], first: str) -> list[onnx.NodeProto]:
    """List the nodes that depend on the value named `first`, in order."""
    descendants = []
    dependent_names = {first}
    for node in nodes:
        if dependent_names & set(node.input):
            dependent_names |= set(node.output)
            descendants.append(node)
    return descendants


def on_condition(inside: Sequence[onnx.NodeProto], graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """Make the nodes that run the last layer over every token if no position is asked for.

    Otherwise their output is an empty array.
    """
    hidden = next(output for output in graph.output if output.name == HIDDEN)
    width = hidden.type.tensor_type.shape.dim[-1].dim_value
    nothing = onnx.numpy_helper.from_array(np.zeros((0, 0, width), np.float32))
    inside = [*inside[:-1], onnx.NodeProto.FromString(inside[-1].SerializeToString())]
    inside[-1].output[0] = f"whole_{HIDDEN}"
    constant = helper.make_node("Constant", [], [f"no_{HIDDEN}"], value=nothing)

    def graph_of(nodes: Sequence[onnx.NodeProto]) -> onnx.GraphProto:
        name = nodes[-1].output[0]
        output = helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, None, width])
        return helper.make_graph(nodes, name, [], [output])

    then = graph_of(inside)
    otherwise = graph_of([constant])
    return [
        helper.make_node("Size", [POSITIONS], ["asked_size"], name="asked_size"),
        helper.make_node("Equal", ["asked_size", "asked_none"], ["asked_nothing"], name="asked_nothing"),
        helper.make_node(
            "If", ["asked_nothing"], [HIDDEN], name="If_nothing_asked", then_branch=then, else_branch=otherwise
        ),
    ]


def _find_initializer(graph: onnx.GraphProto, name: str) -> onnx.TensorProto:
    """Return the initialiser of a name."""
    return next(tensor for tensor in graph.initializer if tensor.name == name)


def join_decoder(graph: onnx.GraphProto) -> None:
    """Replace the last three nodes (transposed embedding, product, bias) by one Gemm."""
    transpose, matmul, add = graph.node[-3:]
    if [node.op_type for node in (transpose, matmul, add)] != ["Transpose", "MatMul", "Add"]:
        sys.exit("the graph does not end in Transpose, MatMul, Add: is it trimmed already?")
    inputs = [matmul.input[0], transpose.input[0], add.input[1]]
    del graph.node[-3:]
    graph.node.append(helper.make_node("Gemm", inputs, [LOGITS], name="Gemm_decoder", transB=1))


def largest_difference(old: onnx.ModelProto, new: onnx.ModelProto) -> float:
    """Largest absolute difference between the two graphs' outputs, over padded batches of random tokens."""
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
        (logits,) = after.run([LOGITS], {**texts, POSITIONS: positions})
        (same_hidden,) = after.run([HIDDEN], {**texts, POSITIONS: positions[:0]})
        largest = max(largest, np.abs(full[tuple(positions.T)] - logits).max(), np.abs(hidden - same_hidden).max())
        (none,) = after.run([LOGITS], {**texts, POSITIONS: positions[:0]})
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
