"""Fixtures of the tests of re-embedding."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from rag.models import EmbeddingModel
from tests.services.reembedding.helpers import remote_model
from tests.support.factories import World


@pytest.fixture
def models(live_world: World) -> Iterator[Callable[..., EmbeddingModel]]:
    """Return a factory: models("name", 768) is a remote model with a server of its own."""
    with ExitStack() as stack:
        yield lambda *arguments: stack.enter_context(remote_model(*arguments))
