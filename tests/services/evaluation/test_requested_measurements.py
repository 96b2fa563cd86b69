"""Measurements in the background: each night, and on request."""

import datetime
import threading

import pytest
import structlog
from django.db import connection
from django.utils import timezone
from structlog.testing import capture_logs

from rag.models import DataSource, QualityRun
from rag.services.evaluation import quality, requested_measurements
from ragsite.postgres.locks import session_lock
from tests.services.evaluation.helpers import add_question
from tests.support.factories import World


@pytest.fixture(autouse=True)
def nothing_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requested_measurements, "_last_measured", {})


def test_a_source_is_measured_once_a_night_and_on_request(source: DataSource) -> None:
    add_question(source, "zebra", "zebra.txt")
    for expected in (1, 1):
        requested_measurements.request_all()
        requested_measurements.measure_requested()
        assert QualityRun.objects.count() == expected
    requested_measurements.request(source)
    requested_measurements.measure_requested()
    assert QualityRun.objects.count() == 2
    QualityRun.objects.update(at=timezone.now() - datetime.timedelta(hours=20))
    requested_measurements.request_all()
    requested_measurements.measure_requested()
    assert QualityRun.objects.count() == 3


def test_requests_from_before_a_measurement_ended_measure_nothing_more(
    source: DataSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_question(source, "zebra", "zebra.txt")
    measured = quality.measure_and_compare

    def measure_while_somebody_clicks(source: DataSource) -> QualityRun | None:
        requested_measurements.request(source)
        return measured(source)

    monkeypatch.setattr(quality, "measure_and_compare", measure_while_somebody_clicks)
    requested_measurements.request(source)
    requested_measurements.request(source)
    requested_measurements.measure_requested()
    assert QualityRun.objects.count() == 1


def test_a_measurement_that_ends_its_process_is_not_repeated(
    source: DataSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker would measure the same source first, and end."""
    requested: list[bool] = []

    def measure(source: DataSource) -> None:
        requested.append(DataSource.objects.filter(pk=source.pk, quality_requested_at__isnull=False).exists())

    monkeypatch.setattr(quality, "measure_and_compare", measure)
    requested_measurements.request(source)
    requested_measurements.measure_requested()
    assert requested == [False]


def test_a_source_that_takes_too_long_is_skipped(source: DataSource, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quality, "MAX_SECONDS_PER_SOURCE", -1)
    add_question(source, "zebra", "zebra.txt")
    requested_measurements.request(source)
    with capture_logs() as logs:
        structlog.get_logger("test")
        requested_measurements.measure_requested()
    assert not QualityRun.objects.exists()
    assert [entry["reason"] for entry in logs if entry["event"] == "quality_not_measured"] == ["TOO_SLOW"]


def test_organisations_are_measured_in_turn(world: World, source: DataSource, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[DataSource] = []
    monkeypatch.setattr(quality, "measure_and_compare", measured.append)
    sources = [source, *(world.source(f"source-{number}") for number in range(2))]
    foreign = world.source("foreign", organization=world.abroad)
    for requested in (*sources, foreign):
        requested_measurements.request(requested)
    requested_measurements.measure_requested()
    assert set(measured) == {*sources, foreign}
    assert foreign in measured[:2], "not behind all sources of the other organisation"


def test_one_process_measures_at_a_time(source: DataSource) -> None:
    """One message for each source kept syncs, re-embeddings and index builds of all organisations waiting for hours."""
    add_question(source, "zebra", "zebra.txt")
    requested_measurements.request(source)
    locked, may_release = threading.Event(), threading.Event()

    def hold_lock() -> None:
        with session_lock("measure quality"):
            locked.set()
            may_release.wait(10)
        connection.close()

    thread = threading.Thread(target=hold_lock)
    thread.start()
    locked.wait(10)
    requested_measurements.measure_requested()
    assert not QualityRun.objects.exists()
    may_release.set()
    thread.join()
    requested_measurements.measure_requested()
    assert QualityRun.objects.exists()
