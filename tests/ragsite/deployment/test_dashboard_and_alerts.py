"""The dashboard and the alert rules in deploy/: well-formed, and every metric that they name is reported."""

import datetime
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from rag.models import EmbeddingModel, GoldenQuestion, ModelOutage, QualityRun
from rag.services.operations import workers
from rag.services.operations.measurements import recording
from ragsite.observability import measurement_buffer
from tests.support.factories import World, ingest_text

DEPLOY = Path(__file__).parents[3] / "deploy"
METRIC = re.compile(r"\bragsite_\w+")
SELECTOR = re.compile(r"\b(ragsite_\w+)\{(\w+)=\"(\w+)\"\}")


def expressions() -> list[str]:
    alerts = yaml.safe_load((DEPLOY / "alerts.yml").read_text())
    dashboard = json.loads((DEPLOY / "grafana-dashboard.json").read_text())
    rules = [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]
    return [*rules, *(target["expr"] for panel in dashboard["panels"] for target in panel["targets"])]


@pytest.fixture
def reported(world: World, client: Client, settings: Any) -> dict[str, list[dict[str, str]]]:
    """Name of a metric → the labels of its samples, of an installation in which everything has happened."""
    world.home.max_chunks = world.home.max_bytes = 1000
    world.home.save()
    source = world.source()
    ingest_text(source, "a", "Zebras.")
    workers.Reporter(name="ingestion@host", queues=["ingestion"], slots=2, list_running=list).beat()
    measurement_buffer.take()
    for kind, name in (("operation", "query"), ("query_stage", "embed"), ("model", "gpt"), ("ocr_page", "built-in")):
        measurement_buffer.record(kind, name, 30)
    recording.store_measurements()
    now, model = timezone.now(), EmbeddingModel.objects.default()
    ModelOutage.objects.create(model=model, since=now, until=now + datetime.timedelta(hours=1))
    GoldenQuestion.objects.create(source=source, question="Zebras?", path="a")
    QualityRun.objects.create(
        source=source, model=model, is_live=True, questions=1, ndcg_at_10=1, recall_at_10=1, mrr_at_10=1, details=[]
    )
    settings.RAG_LOCAL = True
    families = text_string_to_metric_families(client.get("/metrics", REMOTE_ADDR="127.0.0.1").content.decode())
    samples: dict[str, list[dict[str, str]]] = {}
    for family in families:
        for sample in family.samples:
            samples.setdefault(sample.name, []).append(sample.labels)
    return samples


def test_every_named_metric_and_label_is_reported(reported: dict[str, list[dict[str, str]]]) -> None:
    named = {metric for expression in expressions() for metric in METRIC.findall(expression)}
    assert len(named) > 20
    assert named - set(reported) == set()
    for expression in expressions():
        for metric, label, value in SELECTOR.findall(expression):
            assert value in {labels.get(label) for labels in reported[metric]}, expression
        for labels in re.findall(r"by \(([\w, ]+)\)", expression):
            metric = METRIC.findall(expression)[0]
            assert set(labels.split(", ")) <= set(reported[metric][0]), expression


def test_histograms_are_cumulative_and_in_seconds(world: World, client: Client, settings: Any) -> None:
    settings.RAG_LOCAL = True
    measurement_buffer.take()
    for milliseconds in (3, 40, 90_000):
        measurement_buffer.record("operation", "query", milliseconds, failed=milliseconds > 1000)
    recording.store_measurements()
    text = client.get("/metrics", REMOTE_ADDR="127.0.0.1").content.decode()
    for line in (
        'ragsite_operation_seconds_bucket{le="0.005",operation="query"} 1.0',
        'ragsite_operation_seconds_bucket{le="0.05",operation="query"} 2.0',
        'ragsite_operation_seconds_bucket{le="60.0",operation="query"} 2.0',
        'ragsite_operation_seconds_bucket{le="+Inf",operation="query"} 3.0',
        'ragsite_operation_seconds_sum{operation="query"} 90.043',
        'ragsite_operation_failures_total{operation="query"} 1.0',
    ):
        assert line in text


def test_rules_and_panels_are_complete() -> None:
    alerts = yaml.safe_load((DEPLOY / "alerts.yml").read_text())
    rules = [rule for group in alerts["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 0
    for rule in rules:
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["description"], "what to do"
    panels = json.loads((DEPLOY / "grafana-dashboard.json").read_text())["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    for expression in expressions():
        for opening, closing in ("()", "{}", "[]"):
            assert expression.count(opening) == expression.count(closing), expression
    for first in panels:
        for second in panels:
            assert first is second or not overlap(first["gridPos"], second["gridPos"])


def overlap(first: dict[str, int], second: dict[str, int]) -> bool:
    return all(
        first[start] < second[start] + second[size] and second[start] < first[start] + first[size]
        for start, size in (("x", "w"), ("y", "h"))
    )
