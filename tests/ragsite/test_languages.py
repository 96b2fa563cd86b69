"""The languages of pages: which one is shown, that translations are complete, and that programs always get English."""

import importlib.machinery
import importlib.util
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from accounts.models import User
from orgs.access.permissions import Visibility
from rag.errors import IndexFull
from rag.models import Usage
from rag.pipeline.ingestion import quota
from tests.browser.crawl import crawl
from tests.contracts.common.endpoints.test_endpoints_by_role import ROWS
from tests.support.browsers import staff_browser
from tests.support.factories import PASSWORD, World, ingest_text

ROOT = Path(__file__).parents[2]
# Ids of requests, and times to the microsecond.
_OF_ONE_REQUEST = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+")
GERMAN = {"HTTP_ACCEPT_LANGUAGE": "de-AT,de;q=0.9,en;q=0.5"}


@pytest.fixture(autouse=True)
def english_afterwards() -> Iterator[None]:
    """A request leaves its language to the thread; the next request sets its own."""
    yield
    translation.activate("en")


@pytest.fixture(scope="module")
def messages() -> ModuleType:
    """The program behind `make messages`."""
    loader = importlib.machinery.SourceFileLoader("messages", str(ROOT / "scripts" / "messages"))
    spec = importlib.util.spec_from_loader("messages", loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def language_of(client: Client, path: str = "/sign-in", **headers: str) -> str:
    reply = client.get(path, **headers)  # type: ignore[arg-type]
    match = re.search(r'<html lang="(\w+)"', reply.content.decode())
    assert match
    assert reply["Content-Language"] == match[1]
    assert ("Anmelden" in reply.content.decode()) == (match[1] == "de")
    return match[1]


@pytest.mark.django_db
@pytest.mark.parametrize(("preferred", "shown"), [("de-AT,de;q=0.9,en;q=0.5", "de"), ("fr,en;q=0.5", "en"), ("", "en")])
def test_the_browser_chooses_the_language(preferred: str, shown: str) -> None:
    assert language_of(Client(), HTTP_ACCEPT_LANGUAGE=preferred) == shown


@pytest.mark.django_db
def test_the_language_switch_decides_and_is_remembered() -> None:
    client = Client()
    reply = client.post("/language", {"language": "de", "next": "/sign-in?next=%2Fhistory"})
    assert (reply.status_code, reply["Location"]) == (302, "/sign-in?next=%2Fhistory")
    assert language_of(client) == "de"
    client.post("/language", {"language": "en", "next": "/sign-in"})
    assert language_of(client, **GERMAN) == "en"
    client.post("/language", {"language": "xx", "next": "/sign-in"})
    assert language_of(client) == "en"


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example/", "javascript:alert(1)"])
def test_the_language_switch_leads_to_no_other_site(target: str) -> None:
    reply = Client().post("/language", {"language": "de", "next": target})
    assert reply["Location"] == "/"


@pytest.mark.django_db
def test_other_sites_cannot_switch_the_language() -> None:
    client = Client(enforce_csrf_checks=True)
    reply = client.post("/language", {"language": "de", "next": "/"})
    assert reply.status_code == 403
    assert "language" not in client.cookies


@pytest.mark.django_db
def test_programs_get_english(world: World) -> None:
    """Whatever language the client names or the thread's last request had."""
    client = Client()
    client.cookies["language"] = "de"
    credentials = {"email": world.users["owner"].email, "password": PASSWORD}
    token = Client().post("/api/auth/token", credentials, content_type="application/json").json()["access"]
    source = world.source()
    identifiers = dict.fromkeys(("job", "webhook", "document", "members_search", "editors_key"), source.pk)
    requests = [
        (row.method, row.path.format(source=source.pk, **identifiers)) for row in ROWS if row.method != "DELETE"
    ]
    requests += [("GET", "/scim/v2/Users"), ("GET", "/api/nothing"), ("GET", "/healthz")]
    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        for method, path in requests if headers else requests[::8]:
            bodies = set()
            for language in ("en", "de"):
                assert "Anmelden" in client.get("/sign-in").content.decode()
                reply: Any = client.generic(
                    method,
                    path,
                    b"{}",
                    content_type="application/json",
                    headers={"Accept-Language": language, **headers},
                )
                bodies.add(_OF_ONE_REQUEST.sub("", reply.content.decode()))
                assert "Content-Language" not in reply
            assert len(bodies) == 1, (method, path, bodies)


def test_every_text_has_a_german_translation(messages: ModuleType) -> None:
    """Templates, code and models; `make messages` lists what is new, and writes the compiled catalogue."""
    catalogue = messages.update_catalogue(messages.read_catalogue("de"), messages.find_messages())
    folder = messages.LOCALES / "de" / "LC_MESSAGES"
    assert messages.list_missing(catalogue) == []
    assert (folder / "django.po").read_bytes() == messages.as_po(catalogue), "run `make messages`"
    assert (folder / "django.mo").read_bytes() == messages.as_mo(catalogue), "run `make messages`"


# What a translation must repeat: fields, HTML tags and code.
_KEPT = re.compile(r"%\(\w+\)[sd]|%%|\{[^}]*\}|</?\w+[^>]*>")


def test_translations_keep_placeholders_and_tags(messages: ModuleType) -> None:
    wrong = []
    for message in messages.read_catalogue("de"):
        if not message.id:
            continue  # the header
        texts = message.id if isinstance(message.id, tuple) else (message.id,)
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        kept = [sorted(_KEPT.findall(text)) for text in texts]
        wrong += [string for string in strings if sorted(_KEPT.findall(string)) not in kept]
        if all('"' not in text for text in texts):  # a text may be in an attribute
            wrong += [string for string in strings if '"' in string]
    assert wrong == []


_BLOCK = re.compile(r"\{%-?\s*(?:blocktranslate|blocktrans|comment)\b.*?\{%\s*end\w+\s*%\}", re.DOTALL)
_CLASSES = re.compile(r"\{% block main_class %\}.*?\{% endblock %\}")
_TAG = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}", re.DOTALL)
_VISIBLE_ATTRIBUTES = {"aria-label", "title", "placeholder", "alt", "summary"}
_WORD = re.compile(r"[^\W\d_]{2,}")


class _VisibleText(HTMLParser):
    """The texts that a visitor sees or hears, in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._hidden: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        visible = [values[name] or "" for name in _VISIBLE_ATTRIBUTES & values.keys()]
        if tag == "input" and values.get("type") in ("submit", "button"):
            visible.append(values.get("value") or "")
        self.texts += visible
        if tag in ("script", "style", "code", "pre", "textarea"):
            self._hidden.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.texts.append(data)


# Names, figures and units that are the same in every language.
_UNTRANSLATED_WORDS = {"ragsite", "nDCG", "Recall", "MRR", "UTC", "ms", "API", "reference"}


def test_templates_contain_no_untranslated_text() -> None:
    untranslated = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        html = _TAG.sub("", _CLASSES.sub("", _BLOCK.sub("", path.read_text())))
        words = {word for text in _VisibleText(html).texts for word in _WORD.findall(text)}
        untranslated += [f"{path.relative_to(ROOT)}: {word}" for word in sorted(words - _UNTRANSLATED_WORDS)]
    assert untranslated == []


# Words that occur in English sentences and in no German one.
_ENGLISH = re.compile(
    r"\b(?:the|of|is|are|this|that|your?|and|with|has|have|which|from|any|not|only|cannot|may|who|when|if|or|by|for|to)\b"
)


class _Recorder(Client):
    """A browser that prefers German, and keeps the pages that it has seen."""

    def __init__(self) -> None:
        super().__init__(headers={"Accept-Language": "de"})
        self.pages: dict[str, str] = {}

    def get(self, path: Any, *args: Any, **kwargs: Any) -> Any:
        reply: Any = super().get(path, *args, **kwargs)
        if reply.headers.get("Content-Type", "").startswith("text/html"):
            self.pages[path] = reply.content.decode()
        return reply


@pytest.mark.django_db(transaction=True)
def test_german_pages_contain_no_english(world: World) -> None:
    """All pages that a superuser reaches by links."""
    user = User.objects.create_superuser("root@home.example", PASSWORD)
    source = world.source(name="Tiere", visibility=Visibility.TEAM)
    ingest_text(source, "zebras.md", "# Zebras\n\nZebras schlafen im Stehen.", title="Zebras")
    browser = _Recorder()
    browser.force_login(user)
    crawl(browser, "/", "/admin/", "/admin/operations", with_filters=False)
    english = {}
    for path, html in browser.pages.items():
        assert '<html lang="de"' in html, path
        if path.endswith("/password/"):
            continue  # Django joins two help texts when the module is imported
        for text in _VisibleText(html).texts:
            if len(text.split()) > 2 and _ENGLISH.search(text):  # one word is a name of data
                english[" ".join(text.split())] = path
    assert english == {}
    assert len(browser.pages) > 50


@pytest.mark.django_db
def test_errors_and_numbers_are_in_the_language_of_the_page(world: World) -> None:
    """What the API says in English about the same mistakes is compared in the tests of the contracts."""
    source = world.source()
    admin = staff_browser(world.users["admin"])
    webhook = {"organization": world.home.pk, "url": "http://10.0.0.1/", "events": ["job.failed"], "is_active": "on"}
    assert (
        "in einem privaten Netz"
        in admin.post("/admin/rag/webhook/add/", webhook, headers={"Accept-Language": "de"}).content.decode()
    )
    Usage.objects.update_or_create(pk=world.home.pk, defaults={"chunks": 1234})
    world.home.max_chunks = 1235
    world.home.save()
    with translation.override("de"), pytest.raises(IndexFull) as raised:
        quota.check_quota(source.organization_id, chunks=2)
    assert "Grenze der Organisation von 1.235 Abschnitten" in raised.value.message
    with translation.override("en"), pytest.raises(IndexFull) as raised:
        quota.check_quota(source.organization_id, chunks=2)
    assert "limit of 1,235 chunks" in raised.value.message
