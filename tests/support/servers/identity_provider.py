"""An OpenID Connect provider on loopback, written from the specifications and independent of the product's code."""

import base64
import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import ec

CLIENT_ID, CLIENT_SECRET = "ragsite", "a secret of the client"


class IdentityProviderServer:
    """Signs in `person` without asking, and issues codes that work once.

    Attributes:
        person: The claims about whoever signs in.
        change_claims: Changes the claims of an ID token before it is signed.
        sign: Signs an ID token.
        names_itself: The provider says that its responses name their issuer (RFC 9207).
        received_codes: What clients sent to be exchanged.
        requested_paths: The documents that clients have read.
    """

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.person: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.names_itself = False
        self.received_codes: list[str] = []
        self.requested_paths: list[str] = []
        self.change_claims: Callable[[dict[str, Any]], None] = lambda claims: None
        self.sign: Callable[[dict[str, Any]], str] = self.sign_with_key
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path, query = urlsplit(self.path).path, urlsplit(self.path).query
                provider.requested_paths.append(path)
                given = {name: values[0] for name, values in parse_qs(query).items()}
                if path == "/authorize":
                    self.send_response(302)
                    self.send_header("Location", provider.authorize(given))
                    self.end_headers()
                    return
                documents = {
                    "/.well-known/openid-configuration": provider.configuration,
                    "/keys": provider.keys,
                    "/userinfo": lambda: provider.person,
                }
                self._reply(200, documents[path]())

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                tokens = provider.exchange(form, self.headers.get("Authorization", ""))
                self._reply(200 if tokens else 400, tokens or {"error": "invalid_grant"})

            def _reply(self, status: int, body: Any) -> None:
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"

    @contextmanager
    def running(self) -> Iterator["IdentityProviderServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def configuration(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "jwks_uri": f"{self.issuer}/keys",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "end_session_endpoint": f"{self.issuer}/logout",
            "authorization_response_iss_parameter_supported": self.names_itself,
        }

    def keys(self) -> dict[str, Any]:
        key = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(self._key.public_key()))
        return {"keys": [{**key, "kid": "k1", "use": "sig", "alg": "ES256"}]}

    def authorize(self, request: dict[str, str]) -> str:
        """Where the browser is sent, with a code."""
        assert (request["response_type"], request["client_id"]) == ("code", CLIENT_ID)
        assert (request["code_challenge_method"], "openid" in request["scope"].split()) == ("S256", True)
        code = secrets.token_urlsafe()
        self.codes[code] = request
        response = {"code": code, "state": request["state"], "iss": self.issuer}
        return f"{request['redirect_uri']}?{urlencode(response)}"

    def exchange(self, form: dict[str, str], authorization: str) -> dict[str, str] | None:
        """The tokens for a code; None if the client may not have them."""
        self.received_codes.append(form["code"])
        request = self.codes.pop(form["code"], None)
        credentials = base64.b64encode(f"{CLIENT_ID}:{CLIENT_SECRET}".encode()).decode()
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        if (
            request is None
            or authorization != f"Basic {credentials}"
            or form["redirect_uri"] != request["redirect_uri"]
            or base64.urlsafe_b64encode(challenge).decode().rstrip("=") != request["code_challenge"]
        ):
            return None
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT_ID, "iat": now, "exp": now + 60, "nonce": request["nonce"]}
        claims |= {"sub": self.person["sub"], "email": self.person["email"]}
        self.change_claims(claims)
        return {"access_token": "opaque", "token_type": "Bearer", "id_token": self.sign(claims)}

    def sign_with_key(self, claims: dict[str, Any], *, key_id: str = "k1") -> str:
        # The library for tokens would refuse to sign claims of the wrong types.
        return jwt.PyJWS().encode(json.dumps(claims).encode(), self._key, algorithm="ES256", headers={"kid": key_id})
