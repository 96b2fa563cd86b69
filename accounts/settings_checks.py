"""System checks of the settings: strong secrets, named proxies, and no misspelled variables."""

import difflib
import os

from django.conf import settings
from django.core import checks
from django.core.checks import CheckMessage, Error, Tags, register

# HMAC-SHA256 keys must be as long as its output (RFC 7518, 3.2).
_MIN_BYTES = 32
_MIN_DISTINCT_CHARACTERS = 8
# What holds instead of variables that were settings of earlier versions.
FORMER_VARIABLES = {
    "RAG_EMBEDDING_MAX_RETRIES": "A failed call of an embedding model is repeated twice.",
    "RAG_EMBEDDING_THREADS": "A local embedding call has one thread.",
    "RAG_EXACT_SEARCH_MAX_CHUNKS": "Up to 20,000 chunks are compared exactly.",
    "RAG_LEASE_SECONDS": "A worker that does not respond keeps its document for 20 seconds.",
    "RAG_MAX_ATTEMPTS": "A document whose worker died three times fails.",
    "RAG_MAX_DOCUMENTS_PER_JOB": "A job has at most 10,000 documents.",
    "RAG_MAX_DOCUMENT_EMBEDDINGS": "Documents of waiting clients are embedded on half of the cores.",
    "RAG_MAX_HISTORY_BYTES": "A user has at most 50 MiB of searches and conversations.",
    "RAG_MAX_LONG_REQUESTS": "16 of a web process's 24 threads may stream or wait; WEB_CONCURRENCY sets their number.",
    "RAG_MAX_MODEL_CALLS": "At most 10 requests of a web process wait for a language model.",
    "RAG_MAX_PASSWORD_CHECKS": "A web process checks four passwords at a time; WEB_CONCURRENCY sets their number.",
    "RAG_MAX_UPLOAD_BYTES": "A form has at most 1 GiB, or what RAG_MAX_FILE_BYTES needs; a proxy can accept less.",
    "RAG_MODEL_CACHE_FOLDER": "Files of the local models are in the folder models of RAGSITE_DATA.",
    "RAG_OCR_TIMEOUT_SECONDS": "Text recognition takes at most 600 seconds, or 6 for each of RAG_OCR_MAX_PAGES.",
    "RAG_REPLICA_MAX_LAG_SECONDS": "A replica may be five seconds behind.",
    "RAG_SWEEP_INTERVAL_SECONDS": "The sweep runs every 10 seconds.",
    "RAG_SYNC_MAX_ITEMS": "A sync has at most 100,000 items; divide more among several data sources.",
    "RAG_SYNC_RETENTION_DAYS": "The counts of syncs are kept for 30 days.",
    "RAG_TRACES_SHARE": "OpenTelemetry has OTEL_TRACES_SAMPLER=parentbased_traceidratio and OTEL_TRACES_SAMPLER_ARG.",
    "RAG_WEBHOOK_RETENTION_DAYS": "The deliveries of webhooks are kept for 30 days.",
}


@register(Tags.security, deploy=True)
def check_secret_strength(**_: object) -> list[CheckMessage]:
    """Fail `check --deploy` if a secret key is short or has few distinct characters."""
    keys = {"SECRET_KEY": [settings.SECRET_KEY], "RAG_JWT_SIGNING_KEY": [settings.SIMPLE_JWT["SIGNING_KEY"]]}
    keys["RAG_JWT_OLD_SIGNING_KEYS"] = settings.RAG_JWT_OLD_SIGNING_KEYS
    return [
        Error(
            f"{name} is weak: sessions and tokens can be forged by anyone who guesses it.",
            hint="Make one: python -c 'import secrets; print(secrets.token_urlsafe(64))'",
            id="ragsite.E001",
        )
        for name, values in keys.items()
        if any(len(value.encode()) < _MIN_BYTES or len(set(value)) < _MIN_DISTINCT_CHARACTERS for value in values)
    ]


@register(Tags.security, deploy=True)
def check_trusted_proxies(**_: object) -> list[CheckMessage]:
    """Warn in `check --deploy` about a proxy whose address is not known: all clients then seem to have its address."""
    if not settings.SECURE_PROXY_SSL_HEADER or settings.RAG_TRUSTED_PROXIES:
        return []
    return [
        checks.Warning(
            "RAG_TRUST_X_FORWARDED_PROTO says that a proxy is in front, but RAG_TRUSTED_PROXIES does not name it: all "
            "clients share the proxy's address, so a few failed sign-ins lock everybody out.",
            hint="Set RAG_TRUSTED_PROXIES to the proxy's address, such as 127.0.0.1 for a proxy on the same machine.",
            id="ragsite.W002",
        )
    ]


@register(Tags.security)
def check_public_url(**_: object) -> list[CheckMessage]:
    """Fail if links in e-mails would lead to a host that the request may choose."""
    if not settings.RAG_EMAIL_URL or settings.RAG_PUBLIC_URL or settings.DEBUG or settings.RAG_LOCAL:
        return []
    return [
        Error(
            "RAG_EMAIL_URL is set, and RAG_PUBLIC_URL is not: links in messages would lead to the host that a request "
            "names.",
            hint="Set RAG_PUBLIC_URL to the address at which people reach ragsite, such as https://rag.example.com.",
            id="ragsite.E004",
        )
    ]


@register("settings")
def check_unknown_variables(**_: object) -> list[CheckMessage]:
    """Warn about environment variables with this project's prefix that no setting reads, or no longer reads."""
    variables = [
        name for name in sorted(os.environ) if name.startswith(("RAG_", "RAGSITE_")) and name != "RAGSITE_DATA"
    ]
    return [
        checks.Warning(
            f"The environment variable {name} has no effect.", hint=_suggest_variable(name), id="ragsite.W001"
        )
        for name in variables
        if name not in settings.ENVIRONMENT_VARIABLES
    ]


def _suggest_variable(name: str) -> str:
    if reason := FORMER_VARIABLES.get(name):
        return f"It was a setting of an earlier version. {reason} Remove the variable."
    close = difflib.get_close_matches(name, settings.ENVIRONMENT_VARIABLES, n=1)
    return f"Did you mean {close[0]}?" if close else "docs/operations/settings.md lists all settings."
