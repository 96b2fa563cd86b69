"""What schemathesis does not know about this API."""

import json
from typing import Any
from urllib.parse import urlencode

import schemathesis
from schemathesis.core.failures import Failure

# Whether these are right depends on more than their own value: on another field, on what is configured, on who asks.
_DEPENDS = {
    "chunkOverlap",  # at most half of chunkSize
    "embeddingModel",  # the source's own
    "rerankModel",  # a configured one
    "model",  # likewise
    "organization",  # one of the caller's own
    *("roles", "teams", "users"),  # of that organisation, and as the visibility has them
    "slug",  # not taken yet
    "expires_at",  # in the future
    "messages",  # the last one is the user's
    "files",  # no two of the same name
    "networks",  # written as networks are
    "sources",  # such as the caller may see
}
# Bounds in bytes, in levels, or of what one user has, which JSON Schema cannot say; JSON in a form's field; and a key
# that has come to its end.
_BOUNDED = (
    "must have at most",
    "must not be nested deeper",
    "API keys, which is the maximum",
    "is not valid JSON",
    "documents must be an array",
    "is revoked or expired",
)
# 409: there is nothing to try again. 429: wrong passwords before this one.
_ACCEPTED = (401, 403, 404, 409, 413, 415, 422, 429, 503)


# The web server itself refuses a longer request line (414) before anything of ours sees it.
_MOST_OF_A_QUERY = 3_000


@schemathesis.hook
def filter_query(context: Any, query: Any) -> bool:
    return query is None or len(urlencode(query, doseq=True)) <= _MOST_OF_A_QUERY


class RefusedValidData(Failure):
    """A request that the schema allows was refused as wrong."""


@schemathesis.check
def accepts_what_it_promises(context: Any, response: Any, case: Any) -> bool | None:
    """What the schema allows is accepted, or refused for a reason that lies outside of the schema."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return None
    if response.status_code < 300 or response.status_code in _ACCEPTED or response.status_code >= 500:
        return None
    if response.status_code == 400 and _depends(json.loads(response.content).get("details", {})):
        return None
    message = f"{response.status_code} for data that the schema allows"
    raise RefusedValidData(operation=case.operation.label, title="Refused valid data", message=message)


def _depends(details: dict[str, Any]) -> bool:
    last = str(details.get("field", "")).rsplit(".", 1)[-1].partition("[")[0]
    return last in _DEPENDS or any(words in str(details.get("message", "")) for words in _BOUNDED)
