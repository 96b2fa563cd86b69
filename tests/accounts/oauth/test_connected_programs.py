"""The page of the programs with access."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from accounts.models import TokenFamily
from accounts.sign_in import refresh_tokens
from rag.services.access import access_rechecks
from ragsite.postgres import role_connections
from tests.accounts.oauth.conftest import Program
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

PAGE = "/oauth/programs"


def test_a_person_ends_the_access_of_a_program(program: Program, world: World) -> None:
    refresh_tokens.issue(world.users["member"])  # a sign-in of the person's own
    page = program.browser.get(PAGE).content.decode()
    assert ("No program has access." in page, "You have allowed these programs" in page) == (True, False)
    assert 'href="/account">Back' in page
    tokens = program.sign_in()
    grant = TokenFamily.objects.get(client__isnull=False)
    assert "End the access of Agent" in program.browser.get(PAGE).content.decode()
    sign_in = TokenFamily.objects.get(client=None)
    for other in (str(sign_in.pk), "x"):
        assert program.browser.post(PAGE, {"grant": other}).status_code == 302
    assert program.ping(tokens["access_token"]).status_code == 200
    assert program.browser.post(PAGE, {"grant": str(grant.pk)}).status_code == 302
    assert program.ping(tokens["access_token"]).status_code == 401
    assert TokenFamily.objects.get() == sign_in


@pytest.mark.django_db(transaction=True)
def test_an_answer_is_not_sent_to_a_program_whose_access_ended_meanwhile(
    world: World,
    program: Program,
    language_model: ProviderServer,
    eventually: Callable[..., object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(access_rechecks, "CHECK_INTERVAL_SECONDS", 0.0)
    ingest_text(world.source(), "zebras.md", "The zebra weighs about 300 kilograms.")
    token = program.sign_in()["access_token"]
    language_model.replies = ["It weighs 300 kilograms [1]."]
    language_model.stall.clear()

    def ask() -> Any:
        try:
            return program.ask(token, "How much does the zebra weigh?")
        finally:
            connection.close()
            role_connections.close_of_thread()

    with ThreadPoolExecutor(1) as threads:
        question = threads.submit(ask)
        eventually(lambda: language_model.requests or question.done())
        program.browser.post(PAGE, {"grant": str(TokenFamily.objects.get().pk)})
        language_model.stall.set()
        answer = question.result(20).content.decode()
    assert "Your access ended" in answer
    assert "300" not in answer


def test_nobody_sees_or_ends_the_programs_of_others(program: Program, world: World) -> None:
    tokens = program.sign_in()
    other = Client()
    other.force_login(world.users["editor"])
    assert "Agent" not in other.get(PAGE).content.decode()
    other.post(PAGE, {"grant": str(TokenFamily.objects.get().pk)})
    assert program.ping(tokens["access_token"]).status_code == 200
    assert Client().get(PAGE).headers["Location"].startswith("/sign-in")
