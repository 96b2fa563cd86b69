"""Helpers of the tests of the audit trail."""

from typing import Any

from django.test import Client

from accounts.audit.events import AuditEvent

PAGE = "/admin/accounts/auditevent/"


def export_csv(client: Client, query: str = "") -> str:
    reply: Any = client.get(f"{PAGE}export.csv?{query}", secure=True)
    assert reply.status_code == 200
    return b"".join(reply).decode("utf-8-sig")


def newest_event() -> AuditEvent:
    return AuditEvent.objects.latest("id")
