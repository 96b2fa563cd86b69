"""The network that judges whether a text answers a question in any language, as an ONNX graph with 8-bit weights.

It has the first layers of multilingual-e5-small, trained further to read both together: differences.npz has what was
added to the matrices, as products of two narrow ones (Hu et al. 2022), other weights, and one linear layer on the mean
of the tokens (docs/decisions/0089-multilingual-check.md). Input: embedded, float32 (1, tokens, dimensions): sums of
the embeddings of pieces and positions. Output: logit, float32 (1, 1).
"""

import logging
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto
from onnxruntime.quantization import QuantType, quantize_dynamic

from rag.providers.embedders.bert_graph import BertGraph, add_layers, describe_tensor

from .check import DIFFERENCES, GRAPH, PIECES
from .model_file import ModelFile
from .pieces import hash_pieces

_QUANTIZED = ["MatMul", "Attention"]


def write(file: Path, folder: Path) -> None:
    """Write the graph with the weights of the file and the differences, and the table of pieces: 15 and 4 MB."""
    model_file = ModelFile(file)
    np.save(folder / PIECES, hash_pieces(model_file.pieces(), model_file.scores))
    weights, config = model_file.weights(), model_file.config
    with np.load(DIFFERENCES) as stored:
        differences = {name: stored[name].astype(np.float32) for name in stored.files}
    for name, value in differences.items():
        trained, _, side = name.rpartition(".")
        if side == "left":
            weights[trained] = weights[trained] + value @ differences[f"{trained}.right"]
        elif name in weights:
            weights[name] = weights[name] + value
    config["num_hidden_layers"] = int(differences["layers"])
    graph = BertGraph()
    hidden = add_layers(graph, weights, config, "embedded")
    mean = graph.node("ReduceMean", hidden, axes=[1], keepdims=0)
    product = graph.node("MatMul", mean, graph.constant(differences["head.weight"].reshape(-1, 1)))
    graph.node("Add", product, graph.constant(differences["head.bias"]), output="logit")
    model = graph.to_model(
        "multilingual-check",
        [describe_tensor("embedded", TensorProto.FLOAT, 1, "tokens", config["hidden_size"])],
        [describe_tensor("logit", TensorProto.FLOAT, 1, 1)],
    )
    logging.disable(logging.WARNING)  # it recommends a step for graphs that are not fused yet
    quantize_dynamic(
        model,
        folder / GRAPH,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=_QUANTIZED,
        per_channel=True,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
