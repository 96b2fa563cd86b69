"""The openai client library for all providers: creates its clients and translates its exceptions."""

import email.utils
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from rag.errors import ProviderFailed
from ragsite.http.outbound_connections import ForbiddenAddress, GuardedBackend, trusted_authorities

from . import bounded_responses

if TYPE_CHECKING:
    import openai

Failure = TypeVar("Failure", bound=ProviderFailed)


# The statuses 502, 503 and 504 concern the server; 500 may concern a single text that it cannot process.
_INTERNAL_ERROR = 500
# Local servers need no key, but the client library requires one.
NO_KEY = "none"


class ClientOptions(TypedDict, total=False):
    """Further options of the library's clients."""

    timeout: float
    max_retries: int


def open_client(
    *, api_key: str, base_url: str, guarded: bool = False, **options: Unpack[ClientOptions]
) -> "openai.OpenAI":
    """Create a client that follows no redirects.

    Args:
        api_key: The API key; empty if the endpoint needs none.
        base_url: The endpoint; empty for OpenAI's own.
        guarded: Refuse private networks (ragsite.http.outbound_connections): the operator did not set the address.
        **options: Further options of openai.OpenAI.
    """
    import openai  # seconds of import, paid only where it is used

    backend = GuardedBackend() if guarded else None
    http_client = bounded_responses.BoundedClient(timeout=options.get("timeout"), backend=backend)
    return openai.OpenAI(api_key=api_key or NO_KEY, base_url=base_url or None, http_client=http_client, **options)


def open_async_client(
    *, api_key: str, base_url: str, max_bytes: int, **options: Unpack[ClientOptions]
) -> "openai.AsyncOpenAI":
    """Create an asynchronous client that follows no redirects.

    Args:
        api_key: The API key; empty if the endpoint needs none.
        base_url: The endpoint; empty for OpenAI's own.
        max_bytes: The maximum size of a response.
        **options: Further options of openai.AsyncOpenAI.
    """
    import openai

    http_client = openai.DefaultAsyncHttpxClient(
        follow_redirects=False,
        timeout=options.get("timeout"),
        verify=trusted_authorities(),
        headers=bounded_responses.UNCOMPRESSED,
        event_hooks={"response": [bounded_responses.limit_responses(max_bytes)]},
    )
    return openai.AsyncOpenAI(api_key=api_key or NO_KEY, base_url=base_url or None, http_client=http_client, **options)


def translate_error(error: "openai.APIError", model: str, failure: type[Failure]) -> Failure:
    """Translate an exception of the library into a ProviderFailed, which says whether a retry may help.

    The provider's message is dropped: it may quote the request.

    Args:
        error: The exception of the library.
        model: The model's name, for the message.
        failure: The class of the result.
    """
    import openai

    retry_after_seconds = (
        parse_retry_after(error.response.headers) if isinstance(error, openai.APIStatusError) else None
    )
    match error:
        case openai.APITimeoutError():
            return failure(f"{model} did not answer in time.", is_timeout=True)
        case openai.APIConnectionError() if isinstance(error.__cause__, ForbiddenAddress):
            return failure(f"{model} must not be asked there: {error.__cause__}", is_retryable=False)
        case openai.APIConnectionError():
            return failure(f"{model} cannot be reached.")
        case openai.RateLimitError():
            return failure(
                f"{model} refuses more requests for now.", is_rate_limited=True, retry_after_seconds=retry_after_seconds
            )
        case openai.InternalServerError():
            message = f"{model} answered with a server error ({error.status_code})."
            return failure(
                message,
                retry_after_seconds=retry_after_seconds,
                may_be_request_fault=error.status_code == _INTERNAL_ERROR,
            )
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return failure(f"{model} does not accept the API key.", is_retryable=False)
        case openai.NotFoundError():
            return failure(f"The endpoint does not know a model named {model}.", is_retryable=False)
        case openai.APIStatusError() if error.status_code in (408, 409):
            return failure(
                f"{model} did not get to the request ({error.status_code}).", retry_after_seconds=retry_after_seconds
            )
        case openai.APIStatusError():
            return failure(f"{model} refused the request ({error.status_code}).", is_retryable=False)
        case _:
            return failure(f"{model} answered with something that cannot be read.")


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds to wait, from Retry-After (RFC 9110, 10.2.3: seconds or an HTTP date) or Retry-After-Ms."""
    milliseconds, value = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    seconds = _parse_number(milliseconds)
    seconds = seconds / 1000 if seconds is not None else _parse_number(value)
    if seconds is None:
        seconds = _seconds_until(value)
    return max(0.0, seconds) if seconds is not None else None


def _parse_number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _seconds_until(value: str) -> float | None:
    date = email.utils.parsedate_tz(value)
    try:
        return email.utils.mktime_tz(date) - time.time() if date else None
    except (ValueError, OverflowError):  # not a day of the calendar
        return None
