"""The admin pages of single sign-on: who configures a provider, its secret, verified domains."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.audit.events import AuditEvent
from accounts.models import User
from orgs.admin import single_sign_on
from orgs.creation import add_member
from orgs.models import GroupMapping, IdentityProvider, LinkedIdentity, Role, ScimToken, SignInDomain
from ragsite.postgres import encryption
from tests.support.browsers import staff_browser
from tests.support.factories import PASSWORD, World
from tests.support.servers.identity_provider import IdentityProviderServer
from tests.support.servers.saml_provider import SamlProvider

PROVIDERS, DOMAINS = "/admin/orgs/identityprovider/", "/admin/orgs/signindomain/"
TOKENS, LINKED_ACCOUNTS = "/admin/orgs/scimtoken/", "/admin/orgs/linkedidentity/"


@pytest.fixture
def issuer(settings: Any) -> Iterator[str]:
    settings.RAG_SIGN_IN_PRIVATE_HOSTS = ["127.0.0.1"]
    with IdentityProviderServer().running() as server:
        yield server.issuer


def form(world: World, issuer: str, **fields: Any) -> dict[str, Any]:
    prefix = "group_mappings"
    return {
        "organization": world.home.pk, "name": "Okta", "protocol": "openid", "issuer": f"{issuer}/",
        "client_id": "ragsite",
        "secret": "hidden secret", "groups_claim": "groups", "is_active": "on",
        f"{prefix}-TOTAL_FORMS": 1, f"{prefix}-INITIAL_FORMS": 0, f"{prefix}-0-group": "writers",
        f"{prefix}-0-role": world.home.roles.get(name="editor").pk, **fields,
    }  # fmt: skip


def test_a_provider_is_configured_and_its_secret_is_not_shown(world: World, issuer: str) -> None:
    admin = staff_browser(world.users["admin"])
    assert admin.post(f"{PROVIDERS}add/", form(world, issuer)).status_code == 302
    provider = IdentityProvider.objects.get()
    assert (provider.issuer, encryption.decrypt(provider.client_secret, encryption.Purpose.IDENTITY_PROVIDER)) == (
        issuer,
        "hidden secret",
    )
    assert (provider.group_mappings.get().group, "hidden" in provider.client_secret) == ("writers", False)
    page = admin.get(f"{PROVIDERS}{provider.pk}/change/").content.decode()
    assert f"<code>http://testserver/sign-in/callback/{provider.pk}</code>" in page
    assert "hidden secret" not in page
    assert provider.client_secret not in page
    assert "hidden" not in str(list(AuditEvent.objects.filter(kind="identity_provider").values()))


def test_a_provider_is_enforced_only_with_a_verified_domain_and_people_without_passwords(
    world: World, issuer: str
) -> None:
    admin = staff_browser(world.users["admin"])
    admin.post(f"{PROVIDERS}add/", form(world, issuer))
    page = f"{PROVIDERS}{IdentityProvider.objects.get().pk}/change/"
    assert b"let a superuser confirm it" in admin.post(page, form(world, issuer, is_enforced="on")).content
    SignInDomain.objects.create(organization=world.home, domain="home.example", verified_at=timezone.now())
    assert b"has a password" in admin.post(page, form(world, issuer, is_enforced="on")).content


def test_groups_are_mapped_to_roles_of_the_own_organisation_only(world: World, issuer: str) -> None:
    admin = staff_browser(world.users["admin"])
    admin.post(f"{PROVIDERS}add/", form(world, issuer))
    page = f"{PROVIDERS}{IdentityProvider.objects.get().pk}/change/"
    foreign = Role.objects.filter(organization=world.abroad)[0].pk
    refused = admin.post(page, {**form(world, issuer), "group_mappings-0-role": foreign})
    assert (refused.status_code, GroupMapping.objects.count()) == (200, 1)


def test_few_forms_are_built_however_many_groups_a_request_says_that_it_has(
    world: World, issuer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a hundred bytes took minutes for 2,000 forms, and two statements for each of them."""
    admin, page = staff_browser(world.users["owner"]), f"{PROVIDERS}add/"
    monkeypatch.setattr(single_sign_on, "MAX_GROUPS", 3)
    statements = []
    for number in (1, 3, 10**30):
        with CaptureQueriesContext(connection) as captured:
            reply = admin.post(page, {**form(world, issuer), "name": "", "group_mappings-TOTAL_FORMS": number})
        statements.append(len(captured))
    assert statements[1] == statements[0]
    content = reply.content.decode()
    assert "Please submit at most 3 forms." in content
    assert "group_mappings-2-group" in content
    assert "group_mappings-3-group" not in content
    admin.post(page, {**form(world, issuer), "group_mappings-TOTAL_FORMS": 1})
    provider = IdentityProvider.objects.get()
    GroupMapping.objects.bulk_create(
        GroupMapping(provider=provider, group=f"group {number}", role=world.home.roles.get(name="editor"))
        for number in range(4)
    )
    stored = admin.get(f"{PROVIDERS}{provider.pk}/change/").content.decode()
    assert "group_mappings-4-group" in stored


def test_a_provider_that_does_not_answer_is_refused(world: World, settings: Any) -> None:
    settings.RAG_SIGN_IN_PRIVATE_HOSTS = ["127.0.0.1"]
    refused = staff_browser(world.users["admin"]).post(f"{PROVIDERS}add/", form(world, "http://127.0.0.1:1"))
    assert b"could not be reached" in refused.content


def test_another_issuer_needs_the_secret_again_and_knows_nobody(world: World, issuer: str) -> None:
    admin = staff_browser(world.users["admin"])
    admin.post(f"{PROVIDERS}add/", form(world, issuer))
    provider = IdentityProvider.objects.get()
    provider.identities.create(subject="1", user=world.users["editor"])
    page = f"{PROVIDERS}{provider.pk}/change/"
    values = {**form(world, issuer, secret=""), "group_mappings-0-group": "", "group_mappings-0-role": ""}
    assert admin.post(page, values).status_code == 302
    assert provider.identities.count() == 1, "the issuer has not changed"
    with IdentityProviderServer().running() as other:
        values["issuer"] = other.issuer
        assert b"Enter the secret again" in admin.post(page, values).content
        assert provider.identities.count() == 1
        assert admin.post(page, {**values, "secret": "another secret"}).status_code == 302
    provider.refresh_from_db()
    assert (provider.issuer, provider.identities.count()) == (other.issuer, 0)


def saml_form(world: World, metadata: str) -> dict[str, Any]:
    return form(world, "", protocol="saml", client_id="", secret="", metadata=metadata) | {"issuer": ""}


def without_mappings(values: dict[str, Any]) -> dict[str, Any]:
    return values | {"group_mappings-0-group": "", "group_mappings-0-role": ""}


def test_a_saml_provider_needs_its_metadata(world: World) -> None:
    admin = staff_browser(world.users["admin"])
    for metadata, text in (("", b"This field is required"), ("x", b"malformed XML")):
        assert text in admin.post(f"{PROVIDERS}add/", saml_form(world, metadata)).content


def test_a_saml_provider_is_configured_with_its_metadata(world: World) -> None:
    admin, idp = staff_browser(world.users["admin"]), SamlProvider()
    assert admin.post(f"{PROVIDERS}add/", saml_form(world, idp.metadata())).status_code == 302
    provider = IdentityProvider.objects.get()
    assert (provider.issuer, provider.sign_in_url, provider.sign_out_url) == (
        idp.issuer,
        idp.sign_in_url,
        idp.sign_out_url,
    )
    assert (provider.certificates, provider.group_mappings.count()) == (idp.certificate, 1)
    page = admin.get(f"{PROVIDERS}{provider.pk}/change/").content.decode()
    for address in ("metadata", "response", "logout"):
        assert f"<code>http://testserver/sign-in/saml/{provider.pk}/{address}</code>" in page
    assert (provider.client_secret in page, 'name="issuer"' in page) == (False, False)
    assert str(provider.pk) not in admin.get(f"{PROVIDERS}add/").content.decode(), "the page of another provider"


def test_new_metadata_replace_the_earlier_ones_and_another_issuer_knows_nobody(world: World) -> None:
    admin, idp = staff_browser(world.users["admin"]), SamlProvider()
    admin.post(f"{PROVIDERS}add/", saml_form(world, idp.metadata()))
    provider = IdentityProvider.objects.get()
    provider.identities.create(subject="1", user=world.users["editor"])
    address, key = f"{PROVIDERS}{provider.pk}/change/", provider.client_secret
    values = without_mappings(saml_form(world, ""))
    assert admin.post(address, {**values, "name": "Entra"}).status_code == 302
    provider.refresh_from_db()
    assert (provider.name, provider.issuer, provider.identities.count()) == ("Entra", idp.issuer, 1), "no metadata"
    done = "https://idp.example/done"
    assert admin.post(address, {**values, "metadata": idp.metadata(sign_out_response_url=done)}).status_code == 302
    provider.refresh_from_db()
    assert provider.sign_out_response_url == done
    assert AuditEvent.objects.latest("id").after["sign_out_response_url"] == done
    assert admin.post(address, {**values, "metadata": idp.metadata(issuer="other")}).status_code == 302
    provider.refresh_from_db()
    assert provider.sign_out_response_url == "", "the address of the former metadata"
    assert (provider.issuer, provider.identities.count(), provider.client_secret) == ("other", 0, key)


def test_a_key_that_a_new_secret_key_cannot_decrypt_is_replaced(world: World) -> None:
    admin, idp = staff_browser(world.users["admin"]), SamlProvider()
    admin.post(f"{PROVIDERS}add/", saml_form(world, idp.metadata()))
    provider = IdentityProvider.objects.get()
    IdentityProvider.objects.update(client_secret="unreadable")
    assert b"entered again" in Client().get(f"/sign-in/saml/{provider.pk}/metadata").content
    values = without_mappings(saml_form(world, idp.metadata()))
    assert admin.post(f"{PROVIDERS}{provider.pk}/change/", values).status_code == 302
    assert Client().get(f"/sign-in/saml/{provider.pk}/metadata").status_code == 200


def test_only_those_with_every_permission_configure_it(world: World, issuer: str) -> None:
    clerk = User.objects.create_user("clerk@home.example", PASSWORD)
    Role.objects.create(organization=world.home, name="clerk", permissions=["members.manage"])
    add_member(user=clerk, organization=world.home, roles=["clerk"])
    for user in (clerk, world.users["foreigner"]):
        assert staff_browser(user).post(f"{PROVIDERS}add/", form(world, issuer)).status_code in (302, 403)
    assert not IdentityProvider.objects.exists()


def test_superusers_verify_domains(world: World) -> None:
    admin, root = (
        staff_browser(world.users["admin"]),
        staff_browser(User.objects.create_superuser("root@x.example", PASSWORD)),
    )
    assert admin.post(f"{DOMAINS}add/", {"organization": world.home.pk, "domain": "home.example"}).status_code == 302
    assert (
        b"Enter a domain such as"
        in admin.post(f"{DOMAINS}add/", {"organization": world.home.pk, "domain": "a b"}).content
    )
    domain = SignInDomain.objects.get()
    verify = {"action": "verify", "_selected_action": [domain.pk]}
    admin.post(DOMAINS, verify, follow=True)
    domain.refresh_from_db()
    assert domain.verified_at is None
    SignInDomain.objects.create(organization=world.abroad, domain="home.example")
    verify["_selected_action"] = [row.pk for row in SignInDomain.objects.all()]
    page = root.post(DOMAINS, verify, follow=True).content.decode()
    assert "belongs to another organisation already" in page
    assert "1 domain is confirmed." in page
    assert SignInDomain.objects.exclude(verified_at=None).count() == 1


def test_the_token_of_a_directory_is_shown_once(world: World) -> None:
    admin = staff_browser(world.users["admin"])
    page = admin.post(f"{TOKENS}add/", {"organization": world.home.pk}, follow=True).content.decode()
    (secret,) = re.findall(r"scim_[\w-]{43}", page)
    token = ScimToken.objects.get()
    assert secret not in admin.get(TOKENS).content.decode() + str(vars(token))
    page = admin.post(TOKENS, {"action": "replace", "_selected_action": [token.pk]}, follow=True).content.decode()
    (new_secret,) = re.findall(r"scim_[\w-]{43}", page)
    usable = [Client().get("/scim/v2/Users", headers={"Authorization": f"Bearer {s}"}) for s in (secret, new_secret)]
    assert [reply.status_code for reply in usable] == [401, 200]
    assert staff_browser(world.users["editor"]).get(TOKENS).status_code == 403


def link(world: World, organization: str, name: str) -> LinkedIdentity:
    """Link a user to the provider of an organisation that owns the domain `home.example`."""
    of_organization = getattr(world, organization)
    provider, _ = IdentityProvider.objects.get_or_create(
        organization=of_organization, defaults={"name": f"Okta of {organization}", "issuer": "https://okta.example"}
    )
    return LinkedIdentity.objects.create(provider=provider, subject=f"subject of {name}", user=world.users[name])


@pytest.mark.parametrize("at_once", [False, True], ids=["one", "selected"])
def test_unlinking_ends_the_sign_ins_of_a_person(
    world: World, django_capture_on_commit_callbacks: Any, at_once: bool
) -> None:
    SignInDomain.objects.create(organization=world.home, domain="home.example", verified_at=timezone.now())
    link(world, "abroad", "foreigner")
    linked, admin, person = (
        link(world, "home", "editor"),
        staff_browser(world.users["admin"]),
        staff_browser(world.users["editor"]),
    )
    page = admin.get(LINKED_ACCOUNTS).content.decode()
    assert ("subject of editor" in page, "foreigner" in page, "Okta of abroad" in page) == (True, False, False)
    assert person.get("/account").status_code == 200
    address = LINKED_ACCOUNTS if at_once else f"{LINKED_ACCOUNTS}{linked.pk}/delete/"
    values = {"action": "delete_selected", "_selected_action": linked.pk} if at_once else {}
    with django_capture_on_commit_callbacks(execute=True):
        assert admin.post(address, {**values, "post": "yes"}).status_code == 302
    assert (LinkedIdentity.objects.get().user, person.get("/account").status_code) == (world.users["foreigner"], 302)
    event = AuditEvent.objects.get(kind="linked_identity", action="deleted")
    assert (event.actor_id, event.subject_id) == (world.users["admin"].pk, world.users["editor"].pk)


def test_linked_accounts_are_unlinked_only_by_those_who_manage_everything(world: World) -> None:
    linked, foreign = link(world, "home", "editor"), link(world, "abroad", "foreigner")
    for name, row, status in (("editor", linked, 403), ("admin", foreign, 302), ("admin", linked, 302)):
        answer = staff_browser(world.users[name]).post(f"{LINKED_ACCOUNTS}{row.pk}/delete/", {"post": "yes"})
        assert answer.status_code == status, name
    assert LinkedIdentity.objects.get() == foreign


def test_an_organisation_without_the_domain_ends_nobodys_sign_ins(
    world: World, django_capture_on_commit_callbacks: Any
) -> None:
    linked, person = link(world, "home", "foreigner"), staff_browser(world.users["foreigner"])
    with django_capture_on_commit_callbacks(execute=True):
        staff_browser(world.users["admin"]).post(f"{LINKED_ACCOUNTS}{linked.pk}/delete/", {"post": "yes"})
    assert (LinkedIdentity.objects.exists(), person.get("/account").status_code) == (False, 200)
