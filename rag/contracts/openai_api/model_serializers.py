"""The fields of models (OpenAI API reference, "Models")."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from rag.services.openai_api.sources_as_models import SourceModel
from ragsite.http.openapi.field_types import Count


class Model(TypedDict):
    """`owned_by`: the slug of the data source's organisation. `name`: for people."""

    id: str
    object: Annotated[str, {"const": "model"}]
    created: Count
    owned_by: str
    name: str


class ModelsOut(TypedDict):
    object: Annotated[str, {"const": "list"}]
    data: list[Model]


def model_out(model: SourceModel) -> Model:
    source = model.source
    return {
        "id": model.id,
        "object": "model",
        "created": int(source.created_at.timestamp()) if source else 0,
        "owned_by": source.organization.slug if source else "ragsite",
        "name": model.name,
    }


def models_out(models: Iterable[SourceModel]) -> ModelsOut:
    return {"object": "list", "data": [model_out(model) for model in models]}
