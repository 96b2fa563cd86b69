"""A web server has imported and loaded what requests need before it accepts the first one: a restart delays nobody.

A worker has imported what documents need before it forks: its processes share it, and no collection of garbage writes
to it.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from celery import signals
from django.urls import get_resolver

from rag import tasks
from rag.models import EmbeddingModel
from rag.providers import load_before_fork, provider_factory
from rag.providers.entailment.answer_check import AnswerCheck
from ragsite.run import warm_up
from tests.support.factories import World


@pytest.fixture
def imported(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(load_before_fork, "importlib", SimpleNamespace(import_module=names.append))
    return names


@pytest.mark.parametrize(
    ("language_model", "is_remote", "expected"), [("", False, []), ("", True, ["openai"]), ("gpt", False, ["openai"])]
)
def test_the_client_of_remote_models_is_imported_if_there_is_one(
    live_world: World, settings: Any, imported: list[str], language_model: str, is_remote: bool, expected: list[str]
) -> None:
    settings.LLM_MODEL = language_model
    if is_remote:
        create_remote_model()
    warm_up.import_libraries()
    assert imported == expected
    assert "url_patterns" in vars(get_resolver())


def test_each_process_loads_the_local_model(live_world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    embedded: list[list[str]] = []
    monkeypatch.setattr(provider_factory, "embedder", lambda model: SimpleNamespace(embed=embedded.append))
    warm_up.load_models()
    assert len(embedded) == 1


@pytest.mark.parametrize(("language_model", "count"), [("", 1), ("gpt", 0)])
def test_the_model_that_checks_quotes_is_built(
    live_world: World, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language_model: str, count: int
) -> None:
    settings.LLM_MODEL = language_model
    monkeypatch.setattr(provider_factory, "answer_check", lambda: AnswerCheck(cache=tmp_path, threads=1))
    warm_up.load_models()
    assert len(list(tmp_path.glob("answer-check.*/model.onnx"))) == count


@pytest.fixture
def fork() -> Iterator[Any]:
    """Does what Celery does in a worker before it forks."""
    yield lambda: signals.worker_before_create_process.send(sender=None)
    signals.worker_before_create_process.connect(tasks.import_before_first_fork)


@pytest.mark.parametrize(("is_remote", "expected"), [(False, []), (True, ["openai"])])
def test_a_worker_imports_before_its_first_fork(
    live_world: World, monkeypatch: pytest.MonkeyPatch, fork: Any, imported: list[str], is_remote: bool, expected: Any
) -> None:
    counted: list[str] = []
    monkeypatch.setattr(load_before_fork, "count_tokens", counted.append)
    collector = Mock()
    monkeypatch.setattr(tasks, "gc", collector)
    if is_remote:
        create_remote_model()
    fork()
    fork()
    assert (imported, len(counted)) == (expected, 1)
    collector.freeze.assert_called_once_with()


def create_remote_model() -> None:
    EmbeddingModel.objects.create(name="other", provider="openai", dimensions=384, base_url="http://127.0.0.1:9")
