"""The network that judges whether a text answers a question, as an ONNX graph with 8-bit weights.

It is all-MiniLM-L6-v2, trained further to read both together: answer_check.npz has the differences of its layers, as
products of two narrow matrices (Hu et al. 2022), and one linear layer on the mean of the tokens. `python -m
benchmarks.training.answer_check` trains it (docs/decisions/0087-answer-check.md). Inputs: input_ids and token_type_ids,
int64 (1, tokens). Output: logit, float32 (1, 1).
"""

import logging
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto
from onnxruntime.quantization import QuantType, quantize_dynamic

from rag.providers.base import Vectors
from rag.providers.embedders.bert_config import read_config
from rag.providers.embedders.bert_graph import BertGraph, add_bert, describe_tensor, read_weights

from .answer_check import DIFFERENCES

_QUANTIZED = ["MatMul", "Attention", "Gather"]


def write(folder: Path, target: Path) -> None:
    """Write the graph with the weights of the model in `folder` and the differences: 23 MB. It takes two seconds."""
    weights = read_weights(folder)
    with np.load(DIFFERENCES) as stored:
        differences = {name: stored[name].astype(np.float32) for name in stored.files}
    for name in list(weights):
        weights[name] = weights[name] + _difference(name, differences)
    config, graph = read_config(folder), BertGraph()
    hidden = add_bert(graph, weights, config, segments="token_type_ids")
    mean = graph.node("ReduceMean", hidden, axes=[1], keepdims=0)
    product = graph.node("MatMul", mean, graph.constant(differences["head.weight"].reshape(-1, 1)))
    graph.node("Add", product, graph.constant(differences["head.bias"]), output="logit")
    model = graph.to_model(
        "answer-check",
        [describe_tensor(name, TensorProto.INT64, 1, "tokens") for name in ("input_ids", "token_type_ids")],
        [describe_tensor("logit", TensorProto.FLOAT, 1, 1)],
    )
    logging.disable(logging.WARNING)  # it recommends a step for graphs that are not fused yet
    quantize_dynamic(
        model,
        target,
        weight_type=QuantType.QInt8,
        op_types_to_quantize=_QUANTIZED,
        per_channel=True,
        extra_options={"DefaultTensorType": TensorProto.FLOAT},
    )


def _difference(name: str, differences: dict[str, Vectors]) -> Vectors:
    """Return what is added to a weight: 0 if it was not trained."""
    if f"{name}.left" in differences:
        product: Vectors = differences[f"{name}.left"] @ differences[f"{name}.right"]
        return product
    return differences.get(name, np.zeros((), np.float32))


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
