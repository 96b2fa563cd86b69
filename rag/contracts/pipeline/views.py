"""The pipeline contract: ingestion jobs, data sources, retrieval."""

import uuid
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSetMixin

from orgs.permissions import Scope
from rag.contracts import pagination
from rag.contracts.base import ContractView, caller, organization, organization_to_write, validated
from rag.errors import InvalidRequest, NoResults, UnknownJob
from rag.models import Action
from rag.services import jobs, queries, sources

from . import errors, serializers


class PipelineView(ContractView):
    error_handler = staticmethod(errors.handle)


class IngestionJobs(ViewSetMixin, PipelineView):
    """POST /api/rag/ingest with `documents` → 202; GET /api/rag/ingest/{jobId}."""

    scopes = {"GET": Scope.INGEST, "POST": Scope.INGEST}

    def create(self, request: Request) -> Response:
        values = validated(serializers.IngestIn, request.data)
        source = sources.to_ingest(caller(request), values["dataSourceId"], organization=organization_to_write(request))
        model = values.get("embeddingModel", source.embedding_model.name)
        if model != source.embedding_model.name:
            raise InvalidRequest(
                f"This source is embedded with {source.embedding_model.name}; leave embeddingModel out, or name it.",
                field="embeddingModel",
            )
        job = jobs.submit(
            source=source,
            submissions=serializers.submissions(values),
            options=serializers.options(values),
            actor=caller(request),
        )
        return Response(_job(request, job.pk), status=202)

    def retrieve(self, request: Request, job_id: str) -> Response:
        try:
            key = uuid.UUID(job_id)
        except ValueError:
            raise UnknownJob("A job's id is a UUID.") from None
        return Response(_job(request, key))


def _job(request: Request, job_id: uuid.UUID) -> dict[str, Any]:
    job = jobs.job_visible_to(caller(request), job_id)
    chunks = jobs.indexed_chunks(job, serializers.MAX_VECTOR_IDS + 1)
    return serializers.job_out(
        job, vector_ids=[str(chunk) for chunk in chunks], errors=jobs.failures(job, serializers.MAX_ERRORS)
    )


class DataSources(ViewSetMixin, PipelineView):
    """GET /api/rag/sources: those that the caller may query, send to or manage."""

    def list(self, request: Request) -> Response:
        found = sources.visible(caller(request), Action.VIEW, organization=organization(request))
        page = pagination.page(request, found.select_related("organization", "embedding_model"))
        return Response({"sources": [serializers.source_out(source) for source in page.items], **page.numbers})

    def retrieve(self, request: Request, reference: str) -> Response:
        found = sources.visible(caller(request), Action.VIEW, organization=organization(request))
        return Response(serializers.source_out(sources.named(found, reference)))


class Retrieve(PipelineView):
    """POST /api/rag/retrieve."""

    scopes = {"POST": Scope.QUERY}

    def post(self, request: Request) -> Response:
        values = validated(serializers.RetrieveIn, request.data)
        if values.get("rerankModel"):
            raise InvalidRequest("No reranker of this name is configured; leave rerankModel out.", field="rerankModel")
        found = queries.retrieve(
            question=serializers.question(values),
            user=caller(request),
            organization=organization(request),
            data_sources=values.get("dataSources", ()),
        )
        if not found.passages:
            raise NoResults("Nothing relevant was found in the data sources that you may query.")
        return Response(serializers.retrieval_out(found))
