"""Dynamic client registration (RFC 7591): any program may register, without a secret, and gets no rights by it.

A client proves nothing but where its codes are sent. What it may do is decided by the person on the consent page.
"""

import ipaddress
from urllib.parse import SplitResult, urlsplit

from django.db.models.functions import Greatest
from django.utils import timezone

from accounts.models import OAuthClient
from ragsite.postgres.models import as_uuid

from .errors import OAuthError

MAX_REDIRECT_URIS, MAX_URI_CHARACTERS, MAX_NAME_CHARACTERS = 10, 500, 100
# Clients that act for nobody make room for new ones, those that nobody has allowed anything for the longest time first.
MAX_UNUSED_CLIENTS = 10_000
GRANT_TYPES = ["authorization_code", "refresh_token"]
RESPONSE_TYPES = ["code"]
_DEFAULT_NAME = "A program without a name"


def register(metadata: object) -> OAuthClient:
    """Store a client.

    Args:
        metadata: The JSON document that the client sent. What it does not need is ignored.

    Raises:
        OAuthError: If the document is not valid, or the client needs what this server does not have.
    """
    if not isinstance(metadata, dict):
        raise _invalid("The body must be a JSON object.")
    uris = metadata.get("redirect_uris")
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_REDIRECT_URIS:
        raise _invalid(f"redirect_uris must be a list of 1 to {MAX_REDIRECT_URIS} addresses.", "invalid_redirect_uri")
    for uri in uris:
        _check_redirect_uri(uri)
    if "authorization_code" not in _read_list(metadata, "grant_types", ["authorization_code"]):
        raise _invalid("grant_types must contain authorization_code.")
    if "code" not in _read_list(metadata, "response_types", RESPONSE_TYPES):
        raise _invalid("response_types must contain code.")
    _make_room()
    return OAuthClient.objects.create(name=_read_name(metadata), redirect_uris=uris)


def describe(client: OAuthClient) -> dict[str, object]:
    """Return the response to a registration. Clients that asked for a secret see that they have none."""
    return {
        "client_id": str(client.pk),
        "client_id_issued_at": int(client.created_at.timestamp()),
        "client_name": client.name,
        "redirect_uris": client.redirect_uris,
        "grant_types": GRANT_TYPES,
        "response_types": RESPONSE_TYPES,
        "token_endpoint_auth_method": "none",
    }


def find(client_id: object) -> OAuthClient | None:
    """Return the client with this id; None if there is none."""
    key = as_uuid(client_id) if isinstance(client_id, str) else None
    return OAuthClient.objects.filter(pk=key).first() if key else None


def record_use(client: OAuthClient) -> None:
    """Record that somebody allowed the client to act for them."""
    OAuthClient.objects.filter(pk=client.pk).update(last_used_at=timezone.now())


def has_redirect_uri(client: OAuthClient, uri: str) -> bool:
    """Return whether codes may be sent to this address: one that was registered, character for character.

    Programs on a person's own machine listen on any free port, so that the port of loopback addresses may differ
    (RFC 8252, section 7.3).
    """
    if uri in client.redirect_uris:
        return True
    parts = _split(uri)
    if parts is None or not _is_loopback(parts):
        return False
    return any(
        (registered := _split(known)) is not None and _without_port(registered) == _without_port(parts)
        for known in client.redirect_uris
    )


def _check_redirect_uri(uri: object) -> None:
    parts = _split(uri) if isinstance(uri, str) and len(uri) <= MAX_URI_CHARACTERS else None
    if parts is None or not (parts.scheme == "https" or _is_loopback(parts)):
        raise _invalid(
            f"A redirect URI must have at most {MAX_URI_CHARACTERS} characters, begin with https:// or name this "
            "machine (http://127.0.0.1, http://localhost), and have no user, fragment or white space.",
            "invalid_redirect_uri",
        )


def _split(uri: str) -> SplitResult | None:
    """Take an absolute address apart; None if it cannot be one of a client."""
    # Browsers correct backslashes, control characters and white space, and decode hosts: they might go to another one.
    if not uri.isascii() or not uri.isprintable() or any(character in uri for character in "\\ #@\"'<>"):
        return None
    try:
        parts = urlsplit(uri)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.hostname and "%" not in parts.netloc else None


def _is_loopback(parts: SplitResult) -> bool:
    if parts.scheme != "http":
        return False
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def _without_port(parts: SplitResult) -> tuple[str, str | None, str, str]:
    return parts.scheme, parts.hostname, parts.path, parts.query


def _read_name(metadata: dict[str, object]) -> str:
    """Return the client's name without characters that are not shown."""
    name = metadata.get("client_name")
    shown = "".join(character for character in name if character.isprintable()) if isinstance(name, str) else ""
    return " ".join(shown.split())[:MAX_NAME_CHARACTERS] or _DEFAULT_NAME


def _read_list(metadata: dict[str, object], name: str, default: list[str]) -> list[object]:
    value = metadata.get(name, default)
    if not isinstance(value, list):
        raise _invalid(f"{name} must be a list.")
    return value


def _make_room() -> None:
    unused = OAuthClient.objects.filter(token_families=None)
    newest_first = unused.order_by(Greatest("created_at", "last_used_at").desc()).values_list("pk", flat=True)
    if surplus := list(newest_first[MAX_UNUSED_CLIENTS - 1 : MAX_UNUSED_CLIENTS + 99]):
        unused.filter(pk__in=surplus).delete()


def _invalid(description: str, code: str = "invalid_client_metadata") -> OAuthError:
    return OAuthError(code, description)
