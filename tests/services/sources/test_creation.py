"""A new source of v3 ingestion that another request creates first: the caller's own access decides, key included."""

import itertools
import uuid
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.models import ApiKey
from rag.admin.sources.source_forms import SourceForm
from rag.errors import InvalidRequest, NotAllowed
from rag.models import Action, Chunk, DataSource, EmbeddingModel
from rag.pipeline.ingestion import parse_chunk_embed
from rag.services.ingestion import synchronous_ingestion
from rag.services.sources import creation, lookup
from rag.services.sources.editing import SourceSettings
from rag.types import IndexOutcome, Submission
from ragsite.postgres import identity
from ragsite.postgres.models import new_revision
from tests.support.factories import World
from tests.support.servers.provider_server import ProviderServer


def test_the_first_request_creates_the_source_and_the_second_uses_it(world: World) -> None:
    caller = Caller.from_key(world.key("editor", "ingest").key)
    first, second = (creation.get_or_build_source(caller, "new", organization=world.home) for _ in range(2))
    created = creation.save_if_new(first, caller)
    assert creation.save_if_new(second, caller).pk == created.pk


def test_a_key_that_was_revoked_meanwhile_does_not_write_to_the_source(world: World) -> None:
    caller = Caller.from_key(world.key("editor", "ingest").key)
    source = creation.get_or_build_source(caller, "new", organization=world.home)
    world.source("new", owner=world.users["editor"])
    ApiKey.objects.update(revoked_at=timezone.now())
    with pytest.raises(NotAllowed):
        creation.save_if_new(source, caller)


@pytest.mark.parametrize("step", [(lookup, "visible_sources"), (creation, "require_create_permission")])
def test_a_source_that_is_created_between_two_looks_is_found(
    world: World, monkeypatch: pytest.MonkeyPatch, step: tuple[ModuleType, str]
) -> None:
    """Some of the documents that are sent to a new source at once were refused: "you may not send documents to it"."""
    caller, original, seen = Caller(world.users["editor"]), getattr(*step), list[DataSource]()

    def create_before_the_last_look(*arguments: Any, **options: Any) -> Any:
        if not seen and (step[0] is creation or arguments[1] is Action.VIEW):
            with identity.run_as(identity.WORKER):
                seen.append(world.source("new"))
        return original(*arguments, **options)

    monkeypatch.setattr(*step, create_before_the_last_look)
    with identity.run_as(caller.database_identity):
        source = creation.get_or_build_source(caller, "new", organization=world.home)
    assert [source] == seen


def test_a_document_that_another_request_stores_first_in_the_new_source_is_updated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the second document is embedded, the first one creates the source. It was embedded again for ever."""
    caller, revisions = Caller(world.users["editor"]), [new_revision(), new_revision()]
    monkeypatch.setattr(synchronous_ingestion, "new_revision", revisions.pop)  # the second one is asked for first
    first, second = (Submission(path="zebra", title="Zebra", text=text) for text in ("Zebras.", "Zebras have stripes."))
    _embed_after(monkeypatch, lambda: _ingest_into_new_source(world, caller, first))
    assert _ingest_into_new_source(world, caller, second).status == "updated"
    assert [chunk.text for chunk in Chunk.objects.all()] == ["Zebras have stripes."]


def test_a_new_source_that_another_request_creates_with_another_model(
    world: World, model_provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = EmbeddingModel.objects.create(
        name="remote", provider="openai", dimensions=384, base_url=model_provider.base_url
    )
    _embed_after(monkeypatch, lambda: world.source("new", embedding_model=model))
    submission = Submission(path="zebra", title="Zebra", text="Zebras.")
    assert _ingest_into_new_source(world, Caller(world.users["editor"]), submission).status == "created"
    assert model_provider.requests, "the document has vectors of the source's model"


def _ingest_into_new_source(world: World, caller: Caller, submission: Submission) -> IndexOutcome:
    source = creation.get_or_build_source(caller, "new", organization=world.home)
    return synchronous_ingestion.ingest_now(source=source, submission=submission, caller=caller)


def _embed_after(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let the first document wait for something else before it is embedded. Fail if documents are embedded for ever."""
    embed_documents, calls = parse_chunk_embed.embed_documents, itertools.count()

    def act_and_embed(*arguments: Any, **options: Any) -> Any:
        number = next(calls)
        assert number < 5
        if number == 0:
            act()
        return embed_documents(*arguments, **options)

    monkeypatch.setattr(parse_chunk_embed, "embed_documents", act_and_embed)


def test_no_new_source_gets_a_uuid_as_its_slug(world: World) -> None:
    """Requests read a UUID as an id, so nobody could send a second document to such a source."""
    caller, key = Caller(world.users["editor"]), str(uuid.uuid4())
    for create in (
        lambda: creation.get_or_build_source(caller, key, organization=world.home),
        lambda: creation.create_source(caller, SourceSettings(name=key), organization=world.home),
    ):
        with pytest.raises(InvalidRequest):
            create()
    data = {"organization": world.home.pk, "name": "x", "slug": key}
    assert "UUID" in str(SourceForm(data).errors["slug"])
