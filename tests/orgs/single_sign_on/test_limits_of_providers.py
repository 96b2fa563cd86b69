"""What an identity provider, and the organisation that configures it, cannot do to others."""

import contextlib
import gzip
import json
import re
import secrets
import uuid
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from orgs.creation import add_member
from orgs.models import IdentityProvider, LinkedIdentity, SignInDomain
from orgs.single_sign_on import discovery, linked_accounts, provider_requests
from orgs.single_sign_on.provider_requests import IdentityProviderFailed, Provider
from orgs.single_sign_on.saml.metadata import read_metadata
from tests.accounts.sign_in.sign_in_requests import current_totp
from tests.orgs.admin.test_single_sign_on import PROVIDERS, form
from tests.orgs.single_sign_on.conftest import EMAIL
from tests.orgs.single_sign_on.openid_sign_in import sign_in
from tests.support.browsers import staff_browser
from tests.support.checks.normalization import record_normalized_lengths
from tests.support.factories import PASSWORD, World
from tests.support.servers.broken_http_server import BrokenHttpServer
from tests.support.servers.saml_provider import SamlProvider


def test_an_organisation_locks_out_nobody_whose_address_it_does_not_own(
    provider: IdentityProvider, server: Any, world: World
) -> None:
    """An organisation can invite everybody, but its provider may sign in only people of its own domains."""
    guest = world.users["foreigner"]
    add_member(user=guest, organization=world.home)
    IdentityProvider.objects.update(is_enforced=True)
    sign_in_page = {"username": guest.email, "password": PASSWORD}
    assert Client().post("/sign-in", sign_in_page).status_code == 302
    SignInDomain.objects.create(organization=world.home, domain=guest.email.rpartition("@")[2])
    assert Client().post("/sign-in", sign_in_page).status_code == 302, "a domain that nobody has verified"
    SignInDomain.objects.update(verified_at=timezone.now())
    assert Client().post("/sign-in", sign_in_page).status_code == 200


@pytest.mark.parametrize(
    ("claim", "name"),
    [("A\0da\n Lovelace\u202e", "A da Lovelace"), ("a" * 151, "a" * 150), ({"x": "y"}, ""), (None, "")],
    ids=["control characters", "too long", "no text", "none"],
)
def test_names_are_stored_as_they_can_be_shown(provider: IdentityProvider, server: Any, claim: Any, name: str) -> None:
    server.person |= {"name": claim}
    assert sign_in(Client()).status_code == 302
    assert User.objects.get(email=EMAIL).name == name


def test_a_first_sign_in_that_another_one_overtakes_uses_its_rows(
    provider: IdentityProvider, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken = iter([True, False])

    def name_of_overtaken(claims: dict[str, Any]) -> str:  # between the look-up of the account and its creation
        return User.objects.create_user(EMAIL).name if next(overtaken) else "Ada"

    with monkeypatch.context() as patch:
        patch.setattr(linked_accounts, "_displayable_name", name_of_overtaken)
        assert sign_in(Client()).status_code == 302
    assert (User.objects.get(email=EMAIL).name, list(overtaken)) == ("Ada", [])
    # The link is written between its look-up and its creation.
    monkeypatch.setattr(linked_accounts, "_linked_identity", lambda provider, subject: None)
    assert sign_in(Client()).status_code == 302
    assert LinkedIdentity.objects.count() == 1


def test_a_provider_is_waited_for_until_a_deadline(
    provider: IdentityProvider, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also its headers: each part of them begins the time-out of the connection again."""
    monkeypatch.setattr(provider_requests, "_MAX_SECONDS", -1.0)
    with pytest.raises(IdentityProviderFailed, match="Timeout"):
        request_keys(server)


def test_a_compressed_response_is_not_decompressed(provider: IdentityProvider, server: Any) -> None:
    """46 kilobytes, compressed three times, took 11 seconds of CPU time, and the deadline ended nothing meanwhile."""
    body = gzip.compress(json.dumps(server.keys()).encode())
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(body)
    with BrokenHttpServer().running() as upstream:
        upstream.once(head + body)
        with pytest.raises(IdentityProviderFailed, match="compresses"):
            provider_requests.request("GET", upstream.address, provider=new_provider())
    assert b"accept-encoding: identity\n" in upstream.requests[0]


def test_no_long_address_of_a_provider_is_taken_apart(
    provider: IdentityProvider, server: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Combining characters in its host, 100,000 of them, took seven seconds, in which no other thread ran."""
    address = "https://a" + "\u0315\u0300" * 2_000
    monkeypatch.setattr(server, "configuration", lambda: {"issuer": server.issuer, "token_endpoint": address})
    lengths = record_normalized_lengths(monkeypatch)
    with pytest.raises(IdentityProviderFailed, match="does not say where its token_endpoint is"):
        discovery.find_endpoint(Provider(uuid.uuid4(), server.issuer), "token_endpoint", refresh=True)
    described = SamlProvider().metadata(sign_in_url=address)
    with pytest.raises(IdentityProviderFailed, match="too long"):
        read_metadata(described)
    assert max(lengths) <= 1_000


@pytest.mark.parametrize("is_endpoint", [True, False], ids=["a long endpoint", "a long ID token"])
def test_sessions_store_no_long_addresses_of_providers(
    provider: IdentityProvider, server: Any, monkeypatch: pytest.MonkeyPatch, is_endpoint: bool
) -> None:
    """Each sign-in could store a megabyte."""
    padding = secrets.token_hex(50_000)
    if is_endpoint:
        configuration = {**server.configuration(), "end_session_endpoint": f"https://idp.example/{padding}"}
        monkeypatch.setattr(server, "configuration", lambda: configuration)
    else:
        server.change_claims = lambda claims: claims.update(padding=padding)
    browser = Client()
    assert sign_in(browser).status_code == 302
    (stored,) = Session.objects.values_list("session_data", flat=True)
    assert len(stored) < 30_000
    assert browser.post("/sign-out").headers["Location"] == "/sign-in", "only here"


def request_keys(server: Any, provider: Provider | None = None) -> dict[str, Any]:
    """Request the keys as a provider; by default one whose organisation has no other requests."""
    default = Provider(uuid.uuid4(), server.issuer)
    return provider_requests.request("GET", f"{server.issuer}/keys", provider=provider or default)


def new_provider(number: int = 0) -> Provider:
    """Return the provider of another organisation."""
    return Provider(uuid.uuid4(), f"https://{number}.example")


def known_provider() -> Provider:
    """Return the provider of another organisation, which has answered quickly."""
    provider = new_provider()
    provider_requests._known_from[provider] = 0.0
    return provider


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> list[Provider]:
    """The providers that threads wait for, without waiting for a turn."""
    providers: list[Provider] = []
    monkeypatch.setattr(provider_requests, "_MAX_WAIT_SECONDS", 0.0)
    monkeypatch.setattr(provider_requests, "_waited_for", providers)
    monkeypatch.setattr(provider_requests, "_known_from", {})
    return providers


def take(places: list[Provider], *providers: Provider) -> int:
    """Let threads begin to wait for these providers as long as there are places, and return how many do."""
    taken = len(places)
    for provider in providers:
        if provider_requests.has_place(provider):
            places.append(provider)
    return len(places) - taken


def test_few_threads_wait_for_providers(server: Any, places: list[Provider]) -> None:
    places += [known_provider() for _ in range(8)]
    with pytest.raises(IdentityProviderFailed, match="Too many people"):
        request_keys(server)
    places.pop()
    for url in ("http://127.0.0.1:1", f"{server.issuer}/token"):
        form = {"code": "x", "code_verifier": "x", "redirect_uri": "x"}
        with contextlib.suppress(IdentityProviderFailed):
            provider_requests.request("POST", url, provider=new_provider(), form=form)
    assert request_keys(server), "each request has given its place back"


def test_a_provider_leaves_places_to_others(server: Any, places: list[Provider]) -> None:
    """An organisation chooses its provider, and everybody can begin to sign in with it."""
    known = known_provider()
    assert take(places, *[known] * 8) == 4
    assert request_keys(server)
    with pytest.raises(IdentityProviderFailed, match="Too many people"):
        request_keys(server, known)


def test_providers_share_the_places(server: Any, places: list[Provider]) -> None:
    """Two organisations whose providers become slow leave places to the next ones."""
    assert take(places, *[known_provider()] * 8, *[known_provider()] * 8) == 6
    assert request_keys(server)


def test_the_addresses_of_an_organisation_share_its_places(server: Any, places: list[Provider]) -> None:
    """An owner can enter any number of providers' addresses, and each is requested when it is saved."""
    organization = uuid.uuid4()
    addresses = [Provider(organization, f"https://{number}.example") for number in range(8)]
    for address in addresses[:6]:
        provider_requests._known_from[address] = 0.0
    assert take(places, *addresses[6:], *addresses) == 4
    places.clear()
    assert take(places, *addresses, *addresses[6:]) == 4
    assert take(places, *[known_provider()] * 2, new_provider()) == 3
    assert request_keys(server)


def test_saving_an_address_and_signing_in_take_a_place_of_the_organisation(
    server: Any, world: World, places: list[Provider]
) -> None:
    places += [Provider(world.home.pk, f"https://{number}.example") for number in range(2)]
    admin, values = staff_browser(world.users["admin"]), form(world, server.issuer)
    assert b"Too many people" in admin.post(f"{PROVIDERS}add/", values).content
    first = places.pop()
    assert admin.post(f"{PROVIDERS}add/", values).status_code == 302
    SignInDomain.objects.create(organization=world.home, domain="home.example", verified_at=timezone.now())
    discovery._cache.clear()
    provider_requests._known_from.clear()
    places.append(first)
    assert Client().post("/sign-in/organization", {"email": EMAIL}).status_code == 502
    places.remove(first)
    assert Client().post("/sign-in/organization", {"email": EMAIL}).status_code == 200


def test_new_and_slow_providers_leave_places_to_known_ones(
    server: Any, places: list[Provider], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together they may wait in half of the places, however many they and their organisations are."""
    monkeypatch.setattr(provider_requests, "_SLOW_SECONDS", -1.0)
    slow = [known_provider() for _ in range(3)]
    for provider in slow:
        assert request_keys(server, provider)
    monkeypatch.setattr(provider_requests, "_SLOW_SECONDS", 60.0)
    new = [new_provider(number) for number in range(3)]
    assert take(places, *slow, *new) == 4
    with pytest.raises(IdentityProviderFailed, match="Too many people"):
        request_keys(server, new[1])
    assert request_keys(server, known := known_provider())
    places.remove(slow[0])
    assert request_keys(server, new[1]), "they are served too"
    assert take(places, slow[0], new[1], known) == 3, "what has answered quickly is known now"


@pytest.mark.parametrize("email", ["", "ada", "ada@", "ada@home.example\0", "\0", "ada@unknown.example", "@" * 300])
def test_an_address_without_a_provider_is_answered(provider: IdentityProvider, email: str) -> None:
    assert Client().post("/sign-in/organization", {"email": email}).status_code == 404


def test_only_the_form_begins_a_sign_in(provider: IdentityProvider) -> None:
    """A link or form of another site would sign people in to an account that it chooses."""
    browser = Client(enforce_csrf_checks=True)
    link = browser.get("/sign-in/organization", {"email": EMAIL})
    assert (link.status_code, link.headers.get("Location"), "sign_in_attempt" in link.cookies) == (
        302,
        "/sign-in",
        False,
    )
    assert browser.post("/sign-in/organization", {"email": EMAIL}).status_code == 403
    page = browser.get("/sign-in").content.decode()
    form = page.partition('action="/sign-in/organization"')[2].partition("</form>")[0]
    (token,) = re.findall(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
    values = {"email": EMAIL, "csrfmiddlewaretoken": token}
    assert "sign_in_attempt" in browser.post("/sign-in/organization", values).cookies


@pytest.mark.parametrize(("policy", "needs_code"), [("required", True), ("optional", False)])
def test_staff_enter_their_own_code_where_the_operator_requires_it(
    provider: IdentityProvider, server: Any, world: World, settings: Any, policy: str, needs_code: bool
) -> None:
    settings.RAG_STAFF_OTP = policy
    staff, browser = world.users["editor"], Client()
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    TOTPDevice.objects.create(user=staff, confirmed=True)
    server.person = {"sub": "2", "email": staff.email, "groups": "writers"}
    address = sign_in(browser, staff.email).headers["Location"]
    assert address.startswith("/sign-in/code?" if needs_code else "/")
    assert browser.get("/admin/").status_code == (302 if needs_code else 200)
    if not needs_code:
        assert browser.get("/sign-in/code").status_code == 302
        return
    assert browser.get(address).status_code == 200
    assert browser.post(address, {"code": "wrong"}).status_code == 400
    assert browser.get("/admin/").status_code == 302
    done = browser.post(address, {"code": current_totp(staff)})
    assert (done.status_code, done.headers.get("Location"), browser.get("/admin/").status_code) == (302, "/", 200)
    assert Client().get(address).headers["Location"] == "/sign-in"
