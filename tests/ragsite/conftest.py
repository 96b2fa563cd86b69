"""Fixtures of tests that need the real web server."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.web import Web


@pytest.fixture(scope="module")
def web_server(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory, eventually: Callable[..., Any]
) -> Iterator[Web]:
    """A web server for all tests of a file, because it takes seconds to start."""
    server = Web(tmp_path_factory.mktemp("web"))
    try:
        eventually(server.is_ready)
        yield server
    finally:
        server.stop()


@pytest.fixture
def web(web_server: Web, transactional_db: None) -> Web:
    """The web server, with an empty database."""
    return web_server
