"""The openai client library as all providers use it: opened, closed, and its exceptions as ours."""

import email.utils
import math
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from rag.errors import ProviderFailed

from . import bounded
from .outbound import ForbiddenAddress

if TYPE_CHECKING:
    import openai

Failure = TypeVar("Failure", bound=ProviderFailed)


# 502, 503 and 504 speak of the server; 500 may be about one text that it cannot work on.
_FAILED_OF_IT = 500
# Local servers ask for no key, but the client library insists on one.
NO_KEY = "none"


def opened(*, api_key: str, base_url: str, guarded: bool = False, **options: Any) -> "openai.OpenAI":
    """A client whose answers are bounded (rag.providers.http.bounded). base_url: empty for OpenAI's own.

    guarded: the address was not written by the operator (rag.providers.http.outbound).
    """
    import openai  # seconds of import, paid only where it is used

    http_client = bounded.Client(timeout=options.get("timeout"), guarded=guarded)
    return openai.OpenAI(api_key=api_key or NO_KEY, base_url=base_url or None, http_client=http_client, **options)


def opened_asynchronously(*, api_key: str, base_url: str, **options: Any) -> "openai.AsyncOpenAI":
    import openai

    # Questions and passages go to the configured endpoint, and not to wherever it points.
    http_client = openai.DefaultAsyncHttpxClient(follow_redirects=False, timeout=options.get("timeout"))
    return openai.AsyncOpenAI(api_key=api_key or NO_KEY, base_url=base_url or None, http_client=http_client, **options)


def translated(error: "openai.APIError", model: str, failure: type[Failure]) -> Failure:
    """The failure to raise, saying whether another try may help.

    The provider's own words are dropped: they may quote what was sent.
    """
    import openai

    wait = retry_after(error.response.headers) if isinstance(error, openai.APIStatusError) else None
    match error:
        case openai.APITimeoutError():
            return failure(f"{model} did not answer in time.", is_timeout=True)
        case openai.APIConnectionError() if isinstance(error.__cause__, ForbiddenAddress):
            return failure(f"{model} must not be asked there: {error.__cause__}", is_retryable=False)
        case openai.APIConnectionError():
            return failure(f"{model} cannot be reached.")
        case openai.RateLimitError():
            return failure(f"{model} refuses more requests for now.", is_rate_limited=True, retry_after=wait)
        case openai.InternalServerError():
            said = f"{model} answered with an error of its own ({error.status_code})."
            return failure(said, retry_after=wait, may_be_request_fault=error.status_code == _FAILED_OF_IT)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return failure(f"{model} does not accept the API key.", is_retryable=False)
        case openai.NotFoundError():
            return failure(f"The endpoint knows no model named {model}.", is_retryable=False)
        case openai.APIStatusError() if error.status_code in (408, 409):
            return failure(f"{model} did not get to the request ({error.status_code}).", retry_after=wait)
        case openai.APIStatusError():
            return failure(f"{model} refused the request ({error.status_code}).", is_retryable=False)
        case _:
            return failure(f"{model} answered something that is not understood.")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that an answer asks to wait, from Retry-After (seconds, or an HTTP date) or Retry-After-Ms."""
    milliseconds, written = headers.get("retry-after-ms", ""), headers.get("retry-after", "")
    seconds = _number(milliseconds)
    seconds = seconds / 1000 if seconds is not None else _number(written)
    if seconds is None and (date := email.utils.parsedate_tz(written)):
        seconds = _until(date)
    return max(0.0, seconds) if seconds is not None else None


def _number(written: str) -> float | None:
    try:
        number = float(written)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _until(date: tuple[Any, ...]) -> float | None:
    try:
        return email.utils.mktime_tz(date) - time.time()
    except (ValueError, OverflowError):  # no such day
        return None
