"""What the agent works with, and what it replies."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .search import Passage


@dataclass(frozen=True, slots=True)
class AgentTool:
    """What a model may call. The schemas are JSON Schema; `call` takes the arguments and returns the result, as JSON
    objects. It raises InvalidRequest for arguments that are wrong, which the model is told; all else ends the run."""

    name: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    call: Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class AgentReply:
    """sources: links (or paths) of the documents that the answer rests on. confidence: 0…1, 0 unless is_grounded.

    passages: everything that was retrieved, in that order. seconds: what it took. model: "extractive" for quoted
    sentences, empty if nothing was answered.
    """

    text: str
    confidence: float
    is_grounded: bool
    sources: tuple[str, ...]
    passages: tuple[Passage, ...]
    seconds: float
    model: str
