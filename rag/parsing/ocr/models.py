"""The two models of text recognition: PP-OCRv6 small (Apache-2.0), from the package rapidocr.

Only the weights of the package are used. Its code needs OpenCV and can download models, so it is never imported.
"""

import hashlib
import importlib.util
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rag.errors import ParseFailed

from .ocr_off_message import OCR_IS_OFF

_FINDER = ("PP-OCRv6_det_small.onnx", "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f")
_RECOGNIZER = ("PP-OCRv6_rec_small.onnx", "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884")

Pixels = npt.NDArray[np.float32]


def is_installed() -> bool:
    """Return whether the packages of text recognition are installed (requirements-ocr.txt)."""
    return all(importlib.util.find_spec(package) for package in ("PIL", "rapidocr"))


def find_text(pixels: Pixels) -> Pixels:
    """Return the probability of each pixel to belong to text: shape (height, width), multiples of 32.

    Args:
        pixels: Values from -1 to 1; shape (height, width, 3).
    """
    probabilities: Pixels = _run(_session(*_FINDER), pixels)[0, 0]
    return probabilities


def recognize(line: Pixels) -> Pixels:
    """Return probabilities of characters along a line of text: shape (steps, characters).

    Args:
        line: Values from -1 to 1; shape (48, width, 3).
    """
    probabilities: Pixels = _run(_session(*_RECOGNIZER), line)[0]
    return probabilities


@cache
def characters() -> list[str]:
    """Return the characters that `recognize` distinguishes. The first one is empty: nothing new at this step."""
    listed: str = _session(*_RECOGNIZER).get_modelmeta().custom_metadata_map["character"]
    return ["", *listed.split("\n"), " "]


def _run(session: Any, pixels: Pixels) -> Pixels:
    batch = np.ascontiguousarray(pixels.transpose(2, 0, 1)[None], dtype=np.float32)
    outputs: list[Pixels] = session.run(None, {"x": batch})
    return outputs[0]


@cache
def _session(name: str, sha256: str) -> Any:
    """Load a model. It uses one thread, because a sandbox may use one core.

    Raises:
        ParseFailed: If text recognition is not installed, or the model is not the one that was measured.
    """
    import onnxruntime

    package = importlib.util.find_spec("rapidocr")  # located, never imported
    if not package or not package.submodule_search_locations:
        raise ParseFailed(OCR_IS_OFF.format("This is a picture of text"))
    content = (Path(package.submodule_search_locations[0]) / "models" / name).read_bytes()
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ParseFailed("The model of text recognition is not the expected one. Ask an administrator.")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
