"""The page of the programs with access."""

from django.test import Client

from accounts.models import TokenFamily
from accounts.sign_in import refresh_tokens
from tests.accounts.oauth.conftest import Program
from tests.support.factories import World

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


def test_nobody_sees_or_ends_the_programs_of_others(program: Program, world: World) -> None:
    tokens = program.sign_in()
    other = Client()
    other.force_login(world.users["editor"])
    assert "Agent" not in other.get(PAGE).content.decode()
    other.post(PAGE, {"grant": str(TokenFamily.objects.get().pk)})
    assert program.ping(tokens["access_token"]).status_code == 200
    assert Client().get(PAGE).headers["Location"].startswith("/sign-in")
