"""The fields of chat completions (OpenAI API reference, "Create chat completion")."""

from collections.abc import Sequence

from rest_framework import serializers

from rag.contracts.common import fields
from rag.pipeline.answering.prompt import DEFAULT_PROMPT_TOKENS
from rag.services.queries.chat_replies import MAX_MESSAGES
from rag.types import AnswerOptions, GenerationOptions, Message, Question
from ragsite.http.strict_fields import ValidatedFields

MAX_CONTENT_CHARACTERS = 100_000
_MAX_PARTS = 20
# POST /api/rag/query retrieves as many passages by default, and reranks them, too.
_TOP_K = 10
_DIALOGUE = ("user", "assistant")

_PART = {
    "type": "object",
    "properties": {"type": {"const": "text"}, "text": {"type": "string", "maxLength": MAX_CONTENT_CHARACTERS}},
    "required": ["type", "text"],
}
_CONTENT = {
    "anyOf": [
        {"type": "string", "maxLength": MAX_CONTENT_CHARACTERS},
        {"type": "array", "items": _PART, "maxItems": _MAX_PARTS},
        {"type": "null"},
    ]
}


class Content(fields.Anything):
    """A text, or a list of parts of which all are texts. The value is one text."""

    def to_internal_value(self, data: object) -> str:
        parts = data if isinstance(data, list) else [{"type": "text", "text": data}]
        if len(parts) > _MAX_PARTS:
            raise serializers.ValidationError(f"content must have at most {_MAX_PARTS} parts")
        text = "\n".join(_text_of(part) for part in parts)
        field = fields.Text("content", max_length=MAX_CONTENT_CHARACTERS, allow_blank=True)
        return str(field.run_validation(text))


def _text_of(part: object) -> str:
    if not isinstance(part, dict) or part.get("type") != "text" or not isinstance(part.get("text"), str):
        raise serializers.ValidationError("content must be a text, or an array of parts of the type text")
    return str(part["text"])


class MessageIn(serializers.Serializer[None]):
    role = fields.Choice("role", choices=["system", "developer", "user", "assistant"])
    content = Content(required=False, allow_null=True)

    schema_rules = {"properties": {"content": _CONTENT}}


class StreamOptionsIn(serializers.Serializer[None]):
    include_usage = fields.Boolean("include_usage", default=False)


class ChatCompletionIn(serializers.Serializer[None]):
    """`system` and `developer` messages are ignored, with a warning. `tools` and structured output are refused."""

    model = fields.Text("model", max_length=200)
    messages = fields.BoundedList("messages", child=MessageIn(), min_entries=1, max_entries=MAX_MESSAGES)
    stream = fields.Boolean("stream", default=False, allow_null=True)
    stream_options = StreamOptionsIn(required=False, allow_null=True)
    temperature = fields.Number("temperature", min_value=0.0, max_value=2.0, required=False, allow_null=True)
    n = fields.Integer("n", min_value=1, max_value=1, required=False, allow_null=True)
    tools = fields.Anything(required=False, allow_null=True)
    tool_choice = fields.Anything(required=False, allow_null=True)
    functions = fields.Anything(required=False, allow_null=True)
    response_format = fields.Anything(required=False, allow_null=True)

    schema_rules = {
        "properties": {
            "tools": {"type": ["array", "null"], "items": {"type": "object"}, "maxItems": 0},
            "tool_choice": {"enum": ["none", "auto", None]},
            "functions": {"type": ["array", "null"], "items": {"type": "object"}, "maxItems": 0},
            "response_format": {
                "type": ["object", "null"],
                "properties": {"type": {"const": "text"}},
                "required": ["type"],
            },
        }
    }

    def validate_messages(self, messages: list[ValidatedFields]) -> list[ValidatedFields]:
        dialogue = [message for message in messages if message["role"] in _DIALOGUE]
        if not dialogue or dialogue[-1]["role"] != "user" or not (dialogue[-1].get("content") or "").strip():
            raise serializers.ValidationError("the last message must have the role user and must not be empty")
        return messages

    def validate_tools(self, tools: object) -> object:
        if tools not in (None, []):
            raise serializers.ValidationError("tools are not supported: leave tools out")
        return tools

    def validate_functions(self, functions: object) -> object:
        if functions not in (None, []):
            raise serializers.ValidationError("functions are not supported: leave functions out")
        return functions

    def validate_tool_choice(self, choice: object) -> object:
        if choice not in (None, "none", "auto"):
            raise serializers.ValidationError("tool_choice must be none or auto, because tools are not supported")
        return choice

    def validate_response_format(self, response_format: object) -> object:
        if response_format is not None and not (
            isinstance(response_format, dict) and response_format.get("type") == "text"
        ):
            raise serializers.ValidationError('response_format must be {"type": "text"}: answers are texts')
        return response_format


def build_dialogue(values: ValidatedFields) -> list[Message]:
    """Return the messages of the user and the assistant, oldest first. Those without a text are left out."""
    return [
        Message(message["role"], message["content"])
        for message in values["messages"]
        if message["role"] in _DIALOGUE and message.get("content")
    ]


def build_question(dialogue: Sequence[Message]) -> Question:
    # The question of a long message is more often at its end than at its beginning.
    return Question(
        dialogue[-1].content[-fields.MAX_QUESTION_CHARACTERS :], top_k=_TOP_K, rerank=True, deduplicate=True
    )


def build_options(values: ValidatedFields) -> AnswerOptions:
    generation = GenerationOptions(temperature=values.get("temperature"), stream=bool(values["stream"]))
    return AnswerOptions(max_prompt_tokens=DEFAULT_PROMPT_TOKENS, generation=generation)


def has_instructions(values: ValidatedFields) -> bool:
    """Return whether there are messages with instructions, which are ignored."""
    return any(message["role"] not in _DIALOGUE for message in values["messages"])
