"""HTTP of connectors: allowed addresses only, checked when connecting; every request ends at a deadline."""

import httpx2

from rag.providers.http.bounded_responses import BoundedClient
from ragsite.http import outbound_connections

# One request, with its response's body.
TIMEOUT_SECONDS = 60.0
READ_BYTES = 256 * 1024


class ConnectorClient(BoundedClient):
    """Connects to public addresses and those that RAG_SYNC_PRIVATE_HOSTS allows an organisation.

    Its requests have TIMEOUT_SECONDS together: those of one item, with redirects.
    """

    def __init__(self, *, organization_slug: str) -> None:
        backend = outbound_connections.GuardedBackend(
            setting=outbound_connections.SYNC_HOSTS, organization_slug=organization_slug
        )
        super().__init__(timeout=outbound_connections.Deadline(TIMEOUT_SECONDS), backend=backend)
        self.cookies = httpx2.Cookies()  # kept: some websites redirect to themselves until their cookie comes back


def describe(error: Exception) -> str:
    """Return what went wrong with a request, in a sentence."""
    if isinstance(error, outbound_connections.ForbiddenAddress):
        return str(error)
    if isinstance(error, httpx2.TimeoutException | TimeoutError):
        return f"There was no complete response within {TIMEOUT_SECONDS:g} seconds."
    return f"The server could not be reached: {outbound_connections.explain(error)}."
