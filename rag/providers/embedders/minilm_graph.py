"""The network of all-MiniLM-L6-v2 as an ONNX graph, built from its weights without torch or a download.

BERT with six layers (Devlin et al. 2019), mean pooling and L2 norm (Reimers & Gurevych 2019) in the graph. The
fused operators of onnxruntime (com.microsoft) are written directly. Inputs: input_ids, attention_mask, int64
(batch, tokens). Outputs: embedding, float32 (batch, 384), and hidden, float32 (batch, tokens, 384): the last layer
before pooling. An output that is not requested costs nothing.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

from rag.providers.base import Vectors

_FUSED = "com.microsoft"
_WEIGHTS = "weights.bin"


class _Config(TypedDict):
    """What the graph needs of the model's config.json."""

    hidden_size: int
    layer_norm_eps: float
    num_attention_heads: int
    num_hidden_layers: int


class _Graph:
    """Collects the nodes and constants of a graph, and gives each a name."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, value: object) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, op_type: str, *inputs: str, output: str = "", domain: str = "", **attributes: Any) -> str:
        """Add a node with one output.

        Args:
            op_type: The operator, such as MatMul.
            inputs: The names of the inputs: outputs of other nodes, constants or inputs of the graph.
            output: The name of the output; empty for a generated name.
            domain: The operator set; empty for the standard operators of ONNX.
            attributes: The attributes of the operator.

        Returns:
            The name of the output.
        """
        output = output or f"{op_type}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op_type, inputs, [output], domain=domain, **attributes))
        return output

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))


def write(folder: Path, target: Path) -> None:
    """Write the graph of the model in `folder` (config.json, model.safetensors), optimized for this machine's CPU.

    It takes two seconds of CPU time. `target` gets the graph. weights.bin beside it gets the weights, as they are and
    in the layout in which they are multiplied (onnxruntime's "prepacked"): 133 MB.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # without the warning that the layout depends on the CPU
    options.optimized_model_filepath = str(target)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", _WEIGHTS)
    options.add_session_config_entry("session.optimized_model_external_initializers_min_size_in_bytes", "1024")
    options.add_session_config_entry("session.save_external_prepacked_constant_initializers", "1")
    onnxruntime.InferenceSession(_build(folder), options, providers=["CPUExecutionProvider"])


def _build(folder: Path) -> bytes:
    """Return the graph, serialised: about 90 MB."""
    config: _Config = json.loads((folder / "config.json").read_text())
    weights = {
        name: value.astype(np.float32)
        for name, value in load_file(folder / "model.safetensors").items()
        if value.dtype.kind == "f"
    }
    graph = _Graph()
    mask = graph.node("Cast", "attention_mask", to=TensorProto.INT32)
    hidden = _embeddings(graph, weights, config["layer_norm_eps"])
    for layer in range(config["num_hidden_layers"]):
        hidden = _layer(graph, weights, f"encoder.layer.{layer}.", hidden, mask, config)
    graph.node("Identity", hidden, output="hidden")
    _pool(graph, hidden)
    return bytes(_model(graph, config["hidden_size"]).SerializeToString())


def _embeddings(graph: _Graph, weights: Mapping[str, Vectors], epsilon: float) -> str:
    """Add the sum of word, position and segment embeddings, normalized, and return the name of its node."""
    # There is only one segment, so its embedding is added to those of the positions in advance.
    positions = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.ints(1), axis=0)
    words = graph.node("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "input_ids", axis=0)
    placed = graph.node("Slice", graph.constant(positions), graph.ints(0), length, graph.ints(0))
    return graph.node(
        "LayerNormalization",
        graph.node("Add", words, placed),
        graph.constant(weights["embeddings.LayerNorm.weight"]),
        graph.constant(weights["embeddings.LayerNorm.bias"]),
        axis=-1,
        epsilon=epsilon,
    )


def _layer(graph: _Graph, weights: Mapping[str, Vectors], name: str, hidden: str, mask: str, config: _Config) -> str:
    """Add one transformer layer, and return the name of the node with its output."""

    def matrix(part: str) -> str:
        return graph.constant(weights[f"{name}{part}.weight"].T)

    def add_and_norm(update: str, residual: str, part: str) -> str:
        """Add the residual connection and the layer normalization after a part of the layer.

        Args:
            update: The node whose output goes through the dense layer of this part.
            residual: The node that is added to the result.
            part: The part of the layer, as the names of its weights have it: attention.output or output.

        Returns:
            The name of the node whose output is LayerNorm(residual + dense(update)).
        """
        return graph.node(
            "SkipLayerNormalization",
            graph.node("MatMul", update, matrix(f"{part}.dense")),
            residual,
            graph.constant(weights[f"{name}{part}.LayerNorm.weight"]),
            graph.constant(weights[f"{name}{part}.LayerNorm.bias"]),
            graph.constant(weights[f"{name}{part}.dense.bias"]),
            domain=_FUSED,
            epsilon=config["layer_norm_eps"],
        )

    heads = [f"{name}attention.self.{part}" for part in ("query", "key", "value")]
    attention = graph.node(
        "Attention",
        hidden,
        graph.constant(np.concatenate([weights[f"{head}.weight"].T for head in heads], axis=1)),
        graph.constant(np.concatenate([weights[f"{head}.bias"] for head in heads])),
        mask,
        domain=_FUSED,
        num_heads=config["num_attention_heads"],
    )
    hidden = add_and_norm(attention, hidden, "attention.output")
    wide = graph.node("MatMul", hidden, matrix("intermediate.dense"))
    wide = graph.node("BiasGelu", wide, graph.constant(weights[f"{name}intermediate.dense.bias"]), domain=_FUSED)
    return add_and_norm(wide, hidden, "output")


def _pool(graph: _Graph, hidden: str) -> None:
    """Sum over the tokens without padding, then normalize. A division by their number would have no effect."""
    mask = graph.node("Unsqueeze", graph.node("Cast", "attention_mask", to=TensorProto.FLOAT), graph.ints(-1))
    total = graph.node("ReduceSum", graph.node("Mul", hidden, mask), graph.ints(1), keepdims=0)
    norm = graph.node("Clip", graph.node("ReduceL2", total, axes=[1], keepdims=1), graph.constant(np.float32(1e-12)))
    graph.node("Div", total, norm, output="embedding")


def _model(graph: _Graph, width: int) -> onnx.ModelProto:
    """Wrap the nodes in an ONNX model with its inputs and outputs, and check it."""

    def tensor(name: str, elem_type: int, *shape: str | int) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, elem_type, list(shape))

    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [tensor(name, TensorProto.INT64, "batch", "tokens") for name in ("input_ids", "attention_mask")],
            [
                tensor("embedding", TensorProto.FLOAT, "batch", width),
                tensor("hidden", TensorProto.FLOAT, "batch", "tokens", width),
            ],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)],
        ir_version=8,
    )
    onnx.checker.check_model(model)
    return model


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
