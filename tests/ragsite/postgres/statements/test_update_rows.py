"""Many rows with one statement, each with values of its own."""

import datetime
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rag.models import Document
from ragsite.postgres.statements.update_rows import update_rows
from tests.support.factories import World, ingest_texts

TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
TIMES = st.datetimes(timezones=st.just(datetime.UTC), min_value=datetime.datetime(1, 1, 1))
VALUES = st.fixed_dictionaries(
    {
        "title": TEXTS,
        "tags": st.lists(TEXTS, max_size=3),
        "metadata": st.dictionaries(TEXTS, TEXTS | st.none() | st.integers() | st.lists(TEXTS), max_size=3),
        "date": st.none() | TIMES,
        "revision": st.uuids(),
    }
)


@pytest.fixture
def documents(world: World) -> list[Document]:
    ingest_texts(world.source(), {path: f"The text of {path}." for path in "abc"})
    return list(Document.objects.order_by("path"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(values=st.lists(VALUES, min_size=2, max_size=2))
def test_each_row_gets_its_values_and_nothing_else(documents: list[Document], values: list[dict[str, Any]]) -> None:
    before = {row["id"]: row for row in Document.objects.values()}
    for document, new in zip(documents, values, strict=False):  # the third one stays
        for name, value in new.items():
            setattr(document, name, value)
    with CaptureQueriesContext(connection) as queries:
        update_rows(documents[:2], [*values[0], "updated_at"])
    assert len(queries) == 1
    for document, new in zip(documents, [*values, {}], strict=True):
        row = Document.objects.filter(pk=document.pk).values().get()
        assert row == {**before[document.pk], **new, "updated_at": row["updated_at"]}
        assert (row["updated_at"] > before[document.pk]["updated_at"]) == bool(new)
