"""/api/schema and /api/docs: the OpenAPI document is correct, complete and matches its snapshot."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

from ragsite.views import api_reference_groups
from ragsite.views.api_reference import get_schema
from tests.support.checks import conformance
from tests.support.http import Client

Api = Callable[..., Client]
SNAPSHOT = Path(__file__).parents[2] / "openapi.json"
CONTRACTS = {"v3", "retrieval", "pipeline", "agent", "search service", "openai api"}


def operations() -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in get_schema()["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def test_the_schema_matches_its_snapshot() -> None:
    snapshot = json.loads(SNAPSHOT.read_text())
    served = json.loads(json.dumps(get_schema()))
    changed = sorted(_differences(snapshot, served))
    assert not changed, "the API's schema has changed; if it is meant to, run `make schema`:\n" + "\n".join(
        changed[:40]
    )


def _differences(old: Any, new: Any, path: str = "") -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for name in old.keys() | new.keys():
            location = f"{path}/{name}"
            if name not in new:
                yield f"- {location}"
            elif name not in old:
                yield f"+ {location}"
            else:
                yield from _differences(old[name], new[name], location)
    elif old != new:
        yield f"! {path}: {json.dumps(old)[:100]} → {json.dumps(new)[:100]}"


def test_it_is_openapi_3_1_and_generated_without_warnings(tmp_path: Path) -> None:
    file = tmp_path / "openapi.json"
    options: dict[str, Any] = {"format": "openapi-json", "file": str(file), "validate": True, "fail_on_warn": True}
    call_command("spectacular", **options)
    generated = json.loads(file.read_text())
    assert generated["openapi"].startswith("3.1.")
    assert generated == json.loads(json.dumps(get_schema()))


def test_it_needs_no_authentication(api: Api) -> None:
    for path in ("/api/schema", "/api/schema/"):
        for client in (api(), api().with_headers(Authorization="Bearer expired")):
            reply = client.get(path)
            assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
            assert reply.body["paths"].keys() == get_schema()["paths"].keys()


def test_it_is_compressed_and_revalidated(client: Any) -> None:
    plain = client.get("/api/schema")
    reply = client.get("/api/schema", headers={"accept-encoding": "gzip"})
    assert reply.headers["content-encoding"] == "gzip"
    assert len(reply.content) < len(plain.content) / 5
    assert gzip.decompress(reply.content) == plain.content
    etag = reply.headers["etag"]
    unchanged = client.get("/api/schema", headers={"if-none-match": etag, "accept-encoding": "gzip"})
    assert (unchanged.status_code, unchanged.content) == (304, b"")
    assert client.get("/api/schema", headers={"if-none-match": '"earlier"'}).status_code == 200


@pytest.mark.django_db
def test_the_page_has_no_external_resources_and_no_inline_script(client: Any) -> None:
    for path in ("/api/docs", "/api/docs/"):
        page = client.get(path)
        assert page.status_code == 200
        html = page.content.decode()
        scripts = re.findall(r"<script([^>]*)>(.*?)</script>", html, re.DOTALL)
        assert len(scripts) == 4
        assert all("src=" in attributes and not inline.strip() for attributes, inline in scripts)
        assert "//" not in " ".join(re.findall(r'(?:src|href)="([^"]+)"', html))
        assert re.search(r'<a href="/">.*ragsite</a>', html), "the way back to the product"
        assert 'href="#swagger-ui">Skip to content<' in html
        assert "script-src 'self';" in page.headers["Content-Security-Policy"]
    script = client.get("/api/docs?script=")
    assert script.headers["content-type"].startswith("application/javascript")
    assert b"SwaggerUIBundle" in script.content


def test_every_operation_has_a_summary_and_examples() -> None:
    names = [operation["operationId"] for _, operation in operations()]
    assert len(names) == len(set(names))
    for name, operation in operations():
        assert re.fullmatch(r"[a-z][A-Za-z0-9]+", operation["operationId"]), name
        assert 0 < len(operation["summary"]) <= 100, name
        assert len(operation["tags"]) == 1, name
        assert operation["tags"][0] in api_reference_groups.TAGS, name
        contracts = re.findall(r"Contracts?: (.+)\.$", operation["description"])[-1].split(", ")
        assert {*contracts} <= CONTRACTS | {"accounts"}, name
        bodies = [operation["requestBody"]["content"]] if "requestBody" in operation else []
        bodies += [response.get("content", {}) for status, response in operation["responses"].items() if status < "300"]
        for media_type, media in ((key, value) for content in bodies for key, value in content.items()):
            assert media_type != "application/json" or media.get("examples"), f"{name} lacks an example"
        for status in ("400", "401", "429"):
            answer = operation["responses"][status]["content"]["application/json"]
            assert answer.get("examples"), f"{name} lacks an example of {status}"


def test_paths_are_written_like_in_the_contracts() -> None:
    for path in get_schema()["paths"]:
        assert not path.endswith("/")
        assert re.fullmatch(r"(/([a-z0-9-]+|\{[A-Za-z_]+\}))+", path), path


def test_examples_match_their_schema() -> None:
    components = {"components": get_schema()["components"]}
    for name, operation in operations():
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for described in (body.get("content", {}).get("application/json", {}) for body in bodies):
            for label, example in described.get("examples", {}).items():
                errors = list(Draft202012Validator({**described["schema"], **components}).iter_errors(example["value"]))
                assert not errors, f"{name}, {label}: {errors[0].message}"


def test_texts_that_may_be_empty_may_be_empty_in_the_schema() -> None:
    """drf-spectacular describes them as one of two texts, of which an empty one is both."""
    schemas = get_schema()["components"]["schemas"]
    for name, field in [
        ("V3ChatRequest", "system"), ("V3ChatRequest", "conversationId"), ("V3MessageRequest", "content"),
        ("AgentRespondRequest", "user_selected_text"), ("PipelineSourceRequest", "description"),
    ]:  # fmt: skip
        assert Draft202012Validator(schemas[name]["properties"][field]).is_valid(""), (name, field)


def test_only_sign_in_needs_no_credential() -> None:
    public = {name for name, operation in operations() if {} in operation.get("security", [{}])}
    assert public <= {
        "POST /api/auth/token", "POST /api/auth/token/refresh", "POST /api/auth/token/verify",
        "POST /api/auth/token/revoke", "GET /agent/health",
    }  # fmt: skip


def test_a_response_that_violates_the_schema_is_detected() -> None:
    """Tests the check that every response in these tests passes."""
    good = b'{"status": "created", "documentId": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11", "chunkCount": 1}'
    json_headers = {"content-type": "application/json"}
    conformance.check_response("POST", "/api/rag/ingest/", 200, json_headers, good)
    for status, headers, content in (
        (418, json_headers, good),
        (200, {"content-type": "text/html"}, good),
        (200, json_headers, good.replace(b'"created"', b'"new"')),
        (200, json_headers, good.replace(b"}", b', "extra": 1}')),
        (200, json_headers, b"{}"),
    ):
        with pytest.raises(AssertionError):
            conformance.check_response("POST", "/api/rag/ingest", status, headers, content)
