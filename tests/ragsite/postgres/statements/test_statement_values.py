"""Values of statements that are sent to libpq directly arrive as they are."""

import datetime
import uuid

import pytest
from django.db import DataError
from hypothesis import given
from hypothesis import strategies as st

from ragsite.postgres.base import read_rows

_TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


@pytest.mark.django_db
@given(
    st.lists(_TEXTS | st.sampled_from(["NULL", "{}", "a,b", '"', "\\", '\\"', " "]), max_size=5),
    _TEXTS,
    st.lists(st.uuids(), max_size=3),
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
    st.datetimes(min_value=datetime.datetime(1, 1, 2), timezones=st.just(datetime.UTC)),
)
def test_any_value_arrives_as_it_is(
    texts: list[str], text: str, ids: list[uuid.UUID], numbers: list[int], moment: datetime.datetime
) -> None:
    sql = "SELECT %s::text[], %s::text, %s::uuid[], %s::int[], %s::timestamptz, %s::text"
    assert read_rows(sql, [texts, text, ids, numbers, moment, None]) == [(texts, text, ids, numbers, moment, None)]


@pytest.mark.django_db
@pytest.mark.parametrize("value", ["a\0b", ["a\0b"]])
def test_a_text_with_a_nul_is_refused_and_not_cut_off(value: str | list[str]) -> None:
    with pytest.raises(DataError):
        read_rows("SELECT %s", [value])
    assert read_rows("SELECT 1", []) == [(1,)]
