"""The paths that say whether the server is up (docs/operations/deploy.md)."""

from collections.abc import Callable

from tests.support.http import Client

Api = Callable[..., Client]


def test_health(api: Api) -> None:
    assert api().get("/healthz").body == {"status": "ok"}
    ready = api().get("/readyz")
    assert (ready.status, ready.body["status"]) == (200, "ok")
    assert set(ready.body) == {"status", "database", "broker", "vector_index", "embedding_model"}
