"""The audit table: append-only, with a retention period."""

import datetime
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from accounts.audit import events
from accounts.audit.events import AuditEvent
from ragsite.postgres import identity
from tests.support.factories import World


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditevent SET action = 'x'",
        "UPDATE accounts_auditevent SET actor_email = 'deleted user 00000000'",
        "UPDATE accounts_auditevent SET subject_email = ''",
        "UPDATE accounts_auditevent SET address = NULL",
        "DELETE FROM accounts_auditevent",
    ],
)
def test_events_cannot_be_changed_or_deleted(world: World, statement: str) -> None:
    """Not even by the owner of the table."""
    events.record(
        events.AuditAction.CHANGED, events.AuditObject.USER, subject=world.users["member"], actor=world.users["owner"]
    )
    AuditEvent.objects.create(action="changed", kind="user", address="192.0.2.1")
    before = list(AuditEvent.objects.values_list())
    owner = identity.run_as(identity.OWNER)
    with owner, pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert list(AuditEvent.objects.values_list()) == before


def test_the_audit_table_cannot_be_truncated(world: World) -> None:
    with identity.run_as(identity.OWNER), transaction.atomic(), connection.cursor() as cursor:
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            cursor.execute("TRUNCATE accounts_auditevent")
        transaction.set_rollback(True)


def test_the_applications_roles_may_only_insert_events(world: World) -> None:
    """The one exception is removing the name of a deleted account, which a trigger allows."""
    grants = Path(identity.__file__).with_name("grants.sql").read_text()
    with transaction.atomic(), connection.cursor() as cursor:
        for role in ("ragsite_reader", "ragsite_worker"):
            cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
            if not cursor.fetchone():
                cursor.execute(f"CREATE ROLE {role}")
            cursor.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        cursor.execute(grants)
        privilege_query = "SELECT has_table_privilege(%s, 'accounts_auditevent', %s)"
        for role in ("ragsite_reader", "ragsite_worker"):
            for privilege in ("UPDATE", "DELETE", "TRUNCATE"):
                cursor.execute(privilege_query, [role, privilege])
                assert cursor.fetchone() == (False,), (role, privilege)
            cursor.execute(privilege_query, [role, "INSERT"])
            assert cursor.fetchone() == (True,)
        cursor.execute("SET LOCAL ROLE ragsite_worker")
        world.users["member"].delete()
        assert AuditEvent.objects.filter(subject_email__startswith="deleted user").exists()
        cursor.execute("RESET ROLE")
        transaction.set_rollback(True)


def test_events_are_deleted_after_the_retention_period(world: World, settings: Any) -> None:
    settings.RAG_AUDIT_RETENTION_DAYS = 1  # the database enforces at least 90
    now = timezone.now()
    for days in (89, 91):
        AuditEvent.objects.create(action="changed", kind="user", at=now - datetime.timedelta(days=days))
    recent_count = AuditEvent.objects.count() - 1
    assert events.delete_expired() == 1
    assert AuditEvent.objects.count() == recent_count
    settings.RAG_AUDIT_RETENTION_DAYS = 0
    AuditEvent.objects.create(action="changed", kind="user", at=now - datetime.timedelta(days=9_999))
    assert events.delete_expired() == 0
