"""Random changes of everything that decides who may query a data source, one after the other."""

import datetime
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from orgs.models import ApiKey, Membership, Organization, Role, Team
from rag.models import Action, DataSource, Document, Grant
from tests.support.factories import World, ingest_text


@dataclass
class Changes:
    """A world that changes. Each source has one document."""

    world: World
    random: random.Random
    keys: list[ApiKey] = field(default_factory=list)

    def __post_init__(self) -> None:
        child = Team.objects.create(organization=self.world.home, name="child")
        Membership.objects.get(user=self.world.users["member"]).teams.add(child)
        for visibility in Visibility:
            for number in range(2):
                source = self.world.source(f"{visibility}-{number}", visibility=visibility)
                ingest_text(source, "document", f"animals of {source.slug}")
        foreign = self.world.source("foreign", organization=self.world.abroad)
        ingest_text(foreign, "document", "animals of abroad")
        for name in ("member", "editor"):
            self.keys.append(self.world.key(name).key)

    def callers(self) -> list[Caller]:
        """Every user, and every key with its user, as authentication reads them."""
        users = {user.pk: user for user in User.objects.all()}
        keys = ApiKey.objects.select_related("user")
        return [*map(Caller, users.values()), *(Caller(key.user, key) for key in keys)]

    def expected(self, caller: Caller) -> set[uuid.UUID]:
        """The documents that the caller may find, by the primary."""
        sources = DataSource.objects.visible_to(caller, Action.QUERY).values("pk")
        return set(Document.objects.live().filter(source__in=sources).values_list("pk", flat=True))

    def change(self) -> str:
        """Make one change, and return its name."""
        chosen = self.random.choice(self.all())
        chosen()
        return str(getattr(chosen, "__name__", ""))

    def all(self) -> list[Callable[[], object]]:
        """Return every kind of change."""
        return [
            self._visibility, self._owner, self._grant, self._grant, self._grant, self._end_grants, self._teams,
            self._roles, self._membership, self._user, self._organization, self._parent, self._key, self._deletion,
            self._permissions,
        ]  # fmt: skip

    def _pick(self, model: Any) -> Any:
        return self.random.choice(list(model.objects.order_by("pk")))

    def _visibility(self) -> None:
        DataSource.objects.filter(pk=self._pick(DataSource).pk).update(visibility=self.random.choice(Visibility.values))

    def _owner(self) -> None:
        DataSource.objects.filter(pk=self._pick(DataSource).pk).update(owner=self._pick(User))

    def _deletion(self) -> None:
        source = self._pick(DataSource)
        deleted_at = None if source.deleted_at else timezone.now()
        DataSource.objects.filter(pk=source.pk).update(deleted_at=deleted_at)

    def _grant(self) -> None:
        source = self._pick(DataSource)
        kinds = {"private": "user", "role": "role", "team": "team"}
        kind = kinds.get(source.visibility) or self.random.choice(list(kinds.values()))
        to = self._pick({"user": User, "role": Role, "team": Team}[kind])
        expires_at = self.random.choice([None, timezone.now() + datetime.timedelta(hours=1)])
        Grant.objects.filter(source=source, **{kind: to}).delete()
        Grant.objects.create(source=source, expires_at=expires_at, **{kind: to})

    def _end_grants(self) -> None:
        source = self._pick(DataSource)
        if self.random.random() < 0.5:
            Grant.objects.filter(source=source).delete()
        else:
            Grant.objects.filter(source=source).update(expires_at=timezone.now())

    def _teams(self) -> None:
        teams = Team.objects.order_by("pk")
        self._pick(Membership).teams.set(
            self.random.sample(list(teams), self.random.randint(0, len(teams))), clear=True
        )

    def _roles(self) -> None:
        roles = Role.objects.order_by("pk")
        self._pick(Membership).roles.set(self.random.sample(list(roles), self.random.randint(0, 2)), clear=True)

    def _permissions(self) -> None:
        role = self._pick(Role)
        Role.objects.filter(pk=role.pk).update(permissions=self.random.choice([[], ["sources.manage"]]))

    def _membership(self) -> None:
        membership = self._pick(Membership)
        Membership.objects.filter(pk=membership.pk).update(is_active=not membership.is_active)

    def _user(self) -> None:
        user = self._pick(User)
        User.objects.filter(pk=user.pk).update(is_active=not user.is_active)

    def _organization(self) -> None:
        organization = self._pick(Organization)
        Organization.objects.filter(pk=organization.pk).update(is_active=not organization.is_active)

    def _parent(self) -> None:
        team, parent = self._pick(Team), self.random.choice([None, self._pick(Team)])
        Team.objects.filter(pk=team.pk).update(parent=parent)

    def _key(self) -> None:
        key = self._pick(ApiKey)
        values: dict[str, Any] = self.random.choice(
            [
                {"revoked_at": None if key.revoked_at else timezone.now()},
                {"source_ids": self.random.choice([None, [self._pick(DataSource).pk]])},
                {"scopes": self.random.choice([["query"], ["ingest"]])},
                {"expires_at": self.random.choice([None, timezone.now()])},
                {"all_organizations": not key.all_organizations},
            ]
        )
        ApiKey.objects.filter(pk=key.pk).update(**values)
