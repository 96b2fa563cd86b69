"""manage.py demo: a slow machine or a failed document does not end the running product."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Action, Visibility
from orgs.creation import create_organization
from rag.models import DataSource, IngestionJob

pytestmark = pytest.mark.django_db


def test_it_does_not_wait_longer_than_allowed(settings: Any) -> None:
    settings.RAG_LOCAL = True
    output = StringIO()
    call_command("demo", "--wait=0", "--verbosity=0", stdout=output)
    assert IngestionJob.objects.filter(finished_at=None).exists(), "no worker runs here"
    assert output.getvalue().startswith("The documentation is still being ingested.")


def test_it_first_ingests_what_everybody_may_read(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RAG_LOCAL = True
    public = IngestionJob.objects.filter(source__visibility=Visibility.PUBLIC)
    others = IngestionJob.objects.exclude(source__visibility=Visibility.PUBLIC)

    def ingest_the_next_job(_: float) -> None:
        assert not others.exists(), "it would share the workers with the first ones"
        public.filter(pk=public.filter(finished_at=None).earliest("created_at").pk).update(finished_at=timezone.now())

    monkeypatch.setattr("time.sleep", ingest_the_next_job)
    output = StringIO()
    call_command("demo", "--wait=60", "--verbosity=0", stdout=output)
    assert output.getvalue() == "The documentation for admins and operators follows within a minute.\n"
    assert not public.filter(finished_at=None).exists()
    assert others.filter(finished_at=None).count() == 4


def test_only_the_embedded_database_has_a_superuser_with_a_known_password(settings: Any) -> None:
    settings.RAG_LOCAL = True
    call_command("demo", "--verbosity=0", stdout=StringIO())
    assert not User.objects.filter(is_superuser=True).exists()
    call_command("demo", "--operator", "--verbosity=0", stdout=StringIO())
    assert User.objects.get(is_superuser=True).email == "operator@acme.example"


def test_the_superuser_of_the_demo_cannot_sign_in_where_there_is_another_organization(settings: Any) -> None:
    settings.RAG_LOCAL = True
    call_command("demo", "--operator", "--verbosity=0", stdout=StringIO())
    create_organization(name="Real", slug="real")
    call_command("demo", "--operator", "--verbosity=0", stdout=StringIO())
    assert not User.objects.filter(is_superuser=True, is_active=True).exists()


def test_the_owner_may_query_the_documentation_of_users_admins_and_operators(settings: Any) -> None:
    settings.RAG_LOCAL = True
    call_command("demo", "--wait=0", "--verbosity=0", stdout=StringIO())

    def queryable(email: str) -> set[str]:
        sources = DataSource.objects.visible_to(Caller(User.objects.get(email=email)), Action.QUERY)
        return set(sources.values_list("slug", flat=True))

    assert queryable("owner@acme.example") == {"handbook", "administration", "operations"}
    assert queryable("member@acme.example") == {"handbook", "operations"}
    assert queryable("member@globex.example") == {"handbook"}


def test_every_start_gives_all_accounts_the_password_which_is_hashed_once(settings: Any) -> None:
    settings.RAG_LOCAL, settings.RAG_DEMO_PASSWORD = True, "first-password"
    call_command("demo", "--operator", "--verbosity=0", stdout=StringIO())
    hashes = {user.email: user.password for user in User.objects.all()}
    assert (len(hashes), len(set(hashes.values()))) == (5, 1)
    changed = User.objects.get(email="member@acme.example")
    changed.set_password("of their own")
    changed.save()
    call_command("demo", "--operator", "--verbosity=0", stdout=StringIO())
    assert {user.email: user.password for user in User.objects.all()} == hashes, "nobody else is signed out"
    settings.RAG_DEMO_PASSWORD = "second-password"
    call_command("demo", "--operator", "--verbosity=0", stdout=StringIO())
    assert all(user.check_password("second-password") for user in User.objects.all())
