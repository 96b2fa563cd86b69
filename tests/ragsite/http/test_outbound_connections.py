"""Which addresses processes connect to: private ones only if the operator allows them (docs/security.md)."""

import socket
from pathlib import Path
from typing import Any

import httpx2
import pytest
from django.test import Client

from accounts.models import User
from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.providers import provider_factory
from rag.providers.connectors.http_client import ConnectorClient, describe
from rag.providers.http import webhook_client
from ragsite.http import outbound_connections
from tests.support.factories import World
from tests.support.servers.provider_server import ProviderServer

PRIVATE_URLS = [
    *(
        "http://127.0.0.1:9/v1",
        "http://localhost/v1",
        "http://10.0.0.9/v1",
        "http://192.168.1.1/",
        "http://172.16.0.1/",
    ),
    *("http://169.254.169.254/latest/meta-data", "http://[fd00:ec2::254]/", "http://[fe80::1]/", "http://[::1]/"),
    *("http://[::ffff:127.0.0.1]/", "http://[::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/"),
    *("http://0.0.0.0/", "http://100.100.100.200/", "http://168.63.129.16/", "http://224.0.0.1/", "http://2130706433/"),
    *("http://192.0.0.192/opc/v1/", "http://[::ffff:192.0.0.192]/", "http://[64:ff9b::c000:c0]/"),
    *("http://0x7f.1/", "http://0177.0.0.1/", "http://user@127.0.0.1/", "http://255.255.255.255/"),
]


@pytest.mark.parametrize("url", PRIVATE_URLS)
def test_private_addresses_are_rejected_in_every_notation(url: str, settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = []
    with pytest.raises(outbound_connections.ForbiddenAddress, match="RAG_ALLOWED_PRIVATE_HOSTS"):
        outbound_connections.check_allowed(url)


def test_public_and_allowed_private_addresses_are_accepted(settings: Any) -> None:
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["10.1.0.0/16", "localhost"]
    for url in ("http://93.184.215.14/", "http://[2606:4700::1]/", "http://10.1.2.3/", "http://localhost:11434/v1"):
        outbound_connections.check_allowed(url)
    with pytest.raises(outbound_connections.ForbiddenAddress):
        outbound_connections.check_allowed("http://10.2.0.1/")


def test_connections_share_the_authorities_that_the_environment_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    backend = outbound_connections.GuardedBackend()
    first, second = (outbound_connections.BackendTransport(backend)._pool._ssl_context for _ in range(2))
    assert first is second
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    none = outbound_connections.trusted_authorities()
    assert (none is first, none.cert_store_stats()["x509_ca"]) == (False, 0)


def create_model(model_provider: ProviderServer, **fields: Any) -> EmbeddingModel:
    values = {"name": "remote", "provider": "openai", "dimensions": 384, "base_url": model_provider.base_url}
    return EmbeddingModel.objects.create(**{**values, **fields})


def test_a_models_endpoint_is_checked_when_connecting(db: None, model_provider: ProviderServer, settings: Any) -> None:
    """The form checks it when it is saved; the row may have been written in another way."""
    settings.RAG_ALLOWED_PRIVATE_HOSTS = []
    with pytest.raises(EmbeddingFailed, match="RAG_ALLOWED_PRIVATE_HOSTS") as caught:
        provider_factory.embedder(create_model(model_provider)).embed(["Zebras."])
    assert (caught.value.is_retryable, model_provider.requests) == (False, [])
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.0/8"]
    assert len(provider_factory.embedder(create_model(model_provider, name="second")).embed(["Zebras."])) == 1


def test_the_checked_address_is_the_one_that_is_connected_to(
    db: None, model_provider: ProviderServer, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name is resolved only once, so that it cannot change its address after the check (DNS rebinding)."""
    answers = iter(["127.0.0.1", "10.0.0.9"])
    settings.RAG_ALLOWED_PRIVATE_HOSTS = ["127.0.0.1"]
    resolved_hosts = []

    def changing_address(host: str, port: int, *args: Any, **options: Any) -> list[Any]:
        resolved_hosts.append(host)
        address = host if host[0].isdigit() else next(answers)
        return [(2, 1, 6, "", (address, port))]

    monkeypatch.setattr("socket.getaddrinfo", changing_address)
    model = create_model(model_provider, base_url=model_provider.base_url.replace("127.0.0.1", "models.example"))
    assert len(provider_factory.embedder(model).embed(["Zebras."])) == 1
    assert [host for host in resolved_hosts if not host[0].isdigit()] == ["models.example"]


def test_a_failure_says_what_is_wrong_with_the_address(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def know_nobody(*arguments: Any, **options: Any) -> Any:
        raise socket.gaierror

    settings.RAG_WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1"]
    with socket.create_server(("127.0.0.1", 0)) as server:
        closed = f"http://127.0.0.1:{server.getsockname()[1]}/"
    with pytest.raises(webhook_client.PostFailed, match="it refuses connections at this port"):
        webhook_client.post(closed, body=b"", headers={}, timeout_seconds=5)
    monkeypatch.setattr("socket.getaddrinfo", know_nobody)
    with pytest.raises(webhook_client.PostFailed, match="there is no host of this name"):
        webhook_client.post("https://hooks.example/", body=b"", headers={}, timeout_seconds=5)


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "hooks..example"], ids=["a long label", "an empty label"])
def test_what_can_be_no_name_is_no_hosts_name(host: str) -> None:
    with ConnectorClient(organization_slug="home") as client, pytest.raises(httpx2.HTTPError) as caught:
        client.get(f"https://{host}/")
    assert describe(caught.value) == "The server could not be reached: there is no host of this name."


def test_the_form_rejects_private_addresses(db: None, settings: Any) -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    settings.RAG_ALLOWED_PRIVATE_HOSTS = []
    values = {"name": "m", "provider": "openai", "dimensions": 384, "base_url": "http://169.254.169.254/v1"}
    reply = client.post("/admin/rag/embeddingmodel/add/", {**values, "fallback_base_url": "http://[::1]/v1"})
    assert reply.content.decode().count("RAG_ALLOWED_PRIVATE_HOSTS") == 2
    assert not EmbeddingModel.objects.filter(name="m").exists()


def test_owners_of_organisations_cannot_add_models(world: World) -> None:
    owner = world.users["owner"]
    owner.is_staff = True
    owner.save()
    client = Client()
    client.force_login(owner)
    assert client.get("/admin/rag/embeddingmodel/add/").status_code == 403
