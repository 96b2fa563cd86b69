"""Rules of this API that the OpenAPI document cannot express, for schemathesis."""

import json
from typing import Any
from urllib.parse import urlencode

import schemathesis
from jsonschema import Draft202012Validator
from schemathesis.core.failures import Failure

# Fields whose validity depends on more than their own value: on another field, the configuration or the caller.
_DEPENDENT_FIELDS = {
    "chunkOverlap",  # at most half of chunkSize
    "embeddingModel",  # must be the source's
    "rerankModel",  # must be configured
    "model",  # must be configured
    "organization",  # must be one of the caller's
    *("roles", "teams", "users"),  # must belong to that organisation and suit the visibility
    "slug",  # must be free
    "expires_at",  # must be in the future
    "dimensions",  # must be the model's
    "input",  # must have few tokens in all
    "messages",  # the last one must be the user's
    "files",  # must have different names
    "networks",  # must be IP networks
    "owner",  # must be an active member of the organisation
    "sources",  # must be visible to the caller
    "cursor",  # must be the one of a response
    "url",  # must be public and reachable with HTTPS
    "If-Match",  # a list of ETags; schemathesis also sends "0", which its pattern excludes
}
# Messages about rules that JSON Schema cannot express: limits in bytes, of nesting and of a user's keys; JSON in a
# form's field; and keys that have ended.
_MESSAGES = (
    "must have at most",
    "must not be nested deeper",
    "API keys, which is the maximum",
    "is not valid JSON",
    "documents must be an array",
    "is revoked or expired",
)
# Statuses that are also right for valid data. 409: a job without failed documents was retried. 429: there were wrong
# passwords before. 412: If-Match named another version. 414: the web server refuses a long request line.
_ACCEPTED_STATUSES = (401, 403, 404, 409, 412, 413, 414, 415, 422, 429, 503)


# The web server refuses a longer request line (414) before Django receives it.
_MAX_QUERY_BYTES = 3_000


@schemathesis.hook
def filter_query(context: Any, query: Any) -> bool:
    return query is None or len(urlencode(query, doseq=True)) <= _MAX_QUERY_BYTES


@schemathesis.hook
def before_load_schema(context: Any, raw_schema: dict[str, Any]) -> None:
    """Hide the schemas of event streams, which schemathesis would apply to each event instead of the text."""
    for operations in raw_schema["paths"].values():
        for response in (response for item in operations.values() for response in item["responses"].values()):
            if stream := response.get("content", {}).get("text/event-stream"):
                stream["x-schema"] = stream.pop("schema")


class WrongEvent(Failure):
    """An event of a stream is not the one that the schema describes."""


@schemathesis.check
def sends_described_events(context: Any, response: Any, case: Any) -> bool | None:
    """Each event of a stream is as `x-item-schema` describes it, with its data read from JSON."""
    if not response.headers.get("content-type", [""])[0].startswith("text/event-stream"):
        return None
    content = case.operation.definition.raw["responses"]["200"]["content"]
    item = content["text/event-stream"]["x-schema"]["x-item-schema"]
    validator = Draft202012Validator({**item, "components": case.operation.schema.raw_schema["components"]})
    for event in _events(response.content.decode()):
        if error := next(validator.iter_errors(event), None):
            raise WrongEvent(operation=case.operation.label, title="Wrong event", message=error.message[:500])
    return None


def _events(stream: str) -> list[Any]:
    """Return the events as the schema describes them: their name and data, or the data alone if they have no name."""
    events = []
    for block in stream.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields and fields["data"] != "[DONE]":
            data = json.loads(fields["data"])
            events.append({"event": fields["event"], "data": data} if "event" in fields else data)
    return events


class RejectedValidData(Failure):
    """A request that the schema allows was rejected as invalid."""


@schemathesis.check
def accepts_valid_data(context: Any, response: Any, case: Any) -> bool | None:
    """Data that the schema allows is accepted, or rejected for a reason that the schema cannot express."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return None
    if response.status_code < 300 or response.status_code in _ACCEPTED_STATUSES or response.status_code >= 500:
        return None
    if response.status_code == 400 and _has_other_reason(json.loads(response.content)):
        return None
    message = f"{response.status_code} for data that the schema allows"
    raise RejectedValidData(operation=case.operation.label, title="Rejected valid data", message=message)


def _has_other_reason(body: dict[str, Any]) -> bool:
    error = body.get("error")
    details = body.get("details") or (error if isinstance(error, dict) else {})
    field = str(details.get("field") or details.get("param", "")).rsplit(".", 1)[-1].partition("[")[0]
    return field in _DEPENDENT_FIELDS or any(words in str(details.get("message", "")) for words in _MESSAGES)
