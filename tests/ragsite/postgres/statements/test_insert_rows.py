"""Many rows with one statement: every value is stored as it is, and the number of statements does not grow with it."""

import datetime
import uuid
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.models import IngestionDocument, IngestionJob
from ragsite.postgres.statements.insert_rows import insert_rows
from tests.support.factories import World

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
TIMES = st.datetimes(timezones=st.just(datetime.UTC), min_value=datetime.datetime(1, 1, 1))
ATTRIBUTES = st.fixed_dictionaries(
    {
        "text": TEXTS,
        "tags": st.lists(TEXTS, max_size=3),
        "metadata": st.dictionaries(TEXTS, TEXTS | st.none() | st.integers() | st.lists(TEXTS), max_size=3),
        "date": st.none() | TIMES,
        "lease": st.none() | st.uuids(),
    }
)


@pytest.fixture
def job(world: World) -> IngestionJob:
    source = world.source()
    return IngestionJob.objects.create(source=source, created_by=world.users["editor"], chunk_size=512, chunk_overlap=0)


def rows_of(job: IngestionJob, attributes: list[dict[str, Any]]) -> list[IngestionDocument]:
    return [
        IngestionDocument(job=job, source_id=job.source_id, index=index, path=str(index), title="", **values)
        for index, values in enumerate(attributes)
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(attributes=st.lists(ATTRIBUTES, max_size=4))
def test_rows_are_stored_as_they_are(job: IngestionJob, attributes: list[dict[str, Any]]) -> None:
    job.documents.all().delete()  # of the example before
    rows = rows_of(job, attributes)
    insert_rows(rows)
    names = [field.attname for field in IngestionDocument._meta.concrete_fields]
    stored = IngestionDocument.objects.in_bulk([row.pk for row in rows])
    assert [[getattr(stored[row.pk], name) for name in names] for row in rows] == [
        [getattr(row, name) for name in names] for row in rows
    ]


def test_there_is_one_statement_for_500_rows(job: IngestionJob) -> None:
    with CaptureQueriesContext(connection) as queries:
        insert_rows(rows_of(job, [{"text": "tea", "tags": ["a"]}] * 501))
    assert len(queries) == 2
    assert job.documents.count() == 501


def test_long_texts_are_divided_between_statements(job: IngestionJob) -> None:
    """A job that parses documents again has texts of any length, and one value has an end."""
    with CaptureQueriesContext(connection) as queries:
        insert_rows(rows_of(job, [{"text": "tea " * length} for length in (2_500_000, 2_500_000, 10, 10)]))
    assert len(queries) == 2
    assert job.documents.count() == 4


def test_a_row_that_exists_is_refused(job: IngestionJob) -> None:
    (row,) = rows_of(job, [{"id": uuid.uuid4(), "text": "tea"}])
    insert_rows([row])
    with pytest.raises(IntegrityError), transaction.atomic():
        insert_rows([row])


def test_a_value_that_json_cannot_express_is_refused(job: IngestionJob) -> None:
    """It would be stored as the text that Python shows for it."""
    with pytest.raises(TypeError):
        insert_rows(rows_of(job, [{"text": "tea", "metadata": {"colours": {"green"}}}]))
    assert not job.documents.exists()
