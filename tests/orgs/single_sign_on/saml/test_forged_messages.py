"""Messages of strangers and of other providers at the addresses of SAML."""

import base64
import datetime
import zlib
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID
from django.test import Client
from signxml.verifier import XMLVerifier

from orgs.models import IdentityProvider, LinkedIdentity, Organization, Protocol
from tests.support.servers.saml_provider import DECLARATIONS, SamlProvider, time

from .conftest import EMAIL, sign_in

_NAMESPACES = " ".join(f'xmlns:a{number}="u:{number}"' for number in range(50))
_INCLUSIVE = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"
_EXCLUSIVE = "http://www.w3.org/2001/10/xml-exc-c14n#"
_ENVELOPED = "http://www.w3.org/2000/09/xmldsig#enveloped-signature"
_PREFIXES = (
    f'<i:InclusiveNamespaces xmlns:i="{_EXCLUSIVE}" PrefixList="{" ".join(f"a{number}" for number in range(50))}"/>'
)


def logout_address(provider: IdentityProvider) -> str:
    return f"http://testserver/sign-in/saml/{provider.pk}/logout"


def signed_in(provider: IdentityProvider, idp: SamlProvider) -> Client:
    browser = Client()
    sign_in(browser, provider, idp)
    assert browser.get("/").status_code == 200
    return browser


@pytest.mark.parametrize("name", ["SAML%52equest", "SAMLRequest"])
def test_a_message_beside_the_signed_one_is_refused(provider: IdentityProvider, idp: SamlProvider, name: str) -> None:
    """The signature of an earlier request must not be one of a forged message in the same address."""
    victim, address = signed_in(provider, idp), logout_address(provider)
    signed = idp.logout_url(address, "stranger")
    forged = (
        f'<samlp:LogoutRequest {DECLARATIONS} ID="_x" Version="2.0" IssueInstant="{time()}" Destination="{address}">'
        f"<saml:Issuer>{idp.issuer}</saml:Issuer><saml:NameID>u-1</saml:NameID></samlp:LogoutRequest>"
    )
    compressor = zlib.compressobj(wbits=-15)
    message = base64.b64encode(compressor.compress(forged.encode()) + compressor.flush()).decode()
    assert Client().get(f"{signed}&{name}={quote(message, safe='')}").status_code == 400
    assert victim.get("/").status_code == 200


def transform(algorithm: str, content: str = "") -> str:
    return f'<Transform Algorithm="{algorithm}">{content}</Transform>'


@pytest.mark.parametrize(
    ("method", "transforms"),
    [
        (_INCLUSIVE, transform(_ENVELOPED) + transform(_EXCLUSIVE)),
        (_EXCLUSIVE, transform(_ENVELOPED) + transform(_INCLUSIVE)),
        (_EXCLUSIVE, transform(_ENVELOPED)),
        (_EXCLUSIVE, transform(_ENVELOPED) + transform(_EXCLUSIVE) * 20),
        (_EXCLUSIVE, transform(_ENVELOPED) + transform(_EXCLUSIVE, _PREFIXES)),
    ],
    ids=["of the signature", "of the content", "of the library", "many times", "of many prefixes"],
)
def test_expensive_canonicalization_is_refused_before_it_begins(
    provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch, method: str, transforms: str
) -> None:
    """Nobody needs an account to send a message, and a provider's hostile namespaces took 14 seconds of CPU time."""

    def verify(*_: Any, **__: Any) -> None:
        pytest.fail("the signature was examined")

    monkeypatch.setattr(XMLVerifier, "verify", verify)
    message = (
        f'<r ID="i"><Signature xmlns="http://www.w3.org/2000/09/xmldsig#" {_NAMESPACES}><SignedInfo>'
        f'<CanonicalizationMethod Algorithm="{method}"/><Reference><Transforms>{transforms}</Transforms></Reference>'
        "</SignedInfo></Signature></r>"
    )
    fields = {"SAMLRequest": base64.b64encode(message.encode()).decode()}
    assert Client().post(logout_address(provider), fields).status_code == 400


def test_a_message_is_examined_once_with_the_key_that_signed_it(
    provider: IdentityProvider, idp: SamlProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A provider may have named ten certificates of one key, and the content is what costs."""
    IdentityProvider.objects.update(certificates=idp.certificate * 10)
    verify, calls = XMLVerifier.verify, []

    def count(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return verify(*args, **options)

    monkeypatch.setattr(XMLVerifier, "verify", count)
    form = base64.b64decode(idp.logout_form(logout_address(provider), "u-1")).replace(b"u-1", b"u-2")
    fields = {"SAMLRequest": base64.b64encode(form).decode()}
    assert (Client().post(logout_address(provider), fields).status_code, len(calls)) == (400, 1)


def test_a_provider_cannot_sign_people_out_at_another_one(
    provider: IdentityProvider, idp: SamlProvider, our_key: str
) -> None:
    other = IdentityProvider.objects.create(
        organization=Organization.objects.get(slug="abroad"),
        name="Other",
        protocol=Protocol.SAML,
        issuer="https://other.example",
        client_secret=our_key,
        sign_in_url="https://other.example/in",
        sign_out_url="https://other.example/out",
        certificates=idp.certificate,
    )
    idp.person = {"subject": "somebody@other.example", "attributes": {"email": [EMAIL]}}
    page = signed_in(provider, idp).post("/sign-out").content.decode()
    (link,) = {part.split('"')[0] for part in page.split('href="') if "/sign-out?person=" in part.split('"')[0]}
    assert Client().get(link).headers["Location"].startswith(idp.sign_out_url)
    assert Client().get(link.replace(str(provider.pk), str(other.pk))).headers["Location"] == "/sign-in"


def test_a_name_with_other_spaces_is_nobody_else(provider: IdentityProvider, idp: SamlProvider) -> None:
    signed_in(provider, idp)
    for subject in ("u-1&#160;", "u-1 ", " u-1"):
        idp.person = {"subject": subject, "attributes": {"email": ["somebody@home.example"]}}
        assert sign_in(Client(), provider, idp).status_code == 502, subject
    assert [link.subject for link in LinkedIdentity.objects.all()] == ["u-1"]


@pytest.mark.parametrize(
    "values",
    [
        {"until": "9999-12-31T23:59:59Z"},
        {"confirmed_until": "9999-12-31T23:59:59Z"},
        {"not_before": "0001-01-01T00:00:00Z"},
    ],
)
def test_times_at_the_ends_of_the_calendar_are_understood(
    provider: IdentityProvider, idp: SamlProvider, values: dict[str, str]
) -> None:
    idp.values = values
    assert sign_in(Client(), provider, idp).status_code == 302


def test_an_expired_certificate_signs_nobody_out(provider: IdentityProvider, idp: SamlProvider) -> None:
    browser, address = signed_in(provider, idp), logout_address(provider)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp")])
    now = datetime.datetime.now(datetime.UTC)
    times = now - datetime.timedelta(days=9), now - datetime.timedelta(days=2)
    expired = x509.CertificateBuilder(name, name, idp.key.public_key(), 1, *times).sign(idp.key, hashes.SHA256())
    provider.certificates = expired.public_bytes(serialization.Encoding.PEM).decode()
    provider.save()
    assert Client().post(address, {"SAMLRequest": idp.logout_form(address, "u-1")}).status_code == 400
    assert Client().get(idp.logout_url(address, "u-1")).status_code == 400
    assert browser.get("/").status_code == 200


def relay_states(reply: Any) -> list[str]:
    assert reply.status_code == 302, reply.content
    return parse_qs(urlsplit(reply.headers["Location"]).query).get("RelayState", [])


def test_only_a_signed_relay_state_is_given_back(provider: IdentityProvider, idp: SamlProvider) -> None:
    """Our signature covers what we give back: a stranger's address must not get it and lead people away."""
    address = logout_address(provider)
    assert relay_states(Client().get(idp.logout_url(address, "u-1"))) == ["a/b"]
    bare = idp.logout_url(address, "u-1", relay_state="")
    assert relay_states(Client().get(bare)) == []
    assert relay_states(Client().get(f"{bare}&Relay%53tate=https://evil.example")) == []
    assert Client().get(f"{bare}&RelayState=https://evil.example").status_code == 400


@pytest.mark.parametrize(
    ("relay_state", "given_back"),
    [
        ("_a1b2-c3.d4/e5+f6==", True),
        ("https://evil.example", False),
        ("//evil.example", False),
        ("/\\evil.example", False),
        ("javascript:alert(1)", False),
        ("a\r\nLocation: x", False),
        ("a\n", False),
    ],
)
def test_a_form_gives_back_no_address(
    provider: IdentityProvider, idp: SamlProvider, relay_state: str, given_back: bool
) -> None:
    """No signature covers the RelayState of a form."""
    address = logout_address(provider)
    fields = {"SAMLRequest": idp.logout_form(address, "u-1"), "RelayState": relay_state}
    assert relay_states(Client().post(address, fields)) == [relay_state] * given_back


def test_an_oversized_relay_state_is_refused(provider: IdentityProvider, idp: SamlProvider) -> None:
    """The relay state would come back three times as long in one header, which proxies refuse without a word."""
    victim, address = signed_in(provider, idp), logout_address(provider)
    statuses = []
    for text in ("a" * 1_000, "a" * 1_001, "é" * 501):
        url = idp.logout_url(address, "stranger", relay_state=f"&RelayState={quote(text)}")
        fields = {"SAMLRequest": idp.logout_form(address, "stranger"), "RelayState": text}
        statuses.append((Client().get(url).status_code, Client().post(address, fields).status_code))
    assert statuses == [(302, 302), (400, 400), (400, 302)], "a form's é is not an opaque value and is left out"
    assert victim.get("/").status_code == 200
