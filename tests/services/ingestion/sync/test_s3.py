"""Syncing from a bucket, against moto's S3 server over HTTP."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from rag.errors import InvalidRequest
from rag.models import SyncConnection, SyncKind, SyncRun
from rag.providers import provider_factory
from rag.providers.connectors import s3
from rag.providers.http import bounded_responses
from rag.services.ingestion.sync import connections
from ragsite.http import outbound_connections
from tests.services.ingestion.sync.conftest import contents, run_to_end
from tests.support.factories import World
from tests.support.speed.deferred import boto3, moto_server

pytestmark = pytest.mark.django_db
State = SyncRun.State


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = moto_server.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{server.get_host_and_port()[1]}"
    server.stop()


@pytest.fixture
def bucket(endpoint: str) -> Any:
    """The objects of an empty bucket."""
    store = boto3.resource(
        "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="key", aws_secret_access_key="secret"
    )
    bucket: Any = store.Bucket("library")
    bucket.create()
    bucket.objects.all().delete()
    return bucket


@pytest.fixture
def connection(world: World, endpoint: str, bucket: Any, settings: Any) -> SyncConnection:
    settings.RAG_SYNC_PRIVATE_HOSTS = {world.home.slug: ["127.0.0.1"]}
    connection = SyncConnection(
        source=world.source("synced"),
        kind=SyncKind.S3,
        location="library/docs/",
        endpoint=endpoint,
        access_key="key",
    )
    connections.check(connection)
    connections.save(connection, secret="secret", by=world.users["owner"])
    return connection


def test_a_bucket_is_synced(connection: SyncConnection, bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(s3, "_MAX_KEYS", 2)
    names = ["plain.txt", "a b+c&d.txt", "größe/100%.txt", "deep/er/x.txt", "z.txt"]
    for name in names:
        bucket.put_object(Key=f"docs/{name}", Body=f"The text of {name}.".encode())
    bucket.put_object(Key="docs/folder/", Body=b"")
    bucket.put_object(Key="other/secret.txt", Body=b"Not below the prefix.")
    run = run_to_end(connection)
    assert (run.state, run.listed, run.skipped, run.added) == (State.FINISHED, 5, 1, 5)
    assert contents(connection.source) == {name: f"The text of {name}." for name in names}

    bucket.put_object(Key="docs/plain.txt", Body=b"Another text.")
    bucket.Object("docs/z.txt").delete()
    run = run_to_end(connection)
    assert (run.state, run.changed, run.removed, run.added) == (State.FINISHED, 1, 1, 0)
    assert contents(connection.source)["plain.txt"] == "Another text."
    document = connection.source.documents.get(path="plain.txt")
    assert document.uri == "s3://library/docs/plain.txt"


def test_keys_that_lead_upwards_are_skipped(connection: SyncConnection, bucket: Any) -> None:
    vault = bucket.meta.client
    vault.create_bucket(Bucket="vault")
    vault.put_object(Bucket="vault", Key="secret.txt", Body=b"The text of another bucket.")
    for key in ("docs/../../vault/secret.txt", "docs/./../../vault/secret.txt", "docs/good.txt"):
        bucket.put_object(Key=key, Body=b"Good.")
    run = run_to_end(connection)
    assert (run.state, run.listed, run.skipped, run.added) == (State.FINISHED, 1, 2, 1)
    assert contents(connection.source) == {"good.txt": "Good."}


def test_a_missing_bucket_removes_nothing(connection: SyncConnection, bucket: Any) -> None:
    bucket.put_object(Key="docs/a.txt", Body=b"Kept.")
    run_to_end(connection)
    SyncConnection.objects.update(location="elsewhere/docs/")
    run = run_to_end(SyncConnection.objects.get())
    assert (run.state, run.error) == (State.FAILED, "There is no such bucket.")
    assert set(contents(connection.source)) == {"a.txt"}


def test_hosts_of_another_organisation_are_refused(
    connection: SyncConnection, bucket: Any, world: World, settings: Any
) -> None:
    """When the address is entered, and when it is connected to."""
    settings.RAG_SYNC_PRIVATE_HOSTS = {world.abroad.slug: ["127.0.0.1"]}
    with pytest.raises(InvalidRequest, match="RAG_SYNC_PRIVATE_HOSTS"):
        connections.check(connection)
    run = run_to_end(connection)
    assert (run.state, run.error) == (
        State.FAILED,
        str(outbound_connections.ForbiddenAddress("127.0.0.1", outbound_connections.SYNC_HOSTS)),
    )


def test_a_store_that_is_down_ends_the_sync(connection: SyncConnection, bucket: Any) -> None:
    bucket.put_object(Key="docs/a.txt", Body=b"Kept.")
    run_to_end(connection)
    SyncConnection.objects.update(endpoint="http://127.0.0.1:9")
    run = run_to_end(SyncConnection.objects.get())
    assert (run.state, run.error) == (
        State.FAILED,
        "The server could not be reached: it refuses connections at this port.",
    )
    assert set(contents(connection.source)) == {"a.txt"}


def test_the_secret_is_encrypted_and_read_with_its_key_only(
    connection: SyncConnection, bucket: Any, settings: Any
) -> None:
    stored = SyncConnection.objects.get().secret
    assert "secret" not in stored
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", []
    assert "another SECRET_KEY" in run_to_end(connection).error


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (b"<html/>", "The store's answer is not a listing."),
        (b"not xml", "The store's answer is not a listing."),
        (
            b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>'
            b"</ListBucketResult>",
            "The store's listing has an empty page that is not the last.",
        ),
        (
            b'<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>'
            b"<Contents><Key>docs/a.unknown</Key></Contents></ListBucketResult>",
            "The store's listing does not go on.",
        ),
        (b"<ListBucketResult>" + b"<a/>" * 100_001 + b"</ListBucketResult>", "The listing has too many elements."),
    ],
    ids=["page", "text", "empty", "the same again", "elements"],
)
def test_answers_that_are_no_listing(
    connection: SyncConnection, answer: bytes, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_responses, "read_all", lambda parts: answer)
    run = run_to_end(connection)
    assert (run.state, run.error) == (State.FAILED, error)


def test_a_listing_without_an_end(connection: SyncConnection, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store may go on for ever with keys that match no pattern."""
    numbers = itertools.count(100)

    def answer(parts: object) -> bytes:
        return (
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>'
            f"<Contents><Key>docs/{next(numbers)}.unknown</Key></Contents></ListBucketResult>"
        ).encode()

    monkeypatch.setattr(bounded_responses, "read_all", answer)
    settings.RAG_SYNC_MAX_ITEMS = 2
    SyncConnection.objects.update(patterns="*.md")
    connection.refresh_from_db()
    run = run_to_end(connection)
    assert (run.state, run.listed, run.skipped) == (State.FAILED, 0, 40)
    assert run.error == "More than 40 items match no pattern or cannot be fetched. Choose a narrower location."


def test_a_listing_continues_after_a_key_with_nul(connection: SyncConnection, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another task may continue, which knows only what the database stores."""
    keys = iter(["docs/a%00%2541", "docs/a%00%2542"])

    def answer(parts: object) -> bytes:
        return (
            '<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><IsTruncated>true</IsTruncated>'
            f"<Contents><Key>{next(keys)}</Key></Contents></ListBucketResult>"
        ).encode()

    monkeypatch.setattr(bounded_responses, "read_all", answer)
    connector, run = provider_factory.connector(connection), SyncRun.objects.create(connection=connection)
    for _ in range(2):
        run.cursor = next(connector.list_pages(run.cursor)).cursor
        run.save()
        run.refresh_from_db()
