"""SQL that somebody injects into pages of the admin, and false audit events (docs/security.md)."""

import pytest
from django.utils import timezone

from accounts.models import User
from orgs.models import IdentityProvider, Role, Team
from rag.models import IdempotentRequest
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity
from tests.access import check_counts
from tests.access.database import injection
from tests.access.database.injected_sql.injection_worlds import FilledWorld, in_random_worlds, read_foreign
from tests.access.rule import oracle
from tests.support.factories import World, ingest_text

pytestmark = pytest.mark.django_db(transaction=True)


@in_random_worlds
def test_sql_injected_into_the_admin_reads_nothing_of_other_organizations(world: oracle.World) -> None:
    """Every table is read without a filter, by every kind of user who is not a superuser and by nobody."""
    filled = FilledWorld.build(world)
    rows = filled.rows
    cases = []
    for person, user in rows.users.items():
        if person and person.superuser:
            continue
        organizations = filled.organizations_of(user.pk)
        own_sources = (row.pk for row in rows.sources.values() if row.organization_id in organizations)
        foreign = filled.foreign(user.pk, own_sources)
        for key in rows.keys.values():  # a key shows what it is for, and to whom it belongs
            if key.user_id == user.pk or key.organization_id in organizations:
                foreign -= {key.organization_id, key.user_id, *(key.source_ids or ())}
        cases.append((identity.of_staff(user.pk), foreign))
    with injection.web_process():
        for caller, foreign in cases:
            for statement in ("", "SELECT set_config('rag.identity', '', true)", "SET row_security = off"):
                assert read_foreign(caller, foreign, statement) == set(), (caller, statement)
                check_counts.count("tables read by SQL injected into the admin")


def test_the_admin_reads_nothing_of_another_organization(live_world: World) -> None:
    """In random worlds few foreign rows may exist; here they do, and a superuser reads them."""
    abroad, foreigner = live_world.abroad, live_world.users["foreigner"]
    source = live_world.source("foreign", organization=abroad, owner=foreigner)
    key = live_world.key("foreigner", organization=abroad).key.pk
    team = Team.objects.create(organization=abroad, name="Foreign team")
    ingest_text(source, "a.md", "Zebras.")
    document = source.documents.get()
    roles = set(abroad.roles.values_list("pk", flat=True))
    foreign = {abroad.pk, foreigner.pk, source.pk, key, team.pk, document.pk, *roles}
    assert len(foreign) >= 7
    with injection.web_process():
        for name in ("owner", "admin", "editor", "member"):
            assert read_foreign(identity.of_staff(live_world.users[name].pk), foreign, "") == set(), name
    superuser = live_world.users["owner"]
    User.objects.filter(pk=superuser.pk).update(is_superuser=True)
    with injection.web_process():
        tables = {table for table, _ in read_foreign(identity.of_staff(superuser.pk), foreign, "")}
    directory = {"accounts_user", "orgs_apikey", "orgs_membership", "orgs_organization", "orgs_role", "orgs_team"}
    assert directory | {"rag_datasource", "rag_document"} <= tables


# Nobody reads these in the admin, superusers included.
SECRETS = (
    "SELECT * FROM django_session", "SELECT password FROM accounts_user", "SELECT * FROM accounts_user",
    "SELECT row_to_json(u) FROM accounts_user AS u", "SELECT hash FROM orgs_apikey",
    "SELECT key FROM otp_totp_totpdevice", "SELECT token FROM otp_static_statictoken",
    "SELECT secret FROM rag_webhook", "SELECT old_secret FROM rag_webhook",
    "SELECT secret FROM rag_syncconnection",
    "UPDATE orgs_apikey SET name = hash", "DELETE FROM otp_totp_totpdevice WHERE key < 'f'",
)  # fmt: skip


def test_the_admin_reads_no_credential_and_only_superusers_read_all(live_world: World) -> None:
    live_world.source()
    superuser, editor = live_world.users["owner"], live_world.users["foreigner"]
    type(superuser).objects.filter(pk=superuser.pk).update(is_superuser=True)
    with injection.web_process():
        for caller, number in ((identity.of_staff(superuser.pk), 1), (identity.of_staff(editor.pk), 0)):
            injection.next_request()
            with identity.run_as(caller):
                assert injection.execute("SELECT count(*) FROM rag_datasource") == [(number,)]
                for statement in SECRETS:
                    injection.next_request()
                    assert injection.execute(statement) is None, statement


def test_functions_tell_the_admin_nothing_of_other_organizations(live_world: World) -> None:
    source, foreigner = live_world.source(organization=live_world.abroad), live_world.users["foreigner"]
    questions: dict[str, list[tuple[object, ...]]] = {
        f"SELECT * FROM orgs_effective_permissions('{foreigner.pk}', NULL)": [],
        f"SELECT rag_permitted_sources(ARRAY['{source.pk}']::uuid[])": [([],)],
        f"SELECT (rag_permitted_scope(ROW(NULL, ARRAY['{live_world.abroad.pk}'::uuid], 'own', NULL, NULL, NULL, NULL)))"
        ".lists": [([],)],
    }
    with injection.web_process(), identity.run_as(identity.of_staff(live_world.users["admin"].pk)):
        for question, answer in questions.items():
            injection.next_request()
            assert injection.execute(question) == answer, question


def directory() -> list[object]:
    """Everything that decides who may do what, and the credentials, as sign-in and the worker read them."""
    statements = (
        "SELECT * FROM accounts_user ORDER BY id", "SELECT * FROM orgs_apikey ORDER BY id",
        "SELECT * FROM orgs_membership ORDER BY id", "SELECT * FROM orgs_role ORDER BY id",
        "SELECT * FROM orgs_membership_roles ORDER BY id", "SELECT * FROM orgs_membership_teams ORDER BY id",
        "SELECT * FROM orgs_team ORDER BY id", "SELECT * FROM orgs_organization ORDER BY id",
    )  # fmt: skip
    with identity.run_as(identity.WORKER):
        return [injection.execute(statement) for statement in statements]


@pytest.mark.parametrize(
    ("name", "statements"),
    [
        (
            "admin",
            (
                "UPDATE accounts_user SET is_superuser = true WHERE id = '{attacker}'",
                "UPDATE accounts_user SET password = 'x' WHERE id = '{victim}'",
                "UPDATE accounts_user SET is_active = false WHERE id = '{victim}'",
                "INSERT INTO accounts_user (id, email, name, password, is_superuser, is_staff, is_active, date_joined) "
                "VALUES (gen_random_uuid(), 'x@x.example', '', '', true, true, true, now())",
                "UPDATE orgs_membership SET organization_id = '{organization}' WHERE user_id = '{attacker}'",
                "UPDATE orgs_membership SET user_id = '{attacker}' WHERE organization_id = '{organization}'",
                "UPDATE orgs_apikey SET hash = repeat('0', 64)",
                "UPDATE orgs_apikey SET scopes = ARRAY['query', 'ingest', 'manage'], expires_at = NULL",
                "UPDATE orgs_apikey SET user_id = '{attacker}'",
            ),
        ),
        (
            "editor",
            (
                "UPDATE orgs_role SET permissions = ARRAY['members.manage', 'sources.manage']",
                "INSERT INTO orgs_membership_roles (membership_id, role_id) "
                "SELECT m.id, r.id FROM orgs_membership m, orgs_role r WHERE m.user_id = '{attacker}' "
                "ON CONFLICT DO NOTHING",
                "UPDATE orgs_membership SET is_active = NOT is_active",
                "DELETE FROM orgs_membership_roles",
                "DELETE FROM orgs_membership",
                "UPDATE orgs_team SET name = 'x'",
                "UPDATE orgs_organization SET max_bytes = NULL, name = 'x'",
                "UPDATE orgs_apikey SET revoked_at = now()",
            ),
        ),
    ],
)
def test_sql_injected_into_the_admin_gains_no_access(live_world: World, name: str, statements: tuple[str, ...]) -> None:
    """An administrator gains nothing elsewhere, nor anybody's credentials; an editor gains nothing."""
    live_world.key("owner", "query")
    attacker = live_world.users[name]
    values = {"attacker": attacker.pk, "victim": live_world.users["owner"].pk, "organization": live_world.abroad.pk}
    before = directory()
    for statement in statements:
        with injection.web_process(), identity.run_as(identity.of_staff(attacker.pk)):
            injection.next_request()
            injection.execute(statement.format(**values))
        assert directory() == before, statement
    with injection.web_process(), identity.run_as(identity.of_staff(attacker.pk)):
        rename = f"UPDATE accounts_user SET name = 'Ada' WHERE id = '{attacker.pk}' RETURNING name"
        assert injection.execute(rename) == [("Ada",)], "their own account, without its rights"


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
        for role in (identity.READER_ROLE, identity.STAFF.role):
            with identity.run_as(Identity(role, attacker)):
                for change in forged:
                    injection.next_request()
                    is_own = role == identity.STAFF.role and "actor" not in change
                    assert is_own or injection.execute(event.format(**{**genuine, **change})) is None, (role, change)
                injection.next_request()
                assert injection.execute(event.format(**genuine)) == [], role
        with identity.run_as(identity.ANONYMOUS):
            injection.next_request()
            assert injection.execute(event.format(**genuine)) is None


def test_sql_injected_into_the_admin_configures_no_sign_in(live_world: World) -> None:
    """Whoever configures a provider or a directory signs in as every member. It takes every permission."""
    home, attacker = live_world.home, live_world.users["admin"]
    Role.objects.filter(organization=home, name="admin").update(permissions=["members.manage"])
    provider = IdentityProvider.objects.create(
        organization=home, name="SSO", issuer="https://a.example", client_id="a", client_secret="x"
    )
    IdempotentRequest.objects.create(
        user=live_world.users["foreigner"], key_hash="k", fingerprint="f", body="secret", claimed_at=timezone.now()
    )
    owner = Role.objects.get(organization=home, name="owner")
    statements = (
        "INSERT INTO orgs_scimtoken (id, organization_id, hash, prefix, created_at) "
        f"VALUES (gen_random_uuid(), '{home.pk}', repeat('0', 64), 'x', now()) RETURNING 1",
        "UPDATE orgs_identityprovider SET issuer = 'https://evil.example' RETURNING 1",
        f'INSERT INTO orgs_groupmapping (id, provider_id, "group", role_id) '
        f"VALUES (gen_random_uuid(), '{provider.pk}', 'everyone', '{owner.pk}') RETURNING 1",
        "SELECT id FROM orgs_scimtoken UNION SELECT id FROM orgs_identityprovider",
        "SELECT body FROM rag_idempotentrequest",
    )
    with injection.web_process(), identity.run_as(identity.of_staff(attacker.pk)):
        for statement in statements:
            injection.next_request()
            assert not injection.execute(statement), statement
    with injection.web_process(), identity.run_as(identity.of_staff(live_world.users["owner"].pk)):
        assert injection.execute(statements[1]) == [(1,)], "the owner holds every permission"


# What concerns the whole installation: whoever changes a model's address is sent the texts of all organisations.
OF_THE_INSTALLATION = (
    "UPDATE rag_embeddingmodel SET base_url = 'http://attacker.example' RETURNING 1",
    "INSERT INTO accounts_user_user_permissions (user_id, permission_id) "
    "SELECT '{attacker}', id FROM auth_permission RETURNING 1",
    "INSERT INTO auth_group (name) VALUES ('x') RETURNING 1",
    "DELETE FROM django_migrations RETURNING 1",
    "DELETE FROM django_content_type RETURNING 1",
    "UPDATE orgs_organization SET max_chunks = 2000000000 RETURNING 1",
    "UPDATE orgs_organization SET queries_per_minute = 1000000 RETURNING 1",
    "UPDATE orgs_organization SET slug = 'another' RETURNING 1",
    "DELETE FROM orgs_organization RETURNING 1",
)


def test_sql_injected_into_the_admin_changes_nothing_of_the_installation(live_world: World) -> None:
    live_world.source()
    owner = live_world.users["owner"]
    with injection.web_process(), identity.run_as(identity.of_staff(owner.pk)):
        for statement in OF_THE_INSTALLATION:
            injection.next_request()
            assert injection.execute(statement.format(attacker=owner.pk)) is None, statement
    unprotected = (
        "SELECT relname FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'public' "
        "AND relkind = 'r' AND NOT relrowsecurity AND NOT EXISTS (SELECT FROM pg_trigger "
        "WHERE tgrelid = pg_class.oid AND tgname = 'protect_installation') AND "
        "has_table_privilege('ragsite_staff', pg_class.oid, 'INSERT, UPDATE, DELETE')"
    )
    assert injection.execute(unprotected) == [], "tables without row-level security that pages may change"
    User.objects.filter(pk=owner.pk).update(is_superuser=True)
    with injection.web_process(), identity.run_as(identity.of_staff(owner.pk)):
        for statement in (OF_THE_INSTALLATION[2], OF_THE_INSTALLATION[5]):
            injection.next_request()
            assert {(1,)} == set(injection.execute(statement) or ()), "superusers may"
