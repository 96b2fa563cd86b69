"""Parts of BERT (Devlin et al. 2019) as nodes of an ONNX graph, with the fused operators of onnxruntime."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from safetensors.numpy import load_file

from rag.providers.base import Vectors

from .bert_config import BertConfig

_FUSED = "com.microsoft"

Weights = Mapping[str, Vectors]


def read_weights(folder: Path) -> dict[str, Vectors]:
    """Return the weights in model.safetensors by name, float32."""
    stored = load_file(folder / "model.safetensors")
    return {name: value.astype(np.float32) for name, value in stored.items() if value.dtype.kind == "f"}


class BertGraph:
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

    def to_model(
        self, name: str, inputs: Sequence[onnx.ValueInfoProto], outputs: Sequence[onnx.ValueInfoProto]
    ) -> onnx.ModelProto:
        """Wrap the nodes in an ONNX model with these inputs and outputs, and check it."""
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(_FUSED, 1)]
        graph = helper.make_graph(self.nodes, name, inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        onnx.checker.check_model(model)
        return model


def describe_tensor(name: str, elem_type: int, *shape: str | int) -> onnx.ValueInfoProto:
    """Describe an input or an output of a model, with the names of the dimensions that vary."""
    return helper.make_tensor_value_info(name, elem_type, list(shape))


def add_bert(graph: BertGraph, weights: Weights, config: BertConfig, *, mask: str = "", segments: str = "") -> str:
    """Add the embeddings of the input `input_ids` and all layers.

    Args:
        graph: The graph that gets the nodes.
        weights: The weights by name.
        config: The sizes of the model.
        mask: The node that says which tokens are no padding; empty if there is none.
        segments: The input with the segment of each token, 0 or 1; empty if all are in the first one.

    Returns:
        The name of the node with the output of the last layer, float32 (batch, tokens, dimensions).
    """
    return add_layers(graph, weights, config, _add_embeddings(graph, weights, segments), mask=mask)


def add_layers(graph: BertGraph, weights: Weights, config: BertConfig, embedded: str, *, mask: str = "") -> str:
    """Add the normalization of sums of embeddings, and all layers.

    Args:
        graph: The graph that gets the nodes.
        weights: The weights by name.
        config: The sizes of the model.
        embedded: The node or input with the sums of word, position and segment embeddings.
        mask: The node that says which tokens are no padding; empty if there is none.

    Returns:
        The name of the node with the output of the last layer, float32 (batch, tokens, dimensions).
    """
    hidden = _add_norm(graph, weights, "embeddings.LayerNorm", embedded, config)
    for layer in range(config["num_hidden_layers"]):
        hidden = _add_layer(graph, weights, f"encoder.layer.{layer}.", hidden, mask, config)
    return hidden


def _add_embeddings(graph: BertGraph, weights: Weights, segments: str) -> str:
    """Add the sum of word, position and segment embeddings, and return the name of its node."""
    of_segments = weights["embeddings.token_type_embeddings.weight"]
    # If there is only one segment, its embedding is added to those of the positions in advance.
    positions = weights["embeddings.position_embeddings.weight"] + (0 if segments else of_segments[0])
    length = graph.node("Gather", graph.node("Shape", "input_ids"), graph.ints(1), axis=0)
    words = graph.node("Gather", graph.constant(weights["embeddings.word_embeddings.weight"]), "input_ids", axis=0)
    placed = graph.node("Slice", graph.constant(positions), graph.ints(0), length, graph.ints(0))
    total = graph.node("Add", words, placed)
    if segments:
        total = graph.node("Add", total, graph.node("Gather", graph.constant(of_segments), segments, axis=0))
    return total


def _add_norm(graph: BertGraph, weights: Weights, name: str, hidden: str, config: BertConfig) -> str:
    """Add a layer normalization, and return the name of its node."""
    scale, bias = (graph.constant(weights[f"{name}.{part}"]) for part in ("weight", "bias"))
    return graph.node("LayerNormalization", hidden, scale, bias, axis=-1, epsilon=config["layer_norm_eps"])


def _add_layer(graph: BertGraph, weights: Weights, name: str, hidden: str, mask: str, config: BertConfig) -> str:
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
        dense = graph.node("MatMul", update, matrix(f"{part}.dense"))
        dense = graph.node("Add", dense, graph.constant(weights[f"{name}{part}.dense.bias"]))
        return _add_norm(graph, weights, f"{name}{part}.LayerNorm", graph.node("Add", dense, residual), config)

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
