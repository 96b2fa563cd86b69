"""Authentication by the access token of an OAuth client, which only the MCP server accepts (accounts/oauth)."""

import uuid

from rest_framework.request import Request
from rest_framework_simplejwt.exceptions import InvalidToken

from accounts.models import User
from accounts.oauth import grants, resource
from orgs.access.caller import Caller
from ragsite.http.require_https import require_https

from .access_tokens import AccessTokenAuthentication
from .base import authenticated


class OAuthTokenAuthentication(AccessTokenAuthentication):
    """`Authorization: Bearer <JWT>` with a token for this resource. Other credentials are left to the next class.

    The token acts for its user. It ends with the user's access, password or grant, which each request checks.
    """

    def authenticate(self, request: Request) -> tuple[User, Caller] | None:  # type: ignore[override]
        header = self.get_header(request)
        raw_token = self.get_raw_token(header) if header else None
        token = raw_token.decode("latin-1") if raw_token else ""
        claims = grants.read_access_token(token, resource=resource.resource_url(request))
        if claims is None:
            return None
        require_https(request)
        user = self.get_user(claims)  # type: ignore[arg-type]  # it reads claims by name
        grant = uuid.UUID(claims["family"])
        if not grants.is_granted(user, grant):
            raise InvalidToken("This access token was revoked.")
        return authenticated(Caller(user, grant=grant))

    def authenticate_header(self, request: Request) -> str:
        """Return the challenge of a 401, which leads clients to the sign-in (RFC 9728, section 5.1)."""
        return f'Bearer resource_metadata="{resource.metadata_url(request)}", scope="{grants.SCOPE}"'
