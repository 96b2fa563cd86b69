"""What the client raises. A response's error keeps its status, code and request id."""


class RagsiteError(Exception):
    """The server refused a request.

    Attributes:
        status: The HTTP status; 0 if there was no response.
        code: The server's code, such as `SOURCE_NOT_FOUND`.
        request_id: The id that the server's log has; empty if there is none.
    """

    def __init__(self, message: str, *, status: int = 0, code: str = "", request_id: str = "") -> None:
        super().__init__(message)
        self.message, self.status, self.code, self.request_id = message, status, code, request_id


class ConnectionFailed(RagsiteError):
    """The server did not respond."""


class Unauthenticated(RagsiteError):
    """The API key is missing, wrong or no longer valid."""


class NotAllowed(RagsiteError):
    """The key's user may not do this, or the key lacks the scope."""


class NotFound(RagsiteError):
    """There is no such object, or it is not visible to the key's user."""


class RateLimited(RagsiteError):
    """Too many requests, even after the client has waited and tried again."""


_TYPES = {401: Unauthenticated, 403: NotAllowed, 404: NotFound, 429: RateLimited}


def from_body(status: int, body: object) -> RagsiteError:
    """Return the error of a response with this body."""
    fields = body if isinstance(body, dict) else {}
    details = fields.get("details")
    return _TYPES.get(status, RagsiteError)(
        str(fields.get("message") or f"The server answered {status}. Is this the address of ragsite?"),
        status=status,
        code=str(fields.get("error") or ""),
        request_id=str(details.get("request_id") or "") if isinstance(details, dict) else "",
    )
