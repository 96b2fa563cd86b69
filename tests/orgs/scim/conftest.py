"""A directory that speaks SCIM with the token of the organisation `home`."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orgs.models import Organization, ScimToken, SignInDomain
from orgs.scim import tokens
from tests.support.factories import World

BASE = "/scim/v2"


class Directory:
    """Sends requests as a directory does, and checks what every response has."""

    def __init__(self, secret: str) -> None:
        self.secret = secret

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        content = body if isinstance(body, str) else json.dumps(body)
        data = {} if body is None else {"data": content, "content_type": "application/scim+json"}
        authorization = {"Authorization": f"Bearer {self.secret}", **headers}
        reply = Client().generic(method, BASE + path, headers=authorization, **data)  # type: ignore[arg-type]
        assert reply.status_code < 500, reply.content
        if reply.content:
            assert reply.headers["Content-Type"] == "application/scim+json"
            assert reply.json()["schemas"]
        if reply.status_code >= 400:
            assert reply.json()["status"] == str(reply.status_code)
        return reply

    def get(self, path: str) -> Any:
        reply = self.send("GET", path)
        assert reply.status_code == 200, reply.content
        return reply.json()

    def create(self, kind: str, **values: Any) -> Any:
        reply = self.send("POST", f"/{kind}s", {"schemas": [f"urn:ietf:params:scim:schemas:core:2.0:{kind}"], **values})
        assert reply.status_code == 201, reply.content
        assert reply.headers["Location"] == reply.json()["meta"]["location"]
        return reply.json()

    def patch(self, path: str, *operations: dict[str, Any], **headers: str) -> Any:
        schemas = ["urn:ietf:params:scim:api:messages:2.0:PatchOp"]
        return self.send("PATCH", path, {"schemas": schemas, "Operations": list(operations)}, **headers)


def connect(organization: Organization, domain: str) -> Directory:
    row = ScimToken(organization=organization)
    secret = tokens.set_new_secret(row)
    row.save()
    SignInDomain.objects.create(organization=organization, domain=domain, verified_at=timezone.now())
    return Directory(secret)


@pytest.fixture
def directory(world: World) -> Directory:
    return connect(world.home, "home.example")


@pytest.fixture
def other_directory(world: World) -> Callable[[], Directory]:
    return lambda: connect(world.abroad, "abroad.example")
