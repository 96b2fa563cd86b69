"""E-mail addresses of accounts, and the passwords that are set for them."""

import pytest
from django.test import Client

from accounts.models import User
from tests.accounts.sign_in.sign_in_requests import request_token, sign_in
from tests.support.checks.normalization import record_normalized_lengths
from tests.support.factories import World


@pytest.mark.parametrize(
    "spelling",
    ["Owner@Home.example", " owner@home.example", "ｏwner@home.example", "owner@ｈome.example", "owner@home。example"],
)
def test_email_addresses_are_normalised(world: World, spelling: str) -> None:
    assert User.objects.normalize_email(spelling) == "owner@home.example"
    assert request_token(spelling).status_code == 200


@pytest.mark.parametrize(
    "spelling",
    [
        *("оwner@home.example", "ow\u200bner@home.example", "owner\u202e@home.example", "ownér@x.y"),
        *("a@abroad.example,owner@home.example", '"a@abroad.example"@home.example'),
    ],
)
def test_email_addresses_that_could_be_read_as_another_one_are_rejected(world: World, spelling: str) -> None:
    """A Cyrillic о, a zero-width space, a right-to-left override, an accent, a list, and a quoted address."""
    with pytest.raises(ValueError, match="Latin letters"):
        User.objects.create_user(spelling, "x")
    client = Client()
    client.force_login(User.objects.create_superuser("root@home.example", "x"))
    values = {"email": spelling, "usable_password": "false"}
    assert client.post("/admin/accounts/user/add/", values).status_code == 200
    assert not User.objects.filter(email=User.objects.normalize_email(spelling)).exists()


def test_no_long_text_is_normalised(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """54 KB of combining characters took ten seconds, in which the process answered no other request."""
    lengths = record_normalized_lengths(monkeypatch)
    typed = "a" + "\u0315\u0300" * 1_000 + "@home.example"
    statuses = [Client().post("/sign-in", {"username": typed, "password": "x"}).status_code, sign_in(typed).status_code]
    assert (statuses, request_token(typed).status_code, max(lengths) <= 1_000) == ([200, 200], 400, True)
    with pytest.raises(ValueError, match="needs an e-mail address"):
        User.objects.create_user("a" * 1_000 + "@home.example")


def test_a_domain_in_another_script_is_stored_in_punycode(world: World) -> None:
    assert User.objects.create_user("owner@hоme.example", "x").email == "owner@xn--hme-sed.example"


@pytest.mark.parametrize(
    ("written", "stored"), [("straße.example", "xn--strae-oqa.example"), ("σας.example", "xn--mxa8ab.example")]
)
def test_an_address_never_becomes_one_of_another_domain(world: World, written: str, stored: str) -> None:
    """By the rules of 2003 they were strasse.example and σασ.example, which somebody else may own."""
    assert User.objects.create_user(f"owner@{written}", "x").email == f"owner@{stored}"


def test_an_invisible_character_in_a_domain_makes_an_address_invalid(world: World) -> None:
    with pytest.raises(ValueError, match="Latin letters"):
        User.objects.create_user("owner@home\u200d.example", "x")


def test_every_form_that_sets_a_password_validates_it(world: World) -> None:
    root = User.objects.create_superuser("root@home.example", "x")
    client = Client()
    client.force_login(root)
    weak = {"password1": "12345678", "password2": "12345678", "new_password1": "12345678", "new_password2": "12345678"}
    pages = ("/admin/accounts/user/add/", f"/admin/accounts/user/{root.pk}/password/", "/account/password")
    for page in pages:
        values = {"email": "new@home.example", "usable_password": "true", "old_password": "x", **weak}
        reply = client.post(page, values)
        assert (reply.status_code, b"entirely numeric" in reply.content) == (200, True), page
