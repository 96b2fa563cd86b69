"""The fields of chat (contract, 2.3)."""

from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.services.queries import chat_replies
from rag.types import ChatReply, Filters, GenerationOptions, Message, Passage, Question, Retrieval
from ragsite.http.openapi.field_types import Id, Share
from ragsite.http.strict_fields import ValidatedFields

from .serializers import FiltersIn

MAX_CONTENT_CHARACTERS = 100_000


class MessageIn(serializers.Serializer[None]):
    role = fields.Choice("role", choices=["system", "user", "assistant"])
    content = fields.Text("content", max_length=MAX_CONTENT_CHARACTERS, allow_blank=True)


class ChatIn(serializers.Serializer[None]):
    model = fields.Text("model", required=False, allow_blank=True, max_length=200)
    messages = fields.BoundedList("messages", child=MessageIn(), min_entries=1, max_entries=chat_replies.MAX_MESSAGES)
    system = fields.Text("system", required=False, allow_blank=True, max_length=MAX_CONTENT_CHARACTERS)
    options = fields.Metadata("options", required=False)
    conversationId = fields.Text("conversationId", required=False, allow_blank=True, max_length=100)
    useRag = fields.Boolean("useRag", default=False)
    ragTopK = fields.Integer("ragTopK", min_value=1, max_value=20, default=5)
    ragFilters = FiltersIn(required=False)
    stream = fields.Boolean("stream", default=False)

    def validate_messages(self, messages: list[dict[str, str]]) -> list[dict[str, str]]:
        dialogue = [message for message in messages if message["role"] != "system"]
        if not dialogue or dialogue[-1]["role"] != "user" or not dialogue[-1]["content"].strip():
            raise serializers.ValidationError("the last message must have the role user and must not be empty")
        return messages

    def validate_options(self, options: dict[str, object]) -> dict[str, object]:
        temperature = options.get("temperature")
        if temperature is not None:
            number = fields.Number("options.temperature", min_value=0.0, max_value=2.0)
            options["temperature"] = number.run_validation(temperature)
        return options


class ChatData(TypedDict):
    message: str
    conversationId: Id


class ChatSource(TypedDict):
    text: str
    score: Share
    source: str
    title: str


class ChatOut(TypedDict):
    status: Annotated[str, {"const": "success"}]
    data: ChatData
    ragUsed: bool
    ragSources: list[ChatSource]


def build_turn(values: ValidatedFields) -> chat_replies.ChatTurn:
    messages = [
        Message(message["role"], message["content"]) for message in values["messages"] if message["role"] != "system"
    ]
    options = values.get("options", {})
    return chat_replies.ChatTurn(
        messages=messages,
        system=_build_system_prompt(values),
        conversation_id=values.get("conversationId", ""),
        generation=GenerationOptions(values.get("model", ""), options.get("temperature"), values["stream"]),
        question=_build_question(values, messages[-1].content) if values["useRag"] else None,
    )


def _build_system_prompt(values: ValidatedFields) -> str:
    """Return the system prompt: the field `system`, then all messages with that role."""
    system_messages = (message["content"] for message in values["messages"] if message["role"] == "system")
    prompts = [values.get("system", ""), *system_messages]
    return "\n\n".join(prompt for prompt in prompts if prompt.strip())


def _build_question(values: ValidatedFields, text: str) -> Question:
    tags = values.get("ragFilters", {}).get("tags", ())
    # The question of a long message is more often at its end than at its beginning.
    return Question(text[-fields.MAX_QUESTION_CHARACTERS :], top_k=values["ragTopK"], filters=Filters(tags=tuple(tags)))


def chat_out(reply: ChatReply) -> ChatOut:
    return {
        "status": "success",
        "data": {"message": reply.text, "conversationId": str(reply.conversation_id)},
        "ragUsed": reply.retrieval is not None,
        "ragSources": [_source_out(passage) for passage in reply.retrieval.passages] if reply.retrieval else [],
    }


class ChatSources(TypedDict):
    """What was found, in a stream before the reply."""

    ragSources: list[ChatSource]


def sources_out(retrieval: Retrieval) -> ChatSources:
    return {"ragSources": [_source_out(passage) for passage in retrieval.passages]}


def _source_out(passage: Passage) -> ChatSource:
    return {
        "text": passage.snippet,
        "score": passage.score,
        "source": passage.source_slug,
        "title": passage.title,
    }
