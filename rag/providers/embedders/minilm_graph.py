"""The network of all-MiniLM-L6-v2 as an ONNX graph, built from its weights without torch or a download.

BERT with six layers (Devlin et al. 2019), mean pooling and L2 norm (Reimers & Gurevych 2019) in the graph. Inputs:
input_ids, attention_mask, int64 (batch, tokens). Outputs: embedding, float32 (batch, 384), and hidden, float32 (batch,
tokens, 384): the last layer before pooling. An output that is not requested costs nothing.
"""

import sys
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto

from .bert_config import read_config
from .bert_graph import BertGraph, add_bert, describe_tensor, read_weights
from .onnx_session import SLOW_FUSIONS

_WEIGHTS = "weights.bin"


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
    onnxruntime.InferenceSession(
        _build(folder), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
    )


def _build(folder: Path) -> bytes:
    """Return the graph, serialised: about 90 MB."""
    config, graph = read_config(folder), BertGraph()
    mask = graph.node("Cast", "attention_mask", to=TensorProto.INT32)
    hidden = add_bert(graph, read_weights(folder), config, mask=mask)
    graph.node("Identity", hidden, output="hidden")
    _pool(graph, hidden)
    width = config["hidden_size"]
    model = graph.to_model(
        "all-MiniLM-L6-v2",
        [describe_tensor(name, TensorProto.INT64, "batch", "tokens") for name in ("input_ids", "attention_mask")],
        [
            describe_tensor("embedding", TensorProto.FLOAT, "batch", width),
            describe_tensor("hidden", TensorProto.FLOAT, "batch", "tokens", width),
        ],
    )
    return bytes(model.SerializeToString())


def _pool(graph: BertGraph, hidden: str) -> None:
    """Sum over the tokens without padding, then normalize. A division by their number would have no effect."""
    mask = graph.node("Unsqueeze", graph.node("Cast", "attention_mask", to=TensorProto.FLOAT), graph.ints(-1))
    total = graph.node("ReduceSum", graph.node("Mul", hidden, mask), graph.ints(1), keepdims=0)
    norm = graph.node("Clip", graph.node("ReduceL2", total, axes=[1], keepdims=1), graph.constant(np.float32(1e-12)))
    graph.node("Div", total, norm, output="embedding")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
