"""A SAML identity provider, written from the specifications. It talks through the browser, so it needs no server."""

import base64
import datetime
import secrets
import zlib
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.x509.oid import NameOID
from lxml import etree
from signxml.signer import XMLSigner

NAMESPACES = {
    "samlp": "urn:oasis:names:tc:SAML:2.0:protocol",
    "saml": "urn:oasis:names:tc:SAML:2.0:assertion",
    "md": "urn:oasis:names:tc:SAML:2.0:metadata",
    "ds": "http://www.w3.org/2000/09/xmldsig#",
}
DECLARATIONS = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
_RSA_SHA256 = "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"
Values = dict[str, str]


def time(seconds: float = 0) -> str:
    moment = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse(message: bytes) -> Any:
    return etree.fromstring(message)


class SamlProvider:
    """Signs in `person`.

    Attributes:
        person: The NameID, and the attributes by their name.
        values: Values of a response that differ from the right ones.
    """

    issuer = "https://idp.example/saml"
    sign_in_url, sign_out_url = "https://idp.example/sign-in?tenant=1", "https://idp.example/sign-out"

    def __init__(self) -> None:
        self.key = rsa.generate_private_key(65_537, 2_048)
        self.person: dict[str, Any] = {}
        self.values: Values = {}
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "idp.example")])
        now = datetime.datetime.now(datetime.UTC)
        one_day = datetime.timedelta(days=1)
        self.certificate = (
            x509.CertificateBuilder(name, name, self.key.public_key(), 1, now - one_day, now + one_day)
            .sign(self.key, hashes.SHA256())
            .public_bytes(serialization.Encoding.PEM)
            .decode()
        )

    def private_key(self) -> bytes:
        """The key in PEM, for a provider of another program."""
        encoding, format_ = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return self.key.private_bytes(encoding, format_, serialization.NoEncryption())

    def metadata(self, **changes: str) -> str:
        certificate = "".join(self.certificate.splitlines()[1:-1])
        values = {"issuer": self.issuer, "sign_in_url": self.sign_in_url, "certificate": certificate, **changes}
        response_location = values.get("sign_out_response_url")
        responses = "" if response_location is None else f'ResponseLocation="{response_location}"'
        binding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP"
        return f"""<?xml version="1.0"?>
        <md:EntityDescriptor {DECLARATIONS} entityID="{values["issuer"]}">
          <md:IDPSSODescriptor protocolSupportEnumeration="{NAMESPACES["samlp"]}">
            <md:KeyDescriptor use="signing"><ds:KeyInfo><ds:X509Data>
              <ds:X509Certificate>{values["certificate"]}</ds:X509Certificate></ds:X509Data></ds:KeyInfo>
            </md:KeyDescriptor>
            <md:SingleLogoutService Binding="{binding}-Redirect" Location="{self.sign_out_url}" {responses}/>
            <md:SingleSignOnService Binding="{binding}-POST" Location="https://idp.example/post"/>
            <md:SingleSignOnService Binding="{binding}-Redirect" Location="{values["sign_in_url"]}"/>
          </md:IDPSSODescriptor>
        </md:EntityDescriptor>"""

    def read(self, url: str, parameter: str, sp_metadata: bytes) -> Any:
        """Return the message in an address, whose signature must be the one of the metadata."""
        query = urlsplit(url).query
        fields = parse_qs(query)
        (certificate,) = parse(sp_metadata).findall(".//ds:X509Certificate", NAMESPACES)
        key = x509.load_der_x509_certificate(base64.b64decode(certificate.text)).public_key()
        assert isinstance(key, rsa.RSAPublicKey)
        start = query.index(f"{parameter}=")
        content = query[start : query.index("&Signature=")]
        key.verify(base64.b64decode(fields["Signature"][0]), content.encode(), padding.PKCS1v15(), hashes.SHA256())
        return parse(zlib.decompress(base64.b64decode(fields[parameter][0]), wbits=-15))

    def response(self, request: Any, *, change: Callable[[str], str] = str) -> str:
        """Return the response to a request, whose assertion is signed, before `change` is applied to the XML."""
        sign = self.sign
        values = {
            "id": f"_{secrets.token_hex(16)}",
            "issuer": self.issuer,
            "audience": request.findtext("saml:Issuer", namespaces=NAMESPACES),
            "recipient": request.get("AssertionConsumerServiceURL"),
            "destination": request.get("AssertionConsumerServiceURL"),
            "in_response_to": request.get("ID"),
            "not_before": time(-5),
            "until": time(300),
            "confirmed_until": time(300),
            "format": "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent",
            "status": "urn:oasis:names:tc:SAML:2.0:status:Success",
            **self.values,
        }
        assertion = sign(self._assertion(values))
        response = self._envelope(values, assertion)
        return base64.b64encode(change(response).encode()).decode()

    def sign(self, text: str) -> str:
        """Return the element with a signature of it, as its second child."""
        element = parse(text.encode())
        element.insert(1, etree.SubElement(element, f"{{{NAMESPACES['ds']}}}Signature", Id="placeholder"))
        signer = XMLSigner(c14n_algorithm="http://www.w3.org/2001/10/xml-exc-c14n#")
        signed = signer.sign(
            element, key=self.key, cert=self.certificate, reference_uri=f"#{element.get('ID')}", id_attribute="ID"
        )
        return str(etree.tostring(signed).decode())

    def logout_url(self, sp_url: str, subject: str, **changes: str) -> str:
        """Return the address with a signed request to sign somebody out."""
        values = {"issued": time(), "until": time(300), "issuer": self.issuer, "destination": sp_url, **changes}
        message = f"""<samlp:LogoutRequest {DECLARATIONS} ID="_out" Version="2.0" IssueInstant="{values["issued"]}"
            NotOnOrAfter="{values["until"]}" Destination="{values["destination"]}"
            ><saml:Issuer>{values["issuer"]}</saml:Issuer><saml:NameID>{subject}</saml:NameID></samlp:LogoutRequest>"""
        compressor = zlib.compressobj(wbits=-15)
        content = base64.b64encode(compressor.compress(message.encode()) + compressor.flush()).decode()
        relay_state = changes.get("relay_state", "&RelayState=a%2fb")
        query = f"SAMLRequest={quote(content, safe='')}{relay_state}&SigAlg={quote(_RSA_SHA256, safe='')}"
        signature = base64.b64encode(self.key.sign(query.encode(), padding.PKCS1v15(), hashes.SHA256())).decode()
        return f"{sp_url}?{query}&Signature={quote(signature, safe='')}"

    def logout_form(self, sp_url: str, subject: str) -> str:
        """Return the content of a form with a signed request to sign somebody out."""
        message = f"""<samlp:LogoutRequest {DECLARATIONS} ID="_out" Version="2.0" IssueInstant="{time()}"
            Destination="{sp_url}"><saml:Issuer>{self.issuer}</saml:Issuer>
            <saml:NameID>{subject}</saml:NameID></samlp:LogoutRequest>"""
        return base64.b64encode(self.sign(message).encode()).decode()

    def _envelope(self, values: Values, assertion: str) -> str:
        return f"""<samlp:Response {DECLARATIONS} ID="_r{values["id"]}" Version="2.0" IssueInstant="{time()}"
            Destination="{values["destination"]}" InResponseTo="{values["in_response_to"]}"
            ><saml:Issuer>{values["issuer"]}</saml:Issuer><samlp:Status><samlp:StatusCode
            Value="{values["status"]}"/></samlp:Status>{assertion}</samlp:Response>"""

    def _assertion(self, values: Values) -> str:
        attributes = "".join(
            f'<saml:Attribute Name="{name}">'
            + "".join(f"<saml:AttributeValue>{item}</saml:AttributeValue>" for item in items)
            + "</saml:Attribute>"
            for name, items in self.person["attributes"].items()
        )
        return f"""<saml:Assertion {DECLARATIONS} ID="{values["id"]}" Version="2.0" IssueInstant="{time()}"
            ><saml:Issuer>{values["issuer"]}</saml:Issuer><saml:Subject><saml:NameID Format="{values["format"]}"
            >{self.person["subject"]}</saml:NameID><saml:SubjectConfirmation
            Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
            NotOnOrAfter="{values["confirmed_until"]}" Recipient="{values["recipient"]}"
            InResponseTo="{values["in_response_to"]}"/></saml:SubjectConfirmation></saml:Subject>
            <saml:Conditions NotBefore="{values["not_before"]}" NotOnOrAfter="{values["until"]}"
            ><saml:AudienceRestriction><saml:Audience>{values["audience"]}</saml:Audience></saml:AudienceRestriction
            ></saml:Conditions><saml:AuthnStatement AuthnInstant="{time()}" SessionIndex="s1"/>
            <saml:AttributeStatement>{attributes}</saml:AttributeStatement></saml:Assertion>"""
