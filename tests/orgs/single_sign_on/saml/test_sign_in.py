"""Single sign-on with a SAML provider: signing in and out."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from lxml import etree

from accounts.models import User
from orgs.models import IdentityProvider, LinkedIdentity, Membership, SignInDomain, UsedAssertion
from orgs.single_sign_on.saml.metadata import read_metadata
from tests.orgs.single_sign_on.saml.conftest import EMAIL, begin, metadata, send, sign_in
from tests.support.factories import PASSWORD, World
from tests.support.servers.saml_provider import NAMESPACES, SamlProvider, parse, time


def test_people_sign_in_and_get_what_their_groups_have(provider: IdentityProvider, idp: SamlProvider) -> None:
    browser = Client()
    done = sign_in(browser, provider, idp)
    assert (done.status_code, done.headers.get("Location")) == (302, "/"), done.content
    user = User.objects.get(email=EMAIL)
    assert (user.name, user.has_usable_password(), EMAIL in browser.get("/").content.decode()) == ("Ada", False, True)
    membership = Membership.objects.get(user=user)
    assert [role.name for role in membership.roles.all()] == ["editor"]
    assert [team.name for team in membership.teams.all()] == ["support"]


def test_people_are_recognised_by_their_name_id_and_lose_what_a_group_gave(
    provider: IdentityProvider, idp: SamlProvider
) -> None:
    sign_in(Client(), provider, idp)
    membership = Membership.objects.get(user__email=EMAIL)
    idp.person["attributes"] = {"email": ["new@home.example"]}  # another address, and no groups
    assert sign_in(Client(), provider, idp).status_code == 302
    assert (LinkedIdentity.objects.get().user, membership.teams.exists()) == (membership.user, False)


def test_an_address_that_is_somebody_elses_now_opens_nobodys_account(
    provider: IdentityProvider, idp: SamlProvider
) -> None:
    assert sign_in(Client(), provider, idp).status_code == 302
    idp.person["subject"] = "u-2"
    browser = Client()
    assert (sign_in(browser, provider, idp).status_code, browser.get("/").status_code) == (403, 302)
    assert LinkedIdentity.objects.get().subject == "u-1"


def test_a_signed_response_and_the_names_of_other_providers_are_understood(
    provider: IdentityProvider, idp: SamlProvider
) -> None:
    """Entra ID names attributes by URL; others send the address as the NameID, and sign the whole response."""
    claims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims"
    idp.person = {"subject": "x", "attributes": {f"{claims}/emailaddress": ["bob@home.example"]}}
    assert sign_in(Client(), provider, idp).status_code == 302
    idp.person = {"subject": "eve@home.example", "attributes": {}}
    idp.values = {"format": "urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress"}

    def sign_all(response: str) -> str:
        root = parse(response.encode())
        signature = root.find("saml:Assertion/ds:Signature", NAMESPACES)
        signature.getparent().remove(signature)
        return idp.sign(serialize(root))

    assert sign_in(Client(), provider, idp, change=sign_all).status_code == 302
    assert User.objects.filter(email__in=["bob@home.example", "eve@home.example"]).count() == 2


def test_attributes_that_nobody_reads_may_have_elements_within_them(
    provider: IdentityProvider, idp: SamlProvider
) -> None:
    """Shibboleth sends a NameID within eduPersonTargetedID."""
    idp.person["attributes"]["urn:oid:1.3.6.1.4.1.5923.1.1.1.10"] = ["<saml:NameID>x</saml:NameID>"]
    assert sign_in(Client(), provider, idp).status_code == 302
    idp.person = {"subject": "x", "attributes": {"email": ["bob@home.example<saml:NameID>x</saml:NameID>"]}}
    assert sign_in(Client(), provider, idp).status_code == 502


def test_groups_may_come_as_attributes_of_one_name(provider: IdentityProvider, idp: SamlProvider) -> None:
    """Keycloak sends roles so, unless "Single Role Attribute" is on."""
    following = '</saml:AttributeValue></saml:Attribute><saml:Attribute Name="groups"><saml:AttributeValue>'
    idp.person["attributes"]["groups"] = [following.join(["unknown", "writers", "others"])]
    assert sign_in(Client(), provider, idp).status_code == 302
    assert [role.name for role in Membership.objects.get(user__email=EMAIL).roles.all()] == ["editor"]


def serialize(root: Any) -> str:
    return str(etree.tostring(root).decode())


def test_a_browser_that_holds_back_its_cookies_is_asked_again(provider: IdentityProvider, idp: SamlProvider) -> None:
    """Browsers send no cookies with the form of another site."""
    browser = Client()
    response = idp.response(begin(browser, provider, idp))
    page = send(Client(), provider, response)
    assert (page.status_code, f'value="{response}"' in page.content.decode()) == (200, True)
    form = {"SAMLResponse": response, "again": "1"}
    address = f"/sign-in/saml/{provider.pk}/response"
    assert Client().post(address, form).status_code == 400, "another browser's sign-in"
    assert browser.post(address, form).status_code == 302


def test_each_response_signs_in_once(provider: IdentityProvider, idp: SamlProvider) -> None:
    browser = Client()
    request = begin(browser, provider, idp)
    attempt = browser.cookies["sign_in_attempt"].value
    response = idp.response(request)
    assert send(browser, provider, response).status_code == 302
    thief = Client()
    thief.cookies["sign_in_attempt"] = attempt
    assert send(thief, provider, response).status_code == 502
    assert thief.get("/").status_code == 302
    UsedAssertion.objects.update(expires_at=timezone.now())
    assert sign_in(Client(), provider, idp).status_code == 302
    assert UsedAssertion.objects.count() == 1, "what is too old to be used again is forgotten"


def test_a_sign_out_here_goes_on_to_the_provider(provider: IdentityProvider, idp: SamlProvider) -> None:
    browser = Client()
    sign_in(browser, provider, idp)
    page = browser.post("/sign-out").content.decode()
    (path,) = {part.split('"')[0] for part in page.split('href="')[1:] if "/sign-out?person=" in part.split('"')[0]}
    leads = browser.get(path)
    assert leads.status_code == 302
    request = idp.read(leads.headers["Location"], "SAMLRequest", metadata(provider))
    assert (request.findtext("saml:NameID", namespaces=NAMESPACES), request.get("Destination")) == (
        "u-1",
        idp.sign_out_url,
    )
    assert request.findtext("samlp:SessionIndex", namespaces=NAMESPACES) == "s1"
    done = browser.get(f"/sign-in/saml/{provider.pk}/logout", {"SAMLResponse": "any"})
    assert (done.status_code, done.headers["Location"]) == (302, "/sign-in")
    assert browser.get(f"/sign-in/saml/{provider.pk}/sign-out", {"person": "forged"}).headers["Location"] == "/sign-in"


def test_a_sign_out_at_the_provider_ends_sessions_here(provider: IdentityProvider, idp: SamlProvider) -> None:
    url = f"http://testserver/sign-in/saml/{provider.pk}/logout"
    for binding in ("redirect", "form"):
        browser = Client()
        sign_in(browser, provider, idp)
        assert browser.get("/").status_code == 200
        if binding == "redirect":
            reply = Client().get(idp.logout_url(url, "u-1"))
        else:
            reply = Client().post(url, {"SAMLRequest": idp.logout_form(url, "u-1")})
        assert reply.status_code == 302, reply.content
        message = idp.read(reply.headers["Location"], "SAMLResponse", metadata(provider))
        assert (message.get("InResponseTo"), message.get("Destination")) == ("_out", idp.sign_out_url)
        assert browser.get("/").status_code == 302


@pytest.mark.parametrize(
    ("described", "destination"),
    [
        ({"sign_out_response_url": "https://idp.example/done?tenant=1"}, "https://idp.example/done?tenant=1"),
        ({"sign_out_response_url": ""}, SamlProvider.sign_out_url),
        ({}, SamlProvider.sign_out_url),
    ],
)
def test_only_responses_to_sign_outs_go_to_the_response_location(
    provider: IdentityProvider, idp: SamlProvider, described: dict[str, str], destination: str
) -> None:
    read = read_metadata(idp.metadata(**described))
    addresses = {"sign_out_url": read.sign_out_url, "sign_out_response_url": read.sign_out_response_url}
    IdentityProvider.objects.update(**addresses)
    browser = Client()
    sign_in(browser, provider, idp)
    (path,) = re.findall(r'href="([^"]+/sign-out\?person=[^"]+)"', browser.post("/sign-out").content.decode())
    request_url = browser.get(path).headers["Location"]
    reply = Client().get(idp.logout_url(f"http://testserver/sign-in/saml/{provider.pk}/logout", "u-1"))
    for url, parameter, expected in (
        (request_url, "SAMLRequest", idp.sign_out_url),
        (reply.headers["Location"], "SAMLResponse", destination),
    ):
        message = idp.read(url, parameter, metadata(provider))
        assert (url.split(f"{parameter}=")[0][:-1], message.get("Destination")) == (expected, expected)


def test_forged_and_old_sign_outs_are_refused(provider: IdentityProvider, idp: SamlProvider, world: World) -> None:
    url = f"http://testserver/sign-in/saml/{provider.pk}/logout"
    browser = Client()
    sign_in(browser, provider, idp)
    other = SamlProvider()
    right = idp.logout_url(url, "u-1")
    assertion = idp.response(begin(Client(), provider, idp))
    refused = [
        Client().get(right.replace("SigAlg", "Alg")),
        Client().get(right.replace("RelayState=a", "RelayState=b")),
        Client().get(f"{right}&SAMLRequest=x"),
        Client().get(other.logout_url(url, "u-1")),
        Client().get(idp.logout_url(url, "u-1", destination="https://other.example/")),
        Client().get(idp.logout_url(url, "u-1", issuer="https://other.example/")),
        Client().get(idp.logout_url(url, "u-1", issued=time(-301))),
        Client().get(idp.logout_url(url, "u-1", issued=time(301))),
        Client().get(idp.logout_url(url, "u-1", until=time(-61))),
        Client().post(url, {"SAMLRequest": other.logout_form(url, "u-1")}),
        Client().post(url, {"SAMLRequest": assertion}),
        Client().post(url, {"SAMLRequest": "x"}),
    ]
    assert [reply.status_code for reply in refused] == [400] * len(refused)
    assert browser.get("/").status_code == 200
    # A provider that has lost the domain decides about nobody any more.
    SignInDomain.objects.filter(organization=world.home).delete()
    assert Client().get(right).status_code == 302
    assert browser.get("/").status_code == 200


def test_an_enforced_provider_ends_passwords_except_of_the_emergency_account(
    provider: IdentityProvider, world: World
) -> None:
    IdentityProvider.objects.update(is_enforced=True, emergency_user=world.users["owner"])
    statuses = [
        Client().post("/sign-in", {"username": world.users[name].email, "password": PASSWORD}).status_code
        for name in ("owner", "editor")
    ]
    assert statuses == [302, 200]


def test_the_documented_program_runs(provider: IdentityProvider, idp: SamlProvider, tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "admin" / "single-sign-on.md").read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    file = tmp_path / "response.txt"
    file.write_text(idp.response(begin(Client(), provider, idp)))
    done = subprocess.run([sys.executable, "-c", program, file], capture_output=True, text=True, check=True, timeout=60)
    assert "NameID: u-1 urn:oasis:names:tc:SAML:2.0:nameid-format:persistent" in done.stdout
    assert f"audience: http://testserver/sign-in/saml/{provider.pk}/metadata" in done.stdout
    assert "attribute: groups ['writers']" in done.stdout
