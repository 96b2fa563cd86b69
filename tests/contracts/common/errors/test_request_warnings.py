"""Unknown fields and query parameters: the request is answered, with a warning that names known ones."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.factories import PASSWORD, World, ingest_text
from tests.support.http import Client, Reply

Api = Callable[..., Client]
HEADER = "x-request-warnings"
TOP_K = "The field top_k is unknown and was ignored. Did you mean topK?"


def warnings(reply: Reply) -> list[str]:
    return list(json.loads(reply.headers[HEADER])) if HEADER in reply.headers else []


@pytest.fixture
def editor(api: Api, live_world: World) -> Client:
    ingest_text(live_world.source(), "a", "Zebras have stripes.")
    return api("editor")


@pytest.mark.parametrize(
    ("path", "body", "warning"),
    [
        ("/api/rag/search", {"query": "zebras", "top_k": 1}, TOP_K),
        ("/api/rag/search", {"query_text": "zebras", "topK": 1}, "Did you mean top_k?"),
        ("/functions/v1/rag-search", {"query_text": "zebras", "topk": 1}, "Did you mean top_k?"),
        ("/api/rag/answer", {"query_text": "zebras", "filter": {}}, "Did you mean filters?"),
        ("/api/rag/answer", {"query_text": "z", "filters": {"source_typ": "doc"}}, "Did you mean filters.source_type?"),
        ("/agent/respond", {"query": "zebras", "topK": 3}, "Did you mean top_k?"),
        ("/api/v1/search", {"query": "zebras", "topK": 3}, "Did you mean top_k?"),
        ("/api/rag/sources", {"name": "New", "source_type": "faq"}, "Did you mean sourceType?"),
        (
            "/api/rag/ingest",
            {"dataSourceId": "library", "documents": [{"text": "a"}, {"text": "b", "content_type": "text/plain"}]},
            "The field documents[1].content_type is unknown and was ignored. Did you mean documents[1].contentType?",
        ),
        ("/api/rag/ingest", {"source": "library", "path": "a", "title": "A", "text": "a", "tag": []}, "mean tags?"),
    ],
)  # fmt: skip
def test_an_unknown_field_is_answered_with_a_warning(editor: Client, path: str, body: Any, warning: str) -> None:
    reply = editor.post(path, body)
    assert reply.status in (200, 201, 202), reply
    (only,) = warnings(reply)
    assert warning in only
    assert "Did you mean" not in json.dumps(reply.body), "contracts without a field for warnings keep their fields"


@pytest.mark.parametrize("path", ["/api/rag/retrieve", "/api/rag/query"])
def test_contracts_with_warnings_have_them_in_the_body_too(editor: Client, path: str) -> None:
    reply = editor.post(path, {"query": "What do zebras have?", "top_k": 1})
    assert TOP_K in reply.body["warnings"]
    assert warnings(reply) == [TOP_K]
    known = editor.post(path, {"query": "What do zebras have?", "topK": 1})
    assert (known.body["warnings"], HEADER in known.headers) == ([], False), "warnings of another request do not stay"


def test_a_stream_has_the_warnings_too(editor: Client) -> None:
    body = {"query": "What do zebras have?", "top_k": 1, "stream": True}
    name, done = editor.stream("/api/rag/query", body)[-1]
    assert name == "done"
    assert TOP_K in done["warnings"]


def test_a_misspelt_required_field_is_an_error_with_a_warning(editor: Client) -> None:
    reply = editor.post("/api/rag/retrieve", {"qurey": "zebras"})
    assert (reply.status, reply.body["message"]) == (400, "query is required")
    assert warnings(reply) == ["The field qurey is unknown and was ignored. Did you mean query?"]


def test_sign_in_and_keys_warn_too(api: Api, editor: Client) -> None:
    body = {"email": "editor@home.example", "password": PASSWORD, "otp": "1"}
    assert warnings(api().post("/api/auth/token", body)) == ["The field otp is unknown and was ignored."]
    reply = editor.post("/api/auth/keys", {"name": "n", "scopes": ["query"], "expiresAt": None})
    assert (reply.status, warnings(reply)) == (
        201, ["The field expiresAt is unknown and was ignored. Did you mean expires_at?"],
    )  # fmt: skip


def test_warnings_are_few_short_and_escaped(editor: Client) -> None:
    names = {f"unknown{number}": 1 for number in range(100)}
    assert len(warnings(editor.post("/api/rag/search", {"query": "zebras", **names}))) == 5
    hostile = "<script>\r\nSet-Cookie: a=b\u0000é🦓" + "x" * 100_000
    reply = editor.post("/api/rag/retrieve", {"query": "zebras", hostile: 1})
    assert reply.status == 200
    assert "set-cookie" not in reply.headers
    assert len(reply.headers[HEADER]) < 500
    for text in (*warnings(reply), *reply.body["warnings"]):
        assert "\\u003cscript\\u003e\\u000d\\u000aSet-Cookie" in text
        assert text.isascii()
    many = [{"text": "a", f"f{number}": 1} for number in range(50)]
    reply = editor.post("/api/rag/ingest", {"dataSourceId": "library", "documents": many})
    assert (reply.status, len(warnings(reply))) == (202, 5)


def test_known_fields_and_free_objects_cause_no_warning(editor: Client) -> None:
    document = {"path": "m", "text": "a", "metadata": {"anything": {"goes": 1}}}
    reply = editor.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [document], "chunkSize": 64})
    assert (reply.status, HEADER in reply.headers) == (202, False)
    listed = editor.get("/api/rag/sources?page=1&pageSize=5")
    assert (listed.status, HEADER in listed.headers) == (200, False)


def test_a_data_source_without_documents_says_what_is_missing(editor: Client) -> None:
    for body in ({"dataSourceId": "library"}, {"dataSourceId": "library", "text": "Zebras."}):
        reply = editor.post("/api/rag/ingest", body)
        assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (
            400, "Validation error", "documents",
        )  # fmt: skip
        assert reply.body["message"].startswith("documents is required with dataSourceId")


def test_a_403_names_the_missing_permission(api: Api, live_world: World) -> None:
    live_world.source()
    member, document = api("member"), {"path": "a", "title": "A", "text": "a"}
    replies = {
        "sources.create": member.post("/api/rag/sources", {"name": "New"}),
        "sources.manage": member.send("DELETE", "/api/rag/sources/library"),
        "sources.ingest": member.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"text": "a"}]}),
    }
    replies_of_v3 = {
        "sources.create": member.post("/api/rag/ingest", {"source": "new", **document}),
        "sources.ingest": member.post("/api/rag/ingest", {"source": "library", **document}),
    }
    for permission, reply in (*replies.items(), *replies_of_v3.items()):
        assert reply.status == 403
        assert f"You need the permission {permission} in this organisation" in reply.body["message"]
        assert reply.body["details"]["request_id"] == reply.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/api/rag/sources", "search, visibility, sourceType, organization, page, pageSize, cursor"),
        ("/api/rag/ingest", "source, status, page, pageSize, cursor"),
        ("/api/rag/webhooks", "page, pageSize, cursor"),
        ("/api/auth/keys", "page, page_size"),
        ("/api/auth/member-keys", "page, page_size"),
    ],
)
def test_a_list_says_which_query_parameters_it_has(local_api: Api, world: World, path: str, known: str) -> None:
    """`?limit=2` would otherwise look like a list that has no more than 50 entries."""
    reply = local_api("owner").get(f"{path}?limit=2&page=1&utm_source=mail")
    assert reply.status == 200
    assert warnings(reply) == [
        f"The query parameter {name} is unknown and was ignored. Known are {known}." for name in ("limit", "utm_source")
    ]
    assert warnings(local_api("owner").get(f"{path}?page=1")) == []
