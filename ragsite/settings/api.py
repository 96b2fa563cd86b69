"""The HTTP API: authentication, parsing, rate limits, and its reference (OpenAPI)."""

from django.core.exceptions import ImproperlyConfigured

from .base import DEBUG
from .env import env

# Requests without a credential act as a service user of this organisation.
RAG_ANONYMOUS_ORG = env.str("RAG_ANONYMOUS_ORG", default="")
if RAG_ANONYMOUS_ORG and not (DEBUG or env.bool("RAG_ANONYMOUS_ORG_ALLOWED", default=False)):
    raise ImproperlyConfigured(
        "RAG_ANONYMOUS_ORG gives everyone who reaches this server access to an organisation. "
        "To allow this, set RAG_ANONYMOUS_ORG_ALLOWED=1; otherwise unset RAG_ANONYMOUS_ORG."
    )

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "orgs.authentication.api_key_header.ApiKeyAuthentication",
        "orgs.authentication.access_tokens.AccessTokenAuthentication",
        "orgs.authentication.anonymous.AnonymousOrganizationAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["ragsite.http.bodies.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["ragsite.http.bodies.json_renderer.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "ragsite.http.bodies.parsers.LenientNegotiation",
    "DEFAULT_SCHEMA_CLASS": "ragsite.http.openapi.Schema",
    "EXCEPTION_HANDLER": "ragsite.http.error_envelope.exception_handler",
    "COERCE_DECIMAL_TO_STRING": False,
}

# Requests a minute: of one user, of one API key for the search service, and of one IP address for what needs no
# credential (signing in, /readyz, the API reference). An organisation may have limits of its own.
# The variable names those that differ: RAG_REQUESTS_PER_MINUTE=queries=120,changes=300
RAG_RATE_LIMITS = env.bool("RAG_RATE_LIMITS", default=True)  # off for a load test
RAG_REQUESTS_PER_MINUTE = {
    "queries": 60,
    "ingestions": 600,
    "agent_requests": 60,
    "service_searches": 100,
    # Creating, changing and deleting sources and documents, and cancelling jobs.
    "changes": 600,
    "ip": 300,
}
_limits = env.dict("RAG_REQUESTS_PER_MINUTE", default={})
if _unknown := _limits.keys() - RAG_REQUESTS_PER_MINUTE.keys():
    raise ImproperlyConfigured(
        f"RAG_REQUESTS_PER_MINUTE does not know {', '.join(sorted(_unknown))}; "
        f"it knows {', '.join(RAG_REQUESTS_PER_MINUTE)}."
    )
RAG_REQUESTS_PER_MINUTE |= {name: int(limit) for name, limit in _limits.items()}
RATELIMIT_FAIL_OPEN = True

_INTRODUCTION = """
Ask questions about the documents of your organisation, and send documents to its data sources. Five published contracts
(v3, retrieval, pipeline, agent and search service) and an OpenAI-compatible API are answered by one server; each
operation names its contract.

**Start here**

1. Get an access token: `POST /api/auth/token` with your e-mail address and password. It is valid for half an hour by
   default, and `POST /api/auth/token/refresh` renews it. For programs, create an API key with `POST /api/auth/keys`.
2. Select **Authorize** and paste the token or the key under `bearer`. It stays in this browser until you log out there.
3. Ask: `POST /api/rag/query` returns an answer with citations, `POST /api/rag/search` only passages.
4. Send a document: `POST /api/rag/ingest`. Then `GET /api/rag/ingest/{jobId}` says when it is searchable.

**Credentials.** `Authorization: Bearer …` accepts access tokens and API keys (`rk_…`). `X-API-Key` accepts API
keys only.

**Errors** are JSON with `error`, `message` and `details`. `details.request_id` is also in the header `X-Request-ID`;
tell it to your operator, who finds the request in the log by it. 429 and 503 say in `Retry-After` how long to wait.

**Limits.** `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` show how many requests a minute are left.
""".strip()

SPECTACULAR_SETTINGS = {
    "TITLE": "ragsite",
    "VERSION": "1.0.0",
    "OAS_VERSION": "3.1.0",
    "DESCRIPTION": _INTRODUCTION,
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "PREPROCESSING_HOOKS": ["ragsite.http.openapi.normalize_paths"],
    "POSTPROCESSING_HOOKS": ["ragsite.views.api_reference_groups.group_by_task"],
    "SCHEMA_PATH_PREFIX": "/",
    # The API reference is public, even with an expired token.
    "SERVE_AUTHENTICATION": [],
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    # The default validator is an external server.
    "SWAGGER_UI_SETTINGS": {
        # The links of deep linking lie inside of buttons, which assistive technology cannot use.
        "deepLinking": False,
        "validatorUrl": None,
        # A reload keeps the token, in this browser's storage.
        "persistAuthorization": True,
        "displayRequestDuration": True,
        "filter": True,
        "defaultModelsExpandDepth": 0,
    },
    # Scripts and styles are served from this server, not from a CDN.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}
