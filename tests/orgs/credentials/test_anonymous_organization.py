"""RAG_ANONYMOUS_ORG: requests without a credential (shared rules, "Who is calling")."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import Client as InProcess

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.models import Membership
from rag.models import DataSource
from tests.support.factories import PASSWORD, World, ingest_text
from tests.support.http import Client

Api = Callable[..., Client]
SERVICE = "service@home.invalid"
SOURCES = "/api/rag/sources"


def test_it_is_off_unless_set(world: World) -> None:
    assert InProcess().get(SOURCES).status_code == 401
    assert not User.objects.filter(email=SERVICE).exists()


def test_a_request_without_a_credential_acts_as_the_service_user(api: Api, live_world: World, settings: Any) -> None:
    """Shared rules: "lets a local n8n call without one, as a service user of that organisation"."""
    settings.RAG_ANONYMOUS_ORG = "home"
    ingest_text(live_world.source("public"), "a", "Zebras have stripes.")
    ingest_text(live_world.source("secret", visibility=Visibility.PRIVATE), "a", "Zebras have secrets.")
    ingest_text(live_world.source("abroad", organization=live_world.abroad), "a", "Zebras abroad.")
    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(lambda _: api().get(SOURCES).status, range(4)))
    assert statuses == [200] * 4, "even if the first requests are simultaneous"
    document = {"source": "github", "path": "/doc", "title": "Zebras", "text": "Zebras graze."}
    assert api().post("/api/rag/ingest", document).status == 200
    assert api().post("/api/rag/ingest", document).body["status"] == "unchanged"
    results = api().post("/api/rag/search", {"query": "zebras"}).body["results"]
    assert {result["metadata"]["source"] for result in results} == {"public", "github"}
    chat = {"messages": [{"role": "user", "content": "zebras"}], "useRag": True}
    assert {source["source"] for source in api().post("/api/chat", chat).body["ragSources"]} == {"public", "github"}
    user = User.objects.get(email=SERVICE)
    assert DataSource.objects.get(slug="github").owner == user
    assert not user.has_usable_password()
    assert not user.is_staff
    membership = Membership.objects.get(user=user)
    assert (membership.organization, [role.name for role in membership.roles.all()]) == (live_world.home, ["editor"])
    assert api().post("/api/auth/token", {"email": SERVICE, "password": PASSWORD}).status == 401


@pytest.mark.parametrize(
    "headers",
    [
        {"X-API-Key": "rk_" + "x" * 43}, {"Authorization": "Bearer a.b.c"}, {"Authorization": "Basic dTpw"},
        {"apikey": "x"},
    ],
)  # fmt: skip
def test_a_wrong_credential_is_rejected(world: World, settings: Any, headers: dict[str, str]) -> None:
    settings.RAG_ANONYMOUS_ORG = "home"
    assert InProcess().get(SOURCES).status_code == 200
    assert InProcess().get(SOURCES, headers=headers).status_code == 401


def test_it_does_not_open_the_paths_of_keys(world: World, settings: Any) -> None:
    settings.RAG_ANONYMOUS_ORG = "home"
    assert InProcess().get("/api/auth/keys").status_code == 401
    assert InProcess().post("/api/auth/keys", {}, content_type="application/json").status_code == 401


@pytest.mark.parametrize("closed", ["user", "membership", "membership gone", "organisation"])
def test_a_deactivated_service_user_stays_deactivated(world: World, settings: Any, closed: str) -> None:
    settings.RAG_ANONYMOUS_ORG = "home"
    assert InProcess().get(SOURCES).status_code == 200
    membership = Membership.objects.get(user__email=SERVICE)
    match closed:
        case "user":
            User.objects.filter(email=SERVICE).update(is_active=False)
        case "membership":
            Membership.objects.filter(pk=membership.pk).update(is_active=False)
        case "membership gone":
            membership.delete()
        case "organisation":
            type(world.home).objects.filter(pk=world.home.pk).update(is_active=False)
    assert InProcess().get(SOURCES).status_code == 401


def test_an_unknown_organisation_is_ignored(world: World, settings: Any) -> None:
    settings.RAG_ANONYMOUS_ORG = "nowhere"
    assert InProcess().get(SOURCES).status_code == 401


@pytest.mark.parametrize(
    ("switches", "starts"),
    [({}, False), ({"RAG_ANONYMOUS_ORG_ALLOWED": "1"}, True), ({"DEBUG": "1"}, True)],
    ids=["alone", "allowed", "debug"],
)
def test_the_setting_is_refused_without_debug_or_the_allowing_setting(switches: dict[str, str], starts: bool) -> None:
    """Shared rules: "off by default, refused unless `DEBUG` or an explicit second switch"."""
    environment = {
        name: value for name, value in os.environ.items() if name not in ("DEBUG", "RAG_ANONYMOUS_ORG_ALLOWED")
    }
    process = subprocess.run(
        [sys.executable, "-c", "import ragsite.settings.api"],
        env={**environment, "RAG_ANONYMOUS_ORG": "home", **switches},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (process.returncode == 0) == starts, process.stderr
    assert starts or "set RAG_ANONYMOUS_ORG_ALLOWED=1" in process.stderr
