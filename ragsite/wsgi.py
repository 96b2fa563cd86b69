"""The WSGI application, which gunicorn serves behind nginx."""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

_django = get_wsgi_application()
_SETS_CHARSET = re.compile(r"\s*(charset|[^=]*\*)", re.IGNORECASE)


def application(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    """Django, after the charset is removed from the Content-Type, even from parameters such as `boundary*=` (RFC 2231).

    Requests are always decoded as UTF-8. Django looks up the charset while it creates the request, before any
    middleware runs; a codec that does not produce text (zlib) would end the request with a bare error page.
    """
    media_type, *parameters = environ.get("CONTENT_TYPE", "").split(";")
    parameters = [parameter for parameter in parameters if not _SETS_CHARSET.match(parameter)]
    environ["CONTENT_TYPE"] = ";".join([media_type, *parameters])
    if not environ.get("REMOTE_ADDR"):  # a Unix socket: nginx says who its client is (ragsite/run/nginx.conf)
        environ["REMOTE_ADDR"] = environ.get("HTTP_X_RAGSITE_PEER", "")
    return _django(environ, start_response)
