"""How each contract renders each error of the core (docs/contracts/errors.md)."""

import errno
import json
import os

import pytest
from django.test import RequestFactory
from structlog.testing import capture_logs

from rag import errors
from rag.contracts import fallback_errors
from rag.contracts.retrieval import error_format as retrieval
from rag.contracts.search_service import error_format as search_service
from rag.providers.stores.qdrant.client import CollectionMissing
from ragsite.http.error_envelope import TITLES
from tests.contracts.common.errors.error_formats import HANDLERS, parse_error


@pytest.mark.parametrize(
    ("failure", "wait"),
    [
        (errors.GenerationFailed("x"), "2"),
        (errors.GenerationFailed("x", retry_after_seconds=29.2), "30"),
        (errors.GenerationFailed("x", retry_after_seconds=1e9), "3600"),
        (errors.GenerationFailed("x", is_retryable=False), None),
    ],
)
def test_a_503_has_retry_after(failure: errors.GenerationFailed, wait: str | None) -> None:
    """The provider's Retry-After, at most an hour; no header if a retry cannot help."""
    response = HANDLERS["v3"](failure, {})
    assert response is not None
    assert (response.status_code, response.headers.get("Retry-After")) == (503, wait)


def test_the_log_says_why_the_storage_failed() -> None:
    error = errors.StorageFailed("The file storage does not answer.")
    error.__cause__ = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/data/files/secret-name")
    with capture_logs() as logs:
        HANDLERS["v3"](error, {})
    assert [line["cause"] for line in logs] == ["OSError: No space left on device"]


# Status in v3, pipeline and the search service; in retrieval; in agent; agent's type; the search service's code.
RENDERED = {
    "InvalidRequest": (400, 400, 400, "INVALID_QUERY", "invalid_request"),
    "UnknownSource": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownModel": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownConversation": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownQuery": (404, 404, 404, "NOT_FOUND", "query_not_found"),
    "UnknownJob": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownQuestion": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownDocument": (404, 404, 404, "NOT_FOUND", "not_found"),
    "UnknownWebhook": (404, 404, 404, "NOT_FOUND", "not_found"),
    "VersionChanged": (412, 412, 412, "AGENT_ERROR", "internal_error"),
    "NothingToRetry": (409, 409, 409, "AGENT_ERROR", "internal_error"),
    "SlugTaken": (409, 409, 409, "AGENT_ERROR", "internal_error"),
    "IdempotencyKeyInUse": (409, 409, 409, "AGENT_ERROR", "internal_error"),
    "IdempotencyKeyReused": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "NotAllowed": (403, 403, 403, "FORBIDDEN", "forbidden"),
    "NoAccessibleSources": (403, 403, 403, "FORBIDDEN", "forbidden"),
    "AccessEnded": (403, 403, 403, "FORBIDDEN", "forbidden"),
    "NoResults": (404, 404, 404, "NOT_FOUND", "not_found"),
    "DocumentTooLarge": (413, 413, 413, "PAYLOAD_TOO_LARGE", "payload_too_large"),
    "UnsupportedFormat": (415, 415, 415, "UNSUPPORTED_MEDIA_TYPE", "unsupported_media_type"),
    "ParseFailed": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "IndexFull": (507, 507, 507, "AGENT_ERROR", "insufficient_storage"),
    "ContextOverflow": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "TemplateInvalid": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "InsufficientContext": (422, 422, 422, "INVALID_QUERY", "unprocessable"),
    "NotGrounded": (422, 422, 422, "GROUNDING_FAILED", "unprocessable"),
    "EmbeddingFailed": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "RerankFailed": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "GroundingFailed": (503, 500, 500, "GROUNDING_FAILED", "service_unavailable"),
    "EntailmentFailed": (503, 500, 500, "AGENT_ERROR", "service_unavailable"),
    "StorageFailed": (503, 500, 500, "AGENT_ERROR", "service_unavailable"),
    "GenerationFailed": (503, 500, 500, "AGENT_ERROR", "service_unavailable"),
    "NoLanguageModel": (503, 503, 500, "AGENT_ERROR", "service_unavailable"),
    "IndexUnavailable": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "ContentRefused": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "CollectionMissing": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "TooManyLongRequests": (429, 429, 429, "RATE_LIMITED", "rate_limit_exceeded"),
    "TooManyReads": (429, 429, 429, "RATE_LIMITED", "rate_limit_exceeded"),
    "ModelChanged": (503, 500, 500, "RETRIEVAL_FAILED", "service_unavailable"),
    "DatabaseUnavailable": (503, 500, 500, "SERVICE_UNAVAILABLE", "service_unavailable"),
}


def kinds_of(error: type[errors.RagError]) -> set[type[errors.RagError]]:
    return {error}.union(*(kinds_of(subclass) for subclass in error.__subclasses__()))


# The two base classes are never raised. The one kind that is not in `rag.errors` must be imported to be a subclass.
assert issubclass(CollectionMissing, errors.RagError)
KINDS = sorted(kinds_of(errors.RagError) - {errors.RagError, errors.ProviderFailed}, key=lambda kind: kind.__name__)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_rag_error_is_rendered_by_every_contract(kind: type[errors.RagError]) -> None:
    common, of_retrieval, of_agent, agent_type, service_code = RENDERED[kind.__name__]
    error = kind("A sentence.", **({"field": "top_k"} if kind is errors.InvalidRequest else {}))
    expected = {
        "v3": (common, TITLES[common]),
        "retrieval": (of_retrieval, TITLES[of_retrieval]),
        "pipeline": (common, kind.code),
        "agent": (of_agent, agent_type),
        "search service": (common, service_code),
    }
    for contract, handle in HANDLERS.items():
        response = handle(error, {})
        assert response is not None
        name, message, details = parse_error(contract, response.data)
        assert (response.status_code, name) == expected[contract], contract
        assert message == "A sentence."
        assert "request_id" in details


@pytest.mark.parametrize("kind", [errors.EmbeddingFailed, errors.GenerationFailed])
def test_retrieval_responds_503_for_a_busy_provider(kind: type[errors.ProviderFailed]) -> None:
    """Retrieval: "Handle 429 from AI Gateway gracefully → return 503"; "500: … LLM timeout"."""
    for error, status in ((kind("x", is_rate_limited=True), 503), (kind("x", is_timeout=True), 500)):
        response = retrieval.handle_exception(error, {})
        assert response is not None
        assert response.status_code == status


def test_the_search_service_distinguishes_an_invalid_query_from_other_fields() -> None:
    """ "`invalid_query`: Query is empty or otherwise invalid"."""
    for field, code in (("query", "invalid_query"), ("top_k", "invalid_request")):
        response = search_service.handle_exception(errors.InvalidRequest("x", field=field), {})
        assert response is not None
        assert (response.status_code, response.data["error"]) == (400, code)


@pytest.mark.parametrize("path", ["/api/rag/explain", "/api/rag/webhooks/", "/api/rag/webhooks/x/nowhere"])
def test_errors_before_a_view_of_the_pipeline_have_its_codes(rf: RequestFactory, path: str) -> None:
    response = fallback_errors.error_response(rf.post(path), 413, "x")
    assert json.loads(response.content)["error"] == "PAYLOAD_TOO_LARGE"
