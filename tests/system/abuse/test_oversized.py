"""Runs the part `oversized` of `make abuse`, which is quick and gives the same result each time."""

from tests.support.factories import World
from tests.support.web import Web

from .oversized import cases, send_case


def test_oversized_requests_get_the_contracts_error(web: Web, live_world: World) -> None:
    live_world.source("local")
    key = live_world.key("editor").secret
    requests = cases({"X-API-Key": key})
    assert len(requests) >= 40
    problems = {case.name: problem for case in requests if (problem := send_case(web.port, case)[1])}
    assert problems == {}
    assert web.is_ready()
