"""A program with a client that openapi-python-client generated from /api/schema, against a running ragsite.

mypy checks it and the client, strictly this file. The exit status is 1 if a check fails. Reads ADDRESS and KEY from the
environment.
"""

import os
import sys
from collections.abc import Callable

from ragsite_generated import AuthenticatedClient
from ragsite_generated.api.ask_and_search import query, retrieve
from ragsite_generated.api.data_sources_and_documents import list_data_sources
from ragsite_generated.api.send_documents_and_watch_jobs import ingest_document_or_job
from ragsite_generated.models.error_body import ErrorBody
from ragsite_generated.models.pipeline_file_document_request import PipelineFileDocumentRequest
from ragsite_generated.models.pipeline_ingest_request import PipelineIngestRequest
from ragsite_generated.models.pipeline_lang_filter_request import PipelineLangFilterRequest
from ragsite_generated.models.pipeline_lang_filter_request_field import PipelineLangFilterRequestField
from ragsite_generated.models.pipeline_query_request import PipelineQueryRequest
from ragsite_generated.models.pipeline_query_response import PipelineQueryResponse
from ragsite_generated.models.pipeline_retrieve_request import PipelineRetrieveRequest
from ragsite_generated.models.pipeline_retrieve_response import PipelineRetrieveResponse
from ragsite_generated.models.pipeline_source_list_response import PipelineSourceListResponse
from ragsite_generated.models.pipeline_text_document_request import PipelineTextDocumentRequest

QUESTION = "Do zebras have stripes?"
Client = AuthenticatedClient


def list_sources(client: Client) -> None:
    listed = list_data_sources.sync(client=client)
    assert isinstance(listed, PipelineSourceListResponse), listed
    assert [source.slug for source in listed.sources] == ["library"]


def search(client: Client) -> None:
    retrieved = retrieve.sync(client=client, body=PipelineRetrieveRequest(query=QUESTION))
    assert isinstance(retrieved, PipelineRetrieveResponse), retrieved
    (passage,) = retrieved.documents
    assert (passage.title, passage.text, passage.tags) == ("Zebras", "Zebras have stripes.", [])


def search_with_a_filter(client: Client) -> None:
    wrong_language = PipelineLangFilterRequest(field=PipelineLangFilterRequestField.LANG, value="xx")
    refused = retrieve.sync(client=client, body=PipelineRetrieveRequest(query=QUESTION, filters=[wrong_language]))
    assert isinstance(refused, ErrorBody), refused
    assert refused.error == "NO_RESULTS"


def ask(client: Client) -> None:
    answered = query.sync(client=client, body=PipelineQueryRequest(query=QUESTION))
    assert isinstance(answered, PipelineQueryResponse), answered
    assert "stripes" in answered.answer
    assert [citation.title for citation in answered.citations_used] == ["Zebras"]


def send_documents_without_the_right_to(client: Client) -> None:
    body = PipelineIngestRequest(
        data_source_id="library",
        documents=[
            PipelineTextDocumentRequest(path="bikes.md", text="Bikes are parked in the yard."),
            PipelineFileDocumentRequest(path="tea.txt", content_base_64="VGVh", content_type="text/plain"),
        ],
    )
    response = ingest_document_or_job.sync_detailed(client=client, body=body)
    assert response.status_code == 403
    assert isinstance(response.parsed, ErrorBody), response.parsed


def must_not_compile() -> None:
    """mypy reports each mark that is not needed. Nothing calls this."""
    PipelineQueryRequest()  # type: ignore[call-arg]  # The question is missing.
    PipelineTextDocumentRequest(path="a.md")  # type: ignore[call-arg]  # The text is missing.
    PipelineQueryRequest(query=QUESTION, top_k="5")  # type: ignore[arg-type]  # A number is no text.


CHECKS: tuple[Callable[[Client], None], ...] = (
    list_sources,
    search,
    search_with_a_filter,
    ask,
    send_documents_without_the_right_to,
)


def main() -> int:
    failed = 0
    with Client(base_url=os.environ["ADDRESS"], token=os.environ["KEY"]) as client:
        for check in CHECKS:
            try:
                check(client)
                print(f"ok    the generated Python client: {check.__name__.replace('_', ' ')}")
            except Exception as error:
                failed = 1
                print(f"FAIL  the generated Python client: {check.__name__.replace('_', ' ')}: {error!r}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
