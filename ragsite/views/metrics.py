"""GET /metrics, in the text format of Prometheus.

The client sends RAG_METRICS_TOKEN as a bearer token. If none is set, nobody may read the metrics, except clients on
this machine during a local start (RAG_LOCAL).
"""

import itertools
import secrets
from collections.abc import Iterator

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector

from rag.contracts.fallback_errors import error_response
from rag.services.operations.measurements import measurement_summaries
from rag.services.operations.metrics.all_gauges import collect_gauges
from ragsite.http.require_https import is_loopback
from ragsite.observability.measurement_buffer import BOUNDS_MS
from ragsite.postgres import identity

# Part of the metric's name, its label, kinds of measurements (ragsite.observability.measurement_buffer).
_DURATIONS = (
    ("operation", "operation", ("operation",)),
    ("stage", "stage", ("query_stage", "document_stage")),
    ("model_call", "model", ("model",)),
    ("ocr_page", "engine", ("ocr_page",)),
)
# Parts of names of metrics without failures: a page that is not recognised is one without text, or its document fails.
_NEVER_FAILING = {"ocr_page"}


class _DatabaseCollector(Collector):
    def collect(self) -> Iterator[Metric]:
        has_database = False
        for gauge in collect_gauges():
            has_database = has_database or gauge.name != "ragsite_up"
            family = GaugeMetricFamily(gauge.name, gauge.help, labels=[gauge.label] if gauge.label else None)
            for label, value in gauge.values.items():
                family.add_metric([label] if gauge.label else [], value)
            yield family
        if has_database:
            yield from _collect_durations()


def _collect_durations() -> Iterator[Metric]:
    """Yield what all processes have measured since the installation began."""
    for name, label, kinds in _DURATIONS:
        durations = HistogramMetricFamily(f"ragsite_{name}_seconds", f"Durations by {label}.", labels=[label])
        failures = CounterMetricFamily(f"ragsite_{name}_failures", f"Failures by {label}.", labels=[label])
        for summary in [summary for kind in kinds for summary in measurement_summaries.summarize_all_time(kind)]:
            counts = itertools.accumulate(summary.histogram)
            bounds = [*(str(bound / 1000) for bound in BOUNDS_MS), "+Inf"]
            buckets = list(zip(bounds, map(float, counts), strict=True))
            durations.add_metric([summary.name], buckets, summary.milliseconds / 1000)
            failures.add_metric([summary.name], summary.failures)
        yield durations
        if name not in _NEVER_FAILING:
            yield failures


def view(request: HttpRequest) -> HttpResponse:
    """Return the metrics, or 401."""
    if not _may_read(request):
        message = "Set RAG_METRICS_TOKEN, and send it in the header `Authorization: Bearer <token>`."
        response = error_response(request, 401, message)
        response["WWW-Authenticate"] = 'Bearer realm="metrics"'
        return response
    registry = CollectorRegistry()
    registry.register(_DatabaseCollector())
    with identity.run_as(identity.STAFF):  # the metrics cover all organisations
        return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


def _may_read(request: HttpRequest) -> bool:
    if token := settings.RAG_METRICS_TOKEN:
        return secrets.compare_digest(request.headers.get("Authorization", "").encode(), f"Bearer {token}".encode())
    if not settings.RAG_LOCAL:
        return False  # a server's other programs and its proxy connect from this machine, too
    forwarded = any(name in request.headers for name in ("X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"))
    return is_loopback(request.META.get("REMOTE_ADDR", "")) and not forwarded
