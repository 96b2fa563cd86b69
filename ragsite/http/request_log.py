"""The log of requests: which part of a request's address is written."""

import re

from django.http import HttpRequest
from django_structlog.middlewares import RequestMiddleware

# The link of a message that sets a new password. Its token is a credential.
_PATH_WITH_TOKEN = re.compile(r"(/sign-in/password/[^/]+/).+")
_WITHOUT_TOKEN = r"\1…"


class RequestLogMiddleware(RequestMiddleware):
    """Logs each request with its path only: query strings hold search terms, and sometimes credentials."""

    @staticmethod
    def format_request(request: HttpRequest) -> str:
        return f"{request.method} {_PATH_WITH_TOKEN.sub(_WITHOUT_TOKEN, request.path)}"
