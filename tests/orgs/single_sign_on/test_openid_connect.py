"""Single sign-on with an OpenID Connect provider, which speaks the protocol over HTTP on loopback."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.audit.events import AuditEvent
from accounts.models import User
from orgs.creation import add_member
from orgs.models import GroupMapping, IdentityProvider, LinkedIdentity, Membership, SignInDomain
from orgs.single_sign_on.linked_accounts import SignInRefused, find_or_create_account
from ragsite.postgres import encryption
from tests.orgs.single_sign_on.conftest import EMAIL
from tests.orgs.single_sign_on.openid_sign_in import begin, sign_in
from tests.support.factories import PASSWORD, World
from tests.support.servers.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProviderServer


def test_people_sign_in_and_get_what_their_groups_have(provider: IdentityProvider) -> None:
    browser = Client()
    done = sign_in(browser)
    assert (done.status_code, done.headers["Location"]) == (302, "/"), done.content
    user = User.objects.get(email=EMAIL)
    assert (user.name, user.has_usable_password(), EMAIL in browser.get("/").content.decode()) == ("Ada", False, True)
    membership = Membership.objects.get(user=user)
    assert [role.name for role in membership.roles.all()] == ["editor"]
    assert [team.name for team in membership.teams.all()] == ["support"]


def test_what_a_group_gave_ends_with_the_group(provider: IdentityProvider, server: Any) -> None:
    sign_in(Client())
    membership = Membership.objects.get(user__email=EMAIL)
    membership.roles.add(provider.organization.roles.get(name="member"))  # what an administrator gives stays
    server.person |= {"groups": []}
    assert sign_in(Client()).status_code == 302
    assert [role.name for role in membership.roles.all()] == ["member"]
    assert not membership.teams.exists()


def test_a_person_whose_address_has_changed_keeps_the_account(provider: IdentityProvider, server: Any) -> None:
    sign_in(Client())
    user = User.objects.get(email=EMAIL)
    server.person |= {"email": "new@home.example"}
    assert sign_in(Client(), "new@home.example").status_code == 302
    assert LinkedIdentity.objects.get().user == user


def test_signing_out_leads_to_the_sign_out_of_the_provider(provider: IdentityProvider, server: Any) -> None:
    browser = Client()
    sign_in(browser)
    page = browser.post("/sign-out").content.decode()
    assert f"{server.issuer}/logout?id_token_hint=" in page
    assert browser.get("/").status_code == 302


def test_an_existing_account_is_used_and_a_new_one_without_groups_is_a_member(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    server.person = {"sub": "2", "email": "Editor@HOME.example", "groups": "writers"}
    assert sign_in(Client()).status_code == 302
    assert LinkedIdentity.objects.get().user == world.users["editor"]
    server.person = {"sub": "3", "email": "guest@home.example"}
    assert sign_in(Client()).status_code == 302
    roles = Membership.objects.get(user__email="guest@home.example").roles
    assert [role.name for role in roles.all()] == ["member"]


def test_an_address_that_is_somebody_elses_now_opens_nobodys_account(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    """Providers give the address of a person who has left to another one, who is another subject."""
    assert sign_in(Client()).status_code == 302
    user = User.objects.get(email=EMAIL)
    server.person |= {"sub": "another person"}
    browser = Client()
    refused = sign_in(browser)
    assert (refused.status_code, browser.get("/").status_code) == (403, 302)
    assert b"belongs to another account of your identity provider" in refused.content
    assert LinkedIdentity.objects.get().subject == "1"
    event = AuditEvent.objects.filter(action="sign_in_failed").get()
    assert (event.subject_id, event.organization_id, event.kind) == (user.pk, world.home.pk, "linked_identity")
    LinkedIdentity.objects.get().delete()
    assert sign_in(browser).status_code == 302
    assert (LinkedIdentity.objects.get().user, browser.get("/").status_code) == (user, 200)


def test_the_last_owner_keeps_the_role_that_their_group_has_lost(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    Membership.objects.filter(user=world.users["admin"]).delete()
    GroupMapping.objects.create(provider=provider, group="owners", role=world.home.roles.get(name="owner"))
    server.person = {"sub": "4", "email": "owner@home.example", "groups": []}
    assert sign_in(Client()).status_code == 302
    assert [role.name for role in world.users["owner"].memberships.get().roles.all()] == ["owner"]


def test_only_the_browser_that_began_a_sign_in_completes_it(provider: IdentityProvider) -> None:
    address = begin(Client())
    other = Client()
    assert other.get(address).status_code == 400, "the code of an attacker's own sign-in"
    begin(other)
    assert other.get(address).status_code == 400, "with another state"


def test_a_sign_in_is_completed_only_once(provider: IdentityProvider) -> None:
    browser = Client()
    address = begin(browser)
    assert browser.get(address).status_code == 302
    assert browser.get(address).status_code == 400


def test_a_new_sign_in_replaces_the_one_that_the_browser_began_before(provider: IdentityProvider) -> None:
    browser = Client()
    replaced, address = begin(browser), begin(browser)
    assert browser.get(replaced).status_code == 400
    assert browser.get(address).status_code == 302


def test_the_response_of_another_provider_is_refused(provider: IdentityProvider) -> None:
    browser = Client()
    assert browser.get(begin(browser).replace("iss=http", "iss=https")).status_code == 502


def test_the_code_of_another_sign_in_is_refused(provider: IdentityProvider) -> None:
    """The provider refuses it, because the verifier is another one (PKCE)."""
    code = re.search(r"code=([^&]+)", begin(Client()))
    assert code
    browser = Client()
    assert browser.get(re.sub(r"code=[^&]+", code[0], begin(browser))).status_code == 502


def test_no_provider_gets_the_code_of_another_organisations_provider(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    """A hostile provider sends the browser on to the provider of `home`, as if that one was asked (RFC 9700, 4.4)."""
    with IdentityProviderServer().running() as hostile:
        secret = encryption.encrypt(CLIENT_SECRET, encryption.Purpose.IDENTITY_PROVIDER)
        values = {"organization": world.abroad, "name": "Hostile", "client_id": CLIENT_ID, "client_secret": secret}
        foreign = IdentityProvider.objects.create(issuer=hostile.issuer, **values)
        SignInDomain.objects.create(organization=world.abroad, domain="abroad.example", verified_at=timezone.now())
        own_address = f"/sign-in/callback/{provider.pk}"
        hostile.authorize = lambda request: server.authorize(  # type: ignore[method-assign]
            {**request, "redirect_uri": request["redirect_uri"].replace(f"/sign-in/callback/{foreign.pk}", own_address)}
        )
        response = begin(Client(), "x@abroad.example")
        assert own_address in response, "the only address that is registered at the provider of `home`"
        # Without the issuer, as of a provider that does not know RFC 9207.
        browser = Client()
        address = re.sub(r"&iss=[^&]+", "", begin(browser, "x@abroad.example"))
        assert browser.get(address).status_code == 400
        assert hostile.received_codes == []


@pytest.mark.parametrize(("names_itself", "status"), [(True, 502), (False, 302)])
def test_a_provider_that_always_names_itself_is_not_believed_without(
    provider: IdentityProvider, server: Any, names_itself: bool, status: int
) -> None:
    server.names_itself = names_itself
    browser = Client()
    address = re.sub(r"&iss=[^&]+", "", begin(browser))
    assert browser.get(address).status_code == status


@pytest.mark.parametrize(
    "person",
    [
        {"email": "foreigner@abroad.example"},
        {"email": "ada@unverified.example"},
        {"email": EMAIL, "email_verified": False},
        {"email": EMAIL, "email_verified": "false"},
        {"email": EMAIL, "email_verified": None},
        {"email": "a\0@home.example"},
        {"email": "ada@home.example\0"},
        {"email": f"{'a' * 255}@home.example"},
        {"email": "foreigner@abroad.example,ada@home.example"},
        {"email": '"foreigner@abroad.example"@home.example'},
        {"email": "foreigner@abroad.example@home.example"},
        {"email": None},
        {"email": "root@home.example"},
        {"email": "left@home.example"},
        {"email": "gone@home.example"},
    ],
    ids=lambda person: ascii(person)[:60],
)
def test_nobody_takes_over_an_account(
    provider: IdentityProvider, server: Any, world: World, person: dict[str, Any]
) -> None:
    SignInDomain.objects.create(organization=world.home, domain="unverified.example")
    User.objects.create_superuser("root@home.example", PASSWORD)
    User.objects.create_user("gone@home.example", is_active=False)
    left = add_member(user=User.objects.create_user("left@home.example"), organization=world.home)
    Membership.objects.filter(pk=left.pk).update(is_active=False)
    server.person |= person
    server.change_claims = lambda claims: claims.update({"email_verified": person.get("email_verified", True)})
    before = User.objects.count()
    refused = sign_in(Client())
    assert refused.status_code == 403, refused.content
    assert (User.objects.count(), LinkedIdentity.objects.count()) == (before, 0)


def test_google_vouches_only_for_the_accounts_of_organisations(provider: IdentityProvider) -> None:
    """Somebody who has left keeps a private Google account that has the organisation's address."""
    provider.issuer = "https://accounts.google.com"
    claims = {"sub": "1", "email": EMAIL, "email_verified": True}
    for domain in ({}, {"hd": ""}):
        with pytest.raises(SignInRefused, match="no verified"):
            find_or_create_account(provider, {**claims, **domain})
    assert not User.objects.filter(email=EMAIL).exists()
    assert find_or_create_account(provider, {**claims, "hd": "home.example"}).email == EMAIL


def test_an_enforced_provider_ends_passwords_except_of_the_emergency_account(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    IdentityProvider.objects.update(is_enforced=True, emergency_user=world.users["owner"])

    def password(name: str) -> tuple[int, int]:
        email = world.users[name].email
        page = Client().post("/sign-in", {"username": email, "password": PASSWORD})
        token = Client().post("/api/auth/token", {"email": email, "password": PASSWORD}, "application/json")
        return page.status_code, token.status_code

    assert (password("owner"), password("editor"), password("foreigner")) == ((302, 200), (200, 401), (302, 200))
    server.person = {"sub": "2", "email": "editor@home.example"}
    assert sign_in(Client()).status_code == 302
    IdentityProvider.objects.update(is_active=False)
    assert password("editor") == (302, 200)


def test_an_enforced_provider_ends_what_passwords_have_opened(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    def sign_in_with_password(name: str) -> tuple[Client, str]:
        browser, values = Client(), {"username": world.users[name].email, "password": PASSWORD}
        assert browser.post("/sign-in", values).status_code == 302
        tokens = post("/api/auth/token", email=values["username"], password=PASSWORD)
        return browser, tokens.json()["refresh"]

    def post(path: str, **body: str) -> Any:
        return Client().post(path, body, "application/json")

    browser, refresh = sign_in_with_password("editor")
    emergency_browser, emergency_refresh = sign_in_with_password("owner")
    server.person = {"sub": "2", "email": "editor@home.example"}
    browser_of_provider = Client()
    assert sign_in(browser_of_provider).status_code == 302
    IdentityProvider.objects.update(is_enforced=True, emergency_user=world.users["owner"])
    pages = [client.get("/sign-in/token").status_code for client in (browser, emergency_browser, browser_of_provider)]
    assert pages == [302, 200, 200]
    assert post("/api/auth/token/verify", token=refresh).status_code == 401
    assert post("/api/auth/token/refresh", refresh=refresh).status_code == 401
    assert post("/api/auth/token/verify", token=emergency_refresh).status_code == 200
    assert post("/api/auth/token/refresh", refresh=emergency_refresh).status_code == 200


def test_a_provider_that_fails_is_a_page_that_says_so(provider: IdentityProvider, settings: Any) -> None:
    assert Client().post("/sign-in/organization", {"email": "a@abroad.example"}).status_code == 404
    assert Client().get(f"/sign-in/callback/{provider.pk}", {"state": "x", "code": "y"}).status_code == 400
    IdentityProvider.objects.update(issuer="http://127.0.0.1:1")
    failed = Client().post("/sign-in/organization", {"email": EMAIL})
    assert (failed.status_code, b"could not be reached" in failed.content) == (502, True)
    settings.RAG_SIGN_IN_PRIVATE_HOSTS = []
    for issuer in ("http://127.0.0.1:1", "https://10.0.0.1"):
        IdentityProvider.objects.update(issuer=issuer)
        refused = Client().post("/sign-in/organization", {"email": EMAIL})
        assert (refused.status_code, b"RAG_SIGN_IN_PRIVATE_HOSTS" in refused.content) == (502, True)
