"""The address at which people reach the product, for links in messages."""

from django.conf import settings
from django.http import HttpRequest


def build_public_url(request: HttpRequest, path: str) -> str:
    """Return the URL of a path for a message.

    A request names its own host, and a link with a token must not lead to a host that a stranger has chosen.
    Therefore RAG_PUBLIC_URL decides; without it, as in `make run`, the request does.
    """
    if settings.RAG_PUBLIC_URL:
        return str(settings.RAG_PUBLIC_URL).rstrip("/") + path
    return request.build_absolute_uri(path)
