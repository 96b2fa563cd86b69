"""Invitations that the admin sends."""

from typing import Any

import pytest
from django.test import Client

from tests.orgs.admin.test_delegation import role
from tests.orgs.invitations.invitation_mail import ADDRESS, PAGE
from tests.support.factories import World


@pytest.fixture(autouse=True)
def mail_server(settings: Any) -> None:
    settings.RAG_EMAIL_URL = "smtp://mail.example.com"


@pytest.fixture
def invite(world: World, django_capture_on_commit_callbacks: Any) -> Any:
    """invite(client, **changes) submits the form as this client, and returns the response."""

    def submit(client: Client, *roles: str, **changes: Any) -> Any:
        values = {"email": ADDRESS, "organization": world.home.pk, "roles": [role(world, name).pk for name in roles]}
        with django_capture_on_commit_callbacks(execute=True):
            return client.post(f"{PAGE}add/", {**values, **changes})

    return submit
