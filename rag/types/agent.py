"""The agent's tools and its reply."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ragsite.http.bodies.json_types import JsonObject

from .passages import Passage


@dataclass(frozen=True, slots=True)
class AgentTool:
    """A function that a language model may call.

    Attributes:
        name: The function's name in the model's tool list.
        description: What the function does, for the model.
        input_schema: JSON Schema of the arguments.
        output_schema: JSON Schema of the result.
        call: Takes the arguments and returns the result, both as JSON objects. Raises InvalidRequest for wrong
            arguments; the model sees that message. Any other exception ends the run.
    """

    name: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object]
    call: Callable[[JsonObject], Mapping[str, object]]


@dataclass(frozen=True, slots=True)
class AgentReply:
    """The agent's answer to one question.

    Attributes:
        text: The answer, or a sentence that says that nothing was found.
        confidence: The confidence in the answer, 0…1; 0 unless `is_grounded`.
        is_grounded: Whether the validator accepted the answer.
        sources: Links (or paths) of the documents that support the answer.
        passages: Everything that was retrieved, in the order of retrieval.
        model: The language model's name, "extractive" for quoted sentences, empty without an answer.
        duration_seconds: How long the run took.
    """

    text: str
    confidence: float
    is_grounded: bool
    sources: tuple[str, ...]
    passages: tuple[Passage, ...]
    model: str
    duration_seconds: float = 0.0
