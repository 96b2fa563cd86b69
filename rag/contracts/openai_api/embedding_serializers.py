"""The fields of embeddings (OpenAI API reference, "Create embeddings")."""

import base64
from typing import Annotated, TypedDict

from rest_framework import serializers

from rag.contracts.common import fields
from rag.contracts.common.field_schemas import NON_BLANK_PATTERN
from rag.services.openai_api.text_embeddings import TextEmbeddings, pack
from ragsite.http.openapi.field_types import Count
from ragsite.http.strict_fields import ValidatedFields

MAX_INPUTS = 64
MAX_INPUT_CHARACTERS = 32_000
_TEXT = {"type": "string", "pattern": NON_BLANK_PATTERN, "minLength": 1, "maxLength": MAX_INPUT_CHARACTERS}


class EmbeddingIn(serializers.Serializer[None]):
    """`input`: a text, or up to 64 texts. Token ids are not accepted: they are another model's."""

    model = fields.Text("model", max_length=100)
    input = fields.Anything(error_messages={"required": "input is required", "null": "input must be a text"})
    encoding_format = fields.Choice("encoding_format", choices=["float", "base64"], default="float")
    dimensions = fields.Integer("dimensions", min_value=1, max_value=3072, required=False)

    schema_rules = {
        "properties": {
            "input": {"anyOf": [_TEXT, {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MAX_INPUTS}]}
        }
    }

    def validate_input(self, value: object) -> list[str]:
        text = fields.Text("input", max_length=MAX_INPUT_CHARACTERS)
        if _is_token_ids(value):
            raise serializers.ValidationError(
                "input must be a text or texts, not token ids, which are another model's: let your client send texts"
            )
        if not isinstance(value, list):
            return [text.run_validation(value)]
        texts: list[str] = fields.BoundedList(
            "input", child=text, min_entries=1, max_entries=MAX_INPUTS
        ).run_validation(value)
        return texts


def _is_token_ids(value: object) -> bool:
    """Return whether a client has cut the text into tokens itself, as some do for OpenAI's models."""
    first = value[0] if isinstance(value, list) and value else None
    return isinstance(first, int | list)


class EmbeddingData(TypedDict):
    """`embedding`: numbers, or with `encoding_format` base64 the bytes of little-endian float32 numbers."""

    object: Annotated[str, {"const": "embedding"}]
    index: Count
    embedding: list[float] | str


class EmbeddingUsage(TypedDict):
    prompt_tokens: Count
    total_tokens: Count


class EmbeddingOut(TypedDict):
    object: Annotated[str, {"const": "list"}]
    data: list[EmbeddingData]
    model: str
    usage: EmbeddingUsage


def embedding_out(embeddings: TextEmbeddings, values: ValidatedFields) -> EmbeddingOut:
    is_packed = values["encoding_format"] == "base64"
    return {
        "object": "list",
        "data": [
            {
                "object": "embedding",
                "index": index,
                "embedding": base64.b64encode(pack(vector)).decode() if is_packed else list(vector),
            }
            for index, vector in enumerate(embeddings.vectors)
        ],
        "model": values["model"],
        "usage": {"prompt_tokens": embeddings.tokens, "total_tokens": embeddings.tokens},
    }
