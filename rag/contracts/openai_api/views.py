"""OpenAI's API: GET /v1/models, POST /v1/chat/completions, POST /v1/embeddings."""

from django.http.response import HttpResponseBase
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractViewSet, get_caller, organization, validate
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.common.streaming import stream_as
from rag.services.openai_api import sources_as_models, text_embeddings
from rag.services.queries import chat_completion_replies, permitted_queries
from ragsite.http import request_warnings
from ragsite.http.bodies.response_etags import ETagView
from ragsite.http.openapi import COMMON_STATUSES, request_example, response_example
from ragsite.http.openapi.field_types import EventStream

from . import chat_serializers, error_format, examples
from .completions import Chunk, ChunkFormat, CompletionOut, completion_out
from .embedding_serializers import EmbeddingIn, EmbeddingOut, embedding_out
from .model_serializers import Model, ModelsOut, model_out, models_out

_INSTRUCTIONS_IGNORED = (
    "Messages with the role system or developer were ignored. Answers follow the instructions of this server only."
)
_CHUNKS = EventStream("OpenaiApi", {"": Chunk | error_format.ErrorBody}, " The stream ends with `data: [DONE]`.")


class OpenAIViewSet(ContractViewSet):
    error_handler = staticmethod(error_format.handle_exception)
    error_body = error_format.ErrorBody


class Models(ETagView, OpenAIViewSet):
    """The data sources that the caller may query, as models."""

    scopes = {"GET": Scope.QUERY}
    extra_error_statuses = {"retrieve": (404,)}
    lookup_value_regex = r".+?"
    lookup_url_kwarg = "model"

    @extend_schema(
        operation_id="listModels",
        summary="List models",
        description="`ragsite` answers from all data sources that the caller may query, the others from one each.",
        responses={200: ModelsOut},
        examples=[response_example(examples.MODELS, "Models")],
    )
    def list(self, request: Request) -> Response:
        models = sources_as_models.list_models(get_caller(request), organization=organization(request))
        return Response(models_out(models))

    @extend_schema(
        operation_id="getModel",
        summary="Get a model",
        parameters=[OpenApiParameter("model", str, OpenApiParameter.PATH, description="`ragsite/<id or slug>`.")],
        responses={200: Model},
        examples=[response_example(examples.MODEL, "Model")],
    )
    def retrieve(self, request: Request, model: str) -> Response:
        source_model = sources_as_models.get_model(get_caller(request), model, organization=organization(request))
        return Response(model_out(source_model))


class ChatCompletions(OpenAIViewSet):
    """Grounded answers as chat completions."""

    error_statuses = (*COMMON_STATUSES, 404, 422)
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="createChatCompletion",
        summary="Create a chat completion",
        description="Answers the last message from the model's data sources, as `POST /api/rag/query` does, with "
        "citations as annotations.",
        request=chat_serializers.ChatCompletionIn,
        responses={200: CompletionOut, (200, "text/event-stream"): _CHUNKS},
        examples=[
            request_example(examples.CHAT, "Question"),
            response_example(examples.COMPLETION, "Completion"),
            response_example(examples.CHUNKS, "Chunks", media_type="text/event-stream"),
        ],
    )
    def create(self, request: Request) -> HttpResponseBase:
        values = validate(chat_serializers.ChatCompletionIn, request.data)
        selection = sources_as_models.select_sources(
            get_caller(request), values["model"], organization=organization(request)
        )
        if chat_serializers.has_instructions(values):
            request_warnings.add(_INSTRUCTIONS_IGNORED)
        messages = chat_serializers.build_dialogue(values)
        question, options = chat_serializers.build_question(messages), chat_serializers.build_options(values)
        events = chat_completion_replies.answer(question, messages, selection, options)
        if values["stream"]:
            include_usage = (values.get("stream_options") or {}).get("include_usage", False)
            chunks = ChunkFormat(model=values["model"], include_usage=include_usage)
            return stream_as(chunks, events, on_error=self.get_exception_handler())
        return Response(completion_out(permitted_queries.run_to_completion(events), model=values["model"]))


class Embeddings(OpenAIViewSet):
    """Vectors of the local embedding model."""

    error_statuses = (*COMMON_STATUSES, 404)
    rate_limit = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        operation_id="createEmbeddings",
        summary="Embed texts",
        description="The vectors of up to 64 texts, by a local embedding model.",
        request=EmbeddingIn,
        responses={200: EmbeddingOut},
        examples=[request_example(examples.EMBEDDING, "Texts"), response_example(examples.EMBEDDED, "Vectors")],
    )
    def create(self, request: Request) -> Response:
        values = validate(EmbeddingIn, request.data)
        embeddings = text_embeddings.embed(
            values["input"],
            model_name=values["model"],
            dimensions=values.get("dimensions"),
            caller=get_caller(request),
        )
        return Response(embedding_out(embeddings, values))
