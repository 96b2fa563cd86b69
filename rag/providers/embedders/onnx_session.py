"""Opens graphs with onnxruntime on this machine's CPU."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnxruntime

# onnxruntime would fuse additions and layer normalizations into an operator that takes three times as long.
SLOW_FUSIONS = ("SkipLayerNormFusion",)


def open_session(file: Path, *, threads: int, is_optimized: bool) -> "onnxruntime.InferenceSession":
    """Load a graph.

    Args:
        file: The graph.
        threads: How many threads one call uses.
        is_optimized: Whether the stored graph is optimized already.

    Raises:
        RuntimeError: If the file cannot be read, or the library refuses the graph.
    """
    # Half a second of import that a process without local models does not pay.
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Threads that spin while they wait would take the cores from the database and the web server.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if is_optimized:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(
            str(file), options, providers=["CPUExecutionProvider"], disabled_optimizers=SLOW_FUSIONS
        )
    except Exception as error:  # those of the library have no class in common
        raise RuntimeError(f"{file} cannot be loaded: {error}") from error
