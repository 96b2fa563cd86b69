"""GET /v1/models, POST /v1/embeddings and the errors, through OpenAI's own client; the documented program."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from rag.services.openai_api import text_embeddings
from tests.support.factories import World
from tests.support.http import Client
from tests.support.speed.deferred import openai

MODEL = "all-MiniLM-L6-v2"
PAGE = Path(__file__).parents[3] / "docs" / "user" / "openai-api.md"


def test_the_models_are_the_sources_that_the_caller_may_query(client: openai.OpenAI, library: World) -> None:
    models = client.models.list().data
    assert [model.id for model in models] == ["ragsite", "ragsite/kitchen", "ragsite/library"]
    assert models[1].owned_by == "home"
    assert client.models.retrieve("ragsite/library").id == "ragsite/library"
    with pytest.raises(openai.NotFoundError) as raised:
        client.models.retrieve("ragsite/closed")
    assert raised.value.code == "model_not_found"


def test_a_slug_of_two_organisations_is_listed_by_id(api: Callable[..., Client], library: World) -> None:
    from orgs.creation import add_member

    twin = library.source("library", organization=library.abroad)
    add_member(user=library.users["member"], organization=library.abroad)
    member = api("member")
    listed = {model["id"] for model in member.get("/v1/models").body["data"]}
    assert f"ragsite/{twin.pk}" in listed
    assert "ragsite/library" not in listed
    ambiguous = member.post(
        "/v1/chat/completions", {"model": "ragsite/library", "messages": [{"role": "user", "content": "Bicycles?"}]}
    )
    assert (ambiguous.status, ambiguous.body["error"]["param"]) == (400, "X-Organization")


def test_embeddings_are_the_local_models_in_both_encodings(client: openai.OpenAI) -> None:
    texts = ["Bicycles are parked in the yard.", "Bikes stand in the yard.", "Tea is hot."]
    packed = client.embeddings.create(model=MODEL, input=texts)  # the client asks for base64
    plain = client.embeddings.create(model=MODEL, input=texts, encoding_format="float", dimensions=384)
    vectors = [item.embedding for item in plain.data]
    for vector, other in zip(vectors, (item.embedding for item in packed.data), strict=True):
        assert other == pytest.approx(vector, abs=1e-6)
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-3)
    similar, different = (sum(a * b for a, b in zip(vectors[0], vectors[index], strict=True)) for index in (1, 2))
    assert similar > different
    assert plain.usage.prompt_tokens == plain.usage.total_tokens > 10


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": []}, "input"),
        ({"input": ["a"] * 65}, "input"),
        ({"input": [1, 2]}, "input"),
        ({"input": " "}, "input"),
        ({"dimensions": 128}, "dimensions"),
        ({"encoding_format": "hex"}, "encoding_format"),
    ],
)
def test_wrong_embedding_requests_name_the_field(client: openai.OpenAI, fields: dict[str, Any], param: str) -> None:
    body: dict[str, Any] = {"model": MODEL, "input": "Tea.", **fields}
    with pytest.raises(openai.BadRequestError) as raised:
        client.embeddings.create(**body)
    assert (raised.value.param or "").partition("[")[0] == param


@pytest.mark.parametrize("token_ids", [[1, 2], [[1, 2], [3]]])
def test_token_ids_are_refused_by_name(client: openai.OpenAI, token_ids: Any) -> None:
    """LangChain cuts texts into OpenAI's tokens unless its user says otherwise."""
    with pytest.raises(openai.BadRequestError, match="not token ids"):
        client.embeddings.create(model=MODEL, input=token_ids)


def test_embeddings_are_bounded(client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    with pytest.raises(openai.NotFoundError, match=f"The default model is {MODEL}"):
        client.embeddings.create(model="text-embedding-3-small", input="Tea.")
    monkeypatch.setattr(text_embeddings, "MAX_TOKENS", 3)
    with pytest.raises(openai.BadRequestError, match="tokens"):
        client.embeddings.create(model=MODEL, input="One two three four five.")
    settings.RAG_MAX_MODEL_CALLS = 0  # no place is left
    with pytest.raises(openai.InternalServerError) as raised:
        client.embeddings.create(model=MODEL, input="Tea.")
    assert (raised.value.status_code, raised.value.code) == (503, "embedding_failed")
    assert raised.value.response.headers["retry-after"]


@pytest.mark.usefixtures("steady_rate_limits")
def test_errors_have_openais_shape(live_server: LiveServer, library: World, settings: Any) -> None:
    def connect(key: str) -> openai.OpenAI:
        return openai.OpenAI(base_url=f"{live_server.url}/v1", api_key=key, max_retries=0)

    with pytest.raises(openai.AuthenticationError) as unknown:
        connect("rk_unknown").models.list()
    with pytest.raises(openai.PermissionDeniedError) as forbidden:
        connect(library.key("member", "ingest").secret).models.list()
    key = library.key("member", "query").secret
    with pytest.raises(openai.NotFoundError) as missing:
        connect(key).post("/nowhere", cast_to=object)
    with pytest.raises(openai.NotFoundError, match="ends with /v1") as no_version:
        connect(key).with_options(base_url=live_server.url).embeddings.create(model=MODEL, input="Tea.")
    settings.RAG_RATE_LIMITS = True
    settings.RAG_REQUESTS_PER_MINUTE = {**settings.RAG_REQUESTS_PER_MINUTE, "queries": 1}
    connect(key).embeddings.create(model=MODEL, input="Tea.")
    with pytest.raises(openai.RateLimitError) as limited:
        connect(key).embeddings.create(model=MODEL, input="Tea.")
    assert limited.value.response.headers["retry-after"]
    raised = [unknown, forbidden, missing, no_version, limited]
    not_found = "invalid_request_error"
    types = ["authentication_error", "permission_error", not_found, not_found, "rate_limit_error"]
    assert [error.value.type for error in raised] == types
    for error in raised:
        assert set(error.value.response.json()["error"]) == {"message", "type", "param", "code"}


def test_the_documented_program_runs(live_server: LiveServer, library: World, tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    program = program.replace("http://127.0.0.1:3080", live_server.url)
    program = program.replace("rk_…", library.key("member", "query").secret)
    file = tmp_path / "program.py"
    file.write_text(program)
    process = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("Bicycles are parked in the yard. [1]") == 2
    assert "Bicycles /bikes" in process.stdout
    assert "384" in process.stdout
