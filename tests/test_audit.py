"""What the audit trail keeps, and that it is only ever added to."""

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.audit import AuditEvent
from tests.factories import World


@pytest.mark.parametrize("how", ["UPDATE accounts_auditevent SET action = 'x'", "DELETE FROM accounts_auditevent"])
def test_events_are_neither_changed_nor_removed(world: World, how: str) -> None:
    with pytest.raises(DatabaseError, match="only added"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(how)
    assert AuditEvent.objects.exists()
