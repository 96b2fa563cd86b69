"""SQL that somebody injects into pages of the admin, and false audit events (docs/security.md)."""

import os
import re

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from orgs.models import Membership
from rag.models import DataSource, Document, Grant
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity
from tests.access import injection, oracle, proof
from tests.access.worlds import add_content, build, worlds
from tests.support.database import delete_all_rows
from tests.support.factories import World

pytestmark = pytest.mark.django_db(transaction=True)

WORLDS = max(1, int(os.environ.get("PROVE_WORLDS", "40")) // 10)
# Accounts, organisations and who belongs to them: pages of the admin read these tables completely.
DIRECTORY = {
    "accounts_user", "orgs_apikey", "orgs_membership", "orgs_membership_roles", "orgs_membership_teams",
    "orgs_organization", "orgs_role", "orgs_team",
}  # fmt: skip
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def _is_own_event(caller: Identity, table: str, row: str) -> bool:
    """Return whether the row is an audit event of the caller, such as a grant to them, which names its organisation."""
    return table == "accounts_auditevent" and caller.user is not None and str(caller.user) in row


@given(world=worlds())
@settings(
    max_examples=WORLDS,
    deadline=None,
    phases=set(Phase) - {Phase.shrink, Phase.explain},
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_sql_injected_into_the_admin_reads_nothing_of_other_organizations(world: oracle.World) -> None:
    """Every table is read without a filter, by every kind of user who is not a superuser and by nobody."""
    delete_all_rows()
    rows = build(world)
    add_content(DataSource.objects.all())
    sources = dict(DataSource.objects.values_list("pk", "organization_id"))
    documents = dict(Document.objects.values_list("pk", "source_id"))
    members = list(Membership.objects.values_list("user_id", "organization_id"))
    cases: list[tuple[Identity, set[str]]] = []
    for person, user in rows.users.items():
        if person and person.superuser:
            continue
        organizations = {organization for member, organization in members if member == user.pk}
        shown = {member for member, organization in members if organization in organizations} | {user.pk}
        shown |= set(DataSource.objects.filter(organization__in=organizations).values_list("owner_id", flat=True))
        shown |= set(Grant.objects.filter(source__organization__in=organizations).values_list("user_id", flat=True))
        foreign = {organization for _, organization in members} - organizations
        foreign |= {row.pk for row in rows.users.values() if row.pk} - shown
        foreign |= {source for source, organization in sources.items() if organization in foreign}
        foreign |= {document for document, source in documents.items() if source in foreign}
        for key in rows.keys.values():  # a key shows what it is for, and to whom it belongs
            if key.user_id == user.pk or key.organization_id in organizations:
                foreign -= {key.organization_id, key.user_id, *(key.source_ids or ())}
        cases.append((identity.of_staff(user.pk), {str(pk) for pk in foreign if pk}))
    with injection.web_process():
        for caller, ids in cases:
            for statement in ("", "SELECT set_config('rag.identity', '', true)", "SET row_security = off"):
                injection.next_request()
                with identity.run_as(caller):
                    if statement:
                        injection.execute(statement)
                    leaks = {
                        (table, pk)
                        for table, row in injection.readable_rows(identity.STAFF.role)
                        for pk in _UUID.findall(row)
                        if pk in ids and table not in DIRECTORY and not _is_own_event(caller, table, row)
                    }
                assert leaks == set(), (caller, statement)
                proof.count("tables read by SQL injected into the admin")


def test_the_admin_reads_no_session_and_only_superusers_read_all(live_world: World) -> None:
    live_world.source()
    superuser, editor = live_world.users["owner"], live_world.users["foreigner"]
    type(superuser).objects.filter(pk=superuser.pk).update(is_superuser=True)
    with injection.web_process():
        for caller, number in ((identity.of_staff(superuser.pk), 1), (identity.of_staff(editor.pk), 0)):
            injection.next_request()
            with identity.run_as(caller):
                assert injection.execute("SELECT count(*) FROM rag_datasource") == [(number,)]
                assert injection.execute("SELECT * FROM django_session") is None


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_user SET is_superuser = true WHERE id = '{attacker}'",
        "UPDATE accounts_user SET password = 'x' WHERE id = '{victim}'",
        'INSERT INTO accounts_user SELECT (jsonb_populate_record(u, \'{{"email": "x@x.example", "is_superuser": '
        'true, "id": "019ac9a0-0000-7000-8000-000000000000"}}\')).* FROM accounts_user AS u WHERE id = \'{attacker}\'',
        "UPDATE orgs_membership SET organization_id = '{organization}' WHERE user_id = '{attacker}'",
        "UPDATE orgs_membership SET user_id = '{attacker}' WHERE organization_id = '{organization}'",
    ],
)
def test_sql_injected_into_the_admin_gains_no_access_to_other_organizations(live_world: World, statement: str) -> None:
    attacker = live_world.users["admin"]
    values = {"attacker": attacker.pk, "victim": live_world.users["owner"].pk, "organization": live_world.abroad.pk}
    with injection.web_process(), identity.run_as(identity.of_staff(attacker.pk)):
        injection.next_request()
        assert injection.execute(statement.format(**values)) is None
        injection.next_request()
        name = f"UPDATE accounts_user SET name = 'Ada' WHERE id = '{attacker.pk}'"
        assert injection.execute(name) == [], "their own account, without its rights"


def test_injected_sql_adds_audit_events_only_in_its_callers_name(live_world: World) -> None:
    attacker, victim = live_world.users["member"].pk, live_world.users["owner"].pk
    event = (
        "INSERT INTO accounts_auditevent (id, at, action, kind, object_id, object_label, organization_id, "
        "organization_name, actor_id, actor_email, key_prefix, subject_email, before, after, request_id) "
        "VALUES (gen_random_uuid(), {at}, 'deleted', 'source', '', '', {organization}, '', {actor}, '', '', '', "
        "'{{}}', '{{}}', '')"
    )
    genuine = {"at": "now()", "organization": f"'{live_world.home.pk}'", "actor": f"'{attacker}'"}
    forged = (
        {"actor": f"'{victim}'"},
        {"actor": "NULL"},
        {"at": "now() - interval '1 day'"},
        {"organization": f"'{live_world.abroad.pk}'"},
    )
    with injection.web_process():
        for role in (identity.NOBODY.role, identity.STAFF.role):
            with identity.run_as(Identity(role, attacker)):
                for change in forged:
                    injection.next_request()
                    is_own = role == identity.STAFF.role and "actor" not in change
                    assert is_own or injection.execute(event.format(**{**genuine, **change})) is None, (role, change)
                injection.next_request()
                assert injection.execute(event.format(**genuine)) == [], role
        with identity.run_as(identity.NOBODY):
            injection.next_request()
            assert injection.execute(event.format(**genuine)) is None
