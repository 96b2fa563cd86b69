"""Fields that are JSON already are written as they are."""

import json
import uuid

import pytest

from rag.types import SourceIds
from ragsite.http.bodies.json_renderer import EncodedJson, JSONRenderer, render_line


@pytest.mark.parametrize("others", [{}, {"text": '}\u2028"', "list": [{"a": "}"}]}])
@pytest.mark.parametrize("media_type", ["application/json", "application/json; indent=2"])
def test_encoded_fields_are_part_of_the_object(others: dict[str, object], media_type: str) -> None:
    ids = sorted(uuid.uuid4() for _ in range(3))
    encoded = {"ids": EncodedJson(SourceIds.of(ids).json), "none": EncodedJson(SourceIds().json)}
    rendered = JSONRenderer().render({**encoded, **others}, media_type)
    assert json.loads(rendered) == {**others, "ids": [str(key) for key in ids], "none": []}
    assert SourceIds.of(reversed(ids)).ids == tuple(ids)


def test_an_event_is_one_line_for_clients_that_know_every_line_break_of_unicode() -> None:
    text = "a\nb\r\u0085c\u2028d\u2029e"
    line = render_line({"text": text})
    assert len(line.decode().splitlines()) == 1
    assert json.loads(line) == {"text": text}
