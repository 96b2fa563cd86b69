"""Posts to addresses that people enter: no private networks, no redirects, and an end after a fixed time."""

from collections.abc import Mapping

import httpx2

from ragsite.http import outbound_connections

from .bounded_responses import BoundedClient


class PostFailed(Exception):
    """There was no response. The text says why, for the people who manage the webhook."""


def post(url: str, *, body: bytes, headers: Mapping[str, str], timeout_seconds: float) -> int:
    """Post the body. The response's body is not read, so that nothing of it can be shown to anybody.

    Returns:
        The status of the response; redirects are not followed.

    Raises:
        PostFailed: If the address is private, or no response came in time.
    """
    backend = outbound_connections.GuardedBackend(setting=outbound_connections.WEBHOOK_HOSTS)
    try:
        with (
            BoundedClient(timeout=timeout_seconds, backend=backend) as client,
            client.stream("POST", url, content=body, headers=dict(headers)) as response,
        ):
            return response.status_code
    except outbound_connections.ForbiddenAddress as error:
        raise PostFailed(str(error)) from None
    except httpx2.TimeoutException:
        raise PostFailed(f"There was no response within {timeout_seconds:g} seconds.") from None
    except httpx2.HTTPError as error:
        raise PostFailed(f"The address could not be reached: {outbound_connections.explain(error)}.") from None
    except (httpx2.InvalidURL, ValueError):
        raise PostFailed("The address is not a valid URL.") from None
