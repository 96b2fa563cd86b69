"""Groups the operations of the API reference by what people want to do, and puts bearer authentication first."""

from typing import NamedTuple

from ragsite.http.bodies.json_types import JsonObject


class _Task(NamedTuple):
    """What people want to do: a tag of the API reference, and how the paths of its operations begin."""

    tag: str
    description: str
    path_prefixes: tuple[str, ...]


# The first task with a prefix of the path applies.
_TASKS = (
    _Task("Sign in and keys", "Get an access token, and manage API keys.", ("/api/auth/",)),
    _Task(
        "Ask and search",
        "Answers with citations, and the passages that they are based on.",
        (
            "/api/rag/query",
            "/api/rag/answer",
            "/api/rag/search",
            "/api/rag/retrieve",
            "/api/rag/explain",
            "/api/v1/search",
            "/functions/",
        ),
    ),
    _Task("Chat and agent", "Conversations, and answers for which a model calls tools.", ("/api/chat", "/agent/")),
    _Task(
        "Send documents and watch jobs",
        "Send texts and files, follow them until they are searchable, retry, cancel.",
        ("/api/rag/ingest",),
    ),
    _Task(
        "Data sources and documents",
        "Create, share and delete data sources; list and delete their documents.",
        ("/api/rag/sources",),
    ),
    _Task("Webhooks", "Be notified of events, and see what was sent.", ("/api/rag/webhooks",)),
    _Task("OpenAI-compatible API", "For clients that know OpenAI's API.", ("/v1/",)),
)
# The tag of a new path that no task has yet. A test refuses it.
_OTHER = "Other"
TAGS = tuple(task.tag for task in _TASKS)


def group_by_task(result: JsonObject, **_: object) -> JsonObject:
    """Tag each operation with its task, and name its contract in the description (a postprocessing hook)."""
    for path, item in result["paths"].items():
        for operation in item.values():
            _describe(path, operation)
    schemes = result["components"]["securitySchemes"]
    result["components"]["securitySchemes"] = dict(sorted(schemes.items(), key=_bearer_first))
    result["tags"] = [{"name": task.tag, "description": task.description} for task in _TASKS]
    return result


def _describe(path: str, operation: JsonObject) -> None:
    contracts = ", ".join(operation["tags"])
    label = "Contracts" if len(operation["tags"]) > 1 else "Contract"
    operation["description"] = "\n\n".join(filter(None, (operation.get("description"), f"{label}: {contracts}.")))
    operation["tags"] = [_find_tag(path)]
    if "security" in operation:
        operation["security"].sort(
            key=lambda requirement: min(map(_bearer_first, requirement.items()), default=(1, ""))
        )


def _find_tag(path: str) -> str:
    return next((task.tag for task in _TASKS if path.startswith(task.path_prefixes)), _OTHER)


def _bearer_first(scheme: tuple[str, object]) -> tuple[bool, str]:
    return scheme[0] != "bearer", scheme[0]
