"""Logs, metrics and traces."""

import structlog

from .env import env

# The bearer token of GET /metrics. Without one, only requests from this machine are answered.
RAG_METRICS_TOKEN = env.str("RAG_METRICS_TOKEN", default="")

# OpenTelemetry traces: the address to which spans are sent (OTLP over HTTP); none are sent without it. The second says
# whether spans may have texts of questions, documents and answers.
RAG_TRACES_ENDPOINT = env.str("RAG_TRACES_ENDPOINT", default="")
RAG_TRACES_CONTENT = env.bool("RAG_TRACES_CONTENT", default=False)

# Logs: one JSON object a line on standard error; never query or document text.
_shared_processors: list[structlog.typing.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "json": {
            "()": "structlog.stdlib.ProcessorFormatter",
            "foreign_pre_chain": [*_shared_processors, structlog.stdlib.add_logger_name],
            "processors": [
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                structlog.processors.JSONRenderer(),
            ],
        }
    },
    "filters": {"as_warning": {"()": "ragsite.observability.refused_requests.AsWarning"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "json"},
        "refused_requests": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["as_warning"]},
        "recorded_errors": {"class": "rag.services.operations.measurements.error_log.Handler"},
    },
    "root": {"handlers": ["stderr", "recorded_errors"], "level": env.str("LOG_LEVEL", default="INFO")},
    "loggers": {
        # django_structlog logs requests, with the request id.
        "django.server": {"handlers": [], "propagate": False},
        # Requests of strangers, such as for another host name: the page "Operations" shows errors of this side.
        "django.security": {"handlers": ["refused_requests"], "propagate": False},
        "django.request": {"level": "CRITICAL"},
        # One line per task is enough; the sweep alone would write six every ten seconds.
        "celery.app.trace": {"level": "ERROR"},
        "celery.beat": {"level": "WARNING"},
        "celery.worker.strategy": {"level": "WARNING"},
        "django_structlog.celery": {"level": "WARNING"},
        "httpx": {"level": "WARNING"},
        "httpx2": {"level": "WARNING"},
        "openai": {"level": "WARNING"},
        # accounts.sign_in.lockout logs lockouts.
        "axes": {"level": "ERROR"},
    },
}
structlog.configure(
    processors=[
        structlog.stdlib.filter_by_level,
        *_shared_processors,
        structlog.stdlib.add_logger_name,
        structlog.processors.StackInfoRenderer(),
        structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
    ],
    logger_factory=structlog.stdlib.LoggerFactory(),
    cache_logger_on_first_use=True,
)
DJANGO_STRUCTLOG_CELERY_ENABLED = True
# A client's X-Request-ID is not logged.
DJANGO_STRUCTLOG_TRUST_UPSTREAM_REQUEST_ID = DJANGO_STRUCTLOG_TRUST_UPSTREAM_CORRELATION_ID = False
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False  # it trusts X-Forwarded-For, which clients can forge
