"""A web server has imported and loaded what requests need before it accepts the first one: a restart delays nobody."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import get_resolver

from rag.models import EmbeddingModel
from rag.providers import provider_factory
from ragsite.run import warm_up
from tests.support.factories import World


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr("ragsite.run.warm_up.importlib.import_module", names.append)
    return names


@pytest.mark.parametrize(
    ("language_model", "is_remote", "expected"), [("", False, []), ("", True, ["openai"]), ("gpt", False, ["openai"])]
)
def test_the_client_of_remote_models_is_imported_if_there_is_one(
    live_world: World, settings: Any, imported: list[str], language_model: str, is_remote: bool, expected: list[str]
) -> None:
    settings.LLM_MODEL = language_model
    if is_remote:
        EmbeddingModel.objects.create(name="other", provider="openai", dimensions=384, base_url="http://127.0.0.1:9")
    warm_up.import_libraries()
    assert imported == expected
    assert "url_patterns" in vars(get_resolver())


def test_each_process_loads_the_local_model(live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[list[str]] = []
    monkeypatch.setattr(provider_factory, "embedder", lambda model: SimpleNamespace(embed=embedded.append))
    warm_up.load_models()
    assert len(embedded) == 1
