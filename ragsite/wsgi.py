"""What gunicorn serves."""

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.core.wsgi import get_wsgi_application

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

_django = get_wsgi_application()
_NAMES_A_CHARSET = re.compile(r"\s*(charset|[^=]*\*)", re.IGNORECASE)


def application(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
    """Django, with a Content-Type that names no charset, neither its own nor a parameter's (RFC 2231, `boundary*=`):
    everything is read as UTF-8.

    Django looks the charset up while it makes its request object, before any middleware; a codec that is no text
    (zlib) would end the request with a bare error page.
    """
    media_type, *parameters = environ.get("CONTENT_TYPE", "").split(";")
    kept = [each for each in parameters if not _NAMES_A_CHARSET.match(each)]
    environ["CONTENT_TYPE"] = ";".join([media_type, *kept])
    return _django(environ, start_response)
