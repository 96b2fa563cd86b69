"""Syncs in the database: the API sees none of their rows, pages of the admin those of their organisations."""

import pytest

from rag.models import SyncConnection, SyncItem, SyncKind, SyncRun
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity
from tests.access.database import injection
from tests.support.factories import World

TABLES = ("rag_syncconnection", "rag_syncrun", "rag_syncitem")


@pytest.mark.django_db(transaction=True)
def test_sql_shows_and_changes_no_syncs_of_others(live_world: World) -> None:
    for number, organization in enumerate((live_world.home, live_world.abroad)):
        source = live_world.source(f"source-{number}", organization=organization)
        connection = SyncConnection.objects.create(source=source, kind=SyncKind.FOLDER, location="/srv", secret="x")
        SyncRun.objects.create(connection=connection)
        SyncItem.objects.create(connection=connection, path="a.txt")
    users = live_world.users
    callers = [(Identity("ragsite_reader", user.pk), 0) for user in users.values()]
    callers += [(identity.of_staff(users[name].pk), 1) for name in ("owner", "editor", "foreigner")]
    with injection.web_process():
        for caller, number in callers:
            for table in TABLES:
                injection.next_request()
                with identity.run_as(caller):
                    assert injection.execute(f"SELECT count(*) FROM {table}") == [(number,)], (caller, table)
            injection.next_request()
            with identity.run_as(caller):
                assert injection.execute("SELECT secret FROM rag_syncconnection") is None
                changed = injection.execute("UPDATE rag_syncconnection SET location = '/etc' RETURNING source_id")
                assert len(changed or ()) == number, caller
