"""A user with access to a source, and every change that takes it away."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from accounts.sign_out_everywhere import end_sign_ins
from orgs.access.permissions import Permission, Visibility
from orgs.api_keys import key_lifecycle
from orgs.creation import add_member
from orgs.models import ApiKey, Membership, Organization, Role, Team
from rag.models import DataSource, IngestionJob
from rag.services.jobs.create_job import create_job
from rag.services.sources import deletion, documents
from rag.types import ChunkingOptions, Submission
from tests.orgs.scim.conftest import connect
from tests.support.factories import World, ingest_text

QUESTION = "Where do the zebras sleep?"
TEXT = "The zebras sleep in the northern stable. The zebras wake at dawn."
MESSAGES = [{"role": "user", "content": QUESTION}]


@dataclass(frozen=True)
class AccessCase:
    """A user with access: a `reader` queries as a member of a team, a `manager` has a role with permissions."""

    world: World
    source: DataSource
    user_name: str
    job: IngestionJob

    @classmethod
    def create(cls, world: World, name: str) -> "AccessCase":
        add_member(user=world.users["supporter"], organization=world.home)
        Role.objects.create(
            organization=world.home, name="manager", permissions=[Permission.SOURCES_INGEST, Permission.SOURCES_MANAGE]
        )
        add_member(user=world.users["member"], organization=world.home, roles=("manager",))
        source = world.source("library", visibility=Visibility.TEAM)
        source.grants.create(team=Team.objects.get(name="support"))
        ingest_text(source, "zebras.md", TEXT, title="Stables")
        submission = Submission(path="zebras.md", title="Stables", text=TEXT)
        job = create_job(
            source=source, submissions=[submission], options=ChunkingOptions(512, 50), actor=world.users["owner"]
        )
        return cls(world, source, "supporter" if name == "reader" else "member", job)

    @property
    def user(self) -> User:
        return self.world.users[self.user_name]

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that replies contain only with access. No question contains them."""
        return ("northern", "library", "zebras.md", str(self.source.pk))

    @property
    def membership(self) -> Membership:
        return Membership.objects.get(user=self.user, organization=self.world.home)


def leave_the_team(case: AccessCase) -> None:
    case.membership.teams.clear()


def delete_the_team(case: AccessCase) -> None:
    case.membership.teams.get().delete()


def change_the_visibility(case: AccessCase) -> None:
    DataSource.objects.update(visibility=Visibility.PRIVATE)


def remove_the_grant(case: AccessCase) -> None:
    case.source.grants.all().delete()


def expire_the_grant(case: AccessCase) -> None:
    case.source.grants.update(expires_at=timezone.now() - datetime.timedelta(seconds=1))


def deactivate_the_membership(case: AccessCase) -> None:
    Membership.objects.filter(pk=case.membership.pk).update(is_active=False)


def deactivate_the_user(case: AccessCase) -> None:
    User.objects.filter(pk=case.user.pk).update(is_active=False)


def deactivate_by_directory(case: AccessCase) -> None:
    """As an identity provider does with SCIM when somebody leaves."""
    directory = connect(case.world.home, "home.example")
    operation = {"op": "replace", "path": "active", "value": False}
    assert directory.patch(f"/Users/{case.membership.pk}", operation).status_code == 200


def sign_out_everywhere(case: AccessCase) -> None:
    """As a sign-out at the identity provider does, too."""
    end_sign_ins(case.user, requested_at=timezone.now(), method="page")


def change_the_password(case: AccessCase) -> None:
    user = User.objects.get(pk=case.user.pk)
    user.set_password("another-password")
    user.save(update_fields=["password"])


def revoke_the_key(case: AccessCase) -> None:
    key_lifecycle.revoke(ApiKey.objects.filter(user=case.user))


def close_the_organization(case: AccessCase) -> None:
    Organization.objects.filter(pk=case.world.home.pk).update(is_active=False)


def remove_the_permissions(case: AccessCase) -> None:
    Role.objects.filter(name="manager").update(permissions=[])


def remove_the_role(case: AccessCase) -> None:
    case.membership.roles.clear()


def delete_the_source(case: AccessCase) -> None:
    deletion.delete_source(case.source)


def delete_the_document(case: AccessCase) -> None:
    documents.delete_document(case.source.documents.get())


COMMON_LOSSES = (
    deactivate_the_membership, deactivate_the_user, revoke_the_key, close_the_organization, delete_the_source,
)  # fmt: skip
LOSSES = {
    "reader": (
        leave_the_team,
        delete_the_team,
        change_the_visibility,
        remove_the_grant,
        expire_the_grant,
        *COMMON_LOSSES,
    ),
    "manager": (remove_the_permissions, remove_the_role, *COMMON_LOSSES),
}


def headers(case: AccessCase, lose_access: Callable[[AccessCase], None] | None = None) -> dict[str, str]:
    """The headers with the case's credential: an API key if it is going to be revoked, else an access token."""
    if lose_access is revoke_the_key:
        return {"X-API-Key": case.world.key(case.user_name).secret}
    return {"Authorization": f"Bearer {AccessToken.for_user(case.user)}"}
